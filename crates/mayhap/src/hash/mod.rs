//! Bytes in, one number out: the functions, one a file, each with known answers.

pub(crate) mod sip;
mod xxh3;

pub use sip::Secret;
pub(crate) use sip::sip13_128;
#[cfg(feature = "std")]
pub(crate) use xxh3::{is_short, xxh3_64_side_by_side};
pub(crate) use xxh3::{turned, xxh3_64, xxh3_64_of_eight, xxh3_64_of_nine_to_sixteen};

/// A hashed key: the narrow waist of the library.
///
/// Left of it are text and encodings, right of it only integers. All 64 bits are uniformly
/// distributed and every kind may use any of them. Two keys share a hash with probability
/// 2⁻⁶⁴, so no filter of `n` keys answers better than `n`·2⁻⁶⁴; [`sizing`](crate::sizing) knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Hash(pub u64);

/// The high half of a 128-bit product: maps a uniform `x` onto `0..range` without dividing.
#[inline(always)]
pub(crate) const fn reduce(x: u64, range: u64) -> u64 {
    ((x as u128 * range as u128) >> 64) as u64
}

/// Both halves of a 128-bit product folded together: a cheap, strong mix of `x`.
#[cfg(feature = "std")]
#[inline(always)]
pub(crate) const fn fold(x: u64, by: u64) -> u64 {
    let product = x as u128 * by as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reduce_stays_below_its_range() {
        for range in [1, 2, 3, 1 << 40, u64::MAX] {
            assert_eq!(reduce(0, range), 0);
            assert_eq!(reduce(u64::MAX, range), range - 1);
        }
    }
}
