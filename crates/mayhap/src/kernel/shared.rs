//! Many writers in one array: the same positions, word by word, atomically.

use super::atomic::{place, set};
use super::{prefetch, scalar};
use crate::hash::Hash;
use crate::scheme::{Native, Scheme};
use crate::sizing::{BlockedShape, ClassicShape, LINE_BITS};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const AHEAD: usize = 32;
const WORDS_PER_LINE: usize = (LINE_BITS / 64) as usize;

/// How hashes find their words. Sealed by being unnameable outside of the crate.
pub trait Layout {
    /// Set the hash's bits; whether this call set any.
    fn insert(&self, words: &[AtomicU64], hash: Hash) -> bool;
    /// Whether all of the hash's bits are set.
    fn contains(&self, words: &[AtomicU64], hash: Hash) -> bool;
    /// Ask for the words of a hash.
    fn fetch(&self, words: &[AtomicU64], hash: Hash);
}

/// Each line of a key, by its number, and the bits that the key has in each of its words.
#[inline(always)]
pub(super) fn line_masks(
    shape: BlockedShape,
    mut hash: Hash,
    mut visit: impl FnMut(usize, [u64; WORDS_PER_LINE]),
) {
    for i in 0..shape.lines_per_key {
        if i > 0 {
            hash = scalar::next(hash);
        }
        let mut masks = [0; WORDS_PER_LINE];
        scalar::positions(hash, shape.probes_per_line, |at| {
            let (word, bit) = place(at.into());
            masks[word % WORDS_PER_LINE] |= bit;
        });
        visit(scalar::line_of(hash, shape.lines), masks);
    }
}

/// Words copied at a time: 64 KiB.
const PIECE: usize = 8192;

/// The first `bytes` bytes of the words as they are now, piece by piece.
pub(crate) fn copy_pieces(
    words: &[AtomicU64],
    bytes: usize,
    mut piece: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut copy = Vec::with_capacity(8 * PIECE.min(words.len()));
    let mut left = bytes;
    for words in words.chunks(PIECE) {
        copy.clear();
        copy.extend(words.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()));
        // The last word may be longer than the array.
        copy.truncate(left);
        left -= copy.len();
        piece(&copy)?;
    }
    Ok(())
}

impl Layout for BlockedShape {
    #[inline]
    fn insert(&self, words: &[AtomicU64], hash: Hash) -> bool {
        let mut new = false;
        line_masks(*self, hash, |line, masks| {
            // One write per word at most, however many probes fall into it.
            for (word, mask) in words[line * WORDS_PER_LINE..].iter().zip(masks) {
                if mask != 0 {
                    new |= set(word, mask);
                }
            }
        });
        new
    }

    #[inline]
    fn contains(&self, words: &[AtomicU64], mut hash: Hash) -> bool {
        for i in 0..self.lines_per_key {
            if i > 0 {
                hash = scalar::next(hash);
            }
            let line = &words[scalar::line_of(hash, self.lines) * WORDS_PER_LINE..];
            let mut all = true;
            scalar::positions(hash, self.probes_per_line, |at| {
                let (word, bit) = place(at.into());
                all &= line[word].load(Relaxed) & bit != 0;
            });
            if !all {
                return false;
            }
        }
        true
    }

    #[inline]
    fn fetch(&self, words: &[AtomicU64], mut hash: Hash) {
        prefetch(words, scalar::line_of(hash, self.lines) * WORDS_PER_LINE);
        for _ in 1..self.lines_per_key {
            hash = scalar::next(hash);
            prefetch(words, scalar::line_of(hash, self.lines) * WORDS_PER_LINE);
        }
    }
}

impl ClassicShape {
    /// Probing does not depend on the seed: that went into the hash.
    fn places(&self, hash: Hash) -> impl Iterator<Item = (usize, u64)> {
        const ANY: Native = Native::seeded(0);
        ANY.positions(hash, self.bits, self.probes).map(place)
    }
}

impl Layout for ClassicShape {
    #[inline]
    fn insert(&self, words: &[AtomicU64], hash: Hash) -> bool {
        self.places(hash).fold(false, |new, (word, bit)| set(&words[word], bit) | new)
    }

    #[inline]
    fn contains(&self, words: &[AtomicU64], hash: Hash) -> bool {
        self.places(hash).all(|(word, bit)| words[word].load(Relaxed) & bit != 0)
    }

    #[inline]
    fn fetch(&self, words: &[AtomicU64], hash: Hash) {
        self.places(hash).for_each(|(word, _)| prefetch(words, word));
    }
}

/// Insert all; `report` hears of each whether it was new.
pub(crate) fn insert_batch(
    words: &[AtomicU64],
    layout: &impl Layout,
    hashes: &[Hash],
    mut report: impl FnMut(usize, bool),
) {
    hashes.iter().take(AHEAD).for_each(|hash| layout.fetch(words, *hash));
    for (i, hash) in hashes.iter().enumerate() {
        if let Some(hash) = hashes.get(i + AHEAD) {
            layout.fetch(words, *hash);
        }
        report(i, layout.insert(words, *hash));
    }
}

/// One answer a hash.
pub(crate) fn contains_batch(
    words: &[AtomicU64],
    layout: &impl Layout,
    hashes: &[Hash],
    mut report: impl FnMut(bool),
) {
    hashes.iter().take(AHEAD).for_each(|hash| layout.fetch(words, *hash));
    for (i, hash) in hashes.iter().enumerate() {
        if let Some(hash) = hashes.get(i + AHEAD) {
            layout.fetch(words, *hash);
        }
        report(layout.contains(words, *hash));
    }
}
