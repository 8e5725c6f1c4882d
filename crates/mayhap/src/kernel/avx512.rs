//! AVX-512: a whole line in one register, up to sixteen probes at a time.

use super::Line;
use super::scalar::{SALT, first_half, second_half};
use crate::hash::Hash;
use core::arch::x86_64::{
    __m512i, __mmask16, _mm256_loadu_si256, _mm256_set1_epi32, _mm512_and_si512,
    _mm512_broadcast_i64x4, _mm512_castsi256_si512, _mm512_inserti64x4, _mm512_loadu_si512,
    _mm512_mask_testn_epi32_mask, _mm512_mullo_epi32, _mm512_permutexvar_epi32, _mm512_set1_epi32,
    _mm512_sllv_epi32, _mm512_srli_epi32, _mm512_storeu_si512,
};

/// One bit a lane that counts.
type Lanes = __mmask16;

fn lanes(probes: u32) -> Lanes {
    ((1u32 << probes.min(16)) - 1) as u16
}

/// Sixteen products, whose top nine bits are the positions: four for the word, five for the bit.
#[target_feature(enable = "avx512f,bmi2")]
#[inline]
fn products<const WIDE: bool>(hash: Hash) -> __m512i {
    // SAFETY: `SALT` is 32 readable bytes, and `loadu` needs no alignment.
    let salt = unsafe { _mm256_loadu_si256(SALT.as_ptr().cast()) };
    let halves = if WIDE {
        let first = _mm512_castsi256_si512(_mm256_set1_epi32(first_half(hash) as i32));
        _mm512_inserti64x4::<1>(first, _mm256_set1_epi32(second_half(hash) as i32))
    } else {
        _mm512_set1_epi32(first_half(hash) as i32)
    };
    _mm512_mullo_epi32(halves, _mm512_broadcast_i64x4(salt))
}

/// Whether the line has the positions of all lanes that count.
#[target_feature(enable = "avx512f,bmi2")]
#[inline]
fn found(line: &Line, products: __m512i, lanes: Lanes) -> bool {
    // SAFETY: a line is 64 readable bytes, and `loadu` needs no alignment.
    let line = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    let words = _mm512_permutexvar_epi32(_mm512_srli_epi32::<28>(products), line);
    let place = _mm512_and_si512(_mm512_srli_epi32::<23>(products), _mm512_set1_epi32(31));
    let bits = _mm512_sllv_epi32(_mm512_set1_epi32(1), place);
    _mm512_mask_testn_epi32_mask(lanes, words, bits) == 0
}

/// Whether all probes are set in the line.
#[target_feature(enable = "avx512f,bmi2")]
#[inline]
fn line_contains<const WIDE: bool>(line: &Line, hash: &Hash, lanes: Lanes) -> bool {
    found(line, products::<WIDE>(*hash), lanes)
}

/// Set all probes in the line; whether any was clear. A line that has them is not written.
#[target_feature(enable = "avx512f,bmi2")]
#[inline]
fn line_insert<const WIDE: bool>(line: &mut Line, hash: Hash, lanes: Lanes) -> bool {
    let products = products::<WIDE>(hash);
    if found(line, products, lanes) {
        return false;
    }
    let mut positions = [0u32; 16];
    // SAFETY: the array is 64 writable bytes, and `storeu` needs no alignment.
    unsafe {
        _mm512_storeu_si512(positions.as_mut_ptr().cast(), _mm512_srli_epi32::<23>(products));
    }
    for at in positions.iter().take(lanes.count_ones() as usize) {
        line[(at >> 3) as usize & 63] |= 1 << (at & 7);
    }
    true
}

super::entries!(#[target_feature(enable = "avx512f,bmi2")]);
