//! MurmurHash3 x64_128, as Austin Appleby published it.

use super::{le32, le64};

const C1: u64 = 0x87c3_7b91_1142_53d5;
const C2: u64 = 0x4cf5_ad43_2745_937f;
/// Bytes taken in at a time.
const BLOCK: usize = 16;

/// Both halves, as far as they got.
type State = (u64, u64);

/// MurmurHash3 x64_128: both halves start at the seed.
#[inline]
pub fn murmur3_128(bytes: &[u8], seed: u64) -> (u64, u64) {
    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    finish(absorb_all((seed, seed), blocks), words(tail), bytes.len() as u64)
}

/// The same of a key, and of that key with one byte behind it, for little more than the first alone:
/// they are alike but for their ends.
#[inline]
pub fn murmur3_128_and_with(bytes: &[u8], byte: u8, seed: u64) -> [(u64, u64); 2] {
    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    let (state, (low, high)) = (absorb_all((seed, seed), blocks), words(tail));
    let more = u64::from(byte) << (8 * (tail.len() % 8));
    let longer = if tail.len() < 8 { (low | more, high) } else { (low, high | more) };
    let bytes = bytes.len() as u64;
    let second = if tail.len() + 1 == BLOCK {
        finish(absorb(state, longer), (0, 0), bytes + 1)
    } else {
        finish(state, longer, bytes + 1)
    };
    [finish(state, (low, high), bytes), second]
}

#[inline(always)]
fn absorb_all(state: State, blocks: &[[u8; BLOCK]]) -> State {
    blocks.iter().fold(state, |state, block| absorb(state, (le64(block, 0), le64(block, 8))))
}

/// One block.
#[inline(always)]
const fn absorb((mut h1, mut h2): State, (low, high): (u64, u64)) -> State {
    h1 = (h1 ^ first(low)).rotate_left(27).wrapping_add(h2);
    h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
    h2 = (h2 ^ second(high)).rotate_left(31).wrapping_add(h1);
    h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    (h1, h2)
}

/// What is left when all whole blocks are in, and how long it all was. Words of no bytes are 0, and
/// change nothing.
#[inline(always)]
const fn finish((mut h1, mut h2): State, (low, high): (u64, u64), bytes: u64) -> (u64, u64) {
    h1 ^= first(low) ^ bytes;
    h2 ^= second(high) ^ bytes;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = fmix(h1);
    h2 = fmix(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2)
}

/// Up to fifteen bytes as two numbers.
#[inline(always)]
fn words(tail: &[u8]) -> (u64, u64) {
    match tail.split_at_checked(8) {
        Some((low, high)) => (le64(low, 0), short(high)),
        None => (short(tail), 0),
    }
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

/// Up to eight bytes as a number, the first byte lowest.
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
