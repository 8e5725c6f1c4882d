//! Redis and Valkey from outside: where a server or cluster is, questions to it in batches, and
//! filters there.
//!
//! An [`Address`] is parsed from a URL. [`Router`] asks from many threads, `AsyncRouter` from async
//! programs (feature `async`); both speak to one server or to a cluster, and end every call at its
//! deadline. A [`Request`] is a command or a script; a batch of them costs one round trip (to a
//! cluster: one for each node).
//!
//! ```no_run
//! use mayhap_redis::{Address, Request, Router, redis::cmd};
//! use std::time::Duration;
//! let (address, _) = Address::parse("redis://127.0.0.1:6379/0?timeout=2")?;
//! let router = Router::new(address, Duration::ZERO);
//! let replies = router.ask(&[Request::command(&cmd("PING"))], router.how())?;
//! assert_eq!(replies.len(), 1);
//! # Ok::<(), mayhap_redis::LinkError>(())
//! ```
//!
//! [`Filters`] are those of a server or cluster with a module for them: [`Filters::load_file`] and
//! [`Filters::save`] carry whole ones. [`Sharded`] is one filter over many keys, so that a cluster
//! holds what no node could.

mod address;
#[cfg(feature = "async")]
mod async_router;
mod batch;
mod claim;
mod descriptor;
mod dump;
mod error;
mod filter_error;
mod filters;
mod identity;
mod info;
mod orphans;
mod request;
mod router;
mod sharded;
mod slot;
#[cfg(feature = "tls")]
mod tls;
mod topology;
mod transfer;
mod wire;

pub use address::{Address, redacted};
#[cfg(feature = "async")]
pub use async_router::AsyncRouter;
pub use batch::{Replies, RequestOptions, Wait};
pub use descriptor::Descriptor;
pub use error::LinkError;
pub use filter_error::FilterError;
pub use filters::{Filters, Held, Make};
pub use info::Info;
pub use orphans::Orphan;
/// The client underneath, for its commands and values.
pub use redis;
pub use request::{Reply, Request, Script};
pub use router::Router;
pub use sharded::Sharded;
pub use slot::{SLOTS, slot_of};
pub use transfer::{Moved, Saved};
