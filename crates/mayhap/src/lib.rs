//! Bloom filters and their family: sets that answer "have I seen this before?" with *no* or *maybe*.
//!
//! A lookup costs one cache miss, a key about ten bits however long it is. A key that was inserted is
//! always found; an absent key is reported as present (a false positive) at the rate you ask for.
//!
//! # Quick start
//!
//! A filter is made for a number of keys and a false-positive rate:
//!
//! ```
//! use mayhap::Blocked;
//!
//! let mut seen = Blocked::with_rate(1_000_000, 0.01)?;
//! for url in ["https://a.example/", "https://b.example/", "https://a.example/"] {
//!     if seen.insert(url) {
//!         println!("fetch {url}"); // certainly new: both, once
//!     }
//! }
//! assert!(seen.contains("https://a.example/"));
//! assert!(!seen.contains("https://c.example/"));
//! assert!(seen.insert(42u64)); // integers and bytes are keys too
//! assert_eq!((seen.keys(), seen.spec().fpr()), (3, 0.01));
//! assert!(seen.fpr_now() < 1e-9); // the rate so far: nearly empty, hardly a false positive
//! # Ok::<(), mayhap::SpecError>(())
//! ```
//!
//! Batches run at the speed of memory: hash the keys, then insert or look up all of them. Hashes are
//! valid for filters with the same seed or secret, and for no others.
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
//! Whoever can choose keys can choose ones that collide. A [`Secret`] prevents that:
//!
//! ```
//! # use mayhap::{Blocked, Secret, Spec};
//! let secret = Secret::from_bytes(*b"16 random bytes!"); // from the system's random source
//! let safe = Blocked::new(Spec::new(1_000, 0.01)?.with_secret(secret))?;
//! assert!(safe.scheme().is_keyed());
//! # Ok::<(), mayhap::SpecError>(())
//! ```
//!
//! Save, load, or query the bytes in place (a memory-mapped file, for example):
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
//! | [`Blocked`] | the default | 9.9 bits per key, one cache miss |
//! | [`Classic`] | every bit counts; other programs' filters | 9.6 bits, up to seven misses |
//! | [`Scalable`] | nobody knows how many keys will come | 12 to 16 bits |
//! | [`Windowed`] | only recent keys matter | about 16 bits |
//! | [`Quotient`] | keys are removed, counted, or more arrive than expected | 9.5 bits, one cache miss |
//! | [`Counting`] | keys are removed, in files of earlier releases | 38 bits |
//! | [`Fuse`] | all keys are known in advance and never change | 7.9 bits, three misses |
//! | [`Ribbon`] | as `Fuse`, where memory matters more than the time to build | 6.75 bits, one or two misses |
//! | [`Cascade`] | as `Ribbon`, and the keys of a second list must never be false positives | 6.9 bits, against ten times as many |
//! | [`Sharded`] | as `Blocked`, split over the nodes of a cluster | 9.9 bits, plus a margin for uneven shards |
//! | [`Packet`](packet::Packet) | a few bytes in a header, no heap, no `std` | your choice |
//! | [`Bitmap`] | integers that are close together; exact | about one bit for each possible value |
//!
//! Several threads write one filter through [`Blocked::into_shared`] (or [`Scalable::into_shared`], where the
//! number of keys is unknown), or build a large one in parts with [`Partitioner`](concurrent::Partitioner).
//! [`AnyFilter`] is for code that learns the kind at run time, [`format`](mod@format) saves and opens filters,
//! and [`sizing`] computes the size, the rate or the number of keys in advance.
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
pub use spec::{Optimize, Spec, SpecError};
pub use traits::{Contains, Insert, Remove, Unsupported};

/// The error of the exact set of integers.
#[cfg(feature = "bitmap")]
pub mod bitmap {
    pub use crate::filter::NotAnInteger;
}

/// Options, parts and errors of a [`Cascade`].
#[cfg(feature = "std")]
pub mod cascade {
    pub use crate::filter::{
        CascadeError, CascadeOptions, DecidedBy, ExactLayer, ExactRibbon, FirstLayer, OnConflict,
        Stash,
    };
}

/// Filters that several threads write at the same time.
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

/// What each kind can do, for code that decides by it.
#[cfg(feature = "std")]
pub mod kind {
    pub use crate::filter::{BuildMode, Traits};
}

/// The buffers of filters, and how a defragmenting allocator relocates them.
#[cfg(feature = "std")]
pub mod mem {
    pub use crate::kernel::{AlignedBuf, Relocate};
}

/// Errors and iterators of a [`Quotient`] filter.
#[cfg(feature = "std")]
pub mod quotient {
    pub use crate::filter::{Fingerprints, QuotientError};
}

/// Building a [`Ribbon`] on several threads.
#[cfg(feature = "std")]
pub mod ribbon {
    pub use crate::filter::{RibbonBuilder, RibbonShard};
}

/// Which shard of a [`Sharded`] filter a key belongs to, for programs that store the shards separately.
#[cfg(feature = "std")]
pub mod sharded {
    pub use crate::filter::shard_of;
}

/// Plain loops compiled for the instruction set of the running machine.
#[cfg(feature = "std")]
pub mod simd {
    pub use crate::kernel::{Vectorize, vectorize};
}

/// Time in a [`Windowed`] filter.
#[cfg(feature = "std")]
pub mod window {
    pub use crate::filter::{ClockJump, MAX_GENERATION_LAYERS, Moment};
}

// The examples of the guide are tests.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../docs/RUST.md")]
struct RustGuide;
