//! AVX-512: as many whole blocks as 64 bytes hold; up to eight columns a window is one load.

use super::{CheckedBytes, Directory, Equation, Solve, Width};
use crate::hash::Hash;
use crate::sizing::Slots64;
use core::arch::x86_64::*;

/// For each number of columns and each load of a window: which byte of the coefficients goes with
/// each byte of the load, 0x80 for none.
#[repr(align(64))]
struct Shuffles([[[u8; 64]; 4]; 33]);

const fn shuffles(blocks_per_load: usize) -> Shuffles {
    let mut all = [[[0x80; 64]; 4]; 33];
    let mut columns = 1;
    while columns <= 32 && columns * blocks_per_load <= 64 {
        let mut load = 0;
        while load < 8 / blocks_per_load {
            let mut byte = 0;
            while byte < blocks_per_load * columns {
                all[columns][load][byte] = (load * blocks_per_load + byte / columns) as u8;
                byte += 1;
            }
            load += 1;
        }
        columns += 1;
    }
    Shuffles(all)
}

static EIGHT_BLOCKS: Shuffles = shuffles(8);
static FOUR_BLOCKS: Shuffles = shuffles(4);
static TWO_BLOCKS: Shuffles = shuffles(2);

/// `LOADS` loads cover the window.
struct Vectors<const LOADS: usize>;

impl<const LOADS: usize> Solve<Slots64> for Vectors<LOADS> {
    #[inline(always)]
    unsafe fn solves(
        CheckedBytes(bytes): CheckedBytes<'_>,
        at: usize,
        columns: usize,
        equation: Equation,
    ) -> bool {
        let each = 8 / LOADS;
        // SAFETY: AVX-512 F, BW and BITALG are there and a window lies in the body, by the caller's
        // promise; masked loads read no byte past it. `columns` is at most 32.
        unsafe {
            let window = bytes.as_ptr().add(at);
            let table = match LOADS {
                1 => &EIGHT_BLOCKS,
                2 => &FOUR_BLOCKS,
                _ => &TWO_BLOCKS,
            };
            let shuffles = table.0.get_unchecked(columns);
            let coefficients = _mm512_set1_epi64(equation.coefficients as i64);
            let inside = u64::MAX >> (64 - each * columns);
            let mut sum = _mm512_setzero_si512();
            for (load, shuffle) in shuffles.iter().enumerate().take(LOADS) {
                let shuffle = _mm512_load_si512(shuffle.as_ptr().cast());
                let selects = _mm512_shuffle_epi8(coefficients, shuffle);
                let from = window.add(load * each * columns).cast();
                let blocks = _mm512_maskz_loadu_epi8(inside, from);
                sum = _mm512_xor_si512(sum, _mm512_and_si512(blocks, selects));
            }
            // The lowest bit of a count is the parity of the byte.
            let mut found = _mm512_test_epi8_mask(_mm512_popcnt_epi8(sum), _mm512_set1_epi8(1));
            if LOADS == 1 {
                found ^= found >> (4 * columns);
            }
            if LOADS <= 2 {
                found ^= found >> (2 * columns);
            }
            found ^= found >> columns;
            (found ^ equation.fingerprint) & ((1 << columns) - 1) == 0
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bitalg,avx512dq,avx512vl,bmi2")]
pub(super) fn contains(directory: &Directory<Slots64>, body: CheckedBytes<'_>, hash: Hash) -> bool {
    match directory.width {
        Width::UpTo8 => directory.one::<Vectors<1>>(body, hash),
        Width::UpTo16 => directory.one::<Vectors<2>>(body, hash),
        Width::UpTo32 => directory.one::<Vectors<4>>(body, hash),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bitalg,avx512dq,avx512vl,bmi2")]
pub(super) fn contains_batch(
    directory: &Directory<Slots64>,
    body: CheckedBytes<'_>,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    match directory.width {
        Width::UpTo8 => directory.many::<Vectors<1>>(body, hashes, answers),
        Width::UpTo16 => directory.many::<Vectors<2>>(body, hashes, answers),
        Width::UpTo32 => directory.many::<Vectors<4>>(body, hashes, answers),
    }
}

/// One window, with the kernel that a filter of this many columns uses.
#[cfg(test)]
pub(super) fn solves(bytes: &[u8], columns: usize, equation: Equation) -> bool {
    #[target_feature(enable = "avx512f,avx512bw,avx512bitalg,avx512dq,avx512vl,bmi2")]
    fn with<const LOADS: usize>(bytes: &[u8], columns: usize, equation: Equation) -> bool {
        // SAFETY: tests give a window of 32 columns and the padding.
        unsafe { Vectors::<LOADS>::solves(CheckedBytes(bytes), 0, columns, equation) }
    }
    // SAFETY: tests detect AVX-512 first.
    unsafe {
        match columns {
            ..=8 => with::<1>(bytes, columns, equation),
            9..=16 => with::<2>(bytes, columns, equation),
            _ => with::<4>(bytes, columns, equation),
        }
    }
}
