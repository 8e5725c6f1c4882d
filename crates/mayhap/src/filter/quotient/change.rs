//! Inserting and removing, one key or many.

use super::side::SideTable;
use super::table::Counts;
use super::tasks::{self, ByLayout, fingerprint};
use super::{Quotient, full_at};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::Relocate;

impl Quotient {
    /// Insert a key, once more if it is in already. `true`: it was certainly new.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key, once more if it is in already. `true`: it was certainly new.
    #[inline]
    pub fn insert_hash(&mut self, hash: Hash) -> bool {
        self.make_room();
        let fingerprint = fingerprint(&self.table, hash);
        self.insert_one(fingerprint)
    }

    #[inline(never)]
    pub(super) fn insert_one(&mut self, fingerprint: u64) -> bool {
        let table = match &mut self.unmoved {
            Some(unmoved) if fingerprint >= unmoved.from => &mut unmoved.table,
            _ => &mut self.table,
        };
        self.kernel.choose(ByLayout(tasks::Insert(table, fingerprint)))
    }

    /// Insert them all; returns how many were certainly new.
    pub fn insert_batch(&mut self, hashes: &[Hash]) -> u64 {
        let before = self.counts().distinct;
        self.insert_each(hashes, |_| ());
        self.counts().distinct - before
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    pub fn insert_batch_new(&mut self, hashes: &[Hash], new: &mut Vec<bool>) {
        new.clear();
        new.reserve(hashes.len());
        self.insert_each(hashes, |is_new| new.push(is_new));
    }

    fn insert_each(&mut self, mut hashes: &[Hash], mut report: impl FnMut(bool)) {
        while let [first, rest @ ..] = hashes {
            self.make_room();
            if self.unmoved.is_some() {
                report(self.insert_one(fingerprint(&self.table, *first)));
                hashes = rest;
                continue;
            }
            // So many can be inserted before there is a need to look again.
            let room = self.full_at.saturating_sub(self.table.counts.in_lines).max(1);
            let count = usize::try_from(room).unwrap_or(usize::MAX).min(hashes.len());
            let (now, later) = hashes.split_at(count);
            self.kernel.choose(ByLayout(tasks::Batch(
                tasks::InsertEach(&mut self.table, &mut report),
                now,
            )));
            hashes = later;
        }
    }

    /// Remove one insertion of a key. `false`: it was certainly not in, and nothing changed.
    ///
    /// Remove only what was inserted: see [the promises](Quotient#what-it-promises).
    #[inline]
    pub fn remove(&mut self, key: impl Key) -> bool {
        self.remove_hash(self.hash(key))
    }

    /// Remove one insertion of a hashed key. `false`: it was certainly not in, and nothing changed.
    #[inline]
    pub fn remove_hash(&mut self, hash: Hash) -> bool {
        self.remove_one(fingerprint(&self.table, hash))
    }

    #[inline(never)]
    fn remove_one(&mut self, fingerprint: u64) -> bool {
        let table = match &mut self.unmoved {
            Some(unmoved) if fingerprint >= unmoved.from => &mut unmoved.table,
            _ => &mut self.table,
        };
        self.kernel.choose(ByLayout(tasks::Remove(table, fingerprint)))
    }

    /// Remove them all, one after another; returns how many were not certainly absent.
    pub fn remove_batch(&mut self, hashes: &[Hash]) -> u64 {
        if self.unmoved.is_some() {
            return hashes.iter().map(|hash| u64::from(self.remove_hash(*hash))).sum();
        }
        let before = self.table.counts.keys;
        self.kernel
            .choose(ByLayout(tasks::Batch(tasks::RemoveEach(&mut self.table, |_| ()), hashes)));
        before - self.table.counts.keys
    }

    /// Remove them all, one after another; `removed` is cleared and filled, `false` for each that was
    /// certainly not in.
    pub fn remove_batch_removed(&mut self, hashes: &[Hash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.reserve(hashes.len());
        if self.unmoved.is_some() {
            removed.extend(hashes.iter().map(|hash| self.remove_hash(*hash)));
            return;
        }
        let step = tasks::RemoveEach(&mut self.table, |was_in| removed.push(was_in));
        self.kernel.choose(ByLayout(tasks::Batch(step, hashes)));
    }

    /// Forget everything. It keeps the size that it has grown to.
    pub fn clear(&mut self) {
        self.unmoved = None;
        self.table.bytes.as_mut().fill(0);
        self.table.side = SideTable::default();
        self.table.counts = Counts::default();
        self.full_at = full_at(self.table.shape, self.grows);
    }

    /// Offer the memory of its lines to whoever tidies the heap: no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.table.bytes.move_by(memory);
        if let Some(unmoved) = &mut self.unmoved {
            unmoved.table.bytes.move_by(memory);
        }
    }
}
