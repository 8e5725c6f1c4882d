//! The scheme of split blocks. Impala's and Kudu's filters have it too, under other hashes: their
//! hashed keys can be asked for with `contains_hash`.

use crate::ids;
use mayhap::scheme::{Scheme, SchemeId};
use xxhash_rust::xxh64::xxh64;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: u64 = 32;
/// One in each word of the block.
pub(super) const PROBES: u32 = 8;
/// The sizes that writers choose from: one block, and what the format suggests as a limit.
const SMALLEST_BYTES: u64 = BLOCK_BYTES;
const LARGEST_BYTES: u64 = 128 << 20;

const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// XXH64; its high half picks a block, its low half, times eight odd numbers, a bit in each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitBlock;

impl Scheme for SplitBlock {
    type Hash = u64;
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        ids::PARQUET
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        xxh64(bytes, 0)
    }

    #[inline]
    fn positions(&self, hash: u64, bits: u64, probes: u32) -> impl Iterator<Item = u64> {
        let blocks = bits / (8 * BLOCK_BYTES);
        let block = ((u128::from(hash >> 32) * u128::from(blocks)) >> 32) as u64 * 8 * BLOCK_BYTES;
        let low = hash as u32;
        let words = SALTS.iter().zip((0u64..).step_by(32)).take(probes as usize);
        words.map(move |(salt, word)| block + word + u64::from(low.wrapping_mul(*salt) >> 27))
    }

    /// By words: a stranger passes where it meets a set bit in all eight of its block.
    fn fpr_now(&self, bytes: &[u8], _: u64, _: u32) -> f64 {
        let (blocks, _) = bytes.as_chunks::<32>();
        let pass = |block: &[u8; 32]| -> f64 {
            let (words, _) = block.as_chunks::<4>();
            words
                .iter()
                .map(|word| f64::from(u32::from_le_bytes(*word).count_ones()) / 32.0)
                .product()
        };
        blocks.iter().map(pass).sum::<f64>() / blocks.len().max(1) as f64
    }
}

/// The bytes parquet-java and parquet-rs give to so many distinct keys at this rate.
pub fn bitset_bytes(keys: u64, fpr: f64) -> u64 {
    let bits = -8.0 * keys as f64 / (1.0 - fpr.powf(1.0 / 8.0)).ln();
    let bytes = (bits / 8.0).clamp(SMALLEST_BYTES as f64, LARGEST_BYTES as f64);
    (bytes as u64).next_power_of_two().min(LARGEST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_parquet_java() {
        assert_eq!(bitset_bytes(10, 0.01), 32);
        assert_eq!(bitset_bytes(10_000, 0.01), 16384); // as the golden file has it
        assert_eq!(bitset_bytes(0, 0.01), 32);
        assert_eq!(bitset_bytes(u64::MAX, 1e-9), 128 << 20);
    }

    #[test]
    fn the_rate_now_is_that_of_strangers() {
        let mut filter = crate::parquet::create(10_000, 0.05).unwrap();
        (0..10_000u64).for_each(|key| _ = filter.insert(key.to_le_bytes()));
        let passed = (10_000..110_000u64).filter(|key| filter.contains(key.to_le_bytes())).count();
        let (found, told) = (passed as f64 / 1e5, filter.fpr_now());
        assert!((found - told).abs() < 5.0 * (told / 1e5).sqrt(), "{found} and {told}");
    }
}
