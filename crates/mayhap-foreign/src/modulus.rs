//! Remainders by a divisor that stays the same.

/// A divisor with its reciprocal: `x mod n` by two multiplications, a fraction of what the machine's
/// division costs, and exact for every `x` and `n`.
///
/// Most families reduce a hash by a true remainder, several times a key, where our own scheme
/// multiplies once. After Barrett, with 64 significant bits of the reciprocal: the quotient that it
/// gives is right, or once in at least 2ˢ times, for n from 2ˢ on, one too small. So what is left is the
/// remainder, or hardly ever n more than it, which a processor foresees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    divisor: u64,
    /// ⌊(2⁶⁴⁺ˢ − 1) / divisor⌋, which takes 64 bits.
    reciprocal: u64,
    /// The bits of the divisor, but one.
    s: u32,
}

impl Modulus {
    /// `None` for 0, by which nothing can be divided.
    pub const fn new(divisor: u64) -> Option<Modulus> {
        let Some(s) = divisor.checked_ilog2() else { return None };
        let reciprocal = ((u128::MAX >> (64 - s)) / divisor as u128) as u64;
        Some(Modulus { divisor, reciprocal, s })
    }

    /// The divisor.
    pub const fn get(self) -> u64 {
        self.divisor
    }

    /// `x` modulo the divisor.
    #[inline(always)]
    pub const fn rem(self, x: u64) -> u64 {
        let quotient = ((self.reciprocal as u128 * x as u128) >> 64) as u64 >> self.s;
        let rest = x.wrapping_sub(quotient.wrapping_mul(self.divisor));
        if rest < self.divisor { rest } else { rest - self.divisor }
    }

    /// A signed number modulo the divisor, from 0 on. Without a jump, because
    /// half of all hashes are negative and nobody foresees which: −1 − y is as far below n as y above −1.
    #[inline(always)]
    pub const fn rem_signed(self, x: i64) -> u64 {
        let is_negative = (x >> 63) as u64;
        let rem = self.rem(x as u64 ^ is_negative);
        (rem ^ is_negative).wrapping_add(self.divisor & is_negative)
    }

    /// The sum of two numbers below the divisor, modulo it: for divisors up to 2⁶², and without a
    /// jump, because half of all sums are too large and nobody foresees which.
    #[inline(always)]
    pub const fn add(self, x: u64, y: u64) -> u64 {
        let less = x.wrapping_add(y).wrapping_sub(self.divisor);
        let is_negative = ((less as i64) >> 63) as u64;
        less.wrapping_add(self.divisor & is_negative)
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

        #[test]
        fn signed_numbers_are_reduced_to_what_is_not_negative(x: i64, n in 1..=i64::MAX, shift in 0..63u32) {
            let n = (n >> shift).max(1);
            let modulus = Modulus::new(n as u64).unwrap();
            prop_assert_eq!(modulus.rem_signed(x), x.rem_euclid(n) as u64);
            if n <= 1 << 62 {
                let (a, b) = (modulus.rem_signed(x), modulus.rem_signed(x.wrapping_mul(7)));
                prop_assert_eq!(modulus.add(a, b), (a + b) % n as u64);
            }
        }
    }
}
