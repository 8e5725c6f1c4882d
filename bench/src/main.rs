//! Measurements of mayhap, side by side with its competitors: `mayhap-bench --help`.

mod alloc_counter;
mod bars;
mod baseline;
mod batches;
mod candidate;
mod cascade;
mod chart;
mod charts;
mod cli;
mod comparison;
mod competitors;
mod corpus;
mod cpu_warmer;
mod engine;
mod fill;
mod fuse;
mod hashing;
mod keys;
mod machine;
mod module;
mod ours;
mod page;
mod python_random;
mod quotient;
mod rates;
mod readme;
mod regressions;
mod report;
mod ribbon;
mod scale;
mod seen;
mod splitmix;
mod targets;
mod threads;
mod urls;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure mayhap beside its competitors
#[derive(Parser)]
struct Bench {
    #[command(subcommand)]
    what: What,

    /// Where BENCHMARKS.md is
    #[arg(long, global = true, value_name = "DIR", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs"))]
    docs: PathBuf,
}

#[derive(Subcommand)]
enum What {
    /// Every kind beside competing crates
    Engine(engine::Options),
    /// The quotient filter beside competing crates
    Quotient {
        /// Fewer sizes and rounds
        #[arg(long)]
        quick: bool,
    },
    /// Ribbon beside Fuse and xorf's filters
    Ribbon {
        /// One size and fewer rounds
        #[arg(long)]
        quick: bool,
    },
    /// The command beside other programs
    Cli(cli::Options),
    /// Billions of keys
    Scale(scale::Options),
    /// Two lists told apart
    Cascade(cascade::Options),
    /// Seen lists beside what people keep in Redis
    Seen(seen::Options),
    /// What commands cost Redis and Valkey
    Module(module::Options),
    /// What commands of `CF.*` cost Redis
    Cuckoo(module::cuckoo::Options),
    /// Draw the README's two charts again from BENCHMARKS.md
    Readme,
    /// Write the files of URLs that `cli` reads
    Urls {
        /// Where they go
        dir: PathBuf,
        /// Lines of each
        #[arg(default_value = "1e7", value_parser = number)]
        lines: u64,
        /// Of the random choices
        #[arg(default_value_t = urls::SEED)]
        seed: u64,
    },
    /// Keep the processors awake as long as the parent lives
    #[command(name = cpu_warmer::VERB, hide = true)]
    KeepAwake,
}

fn main() -> ExitCode {
    let Bench { what, docs } = Bench::parse();
    let page = |error: std::io::Error| format!("writing the page: {error}");
    let outcome = match what {
        What::Engine(options) => engine::run(options, &docs).map_err(page),
        What::Quotient { quick } => quotient::run(quick, &docs),
        What::Ribbon { quick } => {
            ribbon::run(quick);
            Ok(())
        }
        What::Cli(options) => cli::run(options, &docs).map_err(|error| error.to_string()),
        What::Scale(options) => scale::run(options, &docs).map_err(page),
        What::Cascade(options) => cascade::run(options, &docs),
        What::Seen(options) => seen::run(options, &docs),
        What::Module(options) => module::run(options, &docs),
        What::Cuckoo(options) => module::cuckoo::run(options, &docs),
        What::Readme => {
            readme::write(&docs).map_err(|error| format!("drawing the charts: {error}"))
        }
        What::Urls { dir, lines, seed } => {
            corpus::write(&dir, lines, seed).map_err(|error| format!("{}: {error}", dir.display()))
        }
        What::KeepAwake => {
            cpu_warmer::spin();
            Ok(())
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// A whole number, plain or as `2e9`.
fn number(text: &str) -> Result<u64, String> {
    let plain = text.parse().ok();
    let float = || text.parse::<f64>().ok().filter(|x| (1.0..1e18).contains(x)).map(|x| x as u64);
    plain.or_else(float).ok_or_else(|| format!("{text}: not a number, as 5000 or 2e9"))
}
