//! Fowler–Noll–Vo, in the forms that filters use.
//!
//! Each byte waits for the product of the one before it, four cycles long, so that a key alone leaves
//! most of a core idle. Where many keys are at hand, several are hashed side by side.

use super::lanes::KeyLanes;

/// Keys hashed side by side: more would wait for the one unit of a core that multiplies.
pub const LANES: usize = 4;

const START_32: u32 = 2_166_136_261;
const START_64: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME_32: u32 = 16_777_619;
const PRIME_64: u64 = 0x100_0000_01b3;

#[inline(always)]
const fn step_1_64(h: u64, byte: u8) -> u64 {
    h.wrapping_mul(PRIME_64) ^ byte as u64
}

#[inline(always)]
const fn step_1a_64(h: u64, unit: u16) -> u64 {
    (h ^ unit as u64).wrapping_mul(PRIME_64)
}

#[inline(always)]
const fn step_1a_32(h: u32, byte: u8) -> u32 {
    (h ^ byte as u32).wrapping_mul(PRIME_32)
}

/// FNV-1, 64 bits: multiply, *then* xor.
#[inline]
pub fn fnv1_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(START_64, |h, byte| step_1_64(h, *byte))
}

/// The same of several keys.
#[inline]
pub fn fnv1_64_of_each(keys: [&[u8]; LANES]) -> [u64; LANES] {
    side_by_side(keys, START_64, step_1_64)
}

/// FNV-1a, 64 bits, of units that may be wider than a byte.
#[inline]
pub fn fnv1a_64(units: impl IntoIterator<Item = u16>) -> u64 {
    units.into_iter().fold(START_64, step_1a_64)
}

/// The same of several keys, whose units are their bytes.
#[inline]
pub fn fnv1a_64_of_each(keys: [&[u8]; LANES]) -> [u64; LANES] {
    side_by_side(keys, START_64, |h, byte| step_1a_64(h, byte.into()))
}

/// FNV-1a, 32 bits, the seed xored into the offset, stirred at the end as Bret Mulvey proposed.
#[inline]
pub fn fnv1a_32_mixed(bytes: impl IntoIterator<Item = u8>, seed: u32) -> u32 {
    mix_32(bytes.into_iter().fold(START_32 ^ seed, step_1a_32))
}

/// The same under two seeds at once: two chains take hardly longer than one.
#[inline]
pub fn fnv1a_32_mixed_twice(bytes: &[u8], seeds: [u32; 2]) -> [u32; 2] {
    let start = seeds.map(|seed| START_32 ^ seed);
    bytes.iter().fold(start, |h, byte| h.map(|h| step_1a_32(h, *byte))).map(mix_32)
}

/// The same of keys that are laid in rows.
#[inline(always)]
pub(crate) fn fnv1a_32_mixed_twice_of_rows<const N: usize>(
    keys: &KeyLanes<u32, N>,
    seeds: [u32; 2],
) -> [[u32; 2]; N] {
    let mut h = seeds.map(|seed| [START_32 ^ seed; N]);
    for row in keys.shared() {
        for place in 0..4 {
            for h in &mut h {
                (0..N).for_each(|i| h[i] = step_1a_32(h[i], (row[i] >> (8 * place)) as u8));
            }
        }
    }
    let bytes = keys.bytes();
    for (before, row) in keys.ragged() {
        for place in 0..4 {
            for h in &mut h {
                for i in 0..N {
                    let next = step_1a_32(h[i], (row[i] >> (8 * place)) as u8);
                    h[i] = if before + place < bytes[i] { next } else { h[i] };
                }
            }
        }
    }
    let [a, b] = h.map(|h| h.map(mix_32));
    std::array::from_fn(|i| [a[i], b[i]])
}

/// Keys in step as far as the shortest goes, and then each to its own end.
#[inline(always)]
fn side_by_side<H: Copy>(keys: [&[u8]; LANES], start: H, step: impl Fn(H, u8) -> H) -> [H; LANES] {
    let shared = keys.map(<[u8]>::len).into_iter().min().unwrap_or(0);
    let [a, b, c, d] = keys.map(|key| &key[..shared]);
    let mut h = [start; LANES];
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        h = [step(h[0], *a), step(h[1], *b), step(h[2], *c), step(h[3], *d)];
    }
    std::array::from_fn(|lane| keys[lane][shared..].iter().fold(h[lane], |h, byte| step(h, *byte)))
}

/// The stirring alone.
#[inline(always)]
pub const fn mix_32(mut a: u32) -> u32 {
    a = a.wrapping_add(a << 13);
    a ^= a >> 7;
    a = a.wrapping_add(a << 3);
    a ^= a >> 17;
    a.wrapping_add(a << 5)
}
