//! The two layers of a cascade.

use crate::filter::{Blocked, ExactRibbon, Fuse, Ribbon};
use crate::hash::Hash;
use crate::kernel::{AlignedBuf, Relocate};
use crate::scheme::Native;

/// The first layer.
#[derive(Clone)]
#[non_exhaustive]
pub enum FirstLayer<B = AlignedBuf> {
    /// None: the second layer knows every key of both lists.
    None,
    /// Fingerprints: what cascades had before they had ribbons.
    Fuse(Fuse<B>),
    /// A ribbon: the smallest.
    Ribbon(Ribbon<B>),
    /// Cache lines: the fastest.
    Blocked(Blocked<B>),
}

impl<B: AsRef<[u8]>> FirstLayer<B> {
    #[inline]
    pub(super) fn contains_hash(&self, hash: Hash) -> bool {
        match self {
            FirstLayer::None => true,
            FirstLayer::Fuse(fuse) => fuse.contains_hash(hash),
            FirstLayer::Ribbon(ribbon) => ribbon.contains_hash(hash),
            FirstLayer::Blocked(blocked) => blocked.contains_hash(hash),
        }
    }

    pub(super) fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        match self {
            FirstLayer::None => {
                answers.clear();
                answers.resize(hashes.len(), true);
            }
            FirstLayer::Fuse(fuse) => fuse.contains_batch(hashes, answers),
            FirstLayer::Ribbon(ribbon) => ribbon.contains_batch(hashes, answers),
            FirstLayer::Blocked(blocked) => blocked.contains_batch(hashes, answers),
        }
    }

    /// Its false-positive rate.
    pub fn fpr_now(&self) -> f64 {
        match self {
            FirstLayer::None => 1.0,
            FirstLayer::Fuse(fuse) => fuse.fpr_now(),
            FirstLayer::Ribbon(ribbon) => ribbon.fpr_now(),
            FirstLayer::Blocked(blocked) => blocked.fpr_now(),
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            FirstLayer::None => 0,
            FirstLayer::Fuse(fuse) => fuse.as_bytes().len() as u64,
            FirstLayer::Ribbon(ribbon) => ribbon.as_bytes().len() as u64,
            FirstLayer::Blocked(blocked) => blocked.as_bytes().len() as u64,
        }
    }

    pub(super) fn scheme(&self) -> Option<Native> {
        match self {
            FirstLayer::None => None,
            FirstLayer::Fuse(fuse) => Some(fuse.scheme()),
            FirstLayer::Ribbon(ribbon) => Some(ribbon.scheme()),
            FirstLayer::Blocked(blocked) => Some(blocked.scheme()),
        }
    }
}

impl FirstLayer {
    pub(super) fn relocate(&mut self, memory: &mut Relocate<'_>) {
        match self {
            FirstLayer::None => {}
            FirstLayer::Fuse(first) => first.relocate(memory),
            FirstLayer::Ribbon(first) => first.relocate(memory),
            FirstLayer::Blocked(first) => first.relocate(memory),
        }
    }
}

/// The second layer: one bit for each key that the first lets pass, of both lists.
#[derive(Clone)]
#[non_exhaustive]
pub enum ExactLayer<B = AlignedBuf> {
    /// Fingerprints of one bit: what cascades had before they had ribbons.
    Fuse(Fuse<B>),
    /// A ribbon of one column.
    Ribbon(ExactRibbon<B>),
}

impl<B: AsRef<[u8]>> ExactLayer<B> {
    /// The answer: right for the keys it was built from, by chance for all others.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        match self {
            ExactLayer::Fuse(fuse) => fuse.contains_hash(hash),
            ExactLayer::Ribbon(ribbon) => ribbon.contains_hash(hash),
        }
    }

    /// All of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        match self {
            ExactLayer::Fuse(fuse) => fuse.contains_batch(hashes, answers),
            ExactLayer::Ribbon(ribbon) => ribbon.contains_batch(hashes, answers),
        }
    }

    /// Distinct keys it was built from, of both lists.
    pub fn keys(&self) -> u64 {
        match self {
            ExactLayer::Fuse(fuse) => fuse.keys(),
            ExactLayer::Ribbon(ribbon) => ribbon.keys(),
        }
    }

    /// Shards it is cut into.
    pub fn shards(&self) -> u64 {
        match self {
            ExactLayer::Fuse(fuse) => fuse.shards(),
            ExactLayer::Ribbon(ribbon) => ribbon.shards(),
        }
    }

    /// All of its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            ExactLayer::Fuse(fuse) => fuse.as_bytes(),
            ExactLayer::Ribbon(ribbon) => ribbon.as_bytes(),
        }
    }

    /// How often a key of neither list is answered with yes: about half of the time.
    pub fn fpr_now(&self) -> f64 {
        match self {
            ExactLayer::Fuse(fuse) => fuse.fpr_now(),
            ExactLayer::Ribbon(ribbon) => ribbon.fpr_now(),
        }
    }

    /// Always 1 (and 0 without keys).
    pub fn fill(&self) -> f64 {
        if self.keys() == 0 { 0.0 } else { 1.0 }
    }

    /// Whether it has one bit per key, as it should.
    pub(super) fn is_one_bit(&self) -> bool {
        match self {
            ExactLayer::Fuse(fuse) => fuse.width() == 1,
            ExactLayer::Ribbon(_) => true,
        }
    }

    pub(super) fn scheme(&self) -> Native {
        match self {
            ExactLayer::Fuse(fuse) => fuse.scheme(),
            ExactLayer::Ribbon(ribbon) => ribbon.scheme(),
        }
    }
}

impl ExactLayer {
    pub(super) fn relocate(&mut self, memory: &mut Relocate<'_>) {
        match self {
            ExactLayer::Fuse(fuse) => fuse.relocate(memory),
            ExactLayer::Ribbon(ribbon) => ribbon.relocate(memory),
        }
    }
}
