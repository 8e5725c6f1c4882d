//! Spark's `Murmur3_x86_32.hashUnsafeBytes`: MurmurHash3 but for its tail.

use super::le32;

/// Spark's hash of bytes. Each byte behind the last whole word is sign-extended and mixed as if
/// it were a word, where MurmurHash3 mixes all of them together and only once. On eight bytes it
/// is Spark's `hashLong` of the little-endian number.
#[inline]
pub fn spark_murmur3(bytes: &[u8], seed: u32) -> u32 {
    finish(words(bytes).fold(seed, |h, k| absorb(h, stir(k))), bytes.len())
}

/// Words that are stirred once for both hashes of a key.
const KEPT: usize = 16;

/// A key's hash, and its hash by that hash.
#[inline]
pub fn spark_murmur3_twice(bytes: &[u8], seed: u32) -> (u32, u32) {
    let mut stirred = [0; KEPT];
    let count = bytes.len() / 4 + bytes.len() % 4;
    let Some(stirred) = stirred.get_mut(..count) else {
        let first = spark_murmur3(bytes, seed);
        return (first, spark_murmur3(bytes, first));
    };
    stirred.iter_mut().zip(words(bytes)).for_each(|(slot, k)| *slot = stir(k));
    let hash = |seed| finish(stirred.iter().fold(seed, |h, k| absorb(h, *k)), bytes.len());
    let first = hash(seed);
    (first, hash(first))
}

/// Whole words, and then each byte behind them as one.
#[inline(always)]
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let (blocks, rest) = bytes.as_chunks::<4>();
    let rest = rest.iter().map(|byte| i32::from(*byte as i8) as u32);
    blocks.iter().map(|block| le32(block, 0)).chain(rest)
}

#[inline(always)]
const fn stir(k: u32) -> u32 {
    k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[inline(always)]
const fn absorb(h: u32, stirred: u32) -> u32 {
    (h ^ stirred).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

#[inline(always)]
const fn finish(h: u32, bytes: usize) -> u32 {
    let mut h = h ^ bytes as u32;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}
