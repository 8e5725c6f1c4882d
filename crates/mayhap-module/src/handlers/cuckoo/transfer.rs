//! `CF.SCANDUMP` and `CF.LOADCHUNK`.

use crate::args::integer;
use crate::filter::{Filter, LoadingFilter};
use crate::handlers::memory_limit::explained;
use crate::{Args, CommandError, Keyspace, Replicate, Reply};
use mayhap::format::dump::DumpHead;

const INVALID_POSITION: CommandError = CommandError::text("Invalid position");
const NOT_CREATED: CommandError = CommandError::text("Couldn't create filter!");
const NOT_LOADED: CommandError = CommandError::text("Couldn't load chunk!");
/// The header of RedisBloom's own dumps.
const REDISBLOOM_HEADER_BYTES: usize = 38;

/// `CF.SCANDUMP key position`
pub fn scandump<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let position = integer(args.word(2)).and_then(|position| u64::try_from(position).ok());
    let position = position.ok_or(INVALID_POSITION)?;
    let filter = keys.read(args.key(1))?.ok_or(CommandError::NOT_FOUND)?;
    // As in RedisBloom: nothing to dump where nothing is in.
    if filter.quotient()?.is_empty() {
        return Ok(Reply::LastChunk);
    }
    match filter.chunk_after(position)? {
        (0, _) => Ok(Reply::LastChunk),
        (next, chunk) => Ok(Reply::Chunk(next, chunk)),
    }
}

/// `CF.LOADCHUNK key position data`
pub fn loadchunk<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (key, chunk) = (args.key(1), args.word(3));
    let there = keys.read(key).map(|filter| filter.is_some());
    let position = integer(args.word(2)).filter(|position| *position != 0);
    match (position.ok_or(INVALID_POSITION)?, there?) {
        (1, true) => return Err(CommandError::EXISTS),
        (1, false) => {
            let room = keys.room_bytes(0);
            let filter = begin(chunk, room).map_err(|error| {
                let need = DumpHead::decode(chunk).map_or(0, |head| head.body_bytes());
                explained(error, keys, key, 0, need, room)
            })?;
            keys.create(key, filter, None)?;
        }
        (_, false) => return Err(CommandError::NOT_FOUND),
        (position, true) => {
            let position = u64::try_from(position).map_err(|_| NOT_LOADED)?;
            let filter = keys.write(key)?.ok_or(CommandError::NOT_FOUND)?;
            let has = filter.bytes();
            if let Err(error) = filter.load_chunk(position, chunk) {
                let need = has.saturating_add(chunk.len() as u64);
                return Err(match error == CommandError::NO_MEMORY {
                    true => explained(error, keys, key, 0, need, need),
                    false => NOT_LOADED,
                });
            }
        }
    }
    keys.changed(key, "cf.loadchunk", Replicate::Verbatim);
    Ok(Reply::Ok)
}

/// The first chunk of a dump of `CF.SCANDUMP`.
fn begin(head: &[u8], room_bytes: u64) -> Result<Filter, CommandError> {
    if head.len() == REDISBLOOM_HEADER_BYTES {
        return Err(CommandError::text(
            "Couldn't create filter! This is the header of RedisBloom's own dump, whose fingerprints do not tell the items: insert the items with CF.INSERT instead",
        ));
    }
    if head.len() != DumpHead::CUCKOO_BYTES {
        return Err(CommandError::text("Invalid header"));
    }
    let is_cuckoo = DumpHead::decode(head).is_ok_and(|head| head.cuckoo.is_some());
    if !is_cuckoo {
        return Err(NOT_CREATED);
    }
    match LoadingFilter::begin(head, room_bytes) {
        Ok(loading_filter) => Ok(Filter::loading(loading_filter)),
        Err(error) if error == CommandError::NO_MEMORY => Err(error),
        Err(_) => Err(NOT_CREATED),
    }
}
