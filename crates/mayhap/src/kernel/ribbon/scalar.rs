//! The definition: eight columns at a time in a word.

use super::{CheckedBytes, Equation, Solve};
use crate::sizing::{Layout, Slots64};

pub(super) struct Scalar;

impl Solve<Slots64> for Scalar {
    #[inline(always)]
    unsafe fn solves(
        CheckedBytes(bytes): CheckedBytes<'_>,
        at: usize,
        columns: usize,
        equation: Equation,
    ) -> bool {
        let window = &bytes[at..];
        let selects = equation.coefficients.to_le_bytes();
        (0..columns).step_by(8).all(|first| {
            let mut sum = 0;
            for (block, select) in (0..Slots64::WINDOW as usize).zip(selects) {
                let from = block * columns + first;
                let bytes = window[from..].first_chunk().copied().unwrap_or_default();
                sum ^= u64::from_le_bytes(bytes) & (u64::from(select) * EACH_BYTE);
            }
            let differ = parities(sum) ^ (equation.fingerprint >> first);
            let counted = (columns - first).min(8);
            differ & ((1 << counted) - 1) == 0
        })
    }
}

const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

/// The parity of each byte, as a bit each.
#[inline(always)]
fn parities(mut bytes: u64) -> u64 {
    bytes ^= bytes >> 4;
    bytes ^= bytes >> 2;
    bytes ^= bytes >> 1;
    (bytes & EACH_BYTE).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
