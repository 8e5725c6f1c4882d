//! Statistics of a filter of any kind: what `info` and `BF.INFO` show.

use super::each::Read;
use super::{Blocked, Kind, Moment};
use crate::sizing::ClassicShape;

/// What is known without reading the bits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sizes {
    /// The kind.
    pub kind: Kind,
    /// The keys it was made for, or has grown to; 0 if unknown.
    pub capacity: u64,
    /// The rate it was made for; 0 if unknown, and in an exact set.
    pub fpr: f64,
    /// The keys counted in; of a window, those it remembers.
    pub keys: u64,
    /// Bytes of its arrays.
    pub bytes: u64,
    /// Layers or generations, all of which a lookup may check.
    pub layers: u64,
    /// What its capacity is multiplied by when it is full; `None` where it does not grow.
    pub growth: Option<u32>,
    /// Of a window, what it remembers.
    pub window: Option<WindowStats>,
    /// Whether keys are hashed with a secret.
    pub keyed: bool,
}

/// What a window remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WindowStats {
    /// The time it spans, in the caller's ticks. `None` where keys are counted.
    pub ticks: Option<u64>,
    /// Generations it is cut into.
    pub generations: u32,
    /// How old the oldest key that is remembered may be, in ticks or in keys.
    pub oldest: u64,
}

/// All statistics; all bits are read for them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// What is known without reading the bits.
    pub sizes: Sizes,
    /// The share of bits that are set.
    pub fill: f64,
    /// How many distinct keys are in, estimated from the bits alone.
    pub estimate: u64,
    /// The current false-positive rate, from the bits.
    pub fpr_now: f64,
}

/// Statistics of one layer or generation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LayerStats {
    /// Bytes of its array.
    pub bytes: u64,
    /// Bits (or counters) that probes may fall on.
    pub bits: u64,
    /// Probes for each key; 0 where there is no one number.
    pub probes: u32,
    /// Keys it is made for.
    pub capacity: u64,
    /// Keys counted in.
    pub keys: u64,
    /// The rate it is made for.
    pub fpr: f64,
}

/// More keys than the capacity, and a rate above the target. No key is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Overfull {
    /// Keys counted in.
    pub keys: u64,
    /// The keys it was made for.
    pub capacity: u64,
    /// The current rate, from the bits.
    pub fpr_now: f64,
    /// The rate it was made for.
    pub fpr: f64,
    /// The generations of a window, which is overfull only until the burst has expired.
    pub generations: Option<u32>,
}

/// How far a window's rate may climb above the one asked for before it counts as crowded: bursts are
/// given room.
const CROWDED: f64 = 1.1;

impl Sizes {
    pub(super) fn of(kind: Kind, filter: &impl Read, now: Moment) -> Sizes {
        let (capacity, fpr) = filter.target();
        Sizes {
            kind,
            capacity,
            fpr,
            keys: filter.keys(now),
            bytes: filter.bytes(),
            layers: filter.layer_count(),
            growth: filter.growth(),
            window: filter.window(now),
            keyed: filter.scheme().is_some_and(|scheme| scheme.is_keyed()),
        }
    }
}

impl Stats {
    pub(super) fn of(kind: Kind, filter: &impl Read, now: Moment) -> Stats {
        Stats {
            sizes: Sizes::of(kind, filter, now),
            fill: filter.fill(now),
            estimate: filter.estimate(now),
            fpr_now: filter.fpr_now(now),
        }
    }

    /// Whether it holds more than it was made for. If the capacity is unknown, and in an
    /// exact set, it never does.
    pub fn overfull(&self) -> Option<Overfull> {
        Overfull::of(&self.sizes, || self.fpr_now)
    }
}

impl Overfull {
    /// The rate is asked for only where it decides: finding it reads all bits.
    pub(super) fn of(sizes: &Sizes, fpr_now: impl FnOnce() -> f64) -> Option<Overfull> {
        let Sizes { keys, capacity, fpr, window, .. } = *sizes;
        // A window takes more keys than were planned for, as long as the rate holds.
        if capacity == 0 || fpr == 0.0 || window.is_none() && keys <= capacity {
            return None;
        }
        let fpr_now = fpr_now();
        let most = if window.is_some() { CROWDED * fpr } else { fpr };
        let generations = window.map(|window| window.generations);
        (fpr_now > most).then_some(Overfull { keys, capacity, fpr_now, fpr, generations })
    }
}

impl LayerStats {
    pub(super) fn of_blocked<B: AsRef<[u8]>>(layer: &Blocked<B>) -> LayerStats {
        LayerStats {
            bytes: layer.as_bytes().len() as u64,
            bits: layer.shape().bits(),
            probes: layer.shape().probes(),
            capacity: layer.spec().capacity(),
            keys: layer.keys(),
            fpr: layer.spec().fpr(),
        }
    }

    /// Of a kind that is one array of bits or counters.
    pub(super) fn of_flat(filter: &impl Read, shape: ClassicShape) -> LayerStats {
        LayerStats { bits: shape.bits, probes: shape.probes, ..LayerStats::of_whole(filter) }
    }

    /// Of a kind that is asked as one.
    pub(super) fn of_whole(filter: &impl Read) -> LayerStats {
        let ((capacity, fpr), bytes) = (filter.target(), filter.bytes());
        let keys = filter.keys(Moment::LAST);
        LayerStats { bytes, bits: bytes.saturating_mul(8), probes: 0, capacity, keys, fpr }
    }
}
