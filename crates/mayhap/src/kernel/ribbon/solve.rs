//! Back substitution: from triangular equations to the bytes of the blocks.

use super::{Coefficients, Row};
use crate::sizing::BLOCK_SLOTS;

/// Solve the equations of one strip, from its last slot to its first, and write its blocks of
/// `columns` bytes. `rows` are whole blocks, and `blocks` is as long as they need.
pub(crate) fn back_substitute<C: Coefficients>(rows: &[Row<C>], columns: usize, blocks: &mut [u8]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("bmi2") {
        #[target_feature(enable = "popcnt,bmi2")]
        fn solve<C: Coefficients>(rows: &[Row<C>], columns: usize, blocks: &mut [u8]) {
            each_column_group(rows, columns, blocks);
        }
        // SAFETY: both were detected above; the callee asks nothing else.
        return unsafe { solve(rows, columns, blocks) };
    }
    each_column_group(rows, columns, blocks);
}

#[inline(always)]
fn each_column_group<C: Coefficients>(rows: &[Row<C>], columns: usize, blocks: &mut [u8]) {
    for first in (0..columns).step_by(8) {
        match columns - first {
            1 => columns_from::<1, C>(rows, columns, first, blocks),
            2 => columns_from::<2, C>(rows, columns, first, blocks),
            3 => columns_from::<3, C>(rows, columns, first, blocks),
            4 => columns_from::<4, C>(rows, columns, first, blocks),
            5 => columns_from::<5, C>(rows, columns, first, blocks),
            6 => columns_from::<6, C>(rows, columns, first, blocks),
            7 => columns_from::<7, C>(rows, columns, first, blocks),
            _ => columns_from::<8, C>(rows, columns, first, blocks),
        }
    }
}

/// `N` columns from `first` on.
#[inline(always)]
fn columns_from<const N: usize, C: Coefficients>(
    rows: &[Row<C>],
    columns: usize,
    first: usize,
    blocks: &mut [u8],
) {
    // The solution of the slots behind the one at hand, the nearest in the lowest bit.
    let mut solved = [C::default(); N];
    let rows = rows.chunks_exact(BLOCK_SLOTS as usize);
    for (rows, block) in rows.zip(blocks.chunks_exact_mut(columns)).rev() {
        for row in rows.iter().rev() {
            let fingerprint = u64::from(row.fingerprint) >> first;
            for (column, solved) in solved.iter_mut().enumerate() {
                let behind = *solved << 1;
                let parity = row.coefficients.parity(behind);
                *solved = behind.with_first((parity ^ (fingerprint >> column)) & 1);
            }
        }
        for (byte, solved) in block[first..].iter_mut().zip(solved) {
            *byte = solved.first_block();
        }
    }
}
