//! Records that were asked for or written lately.
//!
//! A record is a few hundred bytes in a tree of pages, and to find the way there costs more cache
//! misses than to ask it a thousand questions. Here it costs a handful.
//!
//! Nobody is told of a commit before the records it changed are gone from here. A reader that was
//! on its way with an older one meanwhile finds that the commits were counted on, and keeps it to
//! itself.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

/// Parts, each under a lock of its own.
const PARTS: usize = 64;
/// What a record takes here besides its bytes and its owner's, about.
const EACH: usize = 96;

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
    records: HashMap<Box<[u8]>, Arc<[u8]>>,
    bytes: usize,
}

/// What is known of a record here.
pub(super) enum Found {
    Record(Arc<[u8]>),
    /// Nothing, as of so many commits.
    Nothing(u64),
}

impl Recent {
    pub fn new(bytes: usize) -> Recent {
        let parts = std::array::from_fn(|_| RwLock::default());
        Recent { parts, hasher: RandomState::new(), most: bytes / PARTS }
    }

    fn part(&self, owner: &[u8]) -> &RwLock<Part> {
        &self.parts[self.hasher.hash_one(owner) as usize % PARTS]
    }

    /// The record of an owner. To be asked before the file is.
    pub fn get(&self, owner: &[u8]) -> Found {
        let part = self.part(owner).read().unwrap_or_else(PoisonError::into_inner);
        match part.records.get(owner) {
            Some(record) => Found::Record(record.clone()),
            None => Found::Nothing(part.commits),
        }
    }

    /// Keep a record that was read from the file after [`get`](Recent::get) had found nothing as
    /// of so many commits.
    pub fn keep(&self, owner: &[u8], record: &[u8], commits: u64) {
        let mut part = self.part(owner).write().unwrap_or_else(PoisonError::into_inner);
        if part.commits == commits {
            part.put(owner, record, self.most);
        }
    }

    /// This is the record of the owner since the last commit.
    pub fn replace(&self, owner: &[u8], record: &[u8]) {
        let mut part = self.part(owner).write().unwrap_or_else(PoisonError::into_inner);
        part.commits += 1;
        part.put(owner, record, self.most);
    }

    /// The record of this owner may have changed.
    pub fn forget(&self, owner: &[u8]) {
        let mut part = self.part(owner).write().unwrap_or_else(PoisonError::into_inner);
        part.commits += 1;
        part.remove(owner);
    }
}

impl Part {
    fn put(&mut self, owner: &[u8], record: &[u8], most: usize) {
        self.remove(owner);
        let bytes = owner.len() + record.len() + EACH;
        if bytes > most {
            return;
        }
        if self.bytes + bytes > most {
            // Who is asked for often is soon here again; to know who that is would cost more.
            self.records.clear();
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.records.insert(owner.into(), record.into());
    }

    fn remove(&mut self, owner: &[u8]) {
        if let Some(record) = self.records.remove(owner) {
            self.bytes -= owner.len() + record.len() + EACH;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits(recent: &Recent, owner: &[u8]) -> u64 {
        match recent.get(owner) {
            Found::Record(record) => panic!("{record:?} is here"),
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
        assert!(matches!(recent.get(b"ada"), Found::Record(record) if *record == *b"new"));
        recent.forget(b"ada");
        let then = commits(&recent, b"ada");
        assert!(then > now);
        recent.replace(b"ada", b"newest");
        recent.keep(b"ada", b"older", then);
        assert!(matches!(recent.get(b"ada"), Found::Record(record) if *record == *b"newest"));
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
