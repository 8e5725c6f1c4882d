//! One filter of whatever make: ours, or RedisBloom's.

use crate::CommandError;
use mayhap::window::Moment;
use mayhap::{AnyFilter, Blocked, Classic, Counting, Hash, Kind, Unsupported};
use mayhap_foreign::redisbloom::{Chain, Link, Scaling};
use std::cell::RefCell;

/// Batches are cut to this many items, so that what is kept of one stays in cache.
const BATCH: usize = 4096;

/// One filter.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost every command a cache miss")]
pub enum Part {
    /// Of the engine, in our format.
    Native(AnyFilter),
    /// RedisBloom's chain, in its scheme.
    Compat(Chain),
}

/// What became of items that were to be added.
#[derive(Debug, Default)]
pub struct Added {
    /// For each that was taken: whether it was certainly new.
    pub new: Vec<bool>,
    /// Why not all were taken.
    pub stopped: Option<CommandError>,
}

impl Part {
    /// Whether the item may be in at this moment.
    #[inline]
    pub fn contains(&self, item: &[u8], now_ms: u64) -> bool {
        match self {
            // The one that nearly everybody has. Its lines come at once, not one after another.
            Part::Native(AnyFilter::Scalable(filter)) => {
                let hash = filter.hash(item);
                filter.prefetch(hash);
                filter.contains_hash(hash)
            }
            Part::Native(filter) => filter.contains_at(item, Moment::ticks(now_ms)),
            Part::Compat(chain) => chain.contains(item),
        }
    }

    /// The same for many: `answers` is cleared and filled.
    pub fn contains_many(&self, items: &[&[u8]], now_ms: u64, answers: &mut Vec<bool>) {
        match self {
            Part::Native(filter) => match filter.scheme() {
                Some(scheme) => with_hashes(|hashes| {
                    scheme.hash_batch(items, hashes);
                    if filter.contains_batch_at(hashes, Moment::ticks(now_ms), answers).is_err() {
                        answers.clear(); // cannot be: what has a scheme hashes
                        answers.resize(items.len(), false);
                    }
                }),
                None => {
                    answers.clear();
                    answers.extend(items.iter().map(|item| filter.contains(item)));
                }
            },
            Part::Compat(chain) => {
                let hashes: Vec<_> = items.iter().map(|item| chain.hash(item)).collect();
                chain.contains_batch(&hashes, answers);
            }
        }
    }

    /// How many more certainly new items fit before it is full or must grow.
    pub fn room(&self) -> u64 {
        let left = |capacity: u64, keys: u64| match capacity {
            0 => u64::MAX, // nobody said how many it is for
            _ => capacity.saturating_sub(keys),
        };
        match self {
            Part::Native(AnyFilter::Scalable(filter)) => {
                let newest = filter.layers().last();
                newest.map_or(0, |newest| left(newest.spec().capacity(), newest.keys()))
            }
            Part::Native(AnyFilter::Windowed(filter)) => filter.remaining_before_growth(),
            Part::Native(AnyFilter::Quotient(filter)) => filter.room(),
            Part::Native(filter) => left(filter.capacity(), filter.keys()),
            Part::Compat(chain) => chain.links().last().map_or(0, Link::room),
        }
    }

    /// Let a window begin the generation of this moment, which has room of its own.
    fn advance(&mut self, now_ms: u64) {
        if let Part::Native(AnyFilter::Windowed(filter)) = self {
            filter.advance(Moment::ticks(now_ms));
        }
    }

    /// Bytes of the layer it would grow by; `None` where it does not grow.
    pub fn growth_bytes(&self) -> Option<u64> {
        match self {
            Part::Native(AnyFilter::Scalable(filter)) => {
                Some(filter.next_layer()?.shape.bits() / 8)
            }
            // While it is laid out anew both sizes are there.
            Part::Native(AnyFilter::Quotient(filter)) if filter.auto_grow() => filter.grown_bytes(),
            // A burst in a window of time.
            Part::Native(AnyFilter::Windowed(filter)) => {
                Some(filter.next_layer().map_or(0, |next| next.shape.bits() / 8))
            }
            Part::Compat(chain) if matches!(chain.scaling(), Scaling::By(_)) => {
                Some(chain.next_layer().map_or(0, |next| next.bytes))
            }
            _ => None,
        }
    }

    /// Grow a full filter by no more than `room_bytes`.
    fn grow(&mut self, room_bytes: u64) -> Result<(), CommandError> {
        match self {
            Part::Native(AnyFilter::Scalable(filter)) => {
                let next = filter.next_layer().ok_or(CommandError::NO_ROOM_TO_GROW)?;
                if next.shape.bits() / 8 > room_bytes {
                    return Err(CommandError::NO_ROOM_TO_GROW);
                }
                filter.try_grow().map_err(|_| CommandError::NO_ROOM_TO_GROW)
            }
            Part::Native(AnyFilter::Quotient(filter)) if filter.auto_grow() => {
                if filter.grown_bytes().is_some_and(|bytes| bytes > room_bytes) {
                    return Err(CommandError::NO_ROOM_TO_GROW);
                }
                filter.grow_in_steps().map(drop).map_err(|_| CommandError::NO_ROOM_TO_GROW)
            }
            // A burst in a window of time.
            Part::Native(AnyFilter::Windowed(filter)) => {
                let next = filter.next_layer().map_or(0, |next| next.shape.bits() / 8);
                if next > room_bytes {
                    return Err(CommandError::NO_ROOM_TO_GROW);
                }
                filter.try_grow().map_err(|_| CommandError::NO_ROOM_TO_GROW)
            }
            Part::Compat(chain) if matches!(chain.scaling(), Scaling::By(_)) => {
                match chain.next_layer()?.bytes {
                    bytes if bytes <= room_bytes => Ok(()), // it grows by itself
                    _ => Err(CommandError::NO_ROOM_TO_GROW),
                }
            }
            _ => Err(CommandError::FULL),
        }
    }

    /// Add one item. Whether it was certainly new.
    #[inline]
    pub fn add(&mut self, item: &[u8], now_ms: u64, room_bytes: u64) -> Result<bool, CommandError> {
        self.advance(now_ms);
        if self.room() == 0 {
            if self.contains(item, now_ms) && !self.repeat_changes_state() {
                return Ok(false);
            }
            self.grow(room_bytes)?;
        }
        match self {
            Part::Native(AnyFilter::Scalable(filter)) => {
                let hash = filter.hash(item);
                filter.prefetch(hash);
                Ok(filter.insert_hash(hash))
            }
            Part::Native(filter) => Ok(filter.insert_at(item, Moment::ticks(now_ms))?),
            Part::Compat(chain) => chain.insert(item).map_err(|_| problem()),
        }
    }

    /// Add them all, or as many as fit.
    pub fn add_many(&mut self, items: &[&[u8]], now_ms: u64, room_bytes: u64) -> Added {
        let mut added = Added { new: Vec::with_capacity(items.len()), stopped: None };
        let (mut rest, mut new) = (items, Vec::new());
        self.advance(now_ms);
        let bytes = self.bytes();
        while let Some(first) = rest.first() {
            let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
            let one_by_one = room == 0 || rest.len() == 1 || !self.hashes();
            let (done, taken) = if one_by_one {
                // What it grew by since is taken from the room.
                let left = room_bytes.saturating_sub(self.bytes().saturating_sub(bytes));
                (1, self.add(first, now_ms, left).map(|is_new| new = vec![is_new]))
            } else {
                let count = rest.len().min(room).min(BATCH);
                (count, self.insert_batch(&rest[..count], now_ms, &mut new))
            };
            if let Err(error) = taken {
                added.stopped = Some(error);
                break;
            }
            added.new.extend_from_slice(&new);
            rest = &rest[done..];
        }
        added
    }

    /// Insert no more items than there is room for.
    fn insert_batch(
        &mut self,
        items: &[&[u8]],
        now_ms: u64,
        new: &mut Vec<bool>,
    ) -> Result<(), CommandError> {
        let filter = match self {
            Part::Native(filter) => filter,
            Part::Compat(chain) => {
                let hashes: Vec<_> = items.iter().map(|item| chain.hash(item)).collect();
                return chain.insert_batch_new(&hashes, new).map_err(|_| problem());
            }
        };
        with_hashes(|hashes| {
            if let Some(scheme) = filter.scheme() {
                scheme.hash_batch(items, hashes);
            }
            insert_hashes(filter, hashes, now_ms, new)
        })
    }

    /// Whether it hashes its items, so that they can be added in batches.
    fn hashes(&self) -> bool {
        match self {
            Part::Native(filter) => filter.scheme().is_some(),
            Part::Compat(_) => true,
        }
    }

    /// Whether an item that is in is counted once more when it is added again.
    pub fn counts(&self) -> bool {
        matches!(self, Part::Native(AnyFilter::Counting(_) | AnyFilter::Quotient(_)))
    }

    /// Whether adding may change something even where the item is known.
    pub fn repeat_changes_state(&self) -> bool {
        self.counts() || matches!(self, Part::Native(AnyFilter::Windowed(_)))
    }

    /// Whether it looks at the clock.
    pub fn is_timed(&self) -> bool {
        match self {
            Part::Native(AnyFilter::Windowed(filter)) => filter.window().ticks().is_some(),
            _ => false,
        }
    }

    /// Give up one insertion of an item. Whether it may have been in.
    pub fn remove(&mut self, item: &[u8]) -> Result<bool, CommandError> {
        match self {
            Part::Native(filter) => Ok(filter.remove(item)?),
            Part::Compat(_) => Err(CommandError::text(
                "ERR a RedisBloom filter cannot give keys up: reserve one with KIND quotient",
            )),
        }
    }

    /// Remove all keys.
    pub fn clear(&mut self) -> Result<(), CommandError> {
        match self {
            Part::Native(filter) => Ok(filter.clear()?),
            Part::Compat(chain) => {
                let mut header = chain.header();
                header.links.truncate(1);
                header.links.iter_mut().for_each(|link| link.items = 0);
                *chain = Chain::load_header(&header.encode(), u64::MAX)?;
                Ok(())
            }
        }
    }

    /// Take in everything the other holds, which must be of one make and shape and hash alike.
    /// With `layers` a filter that grows takes the other's layers beside its own, whatever it
    /// does to the rate.
    pub fn union(&mut self, other: &Part, layers: bool) -> Result<(), CommandError> {
        match (self, other) {
            (
                Part::Native(AnyFilter::Scalable(ours)),
                Part::Native(AnyFilter::Scalable(theirs)),
            ) if layers => Ok(ours.adopt(theirs)?),
            (Part::Native(ours), Part::Native(theirs)) => Ok(ours.union(theirs)?),
            (Part::Compat(ours), Part::Compat(theirs)) => Ok(ours.union(theirs)?),
            (Part::Native(_), Part::Compat(_)) | (Part::Compat(_), Part::Native(_)) => {
                Err(CommandError::text(
                    "ERR a RedisBloom filter and one of ours hash differently: merge with LAYERS",
                ))
            }
        }
    }

    /// Bytes of its arrays.
    pub fn bytes(&self) -> u64 {
        match self {
            Part::Native(filter) => filter.bytes(),
            Part::Compat(chain) => {
                chain.links().iter().fold(0, |sum, link| sum + link.info().bytes)
            }
        }
    }

    /// What its make is called.
    pub fn kind(&self) -> &'static str {
        match self {
            Part::Native(filter) => match filter.kind() {
                Kind::Scalable => "blocked",
                Kind::Blocked => "blocked",
                other => other.name(),
            },
            Part::Compat(_) => "redisbloom",
        }
    }
}

thread_local! {
    /// Room for the hashes of a batch, so that no command must ask the server for it.
    static HASHES: RefCell<Vec<Hash>> = const { RefCell::new(Vec::new()) };
}

/// Do something with room for hashes.
fn with_hashes<T>(run: impl FnOnce(&mut Vec<Hash>) -> T) -> T {
    let mut hashes = HASHES.take();
    hashes.clear();
    let done = run(&mut hashes);
    if hashes.capacity() <= BATCH {
        HASHES.set(hashes);
    }
    done
}

fn insert_hashes(
    filter: &mut AnyFilter,
    hashes: &[Hash],
    now_ms: u64,
    new: &mut Vec<bool>,
) -> Result<(), CommandError> {
    match filter {
        AnyFilter::Scalable(filter) => filter.insert_batch_new(hashes, new),
        AnyFilter::Blocked(filter) => Blocked::insert_batch_new(filter, hashes, new),
        AnyFilter::Classic(filter) => Classic::insert_batch_new(filter, hashes, new),
        AnyFilter::Counting(filter) => Counting::insert_batch_new(filter, hashes, new),
        AnyFilter::Quotient(filter) => filter.insert_batch_new(hashes, new),
        AnyFilter::Sharded(filter) => filter.insert_batch_new(hashes, new),
        AnyFilter::Windowed(filter) => filter.insert_batch_new(hashes, Moment::ticks(now_ms), new),
        other => {
            let what = "is built from all keys at once: build it again";
            return Err(Unsupported::new(other.kind().name(), what).into());
        }
    }
    Ok(())
}

fn problem() -> CommandError {
    CommandError::text("ERR problem inserting into filter")
}
