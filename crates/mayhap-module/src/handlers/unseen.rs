//! `BF.UNSEEN`: a seen list in one round trip.

use super::add::{add_and_replicate, create_default};
use crate::args::is;
use crate::stats::STATS;
use crate::{Args, CommandError, KeyArg, Keyspace, Reply};
use std::collections::HashSet;

/// `BF.UNSEEN key item… [MARK]`
///
/// An item that comes twice in one command is returned once, at its first place, so that callers do
/// not act on it twice. The reply is the same with and without `MARK`.
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
        if let Some(error) = add_and_replicate(keys, key, &unseen, now, false)?.stopped {
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

/// The items that are certainly not in.
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
    let mut unseen: Vec<&[u8]> =
        items.iter().zip(&seen).filter(|(_, seen)| !**seen).map(|(item, _)| *item).collect();
    STATS.record_lookups((items.len() - unseen.len()) as u64, unseen.len() as u64);
    if unseen.len() > 1 {
        let mut named = HashSet::with_capacity(unseen.len());
        unseen.retain(|item| named.insert(*item));
    }
    Ok(unseen)
}

#[cfg(test)]
mod tests {
    use crate::Reply;
    use crate::keyspace::memory::Memory;

    #[test]
    fn an_item_that_comes_twice_is_named_once() {
        let named = |words: &[&'static str]| {
            Ok(Reply::Words(words.iter().map(|word| word.as_bytes()).collect()))
        };
        for command in ["BF.UNSEEN k", "BF.UNSEEN_RO k", "BF.UNSEEN none"] {
            let mut keys = Memory::default();
            keys.say("BF.ADD k c").unwrap();
            let c: &[&str] = if command.ends_with('k') { &["a", "b"] } else { &["a", "b", "c"] };
            assert_eq!(keys.say(&format!("{command} a b a c b")), named(c), "{command}");
        }
        let mut keys = Memory::default();
        assert_eq!(keys.say("BF.UNSEEN k a b a MARK"), named(&["a", "b"]));
        assert_eq!(keys.say("BF.UNSEEN k a b a c MARK"), named(&["c"]));
        assert_eq!(keys.say("BF.CARD k"), Ok(Reply::Int(3)));
    }
}
