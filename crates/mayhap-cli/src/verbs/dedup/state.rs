//! What was seen, kept from run to run.

use super::seen::Seen;
use crate::clock::now_s;
use crate::exit::{Hint, hinted, refuse};
use crate::filter_file::load;
use crate::keys::note;
use crate::secret::KeyFile;
use anyhow::Context;
use mayhap::AnyFilter;
use mayhap::format::Notes;
use mayhap_store::exact::{ExactError, ExactSet};
use mayhap_store::keys::Rules;
use mayhap_store::memory::Budget;
use mayhap_store::replace::{Lock, LockError, ReplaceError};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file of a state, locked for as long as this value.
pub struct State {
    path: PathBuf,
    /// Nothing until the file is there.
    lock: Option<Lock>,
    notes: Option<Notes>,
    /// Until it is taken.
    found: Option<Found>,
}

/// What was in the file.
#[expect(clippy::large_enum_variant, reason = "there is one of them")]
pub enum Found {
    Filter(AnyFilter),
    Exact(ExactSet),
}

impl State {
    /// Lock and load the state, if there is one.
    pub fn open(
        path: &Path,
        patience: Duration,
        exact: bool,
        key_file: &KeyFile,
        budget: Budget,
    ) -> anyhow::Result<State> {
        let path = path.to_owned();
        let lock = match Lock::acquire(&path, patience) {
            Err(LockError::Open { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(State { path, lock: None, notes: None, found: None });
            }
            lock => lock?,
        };
        let (found, notes) = if exact {
            let (set, notes) = load_exact(&path, &lock, budget)?;
            (Found::Exact(set), notes)
        } else {
            let mapped = lock.map()?;
            if ExactSet::is_start_of_file(mapped.as_ref()) {
                return Err(refuse(
                    format!("{} is an exact state, made with --exact", path.display()),
                    "add --exact, or name another file with --state",
                ));
            }
            let (filter, header) = load(&mapped, &path, key_file, budget)?;
            (Found::Filter(filter), header.notes)
        };
        Ok(State { path, lock: Some(lock), notes: Some(notes), found: Some(found) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file says of its keys.
    pub fn notes(&self) -> Option<&Notes> {
        self.notes.as_ref()
    }

    /// What was in the file, if there was one.
    pub fn take(&mut self) -> Option<Found> {
        self.found.take()
    }

    /// Make the file of a new state, and lock it: a second run that starts now finds it there,
    /// and whatever ends us, the file is whole.
    pub fn create(&mut self, seen: &impl Seen, rules: &Rules) -> anyhow::Result<()> {
        if self.lock.is_none() {
            let notes = note(Notes::new().with_created(now_s()), rules)?;
            self.lock = match Lock::create(&self.path, |to| seen.write_to(to, &notes)) {
                Err(ReplaceError::Exists { path }) => return Err(Begun { path }.into()),
                lock => Some(lock?),
            };
            self.notes = Some(notes);
        }
        Ok(())
    }

    /// Replace the file by what is known now.
    pub fn save(&mut self, seen: &impl Seen) -> anyhow::Result<()> {
        if let (Some(lock), Some(notes)) = (&mut self.lock, &self.notes) {
            match seen.filter() {
                Some(_) => lock.replace(|to| seen.write_to(to, notes))?,
                // What is there was read as an exact state, under the lock that is still held.
                None => lock.replace_foreign(|to| seen.write_to(to, notes))?,
            }
        }
        Ok(())
    }
}

/// Another run has made the state since we looked for it.
#[derive(Debug)]
pub struct Begun {
    path: PathBuf,
}

impl fmt::Display for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another run has just begun the state {}", self.path.display())
    }
}

impl std::error::Error for Begun {}

fn load_exact(path: &Path, lock: &Lock, budget: Budget) -> anyhow::Result<(ExactSet, Notes)> {
    let name = path.display();
    match ExactSet::read_from(lock.file(), budget) {
        Err(ExactError::Filter) => Err(refuse(
            format!("{name} is a filter, which is not exact"),
            "leave out --exact, or name another file with --state",
        )),
        Err(error @ ExactError::NotOne { .. }) => Err(hinted(
            anyhow::Error::new(error).context(name.to_string()),
            "name another file with --state; one that is not there is made",
        )),
        Err(error @ ExactError::Memory(_)) => {
            Err(error).with_context(|| name.to_string()).hint("allow more with --max-memory")
        }
        Err(error @ (ExactError::Length { .. } | ExactError::Damaged { .. })) => Err(error)
            .with_context(|| name.to_string())
            .hint("bring back a copy, or begin a new state"),
        read => read.with_context(|| name.to_string()),
    }
}
