//! ORC's two hashes: one lane of MurmurHash3, and Thomas Wang's mix of integers.

use super::le64;
use super::murmur3::{first, fmix, short};

/// Strings and binary: the first lane of MurmurHash3 x64_128 alone.
#[inline]
pub fn orc_bytes(bytes: &[u8]) -> u64 {
    let (blocks, tail) = bytes.as_chunks::<8>();
    let mut h = blocks.iter().fold(104_729, |h: u64, block| {
        let h = (h ^ first(le64(block, 0))).rotate_left(27);
        h.wrapping_mul(5).wrapping_add(0x52dc_e729)
    });
    if !tail.is_empty() {
        h ^= first(short(tail));
    }
    fmix(h ^ bytes.len() as u64)
}

/// Integers, dates and the bits of doubles: Thomas Wang's 64-bit mix. Its right shifts keep the
/// sign, as Java's `>>` does.
#[inline]
pub const fn orc_long(key: i64) -> u64 {
    let mut k = (!key).wrapping_add(key << 21);
    k ^= k >> 24;
    k = k.wrapping_add(k << 3).wrapping_add(k << 8);
    k ^= k >> 14;
    k = k.wrapping_add(k << 2).wrapping_add(k << 4);
    k ^= k >> 28;
    k.wrapping_add(k << 31) as u64
}
