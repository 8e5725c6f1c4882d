//! NEON: a line is a table of 64 bytes, and one instruction looks up sixteen of them.

use super::Line;
use super::scalar::{SALT, first_half, second_half};
use crate::hash::Hash;
use core::arch::aarch64::{
    uint8x16_t, uint8x16x4_t, uint32x4_t, vandq_u32, vcombine_u8, vcombine_u16, vdupq_n_u8,
    vdupq_n_u32, vld1q_u8, vld1q_u8_x4, vld1q_u32, vminvq_u8, vmovn_u16, vmovn_u32, vmulq_u32,
    vornq_u8, vqtbl4q_u8, vreinterpretq_s8_u8, vshlq_u8, vshrq_n_u32, vst1q_u32, vtstq_u8,
};

/// All ones in the lanes that count, and how many they are.
#[derive(Clone, Copy)]
struct Lanes {
    want: uint8x16_t,
    probes: usize,
}

#[inline]
fn lanes(probes: u32) -> Lanes {
    let want: [u8; 16] = core::array::from_fn(|lane| if (lane as u32) < probes { 0xff } else { 0 });
    // SAFETY: the array is 16 readable bytes.
    Lanes { want: unsafe { vld1q_u8(want.as_ptr()) }, probes: probes as usize }
}

/// Sixteen products, whose top nine bits are the positions: six for the byte, three for the bit.
#[inline]
fn products<const WIDE: bool>(hash: Hash) -> [uint32x4_t; 4] {
    // SAFETY: `SALT` is eight words, each load reads four of them; NEON is part of every aarch64.
    unsafe {
        let salt = [vld1q_u32(SALT.as_ptr()), vld1q_u32(SALT[4..].as_ptr())];
        let first = vdupq_n_u32(first_half(hash));
        let second = if WIDE { vdupq_n_u32(second_half(hash)) } else { first };
        [
            vmulq_u32(first, salt[0]),
            vmulq_u32(first, salt[1]),
            vmulq_u32(second, salt[0]),
            vmulq_u32(second, salt[1]),
        ]
    }
}

/// The low bytes of sixteen words.
#[inline]
fn narrow(words: [uint32x4_t; 4]) -> uint8x16_t {
    // SAFETY: arithmetic in registers; NEON is part of every aarch64.
    unsafe {
        let low = vcombine_u16(vmovn_u32(words[0]), vmovn_u32(words[1]));
        let high = vcombine_u16(vmovn_u32(words[2]), vmovn_u32(words[3]));
        vcombine_u8(vmovn_u16(low), vmovn_u16(high))
    }
}

/// Whether the line has the positions of all lanes that count.
#[inline]
fn found(line: &Line, products: [uint32x4_t; 4], lanes: Lanes) -> bool {
    // SAFETY: a line is 64 readable bytes, which is what four registers load; the rest is
    // arithmetic in registers, and NEON is part of every aarch64.
    unsafe {
        let table: uint8x16x4_t = vld1q_u8_x4(line.as_ptr());
        let bytes = vqtbl4q_u8(table, narrow(products.map(|word| vshrq_n_u32::<26>(word))));
        let seven = vdupq_n_u32(7);
        let place = products.map(|word| vandq_u32(vshrq_n_u32::<23>(word), seven));
        let bits = vshlq_u8(vdupq_n_u8(1), vreinterpretq_s8_u8(narrow(place)));
        // A lane is fine when its bit is set or when it does not count.
        vminvq_u8(vornq_u8(vtstq_u8(bytes, bits), lanes.want)) == 0xff
    }
}

/// Whether all probes are set in the line.
#[inline]
fn line_contains<const WIDE: bool>(line: &Line, hash: &Hash, lanes: Lanes) -> bool {
    found(line, products::<WIDE>(*hash), lanes)
}

/// Set all probes in the line; whether any was clear.
#[inline]
fn line_insert<const WIDE: bool, const SPARING: bool>(
    line: &mut Line,
    hash: Hash,
    lanes: Lanes,
) -> bool {
    let products = products::<WIDE>(hash);
    if SPARING && found(line, products, lanes) {
        return false;
    }
    let mut positions = [[0u32; 4]; 4];
    for (four, product) in positions.iter_mut().zip(products) {
        // SAFETY: the array is four writable words; NEON is part of every aarch64.
        unsafe { vst1q_u32(four.as_mut_ptr(), vshrq_n_u32::<23>(product)) };
    }
    for at in positions.as_flattened().iter().take(lanes.probes) {
        line[(at >> 3) as usize & 63] |= 1 << (at & 7);
    }
    true
}

super::impl_kernel!();
