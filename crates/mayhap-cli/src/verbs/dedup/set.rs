//! What was seen: in a filter, or exactly.

mod exact;
mod filtered;
mod window;

pub use exact::Exact;
pub use filtered::FilterSet;

use mayhap::AnyFilter;
use mayhap::format::Metadata;
use mayhap_store::text::Task;
use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::Deref;

/// What was seen.
pub trait Seen: Send {
    /// What is kept of a key.
    type Hash: Copy + Eq + std::hash::Hash + Send;
    /// What makes it.
    type Task: Task<Out: Deref<Target = [Self::Hash]>>;

    fn task(&self) -> Self::Task;

    /// How many of so many more distinct keys fit, within the rate and the memory allowed.
    fn room(&mut self, wanted: u64) -> u64;

    /// Why there is no more room, and the way out.
    fn full(&self) -> anyhow::Error;

    /// The most keys, of so many passes each, that may be looked at before they are inserted: in a
    /// window of keys an insert may make others forgotten.
    fn stride(&self, times: u32) -> usize;

    /// Whether keys are forgotten: then one that comes again is to be remembered anew.
    fn forgets(&self) -> bool {
        false
    }

    /// Whether a known key takes room once more when it comes again.
    fn writes_again(&self, _: Self::Hash) -> bool {
        false
    }

    /// For each key whether it was seen; cleared and filled.
    fn contains(&self, hashes: &[Self::Hash], known: &mut Vec<bool>) -> anyhow::Result<()>;

    /// Remember them all; `new` is cleared and filled, `true` for each not seen before.
    fn insert_new(&mut self, hashes: &[Self::Hash], new: &mut Vec<bool>) -> anyhow::Result<()>;

    /// Remember them all.
    fn insert(&mut self, hashes: &[Self::Hash]) -> anyhow::Result<()>;

    /// The hash that stands for the key's `time`-th pass, from 1.
    fn again(hash: Self::Hash, time: u32) -> Self::Hash;

    /// Bytes of memory.
    fn bytes(&self) -> u64;

    /// The chance to take a new key for a seen one, as things stand; 0 if there is none.
    fn rate(&self) -> f64;

    /// The filter, if it is one.
    fn filter(&self) -> Option<&AnyFilter>;

    /// Write it to a state's file.
    fn write_to(&self, to: &mut dyn Write, metadata: &Metadata) -> io::Result<()>;

    /// As [`insert_new`](Seen::insert_new), with `times` passes for each key: the first is the
    /// key's own, and each later one stands beside it as a key of its own.
    fn insert_times(
        &mut self,
        hashes: &[Self::Hash],
        times: u32,
        new: &mut Vec<bool>,
    ) -> anyhow::Result<()> {
        self.insert_new(hashes, new)?;
        for time in 1..times {
            let open: Vec<usize> = (0..hashes.len()).filter(|i| !new[*i]).collect();
            if open.is_empty() {
                break;
            }
            let again: Vec<_> = open.iter().map(|i| Self::again(hashes[*i], time)).collect();
            let mut passes = Vec::new();
            self.insert_new(&again, &mut passes)?;
            open.iter().zip(passes).for_each(|(i, passes)| new[*i] = passes);
        }
        Ok(())
    }

    /// What [`insert_times`](Seen::insert_times) would say and do, with nothing done yet; no
    /// further than there is room for.
    fn look(
        &self,
        hashes: &[Self::Hash],
        times: u32,
        room: u64,
    ) -> anyhow::Result<Draft<Self::Hash>> {
        let mut new = vec![false; hashes.len()];
        let mut open: Vec<usize> = (0..hashes.len()).collect();
        // Keys of this batch that take room: they were not there when it began.
        let mut pending = HashSet::new();
        // The lines that first need it.
        let mut takers = Vec::new();
        let (mut inserts, mut known) = (Vec::new(), Vec::new());
        for time in 0..times {
            let of = |i: &usize| if time == 0 { hashes[*i] } else { Self::again(hashes[*i], time) };
            let passes: Vec<_> = open.iter().map(of).collect();
            self.contains(&passes, &mut known)?;
            let mut rest = Vec::new();
            for ((i, hash), known) in open.into_iter().zip(passes).zip(&known) {
                let first = (!known || self.writes_again(hash)) && pending.insert(hash);
                new[i] = first && !known;
                if first {
                    takers.push(i);
                }
                if new[i] || self.forgets() {
                    inserts.push((i, hash));
                }
                if !new[i] {
                    rest.push(i);
                }
            }
            open = rest;
            if open.is_empty() {
                break;
            }
        }
        takers.sort_unstable();
        inserts.sort_by_key(|(i, _)| *i);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        new.truncate(takers.get(room).copied().unwrap_or(hashes.len()));
        Ok(Draft { new, inserts })
    }
}

/// What is to become of keys.
pub struct Draft<H> {
    /// For each key that there is room for, whether it passes.
    pub new: Vec<bool>,
    /// What is to be remembered, and for which key, rising; for keys without room too.
    pub inserts: Vec<(usize, H)>,
}

/// The largest number that fits, at least `low`, below `high`, which does not.
pub fn most(mut low: u64, mut high: u64, fits: impl Fn(u64) -> bool) -> u64 {
    while low.saturating_add(1) < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests;
