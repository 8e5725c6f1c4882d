//! The counters of `INFO mayhap`, since the server was started.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters. Filters are also freed by the server's background threads, hence atomics.
#[derive(Debug, Default)]
pub struct Stats {
    filters: AtomicU64,
    bytes: AtomicU64,
    added: AtomicU64,
    known: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// The counters of this process.
pub static STATS: Stats = Stats {
    filters: AtomicU64::new(0),
    bytes: AtomicU64::new(0),
    added: AtomicU64::new(0),
    known: AtomicU64::new(0),
    hits: AtomicU64::new(0),
    misses: AtomicU64::new(0),
};

impl Stats {
    /// Names and values, as shown.
    pub fn rows(&self) -> [(&'static str, u64); 6] {
        [
            ("filters", self.filters.load(Relaxed)),
            ("filter_bytes", self.bytes.load(Relaxed)),
            ("items_added", self.added.load(Relaxed)),
            ("items_known", self.known.load(Relaxed)),
            ("hits", self.hits.load(Relaxed)),
            ("misses", self.misses.load(Relaxed)),
        ]
    }

    /// Lookups: this many hits and misses.
    #[inline]
    pub fn record_lookups(&self, hits: u64, misses: u64) {
        bump(&self.hits, hits);
        bump(&self.misses, misses);
    }

    /// Items were added: this many were new or known.
    #[inline]
    pub fn added(&self, new: u64, known: u64) {
        bump(&self.added, new);
        bump(&self.known, known);
    }
}

/// Commands run one after another, so this needs no atomic addition, which would cost as much as
/// the lookup itself.
#[inline]
fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(by), Relaxed);
}

/// A filter's share of the counters, subtracted when it is dropped.
#[derive(Debug)]
pub struct MemoryShare {
    bytes: u64,
}

impl MemoryShare {
    /// One more filter.
    pub fn of(bytes: u64) -> MemoryShare {
        STATS.filters.fetch_add(1, Relaxed);
        STATS.bytes.fetch_add(bytes, Relaxed);
        MemoryShare { bytes }
    }

    /// Its current bytes.
    pub fn set(&mut self, bytes: u64) {
        STATS.bytes.fetch_add(bytes.wrapping_sub(self.bytes), Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        STATS.filters.fetch_sub(1, Relaxed);
        STATS.bytes.fetch_sub(self.bytes, Relaxed);
    }
}
