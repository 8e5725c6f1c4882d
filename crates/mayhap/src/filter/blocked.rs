//! Bloom filter of cache lines: the default kind.

pub(crate) mod kind;
mod measure;
pub(super) use measure::Measured;

use super::{MergeError, same, same_scheme, same_target};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::{self, AlignedBuf, Line, OneKeyKernel, Relocate, Sealed};
use crate::scheme::{Native, Scheme};
use crate::sizing::{BlockedShape, ProbeRule};
use crate::spec::{Spec, SpecError};
use std::fmt;

/// The fast Bloom filter, and the one to start with: all probes of a key in one cache line.
///
/// Never a false negative. At `capacity` keys the false-positive rate meets the [`Spec`]; beyond
/// it the rate climbs and nothing else breaks. A lookup costs one cache miss, or two to four
/// where the target is below 0.7% and one line would take too much memory. Costs 3% more bits
/// than [`Classic`](crate::Classic), and answers several times as fast; batches run at the speed
/// of memory.
///
/// ```
/// # use mayhap::{Blocked, Spec};
/// let mut seen = Blocked::new(Spec::new(1_000, 0.01)?)?;
/// assert!(seen.insert("ada")); // certainly new
/// assert!(!seen.insert("ada")); // may have been there already
/// assert!(seen.contains("ada"));
/// assert!(!seen.contains("eve")); // certainly absent
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone)]
pub struct Blocked<B = AlignedBuf> {
    bits: B,
    single: OneKeyKernel,
    spec: Spec,
    keys: u64,
}

impl Blocked {
    /// An empty filter to this wish.
    pub fn new(spec: Spec) -> Result<Blocked, SpecError> {
        Blocked::with_shape(spec, BlockedShape::for_spec(&spec))
    }

    /// An empty filter of exactly this shape; the spec tells what to compare the rate with.
    pub fn with_shape(spec: Spec, shape: BlockedShape) -> Result<Blocked, SpecError> {
        if shape.lines == 0 {
            return Err(SpecError::TooSmall { bytes: 0 });
        }
        if shape.rule == ProbeRule::Columns && !(shape.is_valid() && has_rule(spec, shape)) {
            return Err(SpecError::Shape { shape });
        }
        if !shape.is_valid() {
            return Err(SpecError::Probes { got: shape.probes() });
        }
        let bits = AlignedBuf::zeroed(shape.bits() / 8)?;
        Ok(Blocked::assemble(spec, shape, 0, bits))
    }

    /// For parts that came out of a filter before, or were made to fit.
    pub(super) fn assemble(
        spec: Spec,
        shape: BlockedShape,
        keys: u64,
        bits: AlignedBuf,
    ) -> Blocked {
        Blocked { bits, single: OneKeyKernel::new(shape, spec.scheme_ref()), spec, keys }
    }

    /// A layer that is sealed, over the bytes it has already.
    pub(super) fn over_sealed(
        spec: Spec,
        shape: BlockedShape,
        keys: u64,
        bits: Sealed,
    ) -> Blocked<Sealed> {
        Blocked { bits, single: OneKeyKernel::new(shape, spec.scheme_ref()), spec, keys }
    }

    pub(super) fn into_parts(self) -> (Spec, BlockedShape, u64, AlignedBuf) {
        (self.spec, self.shape(), self.keys, self.bits)
    }

    /// Insert a key. `true`: it was certainly new.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        let lines = lines_mut(&mut self.bits);
        let new = self.single.insert_key(lines, self.spec.scheme_ref(), key);
        self.keys = self.keys.saturating_add(new.into());
        new
    }

    /// Insert a hashed key. `true`: it was certainly new.
    #[inline]
    pub fn insert_hash(&mut self, hash: Hash) -> bool {
        let new = self.single.insert(lines_mut(&mut self.bits), hash);
        self.keys = self.keys.saturating_add(new.into());
        new
    }

    /// Insert them all; returns how many were certainly new.
    pub fn insert_batch(&mut self, hashes: &[Hash]) -> u64 {
        self.spec.scheme_ref().check_origin(hashes);
        let mut new = 0;
        let (shape, lines) = (self.shape(), lines_mut(&mut self.bits));
        kernel::insert_batch(lines, shape, hashes, |_, is_new| new += u64::from(is_new));
        self.keys = self.keys.saturating_add(new);
        new
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    pub fn insert_batch_new(&mut self, hashes: &[Hash], new: &mut Vec<bool>) {
        self.spec.scheme_ref().check_origin(hashes);
        new.clear();
        new.resize(hashes.len(), false);
        let (shape, lines) = (self.shape(), lines_mut(&mut self.bits));
        kernel::insert_batch(lines, shape, hashes, |i, is_new| new[i] = is_new);
        let count = new.iter().map(|new| u64::from(*new)).sum();
        self.keys = self.keys.saturating_add(count);
    }

    /// Forget everything.
    pub fn clear(&mut self) {
        self.bits.as_mut().fill(0);
        self.keys = 0;
    }

    /// Take in everything the other filter holds. They must be of one shape and hash alike.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Blocked<C>) -> Result<(), MergeError> {
        self.combine(other, |ours, theirs| ours | theirs)
    }

    /// Keep only bits that both filters have.
    ///
    /// What is in both stays in. What is in one only is mostly gone, but may still answer
    /// "maybe": more often than in a filter made from the common keys, never more often than in
    /// either of the two.
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &Blocked<C>) -> Result<(), MergeError> {
        self.combine(other, |ours, theirs| ours & theirs)
    }

    /// Count the keys from the bits, after inserts that were not counted.
    pub fn recount(&mut self) {
        self.keys = self.estimate();
    }

    /// Offer the memory of its arrays to whoever tidies the heap: no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.bits.move_by(memory);
    }

    pub(super) fn lines_mut(&mut self) -> &mut [Line] {
        lines_mut(&mut self.bits)
    }

    fn combine<C: AsRef<[u8]>>(
        &mut self,
        other: &Blocked<C>,
        with: impl Fn(u8, u8) -> u8,
    ) -> Result<(), MergeError> {
        self.check_like(other)?;
        let theirs = other.bits.as_ref().iter();
        for (ours, theirs) in self.bits.as_mut().iter_mut().zip(theirs) {
            *ours = with(*ours, *theirs);
        }
        self.recount();
        Ok(())
    }
}

impl<B: AsRef<[u8]>> Blocked<B> {
    /// A filter over bits that are already there, `keys` of them counted. `None` where the bits
    /// are not as many as the shape says.
    pub(crate) fn from_parts(spec: Spec, shape: BlockedShape, keys: u64, bits: B) -> Option<Self> {
        let fits = bits.as_ref().len() as u64 == shape.bits() / 8
            && shape.is_valid()
            && has_rule(spec, shape);
        let single = OneKeyKernel::new(shape, spec.scheme_ref());
        fits.then_some(Blocked { bits, single, spec, keys })
    }

    /// Fails where bits do not mean the same.
    pub(super) fn check_like<C: AsRef<[u8]>>(&self, other: &Blocked<C>) -> Result<(), MergeError> {
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        same_target(self.spec, other.spec(), self.shape() == other.shape())?;
        same("probe rules", self.shape().rule.name(), other.shape().rule.name())?;
        same("lines", self.shape().lines, other.shape().lines)?;
        same("lines per key", self.shape().lines_per_key, other.shape().lines_per_key)?;
        same("probes per line", self.shape().probes_per_line, other.shape().probes_per_line)
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.single.contains_key(lines(&self.bits), self.spec.scheme_ref(), key)
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.single.contains(lines(&self.bits), hash)
    }

    /// Have memory fetch all that a lookup of this hash will read, while something else is done.
    ///
    /// For one key at a time whose lookup nothing else overlaps, and whose lines would be waited
    /// for one after another. A loop over many keys is better off with
    /// [`contains_batch`](Blocked::contains_batch), and one over strangers without any of this:
    /// they are turned away by their first line.
    #[inline]
    pub fn prefetch(&self, hash: Hash) {
        let lines = lines(&self.bits);
        kernel::each_line(self.shape(), hash, |_, at, _| kernel::prefetch(lines, at));
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        self.spec.scheme_ref().check_origin(hashes);
        answers.clear();
        answers.resize(hashes.len(), false);
        kernel::contains_batch(lines(&self.bits), self.shape(), hashes, answers);
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

    /// What it was made for.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// How it is laid out.
    pub fn shape(&self) -> BlockedShape {
        self.single.shape()
    }

    /// Inserts that found their key certainly new (after a merge: an estimate).
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The array: lines of 64 bytes, the first bit in the lowest place of the first byte.
    pub fn as_bytes(&self) -> &[u8] {
        self.bits.as_ref()
    }

    /// The share of bits that are set.
    pub fn fill(&self) -> f64 {
        self.measure().fill()
    }

    /// How many distinct keys are in, told from the bits alone.
    pub fn estimate(&self) -> u64 {
        self.measure().keys().round() as u64
    }

    /// The false-positive rate as the bits stand now, hash collisions included.
    pub fn fpr_now(&self) -> f64 {
        self.measure().fpr()
    }

    fn measure(&self) -> Measured {
        Measured::of(self.shape(), lines(&self.bits))
    }
}

/// Whether the scheme of a filter has the rule of its shape.
fn has_rule(spec: Spec, shape: BlockedShape) -> bool {
    shape.rule == ProbeRule::Scattered || spec.scheme().id().has_columns()
}

fn lines<B: AsRef<[u8]>>(bits: &B) -> &[Line] {
    bits.as_ref().as_chunks().0
}

fn lines_mut(bits: &mut AlignedBuf) -> &mut [Line] {
    bits.as_mut().as_chunks_mut().0
}

impl<B: AsRef<[u8]>> fmt::Display for Blocked<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (spec, shape) = (self.spec, self.shape());
        write!(
            f,
            "blocked: {} of {} keys, {} bytes, {} probes in {} of {} lines, rate {:.3e} now, {:.3e} at capacity",
            self.keys,
            spec.capacity(),
            shape.bits() / 8,
            shape.probes(),
            shape.lines_per_key,
            shape.lines,
            self.fpr_now(),
            spec.fpr(),
        )
    }
}
