//! Mayhap inside Redis and Valkey.
//!
//! A server loads this crate as a library (`--loadmodule libmayhap_module.so`) and then has the
//! `BF.*` commands. `docs/REDIS.md` is the manual; `docs/COMMANDS.md` is generated from
//! [`table::COMMANDS`].
//!
//! ```text
//! Redis ─ ffi ─▶ args ─▶ table row ─▶ handler ─▶ Keyspace ─▶ Filter ─▶ Reply ─ ffi ─▶ Redis
//! ```
//!
//! Only [`ffi`] knows the server, and only there is `unsafe`. Handlers are plain Rust over the
//! [`Keyspace`] trait and are tested without a server.
#![deny(unsafe_code)]

mod args;
mod arguments;
mod error;
#[allow(unsafe_code, reason = "the room where the server's pointers end")]
pub mod ffi;
pub mod filter;
mod handlers;
mod keyspace;
mod reply;
mod settings;
mod stats;
pub mod table;

pub use args::{Args, KeyArg};
pub use error::CommandError;
pub use filter::Filter;
pub use keyspace::{Clock, Keyspace, Replicate};
pub use reply::Reply;
pub use settings::{Cuckoo, Replies, Settings};
