//! The compact layout: one string per owner, a record as in `record.rs`.
//!
//! An operation is appended as an entry by a script that also returns the record as it was before:
//! one round trip, and nothing to retry however many clients do it at once. Whoever finds the
//! entries grown too long compacts them into a new body; the script for that replaces exactly the
//! bytes it was made from (compare-and-swap by SHA-1), and keeps the entries that came meanwhile.
//! Only another compaction or a delete can get in its way, so some compaction always succeeds. When
//! it is sent is decided in `compaction.rs`.

use super::protocol::{Protocol, bytes};
use crate::SeenError;
use crate::backend::OwnerOperation;
use crate::list::{List, Operation};
use crate::policy::Seconds;
use crate::record::{self, EMPTY, MAGIC};
use mayhap_redis::redis::cmd;
use mayhap_redis::{Reply, Request, Script};

/// Appends ARGV[3] to a record that begins with ARGV[1], or is made from ARGV[2]; it then lives for
/// ARGV[4] seconds at least (an offer may last longer), or without expiry if that is 0. Set rather
/// than appended to: Redis gives a string that was appended to twice the memory it needs.
static APPEND: Script = Script::new(
    "local v = redis.call('GET', KEYS[1])
if v and string.sub(v, 1, #ARGV[1]) ~= ARGV[1] then return redis.error_reply('NOTALIST') end
local n = (v or ARGV[2]) .. ARGV[3]
if ARGV[4] == '0' then redis.call('SET', KEYS[1], n)
else redis.call('SET', KEYS[1], n, 'EX', math.max(redis.call('TTL', KEYS[1]), ARGV[4])) end
return v",
);

/// Replaces the first ARGV[2] bytes by ARGV[3], if their SHA-1 is ARGV[1]. With ARGV[4] it then
/// lives for that many seconds at least (without expiry if 0), without it for as long as before.
static FOLD: Script = Script::new(
    "local v = redis.call('GET', KEYS[1]) or ''
local n = tonumber(ARGV[2])
if #v < n or redis.sha1hex(string.sub(v, 1, n)) ~= ARGV[1] then return 0 end
if n == 0 and #v > 0 then return 0 end
v = ARGV[3] .. string.sub(v, n + 1)
if ARGV[4] == '' then redis.call('SET', KEYS[1], v, 'KEEPTTL')
elseif ARGV[4] == '0' then redis.call('SET', KEYS[1], v)
else redis.call('SET', KEYS[1], v, 'EX', math.max(redis.call('TTL', KEYS[1]), ARGV[4])) end
return 1",
);

/// Removes ARGV[1], wherever it is by now.
static REMOVE: Script = Script::new(
    "local v = redis.call('GET', KEYS[1]) or ''
local first, last = string.find(v, ARGV[1], 1, true)
if not first then return 0 end
redis.call('SET', KEYS[1], string.sub(v, 1, first - 1) .. string.sub(v, last + 1), 'KEEPTTL')
return 1",
);

/// Maximum bytes of entries for a body of this size. Every reader applies them again, at some
/// microseconds each in a long list, so the largest bodies are compacted as often as others.
fn room_for_entries(body_bytes: usize) -> usize {
    (192 + body_bytes / 8).min(4096)
}

pub(super) fn reading(protocol: &Protocol, owner: &[u8]) -> Request {
    let key = protocol.key(owner);
    Request::about(&key, cmd("GET").arg(&key))
}

/// The list and its bytes on the server.
pub(super) fn list(
    protocol: &Protocol,
    owner: &[u8],
    reply: Reply,
    now: Seconds,
) -> Result<(List, Vec<u8>), SeenError> {
    let Some(value) = bytes(owner, reply)? else { return Ok((List::default(), vec![])) };
    let decoded = record::decode(&value, &protocol.policy, now);
    let (list, _) = decoded.map_err(|error| SeenError::record(owner, error))?;
    Ok((list, value))
}

/// Replaces a record whose entries have grown too long by a shorter one.
pub(super) struct Compaction {
    pub request: Request,
    /// Whether they are twice as long as they should be: other clients have not compacted it.
    pub is_overdue: bool,
}

pub(super) fn append_request(
    protocol: &Protocol,
    change: &OwnerOperation<'_>,
    entry: &[u8],
) -> Request {
    let ttl = match change.operation {
        Operation::Offer { ttl } => ttl,
        _ => 0,
    };
    let args = vec![MAGIC.to_vec(), EMPTY.to_vec(), entry.to_vec(), protocol.ttl(ttl)];
    Request::script(&APPEND, vec![protocol.key(change.owner)], args)
}

/// Undo `append_request`, if the record it was appended to cannot be decoded.
pub(super) fn remove_request(
    protocol: &Protocol,
    change: &OwnerOperation<'_>,
    entry: &[u8],
) -> Request {
    Request::script(&REMOVE, vec![protocol.key(change.owner)], vec![entry.to_vec()])
}

/// Replace a record by another, and keep what is appended meanwhile.
pub(super) fn compare_and_swap_request(
    protocol: &Protocol,
    owner: &[u8],
    old: &[u8],
    new: &[u8],
    ttl: Vec<u8>,
) -> Request {
    let digest = sha1_smol::Sha1::from(old).digest().to_string().into_bytes();
    let length = old.len().to_string().into_bytes();
    Request::script(&FOLD, vec![protocol.key(owner)], vec![digest, length, new.to_vec(), ttl])
}

/// A reply to `append_request`: which ids were known before, and the compaction that is due.
pub(super) fn appended(
    protocol: &Protocol,
    change: &OwnerOperation<'_>,
    entry: &[u8],
    reply: Reply,
    now: Seconds,
) -> Result<(Vec<bool>, Option<Compaction>), SeenError> {
    let owner = change.owner;
    let value = match reply {
        Err(why) if why.contains("NOTALIST") => {
            return Err(SeenError::Refused {
                what: format!(
                    "the key of owner {:?} holds something that is not a seen list of this release; is the prefix another program's?",
                    String::from_utf8_lossy(owner)
                ),
            });
        }
        reply => bytes(owner, reply)?,
    };
    let mut value = value.unwrap_or_else(|| EMPTY.to_vec());
    let decoded = record::decode(&value, &protocol.policy, now);
    let (mut list, entry_bytes) = decoded.map_err(|error| SeenError::record(owner, error))?;
    let known = list.known(&change.operation, change.hashes);
    let room = room_for_entries(value.len() - entry_bytes);
    let grown = entry_bytes + entry.len();
    // Only the client whose entry crosses the limit compacts: one of many, not all at once.
    let (is_due, is_overdue) = (entry_bytes <= room && grown > room, grown > 2 * room);
    if !is_due && !is_overdue {
        return Ok((known, None));
    }
    value.extend_from_slice(entry);
    list.apply(&change.operation, change.hashes, &protocol.policy, now);
    let request = compare_and_swap_request(protocol, owner, &value, &record::encode(&list), vec![]);
    Ok((known, Some(Compaction { request, is_overdue })))
}
