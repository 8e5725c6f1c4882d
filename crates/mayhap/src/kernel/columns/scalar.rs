//! The definition. Every other kernel is a faster way to say the same thing.

use super::super::Line;
use super::slice;

/// One half of a line: four columns.
type Half = [u8; 32];

#[inline(always)]
fn half(line: &Line, second: bool) -> &Half {
    let (halves, _) = line.as_chunks();
    &halves[usize::from(second)]
}

#[inline(always)]
fn half_mut(line: &mut Line, second: bool) -> &mut Half {
    let (halves, _) = line.as_chunks_mut();
    &mut halves[usize::from(second)]
}

/// Whether the four columns of a half line, the first of which is column `from`, have their bits.
#[inline(always)]
fn columns_have(half: &Half, from: usize, fraction: u64) -> bool {
    let (words, _) = half.as_chunks();
    let shifted = (from..)
        .zip(words)
        .map(|(column, word)| u64::from_le_bytes(*word) << slice(fraction, column));
    shifted.fold(u64::MAX, |all, word| all & word) >> 63 == 1
}

/// Set their bits; whether any was clear.
#[inline(always)]
fn set_columns(half: &mut Half, from: usize, fraction: u64) -> bool {
    let (words, _) = half.as_chunks_mut();
    let mut new = false;
    for (column, bytes) in (from..).zip(words) {
        let (word, bit) = (u64::from_le_bytes(*bytes), (1 << 63) >> slice(fraction, column));
        new |= word & bit == 0;
        *bytes = (word | bit).to_le_bytes();
    }
    new
}

#[inline(always)]
fn has_half(line: &Line, second: bool, fraction: u64) -> bool {
    columns_have(half(line, second), if second { 4 } else { 0 }, fraction)
}

#[inline(always)]
fn has_line(line: &Line, fraction: u64) -> bool {
    columns_have(half(line, false), 0, fraction) && columns_have(half(line, true), 4, fraction)
}

#[inline(always)]
fn has_halves(first: &Line, second: &Line, fraction: u64) -> bool {
    columns_have(half(first, false), 0, fraction) && columns_have(half(second, true), 4, fraction)
}

#[inline(always)]
fn has_lines(first: &Line, second: &Line, fraction: u64) -> bool {
    has_line(first, fraction) && has_line(second, fraction)
}

#[inline(always)]
fn set_half<const SPARING: bool>(line: &mut Line, second: bool, fraction: u64) -> bool {
    set_columns(half_mut(line, second), if second { 4 } else { 0 }, fraction)
}

#[inline(always)]
fn set_line<const SPARING: bool>(line: &mut Line, fraction: u64) -> bool {
    set_columns(half_mut(line, false), 0, fraction) | set_columns(half_mut(line, true), 4, fraction)
}

super::entry_points::entry_points!();
