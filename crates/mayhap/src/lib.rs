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
//! # Which kind?
//!
//! | kind | when | costs at 1% |
//! |---|---|---|
//! | [`Blocked`] | the default | 9.9 bits a key, one cache miss |
//! | [`Classic`] | every bit counts; other programs' filters | 9.6 bits, up to seven misses |
//! | [`Scalable`] | nobody knows how many keys will come | 12 to 16 bits |
//! | [`Windowed`] | only what came lately matters | about 16 bits |
//! | [`Quotient`] | keys are removed again, counted, or more come than expected; not yet in files | 9.5 bits, one cache miss |
//! | [`Counting`] | keys are removed again, also in files | 38 bits |
//! | [`Fuse`] | all keys are known beforehand and never change | 7.9 bits, three misses |
//! | [`Ribbon`] | as `Fuse`, where every bit counts more than the time to build | 6.75 bits, one or two misses |
//! | [`Cascade`] | as `Fuse`, and no key of a second list may ever be mistaken | 8.1 bits, against ten times as many |
//! | [`Sharded`] | as `Blocked`, in pieces for the nodes of a cluster | 9.9 bits, and the odds |
//! | [`Packet`] | a few bytes in a header, no heap, no `std` | your choice |
//! | [`Bitmap`] | integers, close together; exact | about a bit for each possible value |
//!
//! Several threads write one filter through [`Blocked::into_shared`], or fill a large one in
//! parts with [`Scatter`]. [`AnyFilter`] is for code that learns the kind at run time, [`format`](mod@format)
//! saves and opens them (but for `Quotient`, so far), and [`sizing`] tells the size, rate or number of keys beforehand.
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(feature = "std")]
mod filter;
#[cfg(feature = "std")]
pub mod format;
mod hash;
#[cfg(feature = "std")]
mod kernel;
mod key;
mod key_encoding;
mod origin;
// A kind among kinds, but the one that needs no standard library.
#[path = "filter/packet.rs"]
mod packet;
mod scheme;
#[cfg(feature = "std")]
pub mod sizing;
#[cfg(feature = "std")]
mod spec;

#[cfg(feature = "std")]
pub use filter::{AnyFilter, Kind, Refused};
#[cfg(feature = "bitmap")]
pub use filter::{Bitmap, NotAnInteger};
#[cfg(feature = "std")]
pub use filter::{
    Blocked, Classic, ClockJump, Contains, Counting, Fingerprints, Fuse, Insert,
    MAX_GENERATION_LAYERS, MergeError, Moment, Part, PartHashes, Quotient, QuotientError, Remove,
    Ribbon, RibbonBuilder, RibbonShard, Scalable, Scatter, Sharded, Shared, SharedBlocked,
    SharedClassic, Window, Windowed, shard_of,
};
#[cfg(feature = "std")]
pub use filter::{Cascade, CascadeError, Decider, FirstLayer, Making, Prefer, Stash};
pub use hash::{Hash, Secret};
#[cfg(feature = "std")]
pub use kernel::{Mover, Pages, Vectorize, vectorize};
pub use key::Key;
pub use key_encoding::{AnyKey, ByteKeys, KeyOf};
#[cfg(feature = "std")]
pub use key_encoding::{EncodedKey, KeyEncoding, KeyMismatch, KeyValue};
pub use packet::{Packet, PacketError};
pub use scheme::{Native, Scheme, SchemeId};
#[cfg(feature = "std")]
pub use spec::{MAX_CAPACITY, MAX_PROBES, MIN_FPR, Spec, SpecError};
