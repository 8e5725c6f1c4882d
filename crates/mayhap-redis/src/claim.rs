//! A lock on a filter's name, held by the process that is creating it.
//!
//! The claim is a small key beside the name. Its owner renews it every few seconds; a claim not
//! renewed for half a minute belongs to a process that died, and may be taken over. It says which
//! id the shards carry and what they were made of, so that the same load resumes where the dead one
//! stopped, and any other load knows what to clean up.

use crate::filters::{shown, unexpected};
use crate::identity::FilterId;
use crate::router::Request;
use crate::slot::{sibling_key, slot_of};
use crate::{FilterError, Filters};
use redis::{Value, cmd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Time to live of a claim, in seconds.
const KEPT_S: u64 = 3600;
/// After this many seconds without renewal the owner is considered dead.
const SILENT_S: u64 = 30;
/// How often it is renewed.
const BEAT: Duration = Duration::from_secs(5);

/// Compare-and-swap of a value. A value that stays the same is not written again: a server that is
/// out of memory would reject the write.
const COMPARE_AND_SET: &str = "\
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[1] == ARGV[2] then return redis.call('EXPIRE', KEYS[1], ARGV[3]) end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1";
const COMPARE_AND_DELETE: &str = "\
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])";

/// The content of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claimed {
    /// The id of the filter that is being created.
    pub id: FilterId,
    /// The number of its shards.
    pub count: u32,
    /// A digest of its content.
    pub digest: u64,
    /// Its owner: a random number.
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
    sibling_key(name, "loading")
}

/// A claim held by this process.
pub(crate) struct Claim<'a> {
    filters: &'a Filters,
    name: Vec<u8>,
    key: Vec<u8>,
    slot: u16,
    ours: Claimed,
    /// The claim of a process that died: the same work if it has our id, otherwise what must be
    /// deleted.
    pub before: Option<Claimed>,
    lost: AtomicBool,
}

/// The current claim, and how long ago it was renewed.
fn read(filters: &Filters, key: &[u8]) -> Result<Option<(Vec<u8>, u64)>, FilterError> {
    let slot = slot_of(key);
    let requests =
        [Request::at(slot, cmd("GET").arg(key)), Request::at(slot, cmd("PTTL").arg(key))];
    let mut values = filters.all(key, &requests, filters.reading())?.into_iter();
    match (values.next(), values.next()) {
        (Some(Value::BulkString(value)), Some(Value::Int(ms))) => {
            let left_s = u64::try_from(ms).unwrap_or(0).div_ceil(1000);
            Ok(Some((value, KEPT_S.saturating_sub(left_s))))
        }
        _ => Ok(None),
    }
}

/// Who holds the claim on this name, if anybody, and whether the owner is alive.
pub(crate) fn claimed(
    filters: &Filters,
    name: &[u8],
) -> Result<Option<(Claimed, bool)>, FilterError> {
    let there = match read(filters, &claim_key(name)) {
        Err(FilterError::WrongType { .. }) => None, // not a claim: another key
        there => there?,
    };
    Ok(there.and_then(|(value, heard_s)| Some((Claimed::decode(&value)?, heard_s <= SILENT_S))))
}

impl<'a> Claim<'a> {
    /// Claim a name, to create a filter with this number of shards and this digest.
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
                    // It was taken by us, and the reply was lost.
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

    /// The id of the filter that is created under it.
    pub(crate) fn id(&self) -> FilterId {
        self.ours.id
    }

    fn replace(&self, old: &[u8], kept_s: u64) -> Result<bool, FilterError> {
        let mut eval = cmd("EVAL");
        eval.arg(COMPARE_AND_SET).arg(1).arg(&self.key).arg(old);
        eval.arg(self.ours.encode()).arg(kept_s);
        let request = Request::at(self.slot, &eval);
        // No need to wait for replicas: a claim that a failover loses is taken again.
        match self.filters.one(&self.name, request, self.filters.reading())? {
            Value::Int(done) => Ok(done == 1),
            other => Err(unexpected(&self.key, &other)),
        }
    }

    /// Renew it; fails if another process has taken it. A claim that a failover lost is taken
    /// again.
    pub(crate) fn renew(&self) -> Result<(), FilterError> {
        let ours = self.ours.encode();
        if self.replace(ours.as_bytes(), KEPT_S)? || self.replace(b"", KEPT_S)? {
            return Ok(());
        }
        self.lost.store(true, Relaxed);
        self.check()
    }

    /// Fails if the claim was found to be lost.
    pub(crate) fn check(&self) -> Result<(), FilterError> {
        if self.lost.load(Relaxed) {
            return Err(FilterError::Loading { key: shown(&self.name), heard_s: 0 });
        }
        Ok(())
    }

    /// Do the work and renew the claim meanwhile; `tend` is called periodically.
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
                    // A server that is unreachable now may be back at the next renewal.
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

    /// Release it at once, leaving what was created for the next process.
    pub(crate) fn abandon(&self) {
        _ = self.replace(self.ours.encode().as_bytes(), KEPT_S - SILENT_S - 1);
    }

    /// Release it. If that fails, it expires.
    pub(crate) fn release(&self) {
        let mut eval = cmd("EVAL");
        eval.arg(COMPARE_AND_DELETE).arg(1).arg(&self.key).arg(self.ours.encode());
        _ = self.filters.one(&self.name, Request::at(self.slot, &eval), self.filters.reading());
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
