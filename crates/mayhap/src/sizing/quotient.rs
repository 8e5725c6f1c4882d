//! Sorted fingerprints in 512-bit lines.
//!
//! A fingerprint is a number below the *range*; `fpr` is the share of the range that is taken, so
//! the range alone decides the false-positive rate. How many low bits of a fingerprint are stored
//! (the remainder; the rest is told by its place) decides how many fit into a line, and with it the
//! memory. Fewer remainder bits over the same range are more lines: that is how a filter grows, and
//! why the rate does not change when it does.

use super::plan::Sizing;
use super::{LINE_BITS, clamp_inputs, collision_rate};
use crate::filter::KindSpec;
use crate::spec::{MAX_CAPACITY, Spec, SpecError};

/// The fewest remainder bits that a new filter gets. With fewer a line holds no more keys, so higher
/// false-positive rates than 1.67% cost as much as that one.
const LEAST_NEW: u32 = 6;
/// The fewest remainder bits that a filter grows to.
pub const MIN_REMAINDER_BITS: u32 = 1;
/// The most: a slot and the seven bits before it in its first byte must fit into one word, and no rate
/// needs more.
pub const MAX_REMAINDER_BITS: u32 = 48;
/// Fingerprints are below this, so that every one of them comes from at least two hashes.
const MAX_RANGE: u64 = 1 << 63;
/// There are fewer homes than this, so that the reciprocal in [`LineLayout`] divides exactly.
const MAX_HOMES: u64 = 1 << 57;
/// A filter is made for a load of 19/20: above it lines spill ever further into the next ones.
const LOAD: (u64, u64) = (19, 20);
/// The most that a line's first element may be away from its line, in slots.
pub(crate) const MAX_OFFSET: usize = 255;

/// Where things are in a line of 512 bits, told by the number of remainder bits alone.
///
/// From bit 0 on: the slots, of `remainder_bits` each. Up to bit 503: a bit for each slot that ends a
/// run, then a bit for each home that has a run. Then the flag and eight bits of offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineLayout {
    /// Bits of a slot.
    pub remainder_bits: usize,
    /// Slots, at most 63.
    pub slots: usize,
    /// Homes, at most 64.
    pub homes: usize,
    /// ⌈2⁶⁴ / homes⌉: divides numbers below 2⁵⁸ by `homes` exactly.
    reciprocal: u64,
    /// A one in the lowest bit of every field of `remainder_bits` in a word.
    pub ones: u64,
}

impl LineLayout {
    /// The layout for so many remainder bits, 1 to 48.
    pub const fn new(remainder_bits: u32) -> LineLayout {
        let bits = remainder_bits as usize;
        // 1.82 bits besides the remainder: one for the end of a run, 0.82 for homes.
        let slots = min(63, 50_300 / (100 * bits + 182));
        // The ends and homes must fit into the last two words beside the flag and the offset.
        let homes = min(64, min(119 - slots, 503 - slots * (bits + 1)));
        // With more homes a line would hold no more keys, and a filter that grows to this layout
        // would gain hardly any lines.
        let homes = min(homes, slots * 5 / 4);
        let (mut ones, mut at) = (0, 0);
        while at + bits <= 64 {
            ones |= 1 << at;
            at += bits;
        }
        let reciprocal = u64::MAX / homes as u64 + 1;
        LineLayout { remainder_bits: bits, slots, homes, reciprocal, ones }
    }

    /// The line of a home, and which of the line's homes it is.
    #[inline(always)]
    pub fn line_of(self, home: u64) -> (usize, u32) {
        let line = crate::hash::reduce(home, self.reciprocal);
        (line as usize, (home - line * self.homes as u64) as u32)
    }

    /// Lines behind those that have homes, for elements that found no room in theirs.
    pub const fn padding(self) -> usize {
        (MAX_OFFSET + 1) / self.slots + 2
    }
}

const fn min(a: usize, b: usize) -> usize {
    if a < b { a } else { b }
}

/// How a [`Quotient`](crate::Quotient) filter is laid out.
///
/// ```
/// use mayhap::sizing::QuotientShape;
/// let shape = QuotientShape::for_fpr(1_000_000, 0.01);
/// assert_eq!(shape.bits() / 10_000, 945); // 9.45 bits per key
/// assert!(shape.fpr_at(1_000_000) < 0.01);
/// // Grown sixteenfold and still at 1%: four more bits per key from the start.
/// let shape = QuotientShape::for_growth(1_000_000, 0.01, 4);
/// assert!(shape.bits() / 1_000_000 < 15 && shape.fpr_at(16_000_000) < 0.01);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotientShape {
    /// Fingerprints are below it. Fixed when a filter is made, whatever it grows to.
    pub range: u64,
    /// Bits of a fingerprint that are stored; its place tells the others.
    pub remainder_bits: u32,
}

impl QuotientShape {
    /// Higher false-positive rates cost as much as this one: remainders have no fewer than six bits.
    pub const LARGEST_USEFUL_FPR: f64 = 0.0167;

    /// The smallest array for `keys` at false-positive rate `fpr`.
    pub fn for_fpr(keys: u64, fpr: f64) -> QuotientShape {
        QuotientShape::for_growth(keys, fpr, 0)
    }

    /// The smallest array for `keys` that can be doubled `doublings` times and still has the
    /// false-positive rate `fpr` with as many times the keys. Each doubling costs one bit per key.
    pub fn for_growth(keys: u64, fpr: f64, doublings: u32) -> QuotientShape {
        let (keys, fpr) = clamp_inputs(keys, fpr);
        let grown = keys.max(1) as f64 * 2f64.powi(doublings.min(64) as i32);
        // Of the range, keys take 1 − e^(−keys/range).
        let range = (grown / -(-fpr).ln_1p()).ceil().min(0.99 * MAX_RANGE as f64) as u64;
        let mut best: Option<QuotientShape> = None;
        for remainder_bits in LEAST_NEW..=MAX_REMAINDER_BITS {
            let layout = LineLayout::new(remainder_bits);
            let per_line = (layout.homes as u64) << remainder_bits;
            let lines = lines_for(keys, layout).max(range.div_ceil(per_line));
            let Some(range) = lines.checked_mul(per_line) else { continue };
            let shape = QuotientShape { range, remainder_bits };
            if shape.is_valid() && best.is_none_or(|best| shape.lines() < best.lines()) {
                best = Some(shape);
            }
        }
        best.unwrap_or(QuotientShape { range: 1 << 62, remainder_bits: LEAST_NEW })
    }

    /// The lowest false-positive rate for `keys` in `bits` bits. `None` where they do not fit.
    pub fn for_bits(keys: u64, bits: u64) -> Option<QuotientShape> {
        let shape = |remainder_bits| {
            let layout = LineLayout::new(remainder_bits);
            let lines = (bits / LINE_BITS).checked_sub(layout.padding() as u64)?;
            let range = lines.checked_mul((layout.homes as u64) << remainder_bits)?;
            let shape = QuotientShape { range, remainder_bits };
            (lines >= lines_for(keys, layout) && shape.is_valid()).then_some(shape)
        };
        (LEAST_NEW..=MAX_REMAINDER_BITS).filter_map(shape).max_by_key(|shape| shape.range)
    }

    /// The most keys that fit into `bits` bits at false-positive rate `fpr`.
    pub fn max_keys(fpr: f64, bits: u64) -> u64 {
        let (mut fits, mut too_many) = (0, MAX_CAPACITY + 1);
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            let enough = QuotientShape::for_fpr(middle, fpr).bits() <= bits;
            if enough { fits = middle } else { too_many = middle }
        }
        fits
    }

    /// Whether a filter can have this shape.
    pub fn is_valid(&self) -> bool {
        (MIN_REMAINDER_BITS..=MAX_REMAINDER_BITS).contains(&self.remainder_bits)
            && (1..=MAX_RANGE).contains(&self.range)
            && self.homes() < MAX_HOMES
    }

    /// The shape with twice the homes for the same fingerprints, while there is one.
    pub fn grown(&self) -> Option<QuotientShape> {
        self.with_remainder_bits(self.remainder_bits.checked_sub(1)?)
    }

    /// The shape with half the homes for the same fingerprints, while there is one.
    pub fn shrunk(&self) -> Option<QuotientShape> {
        self.with_remainder_bits(self.remainder_bits.checked_add(1)?)
    }

    fn with_remainder_bits(&self, remainder_bits: u32) -> Option<QuotientShape> {
        let shape = QuotientShape { remainder_bits, ..*self };
        shape.is_valid().then_some(shape)
    }

    /// The keys it is made for, copies counted: 95% of the slots.
    pub fn capacity(&self) -> u64 {
        (u128::from(self.slots()) * u128::from(LOAD.0) / u128::from(LOAD.1)) as u64
    }

    /// Slots of the lines that have homes.
    pub fn slots(&self) -> u64 {
        self.home_lines() * self.layout().slots as u64
    }

    /// Lines in the array: those with homes, and a few behind them.
    pub fn lines(&self) -> u64 {
        self.home_lines() + self.layout().padding() as u64
    }

    /// Bits in the array.
    pub fn bits(&self) -> u64 {
        self.lines().saturating_mul(LINE_BITS)
    }

    /// The expected false-positive rate when `keys` distinct ones are in.
    pub fn fpr_at(&self, keys: u64) -> f64 {
        -(-(keys as f64) / self.range as f64).exp_m1()
    }

    /// How many distinct keys take so many distinct fingerprints.
    pub fn keys_at(&self, fingerprints: u64) -> f64 {
        let range = self.range as f64;
        // All of them taken says only "many": half of one short is as much as can be told.
        let free = (range - fingerprints as f64).max(0.5) / range;
        -free.ln() * range
    }

    /// Values of the bits of a fingerprint that are not stored.
    pub(crate) fn homes(&self) -> u64 {
        ((self.range - 1) >> self.remainder_bits) + 1
    }

    pub(crate) fn home_lines(&self) -> u64 {
        self.homes().div_ceil(self.layout().homes as u64)
    }

    pub(crate) fn layout(&self) -> LineLayout {
        LineLayout::new(self.remainder_bits.clamp(MIN_REMAINDER_BITS, MAX_REMAINDER_BITS))
    }
}

impl Sizing for QuotientShape {
    fn for_spec(kind: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        let doublings = doublings(kind);
        let grown = spec.capacity().checked_shl(doublings).unwrap_or(u64::MAX);
        let floor = collision_rate(grown.min(MAX_CAPACITY));
        if spec.fpr() < 2.0 * floor {
            return Err(SpecError::BelowHash { got: spec.fpr(), floor });
        }
        Ok(QuotientShape::for_growth(spec.capacity(), spec.fpr(), doublings))
    }

    fn in_bits(_: &KindSpec, keys: u64, bits: u64) -> Option<Self> {
        QuotientShape::for_bits(keys, bits)
    }

    fn bits(&self, _: u64) -> u64 {
        self.bits()
    }

    fn probes(&self) -> u32 {
        1
    }

    fn lines(&self) -> u32 {
        2
    }

    fn bits_fpr(&self, keys: u64) -> f64 {
        self.fpr_at(keys)
    }
}

/// How often a filter of this kind is expected to double.
pub(crate) fn doublings(kind: &KindSpec) -> u32 {
    match kind {
        KindSpec::Quotient { expected_growth } => {
            u64::from(*expected_growth).next_power_of_two().trailing_zeros()
        }
        _ => 0,
    }
}

/// The lines that hold so many keys at a load of 95%.
fn lines_for(keys: u64, layout: LineLayout) -> u64 {
    let slots = u128::from(keys) * u128::from(LOAD.1);
    slots.div_ceil(u128::from(LOAD.0) * layout.slots as u128).max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_fits_its_line() {
        for bits in MIN_REMAINDER_BITS..=MAX_REMAINDER_BITS {
            let LineLayout { remainder_bits, slots, homes, .. } = LineLayout::new(bits);
            assert!(9 + homes + slots * (remainder_bits + 1) <= 512, "{bits} bits");
            assert!(9 + homes + slots <= 128 && slots <= 63 && homes <= 64, "{bits} bits");
            // A word that begins with the last slot's first byte is inside the line.
            assert!((slots - 1) * remainder_bits / 8 + 8 <= 64, "{bits} bits");
            assert!(slots >= 10 && homes >= 10, "{bits} bits: {slots} {homes}");
        }
        let known = |bits| (LineLayout::new(bits).slots, LineLayout::new(bits).homes);
        let frozen =
            [(63, 56), (57, 47), (51, 44), (46, 43), (42, 41), (39, 35), (36, 35), (33, 41)];
        assert_eq!([6, 7, 8, 9, 10, 11, 12, 13].map(known), frozen);
    }

    #[test]
    fn the_reciprocal_divides() {
        for bits in MIN_REMAINDER_BITS..=MAX_REMAINDER_BITS {
            let layout = LineLayout::new(bits);
            let homes = layout.homes as u64;
            for line in [0, 1, 2, 1000, 1 << 33, (MAX_HOMES - 1) / homes - 1] {
                for q in [0, 1, homes - 1] {
                    let home = line * homes + q;
                    assert_eq!(layout.line_of(home), (line as usize, q as u32), "{bits}: {home}");
                }
            }
        }
    }

    #[test]
    fn bits_per_key_are_as_promised() {
        let keys = 10_000_000;
        for (fpr, bits) in [(0.0167, 8.56), (0.01, 9.46), (0.001, 12.84), (1e-4, 16.35)] {
            let shape = QuotientShape::for_fpr(keys, fpr);
            let found = shape.bits() as f64 / keys as f64;
            assert!(found <= bits, "{fpr}: {found}");
            assert!(shape.fpr_at(keys) <= fpr, "{fpr}: {}", shape.fpr_at(keys));
            assert!(shape.capacity() >= keys);
        }
        let bits = |fpr| QuotientShape::for_fpr(keys, fpr).bits();
        let useful = QuotientShape::LARGEST_USEFUL_FPR;
        assert_eq!((bits(0.5), bits(0.05)), (bits(useful), bits(useful)));
        assert!(bits(0.98 * useful) > bits(useful));
    }

    #[test]
    fn a_filter_grown_as_expected_keeps_its_rate() {
        for (keys, fpr) in [(1, 0.01), (1000, 0.01), (123_456, 1e-3), (5_000_000, 1e-9)] {
            for doublings in [0, 1, 4, 10] {
                let mut shape = QuotientShape::for_growth(keys, fpr, doublings);
                assert!(shape.is_valid() && shape.capacity() >= keys);
                let grown = keys << doublings;
                while shape.capacity() < grown {
                    shape = shape.grown().unwrap();
                }
                assert!(shape.fpr_at(grown) <= fpr * (1.0 + 1e-9), "{keys} {fpr} {doublings}");
                // It is about as large as one that was made for all of them at once.
                let at_once = QuotientShape::for_fpr(grown, fpr);
                let ratio = shape.bits() as f64 / at_once.bits() as f64;
                assert!(ratio < 2.3, "{keys} {fpr} {doublings}: {ratio}");
            }
        }
    }

    #[test]
    fn memory_given_is_memory_used() {
        for (keys, bits) in [(1000, 20_000), (1_000_000, 9_500_000), (1_000_000, 40_000_000)] {
            let shape = QuotientShape::for_bits(keys, bits).unwrap();
            assert!(
                shape.bits() <= bits && shape.bits() + LINE_BITS > bits && shape.capacity() >= keys
            );
        }
        assert!(QuotientShape::for_bits(1_000_000, 9_500_000).unwrap().fpr_at(1_000_000) < 0.01);
        assert_eq!(QuotientShape::for_bits(1_000_000, 8_000_000), None);
        assert_eq!(QuotientShape::for_bits(1, 0), None);
        let keys = QuotientShape::max_keys(0.01, 9_460_000_000);
        assert!((1_000_000_000..1_001_000_000).contains(&keys), "{keys}");
        assert!(QuotientShape::for_fpr(keys, 0.01).bits() <= 9_460_000_000);
        assert_eq!(QuotientShape::max_keys(0.01, 100), 0);
    }

    #[test]
    fn nonsense_is_answered_with_something() {
        for keys in [0, 1, 1 << 48, u64::MAX] {
            for fpr in [0.0, -1.0, 1.0, 2.0, f64::NAN, f64::INFINITY, 1e-300, 1e-9] {
                for doublings in [0, 5, 64, u32::MAX] {
                    assert!(QuotientShape::for_growth(keys, fpr, doublings).is_valid());
                }
            }
        }
    }

    #[test]
    fn growing_and_shrinking_undo_each_other() {
        let mut shape = QuotientShape { range: 1 << 62, remainder_bits: MAX_REMAINDER_BITS };
        while let Some(grown) = shape.grown() {
            assert_eq!(grown.shrunk(), Some(shape));
            assert!(grown.bits() > shape.bits());
            let ratio = grown.slots() as f64 / shape.slots() as f64;
            assert!((1.4..3.0).contains(&ratio), "{shape:?}: {ratio}");
            shape = grown;
            // So many homes no machine has: go on with fewer fingerprints.
            if shape.homes() > 1 << 50 {
                shape.range >>= 10;
            }
        }
        assert_eq!(shape.remainder_bits, MIN_REMAINDER_BITS);
    }
}
