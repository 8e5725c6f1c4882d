//! The value of a key: a filter, or one that is still being loaded.

mod create;
mod cuckoo;
mod dump;
mod info;
mod loading;
mod part;
mod shard;

pub use create::{CreateSpec, Scale, Shape};
pub use cuckoo::CuckooSpec;
pub use dump::{Chunker, MAX_CHUNK_BYTES, head_of, reserve_for, take};
pub use info::{Info, LayerInfo};
pub use loading::LoadingFilter;
pub use part::{Added, Part};
pub use shard::mismatch;

use crate::stats::MemoryShare;
use crate::{Clock, CommandError};
use mayhap::format::dump::CuckooParams;
use mayhap::format::dump::ShardId;
use mayhap::mem::Relocate;

/// What a key holds.
///
/// New items go into the first part; others came beside it by `BF.MERGE … LAYERS` and are only
/// asked.
#[derive(Debug)]
pub struct Filter {
    state: State,
    share: MemoryShare,
    shard: Option<ShardId>,
    /// Of a filter of `CF.*`.
    cuckoo: Option<CuckooParams>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost every command a cache miss")]
enum State {
    Ready(Part, Vec<Part>),
    Loading(LoadingFilter),
}

impl Filter {
    /// A filter of one part.
    pub fn new(main: Part) -> Filter {
        Filter::of(State::Ready(main, Vec::new()))
    }

    /// A filter of several parts. `None` where there are none.
    pub fn from_parts(mut parts: Vec<Part>) -> Option<Filter> {
        if parts.is_empty() {
            return None;
        }
        let main = parts.remove(0);
        Some(Filter::of(State::Ready(main, parts)))
    }

    /// A filter whose bytes are still to come.
    pub fn loading(loading_filter: LoadingFilter) -> Filter {
        Filter::of(State::Loading(loading_filter))
    }

    fn of(state: State) -> Filter {
        let mut filter = Filter { state, share: MemoryShare::of(0), shard: None, cuckoo: None };
        filter.update_memory_stats();
        filter
    }

    /// Count its bytes anew, after it may have grown.
    fn update_memory_stats(&mut self) {
        let bytes = self.bytes();
        self.share.set(bytes);
    }

    /// A copy, unless there is no memory for one.
    pub fn try_copy(&self) -> Option<Filter> {
        // Cloning ends the process where memory is out, so see first whether it can be had.
        drop(mayhap::mem::AlignedBuf::zeroed(self.bytes()).ok()?);
        let mut copy = Filter::of(match &self.state {
            State::Ready(main, beside) => State::Ready(main.clone(), beside.clone()),
            State::Loading(loading_filter) => State::Loading(loading_filter.clone()),
        });
        (copy.shard, copy.cuckoo) = (self.shard, self.cuckoo);
        Some(copy)
    }

    /// Which shard of which filter it is, if it is one.
    #[inline]
    pub fn shard(&self) -> Option<ShardId> {
        self.shard
    }

    /// Make it this shard, or none.
    pub fn set_shard(&mut self, shard: Option<ShardId>) {
        self.shard = shard;
    }

    /// What a filter of `CF.*` has beside its items; `None` for one of `BF.*`.
    #[inline]
    pub fn cuckoo(&self) -> Option<CuckooParams> {
        match &self.state {
            State::Ready(..) => self.cuckoo,
            State::Loading(loading_filter) => loading_filter.head().cuckoo,
        }
    }

    /// Make it a filter of `CF.*`, or of `BF.*`.
    pub fn set_cuckoo(&mut self, cuckoo: Option<CuckooParams>) {
        self.cuckoo = cuckoo;
    }

    fn ready(&self) -> Result<(&Part, &[Part]), CommandError> {
        match &self.state {
            State::Ready(main, beside) => Ok((main, beside)),
            State::Loading(_) => Err(CommandError::LOADING),
        }
    }

    fn ready_mut(&mut self) -> Result<(&mut Part, &mut Vec<Part>), CommandError> {
        match &mut self.state {
            State::Ready(main, beside) => Ok((main, beside)),
            State::Loading(_) => Err(CommandError::LOADING),
        }
    }

    /// The part that items are added to.
    pub fn main(&self) -> Result<&Part, CommandError> {
        self.ready().map(|(main, _)| main)
    }

    /// All parts, the one that items are added to first; none while it is loading.
    pub fn parts(&self) -> impl Iterator<Item = &Part> + Clone {
        let (main, beside) = match &self.state {
            State::Ready(main, beside) => (Some(main), beside.as_slice()),
            State::Loading(_) => (None, &[][..]),
        };
        main.into_iter().chain(beside)
    }

    /// What has come so far, while it is loading.
    pub fn loading_filter(&self) -> Option<&LoadingFilter> {
        match &self.state {
            State::Ready(..) => None,
            State::Loading(loading_filter) => Some(loading_filter),
        }
    }

    /// Whether the item may be in.
    #[inline]
    pub fn contains(&self, item: &[u8], now_ms: u64) -> Result<bool, CommandError> {
        let (main, beside) = self.ready()?;
        Ok(main.contains(item, now_ms) || beside.iter().any(|part| part.contains(item, now_ms)))
    }

    /// Whether each of the items may be in.
    pub fn contains_many(&self, items: &[&[u8]], now_ms: u64) -> Result<Vec<bool>, CommandError> {
        let (main, beside) = self.ready()?;
        let (mut answers, mut more) = (Vec::new(), Vec::new());
        main.contains_many(items, now_ms, &mut answers);
        for part in beside {
            part.contains_many(items, now_ms, &mut more);
            answers.iter_mut().zip(&more).for_each(|(answer, more)| *answer |= more);
        }
        Ok(answers)
    }

    /// Bytes of the layer it would grow by; `None` where it does not grow.
    pub fn growth_bytes(&self) -> Option<u64> {
        self.main().ok()?.growth_bytes()
    }

    /// Whether the next item that is new makes it grow, or is refused.
    pub fn is_full(&self) -> bool {
        self.main().is_ok_and(|main| main.room() == 0)
    }

    /// Add one item. Whether it was certainly new.
    #[inline]
    pub fn add(&mut self, item: &[u8], now_ms: u64, room_bytes: u64) -> Result<bool, CommandError> {
        let (main, beside) = self.ready_mut()?;
        if beside.iter().any(|part| part.contains(item, now_ms)) {
            return Ok(false);
        }
        let bytes = main.bytes();
        let new = main.add(item, now_ms, room_bytes)?;
        if main.bytes() != bytes {
            self.update_memory_stats();
        }
        Ok(new)
    }

    /// Add them all, or as many as fit.
    pub fn add_many(
        &mut self,
        items: &[&[u8]],
        now_ms: u64,
        room_bytes: u64,
    ) -> Result<Added, CommandError> {
        let (main, beside) = self.ready_mut()?;
        let added = if beside.is_empty() {
            main.add_many(items, now_ms, room_bytes)
        } else {
            let mut added = Added::default();
            for item in items {
                let known = beside.iter().any(|part| part.contains(item, now_ms));
                match if known { Ok(false) } else { main.add(item, now_ms, room_bytes) } {
                    Ok(new) => added.new.push(new),
                    Err(error) => {
                        added.stopped = Some(error);
                        break;
                    }
                }
            }
            added
        };
        self.update_memory_stats();
        Ok(added)
    }

    /// Whether adding may change something even where the item is known.
    pub fn repeat_changes_state(&self) -> bool {
        self.main().is_ok_and(Part::repeat_changes_state)
    }

    /// The time, if it looks at the clock; else 0, which is as good.
    #[inline]
    pub fn now_ms(&self, clock: Clock) -> u64 {
        if self.is_timed() { clock.ms() } else { 0 }
    }

    /// Whether it looks at the clock, so that replicas must be told the time.
    pub fn is_timed(&self) -> bool {
        self.parts().any(Part::is_timed)
    }

    /// Give up one insertion of each item. Whether each may have been in.
    pub fn remove_many(&mut self, items: &[&[u8]]) -> Result<Vec<bool>, CommandError> {
        let (main, _) = self.ready_mut()?;
        items.iter().map(|item| main.remove(item)).collect()
    }

    /// Forget everything, what came by a merge included, and which shard it was: whoever asks for
    /// that shard must learn that its items are gone.
    pub fn clear(&mut self) -> Result<(), CommandError> {
        let (main, beside) = self.ready_mut()?;
        main.clear()?;
        beside.clear();
        self.shard = None;
        self.update_memory_stats();
        Ok(())
    }

    /// Take in everything the other holds; with `layers`, beside our own where it does not fit
    /// into it.
    pub fn merge(&mut self, other: &Filter, layers: bool) -> Result<(), CommandError> {
        let (theirs, their_beside) = other.ready()?;
        let (main, beside) = self.ready_mut()?;
        let plain = beside.is_empty() && their_beside.is_empty();
        if !layers && !plain {
            return Err(CommandError::text(
                "ERR a filter of merged layers has no one geometry: merge with LAYERS",
            ));
        }
        let mut more = Vec::new();
        for theirs in std::iter::once(theirs).chain(their_beside) {
            match main.union(theirs, layers) {
                Ok(()) => {}
                Err(_) if layers && beside.len() + more.len() < MAX_BESIDE => {
                    more.push(copy_of(theirs)?);
                }
                Err(error) => return Err(error),
            }
        }
        beside.append(&mut more);
        self.update_memory_stats();
        Ok(())
    }

    /// Take a chunk of a dump: see [`LoadingFilter`] and, for RedisBloom's, `BF.LOADCHUNK` there.
    pub fn load_chunk(&mut self, iterator: u64, chunk: &[u8]) -> Result<(), CommandError> {
        match &mut self.state {
            State::Ready(Part::Compat(chain), beside) if beside.is_empty() => {
                let known = chain.header().data_bytes().unwrap_or(u64::MAX);
                let bad = match iterator.checked_sub(chunk.len() as u64).filter(|at| *at > 0) {
                    Some(at) if at <= known => "ERR invalid chunk - Too big for current filter",
                    _ => "ERR invalid offset - no link found",
                };
                chain.load_chunk(iterator, chunk).map_err(|_| CommandError::text(bad))
            }
            State::Ready(..) => Err(CommandError::BAD_DATA),
            State::Loading(loading_filter) => {
                if let Some(parts) = loading_filter.push(iterator, chunk)? {
                    let mut parts = parts.into_iter();
                    let main = parts.next().ok_or(CommandError::BAD_DATA)?;
                    self.shard = loading_filter.head().shard;
                    self.cuckoo = loading_filter.head().cuckoo;
                    self.state = State::Ready(main, parts.collect());
                }
                self.update_memory_stats();
                Ok(())
            }
        }
    }

    /// The piece of a dump that follows an iterator, and the iterator that goes with it; 0 and
    /// nothing at the end.
    pub fn chunk_after(&self, iterator: u64) -> Result<(u64, Vec<u8>), CommandError> {
        let (main, beside) = self.ready()?;
        let next = match main {
            Part::Compat(chain) if beside.is_empty() => chain
                .chunk_after(iterator, MAX_CHUNK_BYTES)
                .map(|chunk| (chunk.iterator, chunk.bytes.into_owned())),
            _ => dump::chunk_after(self, iterator),
        };
        Ok(next.unwrap_or((0, Vec::new())))
    }

    /// Bytes of its arrays, or of what has come of them.
    pub fn bytes(&self) -> u64 {
        match &self.state {
            State::Ready(main, beside) => {
                main.bytes() + beside.iter().map(Part::bytes).sum::<u64>()
            }
            State::Loading(loading_filter) => loading_filter.bytes(),
        }
    }

    /// Let the server's active defragmentation move the memory of its arrays.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        let (main, beside) = match &mut self.state {
            State::Ready(main, beside) => (main, beside),
            State::Loading(loading_filter) => return loading_filter.relocate(memory),
        };
        memory.relocate(beside);
        for part in std::iter::once(main).chain(beside) {
            match part {
                Part::Native(filter) => filter.relocate(memory),
                Part::Compat(chain) => chain.relocate(memory),
            }
        }
    }

    /// RedisBloom's chain, if that is all it is.
    pub fn as_compat(&self) -> Option<&mayhap_foreign::redisbloom::Chain> {
        match &self.state {
            State::Ready(Part::Compat(chain), beside) if beside.is_empty() => Some(chain),
            _ => None,
        }
    }
}

/// The most parts beside the first.
const MAX_BESIDE: usize = 255;

fn copy_of(part: &Part) -> Result<Part, CommandError> {
    // As in `try_copy`.
    drop(mayhap::mem::AlignedBuf::zeroed(part.bytes()).map_err(|_| CommandError::NO_MEMORY)?);
    Ok(part.clone())
}

#[cfg(test)]
mod tests;
