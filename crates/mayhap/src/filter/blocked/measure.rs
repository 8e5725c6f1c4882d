//! What the bits tell: fill, keys, and the false-positive rate as they stand.

use crate::kernel::{Line, vectorized};
use crate::sizing::{BlockedShape, Columns, LINE_BITS, ProbeRule, collision_rate};

/// Bits in a column.
const COLUMN_BITS: f64 = 64.0;
/// Up to so many pairs of lines the rate is worked out for each first line with each second one.
const PAIRS_TRIED: usize = 256;

/// Sums over lines, which add up where an array is looked at in pieces.
#[derive(Clone, Debug)]
pub(in crate::filter) struct Measured {
    shape: BlockedShape,
    lines: u64,
    ones: u64,
    /// Keys in all lines: those of a key's first lines, and of its second ones where they differ.
    keys: [f64; 2],
    /// The sum over all lines of the chance that a key passes there, of first and second lines.
    pass: [f64; 2],
    /// The rate, where it was found by looking at every two lines together.
    together: Option<f64>,
}

impl Measured {
    pub(in crate::filter) fn of(shape: BlockedShape, lines: &[Line]) -> Measured {
        let mut measured = Measured::nothing(shape);
        measured.add(lines);
        if shape.layout_of_columns() == Some(Columns::TwoLines) && lines.len() <= 2 * PAIRS_TRIED {
            measured.together = Some(pairs_pass(lines));
        }
        measured
    }

    /// Nothing looked at yet.
    pub(in crate::filter) fn nothing(shape: BlockedShape) -> Measured {
        let (keys, pass) = ([0.0; 2], [0.0; 2]);
        Measured { shape, lines: 0, ones: 0, keys, pass, together: None }
    }

    /// Look at some more lines, of which those before were an even number.
    pub(in crate::filter) fn add(&mut self, lines: &[Line]) {
        self.lines += lines.len() as u64;
        match self.shape.layout_of_columns() {
            Some(columns) => self.add_columns(columns, lines),
            None => self.add_scattered(lines),
        }
    }

    fn add_scattered(&mut self, lines: &[Line]) {
        // Counted first: there are far more lines than numbers of bits.
        let mut count = [0u64; LINE_BITS as usize + 1];
        vectorized(|| {
            for line in lines {
                count[words(line).iter().map(|word| word.count_ones()).sum::<u32>() as usize] += 1;
            }
        });
        let shape = self.shape;
        for (ones, lines) in (0u32..).zip(count).filter(|(_, lines)| *lines > 0) {
            let (lines, full) = (lines as f64, f64::from(ones) / LINE_BITS as f64);
            let probes = keys_of(f64::from(ones), LINE_BITS as f64);
            self.ones += u64::from(ones) * lines as u64;
            self.keys[0] += lines * probes / f64::from(shape.probes());
            self.pass[0] += lines * full.powi(shape.probes_per_line as i32);
        }
    }

    fn add_columns(&mut self, columns: Columns, lines: &[Line]) {
        // Products and sums over the columns of each half line. A load is found once for each number
        // of bits in four or eight columns.
        let mut halves = [[0u64; 257]; 2];
        let mut whole = [[0u64; LINE_BITS as usize + 1]; 2];
        let mut pass = [0.0; 2];
        vectorized(|| {
            for (at, line) in lines.iter().enumerate() {
                let ones = words(line).map(u64::count_ones);
                let (first, second) = ones.split_at(4);
                let [low, high] = [first, second].map(|half| half.iter().sum::<u32>() as usize);
                let [a, b] = [first, second]
                    .map(|half| half.iter().map(|ones| u64::from(*ones)).product::<u64>() as f64);
                halves[0][low] += 1;
                halves[1][high] += 1;
                whole[at % 2][low + high] += 1;
                match columns {
                    Columns::OneLine => pass[0] += a * b,
                    Columns::TwoHalves => {
                        pass[0] += a;
                        pass[1] += b;
                    }
                    Columns::TwoLines => pass[at % 2] += a * b,
                }
            }
        });
        let columns_per_line = if columns == Columns::TwoHalves { 4 } else { 8 };
        for (sum, pass) in self.pass.iter_mut().zip(pass) {
            *sum += pass / COLUMN_BITS.powi(columns_per_line);
        }
        let keys = |counts: &[u64]| {
            let columns = (counts.len() - 1) as f64 / COLUMN_BITS;
            let each = (0u32..).zip(counts).filter(|(_, lines)| **lines > 0);
            let keys = |ones: u32| keys_of(f64::from(ones) / columns, COLUMN_BITS);
            each.map(|(ones, lines)| *lines as f64 * keys(ones)).sum::<f64>()
        };
        self.ones += (0u64..).zip(halves[0]).map(|(ones, lines)| ones * lines).sum::<u64>()
            + (0u64..).zip(halves[1]).map(|(ones, lines)| ones * lines).sum::<u64>();
        let found = match columns {
            Columns::OneLine => [keys(&whole[0]) + keys(&whole[1]), 0.0],
            Columns::TwoHalves => [keys(&halves[0]), keys(&halves[1])],
            Columns::TwoLines => [keys(&whole[0]), keys(&whole[1])],
        };
        for (sum, found) in self.keys.iter_mut().zip(found) {
            *sum += found;
        }
    }

    /// The share of bits that are set.
    pub(in crate::filter) fn fill(&self) -> f64 {
        self.ones as f64 / (self.lines.max(1) * LINE_BITS) as f64
    }

    /// Distinct keys.
    pub(in crate::filter) fn keys(&self) -> f64 {
        match self.shape.layout_of_columns() {
            // Every key is in both kinds of places.
            Some(Columns::TwoHalves | Columns::TwoLines) => (self.keys[0] + self.keys[1]) / 2.0,
            _ => self.keys[0],
        }
    }

    /// The rate at which absent keys pass.
    pub(in crate::filter) fn fpr(&self) -> f64 {
        let lines = self.lines.max(1) as f64;
        let mean = |pass: f64, places: f64| pass / places;
        let by_bits = match self.shape.layout_of_columns() {
            None => mean(self.pass[0], lines).powi(self.shape.lines_per_key as i32),
            Some(Columns::OneLine) => mean(self.pass[0], lines),
            Some(Columns::TwoHalves) => mean(self.pass[0], lines) * mean(self.pass[1], lines),
            Some(Columns::TwoLines) => self.together.unwrap_or_else(|| {
                mean(self.pass[0], lines / 2.0) * mean(self.pass[1], lines / 2.0)
            }),
        };
        match self.shape.rule {
            ProbeRule::Scattered => by_bits,
            ProbeRule::Columns => (by_bits + collision_rate(self.keys().round() as u64)).min(1.0),
        }
    }
}

/// The rate over all pairs of a first and a second line: both are looked up for the same bits, and in
/// small filters keys share both.
fn pairs_pass(lines: &[Line]) -> f64 {
    let (pairs, _) = lines.as_chunks::<2>();
    let mut sum = 0.0;
    vectorized(|| {
        for [first, _] in pairs {
            let first = words(first);
            for [_, second] in pairs {
                let second = words(second);
                let both = first.iter().zip(&second).map(|(a, b)| u64::from((a & b).count_ones()));
                sum += both.product::<u64>() as f64;
            }
        }
    });
    sum / COLUMN_BITS.powi(8) / (pairs.len().max(1) as f64).powi(2)
}

#[inline(always)]
fn words(line: &Line) -> [u64; 8] {
    let (words, _) = line.as_chunks();
    std::array::from_fn(|i| u64::from_ne_bytes(words[i]))
}

/// The balls that leave so many of these bins taken. Full bins say only "many": half a bin short of it is
/// as much as can be told.
fn keys_of(taken: f64, bins: f64) -> f64 {
    let clear = (bins - taken).max(0.5) / bins;
    clear.ln() / (-1.0 / bins).ln_1p()
}
