//! The definition. Every other kernel is a faster way to say the same thing.

use super::{Line, ring};
use crate::hash::{Hash, fold, reduce};
use crate::sizing::BlockedShape;

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
pub(super) fn positions(hash: Hash, probes: u32) -> impl Iterator<Item = u32> {
    let halves = [first_half(hash), second_half(hash)];
    let lanes = halves.into_iter().flat_map(|half| SALT.map(|salt| half.wrapping_mul(salt) >> 23));
    lanes.take(probes as usize)
}

/// Whether all probes are set in the line.
#[inline]
fn line_contains(line: &Line, hash: Hash, probes: u32) -> bool {
    positions(hash, probes).all(|at| line[(at >> 3) as usize] & (1 << (at & 7)) != 0)
}

/// Set all probes in the line; whether any was clear.
#[inline]
fn line_insert(line: &mut Line, hash: Hash, probes: u32) -> bool {
    let mut changed = false;
    for at in positions(hash, probes) {
        let (byte, bit) = (&mut line[(at >> 3) as usize], 1 << (at & 7));
        changed |= *byte & bit == 0;
        *byte |= bit;
    }
    changed
}

/// May this key be in?
pub(super) fn contains(lines: &[Line], shape: BlockedShape, hash: Hash) -> bool {
    let probes = shape.probes_per_line;
    super::one_contains(lines, shape, hash, |line, hash| line_contains(line, hash, probes))
}

/// Set the key's bits; whether any was clear.
pub(super) fn insert(lines: &mut [Line], shape: BlockedShape, hash: Hash) -> bool {
    let probes = shape.probes_per_line;
    super::one_insert(lines, shape, hash, |line, hash| line_insert(line, hash, probes))
}

/// One answer a hash.
pub(super) fn contains_batch(
    lines: &[Line],
    shape: BlockedShape,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    let probes = shape.probes_per_line;
    let contains = |line: &Line, hash| line_contains(line, hash, probes);
    ring::contains(lines, shape, hashes, answers, contains);
}

/// Insert all; `report` hears of each whether it was new.
pub(super) fn insert_batch(
    lines: &mut [Line],
    shape: BlockedShape,
    hashes: &[Hash],
    report: impl FnMut(usize, bool),
) {
    let probes = shape.probes_per_line;
    ring::insert(lines, shape, hashes, report, |line, hash| line_insert(line, hash, probes));
}
