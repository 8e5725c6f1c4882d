//! One filter in pieces that live apart: how many keys a piece must have room for.

use super::BlockedShape;
use super::plan::Sizing;
use crate::filter::KindSpec;
use crate::spec::{Layouts, Spec, SpecError};

/// The most pieces: as many arrays as a file has.
pub const MAX_SHARDS: u32 = 4096;
/// How often any piece may get more keys than it has room for: ln of one in a billion.
const LN_ODDS: f64 = -20.723_265_8;

/// What a filter in pieces is made of: equal pieces, each for its share of the keys and for what
/// chance may add to it.
///
/// Keys fall to pieces by their hash, so their numbers differ as those of dice do. A piece of `n`
/// keys on average is made for about 7·√n more (by Bernstein's inequality), which is 2.5% where
/// `n` is 80 thousand and 0.1% where it is 30 million: then not one filter in a billion has a piece
/// with more keys than it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardedShape {
    /// The pieces.
    pub count: u32,
    /// Keys that each is made for.
    pub capacity: u64,
    /// How each is laid out.
    pub each: BlockedShape,
}

impl ShardedShape {
    /// `keys` keys at rate `fpr` in `shards` pieces.
    pub fn for_fpr(keys: u64, fpr: f64, shards: u32) -> ShardedShape {
        ShardedShape::sized(Layouts::default(), keys, fpr, shards)
    }

    fn sized(layouts: Layouts, keys: u64, fpr: f64, shards: u32) -> ShardedShape {
        let (count, capacity) = (shards.clamp(1, MAX_SHARDS), shard_capacity(keys, shards));
        ShardedShape { count, capacity, each: BlockedShape::sized(layouts, capacity, fpr) }
    }

    /// The best use of `bits` bits for `keys` keys in `shards` pieces.
    pub fn for_bits(keys: u64, bits: u64, shards: u32) -> ShardedShape {
        ShardedShape::laid_out(Layouts::default(), keys, bits, shards)
    }

    pub(crate) fn laid_out(layouts: Layouts, keys: u64, bits: u64, shards: u32) -> ShardedShape {
        let (count, capacity) = (shards.clamp(1, MAX_SHARDS), shard_capacity(keys, shards));
        let each = BlockedShape::in_bits(layouts, capacity, bits / u64::from(count));
        ShardedShape { count, capacity, each }
    }

    /// Bits in all pieces.
    pub fn bits(&self) -> u64 {
        self.each.bits().saturating_mul(u64::from(self.count))
    }

    /// The expected rate with `keys` keys in all pieces together: an absent key is looked up in one.
    pub fn fpr_at(&self, keys: u64) -> f64 {
        self.each.fpr_at(keys.div_ceil(u64::from(self.count.max(1))))
    }
}

/// How many keys each of `shards` pieces must have room for, so that together they hold `keys`
/// wherever the hashes fall.
///
/// ```
/// use mayhap::sizing::shard_capacity;
/// assert_eq!(shard_capacity(1_000_000, 1), 1_000_000);
/// assert_eq!(shard_capacity(5_000_000, 64), 80_106); // 78 125 on average
/// ```
pub fn shard_capacity(keys: u64, shards: u32) -> u64 {
    let shards = shards.clamp(1, MAX_SHARDS);
    if shards == 1 {
        return keys.max(1);
    }
    let mean = keys as f64 / f64::from(shards);
    let odds = f64::from(shards).ln() - LN_ODDS;
    let spread = odds / 3.0 + (odds * odds / 9.0 + 2.0 * odds * mean).sqrt();
    // No piece can get more than all.
    ((mean + spread).ceil() as u64).clamp(1, keys.max(1))
}

impl Sizing for ShardedShape {
    fn for_spec(kind: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        let (keys, fpr) = (spec.capacity(), spec.fpr_of_bits());
        Ok(ShardedShape::sized(spec.layouts(), keys, fpr, shards(kind)))
    }

    fn in_bits(kind: &KindSpec, keys: u64, bits: u64) -> Option<Self> {
        Some(ShardedShape::for_bits(keys, bits, shards(kind)))
    }

    fn bits(&self, _: u64) -> u64 {
        self.bits()
    }

    fn probes(&self) -> u32 {
        self.each.probes()
    }

    fn lines(&self) -> u32 {
        self.each.lines()
    }

    fn bits_fpr(&self, keys: u64) -> f64 {
        self.fpr_at(keys)
    }
}

fn shards(kind: &KindSpec) -> u32 {
    match *kind {
        KindSpec::Sharded { shards } => shards,
        _ => KindSpec::SHARDS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_room_for_chance_and_little_more() {
        for shards in [2, 3, 64, 1000, MAX_SHARDS] {
            for keys in [1, 1000, 1_000_000, 2_000_000_000, 1 << 48] {
                let room = shard_capacity(keys, shards);
                let mean = keys as f64 / f64::from(shards);
                assert!(room <= keys && room as f64 >= mean, "{keys} in {shards}: {room}");
                let spread = (room as f64 - mean) / mean.sqrt();
                assert!(keys < 1_000_000 || (6.0..14.0).contains(&spread), "{keys}: {spread}");
            }
        }
        assert_eq!([0, 5].map(|shards| shard_capacity(10, shards)), [10, 10]);
    }

    #[test]
    fn a_filter_in_pieces_costs_little_more_than_one() {
        let whole = BlockedShape::for_fpr(2_000_000_000, 0.01).bits() as f64;
        let pieces = ShardedShape::for_fpr(2_000_000_000, 0.01, 64);
        assert!((1.0..1.003).contains(&(pieces.bits() as f64 / whole)));
        assert!(pieces.fpr_at(2_000_000_000) <= 0.01);
    }
}
