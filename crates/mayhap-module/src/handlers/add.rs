//! `BF.ADD`, `BF.MADD` and `BF.INSERT`.

use super::create::create;
use super::memory_limit::explained;
use super::options::{CommandSyntax, Options};
use crate::filter::{Added, CreateSpec};
use crate::keyspace::Clock;
use crate::stats::STATS;
use crate::{Args, CommandError, KeyArg, Keyspace, Replicate, Reply};

/// `BF.ADD key item`
///
/// Inlined into its trampoline, like [`exists`](super::query::exists).
#[inline(always)]
pub fn add<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (key, item, clock) = (args.key(1), args.word(2), keys.clock());
    let added = match keys.write(key)? {
        Some(filter) if !filter.is_full() => {
            let now = filter.now_ms(clock);
            let new = filter.add(item, now, 0)?;
            Some((new, new || filter.repeat_changes_state(), filter.is_timed().then_some(now)))
        }
        Some(_) => None,
        None => {
            create_default(keys, key)?;
            None
        }
    };
    let Some((new, changed, timed)) = added else {
        let added = add_and_replicate(keys, key, &[item], clock.ms(), true)?;
        return match added.stopped {
            Some(error) => Err(error),
            None => Ok(Reply::Bool(added.new.first() == Some(&true))),
        };
    };
    STATS.added(new.into(), (!new).into());
    if changed {
        let how = match timed {
            Some(now) => replicated_items(true, key, now, &[item]),
            None => Replicate::Verbatim,
        };
        keys.changed(key, "bf.add", how);
    }
    Ok(Reply::Bool(new))
}

/// `BF.MADD key item…`
pub fn madd<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (key, items, clock) = (args.key(1), args.from(2), keys.clock());
    // The key is opened once, unless it must be created.
    let added = match add_to_existing(keys, key, items, When::Clock(clock), true)? {
        Some(added) => added,
        None => {
            create_default(keys, key)?;
            add_and_replicate(keys, key, items, clock.ms(), true)?
        }
    };
    Ok(reply(added))
}

/// `BF.INSERT key … ITEMS item…`
pub fn insert<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let key = args.key(1);
    let secret = keys.secret();
    let create_spec = CreateSpec::by(&keys.settings(), secret);
    let options = Options::parse(args.from(2), 2, create_spec, CommandSyntax::Insert)?;
    let items = options.items_at.map(|at| args.from(at)).unwrap_or_default();
    if items.is_empty() {
        return Err(CommandError::Arity);
    }
    if keys.write(key)?.is_none() {
        if options.no_create {
            return Err(CommandError::NOT_FOUND);
        }
        create(keys, key, &options)?;
    }
    let now = options.at_ms.unwrap_or_else(|| keys.clock().ms());
    add_many(keys, key, items, now)
}

/// The filter that is created because an item is added to it.
pub fn create_default(keys: &mut dyn Keyspace, key: KeyArg<'_>) -> Result<(), CommandError> {
    let secret = keys.secret();
    let create_spec = CreateSpec::by(&keys.settings(), secret);
    create(keys, key, &Options::parse(&[], 0, create_spec, CommandSyntax::Insert)?)
}

fn add_many<'a>(
    keys: &mut dyn Keyspace,
    key: KeyArg<'_>,
    items: &[&[u8]],
    now_ms: u64,
) -> Result<Reply<'a>, CommandError> {
    add_and_replicate(keys, key, items, now_ms, true).map(reply)
}

fn reply<'a>(Added { new, stopped }: Added) -> Reply<'a> {
    match stopped {
        None => Reply::Bools(new),
        Some(error) => Reply::BoolsUntil(new, error),
    }
}

/// The time of an addition.
enum When {
    /// What the clock says, as far as the filter needs it.
    Clock(Clock),
    /// This, in milliseconds since 1970.
    At(u64),
}

/// Add items to an existing filter, and replicate if anything changed: the command as it came if it
/// says just that, `verbatim`.
pub fn add_and_replicate(
    keys: &mut dyn Keyspace,
    key: KeyArg<'_>,
    items: &[&[u8]],
    now_ms: u64,
    verbatim: bool,
) -> Result<Added, CommandError> {
    let added = add_to_existing(keys, key, items, When::At(now_ms), verbatim)?;
    added.ok_or(CommandError::NOT_FOUND)
}

/// The same, or nothing where there is no filter.
fn add_to_existing(
    keys: &mut dyn Keyspace,
    key: KeyArg<'_>,
    items: &[&[u8]],
    when: When,
    verbatim: bool,
) -> Result<Option<Added>, CommandError> {
    let Some(mut filter) = keys.write(key)? else { return Ok(None) };
    let now_ms = match when {
        When::Clock(clock) => filter.now_ms(clock),
        When::At(now_ms) => now_ms,
    };
    let mut added = filter.add_many(items, now_ms, 0)?;
    // Finding the memory limit costs more than adding a hundred items, so it is done when a filter
    // must grow, and not when it might.
    if added.stopped == Some(CommandError::NO_ROOM_TO_GROW) {
        let has = filter.bytes();
        let room = keys.room_bytes(has);
        filter = keys.write(key)?.ok_or(CommandError::NOT_FOUND)?;
        let rest = items.get(added.new.len()..).unwrap_or_default();
        let more = filter.add_many(rest, now_ms, room)?;
        added.new.extend(more.new);
        let (has, need) = (filter.bytes(), filter.growth_bytes().unwrap_or(0));
        added.stopped = more.stopped.map(|error| explained(error, keys, key, has, need, room));
        filter = keys.write(key)?.ok_or(CommandError::NOT_FOUND)?;
    }
    let new = added.new.iter().map(|new| u64::from(*new)).sum();
    STATS.added(new, added.new.len() as u64 - new);
    let taken = &items[..added.new.len().min(items.len())];
    if new > 0 || !taken.is_empty() && filter.repeat_changes_state() {
        let timed = filter.is_timed();
        // If not all were added, a replica must not add more: it may have memory that we lack.
        let how = match verbatim && !timed && added.stopped.is_none() {
            true => Replicate::Verbatim,
            false => replicated_items(timed, key, now_ms, taken),
        };
        keys.changed(key, "bf.add", how);
    }
    Ok(Some(added))
}

/// Replicas add the same items, at the same time where that matters.
fn replicated_items(timed: bool, key: KeyArg<'_>, now_ms: u64, items: &[&[u8]]) -> Replicate {
    let mut words = vec![key.name.to_vec()];
    if timed {
        for word in ["NOCREATE", "AT", &now_ms.to_string(), "ITEMS"] {
            words.push(word.as_bytes().to_vec());
        }
    }
    words.extend(items.iter().map(|item| item.to_vec()));
    Replicate::As(if timed { "INSERT" } else { "MADD" }, words)
}
