//! Pseudorandom numbers in a nanosecond.

/// SplitMix64 of a number: a permutation, so different numbers stay different.
#[inline(always)]
pub fn splitmix(i: u64) -> u64 {
    let mut x = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The `i`th random number below `range`.
#[inline(always)]
pub fn below(range: u64, i: u64) -> u64 {
    ((u128::from(splitmix(i)) * u128::from(range)) >> 64) as u64
}
