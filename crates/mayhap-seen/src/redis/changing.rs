//! Changes on their way: which requests come next, until all are done. No socket here.

use super::lists::Try;
use super::plan::Plan;
use super::{Layout, compact};
use crate::SeenError;
use crate::backend::{Before, Change};
use crate::list::Deed;
use crate::policy::Seconds;
use crate::record;
use crate::view::View;
use mayhap_redis::{Reply, Request};

/// A batch of changes and how far it has come.
pub(super) struct Changing<'a> {
    plan: &'a Plan,
    changes: &'a [Change<'a>],
    now: Seconds,
    stage: Stage,
}

enum Stage {
    /// Compact: nothing is done yet.
    Begin,
    /// Compact: all is appended; folding long entries is all that is left.
    Appended { before: Vec<Before>, folds: Vec<Request> },
    /// Lists: each change is tried until it gets through; `waiting` are on their way.
    Trying { tries: Vec<Try>, waiting: Vec<usize>, open: Vec<usize> },
}

impl<'a> Changing<'a> {
    pub fn new(plan: &'a Plan, changes: &'a [Change<'a>], now: Seconds) -> Changing<'a> {
        let stage = match plan.layout {
            Layout::Compact => Stage::Begin,
            Layout::List => Stage::Trying {
                tries: changes.iter().map(|_| Try::default()).collect(),
                waiting: vec![],
                open: (0..changes.len()).collect(),
            },
        };
        Changing { plan, changes, now, stage }
    }

    /// What to ask next; nothing when all is done.
    pub fn requests(&mut self) -> Result<Vec<Request>, SeenError> {
        match &mut self.stage {
            Stage::Begin => {
                let append = |change| compact::appending(self.plan, change, &self.entry(change));
                Ok(self.changes.iter().map(append).collect())
            }
            Stage::Appended { folds, .. } => Ok(std::mem::take(folds)),
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

    fn entry(&self, change: &Change<'_>) -> Vec<u8> {
        record::entry(&change.deed, change.hashes, self.now)
    }

    /// What came back for the last requests.
    pub fn replies(&mut self, replies: Vec<Reply>) -> Result<(), SeenError> {
        match &mut self.stage {
            Stage::Begin => self.appended(replies),
            // Folds: where one failed, somebody else's got through.
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

    fn appended(&mut self, replies: Vec<Reply>) -> Result<(), SeenError> {
        let (mut before, mut folds, mut failed) = (vec![], vec![], None);
        for (change, reply) in self.changes.iter().zip(replies) {
            match compact::appended(self.plan, change.owner, reply, self.now) {
                Ok((list, value)) => {
                    let entry = self.entry(change);
                    folds.extend(compact::folding(
                        self.plan,
                        change.owner,
                        value,
                        &entry,
                        self.now,
                    ));
                    before.push(Before::List(View::List(list)));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        self.stage = Stage::Appended { before, folds };
        failed.map_or(Ok(()), Err)
    }

    /// Whether asking twice does no more than asking once.
    pub fn may_repeat(&self) -> bool {
        self.changes.iter().all(|change| change.deed == Deed::Mark)
    }

    /// Whether all is done but tidying.
    pub fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Appended { .. })
    }

    /// How the lists stood before.
    pub fn before(self) -> Vec<Before> {
        match self.stage {
            Stage::Begin => vec![],
            Stage::Appended { before, .. } => before,
            Stage::Trying { tries, .. } => tries.into_iter().map(|one| one.before).collect(),
        }
    }
}
