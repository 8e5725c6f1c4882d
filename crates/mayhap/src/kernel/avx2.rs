//! AVX2: eight probes at a time.

use super::Line;
use super::scalar::{SALT, first_half, second_half};
use crate::hash::Hash;
use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_blendv_ps, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_mullo_epi32,
    _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_sllv_epi32,
    _mm256_srli_epi32, _mm256_storeu_si256, _mm256_testc_si256,
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

/// Ones in the lanes that count, of the first eight and the second, and how many they are.
#[derive(Clone, Copy)]
struct Lanes {
    first: __m256i,
    second: __m256i,
    probes: usize,
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn lanes(probes: u32) -> Lanes {
    let all = _mm256_set1_epi32(probes as i32);
    let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let later = _mm256_add_epi32(lane, _mm256_set1_epi32(8));
    // A comparison that holds is all ones; one of them is wanted.
    let first = _mm256_srli_epi32::<31>(_mm256_cmpgt_epi32(all, lane));
    let second = _mm256_srli_epi32::<31>(_mm256_cmpgt_epi32(all, later));
    Lanes { first, second, probes: probes as usize }
}

/// Whether all probes are set in the line.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn line_contains<const WIDE: bool>(line: &Line, hash: Hash, lanes: Lanes) -> bool {
    found(line, products(first_half(hash)), lanes.first)
        && (!WIDE || found(line, products(second_half(hash)), lanes.second))
}

/// Set all probes in the line; whether any was clear. A line that has them is not written.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn line_insert<const WIDE: bool>(line: &mut Line, hash: Hash, lanes: Lanes) -> bool {
    let first = products(first_half(hash));
    let mut new = !found(line, first, lanes.first);
    if new {
        set(line, first, lanes.probes);
    }
    if WIDE {
        let second = products(second_half(hash));
        if !found(line, second, lanes.second) {
            set(line, second, lanes.probes.saturating_sub(8));
            new = true;
        }
    }
    new
}

super::entries!(#[target_feature(enable = "avx2,bmi2")]);
