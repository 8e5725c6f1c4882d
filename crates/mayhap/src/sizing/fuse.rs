//! Fingerprints in segments: a key owns one of three slots, in three neighbouring segments, and
//! the exclusive or of all three is its fingerprint. So the rate is 2⁻ʷ whatever the number of
//! keys, and the memory is w bits a slot and one slot and an eighth a key.

use super::collision_rate;
use super::plan::Sizing;
use crate::filter::KindSpec;
use crate::spec::{Spec, SpecError};

/// The widest fingerprint, in bits.
pub const MAX_WIDTH: u32 = 32;
/// A filter is cut into shards of at least so many keys. Peeling wants its cells in the cache,
/// which larger shards leave; smaller ones waste more bits on unfilled segments.
pub(crate) const SHARD_KEYS: u64 = 1_000_000;
/// A shard's record in the directory.
pub(crate) const RECORD_BYTES: u64 = 16;
/// Shards start on cache lines.
pub(crate) const SHARD_ALIGN: u64 = 64;
/// The longest segments are 2¹⁸ slots.
pub(crate) const MAX_SEGMENT_LOG: u32 = 18;
/// The most keys of one shard: their slots are counted in 32 bits. Hashes that are hashes never
/// come near; [`SHARD_KEYS`] of them do not all choose the same shard.
pub(crate) const MAX_SHARD_KEYS: u64 = 1 << 31;

/// Segments are two slots long, and twice as long from each of these numbers of keys on. Graf and
/// Lemire ("Binary Fuse Filters", 2022) have them about twice as long; shorter ones fill better.
const LONGER_FROM: [u64; 17] = [
    3,
    8,
    22,
    64,
    128,
    760,
    4_000,
    13_500,
    44_000,
    130_000,
    400_000,
    1_300_000,
    5_300_000,
    17_700_000,
    59_000_000,
    196_000_000,
    650_000_000,
];
/// Slots for a thousand keys, where there are 1, 2, 4, … 2²¹ and more of them. Measured: at least
/// nine seeds in ten place all keys.
const ROOM: [u64; 22] = [
    4000, 4000, 4000, 3000, 2500, 2100, 2000, 1620, 1560, 1500, 1420, 1350, 1315, 1270, 1240, 1205,
    1185, 1170, 1155, 1143, 1128, 1125,
];

/// Fingerprints of `width` bits for `keys` keys.
///
/// ```
/// use mayhap::sizing::FuseShape;
/// let shape = FuseShape::for_fpr(10_000_000, 0.01).unwrap();
/// assert_eq!(shape.width, 7); // 1/128 is the nearest power of two below 1%
/// let bits_a_key = shape.bits() as f64 / 1e7;
/// assert!((7.8..7.95).contains(&bits_a_key), "{bits_a_key}");
/// assert!(FuseShape::for_fpr(10_000_000, 1e-10).is_none()); // beyond 32 bits
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FuseShape {
    /// Distinct keys.
    pub keys: u64,
    /// Bits of a fingerprint, 1 to 32.
    pub width: u32,
}

impl FuseShape {
    /// The narrowest fingerprints that meet the rate: 2⁻ʷ at or below it, and with the collisions
    /// of the hashes themselves at most 1% above. `None` where 32 bits are not enough.
    pub fn for_fpr(keys: u64, fpr: f64) -> Option<FuseShape> {
        (1..=MAX_WIDTH)
            .map(|width| FuseShape { keys, width })
            .find(|shape| 0.5f64.powi(shape.width as i32) <= fpr && shape.fpr() <= 1.01 * fpr)
    }

    /// The widest fingerprints that fit into `bits`; `None` where one bit a slot is too much.
    pub fn for_bits(keys: u64, bits: u64) -> Option<FuseShape> {
        let shapes = (1..=MAX_WIDTH).rev().map(|width| FuseShape { keys, width });
        shapes.into_iter().find(|shape| shape.bits() <= bits)
    }

    /// The most keys that fit into `bits` at rate `fpr`; `None` where not even one does.
    pub fn for_memory(bits: u64, fpr: f64) -> Option<FuseShape> {
        // More keys may need a wider fingerprint: both sides of the scale lean the same way.
        let fits = |keys| FuseShape::for_fpr(keys, fpr).filter(|shape| shape.bits() <= bits);
        let mut best = fits(1)?;
        let mut step = 1u64 << 47;
        while step > 0 {
            if let Some(more) = fits(best.keys + step) {
                best = more;
            }
            step /= 2;
        }
        Some(best)
    }

    /// The rate: that of the fingerprints, and of the 64-bit hashes behind them.
    pub fn fpr(&self) -> f64 {
        0.5f64.powi(self.width as i32) + collision_rate(self.keys)
    }

    /// Shards the filter is cut into.
    pub fn shards(&self) -> u64 {
        (self.keys / SHARD_KEYS).max(1)
    }

    /// The expected size of the filter with its directory, in bits: exact for one shard, and for
    /// many averaged over how unevenly keys fall into them.
    pub fn bits(&self) -> u64 {
        let shards = self.shards();
        let bytes = |keys: u64| Segments::for_keys(keys).map_or(0, |s| s.bytes(self.width));
        let directory = directory_bytes(shards);
        if shards == 1 {
            return directory.saturating_add(bytes(self.keys)).saturating_mul(8);
        }
        // Loads are as good as normal: mean m, deviation √m. Sizes are steps, hence the sum.
        let mean = self.keys as f64 / shards as f64;
        let (mut sum, mut total) = (0.0, 0.0);
        for step in -64..=64 {
            let deviations = f64::from(step) / 16.0;
            let weight = (-deviations * deviations / 2.0).exp();
            sum += weight * bytes((mean + deviations * mean.sqrt()).round() as u64) as f64;
            total += weight;
        }
        let body = (sum / total * shards as f64).round() as u64;
        directory.saturating_add(body).saturating_mul(8)
    }
}

/// Bytes of the directory of so many shards, with the gap before the first shard.
pub(crate) fn directory_bytes(shards: u64) -> u64 {
    (shards * RECORD_BYTES).next_multiple_of(SHARD_ALIGN)
}

/// The slots of one shard: `starts` from which a key's three segments may begin, then two more
/// segments for those that begin in the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    /// A key's first slot is below this: whole segments of them.
    pub starts: u32,
    /// Slots in a segment, as a power of two.
    pub log: u32,
}

impl Segments {
    /// The segments for `keys` distinct keys; `None` for no keys, and for more than a shard has.
    pub fn for_keys(keys: u64) -> Option<Segments> {
        Segments::slack(keys, 0)
    }

    /// The same with `eighths` of room more, for keys that would not be placed.
    pub fn slack(keys: u64, eighths: u64) -> Option<Segments> {
        if keys == 0 || keys > MAX_SHARD_KEYS {
            return None;
        }
        let log = 1 + LONGER_FROM.iter().take_while(|from| keys >= **from).count() as u32;
        // Between two powers of two a straight line, beyond the last the last.
        let power = keys.ilog2().min(ROOM.len() as u32 - 2);
        let (from, here) = (1 << power, power as usize);
        let over = (keys - from).min(from);
        let room = ROOM[here] - (ROOM[here] - ROOM[here + 1]) * over / from;
        let slots = (keys * room * (8 + eighths)).div_ceil(8 * 1000);
        let count = slots.div_ceil(1 << log).saturating_sub(2).max(1);
        let starts = u32::try_from(count << log).ok()?;
        Some(Segments { starts, log })
    }

    /// All slots.
    pub fn slots(&self) -> u64 {
        u64::from(self.starts) + (2 << self.log)
    }

    /// Bytes of the slots at this width: a load of eight bytes at any slot stays inside.
    pub fn bytes(&self, width: u32) -> u64 {
        let bytes = self.slots().saturating_mul(u64::from(width)).div_ceil(8) + 8;
        bytes.next_multiple_of(SHARD_ALIGN)
    }
}

impl Sizing for FuseShape {
    fn for_spec(_: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        let (keys, fpr) = (spec.capacity(), spec.fpr());
        FuseShape::for_fpr(keys, fpr).ok_or(SpecError::Width { got: fpr })
    }

    fn in_bits(_: &KindSpec, keys: u64, bits: u64) -> Option<Self> {
        FuseShape::for_bits(keys, bits)
    }

    fn bits(&self, _: u64) -> u64 {
        self.bits()
    }

    fn probes(&self) -> u32 {
        3
    }

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

    fn bits_a_key(keys: u64, width: u32) -> f64 {
        FuseShape { keys, width }.bits() as f64 / keys as f64
    }

    #[test]
    fn a_bit_of_rate_costs_little_more_than_a_bit() {
        for keys in (0..200).map(|i| 1_000_000 + i * 71_429) {
            for width in [1, 7, 8, 10, 16, 32] {
                let ratio = bits_a_key(keys, width) / f64::from(width);
                assert!(ratio < 1.14, "{keys} keys at {width} bits: {ratio}");
            }
        }
        assert!((bits_a_key(100_000_000, 7) - 7.9).abs() < 0.05);
    }

    #[test]
    fn the_width_is_the_first_that_meets_the_rate() {
        let width = |fpr| FuseShape::for_fpr(1000, fpr).map(|shape| shape.width);
        assert_eq!([0.9, 0.5, 0.49, 0.01, 1.0 / 256.0].map(width), [1, 1, 2, 7, 8].map(Some));
        assert_eq!(width(0.5f64.powi(32)), Some(32));
        assert_eq!([2.3e-10, 0.0, -1.0, f64::NAN].map(width), [None; 4]);
    }

    #[test]
    fn hashes_that_collide_widen_the_fingerprints() {
        let keys = 1 << 38;
        let shape = FuseShape::for_fpr(keys, 0.5f64.powi(25)).unwrap();
        assert_eq!(shape.width, 26);
        assert!(shape.fpr() <= 1.01 * 0.5f64.powi(25));
    }

    #[test]
    fn memory_given_is_memory_used() {
        let bits = FuseShape { keys: 1_000_000, width: 10 }.bits();
        assert_eq!(FuseShape::for_bits(1_000_000, bits).unwrap().width, 10);
        assert_eq!(FuseShape::for_bits(1_000_000, bits - 1).unwrap().width, 9);
        assert!(FuseShape::for_bits(1_000_000, 1_000_000).is_none());
        let most = FuseShape::for_memory(8 << 30, 0.01).unwrap();
        assert!((1.07e9..1.10e9).contains(&(most.keys as f64)), "{most:?}");
        assert!(most.bits() <= 8 << 30);
        assert!(FuseShape::for_memory(100, 0.01).is_none());
    }

    #[test]
    fn extremes_are_answered() {
        for keys in [0, 1, 2, 1 << 31, 1 << 48, u64::MAX] {
            assert!(FuseShape { keys, width: 32 }.bits() > 0);
        }
        assert_eq!(Segments::for_keys(0), None);
        assert_eq!(Segments::for_keys(u64::MAX), None);
        for eighths in 0..=15 {
            let most = Segments::slack(MAX_SHARD_KEYS, eighths);
            assert!(most.is_none_or(|segments| segments.slots() < 1 << 33));
        }
    }
}
