//! AVX-512: the bytes of a window brought into words, one column each; up to eight columns are one
//! load.

use super::{CheckedBytes, Directory, Equation, Solve, Width};
use crate::hash::Hash;
use crate::sizing::Slots64;
use core::arch::x86_64::*;

/// For each number of columns, and each group of eight of them: which byte of a window goes where, so
/// that a word has the eight blocks of one column.
#[repr(align(64))]
struct Words([[[u8; 64]; 2]; 17]);

static WORDS: Words = {
    let mut all = [[[0; 64]; 2]; 17];
    let mut columns = 1;
    while columns <= 16 {
        let mut column = 0;
        while column < columns {
            let mut block = 0;
            while block < 8 {
                all[columns][column / 8][column % 8 * 8 + block] = (block * columns + column) as u8;
                block += 1;
            }
            column += 1;
        }
        columns += 1;
    }
    Words(all)
};

/// Up to eight columns for each of `GROUPS`: words of one column each, all with the same coefficients.
struct InWords<const GROUPS: usize>;

impl<const GROUPS: usize> Solve<Slots64> for InWords<GROUPS> {
    #[inline(always)]
    unsafe fn solves(
        CheckedBytes(bytes): CheckedBytes<'_>,
        at: usize,
        columns: usize,
        equation: Equation,
    ) -> bool {
        // SAFETY: the instruction sets are there and a window lies in the body, by the caller's
        // promise; masked loads read no byte past it. `columns` is at most 16.
        unsafe {
            let window = bytes.as_ptr().add(at);
            let coefficients = _mm512_set1_epi64(equation.coefficients as i64);
            let [first, second] = WORDS.0.get_unchecked(columns);
            let order = |order: &[u8; 64]| _mm512_load_si512(order.as_ptr().cast());
            let sums = |words: __m512i| {
                let counts = _mm512_popcnt_epi64(_mm512_and_si512(words, coefficients));
                u64::from(_mm512_test_epi64_mask(counts, _mm512_set1_epi64(1)))
            };
            let all = u64::MAX;
            let found = if GROUPS == 1 || columns <= 8 {
                let blocks = _mm512_maskz_loadu_epi8(all >> (64 - 8 * columns), window.cast());
                sums(_mm512_permutexvar_epi8(order(first), blocks))
            } else {
                let low = _mm512_loadu_si512(window.cast());
                let inside = all >> (128 - 8 * columns);
                let high = _mm512_maskz_loadu_epi8(inside, window.add(64).cast());
                let eight = sums(_mm512_permutex2var_epi8(low, order(first), high));
                eight | sums(_mm512_permutex2var_epi8(low, order(second), high)) << 8
            };
            (found ^ equation.fingerprint) & ((1 << columns) - 1) == 0
        }
    }
}

/// For each number of columns and each load of two blocks: which byte of the coefficients goes with
/// each byte of the load, 0x80 for none.
#[repr(align(64))]
struct Shuffles([[[u8; 64]; 4]; 33]);

static TWO_BLOCKS: Shuffles = {
    let mut all = [[[0x80; 64]; 4]; 33];
    let mut columns = 1;
    while columns <= 32 {
        let mut load = 0;
        while load < 4 {
            let mut byte = 0;
            while byte < 2 * columns {
                all[columns][load][byte] = (load * 2 + byte / columns) as u8;
                byte += 1;
            }
            load += 1;
        }
        columns += 1;
    }
    Shuffles(all)
};

/// Any number of columns: four loads of two blocks each.
struct InPairs;

impl Solve<Slots64> for InPairs {
    #[inline(always)]
    unsafe fn solves(
        CheckedBytes(bytes): CheckedBytes<'_>,
        at: usize,
        columns: usize,
        equation: Equation,
    ) -> bool {
        // SAFETY: the instruction sets are there and a window lies in the body, by the caller's
        // promise; masked loads read no byte past it. `columns` is at most 32.
        unsafe {
            let window = bytes.as_ptr().add(at);
            let shuffles = TWO_BLOCKS.0.get_unchecked(columns);
            let coefficients = _mm512_set1_epi64(equation.coefficients as i64);
            let inside = u64::MAX >> (64 - 2 * columns);
            let mut sum = _mm512_setzero_si512();
            for (load, shuffle) in shuffles.iter().enumerate() {
                let shuffle = _mm512_load_si512(shuffle.as_ptr().cast());
                let selects = _mm512_shuffle_epi8(coefficients, shuffle);
                let from = window.add(load * 2 * columns).cast();
                let blocks = _mm512_maskz_loadu_epi8(inside, from);
                sum = _mm512_xor_si512(sum, _mm512_and_si512(blocks, selects));
            }
            // The lowest bit of a count is the parity of the byte.
            let mut found = _mm512_test_epi8_mask(_mm512_popcnt_epi8(sum), _mm512_set1_epi8(1));
            found ^= found >> columns;
            (found ^ equation.fingerprint) & ((1 << columns) - 1) == 0
        }
    }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,avx512vpopcntdq,avx512dq,avx512vl,bmi2"
)]
pub(super) fn contains(directory: &Directory<Slots64>, body: CheckedBytes<'_>, hash: Hash) -> bool {
    match directory.width {
        Width::UpTo8 => directory.one::<InWords<1>>(body, hash),
        Width::UpTo16 => directory.one::<InWords<2>>(body, hash),
        Width::UpTo32 => directory.one::<InPairs>(body, hash),
    }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,avx512vpopcntdq,avx512dq,avx512vl,bmi2"
)]
pub(super) fn contains_batch(
    directory: &Directory<Slots64>,
    body: CheckedBytes<'_>,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    match directory.width {
        Width::UpTo8 => directory.many::<InWords<1>>(body, hashes, answers),
        Width::UpTo16 => directory.many::<InWords<2>>(body, hashes, answers),
        Width::UpTo32 => directory.many::<InPairs>(body, hashes, answers),
    }
}

/// One window, with the kernel that a filter of this many columns uses.
#[cfg(test)]
pub(super) fn solves(bytes: &[u8], columns: usize, equation: Equation) -> bool {
    #[target_feature(
        enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg,avx512vpopcntdq,avx512dq,avx512vl,bmi2"
    )]
    fn with<S: Solve<Slots64>>(bytes: &[u8], columns: usize, equation: Equation) -> bool {
        // SAFETY: tests give a window of 32 columns and the padding.
        unsafe { S::solves(CheckedBytes(bytes), 0, columns, equation) }
    }
    // SAFETY: tests detect AVX-512 first.
    unsafe {
        let pairs = with::<InPairs>(bytes, columns, equation);
        if columns <= 16 {
            assert_eq!(with::<InWords<2>>(bytes, columns, equation), pairs, "{columns} columns");
        }
        if columns <= 8 {
            assert_eq!(with::<InWords<1>>(bytes, columns, equation), pairs, "{columns} columns");
        }
        pairs
    }
}
