//! `CF.*` inside servers: what single commands cost against `PING` and beside RedisBloom's, and what a
//! filter takes that grows from nothing.

use super::load::{Load, Work};
use super::measure::{Quartiles, Seen, Who, our_module, round, together};
use super::report::shown;
use crate::cpu_warmer::CpuWarmer;
use crate::page::{self, table};
use crate::report::targets_table;
use crate::targets::Target;
use clap::Args;
use mayhap_testkit::{Make, Server};
use std::path::Path;

/// What to measure.
#[derive(Args, Clone, Copy)]
pub struct Options {
    /// Seconds; only to see that everything runs
    #[arg(long)]
    pub quick: bool,
    /// Items of a filter
    #[arg(long, value_parser = crate::number, default_value = "1e6", default_value_if("quick", "true", "20000"))]
    pub items: u64,
    /// Commands in a round
    #[arg(long, value_parser = crate::number, default_value = "4000", default_value_if("quick", "true", "160"))]
    pub commands: u64,
    /// How often everything is measured
    #[arg(long, value_parser = crate::number, default_value = "31", default_value_if("quick", "true", "3"))]
    pub rounds: u64,
}

/// Items in a run that is written to the page.
const FULL: u64 = 1_000_000;

/// The commands, and the bars: against `PING` where RedisBloom is not there.
const COMMANDS: [(&str, f64); 3] = [("CF.ADD", 1.35), ("CF.EXISTS", 1.3), ("CF.DEL", 1.35)];
const PIPELINE: u64 = 16;
const FILTER: &str = "cuckoo";
/// Absent items that tell the rate.
const ASKED: u64 = 200_000;

/// One server.
struct Side {
    who: Who,
    load: Load,
    _server: Server,
}

/// A filter that nobody reserved, or only as an empty one.
struct Grown {
    what: String,
    /// Items that it took before it refused any.
    items: u64,
    bytes: u64,
    /// Share of absent items that it says may be in.
    rate: f64,
}

/// One command: the ratio to `PING` of each server, and ours to RedisBloom's.
struct Row {
    command: &'static str,
    bar: f64,
    ours: Quartiles,
    competitor: Option<Quartiles>,
    /// The median over rounds of our cost over theirs, each of them over its own `PING`.
    over: Option<f64>,
}

/// Measure on Redis, and write the section of the page unless it is a quick run.
pub fn run(options: Options, docs: &Path) -> Result<(), String> {
    let _awake = CpuWarmer::keep();
    let mut sides = vec![side(Who::Mayhap, &our_module()?, &[])?];
    let competitor = std::env::var_os("MAYHAP_REDISBLOOM");
    if let Some(module) = &competitor {
        // It refuses items after 32 sub-filters unless told otherwise.
        sides.push(side(Who::RedisBloom, module.as_ref(), &["CF_MAX_EXPANSIONS", "65535"])?);
    }
    let rows = costs(&mut sides, options)?;
    let mut grown = Vec::new();
    for side in &mut sides {
        grown.extend(from_nothing(side, options)?);
    }
    if let Some(module) = &competitor {
        let mut plain = side(Who::RedisBloom, module.as_ref(), &[])?;
        let what = "RedisBloom at its defaults".to_owned();
        grown.push(fill(&mut plain.load, what, "plain", "", options)?);
    }
    let text = text(&rows, &grown, &sides[0].load.version()?, options);
    println!("{text}");
    if options.items < FULL {
        return Ok(());
    }
    page::write_part(docs, page::CUCKOO, &text)
        .map_err(|error| format!("writing the page: {error}"))
}

fn side(who: Who, module: &Path, arguments: &[&str]) -> Result<Side, String> {
    let module = module.display().to_string();
    let words = ["--loadmodule", &module].into_iter().chain(arguments.iter().copied());
    let words: Vec<String> = words.map(str::to_owned).collect();
    let server = Server::launch(Make::Redis, &words)?;
    Ok(Side { who, load: Load::connect(&server)?, _server: server })
}

/// Each command on each server in turn, between two `PING`s. What is added is deleted again.
fn costs(sides: &mut [Side], options: Options) -> Result<Vec<Row>, String> {
    let Options { items, rounds, commands, .. } = options;
    for side in sides.iter_mut() {
        side.load.say(&format!("CF.RESERVE {FILTER} {}", items + items / 4))?;
        side.load.fill(&["CF.INSERT", FILTER, "ITEMS"], items)?;
        eprintln!("{:?}: filled", side.who);
    }
    let mut seen: Vec<Vec<Seen>> = COMMANDS.map(|_| Vec::new()).into();
    for _ in 0..rounds {
        for ((command, _), seen) in COMMANDS.into_iter().zip(&mut seen) {
            for side in sides.iter_mut() {
                let work = Work { command, key: FILTER.to_owned(), members: items, items: 1 };
                round(&mut side.load, &[(side.who, work)], commands, PIPELINE, seen)?;
            }
        }
    }
    let row = |((command, bar), seen): ((&'static str, f64), Vec<Seen>)| {
        let of = |who| seen.iter().filter(move |seen| seen.who == who).map(Seen::over_ping);
        let over = of(Who::Mayhap).zip(of(Who::RedisBloom)).map(|(ours, theirs)| ours / theirs);
        Some(Row {
            command,
            bar,
            ours: together(Who::Mayhap, &seen)?.ratio,
            competitor: together(Who::RedisBloom, &seen).map(|cost| cost.ratio),
            over: Quartiles::of(over).map(|over| over.median),
        })
    };
    COMMANDS.into_iter().zip(seen).map(row).collect::<Option<_>>().ok_or("no rounds".into())
}

/// The filters that an add creates, and those of RedisBloom that grow by doubling.
fn from_nothing(side: &mut Side, options: Options) -> Result<Vec<Grown>, String> {
    if side.who == Who::Mayhap {
        let what = "Mayhap at its defaults".to_owned();
        return Ok(vec![fill(&mut side.load, what, "grown", "", options)?]);
    }
    let (doubling, more) = ("CF.RESERVE doubling 1024 EXPANSION 2", "CF.RESERVE large 1024");
    Ok(vec![
        fill(&mut side.load, format!("RedisBloom, `{doubling}`"), "doubling", doubling, options)?,
        fill(
            &mut side.load,
            "RedisBloom without a limit of sub-filters".into(),
            "large",
            more,
            options,
        )?,
    ])
}

fn fill(
    load: &mut Load,
    what: String,
    key: &str,
    reserve: &str,
    options: Options,
) -> Result<Grown, String> {
    if !reserve.is_empty() {
        load.say(reserve)?;
    }
    let mut items = 0;
    while items < options.items && load.say(&format!("CF.ADD {key} member:{items}")).is_ok() {
        items += 1;
    }
    let bytes = load.info_number(&format!("MEMORY USAGE {key} SAMPLES 0"))?;
    let mut hits = 0;
    for item in 0..ASKED {
        hits += load.info_number(&format!("CF.EXISTS {key} absent:{item}"))?;
    }
    eprintln!("{what}: {items} items");
    Ok(Grown { what, items, bytes, rate: hits as f64 / ASKED as f64 })
}

fn targets(rows: &[Row], grown: &[Grown]) -> Vec<Target> {
    let mut targets: Vec<Target> = rows
        .iter()
        .map(|row| match row.over {
            Some(over) => {
                Target::at_most(format!("{} against RedisBloom's", row.command), 1.0, Some(over))
            }
            None => Target::at_most(
                format!("{} against PING", row.command),
                row.bar,
                Some(row.ours.median),
            ),
        })
        .collect();
    if let [ours, doubling, ..] = grown {
        let ratio = ours.bytes as f64 / doubling.bytes as f64;
        let mut target = Target::at_most(
            "grown from nothing: bytes against RedisBloom's that doubles, at no higher rate",
            0.7,
            Some(ratio),
        );
        target.ok = Some(ratio <= 0.7 && ours.rate <= doubling.rate);
        targets.push(target);
    }
    targets
}

fn text(rows: &[Row], grown: &[Grown], version: &str, options: Options) -> String {
    let Options { items, rounds, commands, .. } = options;
    let not_run = || "not run".to_owned();
    let costs: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.command.to_owned(),
                shown(row.ours),
                row.competitor.map_or_else(not_run, shown),
                row.over.map_or_else(not_run, |over| format!("{over:.2}")),
            ]
        })
        .collect();
    let sizes: Vec<Vec<String>> = grown
        .iter()
        .map(|Grown { what, items, bytes, rate }| {
            vec![
                what.clone(),
                items.to_string(),
                bytes.to_string(),
                format!("{:.2}", *bytes as f64 * 8.0 / *items as f64),
                format!("{:.3}%", 100.0 * rate),
            ]
        })
        .collect();
    format!(
        "## `CF.*` inside Redis and Valkey\n\n\
        Written by `cargo xtask bench cuckoo`, on Redis {version}; how, says [the section before](#inside-redis-and-valkey). \
        Filters hold {items} items\nand are reserved for a quarter more; the items added, copies of some, are \
        deleted again. {rounds} rounds of {commands} commands. RedisBloom runs in a\nserver of its own \
        where `MAYHAP_REDISBLOOM` names its module.\n\n{}\n{}\n\
        {items} items added one by one to a filter of which nothing is known, or of the 1024 items that is the default. RedisBloom \
        at its defaults adds\nsub-filters as large as the first, and refuses items after 32 of them.\n\n{}",
        targets_table(targets(rows, grown)),
        table(&["command, pipeline 16", "× PING", "RedisBloom × PING", "of RedisBloom's"], &costs),
        table(&["filter", "items", "bytes", "bits per item", "rate"], &sizes),
    )
}
