//! A cache of recently read or written records.
//!
//! A record is a few hundred bytes in a B-tree of pages; finding it there costs more cache misses
//! than a thousand lookups in it. Here it costs a handful.
//!
//! A commit is acknowledged only after the records it changed are removed or replaced here. A
//! reader that still holds an older record finds that the commit counter has changed, and does not
//! cache it.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

/// Shards of the cache, each with its own lock.
const CACHE_SHARDS: usize = 64;
/// Approximate overhead of a record, besides its bytes and its owner's.
const EACH: usize = 64;

pub(super) struct RecordCache {
    parts: [RwLock<CacheShard>; CACHE_SHARDS],
    hasher: RandomState,
    /// Maximum bytes per shard.
    most: usize,
}

#[derive(Default)]
struct CacheShard {
    /// Commits that changed records of this shard.
    commits: u64,
    /// By the hash of the owner. If two owners collide, the later is kept.
    records: HashMap<u64, Record, BuildHasherDefault<IdentityHasher>>,
    bytes: usize,
}

/// A record with its owner in front: one allocation for both.
#[derive(Clone)]
pub(super) struct Record {
    owner_bytes: usize,
    both: Arc<[u8]>,
}

impl Record {
    fn new(owner: &[u8], record: &[u8]) -> Record {
        Record { owner_bytes: owner.len(), both: [owner, record].concat().into() }
    }

    fn owner(&self) -> &[u8] {
        &self.both[..self.owner_bytes]
    }

    pub fn bytes(&self) -> &[u8] {
        &self.both[self.owner_bytes..]
    }

    fn takes(&self) -> usize {
        self.both.len() + EACH
    }
}

/// The result of a cache lookup.
pub(super) enum Cached {
    Record(Record),
    /// Not cached, at this number of commits.
    Nothing(u64),
}

impl RecordCache {
    pub fn new(bytes: usize) -> RecordCache {
        let parts = std::array::from_fn(|_| RwLock::default());
        RecordCache { parts, hasher: RandomState::new(), most: bytes / CACHE_SHARDS }
    }

    /// The shard of an owner, and its hash.
    fn part(&self, owner: &[u8]) -> (&RwLock<CacheShard>, u64) {
        let hash = self.hasher.hash_one(owner);
        // Bits from the middle: the hash map uses those at both ends.
        (&self.parts[(hash >> 32) as usize % CACHE_SHARDS], hash)
    }

    /// Look up the record of an owner, before the file is read.
    pub fn get(&self, owner: &[u8]) -> Cached {
        let (part, hash) = self.part(owner);
        let part = part.read().unwrap_or_else(PoisonError::into_inner);
        match part.records.get(&hash).filter(|record| record.owner() == owner) {
            Some(record) => Cached::Record(record.clone()),
            None => Cached::Nothing(part.commits),
        }
    }

    /// Cache a record that was read from the file after [`get`](RecordCache::get) had missed at
    /// this number of commits.
    pub fn keep(&self, owner: &[u8], record: &[u8], commits: u64) {
        let (part, hash) = self.part(owner);
        let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
        if part.commits == commits {
            part.put(hash, Record::new(owner, record), self.most);
        }
    }

    /// The owner's record as of the last commit.
    pub fn replace(&self, owner: &[u8], record: &[u8]) {
        let (part, hash) = self.part(owner);
        let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
        part.commits += 1;
        part.put(hash, Record::new(owner, record), self.most);
    }

    /// All records may have changed.
    pub fn clear(&self) {
        for part in &self.parts {
            let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
            part.commits += 1;
            part.records.clear();
            part.bytes = 0;
        }
    }

    /// The record of this owner may have changed.
    pub fn forget(&self, owner: &[u8]) {
        let (part, hash) = self.part(owner);
        let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
        part.commits += 1;
        part.remove(hash);
    }
}

impl CacheShard {
    fn put(&mut self, hash: u64, record: Record, most: usize) {
        self.remove(hash);
        let bytes = record.takes();
        if bytes > most {
            return;
        }
        if self.bytes + bytes > most {
            // Evict all of the shard: frequent owners are soon cached again, and LRU bookkeeping
            // would cost more.
            self.records.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.records.insert(hash, record);
    }

    fn remove(&mut self, hash: u64) {
        if let Some(record) = self.records.remove(&hash) {
            self.bytes -= record.takes();
        }
    }
}

/// For keys that are hashes already.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are of one type, which is u64");
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits(cache: &RecordCache, owner: &[u8]) -> u64 {
        match cache.get(owner) {
            Cached::Record(record) => panic!("{:?} is here", record.bytes()),
            Cached::Nothing(commits) => commits,
        }
    }

    #[test]
    fn what_changed_meanwhile_is_not_kept() {
        let cache = RecordCache::new(1 << 20);
        let before = commits(&cache, b"ada");
        cache.forget(b"ada");
        cache.keep(b"ada", b"old", before);
        let now = commits(&cache, b"ada");
        cache.keep(b"ada", b"new", now);
        assert!(matches!(cache.get(b"ada"), Cached::Record(record) if record.bytes() == b"new"));
        cache.forget(b"ada");
        let then = commits(&cache, b"ada");
        assert!(then > now);
        cache.replace(b"ada", b"newest");
        cache.keep(b"ada", b"older", then);
        assert!(matches!(cache.get(b"ada"), Cached::Record(record) if record.bytes() == b"newest"));
    }

    #[test]
    fn there_is_never_more_than_there_is_room_for() {
        let cache = RecordCache::new(CACHE_SHARDS * 1000);
        cache.keep(b"large", &[7; 2000], commits(&cache, b"large"));
        commits(&cache, b"large");
        for n in 0..10_000u32 {
            let owner = n.to_le_bytes();
            cache.keep(&owner, &[7; 100], commits(&cache, &owner));
            assert!(matches!(cache.get(&owner), Cached::Record(_)));
        }
        for part in &cache.parts {
            let part = part.read().unwrap();
            assert!(part.bytes <= 1000 && part.bytes == part.records.len() * (4 + 100 + EACH));
        }
    }
}
