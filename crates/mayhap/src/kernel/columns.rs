//! Lines with a column for every probe: where a key's lines and bits are, and which kernel looks.
//!
//! A probe lies in a word of its own, so that a lookup shifts every word by its own count and looks at
//! the signs, and an insert ors a mask in: no permutation and no loop over probes, which is what makes
//! probes anywhere in a line slow, one key at a time and with inserts above all.

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) mod avx512;
mod entry_points;
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
pub(super) mod neon;
mod ring;
pub(super) mod scalar;

use super::Line;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{has_avx2, has_avx512};
use crate::hash::Hash;
use crate::sizing::Columns;

/// The layouts as constants, so that a loop has no trace of the others.
pub(super) const ONE_LINE: u8 = Columns::OneLine as u8;
pub(super) const TWO_HALVES: u8 = Columns::TwoHalves as u8;
pub(super) const TWO_LINES: u8 = Columns::TwoLines as u8;

/// Where a key's bits are. The lines are those of a slice of the length that was asked about.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    /// The byte at which the first line begins.
    pub(crate) first: usize,
    /// The byte at which the second line begins; the first again where there is one only.
    pub(crate) second: usize,
    /// Chooses the bit in each column.
    pub(super) fraction: u64,
}

/// Both halves of a 128-bit product.
#[inline(always)]
fn product(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    ((product >> 64) as u64, product as u64)
}

/// The places of a key in an array of so many bytes: the upper half of a product with their number is
/// an offset, always inside, and the lower half, the fraction, as good as another hash.
#[inline(always)]
pub(super) fn places<const LAYOUT: u8>(hash: Hash, bytes: u64) -> Places {
    let (at, fraction) = product(hash.0, bytes);
    if LAYOUT == ONE_LINE {
        let first = (at & !63) as usize;
        return Places { first, second: first, fraction };
    }
    let (other, fraction) = product(fraction, bytes);
    let (first, second) = match LAYOUT {
        TWO_HALVES => (at & !63, other & !63),
        _ => (at & !127, other & !127 | 64),
    };
    Places { first: first as usize, second: second as usize, fraction }
}

/// The same for a layout that is known at run time only.
#[inline]
pub(crate) fn places_of(columns: Columns, hash: Hash, bytes: u64) -> Places {
    match columns {
        Columns::OneLine => places::<ONE_LINE>(hash, bytes),
        Columns::TwoHalves => places::<TWO_HALVES>(hash, bytes),
        Columns::TwoLines => places::<TWO_LINES>(hash, bytes),
    }
}

/// The bit of each column, in words that are read as little-endian numbers.
#[inline(always)]
pub(crate) fn bits(at: Places) -> [u64; 8] {
    std::array::from_fn(|column| (1 << 63) >> slice(at.fraction, column))
}

/// How far column `column` is shifted left to bring the probed bit to the highest place.
#[inline(always)]
const fn slice(fraction: u64, column: usize) -> u64 {
    (fraction >> (16 + 6 * column)) & 63
}

/// Whether an array has as many lines as the layout needs: none of its places are outside then.
#[inline(always)]
fn check(lines: &[Line], columns: Columns) {
    let even = columns != Columns::TwoLines || lines.len().is_multiple_of(2);
    assert!(!lines.is_empty() && even, "lines of another layout");
}

/// Calls the best kernel this machine has, with the layout as a constant.
macro_rules! dispatch {
    ($columns:ident, $lines:ident, $function:ident($($argument:expr),*)) => {{
        check(&*$lines, $columns);
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_avx512() {
            // SAFETY: AVX-512 F, DQ and VL and BMI2 were detected above; the lines are as many as the
            // layout needs.
            return unsafe { by_layout!($columns, avx512::$function($($argument),*)) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_avx2() {
            // SAFETY: AVX2 and BMI2 were detected above; the lines are as many as the layout needs.
            return unsafe { by_layout!($columns, avx2::$function($($argument),*)) };
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
        if super::detect::at_least(super::detect::Kernel::Neon) {
            // SAFETY: NEON is part of every aarch64; the lines are as many as the layout needs.
            return unsafe { by_layout!($columns, neon::$function($($argument),*)) };
        }
        // SAFETY: the lines are as many as the layout needs.
        unsafe { by_layout!($columns, scalar::$function($($argument),*)) }
    }};
}

macro_rules! by_layout {
    ($columns:expr, $kernel:ident::$function:ident($($argument:expr),*)) => {
        match $columns {
            Columns::OneLine => $kernel::$function::<ONE_LINE>($($argument),*),
            Columns::TwoHalves => $kernel::$function::<TWO_HALVES>($($argument),*),
            Columns::TwoLines => $kernel::$function::<TWO_LINES>($($argument),*),
        }
    };
}

/// May this key be in?
#[inline]
pub(crate) fn contains(lines: &[Line], columns: Columns, hash: Hash) -> bool {
    dispatch!(columns, lines, contains(lines, hash))
}

/// Set the key's bits; whether any was clear.
#[inline]
pub(crate) fn insert(lines: &mut [Line], columns: Columns, hash: Hash) -> bool {
    dispatch!(columns, lines, insert(lines, hash))
}

/// One answer a hash.
pub(crate) fn contains_batch(
    lines: &[Line],
    columns: Columns,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    dispatch!(columns, lines, contains_batch(lines, hashes, answers));
}

/// Insert all; `report` hears of each whether it was new.
pub(crate) fn insert_batch(
    lines: &mut [Line],
    columns: Columns,
    hashes: &[Hash],
    report: impl FnMut(usize, bool),
) {
    dispatch!(columns, lines, insert_batch(lines, hashes, report));
}

/// Which of a key's two places a run of hashes was sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    First,
    Second,
}

/// Set the bits of hashes whose first (or second) lines are in this run of an array's lines, in those
/// lines; others are left out.
pub(crate) fn fill_partition(
    lines: &mut [Line],
    first: u64,
    all_lines: u64,
    (columns, place): (Columns, Place),
    hashes: &[Hash],
) {
    let bytes = all_lines.saturating_mul(64);
    dispatch_fill(lines, columns, |lines| Fill { lines, first, bytes, place, hashes });
}

/// Hashes to be inserted into a run of lines.
pub(super) struct Fill<'a> {
    lines: &'a mut [Line],
    /// The number of the first of these lines in the array.
    first: u64,
    /// Bytes of the array.
    bytes: u64,
    place: Place,
    hashes: &'a [Hash],
}

fn dispatch_fill<'a>(
    lines: &'a mut [Line],
    columns: Columns,
    fill: impl FnOnce(&'a mut [Line]) -> Fill<'a>,
) {
    let fill = fill(lines);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_avx512() {
        // SAFETY: AVX-512 F, DQ and VL and BMI2 were detected above; the callee asks nothing else.
        return unsafe { by_layout!(columns, avx512::fill_partition(fill)) };
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_avx2() {
        // SAFETY: AVX2 and BMI2 were detected above; the callee asks nothing else.
        return unsafe { by_layout!(columns, avx2::fill_partition(fill)) };
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
    if super::detect::at_least(super::detect::Kernel::Neon) {
        return by_layout!(columns, neon::fill_partition(fill));
    }
    by_layout!(columns, scalar::fill_partition(fill));
}
