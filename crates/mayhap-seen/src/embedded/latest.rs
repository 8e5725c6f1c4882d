//! The lists as of the last commit, kept open between commits.
//!
//! Beginning a read and finding the table in the file costs several times what reading one list
//! from it does, so it is done once a commit instead of once a question.

use super::{LISTS, away};
use crate::SeenError;
use redb::{Database, ReadOnlyTable, ReadableDatabase};
use std::sync::{Arc, PoisonError, RwLock};

pub(super) type Lists = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// Renewed by the writer after each commit, before anybody is told of it: whoever was told reads
/// what was written.
#[derive(Default)]
pub(super) struct Latest(RwLock<Option<Arc<Lists>>>);

impl Latest {
    /// The lock is held for a moment only: a reader never waits for another, nor the writer for
    /// a slow disk.
    pub fn lists(&self, db: &Database) -> Result<Arc<Lists>, SeenError> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        kept.map_or_else(|| open(db).map(Arc::new), Ok)
    }

    /// Something was committed. If it cannot be opened now, each reader tries for itself.
    pub fn renew(&self, db: &Database) {
        self.set(open(db).ok().map(Arc::new));
    }

    /// Let go of the file.
    pub fn close(&self) {
        self.set(None);
    }

    fn set(&self, lists: Option<Arc<Lists>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = lists;
    }
}

pub(super) fn open(db: &Database) -> Result<Lists, SeenError> {
    db.begin_read().map_err(away)?.open_table(LISTS).map_err(away)
}
