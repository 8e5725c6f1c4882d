//! 512-bit lines: cheaper to visit than a flat array, a little dearer in bits, because lines
//! fill unevenly. The rate is the mixture over the loads of a line.

use super::clamp_inputs;
use super::classic::ClassicShape;
use super::occupancy::{all_set, over_loads};
use super::plan::Sizing;
use crate::filter::KindSpec;
use crate::spec::{Spec, SpecError};

/// Bits in a line: one cache line of nearly every machine.
pub const LINE_BITS: u64 = 512;
/// The most lines a key may touch.
pub const MAX_LINES_PER_KEY: u32 = 4;
/// The most probes a key may make in one line.
pub const MAX_PROBES_PER_LINE: u32 = 16;

/// Lines of 512 bits; each key probes one line, or several where the target is tight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockedShape {
    /// Lines in the array.
    pub lines: u64,
    /// Lines each key touches, 1 to 4.
    pub lines_per_key: u32,
    /// Probes in each of them, 1 to 16.
    pub probes_per_line: u32,
}

impl BlockedShape {
    /// This many lines, of which a key has `lines_per_key`, each with this many probes.
    pub const fn new(lines: u64, lines_per_key: u32, probes_per_line: u32) -> BlockedShape {
        BlockedShape { lines, lines_per_key, probes_per_line }
    }

    /// The array for `keys` at rate `fpr`: the fewest lines a key whose unevenness costs little
    /// memory (4% for one line, 3% for two or three), and the k that needs the fewest bits.
    ///
    /// That is one line down to about 0.7%, two to 0.02%, three to 3e-6 and four below.
    pub fn for_fpr(keys: u64, fpr: f64) -> BlockedShape {
        let (keys, fpr) = clamp_inputs(keys, fpr);
        let classic = ClassicShape::for_fpr(keys, fpr).bits as f64;
        // An array is whole lines: tiny ones would never meet a percentage.
        let slack = LINE_BITS as f64;
        let mut best = None;
        for lines_per_key in 1..=MAX_LINES_PER_KEY {
            let shape = fewest_lines(keys, fpr, lines_per_key);
            let limit = if lines_per_key == 1 { 1.04 } else { 1.03 };
            if shape.bits() as f64 <= limit * classic + slack {
                return shape;
            }
            best = Some(match best {
                Some(other) if BlockedShape::bits(&other) <= shape.bits() => other,
                _ => shape,
            });
        }
        best.unwrap_or(BlockedShape { lines: 1, lines_per_key: 1, probes_per_line: 1 })
    }

    /// The best use of `bits` bits (whole lines of them) for `keys` keys: the lines a key are
    /// those of a filter of that size made to a rate, the probes whatever rates best.
    pub fn for_bits(keys: u64, bits: u64) -> BlockedShape {
        let lines = (bits / LINE_BITS).max(1);
        let rate = ClassicShape::for_bits(keys, lines * LINE_BITS).fpr_at(keys);
        let lines_per_key = match rate {
            0.0065.. => 1,
            1.7e-4.. => 2,
            2e-6.. => 3,
            _ => 4,
        };
        (1..=MAX_PROBES_PER_LINE)
            .map(|probes_per_line| BlockedShape { lines, lines_per_key, probes_per_line })
            .map(|shape| (shape.fpr_at(keys), shape))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map_or(BlockedShape { lines, lines_per_key, probes_per_line: 1 }, |best| best.1)
    }

    /// Whether a filter can have this shape.
    pub fn is_valid(&self) -> bool {
        self.lines >= 1
            && (1..=MAX_LINES_PER_KEY).contains(&self.lines_per_key)
            && (1..=MAX_PROBES_PER_LINE).contains(&self.probes_per_line)
    }

    /// Bits in the array.
    pub fn bits(&self) -> u64 {
        self.lines.saturating_mul(LINE_BITS)
    }

    /// Probes a key, over all its lines.
    pub fn probes(&self) -> u32 {
        self.lines_per_key.saturating_mul(self.probes_per_line)
    }

    /// The expected rate when `keys` are in.
    pub fn fpr_at(&self, keys: u64) -> f64 {
        let mut line = Line::new(self.probes_per_line);
        line.fpr(keys, self.lines, self.lines_per_key)
    }
}

/// The smallest array that meets the rate with so many lines a key.
fn fewest_lines(keys: u64, fpr: f64, lines_per_key: u32) -> BlockedShape {
    let classic = ClassicShape::for_fpr(keys, fpr);
    let ideal = (classic.probes / lines_per_key).clamp(1, MAX_PROBES_PER_LINE);
    // Uneven lines want slightly fewer probes than even ones; the best k lies near.
    let candidates = ideal.saturating_sub(2).max(1)..=(ideal + 1).min(MAX_PROBES_PER_LINE);
    let mut best: Option<BlockedShape> = None;
    for probes_per_line in candidates {
        let mut line = Line::new(probes_per_line);
        let mut high = (classic.bits / LINE_BITS).max(1);
        while line.fpr(keys, high, lines_per_key) > fpr {
            high = high.saturating_mul(2);
            if high > 1 << 60 {
                break;
            }
        }
        let mut low = high / 2;
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if line.fpr(keys, middle, lines_per_key) > fpr { low = middle } else { high = middle }
        }
        let shape = BlockedShape { lines: high, lines_per_key, probes_per_line };
        if best.is_none_or(|best| shape.lines < best.lines) {
            best = Some(shape);
        }
    }
    best.unwrap_or(BlockedShape { lines: 1, lines_per_key, probes_per_line: 1 })
}

/// The rate in a line by the number of keys in it, remembered: solving asks again and again.
struct Line {
    probes: u32,
    by_load: Vec<f64>,
}

impl Line {
    fn new(probes: u32) -> Line {
        Line { probes, by_load: Vec::new() }
    }

    fn at_load(&mut self, load: u64) -> f64 {
        // Past a few thousand keys a line is full; do not remember what nobody will need.
        let balls = |load: u64| load as f64 * f64::from(self.probes);
        if load >= 4096 {
            return all_set(LINE_BITS as f64, balls(load), self.probes);
        }
        for next in self.by_load.len() as u64..=load {
            self.by_load.push(all_set(LINE_BITS as f64, balls(next), self.probes));
        }
        self.by_load[load as usize]
    }

    /// All lines of a key must agree, and their loads are as good as independent.
    fn fpr(&mut self, keys: u64, lines: u64, lines_per_key: u32) -> f64 {
        let balls = keys as f64 * f64::from(lines_per_key);
        let one = over_loads(balls, lines as f64, |load| self.at_load(load));
        one.powi(lines_per_key as i32)
    }
}

impl Sizing for BlockedShape {
    fn for_spec(_: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        Ok(BlockedShape::for_fpr(spec.capacity(), spec.fpr_of_bits()))
    }

    fn in_bits(_: &KindSpec, keys: u64, bits: u64) -> Option<Self> {
        (bits >= LINE_BITS).then(|| BlockedShape::for_bits(keys, bits))
    }

    fn bits(&self, _: u64) -> u64 {
        self.bits()
    }

    fn probes(&self) -> u32 {
        self.probes()
    }

    fn lines(&self) -> u32 {
        self.lines_per_key
    }

    fn bits_fpr(&self, keys: u64) -> f64 {
        self.fpr_at(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits_a_key(keys: u64, fpr: f64) -> f64 {
        BlockedShape::for_fpr(keys, fpr).bits() as f64 / keys as f64
    }

    #[test]
    fn unevenness_costs_little_memory() {
        let keys = 10_000_000;
        for (fpr, limit) in [(0.05, 1.02), (0.01, 1.045), (0.001, 1.03), (1e-4, 1.03), (1e-6, 1.03)]
        {
            let classic = ClassicShape::for_fpr(keys, fpr).bits as f64 / keys as f64;
            let ratio = bits_a_key(keys, fpr) / classic;
            assert!(ratio < limit, "{fpr}: {ratio}");
        }
    }

    #[test]
    fn tighter_targets_take_more_lines() {
        let lines = |fpr| BlockedShape::for_fpr(1_000_000, fpr).lines_per_key;
        assert_eq!([0.05, 0.01, 0.001, 1e-4, 1e-9].map(lines), [1, 1, 2, 3, 4]);
    }

    #[test]
    fn one_percent_costs_9_92_bits() {
        assert!((bits_a_key(10_000_000, 0.01) - 9.918).abs() < 0.003);
    }

    #[test]
    fn memory_given_is_memory_used() {
        let shape = BlockedShape::for_bits(2_000_000_000, 4_000_000_000);
        assert_eq!((shape.bits(), shape.probes()), (4_000_000_000, 1));
        let rate = shape.fpr_at(2_000_000_000);
        assert!((0.393..0.40).contains(&rate), "{rate}");
    }

    #[test]
    fn nonsense_is_answered_with_something() {
        for keys in [0, u64::MAX] {
            for fpr in [0.0, -1.0, 1.0, 2.0, f64::NAN, f64::INFINITY, 1e-300] {
                assert!(BlockedShape::for_fpr(keys, fpr).is_valid(), "{keys} keys at {fpr}");
            }
            assert!(BlockedShape::for_bits(keys, 0).is_valid());
            assert!(BlockedShape::for_bits(keys, u64::MAX).is_valid());
        }
    }

    #[test]
    fn extremes_are_answered() {
        for keys in [0, 1, 2, 1 << 48] {
            for fpr in [0.999, 0.5, 1e-3, 1e-12] {
                let shape = BlockedShape::for_fpr(keys, fpr);
                let rate = shape.fpr_at(keys);
                assert!(rate <= fpr * 1.000001, "{keys} keys at {fpr}: {shape:?} {rate}");
            }
        }
        assert!(BlockedShape::for_fpr(100, 0.01).fpr_at(u64::MAX) > 0.999);
    }
}
