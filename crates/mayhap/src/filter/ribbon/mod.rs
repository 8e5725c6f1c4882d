//! Static filter of linear equations: the smallest kind.

mod assembly;
mod band;
mod build;
mod exact;
mod kind;
mod shard;
mod sort;
#[cfg(test)]
mod tests;

pub use build::{RibbonBuilder, RibbonShard};
pub(super) use exact::ExactBuilder;
pub use exact::ExactRibbon;

use crate::Key;
use crate::hash::Hash;
use crate::kernel::ribbon::Directory;
use crate::kernel::{AlignedBuf, Relocate};
use crate::scheme::{Native, Scheme};
use crate::sizing::{RibbonShape, Slots64, collision_rate};
use crate::spec::Spec;
use std::fmt;

/// The smallest filter, for keys that are all known beforehand: bumped ribbon retrieval (BuRR).
///
/// Never a false negative. It takes 1.004 to 1.016 times the information bound log2(1/fpr), at
/// any rate from 50% to 2⁻³²: 6.75 bits per key at 1%, where [`Fuse`](crate::Fuse) takes 7.9 and
/// [`Blocked`](crate::Blocked) 9.9. The rate does not depend on the number of keys: the spec's
/// capacity is not a limit. A lookup reads a byte of a small table and then one or two
/// neighbouring cache lines.
///
/// It is built once, from all keys, and takes no more; two of them have no union and no
/// intersection. Choose [`Fuse`](crate::Fuse) where building must be quick, and
/// [`Blocked`](crate::Blocked) where keys are added.
///
/// ```
/// # use mayhap::Ribbon;
/// let known = Ribbon::from_keys(0.01, ["ada", "bob", "cyd"])?;
/// assert!(known.contains("ada"));
/// assert!(!known.contains("eve")); // certainly absent
/// assert_eq!(known.keys(), 3);
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone)]
pub struct Ribbon<B = AlignedBuf> {
    /// A directory of shards, then their layers.
    body: B,
    /// What the directory says.
    directory: Directory<Slots64>,
    spec: Spec,
    keys: u64,
}

impl<B: AsRef<[u8]>> Ribbon<B> {
    /// A filter over bytes that [`as_bytes`](Ribbon::as_bytes) gave: a file's, mapped or read.
    ///
    /// `None` where they are not a filter of this many shards and columns: every record of the
    /// directory is checked, so that no lookup can leave the bytes whatever they hold. That the
    /// blocks are those of the keys only a checksum can tell.
    ///
    /// ```
    /// # use mayhap::{Ribbon, Spec};
    /// let spec = Spec::new(1_000, 0.01)?;
    /// let built = Ribbon::with_spec(spec, 0..1000u64)?;
    /// let (shape, bytes) = (built.shape(), built.as_bytes());
    /// let open = |bytes| Ribbon::from_bytes(spec, 1_000, 1, shape.columns, shape.wide, bytes);
    /// let opened = open(bytes).unwrap();
    /// assert!((0..1000u64).all(|key| opened.contains(key)));
    /// assert!(open(&bytes[..bytes.len() - 1]).is_none());
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn from_bytes(
        spec: Spec,
        keys: u64,
        shards: u64,
        columns: u32,
        wide: u32,
        body: B,
    ) -> Option<Ribbon<B>> {
        let directory = Directory::read(body.as_ref(), shards, columns, wide)?;
        Some(Ribbon { body, directory, spec, keys })
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.directory.contains(self.body.as_ref(), hash)
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        answers.clear();
        answers.resize(hashes.len(), false);
        self.directory.contains_batch(self.body.as_ref(), hashes, answers);
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

    /// What it was made for.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// How it is sized: as the formula has it, while [`bits`](Ribbon::bits) is what it takes.
    pub fn shape(&self) -> RibbonShape {
        let (columns, wide) = (self.directory.columns(), self.directory.wide());
        RibbonShape { keys: self.keys, columns, wide }
    }

    /// Distinct keys it was built from.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Shards it is cut into.
    pub fn shards(&self) -> u64 {
        self.directory.shards()
    }

    /// Everything in bits: directory, thresholds, blocks and padding.
    pub fn bits(&self) -> u64 {
        self.as_bytes().len() as u64 * 8
    }

    /// All of its bytes, as [`from_bytes`](Ribbon::from_bytes) takes them.
    pub fn as_bytes(&self) -> &[u8] {
        self.body.as_ref()
    }

    /// Always 1 (and 0 without keys): every slot belongs to what it was built from.
    pub fn fill(&self) -> f64 {
        if self.keys == 0 { 0.0 } else { 1.0 }
    }

    /// How many distinct keys are in: the bits do not tell, so this is what was counted.
    pub fn estimate(&self) -> u64 {
        self.keys
    }

    /// The false-positive rate: that of the columns, exactly, and the collisions of the hashes.
    pub fn fpr_now(&self) -> f64 {
        (self.directory.fpr(self.body.as_ref()) + collision_rate(self.keys)).min(1.0)
    }
}

impl Ribbon {
    /// Lets a defragmenting allocator relocate the buffers: no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.body.move_by(memory);
    }
}

impl<B: AsRef<[u8]>> fmt::Display for Ribbon<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shards = self.shards();
        write!(
            f,
            "ribbon: {} keys, {} bytes in {shards} {}, false-positive rate {:.3e}, {:.3e} asked for",
            self.keys,
            self.as_bytes().len(),
            if shards == 1 { "shard" } else { "shards" },
            self.fpr_now(),
            self.spec.fpr(),
        )
    }
}
