//! NEON: two columns in a register.

use super::super::Line;
use core::arch::aarch64::{
    uint64x2_t, vandq_u64, vbicq_u64, vdupq_n_s64, vdupq_n_u64, vgetq_lane_u64, vld1q_s64,
    vld1q_u64, vorrq_u64, vreinterpretq_s64_u64, vshlq_u64, vst1q_u64, vsubq_s64,
};

/// Shifts by these, to the right, bring the six bits of each column to the bottom.
static TO_BOTTOM: [i64; 8] = [-16, -22, -28, -34, -40, -46, -52, -58];

/// How far columns `column` and the next one are shifted.
#[inline(always)]
fn counts(fraction: u64, column: usize) -> uint64x2_t {
    // SAFETY: there are two more shifts from an even column on; NEON is part of every aarch64.
    unsafe {
        let shifts = vld1q_s64(TO_BOTTOM[column..column + 2].as_ptr());
        vandq_u64(vshlq_u64(vdupq_n_u64(fraction), shifts), vdupq_n_u64(63))
    }
}

/// Those two columns of a line.
#[inline(always)]
fn load(line: &Line, column: usize) -> uint64x2_t {
    // SAFETY: the slice is 16 readable bytes, and loads need no alignment here.
    unsafe { vld1q_u64(line[8 * column..8 * column + 16].as_ptr().cast()) }
}

/// Four columns from this one on, each shifted so that the bit in question is its sign.
#[inline(always)]
fn shifted(line: &Line, column: usize, fraction: u64) -> uint64x2_t {
    let two = |column| {
        let counts = counts(fraction, column);
        // SAFETY: arithmetic in registers; NEON is part of every aarch64.
        unsafe { vshlq_u64(load(line, column), vreinterpretq_s64_u64(counts)) }
    };
    // SAFETY: as above.
    unsafe { vandq_u64(two(column), two(column + 2)) }
}

#[inline(always)]
fn signs(words: uint64x2_t) -> bool {
    // SAFETY: as above.
    unsafe { (vgetq_lane_u64::<0>(words) & vgetq_lane_u64::<1>(words)) >> 63 == 1 }
}

#[inline(always)]
fn has_half(line: &Line, second: bool, fraction: u64) -> bool {
    signs(shifted(line, if second { 4 } else { 0 }, fraction))
}

#[inline(always)]
fn has_line(line: &Line, fraction: u64) -> bool {
    has_halves(line, line, fraction)
}

#[inline(always)]
fn has_halves(first: &Line, second: &Line, fraction: u64) -> bool {
    // SAFETY: arithmetic in registers; NEON is part of every aarch64.
    signs(unsafe { vandq_u64(shifted(first, 0, fraction), shifted(second, 4, fraction)) })
}

#[inline(always)]
fn has_lines(first: &Line, second: &Line, fraction: u64) -> bool {
    has_line(first, fraction) && has_line(second, fraction)
}

/// Set the bits of four columns from this one on; whether any was clear.
#[inline(always)]
fn set_four(line: &mut Line, from: usize, fraction: u64) -> bool {
    let mut missing = 0;
    for column in [from, from + 2] {
        // SAFETY: the slice is 16 writable bytes, and stores need no alignment here; the rest is
        // arithmetic in registers, and NEON is part of every aarch64.
        unsafe {
            let right = vsubq_s64(vdupq_n_s64(0), vreinterpretq_s64_u64(counts(fraction, column)));
            let mask = vshlq_u64(vdupq_n_u64(1 << 63), right);
            let had = load(line, column);
            let clear = vbicq_u64(mask, had);
            missing |= vgetq_lane_u64::<0>(clear) | vgetq_lane_u64::<1>(clear);
            let place = line[8 * column..8 * column + 16].as_mut_ptr();
            vst1q_u64(place.cast(), vorrq_u64(had, mask));
        }
    }
    missing != 0
}

#[inline(always)]
fn set_half<const SPARING: bool>(line: &mut Line, second: bool, fraction: u64) -> bool {
    set_four(line, if second { 4 } else { 0 }, fraction)
}

#[inline(always)]
fn set_line<const SPARING: bool>(line: &mut Line, fraction: u64) -> bool {
    set_four(line, 0, fraction) | set_four(line, 4, fraction)
}

super::entry_points::entry_points!();
