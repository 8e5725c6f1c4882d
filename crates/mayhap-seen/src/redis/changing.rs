//! Changes on their way: which requests come next, until all are done. No socket here.

use super::Layout;
use super::compact::{self, Fold};
use super::lists::Try;
use super::plan::{self, Plan};
use crate::SeenError;
use crate::backend::Change;
use crate::policy::Seconds;
use crate::record;
use mayhap_redis::{Reply, Request};
use std::time::Duration;

/// A batch of changes and how far it has come.
pub(super) struct Changing<'a> {
    plan: &'a Plan,
    changes: &'a [Change<'a>],
    now: Seconds,
    stage: Stage,
    undo: Vec<Request>,
}

enum Stage {
    /// Compact: nothing is done yet; these are to be appended.
    Begin { entries: Vec<Vec<u8>> },
    /// Compact: all is appended.
    Appended { known: Vec<Vec<bool>>, folds: Vec<Fold> },
    /// Lists: each change is tried until it gets through; `waiting` are on their way.
    Trying { tries: Vec<Try>, waiting: Vec<usize>, open: Vec<usize> },
}

impl<'a> Changing<'a> {
    pub fn new(plan: &'a Plan, changes: &'a [Change<'a>], now: Seconds) -> Changing<'a> {
        let stage = match plan.layout {
            Layout::Compact => {
                let entry = |change: &Change<'_>| record::entry(&change.deed, change.hashes, now);
                Stage::Begin { entries: changes.iter().map(entry).collect() }
            }
            Layout::List => Stage::Trying {
                tries: changes.iter().map(|_| Try::default()).collect(),
                waiting: vec![],
                open: (0..changes.len()).collect(),
            },
        };
        Changing { plan, changes, now, stage, undo: vec![] }
    }

    /// What to ask next; nothing when all is done.
    pub fn requests(&mut self) -> Result<Vec<Request>, SeenError> {
        match &mut self.stage {
            Stage::Begin { entries } => {
                let changes = self.changes.iter().zip(entries);
                let append = |(change, entry): (_, &mut Vec<u8>)| {
                    compact::appending(self.plan, change, entry)
                };
                Ok(changes.map(append).collect())
            }
            Stage::Appended { .. } => Ok(vec![]),
            Stage::Trying { tries, waiting, open } => {
                let mut requests = vec![];
                waiting.clear();
                for at in open.drain(..) {
                    let request = tries[at].request(self.plan, &self.changes[at], self.now)?;
                    if let Some(request) = request {
                        requests.push(request);
                        waiting.push(at);
                    }
                }
                Ok(requests)
            }
        }
    }

    /// What came back for the last requests.
    pub fn replies(&mut self, replies: Vec<Reply>) -> Result<(), SeenError> {
        match &mut self.stage {
            Stage::Begin { entries } => {
                let (mut known, mut folds, mut failed) = (vec![], vec![], None);
                for ((change, entry), reply) in self.changes.iter().zip(entries).zip(replies) {
                    match compact::appended(self.plan, change, entry, reply, self.now) {
                        Ok((before, fold)) => {
                            known.push(before);
                            folds.extend(fold);
                        }
                        Err(error) => {
                            if let SeenError::Record { .. } = error {
                                self.undo.push(compact::removing(self.plan, change, entry));
                            }
                            failed = failed.or(Some(error));
                        }
                    }
                }
                self.stage = Stage::Appended { known, folds };
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

    /// What takes back that which was appended to records that cannot be read: else they would
    /// grow with every call that fails.
    pub fn undo(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.undo)
    }

    /// How long to wait before the next try, if others came between at the last one.
    pub fn pause(&self) -> Option<Duration> {
        let Stage::Trying { tries, open, .. } = &self.stage else { return None };
        let failures = open.iter().map(|at| tries[*at].failures()).max();
        failures.filter(|failures| *failures > 0).map(plan::pause)
    }

    /// Which ids were known before, and what is due now that it is done.
    pub fn end(self) -> (Vec<Vec<bool>>, Vec<Fold>) {
        match self.stage {
            Stage::Begin { .. } => (vec![], vec![]),
            Stage::Appended { known, folds } => (known, folds),
            Stage::Trying { tries, .. } => {
                (tries.into_iter().map(|one| one.known).collect(), vec![])
            }
        }
    }
}
