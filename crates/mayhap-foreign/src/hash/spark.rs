//! Spark's `Murmur3_x86_32.hashUnsafeBytes`: MurmurHash3 but for its tail.

use super::lanes::KeyLanes;
use super::le32;

/// Spark's hash of bytes. Each byte behind the last whole word is sign-extended and mixed as if
/// it were a word, where MurmurHash3 mixes all of them together and only once. On eight bytes it
/// is Spark's `hashLong` of the little-endian number.
#[inline]
pub fn spark_murmur3(bytes: &[u8], seed: u32) -> u32 {
    let (blocks, rest) = bytes.as_chunks::<4>();
    let h = blocks.iter().fold(seed, |h, block| mix(h, le32(block, 0)));
    let h = rest.iter().fold(h, |h, byte| mix(h, i32::from(*byte as i8) as u32));
    finish(h, bytes.len() as u32)
}

/// The same of keys that are laid in rows, each under a seed of its own.
#[inline(always)]
pub(crate) fn spark_murmur3_of_rows<const N: usize>(
    keys: &KeyLanes<u32, N>,
    mut h: [u32; N],
) -> [u32; N] {
    for row in keys.shared() {
        (0..N).for_each(|i| h[i] = mix(h[i], row[i]));
    }
    let bytes = keys.bytes();
    for (before, row) in keys.ragged() {
        for i in 0..N {
            h[i] = if before + 4 <= bytes[i] { mix(h[i], row[i]) } else { h[i] };
        }
    }
    let rest = keys.rest();
    let most = bytes.iter().fold(0, |most, bytes| most.max(bytes % 4));
    for place in 0..most {
        for i in 0..N {
            let next = mix(h[i], i32::from((rest[i] >> (8 * place)) as i8) as u32);
            h[i] = if place < bytes[i] % 4 { next } else { h[i] };
        }
    }
    std::array::from_fn(|i| finish(h[i], bytes[i]))
}

#[inline(always)]
const fn finish(h: u32, bytes: u32) -> u32 {
    let mut h = h ^ bytes;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[inline(always)]
const fn mix(h: u32, k: u32) -> u32 {
    let k = k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}
