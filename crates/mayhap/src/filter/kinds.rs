//! The list of kinds: what there is, under which number and name. A new kind is one row here, beside
//! its own module; enums, conversions, files and tests follow from the list.

use super::{CascadeOptions, Window};
use std::fmt;

/// Calls a macro with the list of kinds. A row is: the kind, its number in files (frozen), its name,
/// its type's parameters before the bytes, how it is sized, what it can do, what it is for. Tables for
/// people have the order of the rows.
///
/// `in_place` kinds can be used over borrowed bytes, a mapped file for example; `copied` ones own
/// what they hold, and may depend on a feature.
macro_rules! for_each_kind {
    ($callback:ident) => {
        $callback! {
            in_place {
                Blocked = 2 "blocked" [] BlockedShape, {Traits::DYNAMIC}
                    "one or two cache lines per key: the fastest, and the default";
                Classic = 1 "classic" [Native,] ClassicShape, {Traits::DYNAMIC.concurrent()}
                    "the textbook layout: the fewest bits of the kinds that keys can be added to";
                Fuse = 6 "fuse" [] FuseShape, {Traits::STATIC}
                    "static: built once from all keys, quickly, and small";
                Ribbon = 10 "ribbon" [] RibbonShape, {Traits::STATIC}
                    "static: built once from all keys, the smallest";
                Scalable = 4 "scalable" [] ScalableShape, {Traits::DYNAMIC.grows()}
                    "grows in layers: the number of keys need not be known";
                Windowed = 5 "windowed" [] WindowedShape, {Traits::DYNAMIC}
                    "forgets: only the newest keys, by number or by time";
                Quotient = 11 "quotient" [] QuotientShape, {Traits::DYNAMIC.removes()}
                    "keys can be removed and counted, and it grows, in fewer bits than a Bloom filter";
                Counting = 3 "counting" [] CountingShape, {Traits::DYNAMIC.removes()}
                    "counters instead of bits: what there was before quotient";
                Cascade = 8 "cascade" [] Unplanned, {Traits::STATIC.build(BuildMode::TwoLists)}
                    "static: exact on two lists of keys";
                Sharded = 9 "sharded" [] ShardedShape, {Traits::DYNAMIC}
                    "in parts for the nodes of a cluster";
            }
            copied {
                Bitmap = 7 "bitmap" "bitmap", {Traits::DYNAMIC.removes().grows().exact()}
                    "exact: a compressed set of integers";
            }
        }
    };
}
pub(crate) use for_each_kind;

/// A kind with its options besides capacity and rate: parsed from user input,
/// planned with [`Plan`](crate::sizing::Plan), made with [`AnyFilter::create`](crate::AnyFilter::create).
///
/// ```
/// use mayhap::{AnyFilter, Kind, KindSpec, Spec};
/// let kind = KindSpec::of(Kind::Scalable);
/// assert_eq!(kind, KindSpec::Scalable { growth: 4 });
/// let mut seen = AnyFilter::create(&kind, Spec::new(1_000, 0.01)?)?;
/// assert_eq!(seen.insert("ada"), Ok(true));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KindSpec {
    /// [`Classic`](crate::Classic).
    Classic,
    /// [`Blocked`](crate::Blocked).
    Blocked,
    /// [`Counting`](crate::Counting).
    Counting,
    /// [`Quotient`](crate::Quotient).
    Quotient {
        /// It keeps its rate until it holds so many times its capacity, rounded up to a power of two;
        /// every doubling costs a bit per key from the start. 1 for none: it grows all the same, and
        /// its rate rises.
        expected_growth: u32,
    },
    /// [`Scalable`](crate::Scalable); plans are for one that never grew.
    Scalable {
        /// What its capacity is multiplied by when it is full.
        growth: u32,
    },
    /// [`Windowed`](crate::Windowed). Plans for a window of time are for keys that come evenly; in a
    /// burst its generations grow for as long as they remember it.
    Windowed(Window),
    /// [`Fuse`](crate::Fuse).
    Fuse,
    /// [`Ribbon`](crate::Ribbon).
    Ribbon,
    /// `Bitmap`.
    Bitmap,
    /// [`Cascade`](crate::Cascade), with what there is to choose.
    Cascade(CascadeOptions),
    /// [`Sharded`](crate::Sharded).
    Sharded {
        /// Its parts.
        shards: u32,
    },
}

impl KindSpec {
    /// What a growing filter's capacity is multiplied by by default.
    pub const GROWTH: u32 = 4;
    /// Generations of a window by default: keys expire within a quarter of the window.
    pub const GENERATIONS: u32 = 4;
    /// Parts of a filter for a cluster by default.
    pub const SHARDS: u32 = 64;

    /// The kind with default options; a window is one of keys.
    pub fn of(kind: Kind) -> KindSpec {
        match kind {
            Kind::Classic => KindSpec::Classic,
            Kind::Blocked => KindSpec::Blocked,
            Kind::Counting => KindSpec::Counting,
            Kind::Quotient => KindSpec::Quotient { expected_growth: 1 },
            Kind::Scalable => KindSpec::Scalable { growth: KindSpec::GROWTH },
            Kind::Windowed => KindSpec::Windowed(Window::last_keys(KindSpec::GENERATIONS)),
            Kind::Fuse => KindSpec::Fuse,
            Kind::Ribbon => KindSpec::Ribbon,
            Kind::Bitmap => KindSpec::Bitmap,
            Kind::Cascade => KindSpec::Cascade(CascadeOptions::default()),
            Kind::Sharded => KindSpec::Sharded { shards: KindSpec::SHARDS },
        }
    }

    /// Which kind it is.
    pub const fn kind(&self) -> Kind {
        match self {
            KindSpec::Classic => Kind::Classic,
            KindSpec::Blocked => Kind::Blocked,
            KindSpec::Counting => Kind::Counting,
            KindSpec::Quotient { .. } => Kind::Quotient,
            KindSpec::Scalable { .. } => Kind::Scalable,
            KindSpec::Windowed(_) => Kind::Windowed,
            KindSpec::Fuse => Kind::Fuse,
            KindSpec::Ribbon => Kind::Ribbon,
            KindSpec::Bitmap => Kind::Bitmap,
            KindSpec::Cascade(_) => Kind::Cascade,
            KindSpec::Sharded { .. } => Kind::Sharded,
        }
    }
}

impl From<Kind> for KindSpec {
    fn from(kind: Kind) -> KindSpec {
        KindSpec::of(kind)
    }
}

/// How a kind is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildMode {
    /// Empty, then keys are inserted.
    Insert,
    /// From the hashes of all keys at once, or in several passes over them.
    AllHashes,
    /// From two lists of keys.
    TwoLists,
    /// Empty, then integers are inserted as they are.
    Integers,
}

/// What a kind can do besides lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traits {
    /// Keys can be inserted at any time.
    pub inserts: bool,
    /// Keys can be removed.
    pub removes: bool,
    /// Can be merged with another of its kind.
    pub merges: bool,
    /// Grows beyond its capacity at the same rate.
    pub grows: bool,
    /// No false positives.
    pub exact: bool,
    /// Several threads can insert at once, and it is faster.
    pub concurrent: bool,
    /// How it is built.
    pub build: BuildMode,
}

impl Traits {
    /// Takes keys at any time, and merges.
    const DYNAMIC: Traits = Traits {
        inserts: true,
        removes: false,
        merges: true,
        grows: false,
        exact: false,
        concurrent: false,
        build: BuildMode::Insert,
    };
    /// Built once.
    const STATIC: Traits =
        Traits { inserts: false, merges: false, build: BuildMode::AllHashes, ..Traits::DYNAMIC };

    const fn removes(self) -> Traits {
        Traits { removes: true, ..self }
    }

    const fn grows(self) -> Traits {
        Traits { grows: true, ..self }
    }

    const fn exact(self) -> Traits {
        Traits { exact: true, build: BuildMode::Integers, ..self }
    }

    const fn concurrent(self) -> Traits {
        Traits { concurrent: true, ..self }
    }

    const fn build(self, build: BuildMode) -> Traits {
        Traits { build, ..self }
    }
}

macro_rules! define_kind {
    (
        in_place { $($Kind:ident = $id:literal $name:literal [$($param:ty,)*] $Shape:ident, {$traits:expr} $about:literal;)* }
        copied { $($Copied:ident = $copied_id:literal $copied_name:literal $feature:literal, {$copied_traits:expr} $copied_about:literal;)* }
    ) => {
        /// The kinds of filter. Their numbers are written in files: frozen and append-only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Kind {
            $(#[doc = concat!("[`", stringify!($Kind), "`](crate::", stringify!($Kind), "): ", $about, ".")] $Kind = $id,)*
            $(#[doc = concat!("`", stringify!($Copied), "`: ", $copied_about, ".")] $Copied = $copied_id,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$Kind,)* $(Kind::$Copied,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$Kind => $name,)*
                    $(Kind::$Copied => $copied_name,)*
                }
            }

            /// What it is for, in a few words.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Kind::$Kind => $about,)*
                    $(Kind::$Copied => $copied_about,)*
                }
            }

            /// What it can do.
            pub const fn traits(self) -> Traits {
                match self {
                    $(Kind::$Kind => $traits,)*
                    $(Kind::$Copied => $copied_traits,)*
                }
            }
        }
    };
}

for_each_kind!(define_kind);

impl Kind {
    /// The number written in files.
    pub const fn id(self) -> u16 {
        self as u16
    }

    /// The kind with this number.
    pub fn from_id(id: u16) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.id() == id)
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
