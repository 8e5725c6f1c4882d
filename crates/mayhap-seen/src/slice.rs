//! One slice of a list: a sorted set of fingerprints, whole hashes while they are few.

use crate::golomb::Range;
use crate::policy::Seconds;
use mayhap::Hash;
use mayhap::simd::{Vectorize, vectorize};

/// The parameters of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Its capacity, in ids.
    pub capacity: u64,
    /// Fingerprints are below this.
    pub range: u64,
}

/// A sorted set of fingerprints.
///
/// Up to a few dozen are whole 64-bit hashes. When more come, all are shortened to the range of the
/// shape: a hash `h` becomes ⌊h · range / 2⁶⁴⌋, which keeps their order and loses no id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// When its first id came.
    pub started: Seconds,
    pub shape: Shape,
    /// Whether fingerprints are still whole hashes.
    pub whole: bool,
    pub sorted: Vec<u64>,
}

impl Slice {
    pub fn new(started: Seconds, shape: Shape) -> Slice {
        Slice { started, shape, whole: true, sorted: vec![] }
    }

    pub fn ids(&self) -> u64 {
        self.sorted.len() as u64
    }

    pub fn is_full(&self) -> bool {
        self.ids() >= self.shape.capacity
    }

    /// The range of the fingerprints, which their code depends on.
    pub fn universe(&self) -> Range {
        if self.whole { Range::Full } else { Range::Below(self.shape.range) }
    }

    #[inline]
    fn fingerprint(&self, hash: Hash) -> u64 {
        if self.whole { hash.to_u64() } else { shorten(hash.to_u64(), self.shape.range) }
    }

    pub fn contains(&self, hash: Hash) -> bool {
        let fingerprint = self.fingerprint(hash);
        if self.sorted.len() > WALKED {
            return self.sorted.binary_search(&fingerprint).is_ok();
        }
        // Interpolation search: hashes are spread evenly, so this one is, or would be, at an index
        // proportional to its value, off by √n at most, nearly always.
        let from = shorten(hash.to_u64(), self.ids()) as usize;
        match self.sorted.get(from) {
            Some(here) if *here < fingerprint => {
                let above = self.sorted[from..].iter().find(|there| **there >= fingerprint);
                above == Some(&fingerprint)
            }
            Some(_) => {
                let below = self.sorted[..=from].iter().rev().find(|there| **there <= fingerprint);
                below == Some(&fingerprint)
            }
            None => false, // empty
        }
    }

    /// Add an id; `exact` is how many may be whole hashes.
    pub fn insert(&mut self, hash: Hash, exact: u32) {
        if self.whole && self.ids() >= u64::from(exact) {
            self.shorten();
        }
        let fingerprint = self.fingerprint(hash);
        if let Err(at) = self.sorted.binary_search(&fingerprint) {
            self.sorted.insert(at, fingerprint);
        }
    }

    fn shorten(&mut self) {
        for fingerprint in &mut self.sorted {
            *fingerprint = shorten(*fingerprint, self.shape.range);
        }
        self.sorted.dedup();
        self.whole = false;
    }

    /// Whether all ids are in another slice of the same time and shape.
    pub fn is_part_of(&self, other: &Slice) -> bool {
        self.shared(other) == Some(self.sorted.len())
    }

    /// Whether it shares half the ids of the smaller one with another of the same time and shape.
    pub fn is_akin_to(&self, other: &Slice) -> bool {
        let half = self.sorted.len().min(other.sorted.len()).div_ceil(2);
        self.shared(other).is_some_and(|shared| shared >= half)
    }

    /// How many ids are in both; `None` if they cannot be compared.
    fn shared(&self, other: &Slice) -> Option<usize> {
        if (self.started, self.shape) != (other.started, other.shape) {
            return None;
        }
        match (self.whole, other.whole) {
            (true, false) => self.shortened().shared(other),
            (false, true) => self.shared(&other.shortened()),
            _ => {
                let found = |id: &&u64| other.sorted.binary_search(id).is_ok();
                Some(self.sorted.iter().filter(found).count())
            }
        }
    }

    fn shortened(&self) -> Slice {
        let mut slice = self.clone();
        slice.shorten();
        slice
    }

    /// Add all ids of another slice of the same shape.
    pub fn unite(&mut self, mut other: Slice) {
        if self.whole != other.whole {
            [&mut *self, &mut other].into_iter().filter(|s| s.whole).for_each(Slice::shorten);
        }
        self.sorted.append(&mut other.sorted);
        self.sorted.sort_unstable();
        self.sorted.dedup();
    }

    /// The false-positive rate of this slice.
    pub fn false_positive_rate(&self) -> f64 {
        let range = if self.whole { 2f64.powi(64) } else { self.shape.range as f64 };
        self.ids() as f64 / range
    }

    /// The same for a candidate of a prefix filter of only this slice: one or two ids are compared,
    /// branchless.
    #[inline]
    pub fn contains_candidate(&self, hash: Hash, prefix_filter: &PrefixFilter) -> bool {
        let start = prefix_filter.starts[prefix_filter.word(hash)];
        if start == UNKNOWN {
            return self.contains(hash);
        }
        let fingerprint = self.fingerprint(hash);
        let from = &self.sorted[start as usize..];
        match from.first_chunk::<4>() {
            // It is one of these or none; comparing both avoids a misprediction at the end of a
            // search.
            Some(four) if four[3] >= fingerprint => {
                four.iter().fold(false, |found, there| found | (*there == fingerprint))
            }
            _ => from.iter().find(|there| **there >= fingerprint) == Some(&fingerprint),
        }
    }

    /// Add every id to a prefix filter.
    pub fn trace(&self, prefix_filter: &mut PrefixFilter) {
        // The last first: of ids that share a word, the index of the first must remain.
        let ids = self.sorted.iter().enumerate().rev();
        if self.whole {
            ids.for_each(|(at, hash)| prefix_filter.set(hash >> prefix_filter.shift, at));
            return;
        }
        let (cells, range) = (prefix_filter.cells(), self.shape.range);
        if range < cells * 2 {
            // With so small a range every cell is set, and it filters nothing.
            prefix_filter.words.fill(u64::MAX);
            prefix_filter.starts.fill(UNKNOWN);
            return;
        }
        // The hashes of a fingerprint f begin at f · cells / range and end before (f + 1) · cells /
        // range: within one cell, or in that and the next. Rounded down the first may be too early,
        // rounded up the last too late, which does no harm.
        let share = ((u128::from(cells) << 64) / u128::from(range)) as u64;
        for (at, fingerprint) in ids {
            let first = shorten(*fingerprint, share);
            let last = shorten(fingerprint + 1, share + 1).min(cells - 1);
            if last != first {
                prefix_filter.set(last, at);
            }
            prefix_filter.set(first, at);
        }
    }
}

/// Up to this many ids a linear search is faster than a binary one.
const WALKED: usize = 4096;

#[inline]
fn shorten(hash: u64, range: u64) -> u64 {
    ((u128::from(hash) * u128::from(range)) >> 64) as u64
}

/// Which prefixes of hashes occur at all: one load answers for nearly every absent id, whatever the
/// number of slices.
pub(crate) struct PrefixFilter {
    shift: u32,
    words: Vec<u64>,
    /// For each word, the index in the slice of the first id with a bit there.
    starts: Vec<u32>,
}

/// No index.
const UNKNOWN: u32 = u32::MAX;

impl PrefixFilter {
    /// For this many ids: one absent id in fifty is a candidate, or one in twenty for many ids.
    pub fn new(ids: u64) -> PrefixFilter {
        let roomy = ids.saturating_mul(64).clamp(1 << 14, 1 << 17);
        let cells = roomy.max(ids.saturating_mul(16).min(1 << 22)).next_power_of_two();
        let words = (cells / 64) as usize;
        PrefixFilter { shift: 64 - cells.ilog2(), words: vec![0; words], starts: vec![0; words] }
    }

    fn cells(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    fn set(&mut self, cell: u64, at: usize) {
        let word = (cell / 64) as usize;
        self.words[word] |= 1 << (cell % 64);
        self.starts[word] = at as u32;
    }

    /// Which of these, 64 at most, may be ids: one bit each, the first in the lowest. Clear only for
    /// absent ids.
    #[inline]
    pub fn candidates(&self, chunk: &[Hash]) -> u64 {
        match self.words.len() {
            256 => self.candidates_of::<256>(chunk),
            512 => self.candidates_of::<512>(chunk),
            1024 => self.candidates_of::<1024>(chunk),
            2048 => self.candidates_of::<2048>(chunk),
            words => candidates(&self.words, words, chunk),
        }
    }

    /// The same for a constant number of words: no bounds checks.
    fn candidates_of<const WORDS: usize>(&self, chunk: &[Hash]) -> u64 {
        struct Candidates<'a, const WORDS: usize>(&'a [u64; WORDS], &'a [Hash]);

        impl<const WORDS: usize> Vectorize for Candidates<'_, WORDS> {
            type Out = u64;

            #[inline(always)]
            fn run(self) -> u64 {
                candidates(self.0, WORDS, self.1)
            }
        }
        self.words
            .first_chunk()
            .map_or(u64::MAX, |words| vectorize(Candidates::<WORDS>(words, chunk)))
    }

    #[inline]
    fn word(&self, hash: Hash) -> usize {
        (hash.to_u64() >> self.shift) as usize / 64
    }
}

/// Which of these have their bit set.
#[inline(always)]
fn candidates(words: &[u64], count: usize, chunk: &[Hash]) -> u64 {
    let bit = |hash: Hash| {
        let cell = hash.to_u64() >> (58 - count.ilog2());
        words[(cell / 64) as usize] >> (cell % 64) & 1
    };
    chunk.iter().zip(0..64).fold(0, |candidates, (hash, at)| candidates | bit(*hash) << at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const SHAPE: Shape = Shape { capacity: 1000, range: 5_000_000 };

    #[test]
    fn shortening_loses_no_id() {
        let mut slice = Slice::new(0, SHAPE);
        for id in 0..1000u64 {
            slice.insert(Hash::from_u64(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)), 24);
            assert_eq!(slice.whole, id < 24);
            let found =
                |id: u64| slice.contains(Hash::from_u64(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            assert!((0..=id).all(found), "one of {id} ids is lost");
        }
    }

    proptest! {
        #[test]
        fn the_sieve_lets_every_id_pass(
            ids in prop_oneof![vec(any::<u64>(), 0..200), vec(any::<u64>(), 200..3000)],
            absent_keys in vec(any::<u64>(), 0..200),
            exact in 0..300u32,
            range in prop_oneof![1..100_000u64, 1..1u64 << 62],
        ) {
            let mut slice = Slice::new(0, Shape { capacity: 1000, range });
            ids.iter().for_each(|id| slice.insert(Hash::from_u64(*id), exact));
            prop_assert!(ids.iter().all(|id| slice.contains(Hash::from_u64(*id))));
            let mut prefix_filter = PrefixFilter::new(slice.ids());
            slice.trace(&mut prefix_filter);
            let asked = ids.iter().chain(&absent_keys).chain(&[0, u64::MAX]).map(|id| Hash::from_u64(*id));
            for chunk in asked.collect::<Vec<_>>().chunks(64) {
                let candidates = prefix_filter.candidates(chunk);
                for (at, hash) in chunk.iter().enumerate() {
                    let is_there = slice.contains(*hash);
                    if candidates >> at & 1 == 1 {
                        prop_assert_eq!(slice.contains_candidate(*hash, &prefix_filter), is_there);
                    } else {
                        prop_assert!(!is_there);
                    }
                }
            }
        }
    }
}
