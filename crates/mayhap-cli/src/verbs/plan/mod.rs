//! `mayhap plan`.

mod ask;
mod show;

use crate::exit::{Exit, Hint, refuse};
use crate::globals::Globals;
use crate::kind::{GENERATIONS, KindArg};
use crate::numbers;
use crate::print;
use ask::Ask;
use clap::Args;

pub use ask::bound_bytes;

/// Keys, rate, memory: say two and learn the third, before anything is built.
///
/// Shows for every kind what it costs and can do, beside a hash set, a bitmap and the least that
/// any structure needs; how the rate climbs with more keys than planned; and the commands that
/// make the filter, here and in Redis. Where only one of keys and memory is given the rate is 1%.
#[derive(Args)]
pub struct Plan {
    /// Distinct keys to come: 5000, 10M, 2G, 2e9
    #[arg(short = 'n', long, value_name = "KEYS", value_parser = numbers::count)]
    keys: Option<u64>,

    /// How often a stranger may pass for a member: 1%, 0.01, 1/1000, 1e-6
    #[arg(short = 'p', long, value_name = "RATE", value_parser = numbers::rate)]
    rate: Option<f64>,

    /// Memory to spend: 64MiB, 500MB, 2GB
    #[arg(long, value_name = "SIZE", value_parser = numbers::size)]
    memory: Option<u64>,

    /// The kind to draw and to build
    #[arg(long, value_name = "KIND", default_value = "auto")]
    kind: KindArg,

    /// Parts that a windowed filter's window is cut into
    #[arg(long, value_name = "N", default_value_t = GENERATIONS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    generations: u32,
}

/// What is planned for where nobody says.
const RATE: f64 = 0.01;

impl Plan {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let ask = match (self.keys, self.rate, self.memory) {
            (Some(_), Some(_), Some(_)) => {
                return Err(refuse(
                    "keys, rate and memory were all given: any two decide the third",
                    "leave out -n, -p or --memory",
                ));
            }
            (Some(keys), None, Some(bytes)) => Ask::Rate { keys, bytes },
            (Some(keys), rate, None) => Ask::Memory { keys, fpr: rate.unwrap_or(RATE) },
            (None, rate, Some(bytes)) => Ask::Keys { fpr: rate.unwrap_or(RATE), bytes },
            (None, ..) => {
                return Err(refuse(
                    "nothing to plan: neither keys nor memory are given",
                    "say how many keys will come, as in `mayhap plan -n 10M -p 1%`, \
                     or how much memory there is: `mayhap plan --memory 64MiB`",
                ));
            }
        };
        let chosen = match self.kind {
            KindArg::Auto => KindArg::Blocked,
            KindArg::Bitmap => {
                return Err(refuse(
                    "a bitmap cannot be planned: its size depends on how close the ids are",
                    "leave out --kind to see a bitmap of 32-bit ids beside the others",
                ));
            }
            kind => kind,
        };
        let answers = ask.answers(self.generations);
        let plan = answers
            .iter()
            .find(|answer| answer.kind == chosen)
            .map_or(Err(mayhap::SpecError::Rate { got: ask.fpr() }), |answer| answer.plan)
            .hint("other numbers of keys (-n), rates (-p) or sizes (--memory) can be had")?;
        let page = show::Page { ask, chosen, plan, answers, generations: self.generations };
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
    let (ask, chosen) = (Ask::Rate { keys, bytes }, KindArg::Blocked);
    let answers = ask.answers(GENERATIONS);
    let plan = answers.iter().find(|answer| answer.kind == chosen)?.plan.ok()?;
    Some(show::Page { ask, chosen, plan, answers, generations: GENERATIONS }.summary())
}
