//! Remainders by a divisor that stays the same.

/// A divisor with its reciprocal: `x mod n` by multiplication, two to four times as fast as the
/// machine's division, and exact for every `x` and `n`.
///
/// Most families reduce a hash by a true remainder, several times a key, where our own scheme
/// multiplies. After Lemire, Kaser, Kurz, "Faster remainder by direct computation" (2019): with
/// 128 fractional bits the method is exact for 64-bit operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    divisor: u64,
    /// ⌈2¹²⁸ / divisor⌉, modulo 2¹²⁸ (so 0 for 1, whose remainders are all 0).
    reciprocal: u128,
}

impl Modulus {
    /// `None` for 0, by which nothing can be divided.
    pub const fn new(divisor: u64) -> Option<Modulus> {
        if divisor == 0 {
            return None;
        }
        let reciprocal = (u128::MAX / divisor as u128).wrapping_add(1);
        Some(Modulus { divisor, reciprocal })
    }

    /// The divisor.
    pub const fn get(self) -> u64 {
        self.divisor
    }

    /// `x` modulo the divisor.
    #[inline(always)]
    pub const fn rem(self, x: u64) -> u64 {
        let fraction = self.reciprocal.wrapping_mul(x as u128);
        let divisor = self.divisor as u128;
        let low = ((fraction as u64 as u128) * divisor) >> 64;
        let high = (fraction >> 64) * divisor;
        ((high + low) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn there_is_no_remainder_by_zero() {
        assert_eq!(Modulus::new(0), None);
    }

    #[test]
    fn extremes_are_exact() {
        let edges = [1, 2, 3, 64, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX];
        for n in edges {
            for x in edges.into_iter().flat_map(|e| [e.wrapping_sub(1), e, e.wrapping_add(1)]) {
                assert_eq!(Modulus::new(n).unwrap().rem(x), x % n, "{x} mod {n}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_remainder_is_that_of_division(x: u64, n in 1..=u64::MAX, shift in 0..64u32) {
            let n = (n >> shift).max(1);
            prop_assert_eq!(Modulus::new(n).unwrap().rem(x), x % n);
            prop_assert_eq!(Modulus::new(n).unwrap().rem(x >> shift), (x >> shift) % n);
        }
    }
}
