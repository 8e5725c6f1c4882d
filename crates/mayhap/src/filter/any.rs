//! A filter whose kind is known only when the program runs.

use super::each::{Change, Create, MergeWith, Read};
use super::kinds::for_each_kind;
use super::stats::{LayerStats, Overfull, Sizes, Stats};
use super::{Kind, KindSpec, MergeError, Moment, same};
use crate::format::{Codec, FileLayout, FormatError, Header};
use crate::hash::Hash;
use crate::kernel::{AlignedBuf, Relocate};
use crate::scheme::{Native, Scheme};
use crate::spec::{Spec, SpecError};
use crate::{Key, Unsupported};
use std::fmt;

macro_rules! define_any_filter {
    (
        in_place { $($Kind:ident = $id:literal $name:literal [$($param:ty,)*] $Shape:ident, {$traits:expr} $about:literal;)* }
        copied { $($Copied:ident = $copied_id:literal $copied_name:literal $feature:literal, {$copied_traits:expr} $copied_about:literal;)* }
    ) => {
        /// A filter of any kind that can be saved, for code that learns the kind from a file or a user.
        ///
        /// It answers as the kind does, at the cost of one branch per call (one per batch). What a
        /// kind cannot do it refuses with an error that says so. Code that knows its kind should
        /// name it.
        ///
        /// ```
        /// use mayhap::format::Metadata;
        /// use mayhap::{AnyFilter, Blocked, Kind, Spec};
        /// let mut seen = Blocked::new(Spec::new(1_000, 0.01)?)?;
        /// seen.insert("ada");
        /// let file = seen.encode(&Metadata::new());
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
        #[derive(Clone)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant, reason = "a cascade holds a blocked filter, whose kernel is beside its bits")]
        pub enum AnyFilter<B = AlignedBuf> {
            $(#[doc = $about] $Kind($crate::filter::$Kind<$($param,)* B>),)*
            $(#[cfg(feature = $feature)] #[doc = $copied_about] $Copied($crate::filter::$Copied),)*
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

        /// What is made in the same way for every kind.
        macro_rules! made {
            ($kind:expr, $make:expr) => {
                match $kind {
                    $(Kind::$Kind => $make.map(AnyFilter::$Kind),)*
                    $(
                        #[cfg(feature = $feature)]
                        Kind::$Copied => $make.map(AnyFilter::$Copied),
                        #[cfg(not(feature = $feature))]
                        kind @ Kind::$Copied => Err(SpecError::Kind { kind, what: LEFT_OUT }),
                    )*
                }
            };
        }

        impl AnyFilter {
            /// Add everything the other filter holds. They must be of one kind and shape and hash
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
            impl<B> From<$crate::filter::$Kind<$($param,)* B>> for AnyFilter<B> {
                fn from(filter: $crate::filter::$Kind<$($param,)* B>) -> AnyFilter<B> {
                    AnyFilter::$Kind(filter)
                }
            }
        )*
        $(
            #[cfg(feature = $feature)]
            impl<B> From<$crate::filter::$Copied> for AnyFilter<B> {
                fn from(filter: $crate::filter::$Copied) -> AnyFilter<B> {
                    AnyFilter::$Copied(filter)
                }
            }
        )*
    };
}

for_each_kind!(define_any_filter);

impl<B: AsRef<[u8]>> AnyFilter<B> {
    /// Whether the key may be in; `false` is certain. A window uses the time of its last insert.
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_at(key, Moment::LAST)
    }

    /// Whether the key may be in now; `false` is certain. Only windows look at the clock: `now`
    /// is in the ticks they were made with, and a time before their last insert is taken for it.
    pub fn contains_at(&self, key: impl Key, now: impl Into<Moment>) -> bool {
        let now = now.into();
        each!(self, filter => Read::contains_key(filter, key, now))
    }

    /// Hash a key once, for lookups and inserts later.
    pub fn hash(&self, key: impl Key) -> Result<Hash, Unsupported> {
        self.scheme().map(|scheme| scheme.hash(key)).ok_or(self.unsupported(NO_HASH))
    }

    /// Whether the hashed key may be in; `false` is certain.
    pub fn contains_hash(&self, hash: Hash) -> Result<bool, Unsupported> {
        each!(self, filter => Read::contains_hash(filter, hash, Moment::LAST))
            .map_err(|what| self.unsupported(what))
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(
        &self,
        hashes: &[Hash],
        answers: &mut Vec<bool>,
    ) -> Result<(), Unsupported> {
        self.contains_batch_at(hashes, Moment::LAST, answers)
    }

    /// Look up all of them, as [`contains_at`](AnyFilter::contains_at) does.
    pub fn contains_batch_at(
        &self,
        hashes: &[Hash],
        now: impl Into<Moment>,
        answers: &mut Vec<bool>,
    ) -> Result<(), Unsupported> {
        let done = each!(self, filter => Read::contains_batch(filter, hashes, now.into(), answers));
        done.map_err(|what| self.unsupported(what))
    }

    /// How keys are hashed; `None` in an exact set, where they are not.
    pub fn scheme(&self) -> Option<Native> {
        each!(self, filter => Read::scheme(filter))
    }

    /// The keys it was made for, or has grown to; 0 if unknown.
    pub fn capacity(&self) -> u64 {
        each!(self, filter => Read::target(filter)).0
    }

    /// The rate it was made for; 0 if unknown, and in an exact set.
    pub fn fpr(&self) -> f64 {
        each!(self, filter => Read::target(filter)).1
    }

    /// The keys counted in.
    pub fn keys(&self) -> u64 {
        each!(self, filter => Read::keys(filter, Moment::LAST))
    }

    /// Bytes of its arrays.
    pub fn bytes(&self) -> u64 {
        each!(self, filter => Read::bytes(filter))
    }

    /// The share of bits that are set.
    pub fn fill(&self) -> f64 {
        each!(self, filter => Read::fill(filter, Moment::LAST))
    }

    /// How many distinct keys are in, estimated from the bits alone.
    pub fn estimate(&self) -> u64 {
        each!(self, filter => Read::estimate(filter, Moment::LAST))
    }

    /// The current false-positive rate, from the bits.
    pub fn fpr_now(&self) -> f64 {
        each!(self, filter => Read::fpr_now(filter, Moment::LAST))
    }

    /// The same at this time. Only windows look at the clock.
    pub fn fpr_now_at(&self, now: impl Into<Moment>) -> f64 {
        each!(self, filter => Read::fpr_now(filter, now.into()))
    }

    /// Whether it holds more than it was made for; reads all bits where it must.
    pub fn overfull(&self, now: impl Into<Moment>) -> Option<Overfull> {
        let now = now.into();
        Overfull::of(&self.sizes(now), || self.fpr_now_at(now))
    }

    /// What is known without reading the bits. Only windows look at the clock.
    pub fn sizes(&self, now: impl Into<Moment>) -> Sizes {
        each!(self, filter => Sizes::of(self.kind(), filter, now.into()))
    }

    /// All statistics; reads all bits. Only windows look at the clock.
    pub fn stats(&self, now: impl Into<Moment>) -> Stats {
        each!(self, filter => Stats::of(self.kind(), filter, now.into()))
    }

    /// Statistics of each layer or generation; a kind without layers has one.
    pub fn layer_stats(&self) -> Vec<LayerStats> {
        each!(self, filter => {
            Read::layers(filter).unwrap_or_else(|| vec![LayerStats::of_whole(filter)])
        })
    }

    /// Check what opening in place leaves unread.
    pub(crate) fn check_body(&self) -> Result<(), FormatError> {
        each!(self, filter => Codec::<B>::check_body(filter))
    }

    /// Header fields and arrays, as they are written in a file.
    pub(crate) fn layout(&self) -> FileLayout<'_> {
        each!(self, filter => Codec::<B>::layout(filter))
    }

    fn unsupported(&self, what: &'static str) -> Unsupported {
        Unsupported::new(self.kind().name(), what)
    }
}

pub(super) const NO_HASH: &str = "hashes nothing: ask for the key itself";
pub(super) const NEEDS_TIME: &str = "of time must be told it: insert with the time";

#[cfg(not(feature = "bitmap"))]
const LEFT_OUT: &str = "was left out when this program was built";

impl AnyFilter {
    /// An empty filter of this kind. A kind that is built from all keys at once refuses: see
    /// [`from_hashes`](AnyFilter::from_hashes).
    pub fn create(kind: &KindSpec, spec: Spec) -> Result<AnyFilter, SpecError> {
        made!(kind.kind(), Create::create(kind, spec, None))
    }

    /// An empty filter of this kind that uses `bytes` of memory as well as it can for the keys of
    /// the spec. Kinds of several layers are sized by the rate alone:
    /// [`rate_in`](crate::sizing::rate_in) tells which fits.
    pub fn create_in(kind: &KindSpec, spec: Spec, bytes: u64) -> Result<AnyFilter, SpecError> {
        made!(kind.kind(), Create::create(kind, spec, Some(bytes.saturating_mul(8))))
    }

    /// A filter of this kind with these hashed keys; a cascade of them excludes nothing. The hashes are
    /// reordered.
    pub fn from_hashes(
        kind: &KindSpec,
        spec: Spec,
        hashes: &mut [Hash],
    ) -> Result<AnyFilter, SpecError> {
        made!(kind.kind(), Create::from_hashes(kind, spec, hashes))
    }

    /// The same for more keys than there is memory for their hashes: see [`Fuse::build`](crate::Fuse::build).
    /// Kinds that are not static hold all hashes; insert into an empty one instead.
    pub fn from_passes(
        kind: &KindSpec,
        spec: Spec,
        max_hashes: usize,
        mut pass: impl FnMut(&mut (dyn FnMut(Hash) + Send)),
    ) -> Result<AnyFilter, SpecError> {
        made!(kind.kind(), Create::from_passes(kind, spec, max_hashes, &mut pass))
    }

    /// Lets a defragmenting allocator relocate the buffers; no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        each!(self, filter => Change::relocate(filter, memory));
    }

    /// Insert a key. `true`: it was certainly new. A window of time refuses: see
    /// [`insert_at`](AnyFilter::insert_at).
    pub fn insert(&mut self, key: impl Key) -> Result<bool, Unsupported> {
        self.check_timeless()?;
        self.insert_at(key, Moment::LAST)
    }

    /// Insert a key now. `true`: it was certainly new. Only windows look at the clock.
    pub fn insert_at(
        &mut self,
        key: impl Key,
        now: impl Into<Moment>,
    ) -> Result<bool, Unsupported> {
        let done = each!(self, filter => Change::insert_key(filter, key, now.into()));
        done.map_err(|what| self.unsupported(what))
    }

    /// Insert them all; returns how many were certainly new. A window of time refuses: see
    /// [`insert_batch_at`](AnyFilter::insert_batch_at).
    pub fn insert_batch(&mut self, hashes: &[Hash]) -> Result<u64, Unsupported> {
        self.check_timeless()?;
        self.insert_batch_at(hashes, Moment::LAST)
    }

    /// Insert them all now; returns how many were certainly new. Only windows look at the clock.
    pub fn insert_batch_at(
        &mut self,
        hashes: &[Hash],
        now: impl Into<Moment>,
    ) -> Result<u64, Unsupported> {
        let done = each!(self, filter => Change::insert_batch(filter, hashes, now.into()));
        done.map_err(|what| self.unsupported(what))
    }

    /// Insert them all now; `new` is cleared and filled, `true` for each that was certainly new.
    /// Only windows look at the clock.
    pub fn insert_batch_new(
        &mut self,
        hashes: &[Hash],
        now: impl Into<Moment>,
        new: &mut Vec<bool>,
    ) -> Result<(), Unsupported> {
        let done = each!(self, filter => Change::insert_batch_new(filter, hashes, now.into(), new));
        done.map_err(|what| self.unsupported(what))
    }

    /// Fails where a key inserted without the time would be forgotten too soon.
    fn check_timeless(&self) -> Result<(), Unsupported> {
        match self {
            AnyFilter::Windowed(filter) if filter.window().ticks().is_some() => {
                Err(self.unsupported(NEEDS_TIME))
            }
            _ => Ok(()),
        }
    }

    /// Remove a key that was inserted. `false`: it was certainly not in, nothing changed.
    pub fn remove(&mut self, key: impl Key) -> Result<bool, Unsupported> {
        let done = each!(self, filter => Change::remove_key(filter, key));
        done.map_err(|what| self.unsupported(what))
    }

    /// Remove all keys.
    pub fn clear(&mut self) -> Result<(), Unsupported> {
        let done = each!(self, filter => Change::clear(filter));
        done.map_err(|what| self.unsupported(what))
    }
}

impl<B: AsRef<[u8]>> fmt::Display for AnyFilter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, filter => filter.fmt(f))
    }
}

#[cfg(test)]
mod tests;
