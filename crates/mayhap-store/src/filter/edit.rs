//! Changing a filter in its file: locked, changed in memory, replaced whole.

use super::{Filter, OpenError, OpenOptions, Verify};
use crate::replace::{self, Lock, Overwrite};
use mayhap_foreign::Format;
use std::path::Path;
use std::time::Duration;

/// A locked file and its filter. Until [`commit`](Edit::commit) the file stays as it was, and for
/// good without it.
///
/// ```
/// use mayhap_store::budget::Budget;
/// use mayhap_store::replace::Overwrite;
/// use mayhap_store::{BuildSpec, Edit, Filter, OpenOptions, Slice};
/// use std::time::Duration;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("seen.may");
/// Filter::build(&BuildSpec::default(), &Slice(&["ada"]))?.filter.save(&path, Overwrite::Filters)?;
/// let mut edit = Edit::open(&path, Duration::ZERO, &OpenOptions::default())?;
/// edit.filter.fill(&Slice(&["eve"]), Budget::default())?;
/// edit.commit()?;
/// assert_eq!(Filter::open(&path, &OpenOptions::default())?.info(0).keys, Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Edit {
    lock: Lock,
    /// The filter, to be changed.
    pub filter: Filter,
}

impl Edit {
    /// Lock a file, waiting for at most so long if another writer has it, and open the filter in
    /// it. The map is of the locked file, whatever gets its name meanwhile; every byte is verified.
    pub fn open(path: &Path, wait: Duration, options: &OpenOptions) -> Result<Edit, OpenError> {
        Edit::of(Lock::acquire(path, wait)?, path, options)
    }

    /// Open the filter in a file that is locked already; `path` is its name in messages.
    pub fn of(lock: Lock, path: &Path, options: &OpenOptions) -> Result<Edit, OpenError> {
        let options = OpenOptions { verify: Verify::All, ..options.clone() };
        let filter = Filter::from_mapped(path, lock.map()?, &options)?;
        let edit = Edit { lock, filter };
        // A table or a Parquet file holds more than its filter: told before anything is read.
        if edit.over() == Overwrite::Anything {
            replace::check(edit.lock.path(), Overwrite::Anything)?;
        }
        Ok(edit)
    }

    fn over(&self) -> Overwrite {
        match self.filter.written_as {
            Format::Mayhap => Overwrite::Filters,
            _ => Overwrite::Anything,
        }
    }

    /// Replace the file by the filter as it is now, and go on holding the lock.
    pub fn commit(&mut self) -> Result<(), OpenError> {
        self.filter.check_unchanged()?;
        let over = self.over();
        let Edit { lock, filter } = self;
        Ok(lock.replace(over, |to| filter.write_to(to))?)
    }

    /// The lock, and the filter.
    pub fn into_parts(self) -> (Lock, Filter) {
        (self.lock, self.filter)
    }
}
