//! What was seen, kept from run to run.

use crate::clock::now_s;
use crate::exit::refuse;
use crate::filter_file::load;
use crate::keys::note;
use crate::secret::KeyFile;
use mayhap::AnyFilter;
use mayhap::format::Notes;
use mayhap_store::keys::Rules;
use mayhap_store::memory::Budget;
use mayhap_store::replace::{Lock, LockError, ReplaceError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file of a state, locked for as long as this value.
pub struct State {
    path: PathBuf,
    /// Nothing until the file is there.
    lock: Option<Lock>,
    notes: Option<Notes>,
    filter: Option<AnyFilter>,
}

impl State {
    /// Lock and load the state, if there is one.
    pub fn open(
        path: &Path,
        patience: Duration,
        key_file: &KeyFile,
        budget: Budget,
    ) -> anyhow::Result<State> {
        let path = path.to_owned();
        let lock = match Lock::acquire(&path, patience) {
            Err(LockError::Open { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(State { path, lock: None, notes: None, filter: None });
            }
            lock => lock?,
        };
        let (filter, header) = load(&lock.map()?, &path, key_file, budget)?;
        let (lock, notes, filter) = (Some(lock), Some(header.notes), Some(filter));
        Ok(State { path, lock, notes, filter })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file says of its keys.
    pub fn notes(&self) -> Option<&Notes> {
        self.notes.as_ref()
    }

    pub fn take_filter(&mut self) -> Option<AnyFilter> {
        self.filter.take()
    }

    /// Make the file of a new state, and lock it: a second run that starts now finds it there,
    /// and whatever ends us, the file is whole.
    pub fn create(&mut self, filter: &AnyFilter, rules: &Rules) -> anyhow::Result<()> {
        if self.lock.is_none() {
            let notes = note(Notes::new().with_created(now_s()), rules)?;
            self.lock = match Lock::create(&self.path, |to| filter.write_to(to, &notes)) {
                Err(ReplaceError::Exists { path }) => {
                    return Err(refuse(
                        format!("another run has just begun the state {}", path.display()),
                        "run it again; --wait waits for the other to end",
                    ));
                }
                lock => Some(lock?),
            };
            self.notes = Some(notes);
        }
        Ok(())
    }

    /// Replace the file by what is known now.
    pub fn save(&mut self, filter: &AnyFilter) -> anyhow::Result<()> {
        if let (Some(lock), Some(notes)) = (&mut self.lock, &self.notes) {
            lock.replace(|to| filter.write_to(to, notes))?;
        }
        Ok(())
    }
}
