//! AVX-512: a whole line in one register, up to sixteen probes at a time.

use super::Line;
use super::avx2::{Table, vector_asm};
use super::scalar::{SALT, first_half, second_half};
use crate::hash::Hash;
use core::arch::asm;
use core::arch::x86_64::{
    __m256i, __m512i, __mmask16, _mm256_loadu_si256, _mm256_mask_testn_epi32_mask,
    _mm256_permutex2var_epi32, _mm256_rorv_epi32, _mm256_set1_epi32, _mm256_srli_epi32,
    _mm512_and_si512, _mm512_broadcast_i64x4, _mm512_castsi256_si512, _mm512_cmpneq_epi32_mask,
    _mm512_inserti64x4, _mm512_loadu_si512, _mm512_mask_testn_epi32_mask, _mm512_mullo_epi32,
    _mm512_permutexvar_epi32, _mm512_set1_epi32, _mm512_setr_epi32, _mm512_sllv_epi32,
    _mm512_srli_epi32, _mm512_storeu_si512,
};
use core::mem::MaybeUninit;

/// One bit a lane that counts.
type Lanes = __mmask16;

fn lanes(probes: u32) -> Lanes {
    ((1u32 << probes.min(16)) - 1) as u16
}

/// Sixteen products, whose top nine bits are the positions: four for the word, five for the bit.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn products(hash: Hash) -> __m512i {
    // SAFETY: `SALT` is 32 readable bytes, and `loadu` needs no alignment.
    let salt = unsafe { _mm256_loadu_si256(SALT.as_ptr().cast()) };
    let first = _mm512_castsi256_si512(_mm256_set1_epi32(first_half(hash) as i32));
    let halves = _mm512_inserti64x4::<1>(first, _mm256_set1_epi32(second_half(hash) as i32));
    _mm512_mullo_epi32(halves, _mm512_broadcast_i64x4(salt))
}

/// Whether the line has the positions of all lanes that count.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
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
#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn line_contains<const WIDE: bool>(line: &Line, hash: &Hash, lanes: Lanes) -> bool {
    if WIDE {
        return found(line, products(*hash), lanes);
    }
    // Half a register is enough for the products of eight probes, and takes half the time where
    // a whole one goes through in two steps.
    let (low, high) = (line.as_ptr(), line[32..].as_ptr());
    let products: __m256i;
    // SAFETY: reads the first four of the hash's eight bytes, the lower half on this machine, and
    // touches nothing else. `SALT` and each half of a line are 32 readable bytes, and `loadu`
    // needs no alignment.
    unsafe {
        asm!(
            "vpmulld {products}, {salt}, dword ptr [{hash}]{{1to8}}",
            products = lateout(ymm_reg) products,
            salt = in(ymm_reg) _mm256_loadu_si256(SALT.as_ptr().cast()),
            hash = in(reg) hash,
            options(pure, readonly, nostack, preserves_flags),
        );
        let word = _mm256_srli_epi32::<28>(products);
        let words = _mm256_permutex2var_epi32(
            _mm256_loadu_si256(low.cast()),
            word,
            _mm256_loadu_si256(high.cast()),
        );
        // A rotation looks at the last five bits of its count only.
        let bits = _mm256_rorv_epi32(words, _mm256_srli_epi32::<23>(products));
        _mm256_mask_testn_epi32_mask(lanes as u8, bits, _mm256_set1_epi32(1)) == 0
    }
}

/// Set the positions of one half of the hash in a line.
///
/// Words and bits of all probes are worked out at once and written down. Then each probe is read
/// back, spread over the line: its word is compared with the numbers of all words, and its bit
/// set where they are equal. Two instructions a probe; to shift each bit into place in all words
/// at once, as with AVX2, takes six.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn add(mut line: __m512i, half: u32, lanes: u8) -> __m512i {
    let words = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    // Eight words, and a bit for each.
    let mut places = MaybeUninit::<__m512i>::uninit();
    // SAFETY: writes the 64 bytes of `places`, aligned as they must be, before it reads them;
    // `SALT` is 32 readable bytes, and `loadu` needs no alignment.
    unsafe {
        asm!(
            "vpbroadcastd {products}, {half:e}",
            "vpmulld {products}, {products}, {salt}",
            "vpsrld {word}, {products}, 28",
            "vmovdqa ymmword ptr [{places}], {word}",
            // A rotation looks at the last five bits of its count only.
            "vpsrld {products}, {products}, 23",
            "vprolvd {products} {{{lanes}}} {{z}}, {one}, {products}",
            "vmovdqa ymmword ptr [{places} + 32], {products}",
            "vpcmpeqd {here}, {words}, dword ptr [{places}]{{1to16}}",
            "vpord {line} {{{here}}}, {line}, dword ptr [{places} + 32]{{1to16}}",
            "vpcmpeqd {here}, {words}, dword ptr [{places} + 4]{{1to16}}",
            "vpord {line} {{{here}}}, {line}, dword ptr [{places} + 36]{{1to16}}",
            "vpcmpeqd {here}, {words}, dword ptr [{places} + 8]{{1to16}}",
            "vpord {line} {{{here}}}, {line}, dword ptr [{places} + 40]{{1to16}}",
            "vpcmpeqd {here}, {words}, dword ptr [{places} + 12]{{1to16}}",
            "vpord {line} {{{here}}}, {line}, dword ptr [{places} + 44]{{1to16}}",
            "vpcmpeqd {here}, {words}, dword ptr [{places} + 16]{{1to16}}",
            "vpord {line} {{{here}}}, {line}, dword ptr [{places} + 48]{{1to16}}",
            "vpcmpeqd {here}, {words}, dword ptr [{places} + 20]{{1to16}}",
            "vpord {line} {{{here}}}, {line}, dword ptr [{places} + 52]{{1to16}}",
            half = in(reg) half,
            lanes = in(kreg) lanes,
            places = in(reg) places.as_mut_ptr(),
            salt = in(ymm_reg) _mm256_loadu_si256(SALT.as_ptr().cast()),
            one = in(ymm_reg) _mm256_set1_epi32(1),
            words = in(zmm_reg) words,
            line = inout(zmm_reg) line,
            products = out(ymm_reg) _,
            word = out(ymm_reg) _,
            here = out(kreg) _,
            options(nostack, preserves_flags),
        );
        // At 1% there are six.
        if lanes > 0b11_1111 {
            asm!(
                "vpcmpeqd {here}, {words}, dword ptr [{places} + 24]{{1to16}}",
                "vpord {line} {{{here}}}, {line}, dword ptr [{places} + 56]{{1to16}}",
                "vpcmpeqd {here}, {words}, dword ptr [{places} + 28]{{1to16}}",
                "vpord {line} {{{here}}}, {line}, dword ptr [{places} + 60]{{1to16}}",
                places = in(reg) places.as_mut_ptr(),
                words = in(zmm_reg) words,
                line = inout(zmm_reg) line,
                here = out(kreg) _,
                options(readonly, nostack, preserves_flags),
            );
        }
    }
    line
}

/// Set all probes in the line; whether any was clear.
#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
#[inline]
fn line_insert<const WIDE: bool, const SPARING: bool>(
    line: &mut Line,
    hash: Hash,
    lanes: Lanes,
) -> bool {
    // SAFETY: a line is 64 bytes, and `loadu` and `storeu` need no alignment.
    unsafe {
        let had = _mm512_loadu_si512(line.as_ptr().cast());
        let mut whole = add(had, first_half(hash), lanes as u8);
        if WIDE {
            whole = add(whole, second_half(hash), (lanes >> 8) as u8);
        }
        let new = _mm512_cmpneq_epi32_mask(had, whole) != 0;
        if new || !SPARING {
            _mm512_storeu_si512(line.as_mut_ptr().cast(), whole);
        }
        new
    }
}

/// Whether one line has the first positions of a key: as [`avx2::one_contains`], in fewer steps.
///
/// # Safety
/// The machine has AVX-512 F and VL.
#[inline(always)]
pub(super) unsafe fn one_contains(line: &Line, half: u32, table: &Table) -> bool {
    let all: u8;
    // SAFETY: reads the line's 64 bytes and the table's 96, no more; every register it changes is
    // declared; the instructions are the caller's promise.
    unsafe {
        vector_asm!(
            "vpbroadcastd ymm0, {half:e}",
            "vpmulld ymm0, ymm0, [{table}]",
            "vmovdqu ymm1, [{line}]",
            "vpsrld ymm2, ymm0, 28",
            "vpermt2d ymm1, ymm2, [{line} + 32]",
            "vpsrld ymm0, ymm0, 23",
            "vprorvd ymm1, ymm1, ymm0",
            "vptest ymm1, [{table} + 64]", // carry: no one is missing
            "setb {all}",
            "vzeroupper",
            half = in(reg) half,
            line = in(reg) line.as_ptr(),
            table = in(reg) table,
            all = out(reg_byte) all,
        );
    }
    all != 0
}

super::impl_kernel!(#[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]);
