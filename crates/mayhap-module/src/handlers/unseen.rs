//! `BF.UNSEEN`: a seen list in one round trip.

use super::add::{add_and_tell, create_default};
use crate::args::is;
use crate::stats::STATS;
use crate::{Args, CommandError, KeyArg, Keyspace, Reply};

/// `BF.UNSEEN key item… [MARK]`
///
/// An item that comes twice in one command is unseen twice: nothing is marked before all are
/// looked at.
pub fn unseen<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (key, items) = (args.key(1), args.from(2));
    let [items @ .., last] = items else { return Err(CommandError::Arity) };
    if items.is_empty() || !is(last, "MARK") {
        return unseen_ro(keys, args);
    }
    let now = keys.clock().ms();
    let unseen = unseen_of(keys, key, items, now)?;
    if !unseen.is_empty() {
        if keys.write(key)?.is_none() {
            create_default(keys, key)?;
        }
        if let Some(error) = add_and_tell(keys, key, &unseen, now, false)?.stopped {
            return Err(error);
        }
    }
    Ok(Reply::Words(unseen))
}

/// `BF.UNSEEN_RO key item…`
pub fn unseen_ro<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let now = keys.clock().ms();
    Ok(Reply::Words(unseen_of(keys, args.key(1), args.from(2), now)?))
}

/// Those of the items that are certainly not in.
fn unseen_of<'a>(
    keys: &mut dyn Keyspace,
    key: KeyArg<'_>,
    items: &[&'a [u8]],
    now_ms: u64,
) -> Result<Vec<&'a [u8]>, CommandError> {
    let seen = match keys.read(key)? {
        Some(filter) => filter.contains_many(items, now_ms)?,
        None => vec![false; items.len()],
    };
    let unseen: Vec<&[u8]> =
        items.iter().zip(&seen).filter(|(_, seen)| !**seen).map(|(item, _)| *item).collect();
    STATS.asked((items.len() - unseen.len()) as u64, unseen.len() as u64);
    Ok(unseen)
}
