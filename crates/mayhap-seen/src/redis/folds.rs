//! Folds on their way. A fold is tidying, so nobody should wait for it: it rides with the next
//! change of anybody in this program, and a mark stays one round trip.

use super::compact::Fold;
use super::plan::Plan;
use mayhap_redis::Request;
use std::sync::{Mutex, PoisonError};

/// Folds that wait for a change to ride with.
///
/// One that never gets a ride is not missed: whoever changes the list next makes it anew.
#[derive(Default)]
pub(super) struct Folds(Mutex<Vec<Request>>);

impl Folds {
    /// All that wait. They go before the change itself, which then finds its list short.
    pub fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Let these wait, or have those back that are to be sent now: the many of a call for many
    /// owners, which would be too much for somebody else's trip; overdue ones, or programs that
    /// make one change and end would never fold; and those of a cluster, where another node
    /// that is down must not harm the change they ride with.
    pub fn leave(&self, plan: &Plan, folds: Vec<Fold>) -> Vec<Request> {
        let may_wait = folds.len() == 1 && !plan.is_cluster && folds.iter().all(|f| !f.is_overdue);
        let mut requests: Vec<Request> = folds.into_iter().map(|fold| fold.request).collect();
        if may_wait {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).append(&mut requests);
        }
        requests
    }
}
