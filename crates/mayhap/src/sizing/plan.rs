//! Any missing one of keys, rate and memory, for every layout.

use super::{
    BlockedShape, ClassicShape, FuseShape, ScalableShape, ShardedShape, WindowedShape, hash_floor,
};
use crate::spec::{MAX_CAPACITY, Spec, SpecError};

/// The ways to lay out bits that can be planned, with what has to be said about each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// [`Classic`](crate::Classic).
    Classic,
    /// [`Blocked`](crate::Blocked).
    Blocked,
    /// [`Counting`](crate::Counting).
    Counting,
    /// [`Scalable`](crate::Scalable), made for the keys and grown no further.
    Scalable {
        /// What its capacity is multiplied by when it is full.
        growth: u32,
    },
    /// [`Windowed`](crate::Windowed) over so many keys.
    Windowed {
        /// The parts its window is divided into.
        generations: u32,
    },
    /// [`Windowed`](crate::Windowed) over a time in which so many keys come, evenly; in a burst its
    /// generations grow for as long as they remember it.
    TimeWindowed {
        /// The parts its window is divided into.
        generations: u32,
    },
    /// [`Fuse`](crate::Fuse).
    Fuse,
    /// [`Sharded`](crate::Sharded).
    Sharded {
        /// Its pieces.
        shards: u32,
    },
}

/// How large a filter is, how often it errs, and what a lookup costs: before it is made.
///
/// ```
/// use mayhap::sizing::{Layout, Plan};
/// // Two billion keys at 1%:
/// let plan = Plan::for_rate(Layout::Blocked, 2_000_000_000, 0.01)?;
/// assert_eq!(plan.bytes() / 1_000_000, 2_479); // megabytes
/// // The same keys in 500 MB:
/// let plan = Plan::for_memory(Layout::Classic, 2_000_000_000, 500_000_000)?;
/// assert_eq!((plan.probes(), (plan.fpr() * 1000.0).round()), (1, 393.0)); // 39.3%
/// // And 1% in 500 MB is good for:
/// let plan = Plan::for_keys(Layout::Fuse, 0.01, 500_000_000)?;
/// assert_eq!(plan.keys() / 1_000_000, 504); // million keys
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    layout: Layout,
    keys: u64,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Classic(ClassicShape),
    Blocked(BlockedShape),
    Counting(ClassicShape),
    Scalable(ScalableShape),
    Windowed(WindowedShape),
    Fuse(FuseShape),
    Sharded(ShardedShape),
}

impl Plan {
    /// The memory that `keys` at rate `fpr` need.
    pub fn for_rate(layout: Layout, keys: u64, fpr: f64) -> Result<Plan, SpecError> {
        let spec = Spec::new(keys, fpr)?;
        let bits_fpr = spec.fpr_of_bits();
        let shape = match layout {
            Layout::Classic => Shape::Classic(ClassicShape::for_rate(keys, bits_fpr)),
            Layout::Blocked => Shape::Blocked(BlockedShape::for_rate(keys, bits_fpr)),
            Layout::Counting => Shape::Counting(ClassicShape::for_rate(keys, bits_fpr)),
            Layout::Scalable { growth } => {
                Shape::Scalable(ScalableShape { capacity: keys, fpr: bits_fpr, growth })
            }
            Layout::Windowed { generations } => {
                Shape::Windowed(WindowedShape::for_rate(keys, bits_fpr, generations))
            }
            Layout::TimeWindowed { generations } => {
                Shape::Windowed(WindowedShape::for_time(keys, bits_fpr, generations))
            }
            Layout::Sharded { shards } => {
                Shape::Sharded(ShardedShape::for_rate(keys, bits_fpr, shards))
            }
            Layout::Fuse => {
                Shape::Fuse(FuseShape::for_rate(keys, fpr).ok_or(SpecError::Width { got: fpr })?)
            }
        };
        Ok(Plan { layout, keys, shape })
    }

    /// The best rate for `keys` in `bytes` of memory.
    pub fn for_memory(layout: Layout, keys: u64, bytes: u64) -> Result<Plan, SpecError> {
        Spec::new(keys, 0.5)?;
        let refused = SpecError::TooSmall { bytes };
        let bits = bytes.saturating_mul(8);
        let shape = match layout {
            Layout::Classic if bits >= 1 => Shape::Classic(ClassicShape::for_bits(keys, bits)),
            Layout::Blocked if bits >= super::LINE_BITS => {
                Shape::Blocked(BlockedShape::for_bits(keys, bits))
            }
            Layout::Counting if bits >= 4 => {
                Shape::Counting(ClassicShape::for_bits(keys, bits / 4))
            }
            Layout::Scalable { growth } => {
                Shape::Scalable(ScalableShape::for_bits(keys, growth, keys, bits).ok_or(refused)?)
            }
            Layout::Windowed { generations } | Layout::TimeWindowed { generations } => {
                Shape::Windowed(WindowedShape::for_bits(keys, bits, generations))
            }
            Layout::Sharded { shards } => {
                Shape::Sharded(ShardedShape::for_bits(keys, bits, shards))
            }
            Layout::Fuse => Shape::Fuse(FuseShape::for_bits(keys, bits).ok_or(refused)?),
            _ => return Err(refused),
        };
        let plan = Plan { layout, keys, shape };
        if plan.bytes() > bytes { Err(refused) } else { Ok(plan) }
    }

    /// The most keys that `bytes` of memory hold at rate `fpr`.
    pub fn for_keys(layout: Layout, fpr: f64, bytes: u64) -> Result<Plan, SpecError> {
        let mut best = Plan::for_rate(layout, 1, fpr)?;
        if best.bytes() > bytes {
            return Err(SpecError::TooSmall { bytes });
        }
        let (mut fits, mut too_many) = (1, MAX_CAPACITY + 1);
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            // Past what 64-bit hashes can tell apart there is no plan at any size.
            match Plan::for_rate(layout, middle, fpr) {
                Ok(plan) if plan.bytes() <= bytes => (fits, best) = (middle, plan),
                _ => too_many = middle,
            }
        }
        Ok(best)
    }

    /// What was planned.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The keys it is planned for.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The memory of the arrays.
    pub fn bytes(&self) -> u64 {
        let bits = match &self.shape {
            Shape::Classic(shape) => shape.bits,
            Shape::Blocked(shape) => shape.bits(),
            Shape::Counting(shape) => shape.bits.saturating_mul(4),
            Shape::Scalable(shape) => shape.bits_at(self.keys),
            Shape::Windowed(shape) => shape.bits(),
            Shape::Fuse(shape) => shape.bits(),
            Shape::Sharded(shape) => shape.bits(),
        };
        bits.div_ceil(8)
    }

    /// Bits a key, all memory counted.
    pub fn bits_per_key(&self) -> f64 {
        self.bytes() as f64 * 8.0 / self.keys as f64
    }

    /// Positions looked at for a key that is in: bits, counters or fingerprints.
    pub fn probes(&self) -> u32 {
        match &self.shape {
            Shape::Classic(shape) | Shape::Counting(shape) => shape.probes,
            Shape::Blocked(shape) => shape.probes(),
            Shape::Sharded(shape) => shape.each.probes(),
            Shape::Scalable(shape) => shape.layers().next().map_or(0, |layer| layer.shape.probes()),
            Shape::Windowed(shape) => shape.count.saturating_mul(shape.each.probes()),
            Shape::Fuse(_) => 3,
        }
    }

    /// Cache lines touched for a key that is in, at the most.
    pub fn lines(&self) -> u32 {
        match &self.shape {
            Shape::Classic(shape) | Shape::Counting(shape) => shape.probes,
            Shape::Blocked(shape) => shape.lines_per_key,
            Shape::Sharded(shape) => shape.each.lines_per_key,
            Shape::Scalable(shape) => {
                shape.layers().next().map_or(0, |layer| layer.shape.lines_per_key)
            }
            Shape::Windowed(shape) => shape.count.saturating_mul(shape.each.lines_per_key),
            Shape::Fuse(_) => 3,
        }
    }

    /// The rate with all planned keys in.
    pub fn fpr(&self) -> f64 {
        self.fpr_at(self.keys)
    }

    /// The rate with `keys` in, also past what was planned. A `Fuse` holds just what it was built
    /// from, so its rate is always the same; a `Scalable` grows and keeps its rate.
    pub fn fpr_at(&self, keys: u64) -> f64 {
        let bits = match &self.shape {
            Shape::Classic(shape) | Shape::Counting(shape) => shape.fpr_at(keys),
            Shape::Blocked(shape) => shape.fpr_at(keys),
            Shape::Scalable(shape) => shape.fpr_at(keys),
            Shape::Windowed(shape) => {
                shape.fpr_at(keys.div_ceil(u64::from(shape.count.max(2) - 1)))
            }
            Shape::Fuse(shape) => shape.fpr(),
            Shape::Sharded(shape) => shape.fpr_at(keys),
        };
        (bits + hash_floor(keys)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUTS: [Layout; 7] = [
        Layout::Classic,
        Layout::Blocked,
        Layout::Counting,
        Layout::Scalable { growth: 4 },
        Layout::Windowed { generations: 4 },
        Layout::Fuse,
        Layout::Sharded { shards: 64 },
    ];

    #[test]
    fn any_two_give_the_third() -> Result<(), SpecError> {
        for layout in LAYOUTS {
            for (keys, fpr) in [(1_000, 0.05), (1_000_000, 0.01), (300_000_000, 1e-4)] {
                if keys == 1_000 && matches!(layout, Layout::Sharded { .. }) {
                    continue; // a piece for 15 keys has room for dozens: it has whole lines
                }
                let plan = Plan::for_rate(layout, keys, fpr)?;
                assert!(plan.fpr() <= 1.011 * fpr, "{layout:?}: {} for {fpr}", plan.fpr());
                let back = Plan::for_memory(layout, keys, plan.bytes())?;
                assert!(back.bytes() <= plan.bytes(), "{layout:?}");
                assert!(back.fpr() <= 1.06 * fpr, "{layout:?}: {} for {fpr}", back.fpr());
                let back = Plan::for_keys(layout, fpr, plan.bytes())?;
                let off = back.keys() as f64 / keys as f64;
                // Fuse fingerprints are whole bits, arrays are whole lines.
                assert!((0.999..1.1).contains(&off), "{layout:?}: {} for {keys}", back.keys());
            }
        }
        Ok(())
    }

    #[test]
    fn rates_climb_past_capacity() -> Result<(), SpecError> {
        for layout in [Layout::Classic, Layout::Blocked, Layout::Counting] {
            let plan = Plan::for_rate(layout, 1_000_000, 0.01)?;
            let rates = [0, 500_000, 1_000_000, 2_000_000, 4_000_000].map(|keys| plan.fpr_at(keys));
            assert!(rates.is_sorted() && rates[0] < 1e-9 && rates[4] > 0.5, "{rates:?}");
            assert!(plan.fpr_at(u64::MAX) > 0.999);
        }
        Ok(())
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for layout in LAYOUTS {
            assert!(Plan::for_rate(layout, 0, 0.01).is_err());
            assert!(Plan::for_rate(layout, 10, f64::NAN).is_err());
            assert!(Plan::for_memory(layout, 10, 0).is_err(), "{layout:?}");
            assert!(Plan::for_keys(layout, 0.01, 0).is_err(), "{layout:?}");
            assert!(Plan::for_keys(layout, 2.0, 1000).is_err());
            // However absurd, an answer or an error, and soon.
            _ = Plan::for_memory(layout, MAX_CAPACITY, u64::MAX);
            _ = Plan::for_memory(layout, MAX_CAPACITY, 1);
            _ = Plan::for_keys(layout, 1e-12, u64::MAX);
            _ = Plan::for_keys(layout, 0.9, u64::MAX);
        }
        let too_fine = Plan::for_rate(Layout::Fuse, 10, 1e-11);
        assert_eq!(too_fine, Err(SpecError::Width { got: 1e-11 }));
        for layout in [Layout::Scalable { growth: 0 }, Layout::Windowed { generations: 0 }] {
            _ = Plan::for_rate(layout, 1_000, 0.01);
            _ = Plan::for_memory(layout, 1_000, 1_000);
        }
    }
}
