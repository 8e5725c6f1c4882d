//! Keys into a filter and out of it again: on all threads where a kind can, each kind in its way.

use super::{Body, ChangeError, Filter, KeySource, Tally, integer};
use crate::budget::Budget;
use crate::clock::now_ms;
use crate::keys::KeyBuffer;
use mayhap::kind::BuildMode;
use mayhap::sizing::ScalableShape;
use mayhap::window::Moment;
use mayhap::{AnyFilter, Bitmap, Cascade, Hash, Kind, Scalable};
use mayhap_foreign::Foreign;
use std::ops::ControlFlow;

/// What came of adding keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// What was read.
    pub tally: Tally,
    /// Keys that are no integers, which a set of integers cannot hold.
    pub non_integers: u64,
}

/// What came of removing keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// What was read.
    pub tally: Tally,
    /// Keys that are gone.
    pub removed: u64,
    /// Keys that were certainly not in: nothing changed for them.
    pub refused: u64,
}

impl Removed {
    /// From a filter that tells the two apart.
    pub fn new(tally: Tally, removed: u64) -> Removed {
        let keys = tally.records.saturating_sub(tally.missing);
        Removed { tally, removed, refused: keys.saturating_sub(removed) }
    }
}

/// Goes through batches until one fails.
pub(super) struct Pass {
    failed: Option<ChangeError>,
}

impl Pass {
    pub(super) fn new() -> Pass {
        Pass { failed: None }
    }

    pub(super) fn go_on(&mut self, done: Result<(), ChangeError>) -> ControlFlow<()> {
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// What broke it off, or what was read.
    pub(super) fn end(self, tally: Tally) -> Result<Tally, ChangeError> {
        self.failed.map_or(Ok(tally), Err)
    }
}

/// One thread inserts what all have hashed, in the order of the keys.
fn in_order(
    keys: &dyn KeySource,
    filter: &mut AnyFilter,
    mut insert: impl FnMut(&mut AnyFilter, &[Hash]) -> Result<(), ChangeError> + Send,
) -> Result<Tally, ChangeError> {
    let mut pass = Pass::new();
    let scheme = filter.scheme().unwrap_or_default();
    let tally = keys.hashes(scheme, &mut |hashes| {
        let done = insert(filter, hashes);
        pass.go_on(done)
    })?;
    pass.end(tally)
}

impl Filter {
    /// Add keys, on all cores that the source has. What cannot be added to says so before anything
    /// is read.
    pub fn fill(&mut self, keys: &dyn KeySource, budget: Budget) -> Result<Filled, ChangeError> {
        self.make_owned(budget)?;
        let filter = match &mut self.body {
            Body::Foreign(filter) => {
                let tally = fill_foreign(filter.as_mut(), keys)?;
                return Ok(Filled { tally, non_integers: 0 });
            }
            Body::Owned(filter) => filter,
            Body::Mapped(_) => return Err(ChangeError::NotNative { name: self.format.name() }),
        };
        match filter.kind() {
            Kind::Cascade => return Err(ChangeError::TwoLists),
            kind if kind.traits().build == BuildMode::AllHashes => {
                return Err(ChangeError::Static { kind });
            }
            _ => {}
        }
        fill_native(filter, keys, budget)
    }

    /// Record keys exactly in the stash of a cascade, until it is built again.
    pub fn stash_add(
        &mut self,
        keys: &dyn KeySource,
        budget: Budget,
    ) -> Result<Filled, ChangeError> {
        let (tally, _) = self.stash(keys, budget, Cascade::stash_add_batch)?;
        Ok(Filled { tally, non_integers: 0 })
    }

    /// Record in the stash of a cascade that keys are in no more, until it is built again.
    pub fn stash_remove(
        &mut self,
        keys: &dyn KeySource,
        budget: Budget,
    ) -> Result<Removed, ChangeError> {
        let (tally, removed) = self.stash(keys, budget, Cascade::stash_remove_batch)?;
        Ok(Removed { tally, removed, refused: 0 })
    }

    fn stash(
        &mut self,
        keys: &dyn KeySource,
        budget: Budget,
        record: impl FnOnce(&mut Cascade, &[Hash]) -> u64,
    ) -> Result<(Tally, u64), ChangeError> {
        let name = self.name();
        self.make_owned(budget)?;
        let Body::Owned(AnyFilter::Cascade(cascade)) = &mut self.body else {
            return Err(ChangeError::NoStash { name });
        };
        // All at once: each batch by itself would sort the whole stash. A growing vector is copied
        // into one twice its size, and the stash is a third.
        let beside = cascade.bytes();
        let need = |keys: u64| keys.saturating_mul(4 * 8).saturating_add(beside);
        let (hashes, tally) = collect(keys, cascade.scheme(), budget, need)?;
        let recorded = record(cascade, &hashes);
        Ok((tally, recorded))
    }

    /// Copy it into memory to remove keys from it. A cascade cannot give them up.
    fn own_to_remove(&mut self, budget: Budget) -> Result<(), ChangeError> {
        match &self.body {
            Body::Mapped(AnyFilter::Cascade(_)) | Body::Owned(AnyFilter::Cascade(_)) => {
                Err(ChangeError::TwoLists)
            }
            _ => self.make_owned(budget),
        }
    }

    /// Remove a batch of keys from a filter that can give them up: `removed` is cleared and filled,
    /// `false` for each that was certainly not in.
    pub fn remove_batch(
        &mut self,
        keys: &KeyBuffer,
        budget: Budget,
        removed: &mut Vec<bool>,
    ) -> Result<(), ChangeError> {
        let name = self.name();
        self.own_to_remove(budget)?;
        removed.clear();
        match &mut self.body {
            Body::Owned(AnyFilter::Quotient(filter)) => {
                let (keys, mut hashes): (Vec<&[u8]>, _) = (keys.iter().collect(), Vec::new());
                filter.scheme().hash_batch(&keys, &mut hashes);
                filter.remove_batch_removed(&hashes, removed);
            }
            Body::Owned(AnyFilter::Counting(filter)) => {
                removed.extend(keys.iter().map(|key| filter.remove(key)));
            }
            Body::Owned(AnyFilter::Bitmap(ids)) => {
                let remove = |key| integer(key).is_some_and(|id| ids.remove(id));
                removed.extend(keys.iter().map(remove));
            }
            _ => return Err(ChangeError::NoRemoval { name }),
        }
        Ok(())
    }

    /// Remove keys from a filter that can give them up.
    pub fn remove(&mut self, keys: &dyn KeySource, budget: Budget) -> Result<Removed, ChangeError> {
        let name = self.name();
        self.own_to_remove(budget)?;
        let mut removed = 0;
        let tally = match &mut self.body {
            Body::Owned(AnyFilter::Counting(filter)) => {
                keys.hashes(filter.scheme(), &mut |keys| {
                    removed += filter.remove_batch(keys);
                    ControlFlow::Continue(())
                })?
            }
            Body::Owned(AnyFilter::Quotient(filter)) => {
                keys.hashes(filter.scheme(), &mut |keys| {
                    removed += filter.remove_batch(keys);
                    ControlFlow::Continue(())
                })?
            }
            Body::Owned(AnyFilter::Bitmap(ids)) => keys.integers(&mut |keys| {
                removed += keys.iter().flatten().map(|id| u64::from(ids.remove(*id))).sum::<u64>();
                ControlFlow::Continue(())
            })?,
            _ => return Err(ChangeError::NoRemoval { name }),
        };
        Ok(Removed::new(tally, removed))
    }
}

/// Add keys to one of Mayhap's own kinds.
pub(super) fn fill_native(
    filter: &mut AnyFilter,
    keys: &dyn KeySource,
    budget: Budget,
) -> Result<Filled, ChangeError> {
    let mut non_integers = 0;
    let tally = match filter {
        AnyFilter::Classic(_) => fill_shared(filter, keys)?,
        AnyFilter::Bitmap(ids) => {
            let tally = fill_integers(ids, keys, budget, &mut non_integers)?;
            ids.compact();
            tally
        }
        // One thread inserts a batch of these faster than the others read and hash the next ones,
        // and at half of what atomics cost.
        filter => in_order(keys, filter, |filter, hashes| {
            check_growth(filter, hashes.len() as u64, budget)?;
            filter.insert_batch_at(hashes, Moment::ticks(now_ms()))?;
            Ok(())
        })?,
    };
    Ok(Filled { tally, non_integers })
}

/// Every thread sets the bits of the keys it has read: many cache misses per key are worth sharing.
fn fill_shared(filter: &mut AnyFilter, keys: &dyn KeySource) -> Result<Tally, ChangeError> {
    let AnyFilter::Classic(classic) = std::mem::replace(filter, Bitmap::new().into()) else {
        return Ok(Tally::default());
    };
    let (scheme, shared) = (*classic.scheme(), classic.into_shared());
    let done = keys.hashes_unordered(scheme, &|hashes| _ = shared.insert_batch(hashes));
    *filter = shared.into_inner().into();
    Ok(done?)
}

fn fill_integers(
    ids: &mut Bitmap,
    keys: &dyn KeySource,
    budget: Budget,
    non_integers: &mut u64,
) -> Result<Tally, ChangeError> {
    // Its size is expensive to ask for, so that is done as often as it has grown by an eighth.
    let mut check_at = 0;
    let mut pass = Pass::new();
    let tally = keys.integers(&mut |batch| {
        for id in batch {
            match id {
                Some(id) => _ = ids.insert(*id),
                None => *non_integers += 1,
            }
        }
        if ids.keys() < check_at {
            return ControlFlow::Continue(());
        }
        check_at = ids.keys() / 8 * 9 + 1000;
        pass.go_on(check_memory(budget, ids.bytes(), ids.keys()))
    })?;
    pass.end(tally)
}

/// Add keys to another program's filter, in their order.
pub(super) fn fill_foreign(
    filter: &mut dyn Foreign,
    keys: &dyn KeySource,
) -> Result<Tally, ChangeError> {
    let (mut pass, mut new) = (Pass::new(), Vec::new());
    let tally = keys.keys(&mut |keys| {
        let done = filter.insert_batch(&keys.iter().collect::<Vec<_>>(), &mut new);
        pass.go_on(done.map_err(ChangeError::from))
    })?;
    pass.end(tally)
}

/// The hashes of all keys; `need` tells the bytes that so many take until they are where they
/// belong.
pub(super) fn collect(
    keys: &dyn KeySource,
    scheme: mayhap::scheme::Native,
    budget: Budget,
    need: impl Fn(u64) -> u64 + Sync,
) -> Result<(Vec<Hash>, Tally), ChangeError> {
    let (mut pass, mut hashes) = (Pass::new(), Vec::new());
    let tally = keys.hashes(scheme, &mut |more| {
        let keys = (hashes.len() + more.len()) as u64;
        pass.go_on(check_memory(budget, need(keys), keys))?;
        hashes.extend_from_slice(more);
        ControlFlow::Continue(())
    })?;
    Ok((hashes, pass.end(tally)?))
}

/// Fails where so many bytes, for so many keys, are more than allowed.
pub(super) fn check_memory(budget: Budget, need: u64, keys: u64) -> Result<(), ChangeError> {
    budget.check(need).map_err(|over| ChangeError::Memory { over, keys })
}

/// Fails before a filter that grows with its keys would take more memory than it may.
pub fn check_growth(filter: &AnyFilter, more: u64, budget: Budget) -> Result<(), ChangeError> {
    match filter {
        AnyFilter::Scalable(filter) => check_layers(filter, more, budget),
        // In a burst the generations of a window of time grow.
        AnyFilter::Windowed(window) => match window.next_layer() {
            Some(next) if window.remaining_before_growth() < more => {
                let bytes = window.bytes().saturating_add(next.shape.bits() / 8);
                check_memory(budget, bytes, window.keys(Moment::LAST).saturating_add(more))
            }
            _ => Ok(()),
        },
        // While it is laid out anew both sizes are there.
        AnyFilter::Quotient(filter) if filter.auto_grow() && filter.room() < more => {
            let grown = filter.grown_bytes().unwrap_or(0);
            let keys = filter.keys().saturating_add(more);
            check_memory(budget, filter.bytes().saturating_add(grown), keys)
        }
        _ => Ok(()),
    }
}

fn check_layers(filter: &Scalable, more: u64, budget: Budget) -> Result<(), ChangeError> {
    let keys = filter.keys().saturating_add(more);
    if keys <= filter.capacity() {
        return Ok(());
    }
    let next_bytes = filter.next_layer().map_or(0, |layer| layer.shape.bits() / 8);
    check_memory(budget, filter.bytes().saturating_add(next_bytes), keys)
}

/// The same for keys that are all to be new and take as many layers as they need; [`check_growth`] asks for
/// the next one only.
pub fn check_all_growth(filter: &AnyFilter, more: u64, budget: Budget) -> Result<(), ChangeError> {
    if let AnyFilter::Scalable(filter) = filter {
        let (spec, keys) = (filter.spec(), filter.keys().saturating_add(more));
        let shape = ScalableShape::new(spec.capacity(), spec.fpr(), filter.growth());
        check_memory(budget, filter.bytes().max(shape.bits_at(keys) / 8), keys)?;
    }
    check_growth(filter, more, budget)
}
