//! How valkey-bloom turns a key into positions: SipHash under two keys, then a + i·b.

use crate::hash::{KeyLanes, MultiLane, sip13_of_slice_of_rows, sip13_of_slice_twice};
use crate::{Modulus, ids};
use mayhap::scheme::{Scheme, SchemeId};

/// Later probes are taken modulo this prime, the largest below 2⁶⁴, before modulo the bits.
const PRIME: u64 = 0xffff_ffff_ffff_ffc5;

/// What keeps its hashes from being foreseen: two SipHash keys, the same for all filters of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The keys, one behind the other.
    pub bytes: [u8; 32],
    /// Whether the server drew it at random, which it does unless told otherwise.
    pub is_random: bool,
}

impl Seed {
    /// The one that servers use where random seeds are turned off. Anybody can foresee it.
    pub const FIXED: Seed = Seed {
        bytes: [
            89, 15, 245, 34, 234, 120, 17, 218, 167, 20, 216, 9, 59, 62, 123, 217, 29, 137, 138,
            115, 62, 152, 136, 135, 48, 127, 151, 205, 40, 7, 51, 131,
        ],
        is_random: false,
    };

    /// One drawn at random by the caller.
    pub const fn random(bytes: [u8; 32]) -> Seed {
        Seed { bytes, is_random: true }
    }

    fn keys(&self) -> [[u8; 16]; 2] {
        let half = |half: usize| std::array::from_fn(|i| self.bytes[16 * half + i]);
        [half(0), half(1)]
    }

    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> Pair {
        hash(&self.keys(), key)
    }
}

impl MultiLane<16> for Seed {
    type Word = u64;
    type Hash = Pair;

    #[inline(always)]
    fn hash_lanes(&self, _: &[&[u8]; 16], rows: &KeyLanes<u64, 16>) -> [Pair; 16] {
        let [first, second] = self.keys();
        let first = sip13_of_slice_of_rows(rows, &first);
        let second = sip13_of_slice_of_rows(rows, &second);
        std::array::from_fn(|i| Pair { first: first[i], second: second[i] })
    }

    fn hash_one(&self, key: &[u8]) -> Pair {
        self.hash(key)
    }
}

#[inline]
fn hash(keys: &[[u8; 16]; 2], key: &[u8]) -> Pair {
    let [first, second] = sip13_of_slice_twice(key, keys);
    Pair { first, second }
}

/// SipHash-1-3 under two keys, and double hashing modulo a prime and the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sip {
    /// Two seeds are the same whether they were drawn or not.
    keys: [[u8; 16]; 2],
    bits: Modulus,
}

/// A key's two hashes: the same for every filter of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    first: u64,
    second: u64,
}

impl Sip {
    /// For so many bits; `None` for none.
    pub(super) fn new(seed: &Seed, bits: u64) -> Option<Sip> {
        Modulus::new(bits).map(|bits| Sip { keys: seed.keys(), bits })
    }
}

impl Scheme for Sip {
    type Hash = Pair;
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        ids::VALKEY_BLOOM
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> Pair {
        hash(&self.keys, bytes)
    }

    #[inline]
    fn positions(&self, hash: Pair, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let (bits, Pair { first, second }) = (self.bits, hash);
        (0..u64::from(probes)).map(move |i| {
            let x = match i {
                0 => first,
                1 => second,
                _ => {
                    let x = first.wrapping_add(i.wrapping_mul(second));
                    if x < PRIME { x } else { x - PRIME }
                }
            };
            bits.rem(x)
        })
    }
}
