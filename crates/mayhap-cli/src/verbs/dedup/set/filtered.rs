//! What was seen, in a filter.

use super::{Seen, window};
use crate::budget::MaxMemory;
use crate::clock::now;
use crate::exit::error_with_hint;
use crate::numbers::grouped;
use mayhap::format::Metadata;
use mayhap::{AnyFilter, Hash};
use mayhap_store::text::HashKeys;
use mayhap_store::{ChangeError, check_growth};
use std::io::{self, Write};

/// In a filter of whatever kind keys can be added to.
pub struct FilterSet {
    filter: AnyFilter,
    max_memory: MaxMemory,
}

impl FilterSet {
    pub fn new(mut filter: AnyFilter, max_memory: MaxMemory) -> anyhow::Result<FilterSet> {
        // A kind that takes no keys says so now, before anything is read.
        filter.insert_batch_at(&[], now())?;
        Ok(FilterSet { filter, max_memory })
    }
}

impl FilterSet {
    /// Fails where so many more keys would make it grow past the memory it may take.
    fn check_growth(&self, more: u64) -> Result<(), ChangeError> {
        check_growth(&self.filter, more, self.max_memory.budget())
    }

    /// Fails where a growing filter was to grow and could not: the system had no memory left,
    /// though it was allowed.
    fn check_grown(&self) -> anyhow::Result<()> {
        match &self.filter {
            AnyFilter::Scalable(filter) if filter.is_overfull() => Err(error_with_hint(
                "the system has no memory for the filter to grow",
                "free some, or use fewer bits a line: -p with a higher rate in a new state",
            )),
            _ => Ok(()),
        }
    }
}

impl Seen for FilterSet {
    type Hash = Hash;
    type Task = HashKeys;

    fn task(&self) -> HashKeys {
        HashKeys(self.filter.scheme().unwrap_or_default())
    }

    fn room(&mut self, wanted: u64) -> u64 {
        match &mut self.filter {
            AnyFilter::Scalable(filter) => {
                let newest = filter.layers().last();
                let left = newest
                    .map_or(0, |newest| newest.spec().capacity().saturating_sub(newest.keys()));
                // Expensive to find out, so only where it decides.
                if left >= wanted {
                    return wanted;
                }
                let grows = filter.next_layer().is_some();
                if grows && self.check_growth(wanted).is_ok() { wanted } else { left }
            }
            AnyFilter::Windowed(filter) if filter.window().ticks().is_some() => {
                let room = window::room(filter, now(), wanted);
                // A burst takes memory, which it may not have.
                let left = filter.remaining_before_growth();
                match self.check_growth(room) {
                    Ok(()) => room,
                    Err(_) => left.min(room),
                }
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
                match self.check_growth(one_too_many) {
                    Err(memory) if filter.next_layer().is_some() => memory.into(),
                    _ => error_with_hint(
                        format!(
                            "{keys} lines are as many as a filter can tell apart at a rate of {asked}"
                        ),
                        "choose a higher rate with -p, or --exact; a state then starts over",
                    ),
                }
            }
            AnyFilter::Windowed(filter) => match self.check_growth(1) {
                Err(memory) => memory.into(),
                Ok(()) => error_with_hint(
                    format!(
                        "{keys} lines came within the window, made for {}: with more, new lines would \
                     be taken for repeats more often than the rate of {asked} allows",
                        grouped(filter.spec().capacity())
                    ),
                    "expect more lines with -n (a state keeps what it was made with: begin a new one)",
                ),
            },
            other => error_with_hint(
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
        let AnyFilter::Windowed(filter) = &self.filter else { return false };
        !window::newest_contains(filter, hash)
    }

    fn stride(&self, times: u32) -> usize {
        match &self.filter {
            AnyFilter::Windowed(filter) if filter.window().ticks().is_none() => {
                let left = window::newest_room(filter);
                usize::try_from(left / u64::from(times)).unwrap_or(usize::MAX).max(1)
            }
            _ => usize::MAX,
        }
    }

    fn contains(&self, hashes: &[Hash], known: &mut Vec<bool>) -> anyhow::Result<()> {
        Ok(self.filter.contains_batch_at(hashes, now(), known)?)
    }

    fn insert_new(&mut self, hashes: &[Hash], new: &mut Vec<bool>) -> anyhow::Result<()> {
        match &mut self.filter {
            AnyFilter::Scalable(filter) => filter.insert_batch_new(hashes, new),
            AnyFilter::Windowed(filter) => filter.insert_batch_new(hashes, now(), new),
            other => {
                // Only states are of another kind, and those are looked at first.
                new.clear();
                for hash in hashes {
                    new.push(other.insert_batch_at(&[*hash], now())? > 0);
                }
            }
        }
        self.check_grown()
    }

    fn insert(&mut self, hashes: &[Hash]) -> anyhow::Result<()> {
        self.filter.insert_batch_at(hashes, now())?;
        self.check_grown()
    }

    /// Frozen, because states are kept: the hash moved on by a Weyl step, mixed as SplitMix64
    /// does.
    fn again(hash: Hash, time: u32) -> Hash {
        let mut x = hash.to_u64().wrapping_add(u64::from(time).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Hash::from_u64(x ^ (x >> 31))
    }

    fn bytes(&self) -> u64 {
        self.filter.bytes()
    }

    fn rate(&self) -> f64 {
        self.filter.fpr_now_at(now())
    }

    fn filter(&self) -> Option<&AnyFilter> {
        Some(&self.filter)
    }

    fn write_to(&self, to: &mut dyn Write, metadata: &Metadata) -> io::Result<()> {
        self.filter.write_to(to, metadata)
    }
}
