//! Hash functions, one per file, each with known answers.

mod eight;
pub(crate) mod sip;
mod xxh3;

pub(crate) use eight::EightByteSeeds;
pub use sip::Secret;
pub(crate) use sip::sip13_128;
pub(crate) use xxh3::{flipped_seed, xxh3_64, xxh3_64_of_eight, xxh3_64_of_nine_to_sixteen};
#[cfg(feature = "std")]
pub(crate) use xxh3::{is_short, xxh3_64_side_by_side};

/// A hashed key: everything after hashing works on this type alone.
///
/// All 64 bits are uniformly distributed and every kind may use any of them. Two keys share a hash
/// with probability 2⁻⁶⁴, so no filter of `n` keys has a false-positive rate below `n`·2⁻⁶⁴;
/// [`sizing`](crate::sizing) accounts for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Hash(pub(crate) u64);

impl Hash {
    /// A hash from elsewhere: what [`to_u64`](Hash::to_u64) gave, or numbers that are uniformly
    /// distributed already. Hashes of another seed or secret give wrong answers.
    #[inline]
    pub const fn from_u64(hash: u64) -> Hash {
        Hash(hash)
    }

    /// Its 64 bits, to keep it.
    #[inline]
    pub const fn to_u64(self) -> u64 {
        self.0
    }
}

/// The high half of a 128-bit product: maps a uniform `x` onto `0..range` without dividing.
#[inline(always)]
pub(crate) const fn reduce(x: u64, range: u64) -> u64 {
    ((x as u128 * range as u128) >> 64) as u64
}

/// Both halves of a 128-bit product folded together: a cheap, strong mix of `x`.
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
