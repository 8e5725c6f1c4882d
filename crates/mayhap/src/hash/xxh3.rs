//! XXH3-64 with a seed: fast, portable, frozen since xxHash 0.8.

#[cfg(feature = "std")]
use crate::Key;

/// XXH3-64 of `bytes`.
#[inline]
pub(crate) fn xxh3_64(bytes: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed)
}

/// XXH3-64 of eight bytes, with the seed prepared by [`flipped_seed`].
///
/// Written out here because the general function prepares the seed for every key, a quarter of the
/// work for an integer.
#[inline(always)]
pub(crate) fn xxh3_64_of_eight(bytes: [u8; 8], flipped_seed: u64) -> u64 {
    const PRIME: u64 = 0x9fb2_1c65_1e98_df25;
    let x = u64::from_le_bytes(bytes).rotate_left(32) ^ flipped_seed;
    let x = (x ^ x.rotate_left(49) ^ x.rotate_left(24)).wrapping_mul(PRIME);
    let x = (x ^ (x >> 35).wrapping_add(8)).wrapping_mul(PRIME);
    x ^ (x >> 28)
}

/// XXH3-64 of nine to sixteen bytes, the length of most ids and short digests; `None` for other
/// lengths.
///
/// Written out here because the general function is too long to be inlined, and the calls would
/// take half the time of a loop over keys.
#[inline(always)]
pub(crate) fn xxh3_64_of_nine_to_sixteen(bytes: &[u8], seed: u64) -> Option<u64> {
    if !is_short(bytes) {
        return None;
    }
    let first = u64::from_le_bytes(*bytes.first_chunk()?);
    let last = u64::from_le_bytes(*bytes.last_chunk()?);
    Some(short(first, last, bytes.len() as u64, seed, |low, high| {
        let product = u128::from(low) * u128::from(high);
        (product as u64, (product >> 64) as u64)
    }))
}

/// Keys that are hashed in parallel.
#[cfg(feature = "std")]
pub(crate) const SIDE_BY_SIDE: usize = 16;

/// The same for many keys; `None` if one of them has another length.
///
/// Plain loops over arrays, which the compiler vectorizes: twice as fast as one by one.
#[cfg(feature = "std")]
#[inline(always)]
pub(crate) fn xxh3_64_side_by_side<K: Key>(
    keys: &[K; SIDE_BY_SIDE],
    seed: u64,
) -> Option<[u64; SIDE_BY_SIDE]> {
    let [mut low, mut high, mut bytes] = [[0; SIDE_BY_SIDE]; 3];
    for (lane, key) in keys.iter().enumerate() {
        let key = key.key_bytes();
        let key = key.as_ref();
        if !is_short(key) {
            return None;
        }
        low[lane] = u64::from_le_bytes(*key.first_chunk()?);
        high[lane] = u64::from_le_bytes(*key.last_chunk()?);
        bytes[lane] = key.len() as u64;
    }
    let mut hashes = [0; SIDE_BY_SIDE];
    for lane in 0..SIDE_BY_SIDE {
        hashes[lane] = short(low[lane], high[lane], bytes[lane], seed, |low, high| {
            // A product of 128 bits from four of 64.
            let halves = |x: u64| (x & 0xffff_ffff, x >> 32);
            let ((a, b), (c, d)) = (halves(low), halves(high));
            let (low, cross, other, high) = (a * c, a * d, b * c, b * d);
            let (cross, other) = (halves(cross), halves(other));
            let middle = (low >> 32) + cross.0 + other.0;
            let low = low & 0xffff_ffff | middle << 32;
            (low, high + cross.1 + other.1 + (middle >> 32))
        });
    }
    Some(hashes)
}

/// Whether a key has nine to sixteen bytes.
#[inline(always)]
pub(crate) fn is_short(key: &[u8]) -> bool {
    (9..=16).contains(&key.len())
}

/// XXH3-64 of nine to sixteen bytes: of the first and the last eight. `times` returns the low and
/// the high half of a product.
#[inline(always)]
fn short(
    first: u64,
    last: u64,
    bytes: u64,
    seed: u64,
    times: impl Fn(u64, u64) -> (u64, u64),
) -> u64 {
    const LOW: u64 = 0x6782_737b_ea42_39b9;
    const HIGH: u64 = 0xaf56_bc3b_0996_523a;
    const PRIME: u64 = 0x1656_6791_9e37_79f9;
    let (low, high) = (first ^ LOW.wrapping_add(seed), last ^ HIGH.wrapping_sub(seed));
    let (product_low, product_high) = times(low, high);
    let x = bytes
        .wrapping_add(low.swap_bytes())
        .wrapping_add(high)
        .wrapping_add(product_low ^ product_high);
    let x = (x ^ (x >> 37)).wrapping_mul(PRIME);
    x ^ (x >> 32)
}

/// The form of the seed for keys of eight bytes.
pub(crate) const fn flipped_seed(seed: u64) -> u64 {
    const SECRET: u64 = 0xc73a_b174_c5ec_d5a2;
    SECRET.wrapping_sub(seed ^ ((seed as u32).swap_bytes() as u64) << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference implementation (libxxhash 0.8), for the short, seeded and long paths.
    #[test]
    fn known_answers() {
        assert_eq!(xxh3_64(b"", 0), 0x2d06_8005_38d3_94c2);
        assert_eq!(xxh3_64(b"ada", 0), 0x691d_4463_952c_802f);
        assert_eq!(xxh3_64(b"ada", 42), 0x5dae_ca8f_f8ea_1194);
        let long: Vec<u8> = (0..400u32).map(|i| (i % 200) as u8).collect();
        assert_eq!(xxh3_64(&long, 42), 0x672e_7a92_a0e4_6ea8);
    }

    #[test]
    fn nine_to_sixteen_bytes_hash_as_ever() {
        let bytes: Vec<u8> = (0..40u32).map(|i| (i * 37 % 251) as u8).collect();
        for seed in [0, 1, 42, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
            for length in 0..40 {
                let key = &bytes[..length];
                let want = (9..=16).contains(&length).then(|| xxh3_64(key, seed));
                assert_eq!(xxh3_64_of_nine_to_sixteen(key, seed), want, "{length} bytes");
            }
        }
    }

    #[test]
    fn side_by_side_they_hash_as_alone() {
        let bytes: Vec<u8> = (0..400u32).map(|i| (i * 37 % 251) as u8).collect();
        let keys: [&[u8]; SIDE_BY_SIDE] = std::array::from_fn(|i| &bytes[i * 17..][..9 + i % 8]);
        for seed in [0, 1, 42, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
            let want = keys.map(|key| xxh3_64(key, seed));
            assert_eq!(xxh3_64_side_by_side(&keys, seed), Some(want));
        }
        for odd in [&bytes[..8], &bytes[..17]] {
            let mut keys = keys;
            keys[7] = odd;
            assert_eq!(xxh3_64_side_by_side(&keys, 7), None);
        }
    }

    #[test]
    fn eight_bytes_hash_as_ever() {
        for i in 0..1000u64 {
            let (key, seed) = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i * i * i);
            let bytes = key.to_le_bytes();
            assert_eq!(xxh3_64_of_eight(bytes, flipped_seed(seed)), xxh3_64(&bytes, seed));
            assert_eq!(xxh3_64_of_eight(bytes, flipped_seed(!seed)), xxh3_64(&bytes, !seed));
        }
    }
}
