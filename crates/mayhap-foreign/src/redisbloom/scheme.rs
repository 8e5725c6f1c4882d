//! How RedisBloom turns a key into positions: two Murmur hashes, then a + i·b.

use crate::hash::{murmur2_32, murmur64a};
use crate::{Modulus, ids};
use mayhap::scheme::{Scheme, SchemeId};

/// MurmurHash64A twice (or, in filters from before 64-bit hashes, MurmurHash2 twice) and double
/// hashing modulo the bits of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Murmur {
    is_64: bool,
    range: Modulus,
}

/// A key's two hashes: the same for every link of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    start: u64,
    step: u64,
}

impl Murmur {
    /// For a link that uses `bits` bits, or 2 to the power of `n2` where that is not 0. `None` where
    /// nothing is left to probe.
    pub(super) fn new(is_64: bool, bits: u64, n2: u8) -> Option<Murmur> {
        let range = if n2 == 0 { bits } else { 1u64.checked_shl(n2.into())? };
        Some(Murmur { is_64, range: Modulus::new(range)? })
    }

    /// Positions are below it.
    pub(super) fn range(&self) -> u64 {
        self.range.get()
    }
}

#[inline]
pub(super) fn hash(is_64: bool, key: &[u8]) -> Pair {
    if is_64 {
        let start = murmur64a(key, 0xc6a4_a793_5bd1_e995);
        return Pair { start, step: murmur64a(key, start) };
    }
    let start = murmur2_32(key, 0x9747_b28c);
    Pair { start: start.into(), step: murmur2_32(key, start).into() }
}

impl Scheme for Murmur {
    type Hash = Pair;
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        if self.is_64 { ids::REDISBLOOM_64 } else { ids::REDISBLOOM_32 }
    }

    fn addressable_bits(&self, _: u64) -> u64 {
        self.range.get()
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> Pair {
        hash(self.is_64, bytes)
    }

    #[inline]
    fn positions(&self, hash: Pair, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let mut at = hash.start;
        (0..probes).map(move |_| {
            let position = self.range.rem(at);
            at = at.wrapping_add(hash.step);
            position
        })
    }
}
