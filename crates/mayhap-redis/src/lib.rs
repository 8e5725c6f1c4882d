//! A client for Redis and Valkey: addresses, batched requests, and filters on servers and clusters.
//!
//! An [`Address`] is parsed from a URL. [`Router`] is the blocking client, `AsyncRouter` the async
//! one (feature `async`); both talk to one server or a cluster, and end every call at its deadline.
//! A [`Request`] is a command or a script; a batch of them is pipelined and costs one round trip
//! (in a cluster one per node).
//!
//! ```no_run
//! use mayhap_redis::{Address, Request, Router, redis::cmd};
//! use std::time::Duration;
//! let (address, _) = Address::parse("redis://127.0.0.1:6379/0?timeout=2")?;
//! let router = Router::new(address, Duration::ZERO);
//! let replies = router.send(&[Request::command(&cmd("PING"))], router.options())?;
//! assert_eq!(replies.len(), 1);
//! # Ok::<(), mayhap_redis::LinkError>(())
//! ```
//!
//! [`Filters`] are the filters of a server or cluster with a module for them:
//! [`Filters::load_file`] and [`Filters::save`] transfer whole filters. [`Sharded`] is one filter
//! over many keys, for what does not fit on one node.

mod address;
#[cfg(feature = "async")]
mod async_router;
mod batch;
mod claim;
mod connection;
mod descriptor;
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

pub use address::{Address, redacted};
#[cfg(feature = "async")]
pub use async_router::AsyncRouter;
pub use batch::{Replies, RequestOptions, Wait};
pub use descriptor::Descriptor;
pub use error::LinkError;
pub use filter_error::FilterError;
pub use filters::{Filters, KeyContent, ServerModule};
pub use info::Info;
pub use orphans::Orphan;
/// The underlying `redis` crate, for its commands and values.
pub use redis;
pub use request::{Reply, Request, Script};
pub use router::Router;
pub use sharded::Sharded;
pub use slot::{SLOTS, slot_of};
pub use transfer::{OnProgress, SavedFormat};
