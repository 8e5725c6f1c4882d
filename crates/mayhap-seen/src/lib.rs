//! Seen lists: what has each user already seen?
//!
//! A recommender asks on every request which of a thousand candidates a user has not seen yet, and
//! records what was shown. Plain lists of ids take some 70 KB per user; a seen list takes 9 KB for
//! five thousand ids and 180 bytes for twenty. It has no false negatives, and a false-positive rate
//! of at most what its [`Policy`] allows.
//!
//! [`Seen`] is the type to use. It stores lists in a backend: [`Embedded`], one durable file, or
//! [`Redis`](crate::redis::Redis), a stock Redis or Valkey, single or cluster.
//!
//! ```
//! use mayhap_seen::{Embedded, Seen};
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("seen.redb");
//! let seen = Seen::new(Embedded::open(&path)?);
//! let candidates = ["a1", "a2", "a3"];
//!
//! // Filter and mark in one step …
//! assert_eq!(seen.mark_unseen(b"user-1", &candidates)?.len(), 3);
//! assert!(seen.unseen(b"user-1", &candidates)?.is_empty());
//!
//! // … or in two: offer now, confirm what was really shown. The rest comes back in a minute.
//! let offered = seen.offer(b"user-2", &candidates, 60)?;
//! seen.confirm(b"user-2", &offered[..1])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The rules of a single list are in [`List`], which is pure: time is an argument.

mod backend;
#[cfg(feature = "embedded")]
pub mod embedded;
mod error;
#[cfg(feature = "redis")]
mod go_list;
mod golomb;
mod list;
#[cfg(all(feature = "embedded", feature = "redis"))]
mod open;
mod operation;
mod policy;
mod record;
#[cfg(feature = "redis")]
pub mod redis;
mod seen;
mod slice;
mod view;

pub use backend::{Backend, Clock, OwnerOperation, Visit, system_clock};
#[cfg(feature = "embedded")]
pub use embedded::Embedded;
pub use error::SeenError;
#[cfg(feature = "redis")]
pub use go_list::GoList;
pub use list::{Explanation, List, Operation};
#[cfg(all(feature = "embedded", feature = "redis"))]
pub use open::{OpenOptions, is_address, open};
pub use operation::hash_ids;
pub use policy::{MAX_IDS, MAX_SLICES, Policy, PolicyError, PolicyFields, Seconds, seconds};
pub use record::{RecordError, decode, encode, entry};
pub use seen::{Seen, StoreStats};
pub use view::{ListStats, View};
