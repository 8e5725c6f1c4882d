//! What is measured: a filter, Mayhap's or a competitor's, and the modes of using it.

use crate::keys::Keys;
use std::fmt;

/// How a filter is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One key at a time, as every competitor offers.
    Single,
    /// Keys are hashed and passed some thousands at a time.
    Batch,
    /// As `Batch`, with the hashes computed before the clock starts: the cost of memory alone.
    Hashed,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Mode::Single => "one at a time",
            Mode::Batch => "batch",
            Mode::Hashed => "batch, hashed before",
        })
    }
}

/// One filter in the comparison.
pub trait Candidate<K: Keys> {
    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// Insert a chunk.
    fn insert(&mut self, way: Mode, chunk: &K);

    /// How many of a chunk may be in.
    fn contains(&mut self, way: Mode, chunk: &K) -> u64;

    /// Memory it holds.
    fn bits(&self) -> u64;

    /// The modes of lookups.
    fn ways(&self) -> &'static [Mode] {
        &[Mode::Single]
    }

    /// The modes of inserts, none for filters that are built at once.
    fn insert_ways(&self) -> &'static [Mode] {
        &[Mode::Single]
    }

    /// All keys were inserted; static filters are built now.
    fn finish(&mut self) {}
}
