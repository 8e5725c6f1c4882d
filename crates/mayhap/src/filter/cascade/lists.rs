//! A list of hashed keys that may be too long to hold: what of it is needed is held, or found
//! again by going through it once more.

use super::{CHUNK, FirstLayer};
use crate::filter::fuse::build::{BIN_BITS, PassDigest};
use crate::hash::{Hash, reduce};
use crate::spec::SpecError;
use std::ops::Range;

/// Goes through a list from its beginning, and hands over its hashes, some at a time.
pub(super) type Pass<'a> = Box<dyn FnMut(&mut (dyn FnMut(&[Hash]) + Send)) + 'a>;

pub(super) struct List<'a> {
    pass: Pass<'a>,
    /// What the first pass went through.
    tally: Option<PassDigest>,
    /// How many hashes count; equal ones once where they are held.
    count: u64,
    /// All that count, sorted and none twice; `None` where they are too many.
    held: Option<Vec<Hash>>,
    /// Where they are not held: how many there are of each of the top bits.
    bins: Vec<u64>,
    /// And those of the shards at hand, sorted and none twice.
    window: Vec<Hash>,
}

impl<'a> List<'a> {
    /// Go through a list for the first time; it is held if `most` are enough.
    pub fn count(pass: Pass<'a>, most: usize) -> Result<List<'a>, SpecError> {
        let (bins, window) = Default::default();
        let mut list = List { pass, tally: None, count: 0, held: None, bins, window };
        list.take(most, None)?;
        Ok(list)
    }

    /// A list that is held anyway.
    pub fn of(mut hashes: Vec<Hash>) -> List<'static> {
        let mut tally = PassDigest::default();
        hashes.iter().for_each(|hash| tally.count(*hash));
        sort_dedup(&mut hashes);
        List {
            pass: Box::new(|_| ()),
            tally: Some(tally),
            count: hashes.len() as u64,
            held: Some(hashes),
            bins: Vec::new(),
            window: Vec::new(),
        }
    }

    /// Hashes of the list as it came.
    pub fn received(&self) -> u64 {
        self.tally.map_or(0, |tally| tally.hashes)
    }

    /// Hashes that count: no fewer than there are different ones.
    pub fn keys(&self) -> u64 {
        self.count
    }

    /// How many are held.
    pub fn held(&self) -> usize {
        self.held.as_ref().map_or(0, Vec::len)
    }

    /// All that count, where they are held.
    pub fn held_mut(&mut self) -> Option<&mut Vec<Hash>> {
        self.held.as_mut()
    }

    /// Add to `bins` what comes with each pass; nothing where the list is held.
    pub fn add_bins(&self, bins: &mut [u64]) {
        bins.iter_mut().zip(&self.bins).for_each(|(sum, bin)| *sum += bin);
    }

    /// Go through the whole list. An error where it is another than the first time.
    pub fn again(&mut self, mut each: impl FnMut(&[Hash]) + Send) -> Result<(), SpecError> {
        let mut tally = PassDigest::default();
        (self.pass)(&mut |hashes| {
            hashes.iter().for_each(|hash| tally.count(*hash));
            each(hashes);
        });
        let first = *self.tally.get_or_insert(tally);
        if tally != first {
            return Err(SpecError::Passes { first: first.hashes, later: tally.hashes });
        }
        Ok(())
    }

    /// From now on only those count that the filter lets pass; they are held if `most` are
    /// enough.
    pub fn admit(&mut self, first: &FirstLayer, most: usize) -> Result<(), SpecError> {
        let Some(held) = &mut self.held else { return self.take(most, Some(first)) };
        let (mut kept, mut chunk, mut answers) = (0, Vec::new(), Vec::new());
        for begin in (0..held.len()).step_by(CHUNK) {
            chunk.clear();
            chunk.extend_from_slice(&held[begin..held.len().min(begin + CHUNK)]);
            retain(&mut chunk, Some(first), &mut answers);
            held[kept..kept + chunk.len()].copy_from_slice(&chunk);
            kept += chunk.len();
        }
        held.truncate(kept);
        self.count = kept as u64;
        Ok(())
    }

    /// Count those that the filter, if there is one, lets pass, and hold them if `most` are
    /// enough.
    fn take(&mut self, most: usize, first: Option<&FirstLayer>) -> Result<(), SpecError> {
        let mut kept =
            HashBuffer { hashes: Vec::new(), most, over: Overflow::Drop, refused: false };
        let mut bins = vec![0; 1 << BIN_BITS];
        let (mut count, mut passing, mut answers) = (0, Vec::new(), Vec::new());
        self.again(|hashes| {
            passing.clear();
            passing.extend_from_slice(hashes);
            retain(&mut passing, first, &mut answers);
            count += passing.len() as u64;
            passing.iter().for_each(|hash| bins[(hash.0 >> (64 - BIN_BITS)) as usize] += 1);
            kept.extend(&passing);
        })?;
        (self.count, self.bins, self.held) = (count, bins, kept.finish()?);
        if let Some(held) = &self.held {
            (self.count, self.bins) = (held.len() as u64, Vec::new());
        }
        Ok(())
    }

    /// Have the hashes of these shards at hand: those that the filter, if there is one, lets
    /// pass.
    pub fn load(
        &mut self,
        which: Range<u64>,
        shards: u64,
        first: Option<&FirstLayer>,
        most: usize,
    ) -> Result<(), SpecError> {
        if self.held.is_some() {
            return Ok(());
        }
        let hashes = std::mem::take(&mut self.window);
        let mut kept = HashBuffer { hashes, most, over: Overflow::Grow, refused: false };
        kept.hashes.clear();
        let (mut here, mut answers) = (Vec::new(), Vec::new());
        self.again(|hashes| {
            here.clear();
            here.extend(hashes.iter().filter(|hash| which.contains(&reduce(hash.0, shards))));
            retain(&mut here, first, &mut answers);
            kept.extend(&here);
        })?;
        self.window = kept.finish()?.unwrap_or_default();
        Ok(())
    }

    /// The hashes of one shard that is at hand.
    pub fn shard(&self, shard: u64, shards: u64) -> &[Hash] {
        let hashes = self.held.as_ref().unwrap_or(&self.window);
        let begin = hashes.partition_point(|hash| reduce(hash.0, shards) < shard);
        let end = hashes.partition_point(|hash| reduce(hash.0, shards) <= shard);
        &hashes[begin..end]
    }
}

/// What happens when there are more hashes than there should be.
#[derive(Clone, Copy, PartialEq)]
enum Overflow {
    /// They are dropped, all of them.
    Drop,
    /// More room is made: they were counted before, and what they are is bounded.
    Grow,
    Dropped,
}

/// Different hashes out of a pass.
struct HashBuffer {
    hashes: Vec<Hash>,
    most: usize,
    over: Overflow,
    /// An allocation failed.
    refused: bool,
}

impl HashBuffer {
    fn extend(&mut self, more: &[Hash]) {
        if self.over == Overflow::Dropped || self.refused {
            return;
        }
        if self.hashes.len() + more.len() > self.most {
            // A list may name one key a billion times.
            sort_dedup(&mut self.hashes);
            match self.over {
                _ if self.hashes.len() + more.len() <= self.most / 4 * 3 => {}
                Overflow::Grow => self.most = self.most.saturating_mul(2).max(more.len()),
                _ => {
                    (self.hashes, self.over) = (Vec::new(), Overflow::Dropped);
                    return;
                }
            }
        }
        self.refused = self.hashes.try_reserve(more.len()).is_err();
        if !self.refused {
            self.hashes.extend_from_slice(more);
        }
    }

    /// All of them, sorted and none twice; `None` where they were too many.
    fn finish(mut self) -> Result<Option<Vec<Hash>>, SpecError> {
        if self.refused {
            return Err(SpecError::Memory { bytes: (self.hashes.len() as u64 + 1) * 8 });
        }
        sort_dedup(&mut self.hashes);
        Ok((self.over != Overflow::Dropped).then_some(self.hashes))
    }
}

/// Keep those that the filter lets pass; all, where there is none.
fn retain(hashes: &mut Vec<Hash>, first: Option<&FirstLayer>, answers: &mut Vec<bool>) {
    if let Some(first) = first {
        first.contains_batch(hashes, answers);
        let mut answers = answers.iter();
        hashes.retain(|_| answers.next().is_some_and(|pass| *pass));
    }
}

fn sort_dedup(hashes: &mut Vec<Hash>) {
    hashes.sort_unstable();
    hashes.dedup();
}
