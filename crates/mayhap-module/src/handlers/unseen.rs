//! `BF.UNSEEN`: a seen list in one round trip.

use super::add::{add_and_tell, create_default};
use crate::args::is;
use crate::stats::STATS;
use crate::{Args, CommandError, Keyspace, Reply};

/// `BF.UNSEEN key item… [MARK]`
///
/// An item that comes twice in one command is unseen twice: nothing is marked before all are
/// looked at.
pub fn unseen<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (key, mut items, now) = (args.key(1), args.from(2), keys.clock().ms());
    let mut mark = false;
    if let [first @ .., last] = items
        && !first.is_empty()
        && is(last, "MARK")
    {
        (items, mark) = (first, true);
    }
    let seen = match keys.read(key)? {
        Some(filter) => filter.contains_many(items, now)?,
        None => vec![false; items.len()],
    };
    let unseen: Vec<&[u8]> =
        items.iter().zip(&seen).filter(|(_, seen)| !**seen).map(|(item, _)| *item).collect();
    STATS.asked((items.len() - unseen.len()) as u64, unseen.len() as u64);
    if mark && !unseen.is_empty() {
        if keys.write(key)?.is_none() {
            create_default(keys, key)?;
        }
        if let Some(error) = add_and_tell(keys, key, &unseen, now, false)?.stopped {
            return Err(error);
        }
    }
    Ok(Reply::Words(unseen))
}
