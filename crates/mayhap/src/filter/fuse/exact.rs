//! One bit a key that is not left to chance: yes for some keys, no for others.
//!
//! A fuse filter with fingerprints of one bit says yes where three slots make a key's bit. Keys
//! that are to be answered with no are written with that bit flipped; so all keys it was built
//! from have the answer they should, and all others one or the other, half of them each.

use super::Fuse;
use super::build::FuseBuilder;
use crate::hash::Hash;
use crate::spec::{Spec, SpecError};

/// An exact filter half built.
pub(in crate::filter) struct Exact {
    building: FuseBuilder,
    hashes: Vec<Hash>,
}

impl Exact {
    /// One of so many hashes in all.
    pub fn new(spec: Spec, hashes: u64) -> Result<Exact, SpecError> {
        Ok(Exact { building: FuseBuilder::new(spec, 1, hashes, 1)?, hashes: Vec::new() })
    }

    /// Shards it is cut into, each with its part of the hashes as they are ordered.
    pub fn shards(&self) -> u64 {
        self.building.shards
    }

    /// Build the next shard: `yes` is sorted, and all hashes are different. `false`: they could
    /// not be placed, and answers are not exact.
    pub fn shard(&mut self, yes: &[Hash], no: &[Hash]) -> Result<bool, SpecError> {
        let keys = yes.len() + no.len();
        self.hashes.clear();
        let refused = SpecError::Memory { bytes: keys as u64 * 8 };
        self.hashes.try_reserve(keys).map_err(|_| refused)?;
        self.hashes.extend_from_slice(yes);
        self.hashes.extend_from_slice(no);
        let flip = |hash| u64::from(yes.binary_search(&hash).is_err());
        self.building.shard(&mut self.hashes, flip)
    }

    /// The filter, when all shards are built.
    pub fn finish(self) -> Result<Fuse, SpecError> {
        self.building.finish()
    }
}
