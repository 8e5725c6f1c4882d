//! MurmurHash3 x64_128, as Austin Appleby published it.

use super::{le32, le64};

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;

/// MurmurHash3 x64_128: both halves start at the seed.
#[inline]
pub fn murmur3_128(bytes: &[u8], seed: u64) -> (u64, u64) {
    let (mut h1, mut h2) = (seed, seed);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        h1 = (h1 ^ first(le64(block, 0))).rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ second(le64(block, 8))).rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    if tail.len() > 8 {
        h2 ^= second(short(&tail[8..]));
    }
    if !tail.is_empty() {
        h1 ^= first(short(&tail[..tail.len().min(8)]));
    }
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = fmix(h1);
    h2 = fmix(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2)
}

/// The first lane's mix of a word.
#[inline(always)]
pub(super) const fn first(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

#[inline(always)]
const fn second(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

/// One to eight bytes as a number, the first byte lowest.
#[inline(always)]
pub(super) fn short(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    match n {
        8.. => le64(bytes, 0),
        // Two reads that overlap say the same twice.
        4..8 => u64::from(le32(bytes, 0)) | u64::from(le32(bytes, n - 4)) << (8 * (n - 4)),
        _ => bytes.iter().rev().fold(0, |k, byte| k << 8 | u64::from(*byte)),
    }
}

/// The finishing mix.
#[inline(always)]
pub(super) const fn fmix(mut k: u64) -> u64 {
    k = (k ^ (k >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    k = (k ^ (k >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}
