//! Progress and cancellation.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The progress of a reader, for a progress bar; and cancellation, for a signal handler.
///
/// ```
/// use mayhap_store::text::ProgressAndCancel;
/// let progress = ProgressAndCancel::default();
/// progress.stop();
/// assert!(progress.is_stopped() && progress.read_bytes() == 0);
/// ```
#[derive(Debug, Default)]
pub struct ProgressAndCancel {
    read_bytes: AtomicU64,
    total_bytes: AtomicU64,
    records: AtomicU64,
    counting: AtomicBool,
    stop: AtomicBool,
}

impl ProgressAndCancel {
    /// Bytes read so far, on disk: compressed ones count as such.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Relaxed)
    }

    /// Total bytes to read; `None` if an input does not say, such as a pipe.
    pub fn total_bytes(&self) -> Option<u64> {
        Some(self.total_bytes.load(Relaxed)).filter(|total| *total > 0)
    }

    /// Records delivered so far.
    pub fn records(&self) -> u64 {
        self.records.load(Relaxed)
    }

    /// Whether keys are only being counted now, to be read once more.
    pub fn is_counting(&self) -> bool {
        self.counting.load(Relaxed)
    }

    /// Cancel: reading ends at the next block, with [`Cancelled`](super::KeysError::Cancelled).
    /// Safe in a signal handler.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether it was cancelled.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// A new read begins.
    pub(super) fn begin(&self, total_bytes: Option<u64>) {
        self.read_bytes.store(0, Relaxed);
        self.records.store(0, Relaxed);
        self.total_bytes.store(total_bytes.unwrap_or(0), Relaxed);
    }

    pub(super) fn set_counting(&self, counting: bool) {
        self.counting.store(counting, Relaxed);
    }

    pub(super) fn add_bytes(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn add_records(&self, records: u64) {
        self.records.fetch_add(records, Relaxed);
    }
}
