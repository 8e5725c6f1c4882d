//! AVX2: eight probes at a time.

use super::scalar::{SALT, first_half, second_half};
use super::{Line, ring};
use crate::hash::Hash;
use crate::sizing::BlockedShape;
use core::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps,
    _mm256_loadu_si256, _mm256_mullo_epi32, _mm256_permutevar8x32_epi32, _mm256_set1_epi32,
    _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_storeu_si256, _mm256_testc_si256,
};

/// Eight products, whose top nine bits are the positions: one bit for the half of the line, three
/// for the word in it, five for the bit in that.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn products(half: u32) -> __m256i {
    // SAFETY: `SALT` is 32 readable bytes, and `loadu` needs no alignment.
    let salt = unsafe { _mm256_loadu_si256(SALT.as_ptr().cast()) };
    _mm256_mullo_epi32(_mm256_set1_epi32(half as i32), salt)
}

/// Whether the line has the positions of all lanes in which `ones` is one.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn found(line: &Line, products: __m256i, ones: __m256i) -> bool {
    let (low, high) = (line.as_ptr(), line[32..].as_ptr());
    // SAFETY: a line is 64 readable bytes, and `loadu` needs no alignment.
    let (low, high): (__m256i, __m256i) =
        unsafe { (_mm256_loadu_si256(low.cast()), _mm256_loadu_si256(high.cast())) };
    let word = _mm256_srli_epi32::<28>(products);
    let in_low = _mm256_permutevar8x32_epi32(low, word);
    let in_high = _mm256_permutevar8x32_epi32(high, word);
    let words = _mm256_blendv_ps(
        _mm256_castsi256_ps(in_low),
        _mm256_castsi256_ps(in_high),
        _mm256_castsi256_ps(products), // its sign is the half
    );
    let place = _mm256_and_si256(_mm256_srli_epi32::<23>(products), _mm256_set1_epi32(31));
    _mm256_testc_si256(_mm256_castps_si256(words), _mm256_sllv_epi32(ones, place)) == 1
}

/// Ones in the first `probes` lanes.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn ones(probes: usize) -> __m256i {
    let ones: [u32; 8] = core::array::from_fn(|lane| u32::from(lane < probes));
    // SAFETY: the array is 32 readable bytes, and `loadu` needs no alignment.
    unsafe { _mm256_loadu_si256(ones.as_ptr().cast()) }
}

/// Set the first `probes` positions in the line.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn set(line: &mut Line, products: __m256i, probes: usize) {
    let mut positions = [0u32; 8];
    // SAFETY: the array is 32 writable bytes, and `storeu` needs no alignment.
    unsafe {
        _mm256_storeu_si256(positions.as_mut_ptr().cast(), _mm256_srli_epi32::<23>(products));
    }
    for at in positions.iter().take(probes) {
        line[(at >> 3) as usize & 63] |= 1 << (at & 7);
    }
}

/// Whether all probes are set in the line.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn line_contains(line: &Line, hash: Hash, probes: usize) -> bool {
    found(line, products(first_half(hash)), ones(probes))
        && (probes <= 8 || found(line, products(second_half(hash)), ones(probes - 8)))
}

/// Set all probes in the line; whether any was clear. A line that has them is not written.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn line_insert(line: &mut Line, hash: Hash, probes: usize) -> bool {
    let first = products(first_half(hash));
    let mut new = !found(line, first, ones(probes));
    if new {
        set(line, first, probes);
    }
    if probes > 8 {
        let second = products(second_half(hash));
        if !found(line, second, ones(probes - 8)) {
            set(line, second, probes - 8);
            new = true;
        }
    }
    new
}

/// May this key be in?
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn contains(lines: &[Line], shape: BlockedShape, hash: Hash) -> bool {
    let probes = shape.probes_per_line as usize;
    super::one_contains(lines, shape, hash, |line, hash| line_contains(line, hash, probes))
}

/// Set the key's bits; whether any was clear.
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn insert(lines: &mut [Line], shape: BlockedShape, hash: Hash) -> bool {
    let probes = shape.probes_per_line as usize;
    super::one_insert(lines, shape, hash, |line, hash| line_insert(line, hash, probes))
}

/// One answer a hash.
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn contains_batch(
    lines: &[Line],
    shape: BlockedShape,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    let probes = shape.probes_per_line as usize;
    if probes <= 8 {
        // Said apart so that the compiler drops the second eight from the loop.
        let ones = ones(probes);
        let contains = |line: &Line, hash| found(line, products(first_half(hash)), ones);
        return ring::contains(lines, shape, hashes, answers, contains);
    }
    let contains = |line: &Line, hash| line_contains(line, hash, probes);
    ring::contains(lines, shape, hashes, answers, contains);
}

/// Insert all; `report` hears of each whether it was new.
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn insert_batch(
    lines: &mut [Line],
    shape: BlockedShape,
    hashes: &[Hash],
    report: impl FnMut(usize, bool),
) {
    let probes = shape.probes_per_line as usize;
    if probes <= 8 {
        let insert = |line: &mut Line, hash| line_insert(line, hash, probes.min(8));
        return ring::insert(lines, shape, hashes, report, insert);
    }
    ring::insert(lines, shape, hashes, report, |line, hash| line_insert(line, hash, probes));
}
