//! `CF.ADD`, `CF.ADDNX`, `CF.INSERT` and `CF.INSERTNX`.

use super::create::{create, default_spec};
use crate::args::integer;
use crate::filter::CuckooSpec;
use crate::handlers::memory_limit::explained;
use crate::stats::STATS;
use crate::{Args, CommandError, KeyArg, Keyspace, Replicate, Reply, Settings};

/// `CF.ADD key item`
#[inline(always)]
pub fn add<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    add_one(keys, args, false)
}

/// `CF.ADDNX key item`
#[inline(always)]
pub fn addnx<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    add_one(keys, args, true)
}

#[inline(always)]
fn add_one<'a>(
    keys: &mut dyn Keyspace,
    args: &Args<'a>,
    unique: bool,
) -> Result<Reply<'a>, CommandError> {
    let (key, item) = (args.key(1), args.word(2));
    match keys.write(key)? {
        Some(filter) if !filter.is_full() => {
            if unique && filter.quotient()?.contains(item) {
                return Ok(Reply::Bool(false));
            }
            let new = filter.add(item, 0, 0)?;
            STATS.added(new.into(), (!new).into());
            keys.changed(key, "cf.add", Replicate::Verbatim);
            return Ok(Reply::Bool(true));
        }
        Some(_) => {}
        None => {
            let spec = default_spec(keys);
            create(keys, key, &spec)?;
        }
    }
    let added = insert_items(keys, key, &[item], unique)?;
    match (added.answers.first(), added.stopped) {
        (Some(1), _) => Ok(Reply::Bool(true)),
        (_, Some(error)) => Err(error),
        _ => Ok(Reply::Bool(false)),
    }
}

/// `CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item…`
pub fn insert<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let answers = insert_many(keys, args, false)?;
    Ok(Reply::Taken(answers.into_iter().map(|answer| answer == 1).collect()))
}

/// `CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS item…`
pub fn insertnx<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    insert_many(keys, args, true).map(Reply::Ints)
}

fn insert_many(
    keys: &mut dyn Keyspace,
    args: &Args<'_>,
    unique: bool,
) -> Result<Vec<i64>, CommandError> {
    let key = args.key(1);
    let options = Options::parse(args, keys.cuckoo_settings().bucket_size)?;
    if keys.write(key)?.is_none() {
        if !options.create {
            return Err(CommandError::NOT_FOUND);
        }
        let spec = default_spec(keys);
        let reserved = |capacity| CuckooSpec { capacity, doublings: 0, ..spec };
        create(keys, key, &options.capacity.map_or(spec, reserved))?;
    }
    Ok(insert_items(keys, key, args.from(options.items_at), unique)?.answers)
}

struct Options {
    capacity: Option<u64>,
    create: bool,
    items_at: usize,
}

impl Options {
    /// As RedisBloom reads them: by their first letter.
    fn parse(args: &Args<'_>, bucket_size: u16) -> Result<Options, CommandError> {
        let mut options = Options { capacity: None, create: true, items_at: 0 };
        let mut at = 2;
        while at < args.count() && options.items_at == 0 {
            let letter = args.word(at).first().map(u8::to_ascii_lowercase);
            at += 1;
            match letter {
                Some(b'c') if at == args.count() => return Err(CommandError::Arity),
                Some(b'c') => {
                    let capacity = integer(args.word(at));
                    let capacity = capacity.ok_or(CommandError::text("Bad capacity"))?;
                    let most = Settings::MAX_CAPACITY as i64;
                    if !(2 * i64::from(bucket_size)..=most).contains(&capacity) {
                        let text =
                            format!("Capacity must be in the range [cf-bucket-size * 2, {most}]");
                        return Err(CommandError::Text(text.into()));
                    }
                    options.capacity = Some(capacity as u64);
                    at += 1;
                }
                Some(b'i') => options.items_at = at,
                Some(b'n') => options.create = false,
                _ => return Err(CommandError::UNKNOWN_ARGUMENT),
            }
        }
        if options.items_at == 0 || options.items_at == args.count() {
            return Err(CommandError::Arity);
        }
        Ok(options)
    }
}

/// What became of items.
struct Inserted {
    /// For each 1, 0 if it may have been there already, -1 if the filter is full.
    answers: Vec<i64>,
    /// Why not all were taken.
    stopped: Option<CommandError>,
}

/// Insert items into a filter that is there, and tell replicas.
fn insert_items(
    keys: &mut dyn Keyspace,
    key: KeyArg<'_>,
    items: &[&[u8]],
    unique: bool,
) -> Result<Inserted, CommandError> {
    let mut answers = Vec::with_capacity(items.len());
    let (mut room, mut stopped, mut new) = (0, None, 0);
    let mut rest = items;
    while !rest.is_empty() {
        let filter = keys.write(key)?.ok_or(CommandError::NOT_FOUND)?;
        if unique && filter.quotient()?.contains(rest[0]) {
            answers.push(0);
            rest = &rest[1..];
            continue;
        }
        let now = if unique { &rest[..1] } else { rest };
        let added = filter.add_many(now, 0, room)?;
        let taken = added.new.len();
        new += added.new.iter().map(|new| u64::from(*new)).sum::<u64>();
        answers.extend(std::iter::repeat_n(1, taken));
        rest = &rest[taken..];
        match added.stopped {
            None => {}
            // How much room there is costs more to find out than a hundred items to add.
            Some(error) if error == CommandError::NO_ROOM_TO_GROW && room == 0 => {
                let has = filter.bytes();
                room = keys.room_bytes(has).max(1);
            }
            Some(error) => {
                let (has, need) = (filter.bytes(), filter.growth_bytes().unwrap_or(0));
                stopped = Some(match error == CommandError::FULL {
                    true => CommandError::text("Filter is full"),
                    false => explained(error, keys, key, has, need, room),
                });
                // With one that is known the rest may go on.
                let passed = if unique { 1 } else { rest.len() };
                answers.extend(std::iter::repeat_n(-1, passed));
                rest = &rest[passed..];
            }
        }
    }
    let taken = answers.iter().filter(|answer| **answer == 1).count() as u64;
    STATS.added(new, taken - new.min(taken));
    if taken > 0 {
        // Where not all were taken, a replica must not take more: it may have room that we lack.
        let how = match stopped {
            None => Replicate::Verbatim,
            Some(_) => replicated_items(key, items, &answers),
        };
        keys.changed(key, "cf.add", how);
    }
    Ok(Inserted { answers, stopped })
}

/// Replicas insert just those that were taken.
fn replicated_items(key: KeyArg<'_>, items: &[&[u8]], answers: &[i64]) -> Replicate {
    let mut words = vec![key.name.to_vec(), b"NOCREATE".to_vec(), b"ITEMS".to_vec()];
    let taken = items.iter().zip(answers).filter(|(_, answer)| **answer == 1);
    words.extend(taken.map(|(item, _)| item.to_vec()));
    Replicate::As("CF.INSERT", words)
}
