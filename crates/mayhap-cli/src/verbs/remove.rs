//! `mayhap remove FILE [INPUT…]`.

use crate::budget::MaxMemory;
use crate::exit::Exit;
use crate::filter_args::{KeyFile, in_file, warn_of_clock_jump};
use crate::globals::Globals;
use crate::key_args::{KeyArgs, reading};
use crate::manual;
use crate::paths;
use crate::progress::Progress;
use crate::show::Change;
use crate::signals::stop_on_signal;
use crate::usage;
use crate::wait::Wait;
use clap::Args;
use mayhap_store::{Edit, Filled, Removed};
use std::path::PathBuf;
use std::time::Instant;

const MANUAL: &str = "\
EXAMPLES:
  mayhap remove jobs.may gone.txt
  mayhap remove cascade.may --stash gone.txt  recorded until it is built anew

EXIT STATUS:
  0    done, whether the keys were in or not
  2    an error, told on standard error, and the file is as it was
  130  interrupted by a signal: the file is as it was";

/// Remove keys from a quotient or counting filter or a bitmap; other kinds cannot.
///
/// A key that was added twice is removed by removing it twice. Keys that are certainly not in are
/// passed over. Remove only what was added: taking out a key that merely looks as if it were in
/// can make the filter miss others.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::FILTER_FILES))]
pub struct Remove {
    /// The filter to change
    #[arg(value_name = "FILE", value_parser = paths::file())]
    path: PathBuf,

    #[command(flatten)]
    wait: Wait,

    #[command(flatten)]
    key_file: KeyFile,

    #[command(flatten)]
    max_memory: MaxMemory,

    /// For a cascade, which is built from whole lists: record exactly, 8 bytes each, that the keys
    /// are in no more, until it is built anew
    #[arg(long)]
    stash: bool,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Remove {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help("remove")) };
        let start = Instant::now();
        let mut edit = Edit::open(&self.path, self.wait.timeout(), &self.key_file.options())?;
        warn_of_clock_jump(&edit.filter);
        let rules = self.keys.rules_for(&edit.filter)?;
        let reading = reading(inputs, &rules, globals);
        stop_on_signal(reading.progress());
        let progress = Progress::of(reading.progress(), "remove", false, globals);
        let budget = self.max_memory.budget();
        let removed = match self.stash {
            true => edit.filter.stash_remove(&reading, budget),
            false => edit.filter.remove(&reading, budget),
        };
        drop(progress);
        let removed = removed.map_err(|error| in_file(&self.path, error));
        let Removed { tally, removed } = removed?;
        edit.commit()?;
        let change = Change {
            verb: "removed from",
            path: &self.path,
            filter: &edit.filter,
            filled: Filled { tally, non_integers: 0 },
            removed: Some(removed),
            start,
            to_stdout: false,
        };
        change.report(&rules, false, globals)
    }
}
