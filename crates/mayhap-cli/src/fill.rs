//! Putting keys into filters: hashed on all threads, and set on all of them where a kind can.

use crate::budget::MaxMemory;
use crate::clock::now;
use mayhap::sizing::Layer;
use mayhap::{AnyFilter, Bitmap, Hash, Moment, Native, Scalable, SharedClassic};
use mayhap_store::keys::{Hashes, Hashing, Reading, Tally, Task};
use std::ops::ControlFlow;

/// What came of filling.
pub struct Filled {
    /// The filter with the keys in.
    pub filter: AnyFilter,
    /// The lines that were read.
    pub tally: Tally,
    /// Keys that a filter of integers cannot hold.
    pub no_integers: u64,
}

/// Put every key of a reading into the filter.
pub fn fill(filter: AnyFilter, reading: &Reading, memory: MaxMemory) -> anyhow::Result<Filled> {
    let mut no_integers = 0;
    let (filter, tally) = match filter {
        // Many misses a key: worth sharing among threads.
        AnyFilter::Classic(filter) => {
            let shared = filter.into_shared();
            let tally = insert_anywhere(&Setting(&shared, shared.spec().scheme()), reading)?;
            (shared.into_inner().into(), tally)
        }
        AnyFilter::Scalable(mut filter) => {
            let tally = insert_in_order(filter.scheme(), reading, |hashes| {
                check_growth(&filter, hashes.len() as u64, memory)?;
                filter.insert_batch(hashes);
                Ok(())
            })?;
            (filter.into(), tally)
        }
        AnyFilter::Bitmap(mut ids) => {
            let tally;
            (tally, no_integers) = insert_ids(&mut ids, reading, memory)?;
            ids.compact();
            (ids.into(), tally)
        }
        // One thread inserts a batch of these faster than the others read and hash the next ones,
        // and at half of what atomics cost.
        mut filter => {
            let scheme = filter.scheme().unwrap_or_default();
            let tally = insert_in_order(scheme, reading, |hashes| {
                check_burst(&filter, hashes.len() as u64, memory)?;
                filter.insert_batch_at(hashes, now())?;
                Ok(())
            })?;
            (filter, tally)
        }
    };
    Ok(Filled { filter, tally, no_integers })
}

/// Every thread sets the bits of the keys it has read.
fn insert_anywhere(task: &impl Task, reading: &Reading) -> anyhow::Result<Tally> {
    reading.run(task, |_| anyhow::Ok(ControlFlow::Continue(())))
}

/// One thread inserts what all have hashed, in the order of the input.
pub fn insert_in_order(
    scheme: Native,
    reading: &Reading,
    mut insert: impl FnMut(&[Hash]) -> anyhow::Result<()> + Send,
) -> anyhow::Result<Tally> {
    reading.run(&Hashing(scheme), |batch| {
        insert(&batch.out)?;
        Ok(ControlFlow::Continue(()))
    })
}

fn insert_ids(
    ids: &mut Bitmap,
    reading: &Reading,
    memory: MaxMemory,
) -> anyhow::Result<(Tally, u64)> {
    let mut no_integers = 0;
    // Its size is dear to ask for, so that is done as often as it has grown by an eighth.
    let mut check_at = 0;
    let tally = reading.run(&Integers, |batch| {
        for id in &batch.out {
            match id {
                Some(id) => _ = ids.insert(*id),
                None => no_integers += 1,
            }
        }
        if ids.keys() >= check_at {
            memory.check(ids.bytes(), ids.keys())?;
            check_at = ids.keys() / 8 * 9 + 1000;
        }
        anyhow::Ok(ControlFlow::Continue(()))
    })?;
    Ok((tally, no_integers))
}

/// A filter that many threads write.
trait Shared: Sync {
    fn set(&self, hashes: &[Hash]);
}

impl Shared for SharedClassic {
    fn set(&self, hashes: &[Hash]) {
        self.insert_batch(hashes);
    }
}

/// Hashes the keys of a block, then sets them all.
struct Setting<'f, F>(&'f F, Native);

impl<F: Shared> Task for Setting<'_, F> {
    type Out = Hashes;

    fn begin(&self, out: &mut Hashes) {
        out.begin();
    }

    #[inline]
    fn key(&self, out: &mut Hashes, key: &[u8]) {
        out.key(&self.1, key);
    }

    fn end(&self, out: &mut Hashes) {
        out.end(&self.1);
        self.0.set(out);
    }
}

/// Keeps the integer that each key is, for exact sets.
pub struct Integers;

impl Task for Integers {
    type Out = Vec<Option<u64>>;

    fn begin(&self, out: &mut Vec<Option<u64>>) {
        out.clear();
    }

    fn key(&self, out: &mut Vec<Option<u64>>, key: &[u8]) {
        out.push(key.try_into().ok().map(u64::from_le_bytes));
    }
}

/// Fails before a burst in a window of time would take more memory than it may.
pub fn check_burst(filter: &AnyFilter, more: u64, memory: MaxMemory) -> anyhow::Result<()> {
    let AnyFilter::Windowed(window) = filter else { return Ok(()) };
    match window.next_layer() {
        Some(next) if window.room_before_growth() < more => {
            let bytes = window.bytes().saturating_add(next.shape.bits() / 8);
            memory.check(bytes, window.keys(Moment::LAST).saturating_add(more))
        }
        _ => Ok(()),
    }
}

/// Fails before a growing filter would take more memory than it may.
pub fn check_growth(filter: &Scalable, more: u64, memory: MaxMemory) -> anyhow::Result<()> {
    let keys = filter.keys().saturating_add(more);
    if keys <= filter.capacity() {
        return Ok(());
    }
    let spent: f64 = filter.layers().iter().map(|layer| layer.spec().fpr()).sum();
    let next = Layer::next(filter.spec().fpr(), filter.growth(), filter.capacity(), spent);
    let next_bytes = next.map_or(0, |layer| layer.shape.bits() / 8);
    memory.check(filter.bytes().saturating_add(next_bytes), keys)
}
