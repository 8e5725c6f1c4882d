//! `BF.EXISTS`, `BF.MEXISTS` and `BF.MEXISTSANY`.

use crate::stats::STATS;
use crate::{Args, CommandError, Keyspace, Reply};

/// `BF.EXISTS key item`
///
/// Part of the door that leads to it: calls and moves between the two were a quarter of its
/// instructions.
#[inline(always)]
pub fn exists<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let clock = keys.clock();
    let Some(filter) = keys.read(args.key(1))? else { return Ok(Reply::Bool(false)) };
    let hit = filter.contains(args.word(2), filter.now_ms(clock))?;
    STATS.record_lookups(hit.into(), (!hit).into());
    Ok(Reply::Bool(hit))
}

/// `BF.MEXISTS key item…`
pub fn mexists<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (items, clock) = (args.from(2), keys.clock());
    let Some(filter) = keys.read(args.key(1))? else {
        return Ok(Reply::Bools(vec![false; items.len()]));
    };
    let answers = filter.contains_many(items, filter.now_ms(clock))?;
    count(&answers);
    Ok(Reply::Bools(answers))
}

/// `BF.MEXISTSANY key… ITEMS item…`
pub fn mexists_any<'a>(
    keys: &mut dyn Keyspace,
    args: &Args<'a>,
) -> Result<Reply<'a>, CommandError> {
    let (count_of_keys, items) = keys_and_items(args).ok_or(CommandError::Arity)?;
    let now = keys.clock().ms();
    let mut answers = vec![false; items.len()];
    for at in 1..=count_of_keys {
        let Some(filter) = keys.read(args.key(at))? else { continue };
        let more = filter.contains_many(items, now)?;
        answers.iter_mut().zip(more).for_each(|(answer, more)| *answer |= more);
    }
    count(&answers);
    Ok(Reply::Bools(answers))
}

/// How many keys come first, and the items after the word `ITEMS`; at least one each.
pub fn keys_and_items<'a>(args: &Args<'a>) -> Option<(usize, &'a [&'a [u8]])> {
    let at = args.find(2, "ITEMS")?;
    let items = args.from(at + 1);
    (!items.is_empty()).then_some((at - 1, items))
}

fn count(answers: &[bool]) {
    let hits = answers.iter().map(|hit| u64::from(*hit)).sum();
    STATS.record_lookups(hits, answers.len() as u64 - hits);
}
