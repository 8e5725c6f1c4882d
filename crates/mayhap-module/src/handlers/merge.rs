//! `BF.MERGE`.

use super::memory_limit::explained;
use crate::args::is;
use crate::{Args, CommandError, Filter, Keyspace, Replicate, Reply};

/// `BF.MERGE dest src… [LAYERS]`
///
/// Atomic: sources are merged into a copy, which replaces `dest` at the end.
pub fn merge<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let dest = args.key(1);
    let layers = args.count() > 3 && is(args.word(args.count() - 1), "LAYERS");
    let sources = 2..args.count() - usize::from(layers);
    let mut bytes = keys.read(dest)?.map_or(0, Filter::bytes);
    for at in sources.clone() {
        bytes = bytes.max(keys.read(args.key(at))?.ok_or(CommandError::NOT_FOUND)?.bytes());
    }
    let room = keys.room_bytes(0);
    let refused = |keys: &dyn Keyspace, error, need| explained(error, keys, dest, 0, need, room);
    if bytes > room {
        return Err(refused(keys, CommandError::NO_MEMORY, bytes));
    }
    let had = keys.read(dest)?.map(copy).transpose();
    let had = had.map_err(|error| refused(keys, error, bytes))?;
    let exists = had.is_some();
    let mut merged = had;
    for at in sources {
        let key = args.key(at);
        if key.name == dest.name {
            continue; // merged already
        }
        let source = keys.read(key)?.ok_or(CommandError::NOT_FOUND)?;
        match &mut merged {
            Some(merged) => merged.merge(source, layers)?,
            None => {
                let mut copied = copy(source).map_err(|error| refused(keys, error, bytes))?;
                copied.set_shard(None); // a new filter, not that shard
                merged = Some(copied);
            }
        }
    }
    let merged = merged.ok_or(CommandError::NOT_FOUND)?;
    if merged.bytes() > room {
        return Err(refused(keys, CommandError::NO_MEMORY, merged.bytes()));
    }
    if exists {
        keys.replace(dest, merged)?;
    } else {
        keys.create(dest, merged, None)?;
    }
    keys.changed(dest, "bf.merge", Replicate::Verbatim);
    Ok(Reply::Ok)
}

fn copy(filter: &Filter) -> Result<Filter, CommandError> {
    filter.main()?; // not while it is loading
    filter.try_copy().ok_or(CommandError::NO_MEMORY)
}
