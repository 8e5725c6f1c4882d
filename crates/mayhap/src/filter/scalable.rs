//! A filter that grows.

mod kind;

use super::layered::{Open, any_contains, chunks, copy_of, is_plausible, keeps_its_rate, part};
use super::{Blocked, MAX_GENERATION_LAYERS, MergeError, same_scheme};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::{Mover, Pages};
use crate::scheme::{Native, Scheme};
use crate::sizing::{Layer, any_of};
use crate::spec::{Spec, SpecError};
use std::fmt;

/// What the total capacity is multiplied by when nobody says otherwise.
const GROWTH: u32 = 4;
/// The most layers, of its own growth and of filters taken in: as many as a file holds.
const MAX_LAYERS: usize = 4096;
/// Where targets that add up must stop.
const MAX_FPR: f64 = 0.999;

/// The filter for those who cannot say how many keys will come: it grows by layers, and the rate
/// of all layers together stays below the target for ever.
///
/// Never a false negative. The [`Spec`]'s capacity is that of the first layer. When the newest
/// layer holds its capacity, the next certainly new key brings one that multiplies the total
/// capacity by the growth factor (4, or as [`with_growth`](Scalable::with_growth) says). A layer
/// is a [`Blocked`]. The first takes a quarter of the target rate and each later one a fifth of
/// what is left, so at 1% a filter that never grew costs 12.6 bits a key, and one grown from 1000
/// keys to a million 15.9 (see [`sizing`](crate::sizing::ScalableShape)). Where the number of
/// keys is known, `Blocked` costs 9.9 and looks in one place instead of several.
///
/// Nothing is lost where no layer can be added, for want of memory or beyond 2⁴⁸ keys: keys go
/// on into the newest layer, its rate climbs, [`is_overfull`](Scalable::is_overfull) and
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
#[derive(Clone, Debug)]
pub struct Scalable<B = Pages> {
    spec: Spec,
    growth: u32,
    /// Never empty; keys go into the last.
    layers: Vec<Blocked<B>>,
    /// How many keys the newest layer takes before growing is tried: its capacity, or more
    /// where growing failed.
    grow_at: u64,
    /// No layer is added once there is room for so many keys.
    most: u64,
}

impl Scalable {
    /// Offer the memory of its arrays to whoever tidies the heap: no answer changes.
    pub fn move_arrays(&mut self, mover: &mut Mover<'_>) {
        mover.relocate(&mut self.layers);
        self.layers.iter_mut().for_each(|layer| layer.move_arrays(mover));
    }

    /// An empty filter of one layer, to this wish.
    pub fn new(spec: Spec) -> Result<Scalable, SpecError> {
        let layer = Layer::first(spec.capacity(), spec.fpr());
        let layers = vec![part(spec, layer.capacity, layer.fpr(), layer.shape)?];
        Ok(Scalable { spec, growth: GROWTH, layers, grow_at: layer.capacity, most: u64::MAX })
    }

    /// One layer that was made beforehand, and more by this factor once it is full, up to `most`
    /// keys: all together stay below `fpr`.
    pub(super) fn from_first(first: Blocked, fpr: f64, growth: u32, most: u64) -> Scalable {
        let capacity = first.spec().capacity();
        let spec = Spec::unchecked(capacity, fpr, first.scheme());
        Scalable { spec, growth, layers: vec![first], grow_at: capacity, most }
    }

    /// Take in another's layers one by one, each into that of its place here, which has its shape
    /// where there is one.
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

    /// The layers, to be changed in place.
    pub(super) fn layers_mut(&mut self) -> &mut [Blocked] {
        &mut self.layers
    }

    /// Multiply the total capacity by this, 2 to 1024, with each layer still to come. A higher
    /// factor means fewer layers to ask, and more memory that waits for keys.
    pub fn with_growth(mut self, growth: u32) -> Result<Scalable, SpecError> {
        self.set_growth(growth)?;
        Ok(self)
    }

    /// As [`with_growth`](Scalable::with_growth), for a filter that has keys to lose.
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
        // A key that any layer answers for needs no second place.
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
        let mut open = Open::default();
        for (hashes, new) in chunks(hashes, new) {
            open.start(hashes);
            self.insert_open(&mut open, new);
        }
    }

    /// The layer that can take them all by itself: that of a filter that did not grow.
    fn only_for(&mut self, hashes: &[Hash]) -> Option<&mut Blocked> {
        match self.layers.as_mut_slice() {
            [only] if self.grow_at.saturating_sub(only.keys()) >= hashes.len() as u64 => Some(only),
            _ => None,
        }
    }

    /// Older layers do not change while we insert, so they are asked for the whole batch at
    /// once; the newest takes the rest in runs that cannot overfill it.
    fn insert_open(&mut self, open: &mut Open, new: &mut [bool]) {
        let older = self.layers.len() - 1;
        for layer in self.layers[..older].iter().rev() {
            open.ask(layer, |_, _| ());
        }
        while !open.is_empty() {
            let Some(newest) = self.layers.last_mut() else { return };
            let room = self.grow_at.saturating_sub(newest.keys());
            if room > 0 {
                open.insert(room, newest, |at, _| new[at] = true);
                continue;
            }
            let Some((at, hash)) = open.pop() else { return };
            if newest.contains_hash(hash) {
                continue;
            }
            let full = self.layers.len() - 1;
            if self.grow() {
                // What was the newest is an older one for those that follow.
                open.ask(&self.layers[full], |_, _| ());
            }
            new[at] = self.insert_newest(hash);
        }
    }

    fn insert_newest(&mut self, hash: Hash) -> bool {
        self.layers.last_mut().is_some_and(|newest| newest.insert_hash(hash))
    }

    /// Try for a layer. If there is none to be had, try again when the newest has taken in some
    /// more: finding out is not free.
    fn grow(&mut self) -> bool {
        let grown = self.add_layer().is_ok();
        if !grown && let Some(newest) = self.layers.last() {
            let patience = (newest.spec().capacity() / 16).max(64);
            self.grow_at = newest.keys().saturating_add(patience);
        }
        grown
    }

    /// Make sure that the next key finds room within the promise, now rather than when it comes:
    /// a full filter gets its next layer, or says why it cannot.
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
            // Why it ends here: too many keys for a filter, or for the hash.
            let more = Spec::new(total.saturating_add(1), fpr).err();
            more.unwrap_or(SpecError::Capacity { got: total.saturating_add(1) })
        })?;
        self.layers.push(part(self.spec, layer.capacity, layer.fpr(), layer.shape)?);
        self.grow_at = layer.capacity;
        Ok(())
    }

    /// Forget everything and be one layer again, the smallest.
    pub fn clear(&mut self) {
        // The smallest stays; in a generation of a window the first, whose shape all of them share:
        // its last layer is cut to fit, and may be smaller.
        if !self.is_generation() {
            self.layers.sort_by_key(|layer| layer.spec().capacity());
        }
        self.layers.truncate(1);
        self.layers.iter_mut().for_each(Blocked::clear);
        self.grow_at = self.newest_capacity();
    }

    /// Take in everything the other filter holds, and keep the promise: all layers together
    /// stay below this filter's target. They must hash alike.
    ///
    /// A layer that fits into one of ours (one shape, room for the keys of both) is merged with
    /// it; others come to stand beside ours while the target allows. Where it does not, nothing
    /// changes and the error tells the rates; [`adopt`](Scalable::adopt) takes them all the same.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Scalable<C>) -> Result<(), MergeError> {
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        let together = self.spent_with(other);
        if together > self.spec.fpr() {
            return Err(MergeError {
                what: "rates",
                have: format!("at most {:.3e}", self.spec.fpr()),
                got: format!("{together:.3e} together with those"),
            });
        }
        self.take(other)
    }

    /// As [`union`](Scalable::union), whatever it does to the rate: where the target cannot
    /// hold, [`spec`](Scalable::spec) has the sum of both targets from then on.
    pub fn adopt<C: AsRef<[u8]>>(&mut self, other: &Scalable<C>) -> Result<(), MergeError> {
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        let together = self.spent_with(other);
        self.take(other)?;
        if together > self.spec.fpr() {
            let sum = (self.spec.fpr() + other.spec.fpr()).min(MAX_FPR).max(self.spec.fpr());
            if let Ok(spec) = Spec::new(self.spec.capacity(), sum) {
                self.spec = spec.with_scheme(self.spec.scheme());
            }
        }
        Ok(())
    }

    /// Where each of the other's layers goes: into that layer of ours, or beside them.
    fn places_for<C: AsRef<[u8]>>(&self, other: &Scalable<C>) -> Vec<Option<usize>> {
        let mut room: Vec<u64> = self.layers.iter().map(room_in).collect();
        let place = |theirs: &Blocked<C>| {
            let fits = |at: &usize| {
                self.layers[*at].shape() == theirs.shape() && room[*at] >= theirs.keys()
            };
            let place = (0..room.len()).find(fits);
            if let Some(at) = place {
                room[at] -= theirs.keys();
            }
            place
        };
        other.layers.iter().map(place).collect()
    }

    /// What would be spent of the target after taking in the other's layers, when the layer that
    /// then takes new keys is full.
    fn spent_with<C: AsRef<[u8]>>(&self, other: &Scalable<C>) -> f64 {
        let ours = self.layers.iter().map(|layer| (layer.shape(), layer.keys(), room_in(layer)));
        let mut loads: Vec<_> = ours.collect();
        for (theirs, place) in other.layers.iter().zip(self.places_for(other)) {
            match place {
                Some(at) => {
                    loads[at].1 += theirs.keys();
                    loads[at].2 -= theirs.keys();
                }
                None => loads.push((theirs.shape(), theirs.keys(), room_in(theirs))),
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
            return Err(MergeError {
                what: "layers, of which there may be 4096,",
                have: self.layers.len().to_string(),
                got: format!("{more} more"),
            });
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
        // New keys go where there is most room for them.
        let roomy = (0..self.layers.len()).max_by_key(|at| room_in(&self.layers[*at]));
        if let Some(at) = roomy {
            self.layers[at..].rotate_left(1);
        }
        self.grow_at = self.newest_capacity();
        Ok(())
    }

    /// Keep only bits that both filters have. Both must be of one layer, and of one shape.
    ///
    /// What is in both stays in; what is in one only is mostly gone, as with
    /// [`Blocked::intersect`]. Grown filters refuse: a key that both hold may be in another
    /// layer here than there, and would be lost.
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &Scalable<C>) -> Result<(), MergeError> {
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        match (self.layers.as_mut_slice(), other.layers.as_slice()) {
            ([ours], [theirs]) => ours.intersect(theirs)?,
            (ours, theirs) => {
                return Err(MergeError {
                    what: "layers, of which there must be one in each,",
                    have: ours.len().to_string(),
                    got: theirs.len().to_string(),
                });
            }
        }
        self.grow_at = self.newest_capacity();
        Ok(())
    }
}

impl<B: AsRef<[u8]>> Scalable<B> {
    /// A filter of layers that are already there, oldest first. `None` where there are none, or
    /// more than 4096, or one hashes otherwise than the spec says, counts more keys than it has
    /// room for bits or states a capacity at which it does not keep its rate, or the growth factor
    /// is not one.
    pub fn from_parts(spec: Spec, growth: u32, layers: Vec<Blocked<B>>) -> Option<Self> {
        let belongs = |layer: &Blocked<B>| {
            layer.scheme() == spec.scheme()
                && is_plausible(layer)
                && keeps_its_rate(layer)
                && layer.spec().fpr() <= 1.01 * spec.fpr()
        };
        let fits = is_growth(growth) && layers.len() <= MAX_LAYERS && layers.iter().all(belongs);
        let grow_at = layers.last()?.spec().capacity();
        fits.then_some(Scalable { spec, growth, layers, grow_at, most: u64::MAX })
    }

    /// The same with a rate that no [`Spec`] may ask for, and an end to growing.
    pub(super) fn from_layers(
        fpr: f64,
        growth: u32,
        most: u64,
        layers: Vec<Blocked<B>>,
    ) -> Option<Self> {
        let first = layers.first()?.spec();
        let spec = Spec::unchecked(first.capacity(), fpr, first.scheme());
        let filter = Scalable::from_parts(spec, growth, layers)?;
        Some(Scalable { most, ..filter })
    }

    /// How many keys the newest layer takes before another is added; without end where none will
    /// be.
    pub(super) fn room(&self) -> u64 {
        match self.layers.last() {
            Some(newest) if self.capacity() < self.most => room_in(newest),
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

    /// Have memory fetch all that a lookup of this hash may read, in every layer: see
    /// [`Blocked::prefetch`].
    #[inline]
    pub fn prefetch(&self, hash: Hash) {
        self.layers.iter().for_each(|layer| layer.prefetch(hash));
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        any_contains(self.layers.iter().rev(), hashes, answers);
    }

    /// Hash a key once, to ask or insert it later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme_ref().hash(key)
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// What it was made for: the capacity of the first layer, the rate of all together.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// What each new layer multiplies the total capacity by.
    pub fn growth(&self) -> u32 {
        self.growth
    }

    /// The layers, oldest first; keys go into the last.
    pub fn layers(&self) -> &[Blocked<B>] {
        &self.layers
    }

    /// How many keys the layers so far are made for.
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

    /// The layer that would be added now, for whoever must know its size beforehand. It is the one
    /// that comes once the newest is full. `None` where there can be no more.
    pub fn next_layer(&self) -> Option<Layer> {
        let most_layers = if self.is_generation() { MAX_GENERATION_LAYERS } else { MAX_LAYERS };
        let (fpr, total) = (self.spec.fpr(), self.capacity());
        let next = || Layer::next_within(fpr, self.growth, total, self.spent(), self.most);
        (self.layers.len() < most_layers).then(next).flatten()
    }

    /// Whether it is a generation of a window, which grows to a limit.
    fn is_generation(&self) -> bool {
        self.most != u64::MAX
    }

    /// Whether the newest layer holds more than its capacity, because there was no memory for
    /// another or no number for its keys. See [`try_grow`](Scalable::try_grow).
    pub fn is_overfull(&self) -> bool {
        self.layers.last().is_some_and(|newest| newest.keys() > newest.spec().capacity())
    }

    /// The share of bits that are set, over all layers.
    pub fn fill(&self) -> f64 {
        let bytes = |layer: &Blocked<B>| layer.as_bytes().len() as f64;
        let ones: f64 = self.layers.iter().map(|layer| layer.fill() * bytes(layer)).sum();
        ones / self.bytes() as f64
    }

    /// How many distinct keys are in, told from the bits alone.
    pub fn estimate(&self) -> u64 {
        self.layers.iter().map(Blocked::estimate).fold(0, u64::saturating_add)
    }

    /// The false-positive rate as the bits stand now.
    pub fn fpr_now(&self) -> f64 {
        any_of(self.layers.iter().map(Blocked::fpr_now))
    }

    /// What the layers take of the target. A layer that is not the newest takes no more keys, so
    /// what it holds counts and not what it might; and one that had to hold too much is counted
    /// as if it had not, or there would be nothing left for those to come.
    fn spent(&self) -> f64 {
        // Layers of generations depend on the spec alone, not on counts that a merge estimates: those
        // of all generations are alike.
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

fn room_in<B: AsRef<[u8]>>(layer: &Blocked<B>) -> u64 {
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
