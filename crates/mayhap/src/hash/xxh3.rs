//! XXH3-64 with a seed: fast, portable, frozen since xxHash 0.8.

/// XXH3-64 of `bytes`.
#[inline]
pub(crate) fn xxh3_64(bytes: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed)
}

/// XXH3-64 of eight bytes, given as [`turned`] made it of the seed.
///
/// Written out here because the general function turns the seed anew for every key, a quarter of
/// the work for an integer.
#[inline(always)]
pub(crate) fn xxh3_64_of_eight(bytes: [u8; 8], turned: u64) -> u64 {
    const PRIME: u64 = 0x9fb2_1c65_1e98_df25;
    let x = u64::from_le_bytes(bytes).rotate_left(32) ^ turned;
    let x = (x ^ x.rotate_left(49) ^ x.rotate_left(24)).wrapping_mul(PRIME);
    let x = (x ^ (x >> 35).wrapping_add(8)).wrapping_mul(PRIME);
    x ^ (x >> 28)
}

/// What the seed becomes in keys of eight bytes.
pub(crate) const fn turned(seed: u64) -> u64 {
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
    fn eight_bytes_hash_as_ever() {
        for i in 0..1000u64 {
            let (key, seed) = (i.wrapping_mul(0x9e37_79b9_7f4a_7c15), i * i * i);
            let bytes = key.to_le_bytes();
            assert_eq!(xxh3_64_of_eight(bytes, turned(seed)), xxh3_64(&bytes, seed));
            assert_eq!(xxh3_64_of_eight(bytes, turned(!seed)), xxh3_64(&bytes, !seed));
        }
    }
}
