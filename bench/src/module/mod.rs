//! The module inside servers: the server's cost of commands, against `PING` in the same run.
//!
//! Times are of the server's main thread, from `INFO cpu`, so that the client on the same machine
//! does not count. A machine drifts, so `PING` is measured before and after everything else, and
//! every ratio is the median of the ratios of single rounds.

pub mod cuckoo;
mod load;
mod measure;
mod report;

use crate::cpu_warmer::CpuWarmer;
use crate::page;
use clap::Args;
use mayhap_testkit::Make;
use std::path::Path;

/// What to measure.
#[derive(Args, Clone, Copy)]
pub struct Options {
    /// Seconds; only to see that everything runs
    #[arg(long)]
    pub quick: bool,
    /// Keys of the filter that fits into the caches
    #[arg(long, value_parser = crate::number, default_value = "1e6", default_value_if("quick", "true", "20000"))]
    pub small: u64,
    /// Keys of the one that does not
    #[arg(long, value_parser = crate::number, default_value = "5e7", default_value_if("quick", "true", "1e5"))]
    pub large: u64,
    /// Commands in a round; of those with a hundred items, and of those sent one at a time, a
    /// quarter
    #[arg(long, value_parser = crate::number, default_value = "4000", default_value_if("quick", "true", "160"))]
    pub commands: u64,
    /// How often everything is measured
    #[arg(long, value_parser = crate::number, default_value = "21", default_value_if("quick", "true", "3"))]
    pub rounds: u64,
}

/// Keys of the large filter in a run that is written to the page.
const FULL: u64 = 50_000_000;

/// Measure on every server there is, and write the section of the page unless it is a quick run.
pub fn run(options: Options, docs: &Path) -> Result<(), String> {
    let _awake = CpuWarmer::keep();
    let makes: Vec<Make> =
        [Make::Redis, Make::Valkey9].into_iter().filter(|make| make.program().is_some()).collect();
    if makes.is_empty() {
        return Err(
            "neither redis-server nor Valkey is here: `cargo xtask test` installs them".into()
        );
    }
    let mut text = report::head(options);
    for make in makes {
        let part = report::section(&measure::measure(make, options)?);
        println!("{part}");
        text += &part;
    }
    if options.large >= FULL {
        page::write_part(docs, page::MODULE, &text)
            .map_err(|error| format!("writing the page: {error}"))?;
    }
    Ok(())
}
