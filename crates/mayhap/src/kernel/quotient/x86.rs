//! BMI2 for finding ones, and AVX2 or AVX-512 for moving slots: a line is two registers or one.

use super::{Isa, Task};
use crate::kernel::Line;
use crate::kernel::{has_avx2, has_avx512};
use crate::sizing::LineLayout;
use core::arch::x86_64::*;

/// A machine with AVX2, BMI and the counts of ones and zeros: all since 2013. Only
/// [`detect`](Avx2::detect) makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

/// A machine with AVX-512 F, DQ and VL besides. Only [`detect`](Avx512::detect) makes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx2 {
    pub fn detect() -> Option<Avx2> {
        let has = has_avx2()
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has.then_some(Avx2(()))
    }
}

impl Avx512 {
    pub fn detect() -> Option<Avx512> {
        Avx2::detect().filter(|_| has_avx512()).map(|_| Avx512(()))
    }
}

#[inline]
#[target_feature(enable = "bmi1,bmi2")]
fn select(word: u64, n: u32) -> u32 {
    _tzcnt_u64(_pdep_u64(1 << n, word)) as u32
}

#[inline]
#[target_feature(enable = "bmi1,bmi2")]
fn select_pair(word: u64, n: u32) -> (u32, u32) {
    let one = 1 << n;
    (_tzcnt_u64(_pdep_u64(one, word)) as u32, _tzcnt_u64(_pdep_u64(one << 1, word)) as u32)
}

#[inline]
#[target_feature(enable = "bmi2")]
fn low_bits(count: usize) -> u64 {
    _bzhi_u64(!0, count as u32)
}

/// The methods that do not differ, and those that do by the names of functions here.
macro_rules! isa {
    ($Isa:ident, $features:literal, $open:ident, $close:ident) => {
        impl Isa for $Isa {
            #[inline(always)]
            fn select_pair(self, word: u64, n: u32) -> (u32, u32) {
                // SAFETY: there is a `self`, so the machine has BMI1 and BMI2.
                unsafe { select_pair(word, n) }
            }

            #[inline(always)]
            fn select(self, word: u64, n: u32) -> u32 {
                // SAFETY: there is a `self`, so the machine has BMI1 and BMI2.
                unsafe { select(word, n) }
            }

            #[inline(always)]
            fn low_bits(self, count: usize) -> u64 {
                // SAFETY: there is a `self`, so the machine has BMI2.
                unsafe { low_bits(count) }
            }

            #[inline(always)]
            fn open_slot(
                self,
                line: &mut Line,
                layout: LineLayout,
                header: u128,
                slot: usize,
                remainder: u64,
            ) {
                // SAFETY: there is a `self`, so the machine has what the function needs.
                unsafe { $open(line, layout, header, slot, remainder) }
            }

            #[inline(always)]
            fn close_slot(
                self,
                line: &mut Line,
                layout: LineLayout,
                header: u128,
                slot: usize,
                remainder: u64,
            ) {
                // SAFETY: there is a `self`, so the machine has what the function needs.
                unsafe { $close(line, layout, header, slot, remainder) }
            }

            #[inline(always)]
            fn call<T: Task>(self, task: T) -> T::Out {
                #[target_feature(enable = $features)]
                #[inline(never)]
                fn run<T: Task>(isa: $Isa, task: T) -> T::Out {
                    task.run(isa)
                }
                // SAFETY: there is a `self`, so the machine has all of these.
                unsafe { run(self, task) }
            }
        }
    };
}

isa!(Avx2, "avx2,bmi1,bmi2,lzcnt,popcnt", open_avx2, close_avx2);
isa!(Avx512, "avx512f,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt", open_avx512, close_avx512);

/// At which bit of the line each word begins.
#[inline]
#[target_feature(enable = "avx512f")]
fn starts() -> __m512i {
    _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448)
}

/// All bits of the line from this one on.
#[inline]
#[target_feature(enable = "avx512f")]
fn from_bit(bit: usize) -> __m512i {
    let inside = _mm512_sub_epi64(_mm512_set1_epi64(bit as i64), starts());
    // A shift by 64 or more leaves nothing.
    _mm512_sllv_epi64(_mm512_set1_epi64(-1), _mm512_max_epi64(inside, _mm512_setzero_si512()))
}

/// A value at this bit of the line.
#[inline]
#[target_feature(enable = "avx512f")]
fn shifted(value: u64, bit: usize) -> __m512i {
    let inside = _mm512_sub_epi64(_mm512_set1_epi64(bit as i64), starts());
    let back = _mm512_sub_epi64(_mm512_setzero_si512(), inside);
    let value = _mm512_set1_epi64(value as i64);
    // One of the two counts is negative, thus far above 64 without its sign.
    _mm512_or_si512(_mm512_sllv_epi64(value, inside), _mm512_srlv_epi64(value, back))
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn header_words(header: u128) -> __m512i {
    let words = _mm_set_epi64x((header >> 64) as i64, header as i64);
    _mm512_inserti64x2::<3>(_mm512_setzero_si512(), words)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn open_avx512(line: &mut Line, layout: LineLayout, header: u128, slot: usize, remainder: u64) {
    let bits = layout.remainder_bits;
    let from = slot * bits;
    // SAFETY: a line is 64 readable bytes, and `loadu` needs no alignment.
    let old = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    let before = _mm512_alignr_epi64::<7>(old, _mm512_setzero_si512());
    let moved = _mm512_or_si512(
        _mm512_sll_epi64(old, _mm_cvtsi64_si128(bits as i64)),
        _mm512_srl_epi64(before, _mm_cvtsi64_si128(64 - bits as i64)),
    );
    let kept = _mm512_andnot_si512(from_bit(from), old);
    let moved = _mm512_and_si512(moved, from_bit(from + bits));
    let moved = _mm512_andnot_si512(from_bit(layout.slots * bits), moved);
    let new = _mm512_or_si512(shifted(remainder, from), header_words(header));
    let all = _mm512_or_si512(_mm512_or_si512(kept, moved), new);
    // SAFETY: a line is 64 writable bytes, and `storeu` needs no alignment.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), all) };
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn close_avx512(line: &mut Line, layout: LineLayout, header: u128, slot: usize, remainder: u64) {
    let bits = layout.remainder_bits;
    let (from, last) = (slot * bits, (layout.slots - 1) * bits);
    // SAFETY: a line is 64 readable bytes, and `loadu` needs no alignment.
    let old = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    let after = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), old);
    let moved = _mm512_or_si512(
        _mm512_srl_epi64(old, _mm_cvtsi64_si128(bits as i64)),
        _mm512_sll_epi64(after, _mm_cvtsi64_si128(64 - bits as i64)),
    );
    let behind = from_bit(from);
    let kept = _mm512_andnot_si512(behind, old);
    let moved = _mm512_andnot_si512(from_bit(last), _mm512_and_si512(moved, behind));
    let new = _mm512_or_si512(shifted(remainder, last), header_words(header));
    let all = _mm512_or_si512(_mm512_or_si512(kept, moved), new);
    // SAFETY: a line is 64 writable bytes, and `storeu` needs no alignment.
    unsafe { _mm512_storeu_si512(line.as_mut_ptr().cast(), all) };
}

/// At which bit of the line each word of its first or second half begins.
#[inline]
#[target_feature(enable = "avx2")]
fn starts_of_half(half: i64) -> __m256i {
    let first = 256 * half;
    _mm256_setr_epi64x(first, first + 64, first + 128, first + 192)
}

/// The bits of a half from this one of the line on.
#[inline]
#[target_feature(enable = "avx2")]
fn half_from_bit(bit: usize, half: i64) -> __m256i {
    let inside = _mm256_sub_epi64(_mm256_set1_epi64x(bit as i64), starts_of_half(half));
    let ones = _mm256_set1_epi64x(-1);
    // A negative count is far above 64 without its sign and leaves nothing, where all is wanted.
    let all = _mm256_cmpgt_epi64(_mm256_setzero_si256(), inside);
    _mm256_or_si256(_mm256_sllv_epi64(ones, inside), all)
}

/// What a half has of a value at this bit of the line.
#[inline]
#[target_feature(enable = "avx2")]
fn half_shifted(value: u64, bit: usize, half: i64) -> __m256i {
    let inside = _mm256_sub_epi64(_mm256_set1_epi64x(bit as i64), starts_of_half(half));
    let back = _mm256_sub_epi64(_mm256_setzero_si256(), inside);
    let value = _mm256_set1_epi64x(value as i64);
    _mm256_or_si256(_mm256_sllv_epi64(value, inside), _mm256_srlv_epi64(value, back))
}

/// Both halves of a line.
#[inline]
#[target_feature(enable = "avx2")]
fn halves(line: &Line) -> [__m256i; 2] {
    let (low, high) = line.split_at(32);
    // SAFETY: each half is 32 readable bytes, and `loadu` needs no alignment.
    unsafe { [_mm256_loadu_si256(low.as_ptr().cast()), _mm256_loadu_si256(high.as_ptr().cast())] }
}

#[inline]
#[target_feature(enable = "avx2")]
fn put_halves(line: &mut Line, halves: [__m256i; 2]) {
    let (low, high) = line.split_at_mut(32);
    // SAFETY: each half is 32 writable bytes, and `storeu` needs no alignment.
    unsafe {
        _mm256_storeu_si256(low.as_mut_ptr().cast(), halves[0]);
        _mm256_storeu_si256(high.as_mut_ptr().cast(), halves[1]);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn half_of_header(header: u128) -> __m256i {
    _mm256_setr_epi64x(0, 0, header as i64, (header >> 64) as i64)
}

#[inline]
#[target_feature(enable = "avx2")]
fn open_avx2(line: &mut Line, layout: LineLayout, header: u128, slot: usize, remainder: u64) {
    let bits = layout.remainder_bits;
    let (from, end) = (slot * bits, layout.slots * bits);
    let old = halves(line);
    // Each word's predecessor.
    let zero = _mm256_setzero_si256();
    let (turned, next) = (
        _mm256_permute4x64_epi64::<0b10_01_00_11>(old[0]),
        _mm256_permute4x64_epi64::<0b10_01_00_11>(old[1]),
    );
    let before =
        [_mm256_blend_epi32::<0b11>(turned, zero), _mm256_blend_epi32::<0b11>(next, turned)];
    let (up, down) = (_mm_cvtsi64_si128(bits as i64), _mm_cvtsi64_si128(64 - bits as i64));
    let header = [zero, half_of_header(header)];
    let mut new = old;
    for half in 0..2 {
        let at = half as i64;
        let moved =
            _mm256_or_si256(_mm256_sll_epi64(old[half], up), _mm256_srl_epi64(before[half], down));
        let kept = _mm256_andnot_si256(half_from_bit(from, at), old[half]);
        let moved = _mm256_and_si256(moved, half_from_bit(from + bits, at));
        let moved = _mm256_andnot_si256(half_from_bit(end, at), moved);
        let added = _mm256_or_si256(half_shifted(remainder, from, at), header[half]);
        new[half] = _mm256_or_si256(_mm256_or_si256(kept, moved), added);
    }
    put_halves(line, new);
}

#[inline]
#[target_feature(enable = "avx2")]
fn close_avx2(line: &mut Line, layout: LineLayout, header: u128, slot: usize, remainder: u64) {
    let bits = layout.remainder_bits;
    let (from, last) = (slot * bits, (layout.slots - 1) * bits);
    let old = halves(line);
    // Each word's successor.
    let zero = _mm256_setzero_si256();
    let (turned, next) = (
        _mm256_permute4x64_epi64::<0b00_11_10_01>(old[0]),
        _mm256_permute4x64_epi64::<0b00_11_10_01>(old[1]),
    );
    let after = [
        _mm256_blend_epi32::<0b1100_0000>(turned, next),
        _mm256_blend_epi32::<0b1100_0000>(next, zero),
    ];
    let (down, up) = (_mm_cvtsi64_si128(bits as i64), _mm_cvtsi64_si128(64 - bits as i64));
    let header = [zero, half_of_header(header)];
    let mut new = old;
    for half in 0..2 {
        let at = half as i64;
        let moved =
            _mm256_or_si256(_mm256_srl_epi64(old[half], down), _mm256_sll_epi64(after[half], up));
        let behind = half_from_bit(from, at);
        let kept = _mm256_andnot_si256(behind, old[half]);
        let moved = _mm256_andnot_si256(half_from_bit(last, at), _mm256_and_si256(moved, behind));
        let added = _mm256_or_si256(half_shifted(remainder, last, at), header[half]);
        new[half] = _mm256_or_si256(_mm256_or_si256(kept, moved), added);
    }
    put_halves(line, new);
}
