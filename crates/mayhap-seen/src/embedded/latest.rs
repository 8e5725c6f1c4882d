//! The tables as of the last commit, kept open between commits.
//!
//! Beginning a read and finding a table in the file costs several times what reading one list
//! from it does, so it is done once a commit instead of once a question.

use super::file::Db;
use super::records::{self, Stored};
use super::{CHUNKS, LISTS, away};
use crate::SeenError;
use redb::{ReadOnlyTable, TableError};
use std::sync::{Arc, PoisonError, RwLock};

type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The tables at one moment.
pub(super) struct Snapshot {
    pub lists: Table,
    /// A store of the first release has none.
    pub chunks: Option<Table>,
}

impl Snapshot {
    pub fn open(db: &Db) -> Result<Snapshot, SeenError> {
        let txn = db.begin_read()?;
        let chunks = match txn.open_table(CHUNKS) {
            Ok(table) => Some(table),
            Err(TableError::TableDoesNotExist(_)) => None,
            Err(error) => return Err(away(error)),
        };
        Ok(Snapshot { lists: txn.open_table(LISTS).map_err(away)?, chunks })
    }

    pub fn read(&self, owner: &[u8]) -> Result<Option<Stored<'_>>, SeenError> {
        records::read(&self.lists, self.chunks.as_ref(), owner)
    }
}

/// Renewed by the writer after each commit, before anybody is told of it: whoever was told reads
/// what was written.
#[derive(Default)]
pub(super) struct Latest(RwLock<Option<Arc<Snapshot>>>);

impl Latest {
    /// The lock is held for a moment only: a reader never waits for another, nor the writer for
    /// a slow disk.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Something was committed. If it cannot be opened now, each reader tries for itself.
    pub fn renew(&self, db: &Db) {
        self.set(Snapshot::open(db).ok().map(Arc::new));
    }

    /// Let go of the file.
    pub fn close(&self) {
        self.set(None);
    }

    fn set(&self, snapshot: Option<Arc<Snapshot>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}
