//! XXH3-64 with a seed: fast, portable, frozen since xxHash 0.8.

/// XXH3-64 of `bytes`.
#[inline]
pub(crate) fn xxh3_64(bytes: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed)
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
}
