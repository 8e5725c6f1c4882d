//! A fuse filter needs all keys at once: their hashes in memory, or several passes over files.

use super::wish::Wish;
use crate::budget::MaxMemory;
use crate::fill::{Filled, insert_in_order};
use mayhap::sizing::{Layout, Plan};
use mayhap::{Fuse, Hash, Native, Spec};
use mayhap_store::keys::{Reading, Tally};

/// What building takes beside the hashes and the filter, at the most.
fn aside_bytes(keys: u64) -> u64 {
    keys.saturating_mul(48).min(48 << 20)
}

/// The fewest hashes a pass must be able to keep: those of one shard.
const FEWEST_HASHES: u64 = 2_000_000;

/// Build a fuse filter of all keys of a reading.
pub fn build(
    wish: &Wish,
    scheme: Native,
    reading: &Reading,
    memory: MaxMemory,
) -> anyhow::Result<Filled> {
    let (filter, tally) = if reading.is_rereadable() {
        by_passes(wish.spec(scheme)?, scheme, reading, memory)?
    } else {
        at_once(wish, scheme, reading, memory)?
    };
    Ok(Filled { filter: filter.into(), tally, no_integers: 0 })
}

/// Files can be read again: as many hashes are kept at a time as there is memory for.
fn by_passes(
    spec: Spec,
    scheme: Native,
    reading: &Reading,
    memory: MaxMemory,
) -> anyhow::Result<(Fuse, Tally)> {
    let keys = spec.capacity();
    let filter_bytes = Plan::for_rate(Layout::Fuse, keys, spec.fpr())?.bytes();
    let beside = filter_bytes.saturating_add(aside_bytes(keys));
    memory.check(beside.saturating_add(keys.min(FEWEST_HASHES) * 8), keys)?;
    let room = memory.budget().bytes().saturating_sub(beside) / 8;
    let max_hashes = room.clamp(FEWEST_HASHES, keys.max(FEWEST_HASHES));
    let mut read: anyhow::Result<Tally> = Ok(Tally::default());
    let filter = Fuse::build(spec, usize::try_from(max_hashes).unwrap_or(usize::MAX), |keep| {
        if read.is_ok() {
            read = insert_in_order(scheme, reading, |hashes| {
                hashes.iter().for_each(|hash| keep(*hash));
                Ok(())
            });
        }
    });
    // What broke the reading off is the cause; the filter's complaint would be its effect.
    let tally = read?;
    Ok((filter?, tally))
}

/// A pipe comes by once: all hashes are kept.
fn at_once(
    wish: &Wish,
    scheme: Native,
    reading: &Reading,
    memory: MaxMemory,
) -> anyhow::Result<(Fuse, Tally)> {
    let mut hashes: Vec<Hash> = Vec::new();
    let tally = insert_in_order(scheme, reading, |more| {
        let keys = (hashes.len() + more.len()) as u64;
        // A growing vector is copied into one twice its size.
        memory.check(keys.saturating_mul(3 * 8).saturating_add(aside_bytes(keys)), keys)?;
        hashes.extend_from_slice(more);
        Ok(())
    })?;
    let spec = Spec::new((hashes.len() as u64).max(1), wish.fpr)?.with_scheme(scheme);
    Ok((Fuse::from_hashes(spec, &mut hashes)?, tally))
}
