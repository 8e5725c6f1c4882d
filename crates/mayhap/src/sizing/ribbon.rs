//! Bumped ribbon retrieval: each key is one linear equation over 64 neighbouring slots, and the
//! solution is the filter. There are hardly more slots than keys, so a filter takes about
//! log2(1/fpr) bits per key: the information bound.
//!
//! A slot has as many bits as the filter has columns. Any real rate is met by giving a share of
//! the slots one column more.

use super::collision_rate;
use super::plan::Sizing;
use crate::filter::KindSpec;
use crate::spec::{Spec, SpecError};

/// The most columns: bits of the fingerprint that a key's equation must make.
pub const MAX_COLUMNS: u32 = 32;
/// Slots in a block: one byte per column.
pub(crate) const BLOCK_SLOTS: u64 = 8;
/// The most layers of a shard. Each takes what the one before it bumped, about a twenty-fifth.
pub(crate) const MAX_LAYERS: usize = 6;
/// A shard's record in the directory.
pub(crate) const RIBBON_RECORD: u64 = 40;
/// Bytes behind the last block: kernels load whole vectors.
pub(crate) const RIBBON_PADDING: u64 = 32;
/// Keys in a shard: few enough that its equations stay in the second-level cache, so many that
/// records and the ends of strips cost next to nothing.
const SHARD_KEYS: u64 = 500_000;
/// Layers of at most this many keys have slack instead, and one strip.
const SMALL_LAYER: u64 = 2_500;

/// How far equations reach, and how keys are bumped. Frozen: files depend on it.
pub(crate) trait Layout: Copy {
    /// Blocks that a key's equation covers.
    const WINDOW: u64;
    /// Blocks of starts that share a threshold.
    const BUCKET: u64;
    /// What the two bits of a threshold mean: keys that start in this many first blocks of the
    /// bucket are bumped to the next layer.
    const THRESHOLDS: [u64; 4];
    /// Keys per slot in a layer that may bump: more than fit, so that nearly no slot stays empty.
    const LOAD: f64;
    /// The share of slots that stay empty in a large layer. Measured.
    const EMPTY: f64;
}

/// Equations over 64 slots: thresholds cost 1/64 of a bit per slot, little beside several columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots64;

impl Layout for Slots64 {
    const WINDOW: u64 = 8;
    const BUCKET: u64 = 16;
    const THRESHOLDS: [u64; 4] = [0, 2, 4, 16];
    const LOAD: f64 = 1.04;
    const EMPTY: f64 = 0.0012;
}

/// Equations over 128 slots, for one column: wider equations bump fewer keys, so that buckets can be
/// four times as large and thresholds cost 1/256 of a bit per slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots128;

impl Layout for Slots128 {
    const WINDOW: u64 = 16;
    const BUCKET: u64 = 64;
    const THRESHOLDS: [u64; 4] = [0, 5, 14, 64];
    const LOAD: f64 = 1.025;
    const EMPTY: f64 = 0.001;
}

/// A ribbon filter: `keys` equations, each over `columns` columns or one more.
///
/// ```
/// use mayhap::sizing::RibbonShape;
/// let shape = RibbonShape::for_fpr(10_000_000, 0.01).unwrap();
/// assert_eq!(shape.columns, 6); // 2⁻⁶ is 1.56%, so most slots have a seventh
/// let bits_per_key = shape.bits() as f64 / 1e7;
/// assert!((6.70..6.76).contains(&bits_per_key), "{bits_per_key}"); // log2(100) is 6.64
/// assert!(RibbonShape::for_fpr(10_000_000, 1e-10).is_none()); // beyond 32 bits
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RibbonShape {
    /// Distinct keys.
    pub keys: u64,
    /// Columns of every slot, 1 to 32.
    pub columns: u32,
    /// The share of slots with one column more, in units of 2⁻³².
    pub wide: u32,
}

impl RibbonShape {
    /// The fewest bits that meet the rate, the collisions of the hashes included. `None` where 32
    /// columns are not enough. Rates above 50% cost what 50% costs.
    pub fn for_fpr(keys: u64, fpr: f64) -> Option<RibbonShape> {
        let bits_fpr = (fpr - collision_rate(keys)).min(0.5);
        if fpr.is_nan() || bits_fpr < 0.5f64.powi(MAX_COLUMNS as i32) {
            return None;
        }
        let columns = (-bits_fpr.log2()).floor().clamp(1.0, MAX_COLUMNS.into()) as u32;
        // (1 - share) 2⁻ᶜ + share 2⁻ᶜ⁻¹ is the rate.
        let share = 2.0 * (1.0 - bits_fpr * 2f64.powi(columns as i32));
        let wide = (share.clamp(0.0, 1.0) * 2f64.powi(32)).ceil() as u64;
        Some(match u32::try_from(wide) {
            Ok(0) => RibbonShape { keys, columns, wide: 0 },
            Ok(wide) if columns < MAX_COLUMNS => RibbonShape { keys, columns, wide },
            _ => RibbonShape { keys, columns: (columns + 1).min(MAX_COLUMNS), wide: 0 },
        })
    }

    /// The best rate in this many bits; `None` where one column is too much.
    pub fn for_bits(keys: u64, bits: u64) -> Option<RibbonShape> {
        let fits = |columns, wide| {
            let shape = RibbonShape { keys, columns, wide };
            (shape.bits() <= bits).then_some(shape)
        };
        let columns = (1..=MAX_COLUMNS).rev().find(|columns| fits(*columns, 0).is_some())?;
        let mut best = fits(columns, 0)?;
        if columns == MAX_COLUMNS {
            return Some(best);
        }
        for bit in (0..32).rev() {
            if let Some(wider) = fits(columns, best.wide | 1 << bit) {
                best = wider;
            }
        }
        Some(best)
    }

    /// The rate: that of the columns, and of the 64-bit hashes behind them.
    pub fn fpr(&self) -> f64 {
        let share = f64::from(self.wide) / 2f64.powi(32);
        0.5f64.powi(self.columns as i32) * (1.0 - share / 2.0) + collision_rate(self.keys)
    }

    /// Shards the filter is cut into: one, or an even number, since two are built side by side.
    pub fn shards(&self) -> u64 {
        shards_for(self.keys)
    }

    /// The expected size with everything around the columns, in bits.
    pub fn bits(&self) -> u64 {
        expected_bits::<Slots64>(self.keys, self.columns, self.wide)
    }
}

/// Shards of a filter of this many keys: one, or an even number, since two are built side by side.
pub(crate) fn shards_for(keys: u64) -> u64 {
    let shards = keys / SHARD_KEYS;
    if shards < 2 { 1 } else { shards & !1 }
}

/// The expected size of a filter in bits.
pub(crate) fn expected_bits<L: Layout>(keys: u64, columns: u32, wide: u32) -> u64 {
    let shards = shards_for(keys);
    let shard = shard_bytes::<L>(keys.div_ceil(shards), columns, wide);
    let around = shards.saturating_mul(RIBBON_RECORD).saturating_add(RIBBON_PADDING);
    shard.saturating_mul(shards).saturating_add(around).saturating_mul(8)
}

/// The expected bytes of a shard of this many keys, its layers together.
fn shard_bytes<L: Layout>(keys: u64, columns: u32, wide: u32) -> u64 {
    let (mut keys, mut bytes) = (keys, 0u64);
    for _ in 0..MAX_LAYERS {
        if keys == 0 {
            break;
        }
        let layer = LayerShape::for_keys::<L>(keys, wide);
        bytes = bytes.saturating_add(layer.bytes::<L>(columns));
        if keys <= SMALL_LAYER {
            break;
        }
        let slots = (layer.blocks::<L>() * BLOCK_SLOTS) as f64;
        keys = keys.saturating_sub((slots * (1.0 - L::EMPTY)) as u64);
    }
    bytes
}

/// One bit for each key of two lists, that tells which it is from: equations over 128 slots of one
/// column.
///
/// ```
/// use mayhap::sizing::ExactShape;
/// let bits_per_key = ExactShape { keys: 10_000_000 }.bits() as f64 / 1e7;
/// assert!((1.0..1.006).contains(&bits_per_key), "{bits_per_key}");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactShape {
    /// Keys of both lists.
    pub keys: u64,
}

impl ExactShape {
    /// The expected size with everything around the column, in bits.
    pub fn bits(&self) -> u64 {
        expected_bits::<Slots128>(self.keys, 1, 0)
    }
}

/// One layer of a shard: where its keys may start, and how its blocks are laid out. The first
/// strip has blocks of `columns` bytes, the second, from start `split` on, one byte more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayerShape {
    /// Blocks in which a key's equation may start.
    pub starts: u64,
    /// The first start of the second strip.
    pub split: u64,
}

impl LayerShape {
    /// The layer for this many keys.
    pub fn for_keys<L: Layout>(keys: u64, wide: u32) -> LayerShape {
        let tail = (L::WINDOW - 1) * BLOCK_SLOTS;
        if keys <= SMALL_LAYER {
            // Slack, so that a small layer rarely bumps.
            let slots = keys + keys / 8 + 16;
            let least = keys / 2 + BLOCK_SLOTS;
            let starts = slots.saturating_sub(tail).max(least);
            return LayerShape::small(starts.div_ceil(BLOCK_SLOTS), wide);
        }
        let strips = if wide == 0 { 1 } else { 2 };
        let slots = (keys as f64 / L::LOAD) as u64;
        let starts = slots.div_ceil(BLOCK_SLOTS).saturating_sub(strips * (L::WINDOW - 1));
        LayerShape::large(starts, wide)
    }

    /// A layer of one strip: all of its blocks are wide where any are.
    pub fn small(starts: u64, wide: u32) -> LayerShape {
        LayerShape { starts, split: if wide == 0 { starts } else { 0 } }
    }

    /// A layer whose starts are divided by the share that is wide.
    pub fn large(starts: u64, wide: u32) -> LayerShape {
        // Rounded up: the rate is at most the one asked for.
        let second = (u128::from(starts) * u128::from(wide)).div_ceil(1 << 32);
        LayerShape { starts, split: starts - second as u64 }
    }

    /// Blocks of the two strips: each goes on for a window after its last start.
    pub fn strips<L: Layout>(&self) -> [u64; 2] {
        let blocks = |starts: u64| if starts == 0 { 0 } else { starts + L::WINDOW - 1 };
        [blocks(self.split), blocks(self.starts - self.split)]
    }

    /// Blocks of both strips.
    pub fn blocks<L: Layout>(&self) -> u64 {
        let [first, second] = self.strips::<L>();
        first + second
    }

    /// Buckets, each with a threshold of two bits.
    pub fn buckets<L: Layout>(&self) -> u64 {
        self.starts.div_ceil(L::BUCKET)
    }

    /// Bytes of the thresholds.
    pub fn threshold_bytes<L: Layout>(&self) -> u64 {
        self.buckets::<L>().div_ceil(4)
    }

    /// Bytes of thresholds and blocks.
    pub fn bytes<L: Layout>(&self, columns: u32) -> u64 {
        let [first, second] = self.strips::<L>();
        let columns = u64::from(columns);
        self.threshold_bytes::<L>() + first * columns + second * (columns + 1)
    }
}

impl Sizing for RibbonShape {
    fn for_spec(_: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        let (keys, fpr) = (spec.capacity(), spec.fpr());
        RibbonShape::for_fpr(keys, fpr).ok_or(SpecError::Width { got: fpr })
    }

    fn in_bits(_: &KindSpec, keys: u64, bits: u64) -> Option<Self> {
        RibbonShape::for_bits(keys, bits)
    }

    fn bits(&self, _: u64) -> u64 {
        self.bits()
    }

    /// A threshold, and the equation's window.
    fn probes(&self) -> u32 {
        2
    }

    /// That of the threshold, and one or two of the window: nearly no key is in a later layer.
    fn lines(&self) -> u32 {
        3
    }

    fn bits_fpr(&self, _: u64) -> f64 {
        self.fpr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_met_exactly_from_half_to_a_billionth() {
        for fpr in [0.5, 0.37, 0.1, 0.01, 1.0 / 128.0, 1e-3, 1e-4, 1e-6, 1e-9, 2.4e-10] {
            let shape = RibbonShape::for_fpr(1_000_000, fpr).unwrap();
            assert!(shape.fpr() <= fpr && shape.fpr() > 0.99999 * fpr, "{fpr}: {}", shape.fpr());
        }
        assert_eq!(RibbonShape::for_fpr(10, 1.0 / 128.0).map(|shape| shape.columns), Some(7));
        assert!(RibbonShape::for_fpr(10, 2e-10).is_none());
        assert!(RibbonShape::for_fpr(10, f64::NAN).is_none());
        let most = RibbonShape::for_fpr(10, 0.9).unwrap();
        assert_eq!((most.columns, most.wide), (1, 0));
    }

    #[test]
    fn memory_gives_the_best_rate_that_fits() {
        for fpr in [0.5, 0.01, 0.003, 1e-5] {
            let shape = RibbonShape::for_fpr(3_000_000, fpr).unwrap();
            let back = RibbonShape::for_bits(3_000_000, shape.bits()).unwrap();
            assert!(back.bits() <= shape.bits());
            assert!(back.fpr() <= 1.001 * fpr, "{} for {fpr}", back.fpr());
        }
        assert!(RibbonShape::for_bits(1_000, 500).is_none());
        assert_eq!(RibbonShape::for_bits(10, u64::MAX).map(|shape| shape.columns), Some(32));
    }

    #[test]
    fn sizes_keep_near_the_information_bound() {
        for (keys, fpr, most) in [
            (1_000_000, 0.01, 1.016),
            (1_000_000, 1e-3, 1.005),
            (20_000_000, 1e-4, 1.009),
            (100_000, 0.01, 1.02),
        ] {
            let shape = RibbonShape::for_fpr(keys, fpr).unwrap();
            let bits = shape.bits() as f64 / keys as f64 / -fpr.log2();
            assert!((1.0..most).contains(&bits), "{keys} at {fpr}: {bits}");
        }
    }
}
