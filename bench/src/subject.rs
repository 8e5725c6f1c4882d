//! What is measured: a filter, ours or a rival's, and the ways to use it.

use crate::keys::Keys;
use std::fmt;

/// How a filter is asked or filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A key at a time, as every rival offers.
    Single,
    /// Keys are hashed and handed over some thousands at a time.
    Batch,
    /// As `Batch`, with the hashes made before the clock starts: what the memory costs alone.
    Hashed,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Way::Single => "one at a time",
            Way::Batch => "batch",
            Way::Hashed => "batch, hashed before",
        })
    }
}

/// One filter in the contest.
pub trait Subject<K: Keys> {
    /// Its name in tables.
    fn name(&self) -> &'static str;

    /// Insert a chunk.
    fn insert(&mut self, way: Way, chunk: &K);

    /// How many of a chunk may be in.
    fn contains(&mut self, way: Way, chunk: &K) -> u64;

    /// Memory it holds.
    fn bits(&self) -> u64;

    /// The ways it can be asked.
    fn ways(&self) -> &'static [Way] {
        &[Way::Single]
    }

    /// The ways it can be filled, none for what is not filled chunk by chunk.
    fn insert_ways(&self) -> &'static [Way] {
        &[Way::Single]
    }

    /// All keys were inserted; static filters are built now.
    fn finish(&mut self) {}
}
