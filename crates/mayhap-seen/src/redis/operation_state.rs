//! Operations in progress: which requests come next, until all are done. No I/O here.

use super::Layout;
use super::compact::{self, Compaction};
use super::go_lists::CasAttempt;
use super::protocol::{self, Protocol};
use crate::SeenError;
use crate::backend::OwnerOperation;
use crate::policy::Seconds;
use crate::record;
use mayhap_redis::{Reply, Request};
use std::time::Duration;

/// A batch of operations and its state.
pub(super) struct OperationState<'a> {
    protocol: &'a Protocol,
    changes: &'a [OwnerOperation<'a>],
    now: Seconds,
    stage: Stage,
    undo: Vec<Request>,
}

enum Stage {
    /// Compact: nothing is done yet; these are to be appended.
    Begin { entries: Vec<Vec<u8>> },
    /// Compact: all is appended.
    Appended { known: Vec<Vec<bool>>, compactions: Vec<Compaction> },
    /// Lists: each operation is retried until it succeeds; `waiting` are in flight.
    Trying { tries: Vec<CasAttempt>, waiting: Vec<usize>, open: Vec<usize> },
}

impl<'a> OperationState<'a> {
    pub fn new(
        protocol: &'a Protocol,
        changes: &'a [OwnerOperation<'a>],
        now: Seconds,
    ) -> OperationState<'a> {
        let stage = match protocol.layout {
            Layout::Compact => {
                let entry = |change: &OwnerOperation<'_>| {
                    record::entry(&change.operation, change.hashes, now)
                };
                Stage::Begin { entries: changes.iter().map(entry).collect() }
            }
            Layout::List => Stage::Trying {
                tries: changes.iter().map(|_| CasAttempt::default()).collect(),
                waiting: vec![],
                open: (0..changes.len()).collect(),
            },
        };
        OperationState { protocol, changes, now, stage, undo: vec![] }
    }

    /// The next requests; none when all is done.
    pub fn requests(&mut self) -> Result<Vec<Request>, SeenError> {
        match &mut self.stage {
            Stage::Begin { entries } => {
                let changes = self.changes.iter().zip(entries);
                let append = |(change, entry): (_, &mut Vec<u8>)| {
                    compact::append_request(self.protocol, change, entry)
                };
                Ok(changes.map(append).collect())
            }
            Stage::Appended { .. } => Ok(vec![]),
            Stage::Trying { tries, waiting, open } => {
                let mut requests = vec![];
                waiting.clear();
                for at in open.drain(..) {
                    let request = tries[at].request(self.protocol, &self.changes[at], self.now)?;
                    if let Some(request) = request {
                        requests.push(request);
                        waiting.push(at);
                    }
                }
                Ok(requests)
            }
        }
    }

    /// The replies to the last requests.
    pub fn replies(&mut self, replies: Vec<Reply>) -> Result<(), SeenError> {
        match &mut self.stage {
            Stage::Begin { entries } => {
                let (mut known, mut compactions, mut failed) = (vec![], vec![], None);
                for ((change, entry), reply) in self.changes.iter().zip(entries).zip(replies) {
                    match compact::appended(self.protocol, change, entry, reply, self.now) {
                        Ok((before, compaction)) => {
                            known.push(before);
                            compactions.extend(compaction);
                        }
                        Err(error) => {
                            if let SeenError::Record { .. } = error {
                                self.undo.push(compact::remove_request(
                                    self.protocol,
                                    change,
                                    entry,
                                ));
                            }
                            failed = failed.or(Some(error));
                        }
                    }
                }
                self.stage = Stage::Appended { known, compactions };
                failed.map_or(Ok(()), Err)
            }
            Stage::Appended { .. } => Ok(()),
            Stage::Trying { tries, waiting, open } => {
                for (at, reply) in waiting.drain(..).zip(replies) {
                    if !tries[at].reply(&self.changes[at], reply)? {
                        open.push(at);
                    }
                }
                Ok(())
            }
        }
    }

    /// Removes what was appended to records that cannot be decoded: otherwise they would grow with
    /// every call that fails.
    pub fn undo(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.undo)
    }

    /// The backoff before the next attempt, if other clients interfered.
    pub fn backoff(&self) -> Option<Duration> {
        let Stage::Trying { tries, open, .. } = &self.stage else { return None };
        let failures = open.iter().map(|at| tries[*at].failures()).max();
        failures.filter(|failures| *failures > 0).map(protocol::backoff)
    }

    /// Which ids were known before, and the compactions that are due.
    pub fn end(self) -> (Vec<Vec<bool>>, Vec<Compaction>) {
        match self.stage {
            Stage::Begin { .. } => (vec![], vec![]),
            Stage::Appended { known, compactions } => (known, compactions),
            Stage::Trying { tries, .. } => {
                (tries.into_iter().map(|one| one.known).collect(), vec![])
            }
        }
    }
}
