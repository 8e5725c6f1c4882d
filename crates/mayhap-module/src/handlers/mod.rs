//! What each command does: plain Rust over a [`Keyspace`](crate::Keyspace).

pub mod add;
pub mod ask;
pub mod create;
pub mod debug;
pub mod info;
pub mod merge;
pub mod options;
pub mod remove;
mod room;
pub mod shard;
pub mod transfer;
pub mod unseen;

#[cfg(test)]
mod tests;
