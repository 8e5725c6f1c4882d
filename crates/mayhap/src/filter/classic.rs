//! The textbook filter.

mod kind;
use super::{MergeError, same, same_made_for, same_scheme};
use crate::kernel::{AlignedBuf, Relocate, flat};
use crate::key::KeyOf;
use crate::scheme::{Native, Scheme, fill};
use crate::sizing::ClassicShape;
use crate::spec::{Spec, SpecError};
use std::fmt;

/// Ours end at 64 probes; others ask for a rate of 1e-300 and get a thousand.
const MAX_FOREIGN_PROBES: u32 = 2048;

/// The textbook Bloom filter: `k` probes, each anywhere in one flat array of bits.
///
/// Never a false negative. At `capacity` keys the false-positive rate meets the [`Spec`];
/// beyond it the rate climbs and nothing else breaks. A lookup costs up to `k` cache misses:
/// prefer [`Blocked`](crate::Blocked) unless every bit of memory counts. With another
/// [`Scheme`] it is another program's filter.
///
/// ```
/// # use mayhap::{Classic, Spec};
/// let mut seen = Classic::new(Spec::new(1_000, 0.01)?)?;
/// assert!(seen.insert(b"ada")); // certainly new
/// assert!(!seen.insert(b"ada")); // may have been there already
/// assert!(!seen.contains(b"eve")); // certainly absent
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone)]
pub struct Classic<S = Native, B = AlignedBuf> {
    bits: B,
    shape: ClassicShape,
    scheme: S,
    capacity: u64,
    fpr: f64,
    keys: u64,
}

impl Classic {
    /// An empty filter for this spec.
    pub fn new(spec: Spec) -> Result<Classic, SpecError> {
        Classic::with_shape(spec, ClassicShape::for_fpr(spec.capacity(), spec.fpr_of_bits()))
    }

    /// An empty filter of exactly this shape; the spec tells what to compare the rate with.
    pub fn with_shape(spec: Spec, shape: ClassicShape) -> Result<Classic, SpecError> {
        if shape.bits == 0 {
            return Err(SpecError::TooSmall { bytes: 0 });
        }
        if !shape.is_valid() {
            return Err(SpecError::Probes { got: shape.probes });
        }
        let bits = AlignedBuf::zeroed(shape.bits.div_ceil(8))?;
        Ok(Classic::assemble(spec, shape, 0, bits))
    }

    /// For parts that came out of a filter before, or were made to fit.
    pub(super) fn assemble(
        spec: Spec,
        shape: ClassicShape,
        keys: u64,
        bits: AlignedBuf,
    ) -> Classic {
        let (scheme, capacity, fpr) = (spec.scheme(), spec.capacity(), spec.fpr());
        Classic { bits, shape, scheme, capacity, fpr, keys }
    }

    pub(super) fn into_parts(self) -> (Spec, ClassicShape, u64, AlignedBuf) {
        let spec = Spec::unchecked(self.capacity, self.fpr, self.scheme);
        (spec, self.shape, self.keys, self.bits)
    }
}

impl<S: Scheme, B: AsRef<[u8]>> Classic<S, B> {
    /// A filter over bits that are already there. `None` where the shape is not one (no bits, no
    /// probes or more than 2048) or the bytes are not as many as it says.
    pub fn from_parts(scheme: S, shape: ClassicShape, bits: B) -> Option<Self> {
        let is_shape = shape.bits >= 1 && (1..=MAX_FOREIGN_PROBES).contains(&shape.probes);
        let fits = is_shape && bits.as_ref().len() as u64 == shape.bits.div_ceil(8);
        fits.then_some(Classic { bits, shape, scheme, capacity: 0, fpr: 0.0, keys: 0 })
    }

    /// Set the capacity and rate the filter was made for, and its number of keys. Invalid values
    /// count as unknown: a rate outside 0 to 1 is 0, keys end at 2⁵⁶.
    pub fn with_target(self, capacity: u64, fpr: f64, keys: u64) -> Self {
        let fpr = if (0.0..1.0).contains(&fpr) { fpr } else { 0.0 };
        let keys = keys.min(1 << 56); // so that counting on cannot overflow
        Classic { capacity, fpr, keys, ..self }
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl KeyOf<S::Keys>) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: S::Hash) -> bool {
        let bytes = self.bits.as_ref();
        let mut positions = self.scheme.positions(hash, self.shape.bits, self.shape.probes);
        positions.all(|at| flat::bit(bytes, at))
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[S::Hash], answers: &mut Vec<bool>) {
        self.scheme.check_origin(hashes);
        answers.clear();
        answers.resize(hashes.len(), false);
        let (bytes, probing) = (self.bits.as_ref(), (self.shape.bits, self.shape.probes));
        flat::contains_batch(bytes, &self.scheme, probing, hashes, answers);
    }

    /// Hash a key once, for lookups and inserts later.
    #[inline]
    pub fn hash(&self, key: impl KeyOf<S::Keys>) -> S::Hash {
        self.scheme.hash(key)
    }

    /// How keys are hashed and probed.
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// Its layout.
    pub fn shape(&self) -> ClassicShape {
        self.shape
    }

    /// The keys it was made for; 0 where a foreign file did not say.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The rate it was made for; 0 where a foreign file did not say.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// Inserts that found their key certainly new (after a merge: an estimate).
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The array, the first bit in the lowest place of the first byte.
    pub fn as_bytes(&self) -> &[u8] {
        self.bits.as_ref()
    }

    /// The share of bits that are set, of those that can be.
    pub fn fill(&self) -> f64 {
        fill(self.as_bytes(), self.reached().bits)
    }

    /// How many distinct keys are in, estimated from the bits alone.
    pub fn estimate(&self) -> u64 {
        self.reached().keys_at_fill(self.fill()).round() as u64
    }

    /// The array as far as the scheme reaches.
    fn reached(&self) -> ClassicShape {
        let bits = self.scheme.addressable_bits(self.shape.bits).clamp(1, self.shape.bits);
        ClassicShape { bits, ..self.shape }
    }

    /// The current false-positive rate, from the bits.
    pub fn fpr_now(&self) -> f64 {
        self.scheme.fpr_now(self.as_bytes(), self.shape.bits, self.shape.probes)
    }
}

impl<S: Scheme> Classic<S> {
    /// Lets a defragmenting allocator relocate the buffers; no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.bits.move_by(memory);
    }

    /// Insert a key. `true`: it was certainly new.
    #[inline]
    pub fn insert(&mut self, key: impl KeyOf<S::Keys>) -> bool {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key. `true`: it was certainly new.
    #[inline]
    pub fn insert_hash(&mut self, hash: S::Hash) -> bool {
        let bytes = self.bits.as_mut();
        let mut new = false;
        for at in self.scheme.positions(hash, self.shape.bits, self.shape.probes) {
            new |= flat::set(bytes, at);
        }
        self.keys = self.keys.saturating_add(new.into());
        new
    }

    /// Insert them all; returns how many were certainly new.
    pub fn insert_batch(&mut self, hashes: &[S::Hash]) -> u64 {
        self.scheme.check_origin(hashes);
        let mut new = 0;
        let (bytes, probing) = (self.bits.as_mut(), (self.shape.bits, self.shape.probes));
        flat::insert_batch(bytes, &self.scheme, probing, hashes, |_, is_new| {
            new += u64::from(is_new);
        });
        self.keys = self.keys.saturating_add(new);
        new
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    pub fn insert_batch_new(&mut self, hashes: &[S::Hash], new: &mut Vec<bool>) {
        self.scheme.check_origin(hashes);
        new.clear();
        let (bytes, probing) = (self.bits.as_mut(), (self.shape.bits, self.shape.probes));
        flat::insert_batch(bytes, &self.scheme, probing, hashes, |_, is_new| new.push(is_new));
        let count = new.iter().map(|new| u64::from(*new)).sum();
        self.keys = self.keys.saturating_add(count);
    }

    /// The array, to be filled with the bits of another filter. Bits past the last must stay
    /// clear: lookups ignore them, but they would be counted.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        self.bits.as_mut()
    }

    /// Remove all keys.
    pub fn clear(&mut self) {
        self.bits.as_mut().fill(0);
        self.keys = 0;
    }
}

impl<S: Scheme + PartialEq, B: AsRef<[u8]>> Classic<S, B> {
    /// Fails where bits do not mean the same.
    pub(super) fn check_like<C: AsRef<[u8]>>(
        &self,
        other: &Classic<S, C>,
    ) -> Result<(), MergeError> {
        same_scheme(&self.scheme, &other.scheme)?;
        let [ours, theirs] = [(self.capacity, self.fpr), (other.capacity, other.fpr)];
        same_made_for(ours, theirs, self.shape == other.shape)?;
        same("bits", self.shape.bits, other.shape.bits)?;
        same("probes", self.shape.probes, other.shape.probes)
    }
}

impl<S: Scheme + PartialEq> Classic<S> {
    /// Add everything the other filter holds. They must be of one shape and hash alike.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Classic<S, C>) -> Result<(), MergeError> {
        self.combine(other, |ours, theirs| ours | theirs)
    }

    /// Keep only bits that both filters have.
    ///
    /// Keys in both filters stay. Keys in only one are mostly removed, but some remain as false positives: more
    /// than in a filter made from the common keys, never more than in either of the two.
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &Classic<S, C>) -> Result<(), MergeError> {
        self.combine(other, |ours, theirs| ours & theirs)
    }

    fn combine<C: AsRef<[u8]>>(
        &mut self,
        other: &Classic<S, C>,
        with: impl Fn(u8, u8) -> u8,
    ) -> Result<(), MergeError> {
        self.check_like(other)?;
        for (ours, theirs) in self.bits.as_mut().iter_mut().zip(other.as_bytes()) {
            *ours = with(*ours, *theirs);
        }
        self.keys = self.estimate();
        Ok(())
    }
}

impl<S: Scheme, B: AsRef<[u8]>> fmt::Display for Classic<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "classic: {} of {} keys, {} bytes, {} probes in {} bits, rate {:.3e} now, {:.3e} at capacity",
            self.keys,
            self.capacity,
            self.as_bytes().len(),
            self.shape.probes,
            self.shape.bits,
            self.fpr_now(),
            self.fpr,
        )
    }
}

/// Of any scheme, in one line.
impl<S, B> fmt::Debug for Classic<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Classic { keys, capacity, fpr, shape, .. } = self;
        let bytes = shape.bits.div_ceil(8);
        write!(f, "Classic {{ keys: {keys}, capacity: {capacity}, fpr: {fpr}, bytes: {bytes} }}")
    }
}
