//! A filter whose kind is known only when the program runs.

#[cfg(feature = "bitmap")]
use super::Bitmap;
use super::each::{Change, MergeWith, Read};
use super::kinds::for_each_kind;
use super::{
    Blocked, Cascade, Classic, Counting, Fuse, Kind, MergeError, Moment, Ribbon, Scalable, Sharded,
    Windowed, same,
};
use crate::Key;
use crate::format::{Codec, FormatError, Header, Outline};
use crate::hash::Hash;
use crate::kernel::{Mover, Pages};
use crate::scheme::{Native, Scheme};
use std::fmt;

macro_rules! define_any_filter {
    (
        in_place { $($Kind:ident = $id:literal $name:literal [$($param:ty,)*] $about:literal;)* }
        copied { $($Copied:ident = $copied_id:literal $copied_name:literal $feature:literal $copied_about:literal;)* }
    ) => {
        /// A filter of any kind that can be saved, for code that learns the kind from a file or a user.
        ///
        /// It answers as the kind does, at the cost of one branch per call (one per batch). What a
        /// kind cannot do it refuses with an error that says so. Code that knows its kind should
        /// name it.
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
            $(#[doc = $about] $Kind($Kind<$($param,)* B>),)*
            $(#[cfg(feature = $feature)] #[doc = $copied_about] $Copied($Copied),)*
        }

        /// The same expression for every kind.
        macro_rules! each {
            ($any:expr, $filter:ident => $does:expr) => {
                match $any {
                    $(AnyFilter::$Kind($filter) => $does,)*
                    $(#[cfg(feature = $feature)] AnyFilter::$Copied($filter) => $does,)*
                }
            };
        }

        impl<B: AsRef<[u8]>> AnyFilter<B> {
            /// Which kind it is.
            pub fn kind(&self) -> Kind {
                match self {
                    $(AnyFilter::$Kind(_) => Kind::$Kind,)*
                    $(#[cfg(feature = $feature)] AnyFilter::$Copied(_) => Kind::$Copied,)*
                }
            }

            /// The filter of a header over its arrays.
            pub(crate) fn read(
                header: &Header,
                scheme: Native,
                arrays: Vec<B>,
            ) -> Result<AnyFilter<B>, FormatError> {
                match header.kind {
                    $(Kind::$Kind => Codec::read(header, scheme, arrays).map(AnyFilter::$Kind),)*
                    $(
                        #[cfg(feature = $feature)]
                        Kind::$Copied => Codec::read(header, scheme, arrays).map(AnyFilter::$Copied),
                        #[cfg(not(feature = $feature))]
                        Kind::$Copied => Err(FormatError::UnknownKind { id: Kind::$Copied.id() }),
                    )*
                }
            }
        }

        impl AnyFilter {
            /// Take in everything the other filter holds. They must be of one kind and shape and hash
            /// alike.
            pub fn union<C: AsRef<[u8]>>(&mut self, other: &AnyFilter<C>) -> Result<(), MergeError> {
                match (&mut *self, other) {
                    $((AnyFilter::$Kind(ours), AnyFilter::$Kind(theirs)) => ours.union_with(theirs),)*
                    $(
                        #[cfg(feature = $feature)]
                        (AnyFilter::$Copied(ours), AnyFilter::$Copied(theirs)) => ours.union_with(theirs),
                    )*
                    _ => same("kinds", self.kind(), other.kind()),
                }
            }

            /// Keep only what both filters have; see each kind for what that means.
            pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &AnyFilter<C>) -> Result<(), MergeError> {
                match (&mut *self, other) {
                    $((AnyFilter::$Kind(ours), AnyFilter::$Kind(theirs)) => ours.intersect_with(theirs),)*
                    $(
                        #[cfg(feature = $feature)]
                        (AnyFilter::$Copied(ours), AnyFilter::$Copied(theirs)) => ours.intersect_with(theirs),
                    )*
                    _ => same("kinds", self.kind(), other.kind()),
                }
            }
        }

        $(
            impl<B> From<$Kind<$($param,)* B>> for AnyFilter<B> {
                fn from(filter: $Kind<$($param,)* B>) -> AnyFilter<B> {
                    AnyFilter::$Kind(filter)
                }
            }
        )*
        $(
            #[cfg(feature = $feature)]
            impl<B> From<$Copied> for AnyFilter<B> {
                fn from(filter: $Copied) -> AnyFilter<B> {
                    AnyFilter::$Copied(filter)
                }
            }
        )*
    };
}

for_each_kind!(define_any_filter);

impl<B: AsRef<[u8]>> AnyFilter<B> {
    /// Whether the key may be in; `false` is certain. A window answers as of its last insert.
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_at(key, Moment::LAST)
    }

    /// Whether the key may be in now; `false` is certain. Only windows look at the clock: `now`
    /// is in the ticks they were made with, and a time before their last insert is taken for it.
    pub fn contains_at(&self, key: impl Key, now: impl Into<Moment>) -> bool {
        let now = now.into();
        each!(self, filter => Read::contains_key(filter, key, now))
    }

    /// Hash a key once, to ask or insert it later.
    pub fn hash(&self, key: impl Key) -> Result<Hash, Refused> {
        self.scheme().map(|scheme| scheme.hash(key)).ok_or(self.refuse(NO_HASH))
    }

    /// Whether the hashed key may be in; `false` is certain.
    pub fn contains_hash(&self, hash: Hash) -> Result<bool, Refused> {
        each!(self, filter => Read::contains_hash(filter, hash, Moment::LAST))
            .map_err(|what| self.refuse(what))
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer per hash.
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
        let done = each!(self, filter => Read::contains_batch(filter, hashes, now.into(), answers));
        done.map_err(|what| self.refuse(what))
    }

    /// How keys are hashed; `None` in an exact set, where they are not.
    pub fn scheme(&self) -> Option<Native> {
        each!(self, filter => Read::scheme(filter))
    }

    /// The keys it was made for, or has grown to; 0 where nobody said.
    pub fn capacity(&self) -> u64 {
        each!(self, filter => Read::target(filter)).0
    }

    /// The rate it was made for; 0 where nobody said, and in an exact set.
    pub fn fpr(&self) -> f64 {
        each!(self, filter => Read::target(filter)).1
    }

    /// The keys counted in.
    pub fn keys(&self) -> u64 {
        each!(self, filter => Read::keys(filter))
    }

    /// Bytes of its arrays.
    pub fn bytes(&self) -> u64 {
        each!(self, filter => Read::bytes(filter))
    }

    /// The share of bits that are set.
    pub fn fill(&self) -> f64 {
        each!(self, filter => Read::fill(filter))
    }

    /// How many distinct keys are in, estimated from the bits alone.
    pub fn estimate(&self) -> u64 {
        each!(self, filter => Read::estimate(filter))
    }

    /// The false-positive rate as the bits stand now.
    pub fn fpr_now(&self) -> f64 {
        each!(self, filter => Read::fpr_now(filter))
    }

    /// Header fields and arrays, as they are written in a file.
    pub(crate) fn layout(&self) -> Outline<'_> {
        each!(self, filter => Codec::<B>::layout(filter))
    }

    fn refuse(&self, what: &'static str) -> Refused {
        Refused { kind: self.kind(), what }
    }
}

pub(super) const NO_HASH: &str = "hashes nothing: ask for the key itself";
const NEEDS_TIME: &str = "of time must be told it: insert with the time";

impl AnyFilter {
    /// Offer the memory of its arrays to whoever tidies the heap: no answer changes.
    pub fn move_arrays(&mut self, mover: &mut Mover<'_>) {
        each!(self, filter => Change::move_arrays(filter, mover));
    }

    /// Insert a key. `true`: it was certainly new. A window of time refuses: see
    /// [`insert_at`](AnyFilter::insert_at).
    pub fn insert(&mut self, key: impl Key) -> Result<bool, Refused> {
        self.check_timeless()?;
        self.insert_at(key, Moment::LAST)
    }

    /// Insert a key now. `true`: it was certainly new. Only windows look at the clock.
    pub fn insert_at(&mut self, key: impl Key, now: impl Into<Moment>) -> Result<bool, Refused> {
        let done = each!(self, filter => Change::insert_key(filter, key, now.into()));
        done.map_err(|what| self.refuse(what))
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
        let done = each!(self, filter => Change::insert_batch(filter, hashes, now.into()));
        done.map_err(|what| self.refuse(what))
    }

    /// Fails where a key inserted without the time would be forgotten too soon.
    fn check_timeless(&self) -> Result<(), Refused> {
        match self {
            AnyFilter::Windowed(filter) if filter.window().ticks().is_some() => {
                Err(self.refuse(NEEDS_TIME))
            }
            _ => Ok(()),
        }
    }

    /// Remove a key that was inserted. `false`: it was certainly not in, nothing changed.
    pub fn remove(&mut self, key: impl Key) -> Result<bool, Refused> {
        let done = each!(self, filter => Change::remove_key(filter, key));
        done.map_err(|what| self.refuse(what))
    }

    /// Forget everything.
    pub fn clear(&mut self) -> Result<(), Refused> {
        let done = each!(self, filter => Change::clear(filter));
        done.map_err(|what| self.refuse(what))
    }
}

impl<B: AsRef<[u8]>> fmt::Display for AnyFilter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, filter => filter.fmt(f))
    }
}

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
