//! Seen from outside: how far reading is, and the wish that it stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// How far reading is, for a progress bar; and the wish that it stop, for a signal handler.
///
/// ```
/// use mayhap_store::keys::Watch;
/// let watch = Watch::default();
/// watch.stop();
/// assert!(watch.is_stopped() && watch.read_bytes() == 0);
/// ```
#[derive(Debug, Default)]
pub struct Watch {
    read_bytes: AtomicU64,
    total_bytes: AtomicU64,
    records: AtomicU64,
    stop: AtomicBool,
}

impl Watch {
    /// Bytes read so far, as they lie on the disk: compressed ones count as such.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Relaxed)
    }

    /// Bytes there are to read; `None` where an input does not say, as a pipe does not.
    pub fn total_bytes(&self) -> Option<u64> {
        Some(self.total_bytes.load(Relaxed)).filter(|total| *total > 0)
    }

    /// Records handed over so far.
    pub fn records(&self) -> u64 {
        self.records.load(Relaxed)
    }

    /// Ask for reading to end: it does so at the next block, with
    /// [`Cancelled`](super::KeysError::Cancelled). Safe in a signal handler.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether somebody has asked for the end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// A new reading begins.
    pub(super) fn begin(&self, total_bytes: Option<u64>) {
        self.read_bytes.store(0, Relaxed);
        self.records.store(0, Relaxed);
        self.total_bytes.store(total_bytes.unwrap_or(0), Relaxed);
    }

    pub(super) fn add_bytes(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn add_records(&self, records: u64) {
        self.records.fetch_add(records, Relaxed);
    }
}
