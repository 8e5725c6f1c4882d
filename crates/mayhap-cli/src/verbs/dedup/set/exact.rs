//! What was seen, exactly.

use super::{Seen, most};
use crate::budget::MaxMemory;
use crate::exit::error_with_hint;
use mayhap::AnyFilter;
use mayhap::format::Metadata;
use mayhap_store::exact::{ExactSet, HashKeys128};
use std::io::{self, Write};

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
        Ok(self.max_memory.check(self.set.bytes_with(more) as u64, keys)?)
    }

    fn fits(&self, more: u64) -> bool {
        let more = usize::try_from(more).unwrap_or(usize::MAX).min(usize::MAX / 128);
        self.max_memory.budget().check(self.set.bytes_with(more) as u64).is_ok()
    }
}

impl Seen for Exact {
    type Hash = u128;
    type Task = HashKeys128;

    fn task(&self) -> HashKeys128 {
        HashKeys128
    }

    fn room(&mut self, wanted: u64) -> u64 {
        if self.fits(wanted) {
            return wanted;
        }
        // What is there already is always allowed.
        most(self.set.room() as u64, wanted, |more| self.fits(more))
    }

    fn full(&self) -> anyhow::Error {
        let full =
            || error_with_hint("there is no room for more lines", "allow more with --max-memory");
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

    fn write_to(&self, to: &mut dyn Write, metadata: &Metadata) -> io::Result<()> {
        self.set.write_to(to, metadata)
    }
}
