//! `BF.SCANDUMP` and `BF.LOADCHUNK`.

use super::memory_limit::explained;
use crate::args::integer;
use crate::filter::{Filter, LoadingFilter, Part};
use crate::{Args, CommandError, Keyspace, Replicate, Reply};
use mayhap::format::dump::DumpHead;
use mayhap_foreign::redisbloom::Chain;

/// `BF.SCANDUMP key iterator`
pub fn scandump<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let filter = keys.read(args.key(1))?.ok_or(CommandError::NOT_FOUND)?;
    let iterator = integer(args.word(2)).and_then(|iterator| u64::try_from(iterator).ok());
    let iterator = iterator.ok_or(CommandError::text("Second argument must be numeric"))?;
    let (next, chunk) = filter.chunk_after(iterator)?;
    Ok(Reply::Chunk(next, chunk))
}

/// `BF.LOADCHUNK key iterator data`
pub fn loadchunk<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (key, chunk) = (args.key(1), args.word(3));
    let iterator = integer(args.word(2)).and_then(|iterator| u64::try_from(iterator).ok());
    let iterator = iterator.ok_or(CommandError::text("ERR Second argument must be numeric"))?;
    let is_there = keys.read(key)?.is_some();
    match (iterator, is_there) {
        (1, true) => return Err(CommandError::BAD_DATA),
        (1, false) => {
            let room = keys.room_bytes(0);
            let filter = begin(chunk, room).map_err(|error| {
                let need = DumpHead::decode(chunk).map_or(0, |head| head.body_bytes());
                explained(error, keys, key, 0, need, room)
            })?;
            keys.create(key, filter, None)?;
        }
        (_, false) => return Err(CommandError::NOT_FOUND),
        (_, true) => {
            let filter = keys.write(key)?.ok_or(CommandError::NOT_FOUND)?;
            let has = filter.bytes();
            filter.load_chunk(iterator, chunk).map_err(|error| {
                let need = has.saturating_add(chunk.len() as u64);
                explained(error, keys, key, 0, need, need)
            })?;
        }
    }
    keys.changed(key, "bf.loadchunk", Replicate::Verbatim);
    Ok(Reply::Ok)
}

/// The first chunk of a Mayhap dump, or of RedisBloom's.
fn begin(head: &[u8], room_bytes: u64) -> Result<Filter, CommandError> {
    if DumpHead::is_head(head) {
        if DumpHead::decode(head).is_ok_and(|head| head.cuckoo.is_some()) {
            return Err(CommandError::BAD_DATA); // of CF.SCANDUMP
        }
        return Ok(Filter::loading(LoadingFilter::begin(head, room_bytes)?));
    }
    let chain = Chain::load_header(head, room_bytes).map_err(|_| CommandError::BAD_DATA)?;
    Ok(Filter::new(Part::Compat(chain)))
}
