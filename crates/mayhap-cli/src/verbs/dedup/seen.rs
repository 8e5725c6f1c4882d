//! What was seen: in a filter, or exactly.

use crate::budget::MaxMemory;
use crate::clock::now_ms;
use crate::exit::refuse;
use crate::fill::check_growth;
use crate::numbers::grouped;
use crate::outcome::rate_now;
use mayhap::format::Notes;
use mayhap::{AnyFilter, Hash, Windowed};
use mayhap_store::exact::{ExactSet, Hashing128};
use mayhap_store::keys::{Hashing, Task};
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
    fn write_to(&self, to: &mut dyn Write, notes: &Notes) -> io::Result<()>;

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

/// In a filter of whatever kind keys can be added to.
pub struct Filtered {
    filter: AnyFilter,
    max_memory: MaxMemory,
}

impl Filtered {
    pub fn new(mut filter: AnyFilter, max_memory: MaxMemory) -> anyhow::Result<Filtered> {
        // A kind that takes no keys says so now, before anything is read.
        filter.insert_batch_at(&[], 0)?;
        Ok(Filtered { filter, max_memory })
    }
}

impl Seen for Filtered {
    type Hash = Hash;
    type Task = Hashing;

    fn task(&self) -> Hashing {
        Hashing(self.filter.scheme().unwrap_or_default())
    }

    fn room(&mut self, wanted: u64) -> u64 {
        match &mut self.filter {
            AnyFilter::Scalable(filter) => {
                let newest = filter.layers().last();
                let left = newest
                    .map_or(0, |newest| newest.spec().capacity().saturating_sub(newest.keys()));
                let grows = || {
                    filter.next_layer().is_some()
                        && check_growth(filter, wanted, self.max_memory).is_ok()
                };
                if left >= wanted || grows() { wanted } else { left }
            }
            AnyFilter::Windowed(window) if window.window().ticks().is_some() => {
                room_in_window(window, now_ms(), wanted)
            }
            // The oldest are forgotten for them.
            AnyFilter::Windowed(_) => wanted,
            other => other.capacity().saturating_sub(other.keys()).min(wanted),
        }
    }

    fn full(&self) -> anyhow::Error {
        let (keys, asked) = (grouped(self.filter.keys()), self.filter.fpr());
        match &self.filter {
            AnyFilter::Scalable(filter) => {
                let one_too_many = filter.capacity().saturating_sub(filter.keys()) + 1;
                match check_growth(filter, one_too_many, self.max_memory) {
                    Err(memory) if filter.next_layer().is_some() => memory,
                    _ => refuse(
                        format!(
                            "{keys} lines are as many as a filter can tell apart at a rate of {asked}"
                        ),
                        "choose a higher rate with -p, or --exact; a state is then begun anew",
                    ),
                }
            }
            AnyFilter::Windowed(filter) => refuse(
                format!(
                    "{keys} lines came within the window, made for {}: with more, new lines would \
                     be taken for repeats more often than the rate of {asked} allows",
                    grouped(filter.spec().capacity())
                ),
                "expect more lines with -n (a state keeps what it was made with: begin a new one)",
            ),
            other => refuse(
                format!(
                    "the state is full: a {} filter made for {} lines, which does not grow; with \
                     more, new lines would be taken for repeats more often than its rate of \
                     {asked} allows",
                    other.kind(),
                    grouped(other.capacity()),
                ),
                "go on with a new state that grows, and keep this one in mind: --state NEW --against OLD",
            ),
        }
    }

    fn forgets(&self) -> bool {
        matches!(self.filter, AnyFilter::Windowed(_))
    }

    fn writes_again(&self, hash: Hash) -> bool {
        let AnyFilter::Windowed(window) = &self.filter else { return false };
        window.generations().next().is_some_and(|newest| !newest.contains_hash(hash))
    }

    fn stride(&self, times: u32) -> usize {
        match &self.filter {
            AnyFilter::Windowed(filter) if filter.window().ticks().is_none() => {
                let left = filter
                    .generations()
                    .next()
                    .map_or(0, |newest| newest.spec().capacity().saturating_sub(newest.keys()));
                usize::try_from(left / u64::from(times)).unwrap_or(usize::MAX).max(1)
            }
            _ => usize::MAX,
        }
    }

    fn contains(&self, hashes: &[Hash], known: &mut Vec<bool>) -> anyhow::Result<()> {
        Ok(self.filter.contains_batch_at(hashes, now_ms(), known)?)
    }

    fn insert_new(&mut self, hashes: &[Hash], new: &mut Vec<bool>) -> anyhow::Result<()> {
        match &mut self.filter {
            AnyFilter::Scalable(filter) => filter.insert_batch_new(hashes, new),
            AnyFilter::Windowed(filter) => filter.insert_batch_new(hashes, now_ms(), new),
            other => {
                // Only states are of another kind, and those are looked at first.
                new.clear();
                for hash in hashes {
                    new.push(other.insert_batch_at(&[*hash], now_ms())? > 0);
                }
            }
        }
        Ok(())
    }

    fn insert(&mut self, hashes: &[Hash]) -> anyhow::Result<()> {
        self.filter.insert_batch_at(hashes, now_ms())?;
        Ok(())
    }

    /// Frozen, because states are kept: the hash moved on by a Weyl step, mixed as SplitMix64
    /// does.
    fn again(hash: Hash, time: u32) -> Hash {
        let mut x = hash.0.wrapping_add(u64::from(time).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Hash(x ^ (x >> 31))
    }

    fn bytes(&self) -> u64 {
        self.filter.bytes()
    }

    fn rate(&self) -> f64 {
        rate_now(&self.filter)
    }

    fn filter(&self) -> Option<&AnyFilter> {
        Some(&self.filter)
    }

    fn write_to(&self, to: &mut dyn Write, notes: &Notes) -> io::Result<()> {
        self.filter.write_to(to, notes)
    }
}

/// How many of so many more keys a window of time takes now, before its rate is exceeded.
fn room_in_window(window: &mut Windowed, now: u64, wanted: u64) -> u64 {
    /// Rounding in the sizes of generations.
    const TOLERANCE: f64 = 1.01;
    window.advance(now);
    let (loads, shapes): (Vec<_>, Vec<_>) = window
        .generations()
        .map(|part| ((part.keys(), part.spec().capacity()), part.shape()))
        .unzip();
    let more = |part: usize, more: u64| if part == 0 { more } else { 0 };
    let fits = |wanted: u64| {
        let mut loads = loads.iter().enumerate();
        loads.all(|(part, (keys, capacity))| keys.saturating_add(more(part, wanted)) <= *capacity)
    };
    let rate = |wanted: u64| -> f64 {
        let loads = loads.iter().zip(&shapes).enumerate();
        loads.map(|(part, ((keys, _), shape))| shape.fpr_at(keys + more(part, wanted))).sum()
    };
    let most = TOLERANCE * window.spec().fpr();
    if fits(wanted) || rate(wanted) <= most {
        return wanted;
    }
    self::most(0, wanted, |wanted| rate(wanted) <= most)
}

/// The largest number that fits, at least `low`, below `high`, which does not.
fn most(mut low: u64, mut high: u64, fits: impl Fn(u64) -> bool) -> u64 {
    while low.saturating_add(1) < high {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    low
}

/// As 128-bit hashes.
pub struct Exact {
    set: ExactSet,
    max_memory: MaxMemory,
}

impl Exact {
    pub fn new(keys: u64, max_memory: MaxMemory) -> anyhow::Result<Exact> {
        max_memory.check(keys.saturating_mul(20), keys)?;
        let set = ExactSet::with_capacity(usize::try_from(keys)?);
        Ok(Exact { set, max_memory })
    }

    pub fn from_set(set: ExactSet, max_memory: MaxMemory) -> Exact {
        Exact { set, max_memory }
    }

    /// Fails where so many more would take more memory than allowed.
    fn check(&self, more: u64) -> anyhow::Result<()> {
        let more = usize::try_from(more).unwrap_or(usize::MAX).min(usize::MAX / 128);
        let keys = self.set.keys().saturating_add(more) as u64;
        self.max_memory.check(self.set.bytes_with(more) as u64, keys)
    }

    fn fits(&self, more: u64) -> bool {
        let more = usize::try_from(more).unwrap_or(usize::MAX).min(usize::MAX / 128);
        self.max_memory.budget().check(self.set.bytes_with(more) as u64).is_ok()
    }
}

impl Seen for Exact {
    type Hash = u128;
    type Task = Hashing128;

    fn task(&self) -> Hashing128 {
        Hashing128
    }

    fn room(&mut self, wanted: u64) -> u64 {
        if self.fits(wanted) {
            return wanted;
        }
        // What is there already is always allowed.
        most(self.set.room() as u64, wanted, |more| self.fits(more))
    }

    fn full(&self) -> anyhow::Error {
        let full = || refuse("there is no room for more lines", "allow more with --max-memory");
        (0..48).find_map(|log| self.check(1 << log).err()).unwrap_or_else(full)
    }

    fn stride(&self, _: u32) -> usize {
        usize::MAX
    }

    fn contains(&self, hashes: &[u128], known: &mut Vec<bool>) -> anyhow::Result<()> {
        self.set.contains_batch(hashes, known);
        Ok(())
    }

    fn insert_new(&mut self, hashes: &[u128], new: &mut Vec<bool>) -> anyhow::Result<()> {
        self.set.insert_batch_new(hashes, new);
        Ok(())
    }

    fn insert(&mut self, hashes: &[u128]) -> anyhow::Result<()> {
        self.set.insert_batch_new(hashes, &mut Vec::new());
        Ok(())
    }

    /// Frozen, because states are kept.
    fn again(hash: u128, time: u32) -> u128 {
        hash.wrapping_add(u128::from(time).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    }

    fn bytes(&self) -> u64 {
        self.set.bytes() as u64
    }

    fn rate(&self) -> f64 {
        0.0
    }

    fn filter(&self) -> Option<&AnyFilter> {
        None
    }

    fn write_to(&self, to: &mut dyn Write, notes: &Notes) -> io::Result<()> {
        self.set.write_to(to, notes)
    }
}

#[cfg(test)]
mod tests;
