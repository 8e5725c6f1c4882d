//! The tables as of the last commit, kept open between commits.
//!
//! Beginning a read transaction and opening a table costs several times what reading one list does,
//! so it is done once per commit instead of once per lookup.

use super::file::Db;
use super::records::{self, Stored};
use super::{CHUNKS, LISTS, away};
use crate::SeenError;
use redb::{ReadOnlyTable, TableError};
use std::sync::{Arc, PoisonError, RwLock};

type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The tables at one point in time.
pub(super) struct Snapshot {
    pub lists: Table,
    /// Stores of the first release have none.
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

/// Renewed by the writer after each commit, before it is acknowledged: whoever got the
/// acknowledgement reads what was written.
#[derive(Default)]
pub(super) struct ReadSnapshot(RwLock<Option<Arc<Snapshot>>>);

impl ReadSnapshot {
    /// The lock is held only briefly: readers do not wait for each other, nor the writer for a slow
    /// disk.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// After a commit. If it cannot be opened now, each reader tries for itself.
    pub fn renew(&self, db: &Db) {
        self.set(Snapshot::open(db).ok().map(Arc::new));
    }

    /// Release the file.
    pub fn close(&self) {
        self.set(None);
    }

    fn set(&self, snapshot: Option<Arc<Snapshot>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}
