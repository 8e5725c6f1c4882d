//! AVX2: as many whole blocks as 32 bytes hold, each byte with its coefficients.

use super::{CheckedBytes, Directory, Equation, Solve, Width};
use crate::hash::Hash;
use crate::sizing::Slots64;
use core::arch::x86_64::*;

/// For each number of columns and each load of a window: which byte of the coefficients goes with
/// each byte of the load, 0x80 for none.
type Shuffles = [[[u8; 32]; 8]; 33];

const fn shuffles(blocks_per_load: usize) -> Shuffles {
    let mut all = [[[0x80; 32]; 8]; 33];
    let mut columns = 1;
    while columns * blocks_per_load <= 32 {
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
    all
}

// In memory on purpose: of constants LLVM makes shifts, which are slower.
static FOUR_BLOCKS: Shuffles = shuffles(4);
static TWO_BLOCKS: Shuffles = shuffles(2);
static ONE_BLOCK: Shuffles = shuffles(1);

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
        // SAFETY: AVX2 is there and a window with 32 bytes behind it lies in the body, by the
        // caller's promise; no load begins past the window. `columns` is at most 32.
        unsafe {
            let window = bytes.as_ptr().add(at);
            let coefficients = _mm256_set1_epi64x(equation.coefficients as i64);
            let table = match LOADS {
                2 => &FOUR_BLOCKS,
                4 => &TWO_BLOCKS,
                _ => &ONE_BLOCK,
            };
            let shuffles = table.get_unchecked(columns);
            let each = 8 / LOADS;
            let mut sum = _mm256_setzero_si256();
            for (load, shuffle) in shuffles.iter().enumerate().take(LOADS) {
                let selects = _mm256_shuffle_epi8(coefficients, load256(shuffle.as_ptr()));
                let blocks = load256(window.add(load * each * columns));
                sum = _mm256_xor_si256(sum, _mm256_and_si256(blocks, selects));
            }
            let mut found = parities(sum);
            if LOADS == 2 {
                found ^= found >> (2 * columns);
            }
            if LOADS <= 4 {
                found ^= found >> columns;
            }
            (found ^ equation.fingerprint) & ((1 << columns) - 1) == 0
        }
    }
}

/// # Safety
///
/// 32 bytes are readable there, and the machine has AVX2.
#[inline(always)]
unsafe fn load256(from: *const u8) -> __m256i {
    // SAFETY: the caller's promise; no alignment is needed.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// The parity of each byte, as a bit each.
///
/// # Safety
///
/// The machine has AVX2.
#[inline(always)]
unsafe fn parities(mut bytes: __m256i) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        bytes = _mm256_xor_si256(bytes, _mm256_slli_epi16::<4>(bytes));
        bytes = _mm256_xor_si256(bytes, _mm256_slli_epi16::<2>(bytes));
        bytes = _mm256_xor_si256(bytes, _mm256_slli_epi16::<1>(bytes));
        u64::from(_mm256_movemask_epi8(bytes) as u32)
    }
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn contains(directory: &Directory<Slots64>, body: CheckedBytes<'_>, hash: Hash) -> bool {
    match directory.width {
        Width::UpTo8 => directory.one::<Vectors<2>>(body, hash),
        Width::UpTo16 => directory.one::<Vectors<4>>(body, hash),
        Width::UpTo32 => directory.one::<Vectors<8>>(body, hash),
    }
}

#[target_feature(enable = "avx2,bmi2")]
pub(super) fn contains_batch(
    directory: &Directory<Slots64>,
    body: CheckedBytes<'_>,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    match directory.width {
        Width::UpTo8 => directory.many::<Vectors<2>>(body, hashes, answers),
        Width::UpTo16 => directory.many::<Vectors<4>>(body, hashes, answers),
        Width::UpTo32 => directory.many::<Vectors<8>>(body, hashes, answers),
    }
}

/// One window, with the kernel that a filter of this many columns uses.
#[cfg(test)]
pub(super) fn solves(bytes: &[u8], columns: usize, equation: Equation) -> bool {
    #[target_feature(enable = "avx2,bmi2")]
    fn with<const LOADS: usize>(bytes: &[u8], columns: usize, equation: Equation) -> bool {
        // SAFETY: tests give a window of 32 columns and the padding.
        unsafe { Vectors::<LOADS>::solves(CheckedBytes(bytes), 0, columns, equation) }
    }
    // SAFETY: tests detect AVX2 first.
    unsafe {
        match columns {
            ..=8 => {
                with::<2>(bytes, columns, equation)
                    && (columns < 8 || with::<4>(bytes, columns, equation))
            }
            9..=16 => with::<4>(bytes, columns, equation),
            _ => with::<8>(bytes, columns, equation),
        }
    }
}
