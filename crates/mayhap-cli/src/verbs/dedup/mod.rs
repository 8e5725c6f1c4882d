//! `mayhap dedup [INPUT…]`.

mod pass;
mod room;
mod seen;
mod state;
mod summary;

use super::build::wish::{Span, span};
use crate::ask::Asking;
use crate::budget::MaxMemory;
use crate::clock::now_ms;
use crate::exit::{Exit, refuse};
use crate::filter_file::FilterFile;
use crate::globals::Globals;
use crate::keys::{KeyArgs, reading};
use crate::numbers;
use crate::print;
use crate::progress::Progress;
use crate::secret::KeyFile;
use crate::signals::stop_on_signal;
use crate::usage;
use anyhow::Context;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use mayhap_store::keys::{Input, KeysError, Reading, Rules};
use mayhap_store::map::Check;
use pass::Pass;
use seen::{Exact, Filtered, Seen};
use state::State;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The chance to take a new line for a repeat, unless said otherwise.
const RATE: f64 = 1e-6;

/// Print each line the first time it is seen.
///
/// Lines are printed as they came and in their order. No line is printed twice. A new line is
/// taken for a repeat with at most the chance given by --rate, one in a million; the summary says
/// what that may have cost, and --exact makes it never.
#[derive(Args)]
pub struct Dedup {
    /// The chance to take a new line for a repeat [default: 1e-6]
    #[arg(short = 'p', long, value_name = "RATE", value_parser = numbers::rate)]
    rate: Option<f64>,

    /// Distinct lines to expect. Without it files are read twice, first to find out, and what
    /// comes from a pipe makes the filter grow
    #[arg(short = 'n', long = "keys", value_name = "KEYS", value_parser = numbers::count)]
    expect: Option<u64>,

    /// Never err: keep 128-bit hashes of all lines, 20 bytes each instead of four
    #[arg(long, conflicts_with_all = ["rate", "window"])]
    exact: bool,

    /// Remember what was seen from run to run in this filter; made if it is not there
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Save the state every so often too, and not only at the end
    #[arg(long, value_name = "TIME", value_parser = numbers::duration, requires = "state")]
    save_every: Option<Duration>,

    /// Wait for another writer of the state to end; with a time, at most so long
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, requires = "state")]
    #[arg(value_parser = numbers::duration)]
    wait: Option<Option<Duration>>,

    /// Write the repeats to this file
    #[arg(long, value_name = "FILE", conflicts_with = "invert")]
    dupes: Option<PathBuf>,

    /// Lines that may be in this filter count as seen. Can be given again
    #[arg(long, value_name = "FILTER")]
    against: Vec<PathBuf>,

    /// Print the repeats instead
    #[arg(long)]
    invert: bool,

    /// Let each line pass so many times
    #[arg(long, value_name = "K", default_value_t = 1)]
    #[arg(value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    max_repeat: u32,

    /// Forget: a line is a repeat only within the last so many distinct lines (10M), or within
    /// such a time (1h) after it last came; a time needs -n, the distinct lines to expect in it
    #[arg(long, value_name = "KEYS|TIME", value_parser = span)]
    window: Option<Span>,

    /// Tell more at the end
    #[arg(long)]
    stats: bool,

    #[command(flatten)]
    key_file: KeyFile,

    #[command(flatten)]
    max_memory: MaxMemory,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Dedup {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help("dedup")) };
        if self.exact && self.state.is_some() {
            return Err(refuse(
                "--exact remembers for one run only, and no file keeps what it knows",
                "leave out --exact: a state with -p 1e-12 errs once in a million million lines",
            ));
        }
        let against = self.open_against()?;
        let mut state = self.open_state()?;
        let rules = self.rules(&against, state.as_ref())?;
        let reading = reading(inputs, &rules, globals);
        stop_on_signal(reading.watch());
        if self.exact {
            let room = self.room(&reading, globals)?;
            let seen = Exact::new(room.keys(), self.max_memory)?;
            return self.pass(seen, None, &against, &reading, globals);
        }
        let filter = match state.as_mut().and_then(State::take_filter) {
            Some(filter) => {
                self.refuse_another_rate(filter.fpr())?;
                filter
            }
            None => self.room(&reading, globals)?.filter(&self)?,
        };
        if let Some(state) = &mut state {
            state.create(&filter, &rules)?;
        }
        let seen = Filtered::new(filter, self.max_memory)?;
        self.pass(seen, state, &against, &reading, globals)
    }

    fn rate(&self) -> f64 {
        self.rate.unwrap_or(RATE)
    }

    fn open_against(&self) -> anyhow::Result<Vec<FilterFile>> {
        let open = |path: &PathBuf| FilterFile::open(path, &self.key_file, Check::Everything);
        self.against.iter().map(open).collect()
    }

    fn open_state(&self) -> anyhow::Result<Option<State>> {
        let Some(path) = &self.state else { return Ok(None) };
        let patience = match self.wait {
            None => Duration::ZERO,
            Some(time) => time.unwrap_or(Duration::MAX),
        };
        State::open(path, patience, &self.key_file, self.max_memory.budget()).map(Some)
    }

    /// What of a line is the key: as the files say that there are, and they must agree.
    fn rules(&self, against: &[FilterFile], state: Option<&State>) -> anyhow::Result<Rules> {
        let state = state.and_then(|state| Some((state.path(), state.notes()?)));
        let others = against.iter().map(|filter| (filter.path.as_path(), &filter.header.notes));
        let mut all = state.into_iter().chain(others);
        let of = |(path, notes)| {
            self.keys.rules_of(notes).with_context(|| std::path::Path::display(path).to_string())
        };
        let Some(first) = all.next() else { return self.keys.rules() };
        let rules = of(first)?;
        for other in all {
            if of(other)? != rules {
                return Err(refuse(
                    format!(
                        "{} and {} read keys differently",
                        first.0.display(),
                        other.0.display()
                    ),
                    "`mayhap info` tells how each is normalised and what its keys are",
                ));
            }
        }
        Ok(rules)
    }

    /// A state keeps the rate it was made with.
    fn refuse_another_rate(&self, made_for: f64) -> anyhow::Result<()> {
        match self.rate {
            Some(rate) if rate != made_for => Err(refuse(
                format!("the state was made for a rate of {made_for}, not {rate}"),
                "leave out -p, or begin a new state",
            )),
            _ => Ok(()),
        }
    }

    /// Read everything, print what is new, remember it, and sum up.
    fn pass<S: Seen>(
        &self,
        seen: S,
        state: Option<State>,
        against: &[FilterFile],
        reading: &Reading,
        globals: &Globals,
    ) -> anyhow::Result<Exit> {
        let start = Instant::now();
        let mut pass = Pass::new(self, seen, state, reading.inputs())?;
        let task = (pass.task(), Asking::new(against, None, now_ms()));
        let progress = Progress::of(reading.watch(), "dedup", true, globals);
        let read = match self.save_every {
            None => reading.run(&task, |batch| pass.take(batch)),
            // A pipe may be silent for hours, and what came before is to be saved in time.
            Some(every) => reading.run_awake(&task, every, |batch| match batch {
                Some(batch) => pass.take(batch),
                None => pass.save_if_due().map(ControlFlow::Continue),
            }),
        };
        drop(progress);
        // What was printed is remembered, even if there was trouble with what came after it.
        if read.is_ok() || read.as_ref().is_err_and(anyhow::Error::is::<KeysError>) {
            pass.finish()?;
        }
        let interrupted = read.as_ref().is_err_and(is_cancelled);
        if read.is_ok() || interrupted {
            let tally = read.as_ref().copied().unwrap_or_default();
            pass.summary(against, start.elapsed()).say(self.stats, globals);
            let became = if self.keys.prints_missing() { "printed" } else { "passed over" };
            print::without_key(tally, reading.rules(), became, globals);
        }
        read.map(|_| Exit::Yes)
    }
}

fn is_cancelled(error: &anyhow::Error) -> bool {
    error.downcast_ref::<KeysError>().is_some_and(KeysError::is_cancelled)
}

/// Whether a file to be written is one that is read.
fn is_input(path: &std::path::Path, inputs: &[Input]) -> bool {
    let Ok(file) = path.canonicalize() else { return false };
    inputs.iter().any(|input| input.path().canonicalize().is_ok_and(|input| input == file))
}
