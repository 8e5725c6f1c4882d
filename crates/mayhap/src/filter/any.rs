//! A filter whose kind is known only when the program runs.

#[cfg(feature = "bitmap")]
use super::Bitmap;
use super::{
    Blocked, Cascade, Classic, Counting, Fuse, Kind, MergeError, Moment, Scalable, Sharded,
    Windowed, same,
};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::{Mover, Pages};
use crate::scheme::{Native, Scheme};
use crate::spec::Spec;
use std::fmt;

/// A filter of any kind that can be saved, for code that learns the kind from a file or a user.
///
/// It answers as the kind does, at the cost of one branch a call (one a batch). What a kind
/// cannot do it refuses with an error that says so. Code that knows its kind should name it.
///
/// ```
/// use mayhap::format::Notes;
/// use mayhap::{AnyFilter, Blocked, Kind, Spec};
/// let mut seen = Blocked::new(Spec::new(1_000, 0.01)?)?;
/// seen.insert("ada");
/// let file = seen.encode(&Notes::new());
///
/// let filter = AnyFilter::open(&file, None)?; // borrows: a mapped file will do
/// assert_eq!(filter.kind(), Kind::Blocked);
/// assert!(filter.contains("ada"));
/// assert!(!filter.contains("eve"));
///
/// let mut filter = AnyFilter::decode(&file, None)?; // copies: now it can grow
/// assert!(filter.insert("eve")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyFilter<B = Pages> {
    /// The textbook's.
    Classic(Classic<Native, B>),
    /// Of cache lines.
    Blocked(Blocked<B>),
    /// Of counters.
    Counting(Counting<B>),
    /// Of layers that grow.
    Scalable(Scalable<B>),
    /// Of generations that are forgotten.
    Windowed(Windowed<B>),
    /// Of fingerprints.
    Fuse(Fuse<B>),
    /// Exact. It is never used in place: opening copies it.
    #[cfg(feature = "bitmap")]
    Bitmap(Bitmap),
    /// Exact on two lists.
    Cascade(Cascade<B>),
    /// In pieces.
    Sharded(Sharded<B>),
}

/// The same expression for every kind that hashes, one for the kind that has a clock, and one for
/// the exact set.
macro_rules! each {
    ($any:expr, $filter:ident => $does:expr, $window:ident => $timed:expr, $ids:ident => $exact:expr) => {
        match $any {
            AnyFilter::Classic($filter) => $does,
            AnyFilter::Blocked($filter) => $does,
            AnyFilter::Counting($filter) => $does,
            AnyFilter::Scalable($filter) => $does,
            AnyFilter::Windowed($window) => $timed,
            AnyFilter::Fuse($filter) => $does,
            AnyFilter::Cascade($filter) => $does,
            AnyFilter::Sharded($filter) => $does,
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap($ids) => $exact,
        }
    };
}

impl<B: AsRef<[u8]>> AnyFilter<B> {
    /// Which kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            AnyFilter::Classic(_) => Kind::Classic,
            AnyFilter::Blocked(_) => Kind::Blocked,
            AnyFilter::Counting(_) => Kind::Counting,
            AnyFilter::Scalable(_) => Kind::Scalable,
            AnyFilter::Windowed(_) => Kind::Windowed,
            AnyFilter::Fuse(_) => Kind::Fuse,
            AnyFilter::Cascade(_) => Kind::Cascade,
            AnyFilter::Sharded(_) => Kind::Sharded,
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(_) => Kind::Bitmap,
        }
    }

    /// Whether the key may be in; `false` is certain. A window answers as of its last insert.
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_at(key, Moment::LAST)
    }

    /// Whether the key may be in now; `false` is certain. Only windows look at the clock: `now`
    /// is in the ticks they were made with, and a time before their last insert is taken for it.
    pub fn contains_at(&self, key: impl Key, now: impl Into<Moment>) -> bool {
        each!(
            self,
            filter => filter.contains(key),
            window => window.contains(key, now),
            ids => ids.contains_key(key)
        )
    }

    /// Hash a key once, to ask or insert it later.
    pub fn hash(&self, key: impl Key) -> Result<Hash, Refused> {
        self.scheme().map(|scheme| scheme.hash(key)).ok_or(self.refuse(UNHASHED))
    }

    /// Whether the hashed key may be in; `false` is certain.
    pub fn contains_hash(&self, hash: Hash) -> Result<bool, Refused> {
        Ok(each!(
            self,
            filter => filter.contains_hash(hash),
            window => window.contains_hash(hash, Moment::LAST),
            _ids => return Err(self.refuse(UNHASHED))
        ))
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) -> Result<(), Refused> {
        self.contains_batch_at(hashes, Moment::LAST, answers)
    }

    /// Ask for all of them at once, as [`contains_at`](AnyFilter::contains_at) does.
    pub fn contains_batch_at(
        &self,
        hashes: &[Hash],
        now: impl Into<Moment>,
        answers: &mut Vec<bool>,
    ) -> Result<(), Refused> {
        each!(
            self,
            filter => filter.contains_batch(hashes, answers),
            window => window.contains_batch(hashes, now, answers),
            _ids => return Err(self.refuse(UNHASHED))
        );
        Ok(())
    }

    /// How keys are hashed; `None` in an exact set, where they are not.
    pub fn scheme(&self) -> Option<Native> {
        match self {
            AnyFilter::Classic(filter) => Some(*filter.scheme()),
            AnyFilter::Blocked(filter) => Some(filter.scheme()),
            AnyFilter::Counting(filter) => Some(filter.scheme()),
            AnyFilter::Scalable(filter) => Some(filter.scheme()),
            AnyFilter::Windowed(filter) => Some(filter.scheme()),
            AnyFilter::Fuse(filter) => Some(filter.scheme()),
            AnyFilter::Cascade(filter) => Some(filter.scheme()),
            AnyFilter::Sharded(filter) => Some(filter.scheme()),
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(_) => None,
        }
    }

    /// What it was made for: keys and rate.
    fn wish(&self) -> (u64, f64) {
        let of = |spec: Spec| (spec.capacity(), spec.fpr());
        match self {
            AnyFilter::Classic(filter) => (filter.capacity(), filter.fpr()),
            AnyFilter::Blocked(filter) => of(filter.spec()),
            AnyFilter::Counting(filter) => of(filter.spec()),
            AnyFilter::Scalable(filter) => (filter.capacity(), filter.spec().fpr()),
            AnyFilter::Windowed(filter) => of(filter.spec()),
            AnyFilter::Fuse(filter) => of(filter.spec()),
            AnyFilter::Cascade(filter) => of(filter.spec()),
            AnyFilter::Sharded(filter) => of(filter.spec()),
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(_) => (0, 0.0),
        }
    }

    /// The keys it was made for, or has grown to; 0 where nobody said.
    pub fn capacity(&self) -> u64 {
        self.wish().0
    }

    /// The rate it was made for; 0 where nobody said, and in an exact set.
    pub fn fpr(&self) -> f64 {
        self.wish().1
    }

    /// The keys counted in.
    pub fn keys(&self) -> u64 {
        each!(self, filter => filter.keys(), window => window.keys(Moment::LAST), ids => ids.keys())
    }

    /// Bytes of its arrays.
    pub fn bytes(&self) -> u64 {
        match self {
            AnyFilter::Classic(filter) => filter.as_bytes().len() as u64,
            AnyFilter::Blocked(filter) => filter.as_bytes().len() as u64,
            AnyFilter::Counting(filter) => filter.as_bytes().len() as u64,
            AnyFilter::Scalable(filter) => filter.bytes(),
            AnyFilter::Windowed(filter) => filter.bytes(),
            AnyFilter::Fuse(filter) => filter.as_bytes().len() as u64,
            AnyFilter::Cascade(filter) => filter.bytes(),
            AnyFilter::Sharded(filter) => filter.bytes(),
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(ids) => ids.bytes(),
        }
    }

    /// The share of bits that are set.
    pub fn fill(&self) -> f64 {
        each!(self, filter => filter.fill(), window => window.fill(Moment::LAST), ids => ids.fill())
    }

    /// How many distinct keys are in, told from the bits alone.
    pub fn estimate(&self) -> u64 {
        each!(self, filter => filter.estimate(), window => window.estimate(Moment::LAST), ids => ids.estimate())
    }

    /// The false-positive rate as the bits stand now.
    pub fn fpr_now(&self) -> f64 {
        each!(self, filter => filter.fpr_now(), window => window.fpr_now(Moment::LAST), ids => ids.fpr_now())
    }

    fn refuse(&self, what: &'static str) -> Refused {
        Refused { kind: self.kind(), what }
    }
}

const UNHASHED: &str = "hashes nothing: ask for the key itself";
const STATIC: &str = "is built from all keys at once: build it anew";
const LISTED: &str = "is built from two whole lists: build it anew, or use its stash until then";
const TIMED: &str = "of time must be told it: insert with the time";
const NO_REMOVAL: &str = "cannot give keys up: choose counting or a bitmap";
#[cfg(feature = "bitmap")]
const NOT_AN_INTEGER: &str = "holds integers only: keys of 8 bytes";

impl AnyFilter {
    /// Offer the memory of its arrays to whoever tidies the heap: no answer changes.
    pub fn move_arrays(&mut self, mover: &mut Mover<'_>) {
        match self {
            AnyFilter::Classic(filter) => filter.move_arrays(mover),
            AnyFilter::Blocked(filter) => filter.move_arrays(mover),
            AnyFilter::Counting(filter) => filter.move_arrays(mover),
            AnyFilter::Scalable(filter) => filter.move_arrays(mover),
            AnyFilter::Windowed(filter) => filter.move_arrays(mover),
            AnyFilter::Fuse(filter) => filter.move_arrays(mover),
            AnyFilter::Sharded(filter) => filter.move_arrays(mover),
            AnyFilter::Cascade(filter) => filter.move_arrays(mover),
            // Its many small pieces belong to another crate, and it says so: it stays.
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(_) => {}
        }
    }

    /// Insert a key. `true`: it was certainly new. A window of time refuses: see
    /// [`insert_at`](AnyFilter::insert_at).
    pub fn insert(&mut self, key: impl Key) -> Result<bool, Refused> {
        self.check_timeless()?;
        self.insert_at(key, Moment::LAST)
    }

    /// Insert a key now. `true`: it was certainly new. Only windows look at the clock.
    pub fn insert_at(&mut self, key: impl Key, now: impl Into<Moment>) -> Result<bool, Refused> {
        match self {
            AnyFilter::Classic(filter) => Ok(filter.insert(key)),
            AnyFilter::Blocked(filter) => Ok(filter.insert(key)),
            AnyFilter::Counting(filter) => Ok(filter.insert(key)),
            AnyFilter::Scalable(filter) => Ok(filter.insert(key)),
            AnyFilter::Windowed(filter) => Ok(filter.insert(key, now)),
            AnyFilter::Sharded(filter) => Ok(filter.insert(key)),
            AnyFilter::Fuse(_) => Err(self.refuse(STATIC)),
            AnyFilter::Cascade(_) => Err(self.refuse(LISTED)),
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(ids) => ids
                .insert_key(key)
                .map_err(|_| Refused { kind: Kind::Bitmap, what: NOT_AN_INTEGER }),
        }
    }

    /// Insert them all; returns how many were certainly new. A window of time refuses: see
    /// [`insert_batch_at`](AnyFilter::insert_batch_at).
    pub fn insert_batch(&mut self, hashes: &[Hash]) -> Result<u64, Refused> {
        self.check_timeless()?;
        self.insert_batch_at(hashes, Moment::LAST)
    }

    /// Insert them all now; returns how many were certainly new. Only windows look at the clock.
    pub fn insert_batch_at(
        &mut self,
        hashes: &[Hash],
        now: impl Into<Moment>,
    ) -> Result<u64, Refused> {
        match self {
            AnyFilter::Classic(filter) => Ok(filter.insert_batch(hashes)),
            AnyFilter::Blocked(filter) => Ok(filter.insert_batch(hashes)),
            AnyFilter::Counting(filter) => Ok(filter.insert_batch(hashes)),
            AnyFilter::Scalable(filter) => Ok(filter.insert_batch(hashes)),
            AnyFilter::Windowed(filter) => Ok(filter.insert_batch(hashes, now)),
            AnyFilter::Sharded(filter) => Ok(filter.insert_batch(hashes)),
            AnyFilter::Fuse(_) => Err(self.refuse(STATIC)),
            AnyFilter::Cascade(_) => Err(self.refuse(LISTED)),
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(_) => Err(self.refuse(UNHASHED)),
        }
    }

    /// Fails where a key inserted without the time would be forgotten too soon.
    fn check_timeless(&self) -> Result<(), Refused> {
        match self {
            AnyFilter::Windowed(filter) if filter.window().ticks().is_some() => {
                Err(self.refuse(TIMED))
            }
            _ => Ok(()),
        }
    }

    /// Remove a key that was inserted. `false`: it was certainly not in, nothing changed.
    pub fn remove(&mut self, key: impl Key) -> Result<bool, Refused> {
        match self {
            AnyFilter::Counting(filter) => Ok(filter.remove(key)),
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(ids) => Ok(ids.remove_key(key)),
            AnyFilter::Cascade(_) => Err(self.refuse(LISTED)),
            _ => Err(self.refuse(NO_REMOVAL)),
        }
    }

    /// Forget everything.
    pub fn clear(&mut self) -> Result<(), Refused> {
        match self {
            AnyFilter::Classic(filter) => filter.clear(),
            AnyFilter::Blocked(filter) => filter.clear(),
            AnyFilter::Counting(filter) => filter.clear(),
            AnyFilter::Scalable(filter) => filter.clear(),
            AnyFilter::Windowed(filter) => filter.clear(),
            AnyFilter::Sharded(filter) => filter.clear(),
            AnyFilter::Fuse(_) => return Err(self.refuse(STATIC)),
            AnyFilter::Cascade(_) => return Err(self.refuse(LISTED)),
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(ids) => ids.clear(),
        }
        Ok(())
    }

    /// Take in everything the other filter holds. They must be of one kind and shape and hash
    /// alike.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &AnyFilter<C>) -> Result<(), MergeError> {
        match (&mut *self, other) {
            (AnyFilter::Classic(ours), AnyFilter::Classic(theirs)) => ours.union(theirs),
            (AnyFilter::Blocked(ours), AnyFilter::Blocked(theirs)) => ours.union(theirs),
            (AnyFilter::Counting(ours), AnyFilter::Counting(theirs)) => ours.union(theirs),
            (AnyFilter::Scalable(ours), AnyFilter::Scalable(theirs)) => ours.union(theirs),
            (AnyFilter::Windowed(ours), AnyFilter::Windowed(theirs)) => ours.union(theirs),
            (AnyFilter::Sharded(ours), AnyFilter::Sharded(theirs)) => ours.union(theirs),
            #[cfg(feature = "bitmap")]
            (AnyFilter::Bitmap(ours), AnyFilter::Bitmap(theirs)) => {
                ours.union(theirs);
                Ok(())
            }
            _ => self.unlike(other),
        }
    }

    /// Keep only what both filters have; see each kind for what that means.
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &AnyFilter<C>) -> Result<(), MergeError> {
        match (&mut *self, other) {
            (AnyFilter::Classic(ours), AnyFilter::Classic(theirs)) => ours.intersect(theirs),
            (AnyFilter::Blocked(ours), AnyFilter::Blocked(theirs)) => ours.intersect(theirs),
            (AnyFilter::Counting(ours), AnyFilter::Counting(theirs)) => ours.intersect(theirs),
            (AnyFilter::Scalable(ours), AnyFilter::Scalable(theirs)) => ours.intersect(theirs),
            (AnyFilter::Windowed(ours), AnyFilter::Windowed(theirs)) => ours.intersect(theirs),
            (AnyFilter::Sharded(ours), AnyFilter::Sharded(theirs)) => ours.intersect(theirs),
            #[cfg(feature = "bitmap")]
            (AnyFilter::Bitmap(ours), AnyFilter::Bitmap(theirs)) => {
                ours.intersect(theirs);
                Ok(())
            }
            _ => self.unlike(other),
        }
    }

    /// Two kinds differ; of one kind that cannot be merged, no two are alike.
    fn unlike<C: AsRef<[u8]>>(&self, other: &AnyFilter<C>) -> Result<(), MergeError> {
        same("kinds", self.kind(), other.kind())?;
        let [have, got] = ["placed by its keys", "by others (build one from both)"];
        Err(MergeError { what: "fingerprints", have: have.to_owned(), got: got.to_owned() })
    }
}

impl<B: AsRef<[u8]>> fmt::Display for AnyFilter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, filter => filter.fmt(f), window => window.fmt(f), ids => ids.fmt(f))
    }
}

macro_rules! from_kind {
    ($($kind:ident: $filter:ty),* $(,)?) => {$(
        impl<B> From<$filter> for AnyFilter<B> {
            fn from(filter: $filter) -> AnyFilter<B> {
                AnyFilter::$kind(filter)
            }
        }
    )*};
}

from_kind!(
    Classic: Classic<Native, B>,
    Blocked: Blocked<B>,
    Counting: Counting<B>,
    Scalable: Scalable<B>,
    Windowed: Windowed<B>,
    Fuse: Fuse<B>,
    Cascade: Cascade<B>,
    Sharded: Sharded<B>,
);
#[cfg(feature = "bitmap")]
from_kind!(Bitmap: Bitmap);

/// A kind was asked for something it cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The kind.
    pub kind: Kind,
    /// What it cannot do, and what to do instead.
    pub what: &'static str,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} filter {}", self.kind, self.what)
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests;
