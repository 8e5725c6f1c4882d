//! Seen lists: what has each user already seen?
//!
//! A recommender asks on every request which of a thousand candidates a user has not seen yet,
//! and records what was shown. Plain lists of ids take some 70 KB a user; a seen list takes 9 KB
//! for five thousand ids and 180 bytes for twenty, answers "unseen" for certain, and takes an
//! unseen id for a seen one at most as often as its [`Policy`] allows.
//!
//! [`Seen`] is the door. Behind it is a backend: [`Embedded`], one durable file, or
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
//! What is decided about one list is in [`List`], which is pure: time is an argument.

mod backend;
mod call;
#[cfg(feature = "embedded")]
pub mod embedded;
mod error;
#[cfg(feature = "redis")]
mod golist;
mod list;
mod policy;
mod record;
#[cfg(feature = "redis")]
pub mod redis;
mod rice;
mod seen;
mod slice;
mod view;

pub use backend::{Backend, Change, Clock, Visit, system_clock};
pub use call::hash_ids;
#[cfg(feature = "embedded")]
pub use embedded::Embedded;
pub use error::SeenError;
#[cfg(feature = "redis")]
pub use golist::GoList;
pub use list::{Deed, Explanation, List};
pub use policy::{MAX_IDS, MAX_SLICES, Policy, PolicyError, PolicyFields, Seconds, seconds};
pub use record::{RecordError, decode, encode, entry};
pub use seen::{Seen, StoreStats};
pub use view::{ListStats, View};
