//! What was seen: in a filter, or exactly.

use crate::budget::MaxMemory;
use crate::clock::now;
use crate::fill::{check_burst, check_growth};
use crate::outcome::rate_now;
use mayhap::{AnyFilter, Hash};
use mayhap_store::exact::{ExactSet, Hashing128};
use mayhap_store::keys::{Hashing, Task};
use std::ops::Deref;

/// What was seen.
pub trait Seen: Send {
    /// What is kept of a key.
    type Hash: Copy + Send;
    /// What makes it.
    type Task: Task<Out: Deref<Target = [Self::Hash]>>;

    fn task(&self) -> Self::Task;

    /// Remember them all; `new` is cleared and filled, `true` for each not seen before.
    fn insert(&mut self, hashes: &[Self::Hash], new: &mut Vec<bool>) -> anyhow::Result<()>;

    /// The hash that stands for the key's `time`-th pass, from 1.
    fn again(hash: Self::Hash, time: u32) -> Self::Hash;

    /// Bytes of memory.
    fn bytes(&self) -> u64;

    /// The chance to take a new key for a seen one, as things stand; 0 if there is none.
    fn rate(&self) -> f64;

    /// The filter, if it is one.
    fn filter(&self) -> Option<&AnyFilter>;

    /// As [`insert`](Seen::insert), with `times` passes for each key: the first is the key's own,
    /// and each later one stands beside it as a key of its own.
    fn insert_times(
        &mut self,
        hashes: &[Self::Hash],
        times: u32,
        new: &mut Vec<bool>,
    ) -> anyhow::Result<()> {
        self.insert(hashes, new)?;
        for time in 1..times {
            let open: Vec<usize> = (0..hashes.len()).filter(|i| !new[*i]).collect();
            if open.is_empty() {
                break;
            }
            let again: Vec<_> = open.iter().map(|i| Self::again(hashes[*i], time)).collect();
            let mut passes = Vec::new();
            self.insert(&again, &mut passes)?;
            open.iter().zip(passes).for_each(|(i, passes)| new[*i] = passes);
        }
        Ok(())
    }
}

/// In a filter of whatever kind keys can be added to.
pub struct Filtered {
    filter: AnyFilter,
    max_memory: MaxMemory,
}

impl Filtered {
    pub fn new(mut filter: AnyFilter, max_memory: MaxMemory) -> anyhow::Result<Filtered> {
        // A kind that takes no keys says so now, before anything is read.
        insert_new(&mut filter, &[], &mut Vec::new())?;
        Ok(Filtered { filter, max_memory })
    }
}

impl Seen for Filtered {
    type Hash = Hash;
    type Task = Hashing;

    fn task(&self) -> Hashing {
        Hashing(self.filter.scheme().unwrap_or_default())
    }

    fn insert(&mut self, hashes: &[Hash], new: &mut Vec<bool>) -> anyhow::Result<()> {
        if let AnyFilter::Scalable(filter) = &self.filter {
            check_growth(filter, hashes.len() as u64, self.max_memory)?;
        }
        check_burst(&self.filter, hashes.len() as u64, self.max_memory)?;
        insert_new(&mut self.filter, hashes, new)
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
}

fn insert_new(filter: &mut AnyFilter, hashes: &[Hash], new: &mut Vec<bool>) -> anyhow::Result<()> {
    match filter {
        AnyFilter::Blocked(filter) => filter.insert_batch_new(hashes, new),
        AnyFilter::Classic(filter) => filter.insert_batch_new(hashes, new),
        AnyFilter::Counting(filter) => filter.insert_batch_new(hashes, new),
        AnyFilter::Scalable(filter) => filter.insert_batch_new(hashes, new),
        AnyFilter::Windowed(filter) => filter.insert_batch_new(hashes, now(), new),
        // The others refuse, each for its own reason.
        other => _ = other.insert_batch(hashes)?,
    }
    Ok(())
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
}

impl Seen for Exact {
    type Hash = u128;
    type Task = Hashing128;

    fn task(&self) -> Hashing128 {
        Hashing128
    }

    fn insert(&mut self, hashes: &[u128], new: &mut Vec<bool>) -> anyhow::Result<()> {
        let need = self.set.bytes_with(hashes.len()) as u64;
        self.max_memory.check(need, (self.set.keys() + hashes.len()) as u64)?;
        self.set.insert_batch_new(hashes, new);
        Ok(())
    }

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_passes_as_often_as_it_may() -> anyhow::Result<()> {
        let (mut seen, mut new) = (Exact::new(100, MaxMemory::default())?, Vec::new());
        seen.insert_times(&[7, 8, 7, 7, 7], 3, &mut new)?;
        assert_eq!(new, [true, true, true, true, false]);
        seen.insert_times(&[7, 8, 8, 8], 3, &mut new)?;
        assert_eq!(new, [false, true, true, false]);
        Ok(())
    }

    /// States outlive programs.
    #[test]
    fn the_second_pass_has_a_frozen_hash() {
        assert_eq!(Filtered::again(Hash(0), 1), Hash(0xe220_a839_7b1d_cdaf));
        assert_ne!(Filtered::again(Hash(0), 2), Filtered::again(Hash(0), 1));
    }
}
