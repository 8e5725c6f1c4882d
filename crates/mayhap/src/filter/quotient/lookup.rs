//! Looking up and counting, one key or many.

use super::Quotient;
use super::stream::Fingerprints;
use super::tasks::{self, ByLayout, fingerprint};
use crate::Key;
use crate::hash::Hash;

impl<B: AsRef<[u8]>> Quotient<B> {
    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.contains_one(fingerprint(&self.table, hash))
    }

    #[inline(never)]
    fn contains_one(&self, fingerprint: u64) -> bool {
        if let Some(unmoved) = self.unmoved(fingerprint) {
            return self.kernel.choose(ByLayout(tasks::Contains(unmoved, fingerprint)));
        }
        self.kernel.choose(ByLayout(tasks::Contains(&self.table, fingerprint)))
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        answers.clear();
        if self.unmoved.is_some() {
            answers.extend(hashes.iter().map(|hash| self.contains_hash(*hash)));
            return;
        }
        answers.resize(hashes.len(), false);
        let step = tasks::Answer(&self.table, answers.iter_mut());
        self.kernel.choose(ByLayout(tasks::Batch(step, hashes)));
    }

    /// How often the key may be in: never less than it is, and more only where another key has the
    /// identical fingerprint.
    #[inline]
    pub fn count(&self, key: impl Key) -> u64 {
        self.count_hash(self.hash(key))
    }

    /// How often the hashed key may be in, as for [`count`](Quotient::count).
    #[inline]
    pub fn count_hash(&self, hash: Hash) -> u64 {
        let fingerprint = fingerprint(&self.table, hash);
        match self.unmoved(fingerprint) {
            Some(unmoved) => self.kernel.run(tasks::Count(unmoved, fingerprint)),
            None => self.kernel.run(tasks::Count(&self.table, fingerprint)),
        }
    }

    /// Count all of them at once: `counts` is cleared and filled, one count per hash.
    pub fn count_batch(&self, hashes: &[Hash], counts: &mut Vec<u64>) {
        counts.clear();
        counts.reserve(hashes.len());
        if self.unmoved.is_some() {
            counts.extend(hashes.iter().map(|hash| self.count_hash(*hash)));
            return;
        }
        self.kernel.choose(ByLayout(tasks::Batch(tasks::Tally(&self.table, counts), hashes)));
    }

    /// All fingerprints that are in, in ascending order, each with the number of its copies.
    ///
    /// A fingerprint is a number below the range; hashes in order have fingerprints in order.
    ///
    /// ```
    /// # use mayhap::{Quotient, Spec};
    /// let filter = Quotient::from_keys(Spec::new(1_000, 0.01)?, ["ada", "eve", "ada"])?;
    /// let all: Vec<(u64, u64)> = filter.fingerprints().collect();
    /// assert!(all.is_sorted() && all.len() == 2);
    /// assert!(all.contains(&(filter.fingerprint(filter.hash("ada")), 2)));
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn fingerprints(&self) -> Fingerprints<'_> {
        let moved = Fingerprints::of(&self.table);
        match &self.unmoved {
            Some(unmoved) => moved.then(Fingerprints::from_line(&unmoved.table, unmoved.line)),
            None => moved,
        }
    }

    /// The fingerprint of a hashed key: all that the filter keeps of it.
    pub fn fingerprint(&self, hash: Hash) -> u64 {
        fingerprint(&self.table, hash)
    }
}
