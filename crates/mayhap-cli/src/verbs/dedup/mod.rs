//! `mayhap dedup [INPUT…]`.

mod capacity;
mod output;
mod pass;
mod set;
mod state;
mod summary;

use crate::budget::MaxMemory;
use crate::clock::now_ms;
use crate::create_args::{WindowSpan, window_span};
use crate::exit::{Exit, error_with_hint, is_broken_pipe, report, with_hint};
use crate::files::Files;
use crate::filter_args::KeyFile;
use crate::globals::Globals;
use crate::key_args::{KeyArgs, reading};
use crate::manual;
use crate::numbers::{self, grouped, human_duration, percent, plural};
use crate::print;
use crate::progress::Progress;
use crate::signals::stop_on_signal;
use crate::usage;
use anyhow::Context;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use mayhap::AnyFilter;
use mayhap::window::Moment;
use mayhap_store::dedup::DEFAULT_FPR;
use mayhap_store::text::{ExtractRules, Input, KeyReader, KeysError, ProgressAndCancel};
use mayhap_store::{Filter, Lookup, OpenError, Query};
use output::{InPlace, Output};
use pass::{End, Pass};
use set::{Exact, FilterSet, Seen};
use state::{Begun, Found, State};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MANUAL: &str = "\
EXAMPLES:
  mayhap dedup urls.txt > new.txt           first occurrences, in order
  mayhap dedup --in-place urls.txt          the file itself, replaced in one step
  crawl | mayhap dedup --state seen.may     only lines that no earlier run has printed
  mayhap dedup --exact --state seen.max -o new.txt urls.txt
  kill -USR1 PID                            print the progress of a running one

EXIT STATUS:
  0    all lines were read, and what is new was written
  2    an error, reported on standard error; the state has exactly the lines that were printed,
       unless the state itself could not be saved: then they are printed again next time
  130  interrupted by a signal; the state has the lines that were printed
  141  the reader of standard output has exited, as in `| head`; the state has the lines that were
       printed. There is no message, as usual for SIGPIPE
With -o and --in-place nothing is written before the end: unless the exit status is 0, the files
are unchanged, and the state has no new lines.";

/// Print each line the first time it is seen.
///
/// Lines are printed unchanged and in input order. No line is printed twice. A new line is
/// mistaken for a repeat with a probability of at most --fpr, one in a million by default; the
/// summary reports the expected number, and --exact makes it zero. A run that would exceed that
/// probability, for example because a state is full, ends with an error first.
///
/// Files are replaced atomically (-o, --in-place, --dupes, --state); pipes and devices are written
/// as lines arrive. The same file cannot be read and written in one run, under whatever name.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::FILTER_FILES))]
pub struct Dedup {
    /// Probability of mistaking a new line for a repeat [default: 1e-6]
    #[arg(short = 'p', long, alias = "rate", value_name = "RATE", value_parser = numbers::rate)]
    fpr: Option<f64>,

    /// Expected number of distinct lines. Without it files are read twice, first to count, and
    /// lines from a pipe make the filter grow
    #[arg(short = 'n', long = "keys", value_name = "KEYS", value_parser = numbers::count)]
    expect: Option<u64>,

    /// No false positives: keep 128-bit hashes of all lines, 20 bytes each instead of four. With
    /// --state they are kept in a file, 16 bytes each. They are not keyed: whoever chooses the
    /// lines can construct two with the same hash
    #[arg(long, conflicts_with_all = ["fpr", "window"])]
    exact: bool,

    /// Write the lines to this file instead of standard output. A regular file is replaced
    /// atomically at the end
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace each input by its new lines, atomically at the end; mode and owner are kept. A line
    /// of an earlier input is left out of later ones. A file that changes meanwhile, or has no
    /// repeats, stays unchanged; other hard links keep the old lines
    #[arg(long, conflicts_with = "output")]
    in_place: bool,

    /// Filter that remembers what was seen from run to run; created if it does not exist. It
    /// grows; one made by `build` that cannot grow ends the run with an error when it is full
    #[arg(long, value_name = "FILE", value_parser = crate::paths::file())]
    state: Option<PathBuf>,

    /// Accept a state whose keys were whole lines, or came from another field, column or JSON
    /// value: they are the same keys
    #[arg(long, requires = "state")]
    mixed_keys: bool,

    /// Also save the state at this interval, not only at the end
    #[arg(long, value_name = "TIME", value_parser = numbers::duration, requires = "state")]
    save_every: Option<Duration>,

    /// Wait for another writer of the state to end; with a time, at most that long
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, requires = "state")]
    #[arg(value_parser = numbers::duration)]
    wait: Option<Option<Duration>>,

    /// Also write the repeats, to this file. A regular file is replaced atomically at the end
    #[arg(long, value_name = "FILE", conflicts_with = "invert", value_parser = crate::paths::file())]
    dupes: Option<PathBuf>,

    /// Lines that may be in this filter count as seen. Can be repeated
    #[arg(long, value_name = "FILTER", value_parser = crate::paths::file())]
    against: Vec<PathBuf>,

    /// Print the repeats instead
    #[arg(long)]
    invert: bool,

    /// Print each line up to this many times
    #[arg(long, value_name = "K", default_value_t = 1)]
    #[arg(value_parser = RangedU64ValueParser::<u32>::new().range(1..=1000))]
    max_repeat: u32,

    /// Forget: a line is a repeat only within so many lines (10M), or such a time (1h), after it last
    /// came; a time needs -n, the distinct lines to expect in it. Lines are forgotten a quarter of
    /// the window at a time. 10M: a line that came among the last 10M lines of the input is a repeat,
    /// and one since which 12.5M different lines have come is new. 1h: a repeat for an hour at
    /// least, and for 75 minutes at most
    #[arg(long, value_name = "KEYS|TIME", value_parser = window_span)]
    window: Option<WindowSpan>,

    /// Print more statistics at the end
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
        loop {
            match self.run_once(globals) {
                // Nothing was read for good or printed yet: whoever waits has the next turn.
                Err(error) if error.is::<Begun>() && self.wait.is_some() => {}
                Err(error) if error.is::<Begun>() => {
                    return Err(with_hint(
                        error,
                        "run it again; --wait waits for the other to end",
                    ));
                }
                done => return done,
            }
        }
    }

    fn run_once(&self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help("dedup")) };
        self.check_files(&inputs)?;
        if self.in_place && self.keys.drops_missing() {
            return Err(error_with_hint(
                "--in-place with --on-missing skip would delete the lines without a key",
                "leave out --on-missing to keep them, or write elsewhere with -o",
            ));
        }
        let in_place = if self.in_place { Some(InPlace::new(&inputs)?) } else { None };
        let against = self.open_against()?;
        let mut state = self.open_state()?;
        let rules = self.rules(&against, state.as_ref())?;
        if let Some(state) = state.as_ref().filter(|_| !self.mixed_keys) {
            state.check_keys_from(&rules)?;
        }
        let reading = reading(inputs, &rules, globals);
        stop_on_signal(reading.progress());
        if self.exact {
            let seen = match state.as_mut().and_then(State::take) {
                Some(Found::Exact(set)) => Exact::from_set(set, self.max_memory),
                _ => Exact::new(self.room(&reading, globals)?.keys(), self.max_memory)?,
            };
            return self.pass(seen, state, in_place, &against, &reading, globals);
        }
        let filter = match state.as_mut().and_then(State::take) {
            Some(Found::Filter(filter)) => {
                self.refuse_another_make(&filter)?;
                filter
            }
            _ => self.room(&reading, globals)?.filter(self)?,
        };
        let seen = FilterSet::new(filter, self.max_memory)?;
        self.pass(seen, state, in_place, &against, &reading, globals)
    }

    /// Nothing that is read may be written over, and no file be two outputs; and what cannot be
    /// opened is told before anything is made or changed.
    fn check_files(&self, inputs: &[Input]) -> anyhow::Result<()> {
        let mut files = Files::new();
        if self.in_place {
            for input in inputs {
                files = files.writes("--in-place", input.path());
            }
        } else {
            files = files.reads(inputs);
        }
        for path in self.against.iter().chain(self.key_file.named()) {
            files = files.reads_path(path);
        }
        let flags = [("--output", self.output()), ("--dupes", self.dupes.as_deref())];
        for (flag, path) in flags.into_iter().chain([("--state", self.state.as_deref())]) {
            files = path.into_iter().fold(files, |files, path| files.writes(flag, path));
        }
        if self.output().is_none() && !self.in_place {
            files = files.writes_stdout();
        }
        files.check()?;
        for input in inputs.iter().filter(|input| input.is_rereadable()) {
            let path = input.path();
            std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        }
        Ok(())
    }

    /// The file that lines go to; `-` is standard output.
    fn output(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }

    fn open_output(
        &self,
        in_place: Option<InPlace>,
        watch: &Arc<ProgressAndCancel>,
    ) -> anyhow::Result<Output> {
        let output = match (in_place, self.output()) {
            (Some(files), _) => Output::InPlace(files),
            (None, Some(path)) => Output::open(path, watch)?,
            (None, None) => Output::stdout(watch)?,
        };
        if self.save_every.is_some() && !output.is_stream() {
            return Err(error_with_hint(
                "--save-every: the lines are in no file before the end, and a state saved before \
                 would have lines that a crash could lose",
                "leave out --save-every, or send the lines to standard output",
            ));
        }
        Ok(output)
    }

    fn rate(&self) -> f64 {
        self.fpr.unwrap_or(DEFAULT_FPR)
    }

    fn open_against(&self) -> Result<Vec<Filter>, OpenError> {
        let options = self.key_file.options();
        self.against.iter().map(|path| Filter::open(path, &options)).collect()
    }

    fn open_state(&self) -> anyhow::Result<Option<State>> {
        let Some(path) = &self.state else { return Ok(None) };
        let patience = match self.wait {
            None => Duration::ZERO,
            Some(time) => time.unwrap_or(Duration::MAX),
        };
        let budget = self.max_memory.budget();
        State::open(path, patience, self.exact, &self.key_file.options(), budget).map(Some)
    }

    /// What of a line is the key: as the files say that there are, and they must agree.
    fn rules(&self, against: &[Filter], state: Option<&State>) -> anyhow::Result<ExtractRules> {
        let state = state.and_then(|state| Some((state.path(), state.metadata()?)));
        let state = state.map(|(path, metadata)| {
            let rules = self.keys.rules_of(metadata).with_context(|| path.display().to_string());
            rules.map(|rules| (path, rules))
        });
        let others = against.iter().map(|filter| Ok((filter.path(), self.keys.rules_for(filter)?)));
        let all = state.into_iter().chain(others).collect::<anyhow::Result<Vec<_>>>()?;
        let [(path, rules), others @ ..] = all.as_slice() else { return self.keys.new_rules() };
        if let Some((other, _)) = others.iter().find(|(_, other)| other != rules) {
            return Err(error_with_hint(
                format!("{} and {} read keys differently", path.display(), other.display()),
                "`mayhap info` tells how each is normalised and what its keys are",
            ));
        }
        Ok(rules.clone())
    }

    /// A state keeps the rate and the window it was made with, and must be able to keep the rate.
    fn refuse_another_make(&self, state: &AnyFilter) -> anyhow::Result<()> {
        let made_for = state.fpr();
        if let Some(rate) = self.fpr.filter(|rate| *rate != made_for) {
            return Err(error_with_hint(
                format!("the state was made for a rate of {made_for}, not {rate}"),
                "leave out -p, or begin a new state",
            ));
        }
        if let Some(asked) = self.window {
            let found = match state {
                AnyFilter::Windowed(window) => match window.window().ticks() {
                    Some(ms) => Some(WindowSpan::Time(Duration::from_millis(ms))),
                    None => Some(WindowSpan::Keys(window.spec().capacity())),
                },
                _ => None,
            };
            if found != Some(asked) {
                let found = found.map_or_else(
                    || format!("without a window ({})", state.kind()),
                    |found| format!("with a window of {}", span_text(found)),
                );
                return Err(error_with_hint(
                    format!("the state was made {found}, not of {}", span_text(asked)),
                    "leave out --window, or begin a new state",
                ));
            }
        }
        if let (AnyFilter::Windowed(window), Some(expect)) = (state, self.expect) {
            let made_for = window.spec().capacity();
            if window.window().ticks().is_some() && expect > made_for {
                return Err(error_with_hint(
                    format!(
                        "the state was made for {} within its window, not {}",
                        plural(made_for, "line"),
                        grouped(expect)
                    ),
                    "leave out -n, or begin a new state",
                ));
            }
        }
        if let AnyFilter::Windowed(window) = state
            && window.window().ticks().is_none()
            && self.max_repeat > 1
        {
            return Err(error_with_hint(
                "the state has a window of a number of lines, which does not go with --max-repeat",
                "leave out --max-repeat, or begin a new state with a window of time",
            ));
        }
        let now = state.fpr_now_at(Moment::ticks(now_ms()));
        // A window may be crowded now and have room again in a while: it is asked when lines come.
        if now > 1.1 * made_for && !matches!(state, AnyFilter::Windowed(_)) {
            return Err(error_with_hint(
                format!(
                    "the state is overfull: {} of new lines would be taken for repeats, {} was \
                     asked for when it was made",
                    percent(now),
                    percent(made_for)
                ),
                "begin a new state; --against OLD would go on taking new lines for repeats as often",
            ));
        }
        Ok(())
    }

    /// Read everything, print what is new, remember it, and sum up.
    fn pass<S: Seen>(
        &self,
        seen: S,
        mut state: Option<State>,
        in_place: Option<InPlace>,
        against: &[Filter],
        reading: &KeyReader,
        globals: &Globals,
    ) -> anyhow::Result<Exit> {
        let start = Instant::now();
        let output = self.open_output(in_place, reading.progress())?;
        let dupes = self.dupes.as_deref().map(|path| Output::open(path, reading.progress()));
        let dupes = dupes.transpose()?;
        if let Some(state) = &mut state {
            state.create(&seen, reading.rules())?;
        }
        let delimiter = reading.rules().format.delimiter;
        let mut pass = Pass::new(self, seen, state, output, dupes, delimiter);
        let lookups = against.iter().map(|filter| filter as &dyn Lookup);
        let task = (pass.task(), Query::new(lookups, None, now_ms()));
        let progress = Progress::of(reading.progress(), "dedup", true, globals);
        let read = match self.save_every {
            None => reading.run(&task, |batch| pass.take(batch)),
            // A pipe may be silent for hours, and what came before is to be saved in time.
            Some(every) => reading.run_with_idle(&task, every, |batch| match batch {
                Some(batch) => pass.take(batch),
                None => pass.save_if_due().map(ControlFlow::Continue),
            }),
        };
        drop(progress);
        let interrupted = read.as_ref().is_err_and(is_cancelled);
        let end = match &read {
            Ok(_) => End::Whole,
            Err(error) if interrupted || is_broken_pipe(error) => End::CutShort,
            Err(_) => End::Failed,
        };
        if let Err(kept) = pass.finish(end) {
            return match read {
                Err(error) if end == End::Failed => {
                    let exit = report(&error);
                    report(&kept);
                    Ok(exit)
                }
                _ => Err(kept),
            };
        }
        if end == End::Whole || interrupted || pass.is_full() {
            let tally = read.as_ref().copied().unwrap_or_default();
            pass.summary(against, start.elapsed()).report(self.stats, globals);
            let became = if self.keys.prints_missing() { "printed" } else { "passed over" };
            print::without_key(tally, reading.rules(), became, globals);
        }
        read.map(|_| Exit::Yes)
    }
}

fn is_cancelled(error: &anyhow::Error) -> bool {
    error.downcast_ref::<KeysError>().is_some_and(KeysError::is_cancelled)
}

/// A window as people write it.
fn span_text(span: WindowSpan) -> String {
    match span {
        WindowSpan::Keys(keys) => plural(keys, "line"),
        WindowSpan::Time(time) => human_duration(time),
    }
}
