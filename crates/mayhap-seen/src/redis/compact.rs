//! The compact layout: one string an owner, a record as in `record.rs`.
//!
//! A deed is appended as an entry by a script that also tells how the record stood before: one
//! round trip, and nothing to retry however many do it at once. Whoever finds the entries grown
//! too long folds them into a new body; the script for that puts the new body in place of
//! exactly the bytes it was made from, and keeps the entries that came meanwhile. Only another
//! fold or a forget can get in its way, so somebody's fold always gets through. When it is sent
//! is decided in `folds.rs`.

use super::plan::{Plan, bytes};
use crate::SeenError;
use crate::backend::Change;
use crate::list::{Deed, List};
use crate::policy::Seconds;
use crate::record::{self, EMPTY, MAGIC};
use mayhap_redis::redis::cmd;
use mayhap_redis::{Reply, Request, Script};

/// Appends ARGV[3] to a record that begins with ARGV[1], or is made from ARGV[2]; it then lives
/// for ARGV[4] seconds at least (an offer may last longer), or for ever if that is 0. Set rather
/// than appended to: Redis gives a string that was appended to twice the memory it needs.
static APPEND: Script = Script::new(
    "local v = redis.call('GET', KEYS[1])
if v and string.sub(v, 1, #ARGV[1]) ~= ARGV[1] then return redis.error_reply('NOTALIST') end
local n = (v or ARGV[2]) .. ARGV[3]
if ARGV[4] == '0' then redis.call('SET', KEYS[1], n)
else redis.call('SET', KEYS[1], n, 'EX', math.max(redis.call('TTL', KEYS[1]), ARGV[4])) end
return v",
);

/// Puts ARGV[3] in place of the first ARGV[2] bytes, if their SHA-1 is ARGV[1]. With ARGV[4] it
/// then lives for so many seconds at least (for ever if 0), without it for as long as before.
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

/// Takes out ARGV[1], wherever it is by now.
static REMOVE: Script = Script::new(
    "local v = redis.call('GET', KEYS[1]) or ''
local first, last = string.find(v, ARGV[1], 1, true)
if not first then return 0 end
redis.call('SET', KEYS[1], string.sub(v, 1, first - 1) .. string.sub(v, last + 1), 'KEEPTTL')
return 1",
);

/// Entries may grow to so many bytes beside a body of so many. Every reader works them in anew, at
/// some microseconds each in a long list, so that the largest bodies are folded as often as others.
fn room_for_entries(body_bytes: usize) -> usize {
    (192 + body_bytes / 8).min(4096)
}

pub(super) fn reading(plan: &Plan, owner: &[u8]) -> Request {
    let key = plan.key(owner);
    Request::about(&key, cmd("GET").arg(&key))
}

/// The list and its bytes on the server.
pub(super) fn list(
    plan: &Plan,
    owner: &[u8],
    reply: Reply,
    now: Seconds,
) -> Result<(List, Vec<u8>), SeenError> {
    let Some(value) = bytes(owner, reply)? else { return Ok((List::default(), vec![])) };
    let decoded = record::decode(&value, &plan.policy, now);
    let (list, _) = decoded.map_err(|error| SeenError::record(owner, error))?;
    Ok((list, value))
}

/// What puts a shorter record in place of one whose entries have grown too long.
pub(super) struct Fold {
    pub request: Request,
    /// Whether they are twice as long as they should be: others have left it undone.
    pub is_overdue: bool,
}

pub(super) fn appending(plan: &Plan, change: &Change<'_>, entry: &[u8]) -> Request {
    let lasting = match change.deed {
        Deed::Offer { lasting } => lasting,
        _ => 0,
    };
    let args = vec![MAGIC.to_vec(), EMPTY.to_vec(), entry.to_vec(), plan.ttl(lasting)];
    Request::script(&APPEND, vec![plan.key(change.owner)], args)
}

/// Take back what `appending` did, where the record it was appended to cannot be read.
pub(super) fn removing(plan: &Plan, change: &Change<'_>, entry: &[u8]) -> Request {
    Request::script(&REMOVE, vec![plan.key(change.owner)], vec![entry.to_vec()])
}

/// Put a record in place of another, and keep what is appended meanwhile.
pub(super) fn replacing(
    plan: &Plan,
    owner: &[u8],
    old: &[u8],
    new: &[u8],
    ttl: Vec<u8>,
) -> Request {
    let digest = sha1_smol::Sha1::from(old).digest().to_string().into_bytes();
    let length = old.len().to_string().into_bytes();
    Request::script(&FOLD, vec![plan.key(owner)], vec![digest, length, new.to_vec(), ttl])
}

/// A reply to `appending`: which ids were known before, and the fold that is due since.
pub(super) fn appended(
    plan: &Plan,
    change: &Change<'_>,
    entry: &[u8],
    reply: Reply,
    now: Seconds,
) -> Result<(Vec<bool>, Option<Fold>), SeenError> {
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
    let decoded = record::decode(&value, &plan.policy, now);
    let (mut list, entry_bytes) = decoded.map_err(|error| SeenError::record(owner, error))?;
    let known = list.known(&change.deed, change.hashes);
    let room = room_for_entries(value.len() - entry_bytes);
    let grown = entry_bytes + entry.len();
    // Whoever's entry is the first too many folds: of a crowd one, not all at once.
    let (is_due, is_overdue) = (entry_bytes <= room && grown > room, grown > 2 * room);
    if !is_due && !is_overdue {
        return Ok((known, None));
    }
    value.extend_from_slice(entry);
    list.apply(&change.deed, change.hashes, &plan.policy, now);
    let request = replacing(plan, owner, &value, &record::encode(&list), vec![]);
    Ok((known, Some(Fold { request, is_overdue })))
}
