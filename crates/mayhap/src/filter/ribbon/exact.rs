//! One bit per key that is not left to chance: yes for some keys, no for others.
//!
//! A ribbon of one column says yes where a key's equation holds. Keys that are to be answered with no
//! are given an equation that does not hold: the bit that it must make is flipped. So all keys it was
//! built from have the answer they should, and all others one or the other, half of them each.

use super::assembly::Assembly;
use super::band::Banding;
use super::shard::{BuiltShard, MAX_SHARD_KEYS, SEEDS, ShardRules};
use crate::hash::Hash;
use crate::kernel::ribbon::Directory;
use crate::kernel::{AlignedBuf, Relocate};
use crate::scheme::Native;
use crate::sizing::{ExactShape, Slots128, collision_rate, shards_for};
use crate::spec::{Spec, SpecError};
use std::cell::Cell;

/// One bit for each key of two lists, that tells which it is from: the second layer of a
/// [`Cascade`](crate::Cascade). About 1.006 bits per key.
#[derive(Clone)]
pub struct ExactRibbon<B = AlignedBuf> {
    /// A directory of shards, then their layers.
    body: B,
    directory: Directory<Slots128>,
    scheme: Native,
    keys: u64,
}

impl<B: AsRef<[u8]>> ExactRibbon<B> {
    /// Over bytes that [`as_bytes`](ExactRibbon::as_bytes) gave; `None` where they are not a filter
    /// of this many shards.
    pub(in crate::filter) fn from_bytes(
        scheme: Native,
        keys: u64,
        shards: u64,
        body: B,
    ) -> Option<ExactRibbon<B>> {
        let directory = Directory::read(body.as_ref(), shards, 1, 0)?;
        Some(ExactRibbon { body, directory, scheme, keys })
    }

    /// The answer: right for the keys it was built from, by chance for all others.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.directory.contains(self.body.as_ref(), hash)
    }

    /// All of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        answers.clear();
        answers.resize(hashes.len(), false);
        self.directory.contains_batch(self.body.as_ref(), hashes, answers);
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.scheme
    }

    /// Distinct keys it was built from, of both lists.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Shards it is cut into.
    pub fn shards(&self) -> u64 {
        self.directory.shards()
    }

    /// All of its bytes: directory, thresholds, column and padding.
    pub fn as_bytes(&self) -> &[u8] {
        self.body.as_ref()
    }

    /// How often a key of neither list is answered with yes: about half of the time.
    pub fn fpr_now(&self) -> f64 {
        (self.directory.fpr(self.body.as_ref()) + collision_rate(self.keys)).min(1.0)
    }
}

impl ExactRibbon {
    /// Lets a defragmenting allocator relocate the buffers: no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.body.move_by(memory);
    }
}

/// An exact filter half built.
pub(in crate::filter) struct ExactBuilder {
    scheme: Native,
    rules: ShardRules,
    assembly: Assembly,
    banding: Banding<Slots128>,
}

impl ExactBuilder {
    /// One of this many hashes in all.
    pub fn new(spec: Spec, hashes: u64) -> Result<ExactBuilder, SpecError> {
        // Seeds that no first layer over the same keys has: both would err alike.
        let shards = shards_for(hashes);
        let rules = ShardRules { columns: 1, wide: 0, shards, first_seed: SEEDS };
        let assembly = Assembly::new(shards, 0, ExactShape { keys: hashes }.bits() / 8)?;
        Ok(ExactBuilder { scheme: spec.scheme(), rules, assembly, banding: Banding::default() })
    }

    /// Shards it is cut into, each with its part of the hashes as they are ordered.
    pub fn shards(&self) -> u64 {
        self.rules.shards
    }

    /// Build the next shard: both lists are sorted, and all hashes are different. `false`: they
    /// could not be placed, and answers are not exact.
    pub fn shard(&mut self, yes: &[Hash], no: &[Hash]) -> Result<bool, SpecError> {
        let keys = yes.len() + no.len();
        let refused = SpecError::Memory { bytes: keys as u64 * 16 };
        if keys > MAX_SHARD_KEYS {
            return Err(refused);
        }
        self.banding.keys.clear();
        self.banding.keys.try_reserve(keys).map_err(|_| refused)?;
        merge(yes, no, &mut self.banding.keys);
        let members = Members { sorted: yes, next: Cell::new(0) };
        let built: BuiltShard =
            self.rules.build(&mut self.banding, &|hash| u64::from(!members.contain(hash)));
        let placed = built.is_placed();
        self.assembly.append(built)?;
        Ok(placed)
    }

    /// The filter, when all shards are built.
    pub fn finish(self) -> Result<ExactRibbon, SpecError> {
        let (shards, keys) = (self.rules.shards, self.assembly.keys());
        let refused = SpecError::Memory { bytes: shards * 64 };
        ExactRibbon::from_bytes(self.scheme, keys, shards, self.assembly.finish()?).ok_or(refused)
    }
}

/// Two sorted lists as one.
fn merge(mut these: &[Hash], mut those: &[Hash], into: &mut Vec<Hash>) {
    while let ([this, ..], [that, ..]) = (these, those) {
        let first = this <= that;
        into.push(if first { *this } else { *that });
        these = &these[usize::from(first)..];
        those = &those[usize::from(!first)..];
    }
    into.extend_from_slice(these);
    into.extend_from_slice(those);
}

/// A sorted list that is mostly asked in its order: the keys of a first layer come so.
struct Members<'a> {
    sorted: &'a [Hash],
    /// Nothing from here on is below what was asked last.
    next: Cell<usize>,
}

impl Members<'_> {
    fn contain(&self, hash: Hash) -> bool {
        let next = self.next.get();
        let before = next.checked_sub(1).map(|last| self.sorted[last]);
        let (contains, next) = match self.sorted.get(next) {
            Some(member) if *member == hash => (true, next + 1),
            Some(member) if *member < hash => self.search(hash),
            _ if before.is_none_or(|before| before < hash) => (false, next),
            _ => self.search(hash),
        };
        self.next.set(next);
        contains
    }

    #[cold]
    fn search(&self, hash: Hash) -> (bool, usize) {
        match self.sorted.binary_search(&hash) {
            Ok(at) => (true, at + 1),
            Err(at) => (false, at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Scheme;
    use proptest::prelude::*;

    fn hashes(range: std::ops::Range<u64>) -> Vec<Hash> {
        let spec = Spec::new(1, 0.5).unwrap();
        let mut hashes: Vec<Hash> = range.map(|key| spec.scheme().hash(key)).collect();
        hashes.sort_unstable();
        hashes
    }

    fn built(yes: &[Hash], no: &[Hash]) -> ExactRibbon {
        let spec = Spec::new(1, 0.5).unwrap();
        let mut builder = ExactBuilder::new(spec, (yes.len() + no.len()) as u64).unwrap();
        let shards = builder.shards();
        for shard in 0..shards {
            let here = |all: &[Hash]| -> Vec<Hash> {
                let belongs = |hash: &&Hash| crate::hash::reduce(hash.0, shards) == shard;
                all.iter().filter(belongs).copied().collect()
            };
            assert!(builder.shard(&here(yes), &here(no)).unwrap());
        }
        builder.finish().unwrap()
    }

    #[test]
    fn every_key_has_the_answer_of_its_list() {
        for (yes, no) in
            [(0, 0), (0, 1), (1, 0), (5, 7), (1_000, 4_000), (3_000, 0), (90_000, 10_000)]
        {
            let (yes, no) = (hashes(0..yes), hashes(1 << 40..(1 << 40) + no));
            let filter = built(&yes, &no);
            let mut answers = Vec::new();
            filter.contains_batch(&yes, &mut answers);
            assert!(answers.iter().all(|answer| *answer));
            filter.contains_batch(&no, &mut answers);
            assert!(!answers.contains(&true));
            assert!(yes.iter().all(|hash| filter.contains_hash(*hash)));
            assert_eq!(filter.keys(), (yes.len() + no.len()) as u64);
        }
    }

    #[test]
    fn it_takes_hardly_more_than_a_bit_per_key() {
        let filter = built(&hashes(0..600_000), &hashes(1 << 40..(1 << 40) + 600_000));
        assert_eq!(filter.shards(), 2);
        let bits = filter.as_bytes().len() as f64 * 8.0 / 1.2e6;
        assert!((1.0..=1.006).contains(&bits), "{bits} bits per key");
        let planned = ExactShape { keys: 1_200_000 }.bits() as f64 / 1.2e6;
        assert!((planned / bits - 1.0).abs() < 0.002, "{planned} planned, {bits} built");
        let asked = hashes(1 << 41..(1 << 41) + 1_000_000);
        let mut answers = Vec::new();
        filter.contains_batch(&asked, &mut answers);
        let yes = answers.iter().filter(|yes| **yes).count() as f64 / 1e6;
        assert!((yes - filter.fpr_now()).abs() < 0.003, "{yes}, {} expected", filter.fpr_now());
        assert!((0.49..0.501).contains(&yes), "{yes}");
    }

    proptest! {
        /// Whatever the bytes, a filter is refused or answers.
        #[test]
        fn hostile_bytes_are_refused_or_answered(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            only_directory in any::<bool>(),
            cut in prop::option::of(any::<prop::sample::Index>()),
            shards in 1..3u64,
        ) {
            let filter = built(&hashes(0..2_000), &hashes(1 << 40..(1 << 40) + 2_000));
            let mut bytes = filter.as_bytes().to_vec();
            for (at, value) in changes {
                let range = if only_directory { 40 } else { bytes.len() };
                bytes[at.index(range)] = value;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Some(opened) = ExactRibbon::from_bytes(filter.scheme(), 4_000, shards, bytes) {
                let mut answers = Vec::new();
                opened.contains_batch(&hashes(0..5_000), &mut answers);
                prop_assert!(opened.fpr_now() <= 1.0);
            }
        }

        #[test]
        fn members_are_found_in_any_order(
            sorted in prop::collection::btree_set(0..200u64, 0..50),
            asked in prop::collection::vec(0..200u64, 0..200),
        ) {
            let list: Vec<Hash> = sorted.iter().copied().map(Hash).collect();
            let members = Members { sorted: &list, next: Cell::new(0) };
            for hash in asked {
                prop_assert_eq!(members.contain(Hash(hash)), sorted.contains(&hash));
            }
        }
    }
}
