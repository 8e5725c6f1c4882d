//! Fowler–Noll–Vo, in the two forms that filters use.

/// FNV-1, 64 bits: multiply, *then* xor.
#[inline]
pub fn fnv1_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h: u64, byte| {
        h.wrapping_mul(0x100_0000_01b3) ^ u64::from(*byte)
    })
}

/// FNV-1a, 32 bits, the seed xored into the offset, stirred at the end as Bret Mulvey proposed.
#[inline]
pub fn fnv1a_32_mixed(bytes: impl IntoIterator<Item = u8>, seed: u32) -> u32 {
    let start = 2_166_136_261 ^ seed;
    let h = bytes
        .into_iter()
        .fold(start, |h: u32, byte| (h ^ u32::from(byte)).wrapping_mul(16_777_619));
    mix_32(h)
}

/// The same under two seeds at once: each is a chain of multiplications, and two chains take hardly
/// longer than one.
#[inline]
pub fn fnv1a_32_mixed_twice(bytes: &[u8], seeds: [u32; 2]) -> [u32; 2] {
    let start = seeds.map(|seed| 2_166_136_261 ^ seed);
    let h = bytes.iter().fold(start, |[a, b], byte| {
        let byte = u32::from(*byte);
        [(a ^ byte).wrapping_mul(16_777_619), (b ^ byte).wrapping_mul(16_777_619)]
    });
    h.map(mix_32)
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
