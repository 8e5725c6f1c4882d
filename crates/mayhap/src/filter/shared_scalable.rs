//! A filter that grows while many threads write it.

mod layer;

use self::layer::Growable;
use super::Scalable;
use super::growing::{Count, Layers, Lock, Slot};
use super::layered::{any_more_contain, part};
use crate::Key;
use crate::hash::Hash;
use crate::scheme::{Native, Scheme};
use crate::sizing::{Layer, any_of};
use crate::spec::{Spec, SpecError};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Layers there is room for beyond those it starts with: growing by the least factor from one key
/// to the most keys there can be takes 49.
const MORE_LAYERS: usize = 64;
/// Hashes of a batch that are under way to the cache at a time.
const AHEAD: usize = 16;
/// Hashes that are looked up in older layers together.
const CHUNK: usize = 2048;

/// A [`Scalable`] filter that any number of threads write and read at the same time, through
/// `&self`: for crawlers and queues that do not know how many keys will come.
///
/// Made by [`Scalable::into_shared`] and turned back by [`into_inner`](Self::into_inner), both
/// without a copy. Lookups take no lock, nor do inserts of keys that are in. A new key holds one of up to
/// 1024 striped locks for some nanoseconds per cache line, and adding a layer, a few times in the life of
/// a filter, has inserts of new keys wait. No key is lost, however threads interleave: once an insert
/// happens-before a lookup (join, channel, lock), the lookup finds the key. If two threads race on a
/// new key, at least one gets `true`. The promise about the rate is that of [`Scalable`]: a layer
/// takes its capacity, give or take a hundredth.
///
/// Inserts cost up to a third more than those of a `Mutex<Scalable>` on one thread, and have been slower on
/// eight threads that share two cores; lookups and inserts of keys that are in take no lock.
/// [`SharedBlocked`](super::SharedBlocked) is faster than both where the number of keys is known.
///
/// ```
/// # use mayhap::Scalable;
/// let seen = Scalable::with_rate(100, 0.01)?.into_shared();
/// std::thread::scope(|scope| {
///     for thread in 0..4u64 {
///         let seen = &seen;
///         scope.spawn(move || (0..2_500).for_each(|i| _ = seen.insert(thread * 2_500 + i)));
///     }
/// });
/// assert!((0..10_000u64).all(|key| seen.contains(key)));
/// assert!(seen.layers() > 1 && seen.fpr_now() < 0.01);
/// # Ok::<(), mayhap::SpecError>(())
/// ```
pub struct SharedScalable {
    spec: Spec,
    growth: u32,
    layers: Layers<OnceLock<Box<Growable>>, AtomicUsize, Mutex<()>>,
}

impl<T> Slot<T> for OnceLock<T> {
    #[inline]
    fn get(&self) -> Option<&T> {
        OnceLock::get(self)
    }

    fn fill(&self, value: T) {
        // A place is filled once, by whoever holds the lock.
        _ = self.set(value);
    }
}

impl Count for AtomicUsize {
    #[inline]
    fn get(&self) -> usize {
        self.load(Ordering::Acquire)
    }

    fn set(&self, count: usize) {
        self.store(count, Ordering::Release);
    }
}

impl Lock for Mutex<()> {
    fn while_locked<T>(&self, work: impl FnOnce() -> T) -> T {
        // It guards no data that a panic could have left half done.
        let _guard = self.lock().unwrap_or_else(PoisonError::into_inner);
        work()
    }
}

impl SharedScalable {
    /// Insert a key. `true`: it was certainly new.
    #[inline]
    pub fn insert(&self, key: impl Key) -> bool {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key. `true`: it was certainly new.
    #[inline]
    pub fn insert_hash(&self, hash: Hash) -> bool {
        self.layers.insert(hash, 0, |_| self.next_layer())
    }

    /// Insert them all; returns how many were certainly new.
    pub fn insert_batch(&self, hashes: &[Hash]) -> u64 {
        let mut new = 0;
        self.insert_each(hashes, |is_new| new += u64::from(is_new));
        new
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    pub fn insert_batch_new(&self, hashes: &[Hash], new: &mut Vec<bool>) {
        new.clear();
        new.reserve(hashes.len());
        self.insert_each(hashes, |is_new| new.push(is_new));
    }

    /// Older layers do not change while we insert, so they are looked up for a chunk at once.
    fn insert_each(&self, hashes: &[Hash], mut report: impl FnMut(bool)) {
        self.spec.scheme_ref().check_origin(hashes);
        let mut known = Vec::new();
        for hashes in hashes.chunks(CHUNK) {
            known.clear();
            known.resize(hashes.len(), false);
            let sealed = self.growables().skip(1).filter_map(Growable::sealed);
            let asked = sealed.clone().count();
            any_more_contain(sealed, hashes, &mut known);
            let open = hashes.iter().zip(&known).filter(|(_, known)| !**known);
            let mut ahead = open.map(|(hash, _)| *hash);
            let fetch = |hash| self.growables().take(1).for_each(|layer| layer.prefetch(hash));
            ahead.by_ref().take(AHEAD).for_each(fetch);
            for (hash, known) in hashes.iter().zip(&known) {
                if !known {
                    ahead.next().into_iter().for_each(fetch);
                }
                report(!known && self.layers.insert(*hash, asked, |_| self.next_layer()));
            }
        }
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.layers.contains(hash)
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        self.spec.scheme_ref().check_origin(hashes);
        answers.clear();
        answers.reserve(hashes.len());
        let mut layers = self.growables();
        let Some(newest) = layers.next() else { return };
        let mut ahead = hashes.iter();
        ahead.by_ref().take(AHEAD).for_each(|hash| newest.prefetch(*hash));
        for hash in hashes {
            ahead.next().into_iter().for_each(|hash| newest.prefetch(*hash));
            answers.push(newest.contains(*hash));
        }
        any_more_contain(layers.filter_map(Growable::sealed), hashes, answers);
    }

    /// Hash a key once, to ask or insert it later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme_ref().hash(key)
    }

    /// Hash many keys at once, to ask or insert them later, in this and every filter that hashes alike.
    pub fn hash_batch<K: Key>(&self, keys: &[K]) -> Vec<Hash> {
        let mut hashes = Vec::new();
        self.spec.scheme().hash_batch(keys, &mut hashes);
        hashes
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// What it was made for: the capacity of the first layer, the rate of all together.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// How many layers there are now.
    pub fn layers(&self) -> usize {
        self.growables().count()
    }

    /// How many keys the layers so far are made for.
    pub fn capacity(&self) -> u64 {
        let capacities = self.growables().map(|layer| layer.spec().capacity());
        capacities.fold(0, u64::saturating_add)
    }

    /// Inserts, by all threads, that found their key certainly new.
    pub fn keys(&self) -> u64 {
        self.growables().map(Growable::keys).fold(0, u64::saturating_add)
    }

    /// Bytes in the arrays of all layers.
    pub fn bytes(&self) -> u64 {
        self.growables().map(Growable::bytes).sum()
    }

    /// Whether nothing is in.
    pub fn is_empty(&self) -> bool {
        self.growables().all(|layer| layer.keys() == 0 && layer.measured().fill == 0.0)
    }

    /// The share of bits that are set, over all layers.
    pub fn fill(&self) -> f64 {
        let bytes = |layer: &&Growable| layer.bytes() as f64;
        let ones: f64 = self.growables().map(|layer| layer.measured().fill * bytes(&layer)).sum();
        ones / self.bytes() as f64
    }

    /// How many distinct keys are in, estimated from the bits alone.
    pub fn estimate(&self) -> u64 {
        self.growables()
            .map(|layer| layer.measured().keys.round() as u64)
            .fold(0, u64::saturating_add)
    }

    /// The false-positive rate as the bits are now.
    pub fn fpr_now(&self) -> f64 {
        any_of(self.growables().map(|layer| layer.measured().fpr))
    }

    /// A copy as it is now, while others write: every key whose insert happens-before this call is in
    /// it, those that are being inserted may be.
    pub fn snapshot(&self) -> Result<Scalable, SpecError> {
        let layers = self.growables().map(Growable::snapshot);
        let mut layers = layers.collect::<Result<Vec<_>, _>>()?;
        layers.reverse();
        Ok(Scalable::over(self.spec, self.growth, layers))
    }

    /// Turn it back into a plain filter.
    pub fn into_inner(self) -> Scalable {
        let layers = self.layers.into_slots().filter_map(OnceLock::into_inner);
        let layers = layers.filter_map(|layer| layer.into_inner()).collect();
        Scalable::over(self.spec, self.growth, layers)
    }

    /// The layers there are now, newest first.
    fn growables(&self) -> impl Iterator<Item = &Growable> + Clone {
        self.layers.newest_first::<Box<Growable>>().map(Box::as_ref)
    }

    /// The layer to be added, or `None` where there can be none: too many keys for a filter or for the
    /// hash, or no memory. Then it is tried again some keys later.
    fn next_layer(&self) -> Option<Box<Growable>> {
        let spent =
            |layer: &Growable| layer.shape().fpr_at(layer.keys().min(layer.spec().capacity()));
        let spent = self.growables().map(spent).sum();
        let next = Layer::next_for(&self.spec, self.growth, self.capacity(), spent);
        let made =
            next.and_then(|next| part(self.spec, next.capacity, next.fpr(), next.shape).ok());
        if made.is_none() {
            self.growables().take(1).for_each(Growable::postpone);
        }
        Some(Box::new(Growable::of(made?)))
    }
}

impl Scalable {
    /// Let many threads write, and grow it while they do.
    pub fn into_shared(self) -> SharedScalable {
        let (spec, growth, layers) = self.into_layers();
        let layers = layers.into_iter().map(|layer| Box::new(Growable::of(layer)));
        SharedScalable { spec, growth, layers: Layers::new(layers.collect(), MORE_LAYERS) }
    }
}

impl fmt::Debug for SharedScalable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, capacity, bytes) = (self.keys(), self.capacity(), self.bytes());
        let fpr = self.spec.fpr();
        write!(
            f,
            "SharedScalable {{ keys: {keys}, capacity: {capacity}, fpr: {fpr}, bytes: {bytes} }}"
        )
    }
}

impl fmt::Display for SharedScalable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "shared scalable: {} of {} keys so far, {} bytes in {} layers, growing by {}, rate {:.3e} now, {:.3e} at most",
            self.keys(),
            self.capacity(),
            self.bytes(),
            self.layers(),
            self.growth,
            self.fpr_now(),
            self.spec.fpr(),
        )
    }
}

#[cfg(test)]
mod tests;
