//! What each command does: plain Rust over a [`Keyspace`](crate::Keyspace).

pub mod add;
pub mod create;
pub mod cuckoo;
pub mod debug;
pub mod info;
mod memory_limit;
pub mod merge;
pub mod options;
pub mod query;
pub mod remove;
pub mod shard;
pub mod transfer;
pub mod unseen;

#[cfg(test)]
mod tests;
