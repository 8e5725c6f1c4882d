//! The list layout: an owner's key is a Redis list, an element a filter (`golist.rs`).
//!
//! Programs in Go read, change and write back, and of two at once one loses. Here a script writes
//! only if nothing changed since it was read, and otherwise tells how things stand, for another
//! try. Offers have no place in such a list; they live in a key beside it.

use super::marking::{self, Marked};
use super::plan::{Plan, TRIES, bytes, refused};
use crate::SeenError;
use crate::backend::Change;
use crate::golist::{self, GoList};
use crate::list::{Deed, List};
use crate::policy::Seconds;
use crate::record;
use mayhap::Hash;
use mayhap_redis::redis::{Value, cmd};
use mayhap_redis::{Reply, Request, Script};

/// If the newest element is ARGV[1] and the offers are ARGV[2]: offers become ARGV[4] for ARGV[5]
/// seconds, the newest element ARGV[6] ('' leaves either), ARGV[8…] are pushed, the list is cut to
/// ARGV[3] and lives for ARGV[7] seconds. Otherwise: how things stand.
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
/// Redis hashes what stands in the first braces, if anything does. (A key with braces that are
/// none of that kind gets another slot, and a cluster refuses offers for it.)
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

pub(super) fn reading(plan: &Plan, owner: &[u8]) -> [Request; 2] {
    let key = plan.key(owner);
    let (mut range, mut get) = (cmd("LRANGE"), cmd("GET"));
    range.arg(key.as_slice()).arg(0).arg(plan.policy.slices() - 1);
    let offers = offers_key(&key);
    get.arg(&offers);
    [Request::about(&key, &range), Request::about(&offers, &get)]
}

/// How things stand: the elements, and the offers as they lie.
#[derive(Clone, Default)]
pub(super) struct Standing {
    elements: Vec<Vec<u8>>,
    offers: Vec<u8>,
}

impl Standing {
    pub fn read(owner: &[u8], elements: Reply, offers: Reply) -> Result<Standing, SeenError> {
        let elements = match elements {
            Ok(Value::Array(values)) => values,
            Ok(Value::Nil) => vec![],
            Ok(value) => {
                return Err(refused(owner, &format!("an answer of another kind: {value:?}")));
            }
            Err(why) => return Err(refused(owner, &why)),
        };
        let elements: Result<Vec<_>, _> =
            elements.into_iter().map(|value| bytes(owner, Ok(value))).collect();
        let elements = elements?.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Standing { elements, offers: bytes(owner, offers)?.unwrap_or_default() })
    }

    pub fn bytes(&self) -> u64 {
        let elements: usize = self.elements.iter().map(Vec::len).sum();
        (elements + self.offers.len()) as u64
    }

    fn offers(&self, plan: &Plan, owner: &[u8], now: Seconds) -> Result<List, SeenError> {
        if self.offers.is_empty() {
            return Ok(List::default());
        }
        let decoded = record::decode(&self.offers, &plan.policy, now);
        decoded.map(|(list, _)| list).map_err(|error| SeenError::record(owner, error))
    }

    pub fn list(&self, plan: &Plan, owner: &[u8], now: Seconds) -> Result<GoList, SeenError> {
        let offers = self.offers(plan, owner, now)?;
        Ok(GoList::read(&self.elements, offers, self.bytes(), &plan.policy))
    }
}

/// One change, tried until nobody else came between.
#[derive(Default)]
pub(super) struct Try {
    /// How things stood when last heard of.
    standing: Option<Standing>,
    tries: u32,
    /// Which ids were known before, when it is done.
    pub known: Vec<bool>,
    /// Whether a script that marks by itself is on its way.
    is_marking: bool,
}

impl Try {
    /// How often somebody else was quicker.
    pub fn failures(&self) -> u32 {
        self.tries.saturating_sub(1) // the first tells how things stand
    }

    /// The request that would do it; none if there is nothing to do.
    pub fn request(
        &mut self,
        plan: &Plan,
        change: &Change<'_>,
        now: Seconds,
    ) -> Result<Option<Request>, SeenError> {
        if self.tries == TRIES {
            return Err(SeenError::Contended { owner: change.owner.to_vec(), tries: TRIES });
        }
        self.tries += 1;
        let Some(standing) = &self.standing else {
            let marking = match change.deed {
                Deed::Mark => marking::request(plan, change),
                _ => None,
            };
            self.is_marking = marking.is_some();
            return Ok(Some(marking.unwrap_or_else(|| asking(plan, change.owner))));
        };
        let list = standing.list(plan, change.owner, now)?;
        self.known = list.known(&change.deed, change.ids, change.hashes);
        let all = change.ids.iter().zip(change.hashes).zip(&self.known);
        let chosen = all.filter(|(_, known)| change.deed == Deed::Mark || !**known);
        let (mut ids, hashes): (Vec<&[u8]>, Vec<Hash>) =
            chosen.map(|((id, hash), _)| (*id, *hash)).unzip();
        let (mut offers, mut lasts) = (vec![], 0);
        if let Deed::Offer { .. } = change.deed {
            if !hashes.is_empty() {
                let mut list = standing.offers(plan, change.owner, now)?;
                list.apply(&change.deed, &hashes, &plan.policy, now);
                offers = record::encode(&list);
                lasts = list.expires(&plan.policy).unwrap_or(now).saturating_sub(now).max(1);
            }
            ids.clear();
        }
        let head = standing.elements.first().map(Vec::as_slice);
        let edit = golist::mark(head, &ids, &plan.policy);
        if offers.is_empty() && edit == golist::Edit::default() {
            return Ok(None);
        }
        let key = plan.key(change.owner);
        let mut args = vec![
            head.unwrap_or_default().to_vec(),
            standing.offers.clone(),
            plan.policy.slices().to_string().into_bytes(),
            offers,
            lasts.to_string().into_bytes(),
            edit.head.unwrap_or_default(),
            plan.ttl(0),
        ];
        args.extend(edit.pushed);
        Ok(Some(Request::script(&EDIT, vec![key.clone(), offers_key(&key)], args)))
    }

    /// Whether it is done; otherwise it is known how things stand now.
    pub fn reply(&mut self, change: &Change<'_>, reply: Reply) -> Result<bool, SeenError> {
        let owner = change.owner;
        if std::mem::take(&mut self.is_marking) {
            return match marking::reply(change, reply)? {
                Marked::Done(marked) => {
                    self.known = marked;
                    Ok(true)
                }
                Marked::Strange(elements) => {
                    self.standing = Some(Standing::read(owner, Ok(elements), Ok(Value::Nil))?);
                    Ok(false)
                }
            };
        }
        match reply {
            Ok(Value::Int(1)) => Ok(true),
            Ok(Value::Array(mut parts)) if parts.len() == 2 => {
                let offers = parts.pop().unwrap_or(Value::Nil);
                let elements = parts.pop().unwrap_or(Value::Nil);
                self.standing = Some(Standing::read(owner, Ok(elements), Ok(offers))?);
                Ok(false)
            }
            Ok(value) => Err(refused(owner, &format!("an answer of another kind: {value:?}"))),
            Err(why) => Err(refused(owner, &why)),
        }
    }
}

/// An edit of what no list is like, and so no edit: it tells how things stand.
fn asking(plan: &Plan, owner: &[u8]) -> Request {
    let key = plan.key(owner);
    let slices = plan.policy.slices().to_string().into_bytes();
    let args = vec![b"?".to_vec(), b"?".to_vec(), slices];
    Request::script(&EDIT, vec![key.clone(), offers_key(&key)], args)
}
