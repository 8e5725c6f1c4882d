//! Records that were asked for or written lately.
//!
//! A record is a few hundred bytes in a tree of pages, and to find the way there costs more cache
//! misses than to ask it a thousand questions. Here it costs a handful.
//!
//! Nobody is told of a commit before the records it changed are gone from here. A reader that was
//! on its way with an older one meanwhile finds that the commits were counted on, and keeps it to
//! itself.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

/// Parts, each under a lock of its own.
const PARTS: usize = 64;
/// What a record takes here besides its bytes and its owner's, about.
const EACH: usize = 64;

pub(super) struct Recent {
    parts: [RwLock<Part>; PARTS],
    hasher: RandomState,
    /// Bytes of a part, at the most.
    most: usize,
}

#[derive(Default)]
struct Part {
    /// Commits that changed records of this part.
    commits: u64,
    /// By the hash of the owner. Should two owners share one, the later is kept.
    records: HashMap<u64, Record, BuildHasherDefault<AsItIs>>,
    bytes: usize,
}

/// A record, and whose it is in front of it: to find one is to find the other.
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

/// What is known of a record here.
pub(super) enum Found {
    Record(Record),
    /// Nothing, as of so many commits.
    Nothing(u64),
}

impl Recent {
    pub fn new(bytes: usize) -> Recent {
        let parts = std::array::from_fn(|_| RwLock::default());
        Recent { parts, hasher: RandomState::new(), most: bytes / PARTS }
    }

    /// The part of an owner, and the hash it goes by there.
    fn part(&self, owner: &[u8]) -> (&RwLock<Part>, u64) {
        let hash = self.hasher.hash_one(owner);
        // Bits from the middle: the map wants those at both ends to differ.
        (&self.parts[(hash >> 32) as usize % PARTS], hash)
    }

    /// The record of an owner. To be asked before the file is.
    pub fn get(&self, owner: &[u8]) -> Found {
        let (part, hash) = self.part(owner);
        let part = part.read().unwrap_or_else(PoisonError::into_inner);
        match part.records.get(&hash).filter(|record| record.owner() == owner) {
            Some(record) => Found::Record(record.clone()),
            None => Found::Nothing(part.commits),
        }
    }

    /// Keep a record that was read from the file after [`get`](Recent::get) had found nothing as
    /// of so many commits.
    pub fn keep(&self, owner: &[u8], record: &[u8], commits: u64) {
        let (part, hash) = self.part(owner);
        let mut part = part.write().unwrap_or_else(PoisonError::into_inner);
        if part.commits == commits {
            part.put(hash, Record::new(owner, record), self.most);
        }
    }

    /// This is the record of the owner since the last commit.
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

impl Part {
    fn put(&mut self, hash: u64, record: Record, most: usize) {
        self.remove(hash);
        let bytes = record.takes();
        if bytes > most {
            return;
        }
        if self.bytes + bytes > most {
            // Who is asked for often is soon here again; to know who that is would cost more.
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

/// For keys that are hashes.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
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

    fn commits(recent: &Recent, owner: &[u8]) -> u64 {
        match recent.get(owner) {
            Found::Record(record) => panic!("{:?} is here", record.bytes()),
            Found::Nothing(commits) => commits,
        }
    }

    #[test]
    fn what_changed_meanwhile_is_not_kept() {
        let recent = Recent::new(1 << 20);
        let before = commits(&recent, b"ada");
        recent.forget(b"ada");
        recent.keep(b"ada", b"old", before);
        let now = commits(&recent, b"ada");
        recent.keep(b"ada", b"new", now);
        assert!(matches!(recent.get(b"ada"), Found::Record(record) if record.bytes() == b"new"));
        recent.forget(b"ada");
        let then = commits(&recent, b"ada");
        assert!(then > now);
        recent.replace(b"ada", b"newest");
        recent.keep(b"ada", b"older", then);
        assert!(matches!(recent.get(b"ada"), Found::Record(record) if record.bytes() == b"newest"));
    }

    #[test]
    fn there_is_never_more_than_there_is_room_for() {
        let recent = Recent::new(PARTS * 1000);
        recent.keep(b"large", &[7; 2000], commits(&recent, b"large"));
        commits(&recent, b"large");
        for n in 0..10_000u32 {
            let owner = n.to_le_bytes();
            recent.keep(&owner, &[7; 100], commits(&recent, &owner));
            assert!(matches!(recent.get(&owner), Found::Record(_)));
        }
        for part in &recent.parts {
            let part = part.read().unwrap();
            assert!(part.bytes <= 1000 && part.bytes == part.records.len() * (4 + 100 + EACH));
        }
    }
}
