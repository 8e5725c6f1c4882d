//! `mayhap plan`.

mod show;

use crate::create_args::{self, KindArg, RemovalArgs};
use crate::exit::{Exit, HintExt, error_with_hint};
use crate::globals::Globals;
use crate::manual;
use crate::numbers;
use crate::print;
use clap::Args;
use mayhap::sizing::Question;
use mayhap::window::Moment;
use mayhap::{Kind, KindSpec, SpecError, Window};
use mayhap_store::DEFAULT_FPR;
use std::time::Duration;

const MANUAL: &str = "\
EXAMPLES:
  mayhap plan -n 10M -p 1%           how much memory do ten million keys take?
  mayhap plan -n 10M --memory 8MiB   which rate in 8 MiB?
  mayhap plan -p 0.1% --memory 1GB   how many keys fit into a gigabyte?
  mayhap plan -n 1G --kind ribbon    draw another kind than the default
  mayhap plan -n 1M --growth 16      what it costs to keep 1% up to 16 million keys
  mayhap plan -n 10M --window 24h    to remember the keys of a day, ten million at most

EXIT STATUS:
  0  there is a plan
  2  an error: no filter has such numbers; reported on standard error";

/// Compute the third of keys, false-positive rate and memory from the other two, before anything
/// is built.
///
/// Shows what every kind costs and can do, compared with a hash set, a bitmap and the minimum that
/// any structure needs; how the rate rises with more keys than planned; and the commands that
/// build the filter, here and in Redis. If only keys or only memory are given, the rate is 1%.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, ""))]
pub struct Plan {
    /// Expected number of distinct keys: 5000, 10M, 2G, 2e9
    #[arg(short = 'n', long, value_name = "KEYS", value_parser = numbers::count)]
    keys: Option<u64>,

    /// False-positive rate, e.g. 1% or 0.001
    #[arg(short = 'p', long, alias = "rate", value_name = "RATE", value_parser = numbers::rate)]
    fpr: Option<f64>,

    /// Memory to use: 64MiB, 500MB, 2GB
    #[arg(long, value_name = "SIZE", value_parser = numbers::size)]
    memory: Option<u64>,

    /// The kind to draw, and to build in the commands shown
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = create_args::kind())]
    kind: KindArg,

    #[command(flatten)]
    removal: RemovalArgs,

    /// Plan a windowed filter that remembers so long: -n keys at most come in that time. Without it
    /// windows are of a number of keys
    #[arg(long, value_name = "TIME", value_parser = numbers::duration)]
    window: Option<Duration>,

    /// Number of parts that a windowed filter's window is divided into
    #[arg(long, value_name = "N", default_value_t = KindSpec::GENERATIONS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    generations: u32,
}

impl Plan {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let ask = match (self.keys, self.fpr, self.memory) {
            (Some(_), Some(_), Some(_)) => {
                return Err(error_with_hint(
                    "keys, rate and memory were all given: any two decide the third",
                    "leave out -n, -p or --memory",
                ));
            }
            (Some(keys), None, Some(bytes)) => Question::Rate { keys, bytes },
            (Some(keys), fpr, None) => Question::Memory { keys, fpr: fpr.unwrap_or(DEFAULT_FPR) },
            (None, fpr, Some(bytes)) => Question::Keys { fpr: fpr.unwrap_or(DEFAULT_FPR), bytes },
            (None, ..) => {
                return Err(error_with_hint(
                    "nothing to plan: neither keys nor memory are given",
                    "say how many keys will come, as in `mayhap plan -n 10M -p 1%`, \
                     or how much memory there is: `mayhap plan --memory 64MiB`",
                ));
            }
        };
        self.removal.check(self.kind)?;
        self.removal.warn(self.kind, self.fpr, globals);
        if let Some(kind) = self.kind.0.filter(|kind| *kind != Kind::Windowed)
            && self.window.is_some()
        {
            return Err(error_with_hint(
                format!("--window: a {kind} filter forgets nothing"),
                "--kind windowed does",
            ));
        }
        if self.window.is_some() && self.removal.are_given() {
            return Err(error_with_hint(
                "--deletes and --growth: a windowed filter forgets by itself",
                "leave them out, or --window",
            ));
        }
        let span = self.window.map_or(u64::MAX, |time| Moment::from(time).to_ticks());
        if span < self.generations.into() {
            return Err(SpecError::Window { generations: self.generations, span }.into());
        }
        let chosen = match self.kind.0 {
            None if self.window.is_some() => Kind::Windowed,
            None if self.removal.are_given() => Kind::Quotient,
            None => Kind::Blocked,
            Some(Kind::Bitmap) => {
                return Err(error_with_hint(
                    "a bitmap cannot be planned: its size depends on how close the ids are",
                    "leave out --kind to see a bitmap of 32-bit ids beside the others",
                ));
            }
            Some(Kind::Cascade) => {
                return Err(error_with_hint(
                    "a cascade cannot be planned from one number of keys: it has two lists",
                    "at 1% it takes 8 bits for each key to include, and a little more the longer the other list is",
                ));
            }
            Some(kind) => kind,
        };
        let as_asked = |(kind, plan)| match (kind, self.window) {
            (KindSpec::Quotient { .. }, _) => {
                let kind = self.removal.spec();
                (kind, ask.plan(kind))
            }
            (KindSpec::Windowed(_), Some(time)) => {
                let kind = KindSpec::Windowed(Window::time(time, self.generations));
                (kind, ask.plan(kind))
            }
            (kind, _) => (kind, plan),
        };
        let answers: Vec<_> = ask.compare(self.generations).map(as_asked).collect();
        let plan = answers
            .iter()
            .find(|(kind, _)| kind.kind() == chosen)
            .map_or(Err(SpecError::Rate { got: ask.bound().1 }), |(_, plan)| *plan)
            .hint("other numbers of keys (-n), rates (-p) or sizes (--memory) can be had")?;
        let (generations, window) = (self.generations, self.window);
        let page = show::PlanReport { ask, chosen, plan, answers, generations, window };
        if globals.json {
            print::json(&page.json())?;
        } else {
            print::out(&page.text())?;
        }
        Ok(Exit::Yes)
    }
}

/// What so much memory can do for so many keys, in a table: for whoever asked for more of it than
/// there is.
pub fn table_for(keys: u64, bytes: u64) -> Option<String> {
    let (ask, chosen) = (Question::Rate { keys, bytes }, Kind::Blocked);
    let answers: Vec<_> = ask.compare(KindSpec::GENERATIONS).collect();
    let plan = answers.iter().find(|(kind, _)| kind.kind() == chosen)?.1.ok()?;
    let generations = KindSpec::GENERATIONS;
    Some(show::PlanReport { ask, chosen, plan, answers, generations, window: None }.summary())
}
