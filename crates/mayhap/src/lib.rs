//! *Have I seen this before?* "No", for certain, or "mayhap".
//!
//! Mayhap is Bloom filters and their family: sets that answer in one cache miss, cost about ten
//! bits a key however long the keys are, never forget a key, and take a stranger for a member at
//! exactly the rate you asked for.
//!
//! # Five minutes
//!
//! Say how many keys will come and how often a stranger may pass; insert and ask:
//!
//! ```
//! use mayhap::{Blocked, Spec};
//!
//! let mut seen = Blocked::new(Spec::new(1_000_000, 0.01)?)?;
//! for url in ["https://a.example/", "https://b.example/", "https://a.example/"] {
//!     if seen.insert(url) {
//!         println!("fetch {url}"); // certainly new: both, once
//!     }
//! }
//! assert!(seen.contains("https://a.example/"));
//! assert!(!seen.contains("https://c.example/"));
//! assert!(seen.insert(42u64)); // integers and bytes are keys too
//! assert_eq!((seen.keys(), seen.spec().fpr()), (3, 0.01));
//! assert!(seen.fpr_now() < 1e-12); // nearly empty: strangers never pass yet
//! # Ok::<(), mayhap::SpecError>(())
//! ```
//!
//! Many at once, at the speed of memory: the filter hashes the keys, then takes or answers the whole
//! batch. Hashes are good for filters of the same seed or secret, and for no others.
//!
//! ```
//! # use mayhap::{Blocked, Spec};
//! # let mut seen = Blocked::new(Spec::new(1_000_000, 0.01)?)?;
//! let keys: Vec<u64> = (0..10_000).collect();
//! let hashes = seen.hash_batch(&keys);
//! seen.insert_batch(&hashes);
//! let mut answers = Vec::new();
//! seen.contains_batch(&hashes, &mut answers);
//! assert!(answers.iter().all(|answer| *answer));
//! # Ok::<(), mayhap::SpecError>(())
//! ```
//!
//! Callers who choose their keys could choose bad ones. A [`Secret`] takes the choice from them:
//!
//! ```
//! # use mayhap::{Blocked, Secret, Spec};
//! let secret = Secret::from_bytes(*b"16 random bytes!"); // from the system, not from a page
//! let safe = Blocked::new(Spec::new(1_000, 0.01)?.with_secret(secret))?;
//! assert!(safe.scheme().is_keyed());
//! # Ok::<(), mayhap::SpecError>(())
//! ```
//!
//! Saved, loaded, or opened where it is, a mapped file for example:
//!
//! ```
//! # use mayhap::{Blocked, format::Metadata};
//! # let mut seen = Blocked::with_rate(1_000, 0.01)?;
//! # let mut file = Vec::new();
//! seen.write_to(&mut file, &Metadata::new())?;
//! let loaded = Blocked::read_from(file.as_slice(), None)?;
//! let opened = Blocked::open(&file, None)?; // zero-copy
//! assert!(loaded == seen && opened == seen);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which kind?
//!
//! | kind | when | costs at 1% |
//! |---|---|---|
//! | [`Blocked`] | the default | 9.9 bits a key, one cache miss |
//! | [`Classic`] | every bit counts; other programs' filters | 9.6 bits, up to seven misses |
//! | [`Scalable`] | nobody knows how many keys will come | 12 to 16 bits |
//! | [`Windowed`] | only what came lately matters | about 16 bits |
//! | [`Quotient`] | keys are removed again, counted, or more come than expected | 9.5 bits, one cache miss |
//! | [`Counting`] | keys are removed again, also in files | 38 bits |
//! | [`Fuse`] | all keys are known beforehand and never change | 7.9 bits, three misses |
//! | [`Ribbon`] | as `Fuse`, where every bit counts more than the time to build | 6.75 bits, one or two misses |
//! | [`Cascade`] | as `Ribbon`, and no key of a second list may ever be mistaken | 6.9 bits, against ten times as many |
//! | [`Sharded`] | as `Blocked`, in pieces for the nodes of a cluster | 9.9 bits, and the odds |
//! | [`Packet`](packet::Packet) | a few bytes in a header, no heap, no `std` | your choice |
//! | [`Bitmap`] | integers, close together; exact | about a bit for each possible value |
//!
//! Several threads write one filter through [`Blocked::into_shared`], or fill a large one in
//! parts with [`Partitioner`](concurrent::Partitioner). [`AnyFilter`] is for code that learns the kind at run time, [`format`](mod@format)
//! saves and opens them, and [`sizing`] tells the size, rate or number of keys beforehand.
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "std")]
mod filter;
#[cfg(feature = "std")]
pub mod format;
mod hash;
#[cfg(feature = "std")]
mod kernel;
pub mod key;
mod origin;
// A kind among kinds, but the one that needs no standard library.
#[path = "filter/packet.rs"]
pub mod packet;
pub mod scheme;
#[cfg(feature = "std")]
pub mod sizing;
#[cfg(feature = "std")]
mod spec;
mod traits;

#[cfg(feature = "bitmap")]
pub use filter::Bitmap;
#[cfg(feature = "std")]
pub use filter::{AnyFilter, Kind, KindSpec, MergeError, Window, stats};
#[cfg(feature = "std")]
pub use filter::{
    Blocked, Cascade, Classic, Counting, Fuse, Quotient, Ribbon, Scalable, Sharded, Windowed,
};
pub use hash::{Hash, Secret};
pub use key::Key;
#[cfg(feature = "std")]
pub use spec::{Spec, SpecError};
pub use traits::{Contains, Insert, Remove, Unsupported};

/// The exact set of integers: what it cannot hold.
#[cfg(feature = "bitmap")]
pub mod bitmap {
    pub use crate::filter::NotAnInteger;
}

/// How a [`Cascade`] is made and taken apart.
#[cfg(feature = "std")]
pub mod cascade {
    pub use crate::filter::{
        CascadeError, CascadeOptions, DecidedBy, ExactLayer, ExactRibbon, FirstLayer, OnConflict,
        Stash,
    };
}

/// Filters that many threads write.
///
/// | | |
/// |---|---|
/// | [`SharedBlocked`](concurrent::SharedBlocked), [`SharedClassic`](concurrent::SharedClassic) | any thread inserts at any time, through `&self`: [`Blocked::into_shared`] |
/// | [`SharedScalable`](concurrent::SharedScalable) | the same, and it grows: [`Scalable::into_shared`] |
/// | [`Partitioner`](concurrent::Partitioner) | a large build in which every thread has its own part of the array |
#[cfg(feature = "std")]
pub mod concurrent {
    pub use crate::filter::{
        Partition, PartitionHashes, Partitioner, Shared, SharedBlocked, SharedClassic,
        SharedScalable,
    };
}

/// What kinds of filters can do, for code that goes by it.
#[cfg(feature = "std")]
pub mod kind {
    pub use crate::filter::{BuildMode, Traits};
}

/// Memory as filters hold it, and how an allocator moves it.
#[cfg(feature = "std")]
pub mod mem {
    pub use crate::kernel::{AlignedBuf, Relocate};
}

/// What goes with a [`Quotient`] filter.
#[cfg(feature = "std")]
pub mod quotient {
    pub use crate::filter::{Fingerprints, QuotientError};
}

/// Building a [`Ribbon`] on several threads.
#[cfg(feature = "std")]
pub mod ribbon {
    pub use crate::filter::{RibbonBuilder, RibbonShard};
}

/// Where a key of a [`Sharded`] filter belongs, for those who keep the shards apart.
#[cfg(feature = "std")]
pub mod sharded {
    pub use crate::filter::shard_of;
}

/// Plain loops compiled for the machine at hand.
#[cfg(feature = "std")]
pub mod simd {
    pub use crate::kernel::{Vectorize, vectorize};
}

/// Time in a [`Windowed`] filter: what it is told, and what it refuses.
#[cfg(feature = "std")]
pub mod window {
    pub use crate::filter::{ClockJump, MAX_GENERATION_LAYERS, Moment};
}

// The examples of the guide are tests.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../docs/RUST.md")]
struct RustGuide;
