//! A column for every probe: rates that are exact, also in small filters.

use super::super::classic::ClassicShape;
use super::super::occupancy::over_loads;
use super::{BlockedShape, LINE_BITS};

/// Bits in a column.
const COLUMN_BITS: f64 = 64.0;

/// How the lines of a key lie that has a column for every probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    /// One line of eight columns.
    OneLine,
    /// The first half of one line and the second half of another, four columns each.
    TwoHalves,
    /// Two lines of eight columns, with the same bits in both: one of a pair's first lines, and one of
    /// a pair's second lines.
    TwoLines,
}

impl Columns {
    #[cfg(test)]
    pub(crate) const ALL: [Columns; 3] = [Columns::OneLine, Columns::TwoHalves, Columns::TwoLines];

    /// The one of so many lines per key, and columns in each that hold probes.
    pub(crate) const fn of(lines_per_key: u32, probes_per_line: u32) -> Option<Columns> {
        match (lines_per_key, probes_per_line) {
            (1, 8) => Some(Columns::OneLine),
            (2, 4) => Some(Columns::TwoHalves),
            (2, 8) => Some(Columns::TwoLines),
            _ => None,
        }
    }

    /// Lines per key, and probes in each.
    pub(super) const fn of_key(self) -> (u32, u32) {
        match self {
            Columns::OneLine => (1, 8),
            Columns::TwoHalves => (2, 4),
            Columns::TwoLines => (2, 8),
        }
    }

    /// What a hash chooses between, in lines: an odd number of these.
    pub(super) const fn unit_lines(self) -> u64 {
        match self {
            Columns::OneLine | Columns::TwoHalves => 1,
            Columns::TwoLines => 2,
        }
    }

    /// The largest array of at most so many lines.
    pub(super) fn within(self, lines: u64) -> Option<BlockedShape> {
        let units = lines / self.unit_lines();
        let odd = units.checked_sub(1 - units % 2)?;
        (odd > 0).then(|| BlockedShape::columns(odd * self.unit_lines(), self))
    }

    /// The smallest array that meets the rate.
    pub(super) fn for_fpr(self, keys: u64, fpr: f64) -> BlockedShape {
        let mut rates = Rates::default();
        let lines = |half: u64| (2 * half + 1) * self.unit_lines();
        let mut fits = |half: u64| rates.fpr(self, keys, lines(half)) <= fpr;
        let start = ClassicShape::for_fpr(keys, fpr).bits / LINE_BITS / self.unit_lines();
        let mut high = (start / 2).max(1);
        while !fits(high) && high < 1 << 56 {
            high = high.saturating_mul(2);
        }
        // With a single one, anything that is looked up finds all keys.
        if high == 1 && fits(0) {
            return BlockedShape::columns(lines(0), self);
        }
        let mut low = high / 2;
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if fits(middle) { high = middle } else { low = middle }
        }
        BlockedShape::columns(lines(high), self)
    }

    /// The expected rate when `keys` are in.
    pub(super) fn fpr_at(self, keys: u64, lines: u64) -> f64 {
        Rates::default().fpr(self, keys, lines)
    }
}

/// How full columns are by the number of keys in them, remembered: solving asks again and again.
#[derive(Default)]
struct Rates {
    /// The chance that a bit of a column is set into which so many keys have set one.
    by_load: Vec<f64>,
}

impl Rates {
    fn set(&mut self, load: u64) -> f64 {
        let set = |load: u64| -(load as f64 * (-1.0 / COLUMN_BITS).ln_1p()).exp_m1();
        // Past a few thousand keys a column is full.
        if load >= 4096 {
            return set(load);
        }
        for next in self.by_load.len() as u64..=load {
            self.by_load.push(set(next));
        }
        self.by_load[load as usize]
    }

    /// The chance that as many columns of one place have their bits: each key sets one bit in each of
    /// them, independently of each other, so given the load this is exact.
    fn all_set(&mut self, keys: u64, places: f64, columns: i32) -> f64 {
        over_loads(keys as f64, places, |load| self.set(load).powi(columns))
    }

    fn fpr(&mut self, columns: Columns, keys: u64, lines: u64) -> f64 {
        match columns {
            Columns::OneLine => self.all_set(keys, lines as f64, 8),
            Columns::TwoHalves => self.all_set(keys, lines as f64, 4).powi(2),
            Columns::TwoLines => self.two_lines(keys, (lines / 2) as f64),
        }
    }

    /// Two lines have the same bits of a key, so keys that share both lines with the one looked up
    /// count once. In large filters there are none; in one of 500 keys they cost half of the rate.
    fn two_lines(&mut self, keys: u64, pairs: f64) -> f64 {
        let shared = keys as f64 / (pairs * pairs);
        if shared < 1e-5 {
            return self.all_set(keys, pairs, 8).powi(2);
        }
        // Keys in one of the two lines only are in one of `pairs`, and not in one of its pairs.
        let others = if pairs > 1.0 { pairs * pairs / (pairs - 1.0) } else { f64::INFINITY };
        let squares: [f64; 9] =
            std::array::from_fn(|k| self.all_set(keys, others, k as i32).powi(2));
        // With c shared keys a bit is set in both lines by one of them, or in each by others: the
        // eighth power of 1 - u + u·a·b, whose means in a and b are known.
        const CHOOSE: [f64; 9] = [1.0, 8.0, 28.0, 56.0, 70.0, 56.0, 28.0, 8.0, 1.0];
        over_loads(keys as f64, pairs * pairs, |load| {
            let by_shared = self.set(load);
            let terms = (0..9).map(|k: i32| {
                let by_others = (1.0 - by_shared).powi(k) * squares[k as usize];
                CHOOSE[k as usize] * by_shared.powi(8 - k) * by_others
            });
            terms.sum()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_odd_and_the_smallest_that_keep_the_rate() {
        for columns in Columns::ALL {
            for keys in [1, 3, 10, 50, 500, 2_000, 20_000, 1_000_000] {
                for fpr in [0.05, 0.01, 1e-3, 1e-4, 1e-6] {
                    let shape = columns.for_fpr(keys, fpr);
                    let context = format!("{columns:?} of {keys} keys at {fpr}: {shape}");
                    assert!(shape.is_valid() && shape.fpr_at(keys) <= fpr, "{context}");
                    let smaller = columns.within(shape.lines - 1);
                    assert!(smaller.is_none_or(|shape| shape.fpr_at(keys) > fpr), "{context}");
                }
            }
        }
    }

    /// The exact rate by counting: every way of two keys to fall into a filter of three pairs.
    #[test]
    fn shared_lines_are_counted_once() {
        let got = Columns::TwoLines.fpr_at(1, 6);
        // One key: both lines are its own in one case of nine, and then one mask in 2^48 is set.
        let want = 2f64.powi(-48) / 9.0;
        assert!((got / want - 1.0).abs() < 0.02, "{got} instead of {want}");
        // In a single pair all keys are shared: the rate of one line.
        let (one, pair) = (Columns::OneLine.fpr_at(50, 1), Columns::TwoLines.fpr_at(50, 2));
        assert!((pair / one - 1.0).abs() < 1e-9, "{pair} instead of {one}");
    }
}
