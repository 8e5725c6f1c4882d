//! Probes anywhere in a line: the first rule, and the smallest one.

use super::super::classic::ClassicShape;
use super::super::occupancy::{all_set, over_loads};
use super::{BlockedShape, LINE_BITS, MAX_LINES_PER_KEY, MAX_PROBES_PER_LINE};

/// The shape as it was chosen before there were columns: the fewest lines a key whose unevenness
/// costs little memory (4% for one line, 3% for two or three), and the k that needs the fewest bits.
/// One line down to about 0.7%, two to 0.02%, three to 3e-6 and four below.
///
/// Frozen: the layers of a window that was made then are alike, also those that are yet to come.
pub(super) fn for_fpr(keys: u64, fpr: f64) -> BlockedShape {
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
    best.unwrap_or(BlockedShape::new(1, 1, 1))
}

/// The best use of `bits` bits, likewise: the lines a key are those of a filter of that size made to a
/// rate, the probes whatever rates best.
pub(super) fn for_bits(keys: u64, bits: u64) -> BlockedShape {
    let lines = (bits / LINE_BITS).max(1);
    let rate = ClassicShape::for_bits(keys, lines * LINE_BITS).fpr_at(keys);
    let lines_per_key = match rate {
        0.0065.. => 1,
        1.7e-4.. => 2,
        2e-6.. => 3,
        _ => 4,
    };
    best_probes(keys, lines, lines_per_key)
}

/// The number of probes that rates best.
pub(super) fn best_probes(keys: u64, lines: u64, lines_per_key: u32) -> BlockedShape {
    (1..=MAX_PROBES_PER_LINE)
        .map(|probes_per_line| BlockedShape::new(lines, lines_per_key, probes_per_line))
        .map(|shape| (shape.fpr_at(keys), shape))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(BlockedShape::new(lines, lines_per_key, 1), |best| best.1)
}

/// The smallest array that meets the rate with so many lines a key.
pub(super) fn fewest_lines(keys: u64, fpr: f64, lines_per_key: u32) -> BlockedShape {
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
        let shape = BlockedShape::new(high, lines_per_key, probes_per_line);
        if best.is_none_or(|best| shape.lines < best.lines) {
            best = Some(shape);
        }
    }
    best.unwrap_or(BlockedShape::new(1, lines_per_key, 1))
}

/// The rate in a line by the number of keys in it, remembered: solving asks again and again.
pub(super) struct Line {
    probes: u32,
    by_load: Vec<f64>,
}

impl Line {
    pub(super) fn new(probes: u32) -> Line {
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
    pub(super) fn fpr(&mut self, keys: u64, lines: u64, lines_per_key: u32) -> f64 {
        let balls = keys as f64 * f64::from(lines_per_key);
        let one = over_loads(balls, lines as f64, |load| self.at_load(load));
        one.powi(lines_per_key as i32)
    }
}
