//! `CF.*`: RedisBloom's cuckoo filters by name, grammar and replies; quotient filters inside.
//!
//! Texts of errors are RedisBloom's, letter by letter, because clients compare them.

pub mod add;
pub mod create;
pub mod query;
pub mod transfer;

#[cfg(test)]
mod tests;
