//! Rounds: `PING` and every competitor, interleaved.

use super::Options;
use super::load::{Load, Work};
use mayhap_testkit::{Make, Server, module};
use std::path::{Path, PathBuf};

/// Members of the server's own set, for comparison with the filters: so few that it is in cache.
const SET: u64 = 1000;
/// Pipeline length.
const PIPELINES: [u64; 3] = [1, 16, 64];

/// The competitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Mayhap filters.
    Mayhap,
    /// Mayhap filters in RedisBloom's scheme.
    Compat,
    /// RedisBloom itself, in a second server.
    RedisBloom,
    /// A set of the server, without a module.
    Set,
}

/// The median of many rounds, and the quartiles.
#[derive(Clone, Copy)]
pub struct Quartiles {
    pub median: f64,
    pub quarter: f64,
    pub three_quarters: f64,
}

impl Quartiles {
    pub fn of(rounds: impl Iterator<Item = f64>) -> Option<Quartiles> {
        let mut rounds: Vec<f64> = rounds.collect();
        rounds.sort_unstable_by(f64::total_cmp);
        let at = |share: usize| rounds.get(rounds.len() * share / 4).copied();
        Some(Quartiles { median: at(2)?, quarter: at(1)?, three_quarters: at(3)? })
    }
}

/// The cost of one competitor's command.
#[derive(Clone, Copy)]
pub struct Cost {
    pub who: Who,
    /// Relative to `PING` of the same server in the same rounds.
    pub ratio: Quartiles,
    /// Microseconds of the server beyond a `PING`.
    pub more: f64,
}

/// The same of one round, in microseconds.
pub struct Seen {
    pub who: Who,
    ping: f64,
    micros: f64,
}

impl Seen {
    pub fn over_ping(&self) -> f64 {
        self.micros / self.ping
    }
}

/// One work at one pipeline length.
pub struct Row {
    pub what: &'static str,
    pub pipeline: u64,
    /// Microseconds of `PING` on the server of the Mayhap module.
    pub ping: Quartiles,
    pub costs: Vec<Cost>,
}

/// The effect of growing.
#[derive(Clone, Copy)]
pub struct Grown {
    /// Absent keys in a filter grown from 1000, against the same in one reserved for all.
    pub over_reserved: Quartiles,
    pub bits_per_key: f64,
}

pub struct Findings {
    pub make: Make,
    pub version: String,
    pub rows: Vec<Row>,
    pub ours: Grown,
    pub competitor: Option<Grown>,
}

impl Findings {
    /// Relative to `PING`, at the pipeline length of the targets.
    pub fn ratio(&self, what: &str, who: Who) -> Option<Quartiles> {
        let row = self.rows.iter().find(|row| row.what == what && row.pipeline == 16)?;
        row.cost(who).map(|cost| cost.ratio)
    }
}

impl Row {
    pub fn cost(&self, who: Who) -> Option<Cost> {
        self.costs.iter().find(|cost| cost.who == who).copied()
    }
}

/// One server with one module, and the connection to it.
struct Side {
    load: Load,
    _server: Server,
}

impl Side {
    fn start(make: Make, module: &Path) -> Result<Side, String> {
        let args = ["--loadmodule".to_owned(), module.display().to_string()];
        let server = Server::launch(make, &args)?;
        Ok(Side { load: Load::connect(&server)?, _server: server })
    }

    fn reserve(&mut self, key: &str, keys: u64, capacity: u64, extra: &str) -> Result<(), String> {
        self.load.say(&format!("BF.RESERVE {key} 0.01 {capacity} {extra}"))?;
        self.load.fill(&["BF.MADD", key], keys)
    }
}

pub const EXISTS: &str = "EXISTS, in cache";
pub const MEXISTS: &str = "MEXISTS of 100, in cache";
pub const MEXISTS_FAR: &str = "MEXISTS of 100, out of cache";
pub const MADD_FAR: &str = "MADD of 100 known, out of cache";

/// Every work: its name, the command of filters and that of sets, items in one command, and whether
/// it is about the large filter.
const WORKS: [(&str, &str, &str, u64, bool); 6] = [
    (EXISTS, "BF.EXISTS", "SISMEMBER", 1, false),
    ("ADD of known, in cache", "BF.ADD", "SADD", 1, false),
    (MEXISTS, "BF.MEXISTS", "SMISMEMBER", 100, false),
    ("MADD of 100 known, in cache", "BF.MADD", "SADD", 100, false),
    (MEXISTS_FAR, "BF.MEXISTS", "", 100, true),
    (MADD_FAR, "BF.MADD", "", 100, true),
];

/// The Mayhap module, built beside this program.
pub fn our_module() -> Result<PathBuf, String> {
    let module = module();
    match module.exists() {
        true => Ok(module),
        false => Err(format!("{}: `cargo build --release -p mayhap-module`", module.display())),
    }
}

pub fn measure(make: Make, options: Options) -> Result<Findings, String> {
    let Options { small, large, .. } = options;
    let mut ours = Side::start(make, &our_module()?)?;
    let mut competitor = match std::env::var_os("MAYHAP_REDISBLOOM") {
        Some(module) => Some(Side::start(make, module.as_ref())?),
        None => None,
    };
    for (key, keys, capacity) in
        [("small", small, small), ("large", large, large), ("grown", small, 1000)]
    {
        ours.reserve(key, keys, capacity, "")?;
        if let Some(competitor) = &mut competitor {
            competitor.reserve(key, keys, capacity, "")?;
        }
        if key != "grown" {
            ours.reserve(&format!("{key}-compat"), keys, capacity, "COMPAT")?;
        }
        eprintln!("{make:?}: {key} filled");
    }
    ours.load.fill(&["SADD", "set"], SET)?;

    let mut rows = Vec::new();
    for (what, command, of_sets, items, far) in WORKS {
        let (key, members) = if far { ("large", large) } else { ("small", small) };
        let work = |key: String| Work { command, key, members, items };
        let mut here =
            vec![(Who::Mayhap, work(key.to_owned())), (Who::Compat, work(format!("{key}-compat")))];
        if !of_sets.is_empty() {
            let set = Work { command: of_sets, key: "set".to_owned(), members: SET, items };
            here.push((Who::Set, set));
        }
        let there = [(Who::RedisBloom, work(key.to_owned()))];
        for pipeline in PIPELINES {
            let mut seen = Vec::new();
            for _ in 0..options.rounds {
                round(&mut ours.load, &here, options.commands, pipeline, &mut seen)?;
                if let Some(competitor) = &mut competitor {
                    round(&mut competitor.load, &there, options.commands, pipeline, &mut seen)?;
                }
            }
            let costs = [Who::Mayhap, Who::Compat, Who::RedisBloom, Who::Set];
            let costs = costs.into_iter().filter_map(|who| together(who, &seen)).collect();
            let pings = seen.iter().filter(|seen| seen.who == Who::Mayhap).map(|seen| seen.ping);
            let ping = Quartiles::of(pings).ok_or("no rounds")?;
            rows.push(Row { what, pipeline, ping, costs });
        }
    }
    Ok(Findings {
        make,
        version: ours.load.version()?,
        rows,
        ours: grown(&mut ours.load, options)?,
        competitor: competitor
            .map(|mut competitor| grown(&mut competitor.load, options))
            .transpose()?,
    })
}

/// One round on one server: each work between two `PING`s.
pub fn round(
    load: &mut Load,
    works: &[(Who, Work)],
    commands: u64,
    pipeline: u64,
    seen: &mut Vec<Seen>,
) -> Result<(), String> {
    let some = commands / if pipeline == 1 { 4 } else { 1 };
    let mut before = load.cost(&Work::PING, some, pipeline)?;
    for (who, work) in works {
        let fewer = if work.items > 1 { commands / 4 } else { some };
        let micros = load.cost(work, fewer, pipeline)?;
        let after = load.cost(&Work::PING, some, pipeline)?;
        seen.push(Seen { who: *who, ping: (before + after) / 2.0, micros });
        before = after;
    }
    Ok(())
}

/// The rounds of one competitor, summarised.
pub fn together(who: Who, seen: &[Seen]) -> Option<Cost> {
    let his = || seen.iter().filter(|seen| seen.who == who);
    let ratio = Quartiles::of(his().map(Seen::over_ping))?;
    Some(Cost {
        who,
        ratio,
        more: Quartiles::of(his().map(|seen| seen.micros - seen.ping))?.median,
    })
}

fn grown(load: &mut Load, options: Options) -> Result<Grown, String> {
    // Absent keys must be looked up in every layer.
    let work =
        |key: &str| Work { command: "BF.MEXISTS", key: key.to_owned(), members: 0, items: 100 };
    let (reserved, grown) = (work("small"), work("grown"));
    let mut ratios = Vec::new();
    for _ in 0..options.rounds {
        let reserved = load.cost(&reserved, options.commands / 4, 16)?;
        ratios.push(load.cost(&grown, options.commands / 4, 16)? / reserved);
    }
    let bytes = load.info_number("BF.INFO grown SIZE")?;
    Ok(Grown {
        over_reserved: Quartiles::of(ratios.into_iter()).ok_or("no rounds")?,
        bits_per_key: bytes as f64 * 8.0 / options.small as f64,
    })
}
