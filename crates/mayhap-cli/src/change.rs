//! Changing a filter's file: locked, read, changed, replaced whole.

use crate::budget::MaxMemory;
use crate::exit::Exit;
use crate::filter_file::load;
use crate::globals::Globals;
use crate::keys::{KeyArgs, reading};
use crate::outcome::Outcome;
use crate::paths;
use crate::progress::Progress;
use crate::secret::KeyFile;
use crate::signals::stop_on_signal;
use crate::wait::Wait;
use anyhow::Context;
use clap::Args;
use mayhap::AnyFilter;
use mayhap_store::keys::{Input, Reading, Tally};
use mayhap_store::map::Mapped;
use mayhap_store::replace::Lock;
use std::path::PathBuf;
use std::time::Instant;

/// Which filter is changed, and how long to wait for it.
#[derive(Args)]
pub struct Change {
    /// The filter to change
    #[arg(value_name = "FILE", value_parser = paths::file())]
    pub path: PathBuf,

    #[command(flatten)]
    wait: Wait,

    #[command(flatten)]
    key_file: KeyFile,

    #[command(flatten)]
    max_memory: MaxMemory,
}

/// The filter after the change, what was read, keys it cannot hold, keys taken out.
pub type Changed = (AnyFilter, Tally, u64, Option<u64>);

impl Change {
    /// Lock the file, let `change` work on a copy of the filter, and replace the file by it.
    pub fn run(
        &self,
        verb: &'static str,
        keys: &KeyArgs,
        inputs: Vec<Input>,
        strict: bool,
        globals: &Globals,
        change: impl FnOnce(AnyFilter, &Reading, MaxMemory) -> anyhow::Result<Changed>,
    ) -> anyhow::Result<Exit> {
        self.run_locked(self.lock()?, verb, keys, inputs, strict, globals, change)
    }

    /// Lock the file, waiting as long as asked to.
    pub fn lock(&self) -> anyhow::Result<Lock> {
        Ok(self.wait.lock(&self.path)?)
    }

    /// Look at the locked file.
    pub fn map(&self, lock: &Lock) -> anyhow::Result<Mapped> {
        Ok(lock.map()?)
    }

    /// As [`run`](Change::run), of a file that is locked already.
    #[expect(clippy::too_many_arguments, reason = "as many as a change is made of")]
    pub fn run_locked(
        &self,
        mut lock: Lock,
        verb: &'static str,
        keys: &KeyArgs,
        inputs: Vec<Input>,
        strict: bool,
        globals: &Globals,
        change: impl FnOnce(AnyFilter, &Reading, MaxMemory) -> anyhow::Result<Changed>,
    ) -> anyhow::Result<Exit> {
        let start = Instant::now();
        let mapped = self.map(&lock)?;
        let (filter, header) = load(&mapped, &self.path, &self.key_file, self.max_memory.budget())?;
        drop(mapped);
        let rules =
            keys.rules_of(&header.notes).with_context(|| self.path.display().to_string())?;

        let reading = reading(inputs, &rules, globals);
        stop_on_signal(reading.watch());
        let doing = verb.split(' ').next().unwrap_or(verb);
        let doing = if doing == "added" { "add" } else { "remove" };
        let progress = Progress::of(reading.watch(), doing, false, globals);
        let changed = change(filter, &reading, self.max_memory);
        drop(progress);
        let (filter, tally, no_integers, removed) = changed?;
        lock.replace(|to| filter.write_to(to, &header.notes))?;

        let outcome = Outcome {
            verb,
            path: &self.path,
            filter: &filter,
            tally,
            no_integers,
            removed,
            took: start.elapsed(),
            to_stdout: false,
        };
        outcome.say(&rules, globals)?;
        Ok(outcome.exit(strict))
    }
}
