//! 512-bit lines: cheaper to visit than a flat array, a little dearer in bits, because lines
//! fill unevenly. The rate is the mixture over the loads of a line.
//!
//! There are two rules by which a key finds its bits in a line: anywhere (`scattered`), and a column
//! for each probe (`columns`), which costs a few percent more bits and half of the instructions.

mod columns;
mod scattered;

pub(crate) use columns::Columns;

use super::clamp_inputs;
use super::classic::ClassicShape;
use super::plan::Sizing;
use crate::filter::KindSpec;
use crate::spec::{Layouts, Optimize, Spec, SpecError};
use std::fmt;

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
    /// Where in a line they fall.
    pub rule: ProbeRule,
}

/// Where in a line the probes of a key fall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProbeRule {
    /// Each anywhere: the fewest bits.
    Scattered,
    /// Each in a column of its own, 64 bits of the line: the fewest instructions. The number of lines
    /// is odd, or twice an odd number where a key has eight columns in each of two lines.
    Columns,
}

impl ProbeRule {
    /// As it is shown.
    pub const fn name(self) -> &'static str {
        match self {
            ProbeRule::Scattered => "scattered",
            ProbeRule::Columns => "columns",
        }
    }
}

/// A layout that a filter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Columns(Columns),
    /// So many lines per key.
    Scattered(u32),
}

impl Layout {
    /// Those there are, the fastest first; and how much larger than a textbook filter a balanced one
    /// may be for it: inserts into columns take a third of the time, and every line is a cache miss.
    const BY_COST: [(Layout, f64); 7] = [
        (Layout::Columns(Columns::OneLine), 1.075),
        (Layout::Scattered(1), 1.04),
        (Layout::Columns(Columns::TwoHalves), 1.075),
        (Layout::Columns(Columns::TwoLines), 1.075),
        (Layout::Scattered(2), 1.03),
        (Layout::Scattered(3), 1.03),
        (Layout::Scattered(4), 1.03),
    ];

    fn for_fpr(self, keys: u64, fpr: f64) -> BlockedShape {
        match self {
            Layout::Columns(columns) => columns.for_fpr(keys, fpr),
            Layout::Scattered(lines_per_key) => scattered::fewest_lines(keys, fpr, lines_per_key),
        }
    }

    /// The best of at most so many lines.
    fn for_lines(self, keys: u64, lines: u64) -> Option<BlockedShape> {
        match self {
            Layout::Columns(columns) => columns.within(lines),
            Layout::Scattered(lines_per_key) => {
                Some(scattered::best_probes(keys, lines, lines_per_key))
            }
        }
    }
}

/// One line of columns may take so much more memory than a balanced filter, to be chosen for speed.
const SPEED: f64 = 1.10;
/// A further line per key must save this much memory, to be chosen for memory.
const WORTH_A_LINE: f64 = 1.01;

impl BlockedShape {
    /// This many lines, of which a key has `lines_per_key`, each with this many probes, anywhere.
    pub const fn new(lines: u64, lines_per_key: u32, probes_per_line: u32) -> BlockedShape {
        BlockedShape { lines, lines_per_key, probes_per_line, rule: ProbeRule::Scattered }
    }

    /// This many lines, of which a key has `lines_per_key`, in each of which it has this many columns:
    /// one line of 8, two halves of 4 or two lines of 8.
    pub const fn with_columns(lines: u64, lines_per_key: u32, columns: u32) -> BlockedShape {
        let (probes_per_line, rule) = (columns, ProbeRule::Columns);
        BlockedShape { lines, lines_per_key, probes_per_line, rule }
    }

    const fn columns(lines: u64, columns: Columns) -> BlockedShape {
        let (lines_per_key, probes_per_line) = columns.of_key();
        BlockedShape::with_columns(lines, lines_per_key, probes_per_line)
    }

    /// How columns lie, where there are any.
    #[inline]
    pub(crate) const fn layout_of_columns(&self) -> Option<Columns> {
        match self.rule {
            ProbeRule::Columns => Columns::of(self.lines_per_key, self.probes_per_line),
            ProbeRule::Scattered => None,
        }
    }

    /// The array of a filter with this spec. Without columns it is that of
    /// [`for_fpr`](BlockedShape::for_fpr).
    ///
    /// Every layout is sized by the exact rate of its own rule. Balanced is, of those that cost little
    /// more than a textbook filter, the one with the fewest cache lines and instructions: one line of
    /// columns between about 2% and 0.2%, half lines to 0.05%, two lines to 3e-6; above and below,
    /// probes anywhere in one line, or in three or four.
    pub fn for_spec(spec: &Spec) -> BlockedShape {
        BlockedShape::sized(spec.layouts(), spec.capacity(), spec.fpr_of_bits())
    }

    /// The array for `keys` at rate `fpr` with probes anywhere in a line: the fewest lines a key whose
    /// unevenness costs little memory (4% for one line, 3% for two or three), and the k that needs the
    /// fewest bits. That is one line down to about 0.7%, two to 0.02%, three to 3e-6 and four below.
    pub fn for_fpr(keys: u64, fpr: f64) -> BlockedShape {
        BlockedShape::sized(Layouts::default(), keys, fpr)
    }

    pub(crate) fn sized(layouts: Layouts, keys: u64, fpr: f64) -> BlockedShape {
        let (keys, fpr) = clamp_inputs(keys, fpr);
        match layouts {
            Layouts::Scattered => scattered::for_fpr(keys, fpr),
            Layouts::All(Optimize::Balanced) => balanced(keys, fpr),
            Layouts::All(Optimize::Speed) => {
                let balanced = balanced(keys, fpr);
                let one = Columns::OneLine.for_fpr(keys, fpr);
                let most = SPEED * balanced.bits() as f64 + LINE_BITS as f64;
                if one.bits() as f64 <= most { one } else { balanced }
            }
            Layouts::All(Optimize::Memory) => smallest(keys, fpr),
        }
    }

    /// The best use of `bits` bits (whole lines of them) for `keys` keys, with probes anywhere in a line:
    /// the lines a key are those of a filter of that size made to a rate, the probes whatever rates best.
    pub fn for_bits(keys: u64, bits: u64) -> BlockedShape {
        BlockedShape::in_bits(Layouts::default(), keys, bits)
    }

    pub(crate) fn in_bits(layouts: Layouts, keys: u64, bits: u64) -> BlockedShape {
        let lines = (bits / LINE_BITS).max(1);
        let rated = || {
            let shapes = Layout::BY_COST
                .iter()
                .filter_map(move |(layout, limit)| Some((layout.for_lines(keys, lines)?, *limit)));
            shapes.map(|(shape, limit)| (shape, shape.fpr_at(keys), limit))
        };
        let lowest = |most: f64| {
            let best = rated().map(|(_, fpr, _)| fpr).fold(f64::INFINITY, f64::min);
            rated().find(|(_, fpr, _)| *fpr <= most * best)
        };
        // The rate of a textbook filter of so much less memory: what balanced allows.
        let allowed = |limit: f64| {
            let bits = ((lines * LINE_BITS - LINE_BITS.min(lines)) as f64 / limit) as u64;
            ClassicShape::for_bits(keys, bits.max(1)).fpr_at(keys)
        };
        let balanced = || rated().find(|(_, fpr, limit)| *fpr <= allowed(*limit));
        let found = match layouts {
            Layouts::Scattered => return scattered::for_bits(keys, bits),
            Layouts::All(Optimize::Balanced) => balanced(),
            Layouts::All(Optimize::Speed) => {
                let one = rated().next().filter(|(_, fpr, _)| *fpr <= allowed(1.05 * SPEED));
                one.or_else(balanced)
            }
            Layouts::All(Optimize::Memory) => lowest(1.05),
        };
        found.or_else(|| lowest(1.0)).map_or(BlockedShape::new(lines, 1, 1), |(shape, ..)| shape)
    }

    /// Whether a filter can have this shape.
    pub fn is_valid(&self) -> bool {
        match self.rule {
            ProbeRule::Scattered => {
                self.lines >= 1
                    && (1..=MAX_LINES_PER_KEY).contains(&self.lines_per_key)
                    && (1..=MAX_PROBES_PER_LINE).contains(&self.probes_per_line)
            }
            ProbeRule::Columns => self.layout_of_columns().is_some() && self.is_odd(),
        }
    }

    /// Whether the lines are as many as a rule can have. With columns the fraction of a product with
    /// their number chooses the bits: had it a factor of two, fewer of its bits would be left.
    pub(crate) fn is_odd(&self) -> bool {
        self.layout_of_columns().is_none_or(|columns| {
            let unit = columns.unit_lines();
            self.lines.is_multiple_of(unit) && !(self.lines / unit).is_multiple_of(2)
        })
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
        if let Some(columns) = self.layout_of_columns() {
            return columns.fpr_at(keys, self.lines);
        }
        let mut line = scattered::Line::new(self.probes_per_line);
        line.fpr(keys, self.lines, self.lines_per_key)
    }
}

/// The first of the layouts that is small enough, or else the smallest.
fn balanced(keys: u64, fpr: f64) -> BlockedShape {
    let classic = ClassicShape::for_fpr(keys, fpr).bits as f64;
    // An array is whole lines: tiny ones would never meet a percentage.
    let slack = LINE_BITS as f64;
    let mut best: Option<BlockedShape> = None;
    for (layout, limit) in Layout::BY_COST {
        let shape = layout.for_fpr(keys, fpr);
        if shape.bits() as f64 <= limit * classic + slack {
            return shape;
        }
        if best.is_none_or(|best| shape.bits() < best.bits()) {
            best = Some(shape);
        }
    }
    best.unwrap_or(BlockedShape::new(1, 1, 1))
}

/// The smallest, but that a further line per key must be worth it.
fn smallest(keys: u64, fpr: f64) -> BlockedShape {
    let shapes = Layout::BY_COST.map(|(layout, _)| layout.for_fpr(keys, fpr));
    let least = shapes.iter().map(BlockedShape::bits).min().unwrap_or(LINE_BITS) as f64;
    let mut small = shapes.into_iter().filter(|shape| shape.bits() as f64 <= WORTH_A_LINE * least);
    let first = small.next().unwrap_or(shapes[0]);
    // Of those with as few lines, the smallest.
    let alike = small.filter(|shape| shape.lines_per_key == first.lines_per_key);
    alike.chain([first]).min_by_key(BlockedShape::bits).unwrap_or(first)
}

impl fmt::Display for BlockedShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BlockedShape { lines, lines_per_key, probes_per_line, rule } = self;
        let what = match rule {
            ProbeRule::Scattered => "probes",
            ProbeRule::Columns => "columns",
        };
        write!(f, "{lines} lines, {lines_per_key} per key with {probes_per_line} {what} each")
    }
}

impl Sizing for BlockedShape {
    fn for_spec(_: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        Ok(BlockedShape::for_spec(spec))
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
        let balanced = Layouts::All(Optimize::Balanced);
        BlockedShape::sized(balanced, keys, fpr).bits() as f64 / keys as f64
    }

    #[test]
    fn unevenness_costs_little_memory() {
        let keys = 10_000_000;
        let limits = [
            (Optimize::Balanced, [1.02, 1.055, 1.055, 1.055, 1.03]),
            (Optimize::Memory, [1.02, 1.02, 1.02, 1.02, 1.03]),
            (Optimize::Speed, [1.02, 1.055, 1.10, 1.055, 1.03]),
        ];
        for (optimize, limits) in limits {
            for (fpr, limit) in [0.05, 0.01, 1e-3, 1e-4, 1e-6].into_iter().zip(limits) {
                let classic = ClassicShape::for_fpr(keys, fpr).bits as f64;
                let shape = BlockedShape::sized(Layouts::All(optimize), keys, fpr);
                let ratio = shape.bits() as f64 / classic;
                assert!(ratio < limit, "{optimize:?} at {fpr}: {ratio}, {shape}");
            }
        }
    }

    #[test]
    fn tighter_targets_take_more_lines() {
        let lines = |layouts| move |fpr| BlockedShape::sized(layouts, 1_000_000, fpr).lines_per_key;
        let rates = [0.05, 0.01, 0.001, 1e-4, 1e-9];
        assert_eq!(rates.map(lines(Layouts::default())), [1, 1, 2, 3, 4]);
        assert_eq!(rates.map(lines(Layouts::All(Optimize::Balanced))), [1, 1, 2, 2, 4]);
        let of_speed = |fpr| {
            let shape = BlockedShape::sized(Layouts::All(Optimize::Speed), 1_000_000, fpr);
            (shape.lines_per_key, shape.rule)
        };
        let one = (1, ProbeRule::Columns);
        assert_eq!([0.04, 0.01, 0.001, 3e-4].map(of_speed), [one; 4]);
        assert_eq!(of_speed(1e-4).0, 2);
    }

    #[test]
    fn bits_per_key_are_those_of_the_layouts() {
        let balanced = [(0.01, 10.10), (0.001, 15.09), (1e-4, 20.20)];
        for (fpr, want) in balanced {
            let bits = bits_a_key(10_000_000, fpr);
            assert!((bits - want).abs() < 0.006, "{bits} at {fpr}");
        }
        let first = BlockedShape::sized(Layouts::Scattered, 10_000_000, 0.01);
        assert!((first.bits() as f64 / 1e7 - 9.918).abs() < 0.003);
    }

    /// Layers of a window that was made before there were columns are alike, also those to come.
    #[test]
    fn layouts_of_the_first_rule_are_chosen_as_ever() {
        let as_ever = [
            (1_000_000, 0.05, (12_342, 1, 4)),
            (1_000_000, 0.01, (19_371, 1, 6)),
            (5_000, 0.001, (143, 2, 5)),
        ];
        for (keys, fpr, want) in as_ever {
            let shape = BlockedShape::sized(Layouts::Scattered, keys, fpr);
            let got = (shape.lines, shape.lines_per_key, shape.probes_per_line);
            assert_eq!((got, shape.rule), (want, ProbeRule::Scattered), "{fpr}");
        }
    }

    #[test]
    fn memory_buys_the_rate_that_would_have_asked_for_it() {
        for optimize in [Optimize::Balanced, Optimize::Speed, Optimize::Memory] {
            for fpr in [0.2, 0.05, 0.01, 0.003, 1e-3, 1e-4, 1e-6] {
                let layouts = Layouts::All(optimize);
                let asked = BlockedShape::sized(layouts, 1_000_000, fpr);
                let given = BlockedShape::in_bits(layouts, 1_000_000, asked.bits());
                assert!(given.bits() <= asked.bits(), "{optimize:?} at {fpr}: {given}");
                let rate = given.fpr_at(1_000_000);
                assert!(rate <= 1.06 * fpr, "{optimize:?} at {fpr}: {rate} with {given}");
            }
        }
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
