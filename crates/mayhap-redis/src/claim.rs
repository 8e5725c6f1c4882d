//! A filter's name, claimed by whoever is about to make it.
//!
//! The claim is a small key beside the name. Its owner renews it every few seconds; one that was
//! not renewed for half a minute belongs to a process that died, and may be taken over. It says
//! which id the shards carry and what they were made of, so that the same load goes on where the
//! dead one was, and any other knows what to clear away.

use crate::filters::{shown, unexpected};
use crate::identity::FilterId;
use crate::router::Order;
use crate::slot::{beside, slot_of};
use crate::{FilterError, Filters};
use redis::{Value, cmd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How long a claim is kept, in seconds.
const KEPT_S: u64 = 3600;
/// After so long without a sign of life its owner is taken for dead, in seconds.
const SILENT_S: u64 = 30;
/// How often it is renewed.
const BEAT: Duration = Duration::from_secs(5);

/// Replace a value by another, if it is what it was. One that is to stay is not written anew: that
/// would be refused by a server without memory.
const COMPARE_AND_SET: &str = "\
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[1] == ARGV[2] then return redis.call('EXPIRE', KEYS[1], ARGV[3]) end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1";
const COMPARE_AND_DELETE: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])";

/// What a claim says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claimed {
    /// The id of the filter that is being made.
    pub id: FilterId,
    /// In so many shards.
    pub count: u32,
    /// Of what.
    pub digest: u64,
    /// By whom: a random number.
    owner: u64,
}

impl Claimed {
    fn encode(&self) -> String {
        format!("mayhap-load-1 {} {} {:016x} {:016x}", self.id, self.count, self.digest, self.owner)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Claimed> {
        let mut words = std::str::from_utf8(bytes).ok()?.split(' ');
        if words.next()? != "mayhap-load-1" {
            return None;
        }
        let id = FilterId::parse(words.next()?)?;
        let count = words.next()?.parse().ok()?;
        let mut hex = || u64::from_str_radix(words.next()?, 16).ok();
        Some(Claimed { id, count, digest: hex()?, owner: hex()? })
    }
}

/// The key of the claim on a name.
pub(crate) fn claim_key(name: &[u8]) -> Vec<u8> {
    beside(name, "loading")
}

/// A claim that is ours.
pub(crate) struct Claim<'a> {
    filters: &'a Filters,
    name: Vec<u8>,
    key: Vec<u8>,
    slot: u16,
    ours: Claimed,
    /// Of a process that died: the same work if it has our id, else what is to be cleared away.
    pub before: Option<Claimed>,
    lost: AtomicBool,
}

/// What is there, and how long ago it was renewed.
fn read(filters: &Filters, key: &[u8]) -> Result<Option<(Vec<u8>, u64)>, FilterError> {
    let slot = slot_of(key);
    let orders = [Order::at(slot, cmd("GET").arg(key)), Order::at(slot, cmd("PTTL").arg(key))];
    let mut values = filters.all(key, &orders, filters.reading())?.into_iter();
    match (values.next(), values.next()) {
        (Some(Value::BulkString(value)), Some(Value::Int(ms))) => {
            let left_s = u64::try_from(ms).unwrap_or(0).div_ceil(1000);
            Ok(Some((value, KEPT_S.saturating_sub(left_s))))
        }
        _ => Ok(None),
    }
}

/// Who claims this name, if anybody, and whether they are alive.
pub(crate) fn claimed(
    filters: &Filters,
    name: &[u8],
) -> Result<Option<(Claimed, bool)>, FilterError> {
    let there = match read(filters, &claim_key(name)) {
        Err(FilterError::WrongType { .. }) => None, // somebody's key
        there => there?,
    };
    Ok(there.and_then(|(value, heard_s)| Some((Claimed::decode(&value)?, heard_s <= SILENT_S))))
}

impl<'a> Claim<'a> {
    /// Claim a name, to make a filter of so many shards of what has this digest.
    pub(crate) fn take(
        filters: &'a Filters,
        name: &[u8],
        count: u32,
        digest: u64,
    ) -> Result<Claim<'a>, FilterError> {
        let key = claim_key(name);
        let id = FilterId::random()?;
        let owner = u64::from_str_radix(&FilterId::random()?.to_string()[16..], 16).unwrap_or(0);
        let mut claim = Claim {
            filters,
            name: name.to_vec(),
            slot: slot_of(&key),
            key,
            ours: Claimed { id, count, digest, owner },
            before: None,
            lost: AtomicBool::new(false),
        };
        loop {
            let there = read(filters, &claim.key)?;
            let (value, heard_s) = there.unwrap_or_default();
            claim.before = Claimed::decode(&value);
            match claim.before {
                Some(before) if before.owner == owner => {
                    // It was taken, and the answer was lost.
                    claim.before = None;
                    return Ok(claim);
                }
                Some(_) if heard_s <= SILENT_S => {
                    return Err(FilterError::Loading { key: shown(name), heard_s });
                }
                Some(before) if (before.count, before.digest) == (count, digest) => {
                    claim.ours.id = before.id;
                }
                None if !value.is_empty() => {
                    return Err(FilterError::Exists { key: shown(&claim.key) });
                }
                _ => claim.ours.id = id,
            }
            if claim.replace(&value, KEPT_S)? {
                return Ok(claim);
            }
        }
    }

    /// The id of the filter that is made under it.
    pub(crate) fn id(&self) -> FilterId {
        self.ours.id
    }

    fn replace(&self, old: &[u8], kept_s: u64) -> Result<bool, FilterError> {
        let mut eval = cmd("EVAL");
        eval.arg(COMPARE_AND_SET).arg(1).arg(&self.key).arg(old);
        eval.arg(self.ours.encode()).arg(kept_s);
        let order = Order::at(self.slot, &eval);
        // Replicas need not hear of it: one that a failover loses is taken again.
        match self.filters.one(&self.name, order, self.filters.reading())? {
            Value::Int(done) => Ok(done == 1),
            other => Err(unexpected(&self.key, &other)),
        }
    }

    /// Renew it; fails where it is not ours any more. One that a failover lost is taken again.
    pub(crate) fn renew(&self) -> Result<(), FilterError> {
        let ours = self.ours.encode();
        if self.replace(ours.as_bytes(), KEPT_S)? || self.replace(b"", KEPT_S)? {
            return Ok(());
        }
        self.lost.store(true, Relaxed);
        self.check()
    }

    /// Fails where it was found not to be ours any more.
    pub(crate) fn check(&self) -> Result<(), FilterError> {
        if self.lost.load(Relaxed) {
            return Err(FilterError::Loading { key: shown(&self.name), heard_s: 0 });
        }
        Ok(())
    }

    /// Work, renewing the claim meanwhile; `tend` is called every now and then.
    pub(crate) fn keep_while<T>(&self, tend: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let beating = scope.spawn(|| {
                let mut beats = 0u32;
                loop {
                    std::thread::park_timeout(BEAT);
                    if done.load(Relaxed) {
                        return;
                    }
                    // A server that is away now may be back at the next beat.
                    _ = self.renew();
                    beats += 1;
                    if beats.is_multiple_of(60) {
                        tend();
                    }
                }
            });
            let worked = work();
            done.store(true, Relaxed);
            beating.thread().unpark();
            worked
        })
    }

    /// Leave what was made so far to whoever comes next, at once.
    pub(crate) fn abandon(&self) {
        _ = self.replace(self.ours.encode().as_bytes(), KEPT_S - SILENT_S - 1);
    }

    /// Give it up. If that fails, it expires.
    pub(crate) fn release(&self) {
        let mut eval = cmd("EVAL");
        eval.arg(COMPARE_AND_DELETE).arg(1).arg(&self.key).arg(self.ours.encode());
        _ = self.filters.one(&self.name, Order::at(self.slot, &eval), self.filters.reading());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_read_back() {
        let id = FilterId::random().unwrap();
        let claimed = Claimed { id, count: 64, digest: 7, owner: u64::MAX };
        assert_eq!(Claimed::decode(claimed.encode().as_bytes()), Some(claimed));
        for other in ["", "x y z", &claimed.encode()[..60]] {
            assert_eq!(Claimed::decode(other.as_bytes()), None, "{other}");
        }
    }
}
