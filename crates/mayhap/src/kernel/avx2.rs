//! AVX2: eight probes at a time.

use super::scalar::{SALT, inside, position};
use super::{Line, ring};
use crate::hash::Hash;
use crate::sizing::BlockedShape;
use core::arch::x86_64::{
    __m256i, _mm256_andnot_si256, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_loadu_si256, _mm256_movemask_ps, _mm256_mullo_epi32, _mm256_permutevar8x32_epi32,
    _mm256_set1_epi32, _mm256_sllv_epi32, _mm256_srli_epi32,
};

/// For eight probes from one half of the mixed hash: a bit each, set where the line has it.
#[target_feature(enable = "avx2")]
#[inline]
fn eight(line: &Line, half: u32) -> u32 {
    let (low, high) = (line.as_ptr(), line[32..].as_ptr());
    // SAFETY: a line is 64 readable bytes, `SALT` 32, and `loadu` needs no alignment.
    let (low, high, salt): (__m256i, __m256i, __m256i) = unsafe {
        (
            _mm256_loadu_si256(low.cast()),
            _mm256_loadu_si256(high.cast()),
            _mm256_loadu_si256(SALT.as_ptr().cast()),
        )
    };
    // The top nine bits of a product are the position: one bit for the half of the line, three
    // for the word in it, five for the bit in that.
    let product = _mm256_mullo_epi32(_mm256_set1_epi32(half as i32), salt);
    let word = _mm256_srli_epi32::<28>(product);
    let in_low = _mm256_permutevar8x32_epi32(low, word);
    let in_high = _mm256_permutevar8x32_epi32(high, word);
    let words = _mm256_blendv_ps(
        _mm256_castsi256_ps(in_low),
        _mm256_castsi256_ps(in_high),
        _mm256_castsi256_ps(product), // its sign is the half
    );
    // Shift the wanted bit into the sign: by 31 less the bit's place, which is its complement.
    let place = _mm256_srli_epi32::<23>(product);
    let shift = _mm256_andnot_si256(place, _mm256_set1_epi32(31));
    let signs = _mm256_sllv_epi32(_mm256_castps_si256(words), shift);
    _mm256_movemask_ps(_mm256_castsi256_ps(signs)) as u32
}

/// Whether all probes are set in the line.
#[target_feature(enable = "avx2")]
#[inline]
fn line_contains(line: &Line, hash: Hash, wanted: u32) -> bool {
    let inside = inside(hash);
    let first = eight(line, inside as u32);
    if wanted <= 0xff {
        return first & wanted == wanted;
    }
    (first | eight(line, (inside >> 32) as u32) << 8) & wanted == wanted
}

/// Set all probes in the line; whether any was clear.
#[target_feature(enable = "avx2")]
#[inline]
fn line_insert(line: &mut Line, hash: Hash, wanted: u32) -> bool {
    if line_contains(line, hash, wanted) {
        return false;
    }
    let inside = inside(hash);
    for i in 0..wanted.count_ones() as usize {
        let at = position(inside, i);
        line[(at >> 3) as usize] |= 1 << (at & 7);
    }
    true
}

/// One bit a probe.
fn wanted(shape: BlockedShape) -> u32 {
    (1 << shape.probes_per_line) - 1
}

/// May this key be in?
#[target_feature(enable = "avx2")]
pub(super) fn contains(lines: &[Line], shape: BlockedShape, hash: Hash) -> bool {
    super::one_contains(lines, shape, hash, |line, hash| line_contains(line, hash, wanted(shape)))
}

/// Set the key's bits; whether any was clear.
#[target_feature(enable = "avx2")]
pub(super) fn insert(lines: &mut [Line], shape: BlockedShape, hash: Hash) -> bool {
    super::one_insert(lines, shape, hash, |line, hash| line_insert(line, hash, wanted(shape)))
}

/// One answer a hash.
#[target_feature(enable = "avx2")]
pub(super) fn contains_batch(
    lines: &[Line],
    shape: BlockedShape,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    let wanted = wanted(shape);
    if wanted <= 0xff {
        // Said apart so that the compiler drops the second eight from the loop.
        let contains = |line: &Line, hash| eight(line, inside(hash) as u32) & wanted == wanted;
        return ring::contains(lines, shape, hashes, answers, contains);
    }
    let contains = |line: &Line, hash| line_contains(line, hash, wanted);
    ring::contains(lines, shape, hashes, answers, contains);
}

/// Insert all; `report` hears of each whether it was new.
#[target_feature(enable = "avx2")]
pub(super) fn insert_batch(
    lines: &mut [Line],
    shape: BlockedShape,
    hashes: &[Hash],
    report: impl FnMut(usize, bool),
) {
    let wanted = wanted(shape);
    ring::insert(lines, shape, hashes, report, |line, hash| line_insert(line, hash, wanted));
}
