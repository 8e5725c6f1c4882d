//! `mayhap remove FILE [INPUT…]`.

use crate::budget::MaxMemory;
use crate::exit::Exit;
use crate::filter_args::{KeyFile, in_file, warn_of_clock_jump};
use crate::globals::Globals;
use crate::key_args::{KeyArgs, reading};
use crate::manual;
use crate::paths;
use crate::print;
use crate::progress::Progress;
use crate::show::Change;
use crate::signals::stop_on_signal;
use crate::usage;
use crate::wait::Wait;
use clap::Args;
use mayhap_store::keys::{CollectKeys, KeyBuffer};
use mayhap_store::text::KeyReader;
use mayhap_store::{ChangeError, Edit, Filled, Filter, Removed};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

const MANUAL: &str = "\
EXAMPLES:
  mayhap remove jobs.may gone.txt
  mayhap remove -v jobs.may gone.txt          and print those that were not in
  mayhap remove cascade.may --stash gone.txt  recorded until it is built again

EXIT STATUS:
  0    done, whether the keys were in or not
  2    an error, reported on standard error, and the file is as it was
  130  interrupted by a signal: the file is unchanged";

/// Remove keys from a quotient or counting filter or a bitmap; other kinds cannot.
///
/// A key that was added twice is removed by removing it twice. Keys that are certainly not in are
/// refused: counted, printed with -v, and nothing changes. Remove only what was added: taking out
/// a key that merely looks as if it were in can make the filter miss others.
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
    /// are in no more, until it is built again
    #[arg(long)]
    stash: bool,

    /// Print the lines whose keys were certainly not in, as they came
    #[arg(short, long, conflicts_with_all = ["stash", "quiet"])]
    verbose: bool,

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
        let removed = match (self.stash, self.verbose) {
            (true, _) => edit.filter.stash_remove(&reading, budget),
            (_, true) => self.remove_and_print(&mut edit.filter, &reading, globals)?,
            _ => edit.filter.remove(&reading, budget),
        };
        drop(progress);
        let removed = removed.map_err(|error| in_file(&self.path, error))?;
        edit.commit()?;
        let change = Change {
            verb: "removed from",
            path: &self.path,
            filter: &edit.filter,
            filled: Filled { tally: removed.tally, non_integers: 0 },
            removed: Some(removed),
            start,
            to_stdout: false,
        };
        change.report(&rules, false, globals)
    }

    /// Remove keys and print the lines of those that were certainly not in. The inner error is the
    /// filter's, the outer one that of reading or printing.
    fn remove_and_print(
        &self,
        filter: &mut Filter,
        reading: &KeyReader,
        globals: &Globals,
    ) -> anyhow::Result<Result<Removed, ChangeError>> {
        let (budget, delimiter) = (self.max_memory.budget(), reading.rules().format.delimiter);
        let (mut taken, mut text) = (Vec::new(), Vec::new());
        // What cannot remove says so before anything is read.
        let mut failed = filter.remove_batch(&KeyBuffer::default(), budget, &mut taken).err();
        let mut count = 0;
        let tally = reading.run(&CollectKeys, |batch| {
            let done = match &failed {
                None => filter.remove_batch(&batch.out, budget, &mut taken),
                Some(_) => return anyhow::Ok(ControlFlow::Break(())),
            };
            if let Err(error) = done {
                failed = Some(error);
                return Ok(ControlFlow::Break(()));
            }
            count += taken.iter().map(|taken| u64::from(*taken)).sum::<u64>();
            text.clear();
            for line in batch.lines().filter(|line| line.key.is_some_and(|i| !taken[i])) {
                if globals.json {
                    let file = reading.inputs()[batch.input()].path().display().to_string();
                    let mut value = json!({"file": file, "line": line.number, "removed": false});
                    print::put_text(&mut value, "text", line.text);
                    text.extend_from_slice(format!("{value}\n").as_bytes());
                } else {
                    text.extend_from_slice(line.text);
                    text.push(delimiter);
                }
            }
            if !text.is_empty() {
                print::out_bytes(|out| out.write_all(&text))?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(failed.map_or(Ok(Removed::new(tally, count)), Err))
    }
}
