//! The definition. Every other kernel is a faster way to say the same thing.

use super::Line;
use crate::hash::{Hash, fold, reduce};

/// Odd multipliers, one a lane: a probe is the top nine bits of 32 bits of the hash times one of
/// these. Frozen: files depend on them.
pub(super) const SALT: [u32; 8] = [
    0x9e37_79b1,
    0x85eb_ca77,
    0xc2b2_ae3d,
    0x27d4_eb2f,
    0x1656_67b1,
    0xcc9e_2d51,
    0x1b87_3593,
    0xe654_6b65,
];

/// Mixes a hash into the second half of its inside bits.
const SECOND: u64 = 0xa076_1d64_78bd_642f;
/// Mixes a hash into that of the key's next line.
const NEXT: u64 = 0xe703_7ed1_a0b4_28db;

/// The line of a hash.
#[inline(always)]
pub(super) fn line_of(hash: Hash, lines: u64) -> usize {
    reduce(hash.0, lines) as usize
}

/// The bits that choose the first eight positions inside the line. The line took the top bits of
/// the hash, these are the lowest; they meet only in arrays past 256 GiB, and barely.
#[inline(always)]
pub(super) fn first_half(hash: Hash) -> u32 {
    hash.0 as u32
}

/// The bits that choose the other eight: all of the hash, mixed.
#[inline(always)]
pub(super) fn second_half(hash: Hash) -> u32 {
    (hash.0.wrapping_mul(SECOND) >> 32) as u32
}

/// The hash for a key's next line: a key with two lines is two keys with one.
#[inline(always)]
pub(super) fn next(hash: Hash) -> Hash {
    Hash(fold(hash.0, NEXT))
}

/// The positions of the first `probes` probes in a 512-bit line.
#[inline(always)]
pub(super) fn positions(hash: Hash, probes: u32, mut visit: impl FnMut(u32)) {
    let eight = |half: u32| SALT.map(|salt| half.wrapping_mul(salt) >> 23);
    let first = eight(first_half(hash));
    first.into_iter().take(probes as usize).for_each(&mut visit);
    if probes > 8 {
        let second = eight(second_half(hash));
        second.into_iter().take(probes as usize - 8).for_each(visit);
    }
}

/// Simply the number of probes.
type Lanes = u32;

fn lanes(probes: u32) -> Lanes {
    probes
}

/// Whether all probes are set in the line.
#[inline]
fn line_contains<const WIDE: bool>(line: &Line, hash: &Hash, probes: Lanes) -> bool {
    let mut all = true;
    positions(*hash, probes, |at| all &= line[(at >> 3) as usize & 63] & (1 << (at & 7)) != 0);
    all
}

/// Set all probes in the line; whether any was clear.
#[inline]
fn line_insert<const WIDE: bool, const SPARING: bool>(
    line: &mut Line,
    hash: Hash,
    probes: Lanes,
) -> bool {
    let mut new = false;
    positions(hash, probes, |at| {
        let (byte, bit) = (&mut line[(at >> 3) as usize & 63], 1 << (at & 7));
        new |= *byte & bit == 0;
        *byte |= bit;
    });
    new
}

super::impl_kernel!();
