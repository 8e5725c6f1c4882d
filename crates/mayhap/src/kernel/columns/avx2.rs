//! AVX2: half a line at a time.

use super::super::Line;
use core::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_castsi256_pd, _mm256_loadu_si256, _mm256_movemask_pd,
    _mm256_or_si256, _mm256_set1_epi64x, _mm256_sllv_epi64, _mm256_srli_epi64, _mm256_srlv_epi64,
    _mm256_storeu_si256, _mm256_testc_si256,
};

/// Shifts left that bring the six bits of each column to the top.
#[repr(C, align(64))]
struct Shifts([u64; 8]);
static TO_TOP: Shifts = Shifts([42, 36, 30, 24, 18, 12, 6, 0]);

/// How far each column of the first (or second) half is shifted.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn counts(fraction: u64, second: bool) -> __m256i {
    let shifts = TO_TOP.0[if second { 4 } else { 0 }..].as_ptr();
    // SAFETY: 32 readable bytes, and `loadu` needs no alignment.
    let shifts = unsafe { _mm256_loadu_si256(shifts.cast()) };
    let fractions = _mm256_set1_epi64x(fraction as i64);
    _mm256_srli_epi64::<58>(_mm256_sllv_epi64(fractions, shifts))
}

/// The columns of half a line, each shifted so that the bit in question is its sign.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn shifted(line: &Line, second: bool, fraction: u64) -> __m256i {
    let half = line[if second { 32 } else { 0 }..].as_ptr();
    // SAFETY: half a line is 32 readable bytes, and `loadu` needs no alignment.
    let half = unsafe { _mm256_loadu_si256(half.cast()) };
    _mm256_sllv_epi64(half, counts(fraction, second))
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn signs(words: __m256i) -> bool {
    _mm256_movemask_pd(_mm256_castsi256_pd(words)) == 0b1111
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn has_half(line: &Line, second: bool, fraction: u64) -> bool {
    signs(shifted(line, second, fraction))
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn has_line(line: &Line, fraction: u64) -> bool {
    has_halves(line, line, fraction)
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn has_halves(first: &Line, second: &Line, fraction: u64) -> bool {
    signs(_mm256_and_si256(shifted(first, false, fraction), shifted(second, true, fraction)))
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn has_lines(first: &Line, second: &Line, fraction: u64) -> bool {
    let of = |line| _mm256_and_si256(shifted(line, false, fraction), shifted(line, true, fraction));
    signs(_mm256_and_si256(of(first), of(second)))
}

/// The bit of each column.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn mask(fraction: u64, second: bool) -> __m256i {
    _mm256_srlv_epi64(_mm256_set1_epi64x(i64::MIN), counts(fraction, second))
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn set_half<const SPARING: bool>(line: &mut Line, second: bool, fraction: u64) -> bool {
    let half = line[if second { 32 } else { 0 }..].as_mut_ptr();
    let mask = mask(fraction, second);
    // SAFETY: half a line is 32 bytes, and `loadu` and `storeu` need no alignment.
    unsafe {
        let had = _mm256_loadu_si256(half.cast());
        let new = _mm256_testc_si256(had, mask) == 0;
        if new || !SPARING {
            _mm256_storeu_si256(half.cast(), _mm256_or_si256(had, mask));
        }
        new
    }
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn set_line<const SPARING: bool>(line: &mut Line, fraction: u64) -> bool {
    let (low, high) = line.split_at_mut(32);
    let masks = [mask(fraction, false), mask(fraction, true)];
    // SAFETY: each half of a line is 32 bytes, and `loadu` and `storeu` need no alignment.
    unsafe {
        let had = [low.as_ptr(), high.as_ptr()].map(|half| _mm256_loadu_si256(half.cast()));
        let new = _mm256_testc_si256(had[0], masks[0]) & _mm256_testc_si256(had[1], masks[1]) == 0;
        if new || !SPARING {
            _mm256_storeu_si256(low.as_mut_ptr().cast(), _mm256_or_si256(had[0], masks[0]));
            _mm256_storeu_si256(high.as_mut_ptr().cast(), _mm256_or_si256(had[1], masks[1]));
        }
        new
    }
}

super::entry_points::entry_points!(#[target_feature(enable = "avx2,bmi2")]);
