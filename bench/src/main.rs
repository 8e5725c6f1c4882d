//! Measurements of mayhap, side by side with its competitors.
//!
//! ```text
//! mayhap-bench engine [--quick] [--all] [--only 1e5|5e6|1e8] [--docs DIR]
//! mayhap-bench quotient [--quick]
//! mayhap-bench cli    [--quick] [--lines 1e7] [--rounds 5] [--docs DIR]
//! mayhap-bench scale  [--keys 2e9] [--threads 2] [--probes 1e8] [--docs DIR]
//! mayhap-bench cascade [--included 1e7] [--excluded 1e8] [--hashes 16e6] [--docs DIR]
//! mayhap-bench seen   [--owners 1e5] [--ids 200] [--candidates 1000] [--turns 2000] [--docs DIR]
//! mayhap-bench module [--quick yes] [--large KEYS] [--rounds N] [--docs DIR]
//! mayhap-bench readme
//! mayhap-bench urls OUTDIR [LINES] [SEED]
//! ```

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
mod mersenne;
mod module;
mod ours;
mod page;
mod quotient;
mod rates;
mod readme;
mod regressions;
mod report;
mod scale;
mod seen;
mod splitmix;
mod targets;
mod threads;
mod urls;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: mayhap-bench engine [--quick] [--all] [--only 1e5|5e6|1e8] [--docs DIR]
       mayhap-bench quotient [--quick]
       mayhap-bench cli [--quick] [--lines 1e7] [--rounds 5] [--docs DIR]
       mayhap-bench scale [--keys 2e9] [--threads 2] [--probes 1e8] [--docs DIR]
       mayhap-bench cascade [--included 1e7] [--excluded 1e8] [--hashes 16e6] [--docs DIR]
       mayhap-bench seen [--owners 1e5] [--ids 200] [--candidates 1000] [--turns 2000] [--docs DIR]
       mayhap-bench module [--quick yes] [--large KEYS] [--rounds N] [--docs DIR]
       mayhap-bench readme
       mayhap-bench urls OUTDIR [LINES=10000000] [SEED=20261115]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((verb, rest)) if verb == "engine" => engine(rest),
        Some((verb, rest)) if verb == "quotient" => quotient(rest),
        Some((verb, rest)) if verb == "cli" => cli(rest),
        Some((verb, rest)) if verb == "scale" => scale(rest),
        Some((verb, rest)) if verb == "cascade" => cascade(rest),
        Some((verb, rest)) if verb == "seen" => seen(rest),
        Some((verb, rest)) if verb == "module" => module(rest),
        Some((verb, rest)) if verb == "urls" => urls(rest),
        Some((verb, [])) if verb == "readme" => {
            readme::write(&docs()).map_err(|error| format!("drawing the charts: {error}"))
        }
        Some((verb, _)) if verb == cpu_warmer::VERB => {
            cpu_warmer::spin();
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn engine(arguments: &[String]) -> Result<(), String> {
    let mut options = engine::Options::default();
    let mut docs = docs();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--all" => options.all = true,
            "--only" => options.only = Some(number(value(argument, rest.next())?)?),
            "--docs" => docs = PathBuf::from(value(argument, rest.next())?),
            _ => return Err(format!("{argument}: unknown\n{USAGE}")),
        }
    }
    engine::run(options, &docs).map_err(|error| format!("writing the page: {error}"))
}

fn quotient(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => quotient::run(false),
        [quick] if quick == "--quick" => quotient::run(true),
        [other, ..] => return Err(format!("{other}: unknown\n{USAGE}")),
    }
    Ok(())
}

fn cli(arguments: &[String]) -> Result<(), String> {
    let mut options = cli::Options::default();
    let mut docs = docs();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--quick" => options = cli::Options::quick(),
            "--lines" => options.lines = number(value(argument, rest.next())?)?.max(10),
            "--rounds" => options.rounds = number(value(argument, rest.next())?)? as usize,
            "--docs" => docs = PathBuf::from(value(argument, rest.next())?),
            _ => return Err(format!("{argument}: unknown\n{USAGE}")),
        }
    }
    cli::run(options, &docs).map_err(|error| error.to_string())
}

fn scale(arguments: &[String]) -> Result<(), String> {
    let mut options = scale::Options::default();
    let mut docs = docs();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let given = value(argument, rest.next())?;
        match argument.as_str() {
            "--keys" => options.keys = number(given)?,
            "--threads" => options.threads = number(given)?.clamp(1, 1024),
            "--probes" => options.probes = number(given)?,
            "--docs" => docs = PathBuf::from(given),
            _ => return Err(format!("{argument}: unknown\n{USAGE}")),
        }
    }
    scale::run(options, &docs).map_err(|error| format!("writing the page: {error}"))
}

fn cascade(arguments: &[String]) -> Result<(), String> {
    let mut options = cascade::Options::default();
    let mut docs = docs();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let given = value(argument, rest.next())?;
        match argument.as_str() {
            "--included" => options.included = number(given)?,
            "--excluded" => options.excluded = number(given)?,
            "--hashes" => options.max_hashes = number(given)?,
            "--docs" => docs = PathBuf::from(given),
            _ => return Err(format!("{argument}: unknown\n{USAGE}")),
        }
    }
    cascade::run(options, &docs)
}

fn seen(arguments: &[String]) -> Result<(), String> {
    let mut options = seen::Options::default();
    let mut docs = docs();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let given = value(argument, rest.next())?;
        match argument.as_str() {
            "--owners" => options.owners = number(given)?,
            "--ids" => options.ids = number(given)?,
            "--candidates" => options.candidates = number(given)?,
            "--turns" => options.turns = number(given)?,
            "--docs" => docs = PathBuf::from(given),
            _ => return Err(format!("{argument}: unknown\n{USAGE}")),
        }
    }
    seen::run(options, &docs)
}

fn module(arguments: &[String]) -> Result<(), String> {
    let (mut options, mut docs) = (module::Options::default(), docs());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let given = value(argument, rest.next())?;
        match argument.as_str() {
            "--quick" => options = module::Options::quick(),
            "--large" => options.large = number(given)?,
            "--rounds" => options.rounds = number(given)?,
            "--docs" => docs = PathBuf::from(given),
            _ => return Err(format!("{argument}: unknown\n{USAGE}")),
        }
    }
    module::run(options, &docs)
}

fn urls(arguments: &[String]) -> Result<(), String> {
    let dir = arguments.first().ok_or(USAGE)?;
    let given = |at: usize, default| arguments.get(at).map_or(Ok(default), |text| number(text));
    let (lines, seed) = (given(1, 10_000_000)?, given(2, urls::SEED)?);
    corpus::write(Path::new(dir), lines, seed).map_err(|error| format!("{dir}: {error}"))
}

/// The documents of this workspace.
fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

fn value<'a>(name: &str, given: Option<&'a String>) -> Result<&'a str, String> {
    given.map(String::as_str).ok_or_else(|| format!("{name}: needs a value\n{USAGE}"))
}

/// A whole number, plain or as `2e9`.
fn number(text: &str) -> Result<u64, String> {
    let plain = text.parse().ok();
    let float = || text.parse::<f64>().ok().filter(|x| (1.0..1e18).contains(x)).map(|x| x as u64);
    plain.or_else(float).ok_or_else(|| format!("{text}: not a number\n{USAGE}"))
}
