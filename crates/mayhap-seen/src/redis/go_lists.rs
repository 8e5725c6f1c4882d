//! The list layout: an owner's key is a Redis list, an element a filter (`go_list.rs`).
//!
//! Programs in Go read, change and write back, and of two at once one loses. Here changes use
//! optimistic concurrency: a script writes only if nothing changed since it was read
//! (compare-and-swap), and otherwise returns the current state, for a retry. Such a list has no
//! place for offers; they are in a key beside it.

use super::mark_script::{self, Marked};
use super::protocol::{MAX_RETRIES, Protocol, bytes, rejected};
use crate::SeenError;
use crate::backend::OwnerOperation;
use crate::go_list::{self, GoList};
use crate::list::{List, Operation};
use crate::policy::Seconds;
use crate::record;
use mayhap::Hash;
use mayhap_redis::redis::{Value, cmd};
use mayhap_redis::{Reply, Request, Script};

/// If the newest element is ARGV[1] and the offers are ARGV[2]: offers become ARGV[4] for ARGV[5]
/// seconds, the newest element ARGV[6] ('' leaves either), ARGV[8…] are pushed, the list is trimmed
/// to ARGV[3] and lives for ARGV[7] seconds. Otherwise: returns the current state.
static EDIT: Script = Script::new(
    "local h = redis.call('LINDEX', KEYS[1], 0) or ''
local o = redis.call('GET', KEYS[2]) or ''
if h ~= ARGV[1] or o ~= ARGV[2] then
  return {redis.call('LRANGE', KEYS[1], 0, ARGV[3] - 1), o}
end
if ARGV[4] ~= '' then redis.call('SET', KEYS[2], ARGV[4], 'EX', ARGV[5]) end
if ARGV[6] ~= '' then redis.call('LSET', KEYS[1], 0, ARGV[6]) end
for i = 8, #ARGV do redis.call('LPUSH', KEYS[1], ARGV[i]) end
if ARGV[6] ~= '' or #ARGV >= 8 then
  redis.call('LTRIM', KEYS[1], 0, ARGV[3] - 1)
  if ARGV[7] == '0' then redis.call('PERSIST', KEYS[1])
  else redis.call('EXPIRE', KEYS[1], ARGV[7]) end
end
return 1",
);

/// The key of an owner's offers, in the same slot of a cluster.
///
/// Redis hashes the text in the first braces, if there is any. (A key with braces of another kind
/// gets another slot, and a cluster rejects offers for it.)
pub(super) fn offers_key(key: &[u8]) -> Vec<u8> {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let close = key[open..].iter().position(|byte| *byte == b'}')?;
        (close > 1).then_some(())
    });
    match tag {
        Some(()) => [key, b":offered"].concat(),
        None => [b"{", key, b"}:offered"].concat(),
    }
}

pub(super) fn reading(protocol: &Protocol, owner: &[u8]) -> [Request; 2] {
    let key = protocol.key(owner);
    let (mut range, mut get) = (cmd("LRANGE"), cmd("GET"));
    range.arg(key.as_slice()).arg(0).arg(protocol.policy.slices() - 1);
    let offers = offers_key(&key);
    get.arg(&offers);
    [Request::about(&key, &range), Request::about(&offers, &get)]
}

/// The current state: the elements, and the encoded offers.
#[derive(Clone, Default)]
pub(super) struct ListSnapshot {
    elements: Vec<Vec<u8>>,
    offers: Vec<u8>,
}

impl ListSnapshot {
    pub fn read(owner: &[u8], elements: Reply, offers: Reply) -> Result<ListSnapshot, SeenError> {
        let elements = match elements {
            Ok(Value::Array(values)) => values,
            Ok(Value::Nil) => vec![],
            Ok(value) => {
                return Err(rejected(owner, &format!("an answer of another kind: {value:?}")));
            }
            Err(why) => return Err(rejected(owner, &why)),
        };
        let elements: Result<Vec<_>, _> =
            elements.into_iter().map(|value| bytes(owner, Ok(value))).collect();
        let elements = elements?.into_iter().map(Option::unwrap_or_default).collect();
        Ok(ListSnapshot { elements, offers: bytes(owner, offers)?.unwrap_or_default() })
    }

    pub fn bytes(&self) -> u64 {
        let elements: usize = self.elements.iter().map(Vec::len).sum();
        (elements + self.offers.len()) as u64
    }

    fn offers(&self, protocol: &Protocol, owner: &[u8], now: Seconds) -> Result<List, SeenError> {
        if self.offers.is_empty() {
            return Ok(List::default());
        }
        let decoded = record::decode(&self.offers, &protocol.policy, now);
        decoded.map(|(list, _)| list).map_err(|error| SeenError::record(owner, error))
    }

    pub fn list(
        &self,
        protocol: &Protocol,
        owner: &[u8],
        now: Seconds,
    ) -> Result<GoList, SeenError> {
        let offers = self.offers(protocol, owner, now)?;
        Ok(GoList::read(&self.elements, offers, self.bytes(), &protocol.policy))
    }
}

/// One change with optimistic concurrency, retried until no other client interferes.
#[derive(Default)]
pub(super) struct CasAttempt {
    /// The last known state.
    snapshot: Option<ListSnapshot>,
    tries: u32,
    /// Which ids were known before, when it is done.
    pub known: Vec<bool>,
    /// Whether the mark script was sent.
    is_marking: bool,
}

impl CasAttempt {
    /// How often another client was faster.
    pub fn failures(&self) -> u32 {
        self.tries.saturating_sub(1) // the first attempt only reads the state
    }

    /// The next request; `None` if there is nothing to do.
    pub fn request(
        &mut self,
        protocol: &Protocol,
        change: &OwnerOperation<'_>,
        now: Seconds,
    ) -> Result<Option<Request>, SeenError> {
        if self.tries == MAX_RETRIES {
            return Err(SeenError::Contended { owner: change.owner.to_vec(), tries: MAX_RETRIES });
        }
        self.tries += 1;
        let Some(snapshot) = &self.snapshot else {
            let marking = match change.operation {
                Operation::Mark => mark_script::request(protocol, change),
                _ => None,
            };
            self.is_marking = marking.is_some();
            return Ok(Some(marking.unwrap_or_else(|| asking(protocol, change.owner))));
        };
        let list = snapshot.list(protocol, change.owner, now)?;
        self.known = list.known(&change.operation, change.ids, change.hashes);
        let all = change.ids.iter().zip(change.hashes).zip(&self.known);
        let chosen = all.filter(|(_, known)| change.operation == Operation::Mark || !**known);
        let (mut ids, hashes): (Vec<&[u8]>, Vec<Hash>) =
            chosen.map(|((id, hash), _)| (*id, *hash)).unzip();
        let (mut offers, mut lasts) = (vec![], 0);
        if let Operation::Offer { .. } = change.operation {
            if !hashes.is_empty() {
                let mut list = snapshot.offers(protocol, change.owner, now)?;
                list.apply(&change.operation, &hashes, &protocol.policy, now);
                offers = record::encode(&list);
                lasts = list.expires(&protocol.policy).unwrap_or(now).saturating_sub(now).max(1);
            }
            ids.clear();
        }
        let head = snapshot.elements.first().map(Vec::as_slice);
        let edit = go_list::mark(head, &ids, &protocol.policy);
        if offers.is_empty() && edit == go_list::ListUpdate::default() {
            return Ok(None);
        }
        let key = protocol.key(change.owner);
        let mut args = vec![
            head.unwrap_or_default().to_vec(),
            snapshot.offers.clone(),
            protocol.policy.slices().to_string().into_bytes(),
            offers,
            lasts.to_string().into_bytes(),
            edit.head.unwrap_or_default(),
            protocol.ttl(0),
        ];
        args.extend(edit.pushed);
        Ok(Some(Request::script(&EDIT, vec![key.clone(), offers_key(&key)], args)))
    }

    /// Whether it is done; otherwise the current state is known.
    pub fn reply(&mut self, change: &OwnerOperation<'_>, reply: Reply) -> Result<bool, SeenError> {
        let owner = change.owner;
        if std::mem::take(&mut self.is_marking) {
            return match mark_script::reply(change, reply)? {
                Marked::Done(marked) => {
                    self.known = marked;
                    Ok(true)
                }
                Marked::Strange(elements) => {
                    self.snapshot = Some(ListSnapshot::read(owner, Ok(elements), Ok(Value::Nil))?);
                    Ok(false)
                }
            };
        }
        match reply {
            Ok(Value::Int(1)) => Ok(true),
            Ok(Value::Array(mut parts)) if parts.len() == 2 => {
                let offers = parts.pop().unwrap_or(Value::Nil);
                let elements = parts.pop().unwrap_or(Value::Nil);
                self.snapshot = Some(ListSnapshot::read(owner, Ok(elements), Ok(offers))?);
                Ok(false)
            }
            Ok(value) => Err(rejected(owner, &format!("an answer of another kind: {value:?}"))),
            Err(why) => Err(rejected(owner, &why)),
        }
    }
}

/// A compare-and-swap that cannot succeed: it only returns the current state.
fn asking(protocol: &Protocol, owner: &[u8]) -> Request {
    let key = protocol.key(owner);
    let slices = protocol.policy.slices().to_string().into_bytes();
    let args = vec![b"?".to_vec(), b"?".to_vec(), slices];
    Request::script(&EDIT, vec![key.clone(), offers_key(&key)], args)
}
