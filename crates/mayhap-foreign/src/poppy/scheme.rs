//! From a key to its bucket, its bits there, and its bit in the cache.

use crate::hash::wyhash;
use crate::{Modulus, ids};
use mayhap::scheme::{Scheme, SchemeId};

pub(super) const BUCKET_BITS: u64 = 1 << 15;
pub(super) const BUCKET_BYTES: u64 = BUCKET_BITS / 8;
const SEED: u64 = 0x706f_7070_7953_3d42; // "poppyS=B"

/// A key's hash. Eight bytes or fewer are their own; integers that rise fall into neighbouring bits.
#[inline]
pub fn hash_key(bytes: &[u8]) -> u64 {
    if bytes.len() <= 8 {
        return bytes.iter().rev().fold(0, |h, byte| h << 8 | u64::from(*byte));
    }
    wyhash(bytes, SEED)
}

/// What chooses bucket and cache bit: one step of a xorshift generator.
#[inline(always)]
const fn place(mut h: u64) -> u64 {
    h ^= h << 12;
    h ^= h >> 25;
    h ^= h << 27;
    h.wrapping_mul(2_685_821_657_736_338_717)
}

/// The scheme of the buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buckets(Modulus);

impl Buckets {
    pub(super) fn new(buckets: u64) -> Option<Buckets> {
        Modulus::new(buckets).map(Buckets)
    }
}

impl Scheme for Buckets {
    type Hash = u64;
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        ids::POPPY_V2
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        hash_key(bytes)
    }

    #[inline]
    fn positions(&self, hash: u64, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let start = self.0.rem(place(hash)) * BUCKET_BITS;
        let (mut x, mut step) = (hash, 0u64);
        (0..u64::from(probes)).map(move |i| {
            match i {
                0 => {}
                1 => {
                    step = wyhash(&hash.to_be_bytes(), SEED);
                    x = x.wrapping_add(step);
                }
                _ => {
                    step = step.wrapping_add(i - 1);
                    x = x.wrapping_add(step);
                }
            }
            start + x % BUCKET_BITS
        })
    }

    /// Buckets fill unevenly: a stranger passes as often as the bucket it falls into is full.
    fn fpr_now(&self, bytes: &[u8], _: u64, probes: u32) -> f64 {
        let passes = |bucket: &[u8]| {
            let ones: u32 = bucket.iter().map(|byte| byte.count_ones()).sum();
            (f64::from(ones) / BUCKET_BITS as f64).powi(probes as i32)
        };
        bytes.chunks(BUCKET_BYTES as usize).map(passes).sum::<f64>() / self.0.get() as f64
    }
}

/// The scheme of the cache: one bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cache {
    mask: u64,
}

impl Cache {
    /// `None` where the bits are not a power of two.
    pub(super) fn new(bits: u64) -> Option<Cache> {
        bits.is_power_of_two().then(|| Cache { mask: bits - 1 })
    }
}

impl Scheme for Cache {
    type Hash = u64;
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        ids::POPPY_V2
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        hash_key(bytes)
    }

    #[inline]
    fn positions(&self, hash: u64, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let at = place(hash) & self.mask;
        (0..probes).map(move |_| at)
    }
}
