//! A filter that grows.

mod kind;

use super::layered::{
    Unresolved, any_contains, chunks, copy_of, is_plausible, keeps_its_fpr, part,
};
use super::{Blocked, MAX_GENERATION_LAYERS, MergeError, same_scheme};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::{AlignedBuf, Relocate};
use crate::scheme::{Native, Scheme};
use crate::sizing::{Layer, any_of};
use crate::spec::{Optimize, Spec, SpecError};
use std::fmt;

/// The default growth factor of the total capacity.
const GROWTH: u32 = 4;
/// Maximum layers, of its own growth and of merged filters: as many as a file can have.
const MAX_LAYERS: usize = 4096;
/// Growth counts no more keys than the bits hold at so many each.
const LEAST_BITS_A_KEY: u64 = 2;
/// The limit of a sum of target rates.
const MAX_FPR: f64 = 0.999;

/// The filter for an unknown number of keys: it grows by layers, and the rate
/// of all layers together stays below the target.
///
/// Never a false negative. The [`Spec`]'s capacity is that of the first layer. When the newest
/// layer holds its capacity, the next certainly new key brings one that multiplies the total
/// capacity by the growth factor (4, or as [`with_growth`](Scalable::with_growth) says). A layer
/// is a [`Blocked`]. The first takes a quarter of the target rate and each later one a fifth of
/// what is left, so at 1% a filter that never grew costs 12.6 bits per key, and one grown from 1000
/// keys to a million 15.9 (see [`sizing`](crate::sizing::ScalableShape)). Where the number of
/// keys is known, `Blocked` costs 9.9 and looks in one place instead of several.
///
/// If no layer can be added (no memory, or more than 2⁴⁸ keys), no key is lost: keys go
/// into the newest layer, its rate rises, [`is_overfull`](Scalable::is_overfull) and
/// [`fpr_now`](Scalable::fpr_now) tell, and growing is tried again from time to time.
///
/// ```
/// # use mayhap::{Scalable, Spec};
/// let mut seen = Scalable::new(Spec::new(100, 0.01)?)?;
/// let new = (0..10_000).filter(|key| seen.insert(key)).count();
/// assert!(new > 9_900); // all but the false positives
/// assert!((0..10_000).all(|key| seen.contains(key)));
/// assert_eq!(seen.layers().len(), 5); // of 100, 300, 1200, 4800 and 19 200 keys
/// assert!(seen.fpr_now() < 0.01);
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone)]
pub struct Scalable<B = AlignedBuf> {
    spec: Spec,
    growth: u32,
    /// Never empty; keys go into the last.
    layers: Vec<Blocked<B>>,
    /// How many keys the newest layer takes before growing is tried: its capacity, or more if
    /// growing failed.
    grow_at: u64,
    /// No layer is added beyond this total capacity.
    most: u64,
}

impl Scalable {
    /// Lets a defragmenting allocator relocate the buffers; no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        memory.relocate(&mut self.layers);
        self.layers.iter_mut().for_each(|layer| layer.relocate(memory));
    }

    /// An empty filter of one layer, for this spec.
    pub fn new(spec: Spec) -> Result<Scalable, SpecError> {
        let layer = Layer::first_for(&spec);
        let layers = vec![part(spec, layer.capacity, layer.fpr(), layer.shape)?];
        Ok(Scalable { spec, growth: GROWTH, layers, grow_at: layer.capacity, most: u64::MAX })
    }

    /// One existing layer, and more by this factor once it is full, up to `most` keys: all together
    /// stay below `fpr`.
    pub(super) fn from_first(first: Blocked, fpr: f64, growth: u32, most: u64) -> Scalable {
        let capacity = first.spec().capacity();
        let spec =
            Spec::unchecked(capacity, fpr, first.scheme()).with_optimize(first.spec().optimize());
        Scalable { spec, growth, layers: vec![first], grow_at: capacity, most }
    }

    /// For layers that came out of a filter before.
    pub(super) fn over(spec: Spec, growth: u32, layers: Vec<Blocked>) -> Scalable {
        let grow_at = layers.last().map_or(0, |newest| newest.spec().capacity());
        Scalable { spec, growth, layers, grow_at, most: u64::MAX }
    }

    pub(super) fn into_layers(self) -> (Spec, u32, Vec<Blocked>) {
        (self.spec, self.growth, self.layers)
    }

    /// Merge another's layers one by one, each into the one at its index here, which has its shape
    /// if there is one.
    pub(super) fn union_layers<C: AsRef<[u8]>>(
        &mut self,
        other: &Scalable<C>,
    ) -> Result<(), MergeError> {
        let more = other.layers.iter().skip(self.layers.len()).map(copy_of);
        let more = more.collect::<Result<Vec<_>, _>>()?;
        for (ours, theirs) in self.layers.iter_mut().zip(&other.layers) {
            ours.union(theirs)?;
        }
        self.layers.extend(more);
        self.grow_at = self.newest_capacity();
        Ok(())
    }

    /// The layers, for changes in place.
    pub(super) fn layers_mut(&mut self) -> &mut [Blocked] {
        &mut self.layers
    }

    /// Multiply the total capacity by this, 2 to 1024, with each new layer. A higher factor means
    /// fewer layers to look up, and more memory reserved for keys to come.
    pub fn with_growth(mut self, growth: u32) -> Result<Scalable, SpecError> {
        self.set_growth(growth)?;
        Ok(self)
    }

    /// As [`with_growth`](Scalable::with_growth), without consuming the filter on an error.
    pub fn set_growth(&mut self, growth: u32) -> Result<(), SpecError> {
        if !is_growth(growth) {
            return Err(SpecError::Growth { got: growth });
        }
        self.growth = growth;
        Ok(())
    }

    /// Insert a key. `true`: it was certainly new.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key. `true`: it was certainly new.
    pub fn insert_hash(&mut self, hash: Hash) -> bool {
        let Some((newest, older)) = self.layers.split_last_mut() else { return false };
        // A key that any layer may contain is not inserted again.
        if older.iter().rev().any(|layer| layer.contains_hash(hash)) {
            return false;
        }
        if newest.keys() < self.grow_at {
            return newest.insert_hash(hash);
        }
        !newest.contains_hash(hash) && {
            self.grow();
            self.insert_newest(hash)
        }
    }

    /// Insert them all; returns how many were certainly new.
    pub fn insert_batch(&mut self, hashes: &[Hash]) -> u64 {
        if let Some(only) = self.only_for(hashes) {
            return only.insert_batch(hashes);
        }
        let mut new = Vec::new();
        self.insert_batch_new(hashes, &mut new);
        new.iter().map(|new| u64::from(*new)).sum()
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    pub fn insert_batch_new(&mut self, hashes: &[Hash], new: &mut Vec<bool>) {
        if let Some(only) = self.only_for(hashes) {
            return only.insert_batch_new(hashes, new);
        }
        new.clear();
        new.resize(hashes.len(), false);
        let mut open = Unresolved::default();
        for (hashes, new) in chunks(hashes, new) {
            open.start(hashes);
            self.insert_unresolved(&mut open, new);
        }
    }

    /// The layer that can take all of them: the only one of a filter that did not grow.
    fn only_for(&mut self, hashes: &[Hash]) -> Option<&mut Blocked> {
        match self.layers.as_mut_slice() {
            [only] if self.grow_at.saturating_sub(only.keys()) >= hashes.len() as u64 => Some(only),
            _ => None,
        }
    }

    /// Older layers do not change while we insert, so they are looked up for the whole batch at
    /// once; the newest takes the rest in runs that cannot overfill it.
    fn insert_unresolved(&mut self, open: &mut Unresolved, new: &mut [bool]) {
        let older = self.layers.len() - 1;
        for layer in self.layers[..older].iter().rev() {
            open.ask(layer, |_, _| ());
        }
        while !open.is_empty() {
            let Some(newest) = self.layers.last_mut() else { return };
            let remaining = self.grow_at.saturating_sub(newest.keys());
            if remaining > 0 {
                let insert =
                    |hashes: &[Hash], new: &mut Vec<bool>| newest.insert_batch_new(hashes, new);
                open.insert(remaining, insert, |at, _| new[at] = true);
                continue;
            }
            let Some((at, hash)) = open.pop() else { return };
            if newest.contains_hash(hash) {
                continue;
            }
            let full = self.layers.len() - 1;
            if self.grow() {
                // The previous newest is an older one for those that follow.
                open.ask(&self.layers[full], |_, _| ());
            }
            new[at] = self.insert_newest(hash);
        }
    }

    fn insert_newest(&mut self, hash: Hash) -> bool {
        self.layers.last_mut().is_some_and(|newest| newest.insert_hash(hash))
    }

    /// Try to add a layer. If that fails, try again when the newest has taken some more: trying is
    /// not free.
    fn grow(&mut self) -> bool {
        let grown = self.add_layer().is_ok();
        if !grown && let Some(newest) = self.layers.last() {
            let patience = (newest.spec().capacity() / 16).max(64);
            self.grow_at = newest.keys().saturating_add(patience);
        }
        grown
    }

    /// Make sure now that the next key fits within the target rate: a full filter gets its next
    /// layer, or an error says why not.
    pub fn try_grow(&mut self) -> Result<(), SpecError> {
        match self.layers.last() {
            Some(newest) if newest.keys() < newest.spec().capacity() => Ok(()),
            _ => self.add_layer(),
        }
    }

    fn add_layer(&mut self) -> Result<(), SpecError> {
        let (fpr, total) = (self.spec.fpr(), self.capacity());
        let layer = self.next_layer();
        let layer = layer.ok_or_else(|| {
            // The reason it ends here: too many keys for a filter, or for the hash.
            let more = Spec::new(total.saturating_add(1), fpr).err();
            more.unwrap_or(SpecError::Capacity { got: total.saturating_add(1) })
        })?;
        self.layers.push(part(self.spec, layer.capacity, layer.fpr(), layer.shape)?);
        self.grow_at = layer.capacity;
        Ok(())
    }

    /// Remove all keys and all layers but the smallest.
    pub fn clear(&mut self) {
        // The smallest stays; in a generation of a window the first, whose shape all of them share:
        // its last layer is sized to fit, and may be smaller.
        if !self.is_generation() {
            self.layers.sort_by_key(|layer| layer.spec().capacity());
        }
        self.layers.truncate(1);
        self.layers.iter_mut().for_each(Blocked::clear);
        self.grow_at = self.newest_capacity();
    }

    /// Add everything the other filter holds within the target rate: all layers together stay below
    /// this filter's target. They must hash alike.
    ///
    /// A layer that fits into one of ours (same shape, capacity for the keys of both) is merged
    /// with it; others are added beside ours while the target allows. If it does not, nothing
    /// changes and the error says the rates; [`adopt`](Scalable::adopt) takes them all the same.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Scalable<C>) -> Result<(), MergeError> {
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        let together = self.spent_with(other);
        if together > self.spec.fpr() {
            return Err(MergeError::new(
                "rates",
                format_args!("at most {:.3e}", self.spec.fpr()),
                format_args!("{together:.3e} together with those"),
            ));
        }
        self.take(other)
    }

    /// As [`union`](Scalable::union), whatever it does to the false-positive rate: if the target
    /// cannot hold, [`spec`](Scalable::spec) has the sum of both targets from then on.
    pub fn adopt<C: AsRef<[u8]>>(&mut self, other: &Scalable<C>) -> Result<(), MergeError> {
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        let together = self.spent_with(other);
        self.take(other)?;
        if together > self.spec.fpr() {
            let sum = (self.spec.fpr() + other.spec.fpr()).min(MAX_FPR).max(self.spec.fpr());
            if let Ok(spec) = Spec::new(self.spec.capacity(), sum) {
                let (scheme, optimize) = (self.spec.scheme(), self.spec.optimize());
                self.spec = spec.with_scheme(scheme).with_optimize(optimize);
            }
        }
        Ok(())
    }

    /// Where each of the other's layers goes: into a layer of ours, or beside them.
    fn places_for<C: AsRef<[u8]>>(&self, other: &Scalable<C>) -> Vec<Option<usize>> {
        let mut remaining: Vec<u64> = self.layers.iter().map(remaining_in).collect();
        let place = |theirs: &Blocked<C>| {
            let fits = |at: &usize| {
                self.layers[*at].shape() == theirs.shape() && remaining[*at] >= theirs.keys()
            };
            let place = (0..remaining.len()).find(fits);
            if let Some(at) = place {
                remaining[at] -= theirs.keys();
            }
            place
        };
        other.layers.iter().map(place).collect()
    }

    /// The rate used of the target after adding the other's layers, when the layer that then takes
    /// new keys is full.
    fn spent_with<C: AsRef<[u8]>>(&self, other: &Scalable<C>) -> f64 {
        let ours =
            self.layers.iter().map(|layer| (layer.shape(), layer.keys(), remaining_in(layer)));
        let mut loads: Vec<_> = ours.collect();
        for (theirs, place) in other.layers.iter().zip(self.places_for(other)) {
            match place {
                Some(at) => {
                    loads[at].1 += theirs.keys();
                    loads[at].2 -= theirs.keys();
                }
                None => loads.push((theirs.shape(), theirs.keys(), remaining_in(theirs))),
            }
        }
        if let Some(newest) = loads.iter_mut().max_by_key(|load| load.2) {
            newest.1 += newest.2;
        }
        loads.iter().map(|(shape, keys, _)| shape.fpr_at(*keys)).sum()
    }

    fn take<C: AsRef<[u8]>>(&mut self, other: &Scalable<C>) -> Result<(), MergeError> {
        let places = self.places_for(other);
        // What can fail comes first, so that nothing is half done.
        let more = places.iter().filter(|place| place.is_none()).count();
        if self.layers.len() + more > MAX_LAYERS {
            let (what, have) = ("layers, of which there may be 4096,", self.layers.len());
            return Err(MergeError::new(what, have, format_args!("{more} more")));
        }
        let mut beside = Vec::new();
        for (theirs, place) in other.layers.iter().zip(&places) {
            if place.is_none() {
                beside.push(copy_of(theirs)?);
            }
        }
        for (theirs, place) in other.layers.iter().zip(&places) {
            if let Some(ours) = place.and_then(|at| self.layers.get_mut(at)) {
                ours.union(theirs)?;
            }
        }
        self.layers.append(&mut beside);
        // New keys go into the layer with the most capacity left.
        let slack = (0..self.layers.len()).max_by_key(|at| remaining_in(&self.layers[*at]));
        if let Some(at) = slack {
            self.layers[at..].rotate_left(1);
        }
        self.grow_at = self.newest_capacity();
        Ok(())
    }

    /// Keep only bits that both filters have. Both must be of one layer, and of one shape.
    ///
    /// What is in both stays in; what is in only one is mostly removed, as with
    /// [`Blocked::intersect`]. Grown filters are rejected: a key in both may be in another layer
    /// here than there, and would be lost.
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &Scalable<C>) -> Result<(), MergeError> {
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        match (self.layers.as_mut_slice(), other.layers.as_slice()) {
            ([ours], [theirs]) => ours.intersect(theirs)?,
            (ours, theirs) => {
                let what = "layers, of which there must be one in each,";
                return Err(MergeError::new(what, ours.len(), theirs.len()));
            }
        }
        self.grow_at = self.newest_capacity();
        Ok(())
    }
}

impl<B: AsRef<[u8]>> Scalable<B> {
    /// A filter over existing layers, oldest first. `None` if there are none, or more than 4096, or
    /// one is hashed otherwise than the spec says, counts more keys than its bits can hold or
    /// states a capacity at which it does not keep its rate, or the growth factor is invalid.
    pub fn from_parts(spec: Spec, growth: u32, layers: Vec<Blocked<B>>) -> Option<Self> {
        let belongs = |layer: &Blocked<B>| {
            layer.scheme() == spec.scheme()
                && is_plausible(layer)
                && keeps_its_fpr(layer)
                && layer.spec().fpr() <= 1.01 * spec.fpr()
        };
        let fits = is_growth(growth) && layers.len() <= MAX_LAYERS && layers.iter().all(belongs);
        let grow_at = layers.last()?.spec().capacity();
        fits.then_some(Scalable { spec, growth, layers, grow_at, most: u64::MAX })
    }

    /// The same with a rate below the minimum of a [`Spec`], and a limit to growing.
    pub(super) fn from_layers(
        optimize: Optimize,
        fpr: f64,
        growth: u32,
        most: u64,
        layers: Vec<Blocked<B>>,
    ) -> Option<Self> {
        let first = layers.first()?.spec();
        let spec = Spec::unchecked(first.capacity(), fpr, first.scheme()).with_optimize(optimize);
        let filter = Scalable::from_parts(spec, growth, layers)?;
        Some(Scalable { most, ..filter })
    }

    /// How many keys the newest layer takes before another is added; without end where none will
    /// be.
    pub(super) fn remaining(&self) -> u64 {
        match self.layers.last() {
            Some(newest) if self.capacity() < self.most => remaining_in(newest),
            _ => u64::MAX,
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
        // Most keys are in the newest.
        self.layers.iter().rev().any(|layer| layer.contains_hash(hash))
    }

    /// Prefetch all that a lookup of this hash may read, in every layer: see [`Blocked::prefetch`].
    #[inline]
    pub fn prefetch(&self, hash: Hash) {
        self.layers.iter().for_each(|layer| layer.prefetch(hash));
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        any_contains(self.layers.iter().rev(), hashes, answers);
    }

    /// Hash a key once, for lookups and inserts later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme_ref().hash(key)
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// Its spec: the capacity of the first layer, the false-positive rate of all together.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// The growth factor of the total capacity.
    pub fn growth(&self) -> u32 {
        self.growth
    }

    /// The layers, oldest first; keys go into the last.
    pub fn layers(&self) -> &[Blocked<B>] {
        &self.layers
    }

    /// The total capacity of the layers so far.
    pub fn capacity(&self) -> u64 {
        let capacities = self.layers.iter().map(|layer| layer.spec().capacity());
        capacities.fold(0, u64::saturating_add)
    }

    /// Inserts that found their key certainly new (after a merge: an estimate).
    pub fn keys(&self) -> u64 {
        self.layers.iter().map(Blocked::keys).fold(0, u64::saturating_add)
    }

    /// Bytes in the arrays of all layers.
    pub fn bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.as_bytes().len() as u64).sum()
    }

    /// The layer that would be added once the newest is full, for callers that must know its size
    /// beforehand. `None` if there can be no more.
    pub fn next_layer(&self) -> Option<Layer> {
        let most_layers = if self.is_generation() { MAX_GENERATION_LAYERS } else { MAX_LAYERS };
        let (fpr, total) = (self.spec.fpr(), self.proven_capacity());
        let (layouts, growth, most) = (self.spec.layouts(), self.growth, self.most);
        let next = || Layer::next_within(layouts, fpr, growth, total, self.spent(), most);
        (self.layers.len() < most_layers).then(next).flatten()
    }

    /// The capacity that growth multiplies. Layers of growing filters have rates of a quarter at most,
    /// and so more than two bits a key; one with a rate near 1 holds many keys to a bit, and would
    /// have gigabytes reserved with the next key. In a window the limit of its generations does it.
    fn proven_capacity(&self) -> u64 {
        if self.is_generation() {
            return self.capacity();
        }
        let proven = |layer: &Blocked<B>| {
            layer.spec().capacity().min(layer.shape().bits() / LEAST_BITS_A_KEY).max(1)
        };
        self.layers.iter().map(proven).fold(0, u64::saturating_add)
    }

    /// Whether it is a generation of a window, which grows to a limit.
    fn is_generation(&self) -> bool {
        self.most != u64::MAX
    }

    /// Whether the newest layer holds more than its capacity, because another could not be
    /// allocated or would exceed the maximum capacity. See [`try_grow`](Scalable::try_grow).
    pub fn is_overfull(&self) -> bool {
        self.layers.last().is_some_and(|newest| newest.keys() > newest.spec().capacity())
    }

    /// The share of bits that are set, over all layers.
    pub fn fill(&self) -> f64 {
        let bytes = |layer: &Blocked<B>| layer.as_bytes().len() as f64;
        let ones: f64 = self.layers.iter().map(|layer| layer.fill() * bytes(layer)).sum();
        ones / self.bytes() as f64
    }

    /// How many distinct keys are in, estimated from the bits alone.
    pub fn estimate(&self) -> u64 {
        self.layers.iter().map(Blocked::estimate).fold(0, u64::saturating_add)
    }

    /// The current false-positive rate, from the bits.
    pub fn fpr_now(&self) -> f64 {
        any_of(self.layers.iter().map(Blocked::fpr_now))
    }

    /// The rate that the layers use of the target. A layer that is not the newest takes no more
    /// keys, so what it holds counts and not its capacity; and an overfull one is counted as if it
    /// were not, or there would be nothing left for those to come.
    fn spent(&self) -> f64 {
        // Layers of generations depend on the spec alone, not on counts that a merge estimates:
        // those of all generations are alike.
        let is_generation = self.is_generation();
        let load = |layer: &Blocked<B>| match is_generation {
            true => layer.spec().capacity(),
            false => layer.keys().min(layer.spec().capacity()),
        };
        self.layers.iter().map(|layer| layer.shape().fpr_at(load(layer))).sum()
    }

    fn newest_capacity(&self) -> u64 {
        self.layers.last().map_or(0, |newest| newest.spec().capacity())
    }
}

fn is_growth(growth: u32) -> bool {
    (2..=1024).contains(&growth)
}

fn remaining_in<B: AsRef<[u8]>>(layer: &Blocked<B>) -> u64 {
    layer.spec().capacity().saturating_sub(layer.keys())
}

impl<B: AsRef<[u8]>> fmt::Display for Scalable<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "scalable: {} of {} keys so far, {} bytes in {} layers, growing by {}, rate {:.3e} now, {:.3e} at most",
            self.keys(),
            self.capacity(),
            self.bytes(),
            self.layers.len(),
            self.growth,
            self.fpr_now(),
            self.spec.fpr(),
        )
    }
}

#[cfg(test)]
mod tests;
