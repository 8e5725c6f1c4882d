//! `mayhap add FILE [INPUT…]`.

use crate::budget::MaxMemory;
use crate::exit::Exit;
use crate::filter_args::{FormatArgs, KeyFile, in_file, warn_of_clock_jump, with_key_type};
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
use mayhap_store::{Edit, Verify};
use std::path::PathBuf;
use std::time::Instant;

const MANUAL: &str = "\
EXAMPLES:
  mayhap add seen.may today.txt
  crawl | mayhap add seen.may --wait=10s -     wait for another writer to end
  mayhap add guava.bin --key-type i64 ids.txt  another program's filter

EXIT STATUS:
  0    all keys are in
  2    an error, reported on standard error, and the file is unchanged; or with --strict, the filter is
       overfull (the keys are in)
  130  interrupted by a signal: the file is unchanged";

/// Add keys to a filter.
///
/// The file is replaced atomically when all keys are in; until then, and if anything fails, it
/// stays unchanged. There is one writer at a time: a second one gets an error that names the
/// first, or waits with --wait. If there are more keys than planned, all are kept, the rate rises,
/// and a warning says so.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::FILTER_FILES))]
pub struct Add {
    /// The filter to change
    #[arg(value_name = "FILE", value_parser = paths::file())]
    path: PathBuf,

    #[command(flatten)]
    wait: Wait,

    #[command(flatten)]
    key_file: KeyFile,

    #[command(flatten)]
    max_memory: MaxMemory,

    /// Exit with 2 if the filter is overfull; the keys are still added
    #[arg(long)]
    strict: bool,

    /// For a cascade, which is built from complete lists: record the keys exactly, 8 bytes each,
    /// until it is built again
    #[arg(long)]
    stash: bool,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Add {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help("add")) };
        let start = Instant::now();
        let options = self.format.options(&self.key_file, Verify::All);
        let options = with_key_type(options, self.keys.request()?.key_type);
        let mut edit = Edit::open(&self.path, self.wait.timeout(), &options)?;
        warn_of_clock_jump(&edit.filter);
        let rules = self.keys.rules_for(&edit.filter)?;
        let reading = reading(inputs, &rules, globals);
        stop_on_signal(reading.progress());
        let progress = Progress::of(reading.progress(), "add", false, globals);
        let budget = self.max_memory.budget();
        let filled = match self.stash {
            true => edit.filter.stash_add(&reading, budget),
            false => edit.filter.fill(&reading, budget),
        };
        drop(progress);
        let filled = filled.map_err(|error| in_file(&self.path, error))?;
        edit.commit()?;
        let change = Change {
            verb: "added to",
            path: &self.path,
            filter: &edit.filter,
            filled,
            removed: None,
            start,
            to_stdout: false,
        };
        change.report(&rules, self.strict, globals)
    }
}
