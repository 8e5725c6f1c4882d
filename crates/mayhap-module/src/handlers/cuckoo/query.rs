//! `CF.EXISTS`, `CF.MEXISTS` and `CF.COUNT`. As in RedisBloom a key that is missing, or holds
//! something else, holds no items.

use crate::stats::STATS;
use crate::{Args, CommandError, Filter, Keyspace, Reply};

/// The filter; none where there is something else.
#[inline]
fn found<'k>(
    keys: &'k mut dyn Keyspace,
    args: &Args<'_>,
) -> Result<Option<&'k Filter>, CommandError> {
    match keys.read(args.key(1)) {
        Err(error) if error == CommandError::WRONG_TYPE => Ok(None),
        other => other,
    }
}

/// `CF.EXISTS key item`
#[inline(always)]
pub fn exists<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let Some(filter) = found(keys, args)? else { return Ok(Reply::Bool(false)) };
    let hit = filter.quotient()?.contains(args.word(2));
    STATS.record_lookups(hit.into(), (!hit).into());
    Ok(Reply::Bool(hit))
}

/// `CF.MEXISTS key item…`
pub fn mexists<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let items = args.from(2);
    let Some(filter) = found(keys, args)? else {
        return Ok(Reply::Bools(vec![false; items.len()]));
    };
    let answers = filter.contains_many(items, 0)?;
    let hits = answers.iter().map(|hit| u64::from(*hit)).sum();
    STATS.record_lookups(hits, answers.len() as u64 - hits);
    Ok(Reply::Bools(answers))
}

/// `CF.COUNT key item`
pub fn count<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let Some(filter) = found(keys, args)? else { return Ok(Reply::Int(0)) };
    let copies = filter.quotient()?.count(args.word(2));
    STATS.record_lookups((copies > 0).into(), (copies == 0).into());
    Ok(Reply::Int(i64::try_from(copies).unwrap_or(i64::MAX)))
}
