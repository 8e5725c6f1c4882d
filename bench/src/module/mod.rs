//! The module inside servers: what commands cost the server, against `PING` in the same run.
//!
//! Times are of the server's main thread, from `INFO cpu`, so that the client beside it on the
//! same machine does not count. A machine drifts, so each round measures `PING` too, and every
//! ratio is the median of the ratios of single rounds.

mod load;
mod server;

use crate::awake::Awake;
use crate::bars::Bar;
use crate::contest::median;
use crate::page::{self, table};
use load::Load;
use server::{Make, Server};
use std::fmt::Write;
use std::path::Path;

/// What to measure.
#[derive(Clone, Copy)]
pub struct Options {
    /// Keys of the filter that fits into the caches.
    pub small: u64,
    /// Keys of the one that does not.
    pub large: u64,
    /// Commands in a round.
    pub commands: u64,
    /// Rounds.
    pub rounds: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { small: 1_000_000, large: 50_000_000, commands: 4_000, rounds: 9 }
    }
}

impl Options {
    /// To see that everything runs.
    pub fn quick() -> Options {
        Options { small: 20_000, large: 100_000, commands: 160, rounds: 3 }
    }
}

/// Ratios to `PING` at one pipeline length.
struct Row {
    what: String,
    pipeline: u64,
    /// Microseconds of the server a command.
    micros: f64,
    ratio: f64,
}

struct Findings {
    make: Make,
    version: String,
    rows: Vec<Row>,
    bits_per_key: f64,
    grown_over_reserved: f64,
}

impl Findings {
    fn ratio(&self, what: &str) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.what == what && row.pipeline == 16);
        row.map(|row| row.ratio)
    }

    fn bars(&self) -> Vec<Bar> {
        let at = |what, bar| Bar::at_most(format!("{what}, against PING"), bar, self.ratio(what));
        vec![
            at("EXISTS, in cache", 1.3),
            at("MEXISTS of 100, in cache", 11.0),
            at("MEXISTS of 100, out of cache", 22.0),
            at("MADD of 100 known, out of cache", 26.0),
            Bar::at_most(
                "MEXISTS of 100, grown from 1000, against reserved",
                1.5,
                Some(self.grown_over_reserved),
            ),
            Bar {
                what: "bits a key, grown from 1000".to_owned(),
                bar: "≤ 16".to_owned(),
                reached: format!("{:.2}", self.bits_per_key),
                ok: Some(self.bits_per_key <= 16.0),
            },
        ]
    }
}

/// Measure on every server there is, and write the part of the page unless it is a quick run.
pub fn run(options: Options, docs: &Path) -> Result<(), String> {
    let _awake = Awake::keep();
    let makes: Vec<Make> =
        [Make::Redis, Make::Valkey].into_iter().filter(|make| make.is_there()).collect();
    if makes.is_empty() {
        return Err(
            "neither redis-server nor Valkey is here: `cargo xtask test` installs them".into()
        );
    }
    let mut text = "## Inside Redis and Valkey\n\n\
        Written by `cargo xtask bench module`. Microseconds are of the server's main thread for one\n\
        command, and the ratio is to `PING` at the same pipeline length in the same rounds.\n\
        One connection; the processors are kept awake.\n"
        .to_owned();
    for make in makes {
        let findings = measure(make, options)?;
        let part = told(&findings);
        println!("{part}");
        text += &part;
    }
    if options.large >= Options::default().large {
        page::write_part(docs, page::MODULE, &text)
            .map_err(|error| format!("writing the page: {error}"))?;
    }
    Ok(())
}

fn told(findings: &Findings) -> String {
    let mut text = format!("\n### {:?} {}\n\n", findings.make, findings.version);
    let bars = findings.bars().into_iter().map(|bar| {
        let ok = bar.ok.map_or("not run", |ok| if ok { "ok" } else { "missed" });
        vec![bar.what, bar.bar, bar.reached, ok.to_owned()]
    });
    text += &table(&["bar, at pipeline 16", "at most", "reached", ""], &bars.collect::<Vec<_>>());
    text.push('\n');
    let rows = findings.rows.iter().map(|row| {
        let micros = format!("{:.2}", row.micros);
        vec![row.what.clone(), row.pipeline.to_string(), micros, format!("{:.2}", row.ratio)]
    });
    let head = ["command", "pipeline", "µs of the server", "× PING"];
    _ = write!(text, "{}", table(&head, &rows.collect::<Vec<_>>()));
    text
}

fn measure(make: Make, options: Options) -> Result<Findings, String> {
    let Options { small, large, commands, rounds } = options;
    let server = Server::start(make)?;
    let mut load = Load::connect(&server)?;
    for (key, capacity, extra) in [
        ("small", small, ""),
        ("small-compat", small, "COMPAT"),
        ("large", large, ""),
        ("large-compat", large, "COMPAT"),
        ("grown", 1000, ""),
    ] {
        load.say(&format!("BF.RESERVE {key} 0.01 {capacity} {extra}"))?;
        load.fill(key, if key == "grown" { small } else { capacity })?;
        eprintln!("{make:?}: {key} filled");
    }
    let mut rows = Vec::new();
    let mut row = |load: &mut Load,
                   what: &str,
                   command: &str,
                   key: &str,
                   keys: u64,
                   of: u64,
                   pipelines: &[u64]| {
        for pipeline in pipelines {
            let (mut micros, mut ratios) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                let count = commands / if of > 1 { 4 } else { 1 };
                let ping = load.cost("PING", "", 0, 0, commands, *pipeline)?;
                let cost = load.cost(command, key, keys, of, count, *pipeline)?;
                micros.push(cost);
                ratios.push(cost / ping);
            }
            let (micros, ratio) = (median(micros).unwrap_or(0.0), median(ratios).unwrap_or(0.0));
            rows.push(Row { what: what.to_owned(), pipeline: *pipeline, micros, ratio });
        }
        Ok::<(), String>(())
    };
    let all = &[1, 16, 64][..];
    for (name, suffix) in [("", ""), (", COMPAT", "-compat")] {
        let (near, far) = (format!("small{suffix}"), format!("large{suffix}"));
        row(&mut load, &format!("EXISTS, in cache{name}"), "BF.EXISTS", &near, small, 1, all)?;
        row(&mut load, &format!("ADD of known, in cache{name}"), "BF.ADD", &near, small, 1, all)?;
        for (what, key, keys) in [("in cache", &near, small), ("out of cache", &far, large)] {
            let told = format!("MEXISTS of 100, {what}{name}");
            row(&mut load, &told, "BF.MEXISTS", key, keys, 100, all)?;
            let told = format!("MADD of 100 known, {what}{name}");
            row(&mut load, &told, "BF.MADD", key, keys, 100, all)?;
        }
    }
    // Strangers must be looked for in every layer.
    let mut grown = Vec::new();
    for _ in 0..rounds {
        let count = commands / 4;
        let reserved = load.cost("BF.MEXISTS", "small", 0, 100, count, 16)?;
        grown.push(load.cost("BF.MEXISTS", "grown", 0, 100, count, 16)? / reserved);
    }
    let bytes = load.info_number("BF.INFO grown SIZE")?;
    let version = load.version()?;
    Ok(Findings {
        make,
        version,
        rows,
        bits_per_key: bytes as f64 * 8.0 / small as f64,
        grown_over_reserved: median(grown).unwrap_or(0.0),
    })
}
