//! Many writers in one array: the same positions, word by word, atomically.

use super::atomic::{place, set};
use super::{columns, each_line, prefetch, scalar};
use crate::hash::Hash;
use crate::scheme::{Native, Scheme};
use crate::sizing::{BlockedShape, ClassicShape, Columns, LINE_BITS};
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
    if let Some(layout) = shape.layout_of_columns() {
        let at = columns::places_of(layout, hash, shape.lines.saturating_mul(64));
        let bits = columns::bits(at).map(u64::to_le);
        let some = |wanted: std::ops::Range<usize>| {
            std::array::from_fn(|column| if wanted.contains(&column) { bits[column] } else { 0 })
        };
        match layout {
            Columns::OneLine => visit(at.first / 64, bits),
            Columns::TwoHalves => {
                visit(at.first / 64, some(0..4));
                visit(at.second / 64, some(4..8));
            }
            Columns::TwoLines => {
                visit(at.first / 64, bits);
                visit(at.second / 64, bits);
            }
        }
        return;
    }
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
        if self.layout_of_columns().is_some() {
            let mut missing = 0;
            line_masks(*self, hash, |line, masks| {
                let line = &words[line * WORDS_PER_LINE..];
                let lacks = |missing, (word, mask): (&AtomicU64, u64)| {
                    missing | (!word.load(Relaxed) & mask)
                };
                missing |= line.iter().zip(masks).fold(0, lacks);
            });
            return missing == 0;
        }
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
        if self.layout_of_columns().is_some() {
            return each_line(*self, hash, |_, line, _| prefetch(words, line * WORDS_PER_LINE));
        }
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
