//! AVX-512: a whole line in one register, whose words are rotated each by its own count.

use super::super::Line;
use core::arch::x86_64::{
    __m256i, __m512i, _mm256_loadu_si256, _mm256_movepi64_mask, _mm256_or_si256, _mm256_rolv_epi64,
    _mm256_rorv_epi64, _mm256_set1_epi64x, _mm256_srlv_epi64, _mm256_storeu_si256,
    _mm256_testn_epi64_mask, _mm512_and_si512, _mm512_castsi256_si512, _mm512_inserti64x4,
    _mm512_loadu_si512, _mm512_movepi64_mask, _mm512_or_si512, _mm512_rolv_epi64,
    _mm512_rorv_epi64, _mm512_set1_epi64, _mm512_srlv_epi64, _mm512_storeu_si512,
    _mm512_testn_epi64_mask,
};

/// Shifts right that bring the six bits of each column to the bottom; rotations look at no others.
#[repr(C, align(64))]
struct Shifts([u64; 8]);
static TO_BOTTOM: Shifts = Shifts([16, 22, 28, 34, 40, 46, 52, 58]);

/// How far each column is rotated.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn counts(fraction: u64) -> __m512i {
    // SAFETY: 64 readable bytes, and `loadu` needs no alignment.
    let shifts = unsafe { _mm512_loadu_si512(TO_BOTTOM.0.as_ptr().cast()) };
    _mm512_srlv_epi64(_mm512_set1_epi64(fraction as i64), shifts)
}

/// The same of the first (or second) half.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn half_counts(fraction: u64, second: bool) -> __m256i {
    let shifts = TO_BOTTOM.0[if second { 4 } else { 0 }..].as_ptr();
    // SAFETY: 32 readable bytes, and `loadu` needs no alignment.
    let shifts = unsafe { _mm256_loadu_si256(shifts.cast()) };
    _mm256_srlv_epi64(_mm256_set1_epi64x(fraction as i64), shifts)
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn load(line: &Line) -> __m512i {
    // SAFETY: a line is 64 readable bytes, and `loadu` needs no alignment.
    unsafe { _mm512_loadu_si512(line.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn load_half(line: &Line, second: bool) -> __m256i {
    // SAFETY: half a line is 32 readable bytes, and `loadu` needs no alignment.
    unsafe { _mm256_loadu_si256(line[if second { 32 } else { 0 }..].as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn has_half(line: &Line, second: bool, fraction: u64) -> bool {
    let words = _mm256_rolv_epi64(load_half(line, second), half_counts(fraction, second));
    _mm256_movepi64_mask(words) == 0b1111
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn has_line(line: &Line, fraction: u64) -> bool {
    _mm512_movepi64_mask(_mm512_rolv_epi64(load(line), counts(fraction))) == 0xff
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn has_halves(first: &Line, second: &Line, fraction: u64) -> bool {
    let low = _mm512_castsi256_si512(load_half(first, false));
    let words = _mm512_inserti64x4::<1>(low, load_half(second, true));
    _mm512_movepi64_mask(_mm512_rolv_epi64(words, counts(fraction))) == 0xff
}

/// The same bits of both lines, so one look at what they share.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn has_lines(first: &Line, second: &Line, fraction: u64) -> bool {
    let both = _mm512_and_si512(load(first), load(second));
    _mm512_movepi64_mask(_mm512_rolv_epi64(both, counts(fraction))) == 0xff
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn set_half<const SPARING: bool>(line: &mut Line, second: bool, fraction: u64) -> bool {
    let mask = _mm256_rorv_epi64(_mm256_set1_epi64x(i64::MIN), half_counts(fraction, second));
    let had = load_half(line, second);
    let new = _mm256_testn_epi64_mask(had, mask) != 0;
    if new || !SPARING {
        let half = line[if second { 32 } else { 0 }..].as_mut_ptr();
        // SAFETY: half a line is 32 writable bytes, and `storeu` needs no alignment.
        unsafe { _mm256_storeu_si256(half.cast(), _mm256_or_si256(had, mask)) };
    }
    new
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn set_line<const SPARING: bool>(line: &mut Line, fraction: u64) -> bool {
    let mask = _mm512_rorv_epi64(_mm512_set1_epi64(i64::MIN), counts(fraction));
    let had = load(line);
    let new = _mm512_testn_epi64_mask(had, mask) != 0;
    if new || !SPARING {
        // SAFETY: a line is 64 writable bytes, and `storeu` needs no alignment.
        unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), _mm512_or_si512(had, mask)) };
    }
    new
}

super::entry_points::entry_points!(
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
);
