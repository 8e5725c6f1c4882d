//! The module inside servers: the server's cost of commands, against `PING` in the same run.
//!
//! Times are of the server's main thread, from `INFO cpu`, so that the client on the same machine
//! does not count. A machine drifts, so `PING` is measured before and after everything else, and
//! every ratio is the median of the ratios of single rounds.

mod load;
mod measure;
mod report;
mod server;

use crate::cpu_warmer::CpuWarmer;
use crate::page;
use server::Make;
use std::path::Path;

/// What to measure.
#[derive(Clone, Copy)]
pub struct Options {
    /// Keys of the filter that fits into the caches.
    pub small: u64,
    /// Keys of the one that does not.
    pub large: u64,
    /// Commands in a round; of those with a hundred items, and of those sent one at a time, a
    /// quarter.
    pub commands: u64,
    /// Rounds.
    pub rounds: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { small: 1_000_000, large: 50_000_000, commands: 4_000, rounds: 21 }
    }
}

impl Options {
    /// To see that everything runs.
    pub fn quick() -> Options {
        Options { small: 20_000, large: 100_000, commands: 160, rounds: 3 }
    }
}

/// Measure on every server there is, and write the section of the page unless it is a quick run.
pub fn run(options: Options, docs: &Path) -> Result<(), String> {
    let _awake = CpuWarmer::keep();
    let makes: Vec<Make> =
        [Make::Redis, Make::Valkey].into_iter().filter(|make| make.is_there()).collect();
    if makes.is_empty() {
        return Err(
            "neither redis-server nor Valkey is here: `cargo xtask test` installs them".into()
        );
    }
    let mut text = report::head(options);
    for make in makes {
        let part = report::told(&measure::measure(make, options)?);
        println!("{part}");
        text += &part;
    }
    if options.large >= Options::default().large {
        page::write_part(docs, page::MODULE, &text)
            .map_err(|error| format!("writing the page: {error}"))?;
    }
    Ok(())
}
