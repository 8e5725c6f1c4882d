//! Changes on their way: which requests come next, until all are done. No socket here.

use super::plan::Plan;
use super::{Layout, compact};
use crate::SeenError;
use crate::backend::Change;
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
    before: Vec<View>,
    folds: Vec<Request>,
}

#[derive(PartialEq)]
enum Stage {
    /// Nothing was sent yet.
    Begin,
    /// Deeds are on their way.
    Sent,
    /// All is done; folding entries is all that may be left.
    Settled,
}

impl<'a> Changing<'a> {
    pub fn new(plan: &'a Plan, changes: &'a [Change<'a>], now: Seconds) -> Changing<'a> {
        Changing { plan, changes, now, stage: Stage::Begin, before: vec![], folds: vec![] }
    }

    /// What to ask next; nothing when all is done.
    pub fn requests(&mut self) -> Result<Vec<Request>, SeenError> {
        match self.plan.layout {
            Layout::Compact => Ok(self.compact_requests()),
            Layout::List => todo!(),
        }
    }

    fn compact_requests(&mut self) -> Vec<Request> {
        if self.stage == Stage::Settled {
            return std::mem::take(&mut self.folds);
        }
        self.stage = Stage::Sent;
        let append = |change| compact::appending(self.plan, change, &self.entry(change));
        self.changes.iter().map(append).collect()
    }

    fn entry(&self, change: &Change<'_>) -> Vec<u8> {
        record::entry(&change.deed, change.hashes, self.now)
    }

    /// What came back for the last requests.
    pub fn replies(&mut self, replies: Vec<Reply>) -> Result<(), SeenError> {
        if self.stage == Stage::Settled {
            return Ok(()); // folds: if one failed, the next to come will do it
        }
        self.stage = Stage::Settled;
        let mut failed = None;
        for (change, reply) in self.changes.iter().zip(replies) {
            match compact::appended(self.plan, change.owner, reply, self.now) {
                Ok((list, value)) => {
                    let entry = self.entry(change);
                    let fold = compact::folding(self.plan, change.owner, value, &entry, self.now);
                    self.folds.extend(fold);
                    self.before.push(View::List(list));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Whether asking twice does no more than asking once.
    pub fn may_repeat(&self) -> bool {
        self.changes.iter().all(|change| change.deed == Deed::Mark)
    }

    /// Whether all is done but tidying.
    pub fn is_settled(&self) -> bool {
        self.stage == Stage::Settled
    }

    /// How the lists stood before.
    pub fn before(self) -> Vec<View> {
        self.before
    }
}
