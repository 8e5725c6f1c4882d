//! Many keys hashed side by side: a step of one key waits for the step before it, a step of sixteen keys
//! is one of a vector.
//!
//! Keys are laid in rows first, the first words of all in the first row, and hashed by plain loops over
//! arrays, which the compiler turns into vectors.

use super::murmur3::short;
use super::{le32, le64};
use mayhap::simd::{Vectorize, vectorize};

/// Words of a key that are laid in rows, at most. Groups with a longer key are hashed one by one.
const MAX_WORDS: usize = 64;

/// What a hash takes of a key at a time.
pub(crate) trait Word: Copy + Default + Eq {
    /// Bytes of a word.
    const BYTES: usize;

    /// That many bytes, little-endian.
    fn whole(bytes: &[u8]) -> Self;

    /// Fewer.
    fn part(bytes: &[u8]) -> Self;

    /// A length.
    fn count(bytes: usize) -> Self;
}

impl Word for u32 {
    const BYTES: usize = 4;

    #[inline(always)]
    fn whole(bytes: &[u8]) -> u32 {
        le32(bytes, 0)
    }

    #[inline(always)]
    fn part(bytes: &[u8]) -> u32 {
        short(bytes) as u32
    }

    #[inline(always)]
    fn count(bytes: usize) -> u32 {
        bytes as u32
    }
}

impl Word for u64 {
    const BYTES: usize = 8;

    #[inline(always)]
    fn whole(bytes: &[u8]) -> u64 {
        le64(bytes, 0)
    }

    #[inline(always)]
    fn part(bytes: &[u8]) -> u64 {
        short(bytes)
    }

    #[inline(always)]
    fn count(bytes: usize) -> u64 {
        bytes as u64
    }
}

/// `N` keys: row `i` has word `i` of each, and zeros where a key has ended.
#[derive(Debug)]
pub(crate) struct KeyLanes<W, const N: usize> {
    /// One more than words, for a rest behind the last.
    rows: [[W; N]; MAX_WORDS + 1],
    /// Bytes of each key, of the shortest and of the longest.
    bytes: [usize; N],
    least: usize,
    most: usize,
}

impl<W: Word, const N: usize> KeyLanes<W, N> {
    fn new() -> Self {
        let rows = [[W::default(); N]; MAX_WORDS + 1];
        KeyLanes { rows, bytes: [0; N], least: 0, most: 0 }
    }

    /// Lay these keys; `false` where one is too long.
    #[inline(always)]
    fn lay(&mut self, keys: &[&[u8]; N]) -> bool {
        (0..N).for_each(|lane| self.bytes[lane] = keys[lane].len());
        self.least = self.bytes.iter().fold(usize::MAX, |least, bytes| least.min(*bytes));
        self.most = self.bytes.iter().fold(0, |most, bytes| most.max(*bytes));
        let words = self.most / W::BYTES;
        let Some(rows) = self.rows.get_mut(..=words) else { return false };
        for (lane, key) in keys.iter().enumerate() {
            let mut words = key.chunks_exact(W::BYTES);
            let mut rows = rows.iter_mut();
            // Words first: they would end together.
            for (word, row) in words.by_ref().zip(rows.by_ref()) {
                row[lane] = W::whole(word);
            }
            let mut rest = W::part(words.remainder());
            for row in rows {
                row[lane] = rest;
                rest = W::default();
            }
        }
        true
    }

    /// Bytes of each key.
    #[inline(always)]
    pub(super) fn bytes(&self) -> [W; N] {
        self.bytes.map(W::count)
    }

    /// Rows of which every key has the whole word.
    #[inline(always)]
    pub(super) fn shared(&self) -> &[[W; N]] {
        &self.rows[..self.least / W::BYTES]
    }

    /// The rows behind, and how many bytes are before each. Some keys end before it or in it.
    #[inline(always)]
    pub(super) fn ragged(&self) -> impl Iterator<Item = (W, &[W; N])> {
        let rows = self.least / W::BYTES..self.most.div_ceil(W::BYTES);
        rows.map(|at| (W::count(at * W::BYTES), &self.rows[at]))
    }

    /// What each key has behind its last whole word.
    #[inline(always)]
    pub(super) fn rest(&self) -> [W; N] {
        if self.least == self.most {
            return self.rows[self.least / W::BYTES];
        }
        std::array::from_fn(|lane| self.rows[self.bytes[lane] / W::BYTES][lane])
    }
}

impl<const N: usize> KeyLanes<u32, N> {
    /// Whether all keys are ASCII.
    #[inline(always)]
    pub(crate) fn is_ascii(&self) -> bool {
        let mut seen = [0; N];
        for row in &self.rows[..self.most.div_ceil(4)] {
            (0..N).for_each(|lane| seen[lane] |= row[lane]);
        }
        seen.iter().fold(0, |all, word| all | word) & 0x8080_8080 == 0
    }
}

/// A hash that takes less for `N` keys side by side than one after another.
pub(crate) trait MultiLane<const N: usize> {
    /// What it takes of a key at a time.
    type Word: Word;
    /// What is left of a key.
    type Hash;

    /// Hash the keys, which are laid in rows. `#[inline(always)]`, or vectors come to nothing.
    fn hash_lanes(&self, keys: &[&[u8]; N], rows: &KeyLanes<Self::Word, N>) -> [Self::Hash; N];

    /// Hash one.
    fn hash_one(&self, key: &[u8]) -> Self::Hash;
}

/// Hash keys `N` at a time, and the last few one by one: `hashes` is cleared and filled.
pub(crate) fn side_by_side<const N: usize, S: MultiLane<N>>(
    hash: &S,
    keys: &[&[u8]],
    hashes: &mut Vec<S::Hash>,
) {
    struct All<'a, S: MultiLane<N>, const N: usize>(&'a S, &'a [&'a [u8]], &'a mut Vec<S::Hash>);
    impl<S: MultiLane<N>, const N: usize> Vectorize for All<'_, S, N> {
        type Out = ();

        #[inline(always)]
        fn run(self) {
            let All(hash, keys, hashes) = self;
            let mut rows = KeyLanes::new();
            let (groups, rest) = keys.as_chunks::<N>();
            for group in groups {
                if rows.lay(group) {
                    hashes.extend(hash.hash_lanes(group, &rows));
                } else {
                    hashes.extend(group.iter().map(|key| hash.hash_one(key)));
                }
            }
            hashes.extend(rest.iter().map(|key| hash.hash_one(key)));
        }
    }
    hashes.clear();
    hashes.reserve(keys.len());
    vectorize(All(hash, keys, hashes));
}
