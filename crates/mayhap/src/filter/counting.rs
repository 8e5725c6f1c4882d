//! The filter that can give keys up again.

mod kind;
use super::{MergeError, same, same_scheme, same_target};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::{AlignedBuf, Relocate, prefetch};
use crate::scheme::{Native, Scheme};
use crate::sizing::ClassicShape;
use crate::spec::{MAX_PROBES, Spec, SpecError};
use std::fmt;

/// A counter of four bits saturates at 15 and then stays there.
const FULL: u8 = 15;
/// How many keys ahead a batch prefetches, at each of its stages.
const AHEAD: usize = 8;
/// An absent key has a zero among its first two counters three times in four: a batch prefetches
/// those first, and the others only if they are not zero.
const LOOKAHEAD: usize = 2;

/// A Bloom filter with a `remove`: four-bit counters in the place of bits.
///
/// Never a false negative, as long as only keys are removed that were inserted; a key that tests
/// absent is not removed, and `remove` says so. Removing a *false positive* takes counts away
/// from keys that are in: only the caller can know, so ask whoever holds the keys first.
/// A counter that reached 15 stays at 15 for ever. Its keys may then linger after they were
/// removed, and that is all. In a filter within its capacity this befalls one counter in 10¹⁵.
///
/// Costs four times the memory of [`Classic`](crate::Classic), and as many cache misses. Where
/// keys only grow old, prefer a window.
///
/// ```
/// # use mayhap::{Counting, Spec};
/// let mut flows = Counting::new(Spec::new(1_000, 0.01)?)?;
/// assert!(flows.insert("10.0.0.1")); // certainly new
/// assert!(!flows.insert("10.0.0.1")); // a second time
/// assert_eq!(flows.count("10.0.0.1"), 2); // at most twice
/// assert!(flows.remove("10.0.0.1"));
/// assert!(flows.contains("10.0.0.1")); // one is left
/// assert!(flows.remove("10.0.0.1"));
/// assert!(!flows.remove("10.0.0.1")); // certainly absent: nothing changed
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone)]
pub struct Counting<B = AlignedBuf> {
    counters: B,
    /// Its "bits" are counters.
    shape: ClassicShape,
    spec: Spec,
    keys: u64,
}

// What holds at all times, and is all that is needed: a counter below 15 is at least the number
// of keys that are in and probe it, a key inserted twice counting twice. Inserting keeps it (each
// counter of the key goes up by one or is 15), removing a key that is in keeps it (each goes down
// by one or is 15), and so do sums and minima of counters. So a key that is in finds no zero.
//
// Probes of one key may coincide. Such a counter counts the key once, in and out: once per probe
// would be correct too, but saturate sooner, and `count` would overstate.

impl Counting {
    /// Lets a defragmenting allocator relocate the buffers; no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.counters.move_by(memory);
    }

    /// An empty filter for this spec.
    pub fn new(spec: Spec) -> Result<Counting, SpecError> {
        Counting::with_shape(spec, ClassicShape::for_fpr(spec.capacity(), spec.fpr_of_bits()))
    }

    /// An empty filter of exactly this shape, whose bits are counters here; the spec is the target
    /// to compare the false-positive rate with.
    pub fn with_shape(spec: Spec, shape: ClassicShape) -> Result<Counting, SpecError> {
        if shape.bits == 0 {
            return Err(SpecError::TooSmall { bytes: 0 });
        }
        let counters = AlignedBuf::zeroed(bytes_of(shape))?;
        Counting::from_parts(spec, shape, 0, counters)
            .ok_or(SpecError::Probes { got: shape.probes })
    }

    /// Insert a key, once more if it is in already. `true`: it was certainly new.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key, once more if it is in already. `true`: it was certainly new.
    #[inline]
    pub fn insert_hash(&mut self, hash: Hash) -> bool {
        let bytes = self.counters.as_mut();
        let mut new = false;
        for at in DistinctSlots::of(&self.spec, self.shape, hash).as_slice() {
            let count = get(bytes, *at);
            new |= count == 0;
            if count < FULL {
                set(bytes, *at, count + 1);
            }
        }
        self.keys = self.keys.saturating_add(1);
        new
    }

    /// Insert them all; returns how many were certainly new.
    pub fn insert_batch(&mut self, hashes: &[Hash]) -> u64 {
        self.prefetched(hashes, |filter, hash| u64::from(filter.insert_hash(hash))).sum()
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    pub fn insert_batch_new(&mut self, hashes: &[Hash], new: &mut Vec<bool>) {
        new.clear();
        new.extend(self.prefetched(hashes, Counting::insert_hash));
    }

    /// Remove one insertion of a key that was inserted. `false`: it was certainly not in, and
    /// nothing changed.
    #[inline]
    pub fn remove(&mut self, key: impl Key) -> bool {
        self.remove_hash(self.hash(key))
    }

    /// Remove one insertion of a hashed key that was inserted. `false`: it was certainly not in,
    /// and nothing changed.
    #[inline]
    pub fn remove_hash(&mut self, hash: Hash) -> bool {
        if !self.contains_hash(hash) {
            return false;
        }
        let bytes = self.counters.as_mut();
        for at in DistinctSlots::of(&self.spec, self.shape, hash).as_slice() {
            let count = get(bytes, *at);
            if (1..FULL).contains(&count) {
                set(bytes, *at, count - 1);
            }
        }
        self.keys = self.keys.saturating_sub(1);
        true
    }

    /// Remove them all, one after another; returns how many were not certainly absent.
    pub fn remove_batch(&mut self, hashes: &[Hash]) -> u64 {
        self.prefetched(hashes, |filter, hash| u64::from(filter.remove_hash(hash))).sum()
    }

    /// Call for each hash, whose counters were prefetched before.
    fn prefetched<T>(
        &mut self,
        hashes: &[Hash],
        mut work: impl FnMut(&mut Counting, Hash) -> T,
    ) -> impl Iterator<Item = T> {
        self.spec.scheme_ref().check_origin(hashes);
        let mut ahead = hashes.iter();
        ahead.by_ref().take(AHEAD).for_each(|hash| self.fetch(*hash, 0));
        hashes.iter().map(move |hash| {
            if let Some(next) = ahead.next() {
                self.fetch(*next, 0);
            }
            work(self, *hash)
        })
    }

    /// Remove all keys.
    pub fn clear(&mut self) {
        self.counters.as_mut().fill(0);
        self.keys = 0;
    }

    /// Add everything the other filter holds, as often as it holds it: counters add up. They
    /// must be of one shape and hash alike.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Counting<C>) -> Result<(), MergeError> {
        self.combine(other, |ours, theirs| (ours + theirs).min(FULL))?;
        self.keys = self.keys.saturating_add(other.keys);
        Ok(())
    }

    /// Keep the minimum of each two counters.
    ///
    /// What is in both stays in, as often as in the one that has it less often, and can be removed
    /// as often. What is in only one is mostly removed, but may still be a false positive, and what
    /// it left in the counters cannot be removed. [`keys`](Counting::keys) becomes an estimate.
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &Counting<C>) -> Result<(), MergeError> {
        self.combine(other, u8::min)?;
        self.keys = self.estimate().min(self.keys).min(other.keys);
        Ok(())
    }

    fn combine<C: AsRef<[u8]>>(
        &mut self,
        other: &Counting<C>,
        with: impl Fn(u8, u8) -> u8,
    ) -> Result<(), MergeError> {
        self.check_like(other)?;
        for (ours, theirs) in self.counters.as_mut().iter_mut().zip(other.as_bytes()) {
            let low = with(*ours & 15, *theirs & 15);
            let high = with(*ours >> 4, *theirs >> 4);
            *ours = low | high << 4;
        }
        Ok(())
    }
}

impl<B: AsRef<[u8]>> Counting<B> {
    /// A filter over existing counters with `keys` keys. `None` if the number of bytes does not
    /// match the shape, or the half byte past the last counter is not 0.
    pub(crate) fn from_parts(
        spec: Spec,
        shape: ClassicShape,
        keys: u64,
        counters: B,
    ) -> Option<Self> {
        let bytes = counters.as_ref();
        let fits = shape.is_valid()
            && bytes.len() as u64 == bytes_of(shape)
            && (shape.bits.is_multiple_of(2) || bytes.last().is_some_and(|last| *last <= FULL));
        fits.then_some(Counting { counters, shape, spec, keys })
    }

    /// Fails where counters do not mean the same.
    pub(super) fn check_like<C: AsRef<[u8]>>(&self, other: &Counting<C>) -> Result<(), MergeError> {
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        same_target(self.spec, other.spec, self.shape == other.shape)?;
        same("counters", self.shape.bits, other.shape.bits)?;
        same("probes", self.shape.probes, other.shape.probes)
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        let bytes = self.as_bytes();
        self.positions(hash).all(|at| get(bytes, at) != 0)
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        self.spec.scheme_ref().check_origin(hashes);
        answers.clear();
        answers.reserve(hashes.len());
        for i in 0..hashes.len() + 2 * AHEAD {
            if let Some(hash) = hashes.get(i) {
                self.prefetch_ahead(*hash);
            }
            if let Some(hash) = i.checked_sub(AHEAD).and_then(|i| hashes.get(i)) {
                let bytes = self.as_bytes();
                if self.positions(*hash).take(LOOKAHEAD).all(|at| get(bytes, at) != 0) {
                    self.fetch(*hash, LOOKAHEAD);
                }
            }
            if let Some(hash) = i.checked_sub(2 * AHEAD).and_then(|i| hashes.get(i)) {
                answers.push(self.contains_hash(*hash));
            }
        }
    }

    /// How often the key may be in: never less than it is, often exact, and 15 means "15 or more".
    #[inline]
    pub fn count(&self, key: impl Key) -> u8 {
        self.count_hash(self.hash(key))
    }

    /// How often the hashed key may be in, as for [`count`](Counting::count).
    #[inline]
    pub fn count_hash(&self, hash: Hash) -> u8 {
        let bytes = self.as_bytes();
        self.positions(hash).map(|at| get(bytes, at)).min().unwrap_or(0)
    }

    #[inline]
    fn positions(&self, hash: Hash) -> impl Iterator<Item = u64> {
        positions(&self.spec, self.shape, hash)
    }

    /// Prefetch the key's first counters.
    #[inline]
    fn prefetch_ahead(&self, hash: Hash) {
        let bytes = self.as_bytes();
        self.positions(hash).take(LOOKAHEAD).for_each(|at| prefetch(bytes, (at >> 1) as usize));
    }

    /// Prefetch the key's counters after the first few.
    #[inline]
    fn fetch(&self, hash: Hash, but: usize) {
        let bytes = self.as_bytes();
        self.positions(hash).skip(but).for_each(|at| prefetch(bytes, (at >> 1) as usize));
    }

    /// Hash a key once, to look up, insert or remove it later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme().hash(key)
    }

    /// How keys are hashed and probed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// Its spec.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// Its shape; its "bits" are counters here.
    pub fn shape(&self) -> ClassicShape {
        self.shape
    }

    /// Inserts minus removals (after an intersection: an estimate).
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The counters, two per byte, the first in the low half of the first.
    pub fn as_bytes(&self) -> &[u8] {
        self.counters.as_ref()
    }

    /// The share of counters that are not zero.
    pub fn fill(&self) -> f64 {
        let used = |byte: &u8| u64::from(byte & 15 != 0) + u64::from(byte >> 4 != 0);
        self.as_bytes().iter().map(used).sum::<u64>() as f64 / self.shape.bits as f64
    }

    /// How many distinct keys are in, estimated from the counters alone.
    pub fn estimate(&self) -> u64 {
        self.shape.keys_at_fill(self.fill()).round() as u64
    }

    /// The current false-positive rate, from the counters, hash collisions included.
    pub fn fpr_now(&self) -> f64 {
        self.shape.fpr_at_fill(self.fill())
    }
}

/// Two counters per byte.
fn bytes_of(shape: ClassicShape) -> u64 {
    shape.bits.div_ceil(2)
}

#[inline(always)]
fn get(bytes: &[u8], at: u64) -> u8 {
    bytes[(at >> 1) as usize] >> (4 * (at & 1)) & 15
}

#[inline(always)]
fn set(bytes: &mut [u8], at: u64, count: u8) {
    let (byte, shift) = (&mut bytes[(at >> 1) as usize], 4 * (at & 1));
    *byte = *byte & !(15 << shift) | count << shift;
}

#[inline(always)]
fn positions(spec: &Spec, shape: ClassicShape, hash: Hash) -> impl Iterator<Item = u64> {
    spec.scheme_ref().positions(hash, shape.bits, shape.probes)
}

/// The counters of one key, each once.
struct DistinctSlots {
    at: [u64; MAX_PROBES as usize],
    many: usize,
}

impl DistinctSlots {
    #[inline]
    fn of(spec: &Spec, shape: ClassicShape, hash: Hash) -> DistinctSlots {
        let mut own = DistinctSlots { at: [0; MAX_PROBES as usize], many: 0 };
        for at in positions(spec, shape, hash) {
            if !own.as_slice().contains(&at) {
                own.at[own.many] = at;
                own.many += 1;
            }
        }
        own
    }

    #[inline]
    fn as_slice(&self) -> &[u64] {
        &self.at[..self.many]
    }
}

impl<B: AsRef<[u8]>> fmt::Display for Counting<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "counting: {} of {} keys, {} bytes, {} probes in {} counters, rate {:.3e} now, {:.3e} at capacity",
            self.keys,
            self.spec.capacity(),
            self.as_bytes().len(),
            self.shape.probes,
            self.shape.bits,
            self.fpr_now(),
            self.spec.fpr(),
        )
    }
}

#[cfg(test)]
mod tests;
