//! One filter with many writers.

use super::{Blocked, Classic};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::{Atomics, shared};
use crate::scheme::Scheme;
use crate::sizing::{BlockedShape, ClassicShape};
use crate::spec::Spec;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A filter that any number of threads write and read at the same time, through `&self`, without
/// a lock.
///
/// Made from a [`Blocked`] or [`Classic`] by `into_shared` and turned back by `into_inner`, both
/// without a copy. Once an insert happens-before a lookup (join, channel, lock), the lookup finds the
/// key. If two threads race on a new key, at least one gets `true`.
///
/// ```
/// # use mayhap::{Blocked, Spec};
/// let seen = Blocked::new(Spec::new(1_000, 0.01)?)?.into_shared();
/// std::thread::scope(|scope| {
///     for thread in 0..4u64 {
///         let seen = &seen;
///         scope.spawn(move || (0..250).for_each(|i| _ = seen.insert(thread * 250 + i)));
///     }
/// });
/// assert!((0..1_000u64).all(|key| seen.contains(key)));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
pub struct Shared<L> {
    words: Atomics,
    layout: L,
    spec: Spec,
    tally: StripedCounter,
}

/// A [`Blocked`] filter with many writers.
pub type SharedBlocked = Shared<BlockedShape>;
/// A [`Classic`] filter with many writers.
pub type SharedClassic = Shared<ClassicShape>;

impl<L: shared::Layout + Copy> Shared<L> {
    /// Its layout.
    pub fn shape(&self) -> L {
        self.layout
    }
}

impl<L: shared::Layout> Shared<L> {
    /// Insert a key. `true`: it was certainly new.
    #[inline]
    pub fn insert(&self, key: impl Key) -> bool {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key. `true`: it was certainly new.
    #[inline]
    pub fn insert_hash(&self, hash: Hash) -> bool {
        let new = self.layout.insert(self.words.words(), hash);
        if new {
            self.tally.add(hash, 1);
        }
        new
    }

    /// Insert them all; returns how many were certainly new.
    pub fn insert_batch(&self, hashes: &[Hash]) -> u64 {
        self.spec.scheme_ref().check_origin(hashes);
        let mut new = 0;
        let words = self.words.words();
        shared::insert_batch(words, &self.layout, hashes, |_, is_new| new += u64::from(is_new));
        self.tally.add(hashes.first().copied().unwrap_or_default(), new);
        new
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    pub fn insert_batch_new(&self, hashes: &[Hash], new: &mut Vec<bool>) {
        self.spec.scheme_ref().check_origin(hashes);
        new.clear();
        let words = self.words.words();
        shared::insert_batch(words, &self.layout, hashes, |_, is_new| new.push(is_new));
        let count = new.iter().map(|new| u64::from(*new)).sum();
        self.tally.add(hashes.first().copied().unwrap_or_default(), count);
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.layout.contains(self.words.words(), hash)
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        self.spec.scheme_ref().check_origin(hashes);
        answers.clear();
        shared::contains_batch(self.words.words(), &self.layout, hashes, |yes| answers.push(yes));
    }

    /// Hash a key once, for lookups and inserts later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme().hash(key)
    }

    /// Hash many keys at once, for lookups and inserts in this and every filter that hashes alike.
    pub fn hash_batch<K: Key>(&self, keys: &[K]) -> Vec<Hash> {
        let mut hashes = Vec::new();
        self.spec.scheme().hash_batch(keys, &mut hashes);
        hashes
    }

    /// Prefetches what a lookup of this hash will read.
    #[inline]
    pub fn prefetch(&self, hash: Hash) {
        self.layout.fetch(self.words.words(), hash);
    }

    pub(super) fn words(&self) -> &[AtomicU64] {
        self.words.words()
    }

    /// Count more keys where the bits tell of more.
    pub(super) fn count_at_least(&self, keys: u64) {
        self.tally.add(Hash(0), keys.saturating_sub(self.keys()));
    }

    /// The capacity and rate it was made for.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// Inserts, by all threads, that found their key certainly new.
    pub fn keys(&self) -> u64 {
        self.tally.total()
    }
}

impl Blocked {
    /// Share it between threads.
    pub fn into_shared(self) -> SharedBlocked {
        let (spec, layout, keys, bits) = self.into_parts();
        Shared { words: bits.into_atomics(), layout, spec, tally: StripedCounter::of(keys) }
    }
}

impl SharedBlocked {
    /// Turn it back into a plain filter.
    pub fn into_inner(self) -> Blocked {
        let keys = self.keys();
        Blocked::assemble(self.spec, self.layout, keys, self.words.into_aligned())
    }
}

impl Classic {
    /// Share it between threads.
    pub fn into_shared(self) -> SharedClassic {
        let (spec, layout, keys, bits) = self.into_parts();
        Shared { words: bits.into_atomics(), layout, spec, tally: StripedCounter::of(keys) }
    }
}

impl SharedClassic {
    /// Turn it back into a plain filter.
    pub fn into_inner(self) -> Classic {
        let keys = self.keys();
        Classic::assemble(self.spec, self.layout, keys, self.words.into_aligned())
    }
}

/// A striped counter with little contention: one cache line per stripe, chosen by the hash.
struct StripedCounter([Stripe; 16]);

#[derive(Default)]
#[repr(align(64))]
struct Stripe(AtomicU64);

impl StripedCounter {
    fn of(keys: u64) -> StripedCounter {
        let tally = StripedCounter(Default::default());
        tally.add(Hash(0), keys);
        tally
    }

    #[inline]
    fn add(&self, hash: Hash, keys: u64) {
        self.0[(hash.0 % 16) as usize].0.fetch_add(keys, Relaxed);
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|stripe| stripe.0.load(Relaxed)).fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::SpecError;

    /// 64 writers, overlapping keys, concurrent readers: the bits are those of one writer.
    #[test]
    fn shared_equals_sequential() -> Result<(), SpecError> {
        const KEYS: u64 = if cfg!(miri) { 200 } else { 200_000 };
        for fpr in [0.01, 0.001, 1e-6] {
            let spec = Spec::new(KEYS, fpr)?.with_seed(3);
            let hashes: Vec<Hash> = (0..KEYS).map(|key| spec.scheme().hash(key)).collect();
            let mut alone = (Blocked::new(spec)?, Classic::new(spec)?);
            alone.0.insert_batch(&hashes);
            alone.1.insert_batch(&hashes);
            let many = (Blocked::new(spec)?.into_shared(), Classic::new(spec)?.into_shared());
            std::thread::scope(|scope| {
                for thread in 0..64 {
                    let (hashes, many) = (&hashes, &many);
                    // Each key is inserted by two threads, one of them in a batch.
                    scope.spawn(move || {
                        let mine = hashes.chunks(hashes.len().div_ceil(64)).collect::<Vec<_>>();
                        many.0.insert_batch(mine[thread]);
                        many.1.insert_batch(mine[thread]);
                        let next = mine[(thread + 1) % mine.len()];
                        next.iter().for_each(|hash| _ = many.0.insert_hash(*hash));
                        next.iter().for_each(|hash| _ = many.1.insert_hash(*hash));
                        assert!(mine[thread].iter().all(|hash| many.0.contains_hash(*hash)));
                        let mut answers = Vec::new();
                        many.1.contains_batch(mine[thread], &mut answers);
                        assert!(answers.iter().all(|answer| *answer));
                    });
                }
            });
            let many = (many.0.into_inner(), many.1.into_inner());
            assert!(many.0.as_bytes() == alone.0.as_bytes(), "blocked at {fpr}");
            assert!(many.1.as_bytes() == alone.1.as_bytes(), "classic at {fpr}");
            // The order decides which keys a false positive hides, so the counts are only close.
            assert!(many.0.keys().abs_diff(KEYS) < KEYS / 50, "{} keys", many.0.keys());
        }
        Ok(())
    }

    #[test]
    fn batches_say_which_keys_were_new() -> Result<(), SpecError> {
        let seen = Blocked::new(Spec::new(100, 1e-6)?)?.into_shared();
        let hashes = ["a", "b", "a"].map(|key| seen.hash(key));
        let (mut new, mut answers) = (Vec::new(), Vec::new());
        seen.insert_batch_new(&hashes, &mut new);
        assert_eq!(new, [true, true, false]);
        assert_eq!(seen.insert_batch(&hashes), 0);
        seen.contains_batch(&[hashes[0], seen.hash("c")], &mut answers);
        assert_eq!(answers, [true, false]);
        assert_eq!(seen.keys(), 2);
        Ok(())
    }
}
