//! Pending compactions. Compaction is housekeeping, so no call should wait for it: it is
//! piggybacked on the next change of this process, and a mark stays one round trip.

use super::compact::Compaction;
use super::protocol::Protocol;
use mayhap_redis::Request;
use std::sync::{Mutex, PoisonError};

/// Compactions that wait for the next change.
///
/// One that is never sent is not missed: the next change of the list makes it again.
#[derive(Default)]
pub(super) struct PendingCompactions(Mutex<Vec<Request>>);

impl PendingCompactions {
    /// All that wait. They are sent before the change itself, which then finds its list short.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Queue these, or return those to be sent now: the many of a call for many owners, which would
    /// be too much for another call's round trip; overdue ones, or programs that make one change
    /// and end would never compact; and those of a cluster, where another node that is down must
    /// not harm the change they are piggybacked on.
    pub fn queue_or_send(&self, protocol: &Protocol, compactions: Vec<Compaction>) -> Vec<Request> {
        let may_wait = compactions.len() == 1
            && !protocol.is_cluster
            && compactions.iter().all(|f| !f.is_overdue);
        let mut requests: Vec<Request> =
            compactions.into_iter().map(|compaction| compaction.request).collect();
        if may_wait {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).append(&mut requests);
        }
        requests
    }
}
