//! The textbook: m = −n·ln p / (ln 2)², k = m/n·ln 2.

use super::occupancy::all_set;
use super::plan::Sizing;
use super::{clamp_inputs, collision_rate};
use crate::filter::KindSpec;
use crate::spec::{MAX_PROBES, Spec, SpecError};
use std::f64::consts::LN_2;

/// A flat array of bits, probed anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassicShape {
    /// Bits in the array; positions are below it.
    pub bits: u64,
    /// Probes a key.
    pub probes: u32,
}

impl ClassicShape {
    /// This many bits and probes per key.
    pub const fn new(bits: u64, probes: u32) -> ClassicShape {
        ClassicShape { bits, probes }
    }

    /// The array for `keys` at rate `fpr`.
    ///
    /// The textbook's m, with the better of the two whole k beside its k. A whole k misses the
    /// target a little; where that is more than 1% (only for rates above one half) m grows.
    pub fn for_fpr(keys: u64, fpr: f64) -> ClassicShape {
        let (keys, fpr) = clamp_inputs(keys, fpr);
        let bits = (-(keys as f64) * fpr.ln() / (LN_2 * LN_2)).ceil().max(1.0) as u64;
        let mut shape = ClassicShape::for_bits(keys, bits);
        while shape.fpr_at(keys) > 1.01 * fpr {
            let more = shape.bits / 256 + 1;
            shape = ClassicShape::for_bits(keys, shape.bits.saturating_add(more));
        }
        shape
    }

    /// The best use of `bits` bits for `keys` keys.
    pub fn for_bits(keys: u64, bits: u64) -> ClassicShape {
        let ideal = bits as f64 / keys.max(1) as f64 * LN_2;
        let low = (ideal as u32).clamp(1, MAX_PROBES);
        let high = (low + 1).min(MAX_PROBES);
        let [low, high] = [low, high].map(|probes| ClassicShape { bits, probes });
        if high.fpr_at(keys) < low.fpr_at(keys) { high } else { low }
    }

    /// Whether a filter can have this shape.
    pub fn is_valid(&self) -> bool {
        self.bits >= 1 && (1..=MAX_PROBES).contains(&self.probes)
    }

    /// The expected rate when `keys` are in.
    pub fn fpr_at(&self, keys: u64) -> f64 {
        all_set(self.bits as f64, keys as f64 * f64::from(self.probes), self.probes)
    }

    /// How many distinct keys leave a share `fill` of the bits set.
    pub fn keys_at_fill(&self, fill: f64) -> f64 {
        // A full array says only "many": half a bit short of full is as much as can be told.
        let clear = (1.0 - fill).max(0.5 / self.bits as f64);
        -clear.ln() * self.bits as f64 / f64::from(self.probes)
    }
}

impl ClassicShape {
    /// The rate where a share `fill` of the bits is set, by keys with 64-bit hashes: no absent key passes
    /// less often than it has the hash of one that is in.
    pub(crate) fn fpr_at_fill(&self, fill: f64) -> f64 {
        let collisions = collision_rate(self.keys_at_fill(fill).round() as u64);
        (fill.powi(self.probes as i32) + collisions).min(1.0)
    }
}

impl Sizing for ClassicShape {
    fn for_spec(_: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        Ok(ClassicShape::for_fpr(spec.capacity(), spec.fpr_of_bits()))
    }

    fn in_bits(_: &KindSpec, keys: u64, bits: u64) -> Option<Self> {
        (bits >= 1).then(|| ClassicShape::for_bits(keys, bits))
    }

    fn bits(&self, _: u64) -> u64 {
        self.bits
    }

    fn probes(&self) -> u32 {
        self.probes
    }

    fn lines(&self) -> u32 {
        self.probes
    }

    fn bits_fpr(&self, keys: u64) -> f64 {
        self.fpr_at(keys)
    }
}

/// As many counters of four bits as a [`ClassicShape`] has bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountingShape(ClassicShape);

impl Sizing for CountingShape {
    fn for_spec(kind: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        Sizing::for_spec(kind, spec).map(CountingShape)
    }

    fn in_bits(kind: &KindSpec, keys: u64, bits: u64) -> Option<Self> {
        Sizing::in_bits(kind, keys, bits / 4).map(CountingShape)
    }

    fn bits(&self, keys: u64) -> u64 {
        Sizing::bits(&self.0, keys).saturating_mul(4)
    }

    fn probes(&self) -> u32 {
        self.0.probes()
    }

    fn lines(&self) -> u32 {
        self.0.lines()
    }

    fn bits_fpr(&self, keys: u64) -> f64 {
        self.0.bits_fpr(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_numbers() {
        let shape = ClassicShape::for_fpr(100_000, 1e-4);
        assert_eq!(shape, ClassicShape { bits: 1_917_012, probes: 13 });
        let shape = ClassicShape::for_fpr(1_000_000, 0.01);
        assert_eq!(shape, ClassicShape { bits: 9_585_059, probes: 7 });
    }

    #[test]
    fn two_billion_keys_in_500_megabytes() {
        let shape = ClassicShape::for_bits(2_000_000_000, 4_000_000_000);
        assert_eq!(shape.probes, 1);
        assert!((shape.fpr_at(2_000_000_000) - 0.393).abs() < 0.001);
    }

    #[test]
    fn the_rate_holds_even_where_the_textbook_does_not() {
        for fpr in [0.9, 0.7, 0.55, 0.4, 0.1, 0.01, 1e-6, 1e-12] {
            for keys in [1, 10, 1000, 10_000_000] {
                let rate = ClassicShape::for_fpr(keys, fpr).fpr_at(keys);
                assert!(rate <= 1.011 * fpr, "{keys} keys at {fpr}: {rate}");
            }
        }
    }

    #[test]
    fn nonsense_is_answered_with_something() {
        for keys in [0, u64::MAX] {
            for fpr in [0.0, -1.0, 1.0, 2.0, f64::NAN, f64::INFINITY, 1e-300] {
                assert!(ClassicShape::for_fpr(keys, fpr).is_valid(), "{keys} keys at {fpr}");
            }
        }
    }

    #[test]
    fn no_rate_is_below_that_of_the_hashes() {
        let shape = ClassicShape::for_fpr(10_000_000, 1e-9);
        let fill = 1000.0 * f64::from(shape.probes) / shape.bits as f64;
        let rate = shape.fpr_at_fill(fill) / collision_rate(1000);
        assert!((0.99..1.01).contains(&rate), "{rate}");
        assert_eq!(shape.fpr_at_fill(0.0), 0.0);
        assert_eq!(shape.fpr_at_fill(1.0), 1.0);
    }

    #[test]
    fn fill_tells_the_keys() {
        let shape = ClassicShape::for_fpr(10_000, 0.01);
        let fill = 1.0 - (-(7.0 * 10_000.0) / shape.bits as f64).exp();
        assert!((shape.keys_at_fill(fill) - 10_000.0).abs() < 1.0);
        assert!(shape.keys_at_fill(1.0).is_finite());
    }
}
