//! Fills a large `Blocked` from many threads without atomics: hashes are partitioned by line range,
//! then each thread fills parts of the array that nobody else touches.
//!
//! A partition fits into a cache, so its lines are loaded from memory about once, instead of once
//! per key. The caller runs the threads:
//!
//! ```
//! # use mayhap::concurrent::Partitioner;
//! # use mayhap::{Blocked, Spec};
//! let mut filter = Blocked::new(Spec::new(200_000, 0.01)?)?;
//! let hashes: Vec<_> = (0..200_000u64).map(|key| filter.hash(key)).collect();
//! // Round one: each thread sorts its share of the keys.
//! let shape = filter.shape();
//! let sorted: Vec<Partitioner> = std::thread::scope(|scope| {
//!     let sort = |share| scope.spawn(move || {
//!         let mut scatter = Partitioner::new(shape);
//!         scatter.push_batch(share);
//!         scatter
//!     });
//!     let threads: Vec<_> = hashes.chunks(100_000).map(sort).collect();
//!     threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
//! });
//! // Round two: each thread fills every other part, from everybody's hashes.
//! let mut parts = filter.partitions_mut();
//! std::thread::scope(|scope| {
//!     let half = parts.len().div_ceil(2);
//!     for (at, parts) in parts.chunks_mut(half).enumerate() {
//!         let sorted = &sorted;
//!         scope.spawn(move || {
//!             for (i, part) in parts.iter_mut().enumerate() {
//!                 for scatter in sorted {
//!                     part.insert_batch(scatter.part(at * half + i))?;
//!                 }
//!             }
//!             Ok::<(), mayhap::MergeError>(())
//!         });
//!     }
//! });
//! filter.recount();
//! assert!((0..200_000u64).all(|key| filter.contains(key)));
//! # Ok::<(), mayhap::SpecError>(())
//! ```

use super::{Blocked, MergeError, same};
use crate::hash::Hash;
use crate::kernel::{self, Line};
use crate::sizing::BlockedShape;

/// Maximum number of partitions: filters above 256 GiB have larger ones instead. Whatever the
/// shape, partitioning starts with no more than a few megabytes.
const MAX_PARTS: u64 = 1 << 16;

/// Lines per partition, a power of two: about a hundred partitions, so that partitioning writes to
/// few places at a time, but none below 256 KiB, where there is nothing to gain, and none above 4
/// MiB, so that a partition stays in a shared cache while it is filled.
fn partition_lines(shape: BlockedShape) -> u64 {
    let least = shape.lines / MAX_PARTS;
    (shape.lines / 100).clamp(1 << 12, 1 << 16).max(least).next_power_of_two()
}

/// Hashes grouped by the partition of the array they belong to.
///
/// One per thread. Memory grows with what is pushed (8 bytes per key and line), so push in rounds of
/// some tens of millions, fill, [`clear`](Partitioner::clear), and go on.
#[derive(Debug)]
pub struct Partitioner {
    shape: BlockedShape,
    /// Of each part the hashes that have their first line in it, and those that have their second.
    parts: Vec<[Vec<Hash>; 2]>,
}

impl Partitioner {
    /// For filters of this shape, [`Blocked::shape`]; others reject its output.
    pub fn new(shape: BlockedShape) -> Partitioner {
        // For a shape that no filter has, nothing is kept.
        let lines = if shape.is_valid() { shape.lines } else { 0 };
        let parts = lines.div_ceil(partition_lines(shape)).min(MAX_PARTS);
        Partitioner { shape, parts: vec![Default::default(); parts as usize] }
    }

    /// Add hashes.
    pub fn push_batch(&mut self, hashes: &[Hash]) {
        let Partitioner { shape, parts } = self;
        if parts.is_empty() {
            return;
        }
        let shift = partition_lines(*shape).ilog2();
        for hash in hashes {
            kernel::each_line(*shape, *hash, |nth, line, hash| {
                if let Some(part) = parts.get_mut(line >> shift).map(|part| &mut part[nth]) {
                    part.push(hash);
                    // Prefetch two lines ahead: writes to so many places wait for memory like
                    // reads.
                    kernel::prefetch_at(part.as_ptr().wrapping_add(part.len() + 16));
                }
            });
        }
    }

    /// The hashes of partition `i` of [`Blocked::partitions_mut`].
    pub fn part(&self, i: usize) -> PartitionHashes<'_> {
        let hashes = self.parts.get(i).map(|part| part.each_ref().map(Vec::as_slice));
        let hashes = hashes.unwrap_or_default();
        PartitionHashes { hashes, part: i, shape: self.shape }
    }

    /// Remove the hashes, keep the memory.
    pub fn clear(&mut self) {
        self.parts.iter_mut().flatten().for_each(Vec::clear);
    }
}

/// The hashes that a [`Partitioner`] collected for one partition of a filter of its shape.
#[derive(Clone, Copy, Debug)]
pub struct PartitionHashes<'s> {
    hashes: [&'s [Hash]; 2],
    part: usize,
    shape: BlockedShape,
}

impl PartitionHashes<'_> {
    /// Their number: one per line of each key.
    pub fn len(&self) -> usize {
        self.hashes.iter().map(|hashes| hashes.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A range of a filter's lines that nobody else touches.
#[derive(Debug)]
pub struct Partition<'f> {
    lines: &'f mut [Line],
    first: u64,
    shape: BlockedShape,
}

impl Partition<'_> {
    /// Insert the hashes that a [`Partitioner`] collected for this partition.
    ///
    /// Nothing is inserted, and the error names both, if they are for filters of another shape or
    /// for another partition: those keys would be missing.
    pub fn insert_batch(&mut self, sorted: PartitionHashes<'_>) -> Result<(), MergeError> {
        let PartitionHashes { hashes, part, shape } = sorted;
        if shape != self.shape {
            same("shapes", self.shape, shape)?;
        }
        same("parts", self.first / partition_lines(self.shape), part as u64)?;
        for (nth, hashes) in hashes.into_iter().enumerate() {
            kernel::fill_partition(self.lines, self.first, self.shape, nth, hashes);
        }
        Ok(())
    }
}

impl Blocked {
    /// Split the array into partitions for any number of threads.
    ///
    /// Inserts into partitions are not counted: call [`recount`](Blocked::recount) at the end.
    pub fn partitions_mut(&mut self) -> Vec<Partition<'_>> {
        let shape = self.shape();
        let each = usize::try_from(partition_lines(shape)).unwrap_or(usize::MAX);
        let parts = self.lines_mut().chunks_mut(each).enumerate();
        parts.map(|(i, lines)| Partition { lines, first: (i * each) as u64, shape }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Spec, SpecError};

    #[test]
    fn parts_equal_one_by_one() -> Result<(), SpecError> {
        for fpr in [0.01, 0.001, 1e-6] {
            let spec = Spec::new(300_000, fpr)?;
            let (mut want, mut got) = (Blocked::new(spec)?, Blocked::new(spec)?);
            let hashes: Vec<Hash> = (0..300_000u64).map(|key| want.hash(key)).collect();
            want.insert_batch(&hashes);
            let mut scatters = [Partitioner::new(want.shape()), Partitioner::new(want.shape())];
            for round in hashes.chunks(100_000) {
                let (left, right) = round.split_at(round.len() / 3);
                scatters[0].push_batch(left);
                scatters[1].push_batch(right);
                for (i, part) in got.partitions_mut().iter_mut().enumerate() {
                    scatters.iter().for_each(|scatter| part.insert_batch(scatter.part(i)).unwrap());
                }
                scatters.iter_mut().for_each(Partitioner::clear);
            }
            assert!(got.as_bytes() == want.as_bytes(), "at {fpr}");
            assert_eq!(got.keys(), 0);
            got.recount();
            assert!(got.keys().abs_diff(300_000) < 1_000, "{} keys", got.keys());
        }
        Ok(())
    }

    #[test]
    fn what_was_sorted_for_another_filter_or_part_is_refused() -> Result<(), SpecError> {
        let mut filter = Blocked::new(Spec::new(1_000_000, 0.01)?)?;
        let hashes: Vec<Hash> = (0..1_000u64).map(|key| filter.hash(key)).collect();
        let [mut ours, mut theirs] =
            [filter.shape(), Blocked::new(Spec::new(5_000, 0.001)?)?.shape()].map(Partitioner::new);
        ours.push_batch(&hashes);
        theirs.push_batch(&hashes);
        let mut parts = filter.partitions_mut();
        assert!(parts.len() > 2);
        let error = parts[0].insert_batch(theirs.part(0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "unlike filters: shapes are 19371 lines, 1 per key with 6 probes each here \
             and 143 lines, 2 per key with 5 probes each there"
        );
        let error = parts[1].insert_batch(ours.part(0)).unwrap_err();
        assert_eq!(error.to_string(), "unlike filters: parts are 1 here and 0 there");
        assert_eq!(filter.fill(), 0.0);
        Ok(())
    }

    #[test]
    fn no_shape_makes_sorting_costly() {
        for lines in [0, 1, 1 << 33, 1 << 55, u64::MAX] {
            for (lines_per_key, probes_per_line) in [(1, 6), (0, 0), (u32::MAX, u32::MAX)] {
                let shape = BlockedShape::new(lines, lines_per_key, probes_per_line);
                let mut scatter = Partitioner::new(shape);
                scatter.push_batch(&[Hash(0), Hash(u64::MAX)]);
                assert!(scatter.parts.len() <= MAX_PARTS as usize);
                let sorted: usize = (0..scatter.parts.len()).map(|i| scatter.part(i).len()).sum();
                assert_eq!(sorted, if shape.is_valid() { 2 } else { 0 });
            }
        }
    }
}
