//! Redis and Valkey from outside: where a server or cluster is, questions to it in batches, and
//! filters there.
//!
//! An [`Address`] is parsed from a URL. [`Pool`] asks from many threads, `AsyncPool` from async
//! programs (feature `async`); both speak to one server or to a cluster. A [`Request`] is a
//! command or a script; a batch of them costs one round trip (to a cluster: one for each node).
//!
//! ```no_run
//! use mayhap_redis::{Address, Pool, Request, redis::cmd};
//! let (address, _) = Address::parse("redis://127.0.0.1:6379/0")?;
//! let pool = Pool::new(address)?;
//! let replies = pool.ask(&[Request::command(cmd("PING"))])?;
//! assert_eq!(replies.len(), 1);
//! # Ok::<(), mayhap_redis::LinkError>(())
//! ```
//!
//! [`Filters`] are those of a server or cluster with a module for them: [`Filters::load_file`] and
//! [`Filters::save`] carry whole ones. [`Sharded`] is one filter over many keys, so that a cluster
//! holds what no node could.

mod address;
#[cfg(feature = "async")]
mod async_pool;
mod claim;
mod descriptor;
mod dump;
mod error;
mod filter_error;
mod filters;
mod identity;
mod info;
mod orphans;
mod pool;
mod request;
mod router;
mod sharded;
mod slot;
mod transfer;

pub use address::Address;
#[cfg(feature = "async")]
pub use async_pool::AsyncPool;
pub use descriptor::Descriptor;
pub use error::LinkError;
pub use filter_error::FilterError;
pub use filters::{Filters, Held, Make};
pub use info::Info;
pub use orphans::Orphan;
pub use pool::Pool;
/// The client underneath, for its commands and values.
pub use redis;
pub use request::{Reply, Request, Script};
pub use router::Wait;
pub use sharded::Sharded;
pub use slot::{SLOTS, slot_of};
pub use transfer::{Moved, Saved};
