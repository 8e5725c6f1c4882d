//! Redis and Valkey from outside: where a server or cluster is, and questions to it in batches.
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

mod address;
#[cfg(feature = "async")]
mod async_pool;
mod error;
mod pool;
mod request;

pub use address::Address;
#[cfg(feature = "async")]
pub use async_pool::AsyncPool;
pub use error::LinkError;
pub use pool::Pool;
/// The client underneath, for its commands and values.
pub use redis;
pub use request::{Reply, Request, Script};
