//! What was seen, kept from run to run.

use super::set::Seen;
use crate::clock::now_s;
use crate::exit::{HintExt, error_with_hint, with_hint};
use crate::filter_args::warn_of_clock_jump;
use crate::key_args::key_rules;
use anyhow::Context;
use mayhap::AnyFilter;
use mayhap::format::{FormatError, Metadata};
use mayhap_store::budget::Budget;
use mayhap_store::dedup::KEYS_FROM;
use mayhap_store::exact::{ExactError, ExactSet};
use mayhap_store::replace::{Lock, LockError, Overwrite, ReplaceError};
use mayhap_store::text::ExtractRules;
use mayhap_store::{Edit, OpenError, OpenOptions};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file of a state, locked for as long as this value.
pub struct State {
    path: PathBuf,
    /// Nothing until the file is there.
    lock: Option<Lock>,
    metadata: Option<Metadata>,
    /// Until it is taken.
    found: Option<Found>,
    /// Whether this run made the file, and nothing was saved to it yet.
    is_new: bool,
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
        options: &OpenOptions,
        budget: Budget,
    ) -> anyhow::Result<State> {
        let path = path.to_owned();
        let lock = match Lock::acquire(&path, patience) {
            Err(LockError::Open { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(State { path, lock: None, metadata: None, found: None, is_new: false });
            }
            lock => lock?,
        };
        if exact {
            let (set, metadata) = load_exact(&path, &lock, budget)?;
            let found = Some(Found::Exact(set));
            let (lock, metadata) = (Some(lock), Some(metadata));
            return Ok(State { path, lock, metadata, found, is_new: false });
        }
        let (lock, filter) = match Edit::of(lock, &path, options) {
            Err(OpenError::Format { error: FormatError::NotOurs { magic }, .. })
                if ExactSet::is_start_of_file(&magic) =>
            {
                return Err(error_with_hint(
                    format!("{} is an exact state, made with --exact", path.display()),
                    "add --exact, or name another file with --state",
                ));
            }
            edit => edit?.into_parts(),
        };
        warn_of_clock_jump(&filter);
        let loaded = filter.into_native(budget).with_context(|| path.display().to_string());
        let (filter, metadata) = loaded?;
        let found = Some(Found::Filter(filter));
        let (lock, metadata) = (Some(lock), Some(metadata));
        Ok(State { path, lock, metadata, found, is_new: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file says of its keys.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    /// Fails where the keys of earlier runs came from elsewhere in the lines than these do. States
    /// of earlier releases, and filters made by other verbs, do not say.
    pub fn check_keys_from(&self, rules: &ExtractRules) -> anyhow::Result<()> {
        let noted = self.metadata.as_ref().and_then(|metadata| metadata.get(KEYS_FROM));
        let from = rules.part.to_string();
        match noted {
            Some(noted) if noted != from => Err(error_with_hint(
                format!("{}: its keys are {noted}, and these are {from}", self.path.display()),
                "take the same part of the lines, begin a new state, or say --mixed-keys if both are the same keys",
            )),
            _ => Ok(()),
        }
    }

    /// What was in the file, if there was one.
    pub fn take(&mut self) -> Option<Found> {
        self.found.take()
    }

    /// Make the file of a new state, and lock it: a second run that starts now finds it there,
    /// and whatever ends us, the file is whole.
    pub fn create(&mut self, seen: &impl Seen, rules: &ExtractRules) -> anyhow::Result<()> {
        if self.lock.is_none() {
            let metadata = key_rules(rules).note(Metadata::new().with_created(now_s()))?;
            let metadata = metadata.with(KEYS_FROM, rules.part.to_string())?;
            self.lock = match Lock::create(&self.path, |to| seen.write_to(to, &metadata)) {
                Err(ReplaceError::Exists { path }) => return Err(Begun { path }.into()),
                lock => Some(lock?),
            };
            self.metadata = Some(metadata);
            self.is_new = true;
        }
        Ok(())
    }

    /// Remove the file if this run made it and nothing came of it: where nothing was printed,
    /// there is nothing to remember.
    pub fn discard_new(&mut self) -> anyhow::Result<()> {
        if let Some(lock) = self.lock.as_ref().filter(|_| self.is_new) {
            let path = lock.path();
            std::fs::remove_file(path)
                .with_context(|| format!("cannot remove {}", path.display()))?;
            self.is_new = false;
        }
        Ok(())
    }

    /// Replace the file by what is known now.
    pub fn save(&mut self, seen: &impl Seen) -> anyhow::Result<()> {
        self.is_new = false;
        if let (Some(lock), Some(metadata)) = (&mut self.lock, &self.metadata) {
            let over = match seen.filter() {
                Some(_) => Overwrite::Filters,
                // What is there was read as an exact state, under the lock that is still held.
                None => Overwrite::Anything,
            };
            lock.replace(over, |to| seen.write_to(to, metadata))?;
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

fn load_exact(path: &Path, lock: &Lock, budget: Budget) -> anyhow::Result<(ExactSet, Metadata)> {
    let name = path.display();
    match ExactSet::read_from(lock.file(), budget) {
        Err(ExactError::Filter) => Err(error_with_hint(
            format!("{name} is a filter, which is not exact"),
            "leave out --exact, or name another file with --state",
        )),
        Err(error @ ExactError::NotOne { .. }) => Err(with_hint(
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
