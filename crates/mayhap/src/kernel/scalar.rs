//! The definition. Every other kernel is a faster way to say the same thing.

use super::Line;
use crate::hash::{Hash, fold, reduce};

/// Odd multipliers, one a lane: probe i of a line is the top nine bits of (half of the mixed
/// hash) · `SALT[i % 8]`. Frozen: files depend on them.
pub(super) const SALT: [u32; 8] = [
    0x9e37_79b1,
    0x85eb_ca77,
    0xc2b2_ae3d,
    0x27d4_eb2f,
    0x1656_67b1,
    0xcc9e_2d51,
    0x1b87_3593,
    0xe654_6b64 | 1,
];

/// Mixes a hash into the bits that choose positions inside its line.
const INSIDE: u64 = 0xa076_1d64_78bd_642f;
/// Mixes a hash into that of the key's next line.
const NEXT: u64 = 0xe703_7ed1_a0b4_28db;

/// The line of a hash.
#[inline(always)]
pub(crate) fn line_of(hash: Hash, lines: u64) -> usize {
    reduce(hash.0, lines) as usize
}

/// The bits that choose positions inside the line. The line took the top bits of the hash, so
/// these must depend on all of them.
#[inline(always)]
pub(super) fn inside(hash: Hash) -> u64 {
    fold(hash.0, INSIDE)
}

/// The hash for a key's next line: a key with two lines is two keys with one.
#[inline(always)]
pub(crate) fn next(hash: Hash) -> Hash {
    Hash(fold(hash.0, NEXT))
}

/// Position of probe `i` in a 512-bit line: eight lanes from the low half, eight from the high.
#[inline(always)]
pub(super) fn position(inside: u64, i: usize) -> u32 {
    let half = if i < 8 { inside as u32 } else { (inside >> 32) as u32 };
    half.wrapping_mul(SALT[i % 8]) >> 23
}

/// The probes of a hash as a line with those bits set.
#[inline(always)]
pub(crate) fn mask(hash: Hash, probes: u32) -> Line {
    let inside = inside(hash);
    let mut mask = [0; 64];
    for i in 0..probes as usize {
        let at = position(inside, i);
        mask[(at >> 3) as usize] |= 1 << (at & 7);
    }
    mask
}

/// Whether all probes are set in the line.
#[inline]
pub(crate) fn line_contains(line: &Line, hash: Hash, probes: u32) -> bool {
    let inside = inside(hash);
    (0..probes as usize).all(|i| {
        let at = position(inside, i);
        line[(at >> 3) as usize] & (1 << (at & 7)) != 0
    })
}

/// Set all probes in the line; whether any was clear.
#[inline]
pub(crate) fn line_insert(line: &mut Line, hash: Hash, probes: u32) -> bool {
    let inside = inside(hash);
    let mut changed = false;
    for i in 0..probes as usize {
        let at = position(inside, i);
        let (byte, bit) = (&mut line[(at >> 3) as usize], 1 << (at & 7));
        changed |= *byte & bit == 0;
        *byte |= bit;
    }
    changed
}
