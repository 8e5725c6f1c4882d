//! Static filter of fingerprints.

pub(super) mod build;
mod kind;
mod peel;
#[cfg(test)]
mod tests;

use crate::Key;
use crate::hash::Hash;
use crate::kernel::{AlignedBuf, Relocate, Shard, ShardDirectory};
use crate::scheme::{Native, Scheme};
use crate::sizing::{FuseShape, collision_rate};
use crate::spec::Spec;
use std::fmt;

/// A small static filter, for keys that are all known in advance: a binary fuse filter.
///
/// Never a false negative. The rate is 2⁻ʷ for fingerprints of `w` bits, the fewest that meet the
/// [`Spec`], and does not depend on the number of keys: the spec's capacity is not a limit. 1%
/// costs 7.9 bits per key, where [`Blocked`](crate::Blocked) takes 9.9. A lookup is three
/// neighbouring cache misses at once. Rates go down to 2⁻³².
///
/// It is built once, from all keys, and takes no more: where a fingerprint goes depends on all
/// the others. For the same reason two of them have no union and no intersection. Keep the keys
/// and rebuild it, or choose [`Blocked`](crate::Blocked).
///
/// ```
/// # use mayhap::Fuse;
/// let known = Fuse::from_keys(0.01, ["ada", "bob", "cyd"])?;
/// assert!(known.contains("ada"));
/// assert!(!known.contains("eve")); // certainly absent
/// assert_eq!((known.keys(), known.width()), (3, 7));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone)]
pub struct Fuse<B = AlignedBuf> {
    /// A directory of shards, then their fingerprints.
    body: B,
    /// What the directory says.
    table: ShardDirectory,
    spec: Spec,
    keys: u64,
}

impl<B: AsRef<[u8]>> Fuse<B> {
    /// A filter over bytes that [`as_bytes`](Fuse::as_bytes) gave: a file's, mapped or read.
    ///
    /// `None` where they are not a filter of so many shards and this width: every record of the
    /// directory is checked, so that no lookup can leave the bytes whatever they hold. That the
    /// fingerprints are those of the keys only a checksum can tell.
    ///
    /// ```
    /// # use mayhap::{Fuse, Spec};
    /// let spec = Spec::new(1_000, 0.01)?;
    /// let built = Fuse::with_spec(spec, 0..1000u64)?;
    /// let bytes = built.as_bytes();
    /// let opened = Fuse::from_bytes(spec, built.keys(), built.shards(), built.width(), bytes).unwrap();
    /// assert!((0..1000u64).all(|key| opened.contains(key)));
    /// let short = &bytes[..bytes.len() - 1];
    /// assert!(Fuse::from_bytes(spec, built.keys(), built.shards(), built.width(), short).is_none());
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn from_bytes(spec: Spec, keys: u64, shards: u64, width: u32, body: B) -> Option<Fuse<B>> {
        let table = ShardDirectory::read(body.as_ref(), shards, width)?;
        Some(Fuse { body, table, spec, keys })
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.table.contains(self.body.as_ref(), hash)
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        self.spec.scheme_ref().check_origin(hashes);
        answers.clear();
        answers.resize(hashes.len(), false);
        self.table.contains_batch(self.body.as_ref(), hashes, answers);
    }

    /// Hash a key once, to ask for it later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme().hash(key)
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// The capacity and rate it was made for.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// How it is sized: as the formula has it, while [`bits`](Fuse::bits) is what it takes.
    pub fn shape(&self) -> FuseShape {
        FuseShape { keys: self.keys, width: self.width() }
    }

    /// Distinct keys it was built from.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Bits of a fingerprint.
    pub fn width(&self) -> u32 {
        self.table.width()
    }

    /// Shards it is cut into.
    pub fn shards(&self) -> u64 {
        self.table.shards().len() as u64
    }

    /// Everything in bits: directory, fingerprints and the gaps between.
    pub fn bits(&self) -> u64 {
        self.as_bytes().len() as u64 * 8
    }

    /// The directory and the fingerprints, as [`from_bytes`](Fuse::from_bytes) takes them.
    pub fn as_bytes(&self) -> &[u8] {
        self.body.as_ref()
    }

    /// Always 1 (and 0 without keys): every slot is taken by what it was built from.
    pub fn fill(&self) -> f64 {
        if self.keys == 0 { 0.0 } else { 1.0 }
    }

    /// How many distinct keys are in. Fingerprints do not tell, so this is what was counted.
    pub fn estimate(&self) -> u64 {
        self.keys
    }

    /// The false-positive rate: 2⁻ʷ in shards with keys, and the hashes' own collisions.
    pub fn fpr_now(&self) -> f64 {
        let in_slots = 0.5f64.powi(self.width() as i32);
        let rate = |shard: &Shard| shard.settled().map_or(in_slots, f64::from);
        let mean = self.table.shards().iter().map(rate).sum::<f64>() / self.shards() as f64;
        (mean + collision_rate(self.keys)).min(1.0)
    }
}

impl Fuse {
    /// Lets a defragmenting allocator relocate the buffers; no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.body.move_by(memory);
    }
}

impl<B: AsRef<[u8]>> fmt::Display for Fuse<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "fuse: {} keys, {} bytes, fingerprints of {} bits in {} {}, rate {:.3e}, {:.3e} asked for",
            self.keys,
            self.as_bytes().len(),
            self.width(),
            self.shards(),
            if self.shards() == 1 { "shard" } else { "shards" },
            self.fpr_now(),
            self.spec.fpr(),
        )
    }
}
