//! `bench seen`: seen lists beside what people keep in Redis today.
//!
//! All stores are filled alike, then take turns: in each turn a store looks up fresh candidates of
//! one owner. Ratios are medians over turns.

mod competitors;
mod report;
mod seed;
mod server;
mod stores;

use crate::cpu_warmer::CpuWarmer;
use crate::splitmix::splitmix as mix;
use clap::Args;
use std::path::Path;
use std::time::Instant;

/// The amount of work.
#[derive(Args, Clone, Copy, Debug)]
pub struct Options {
    /// Owners of lists
    #[arg(long, default_value = "1e5", value_parser = crate::number)]
    pub owners: u64,
    /// Ids of each list
    #[arg(long, default_value_t = 200)]
    pub ids: u64,
    /// Ids of one lookup
    #[arg(long, default_value_t = 1000)]
    pub candidates: u64,
    /// Turns of each store
    #[arg(long, default_value_t = 2000)]
    pub turns: u64,
}

/// A store of lists.
pub trait Store {
    fn name(&self) -> &'static str;

    /// Mark these for these owners, as fast as possible.
    fn fill(&mut self, shown: &[(String, Vec<String>)]);

    /// How many of the candidates are unseen.
    fn unseen(&mut self, owner: &str, candidates: &[String]) -> usize;

    /// Mark a page of ids, as one request does.
    fn mark(&mut self, owner: &str, ids: &[String]);

    /// Bytes that all lists take in the store, including overhead.
    fn bytes(&mut self) -> u64;
}

/// The results of one store.
pub struct Row {
    pub name: &'static str,
    /// Microseconds per lookup, one for each turn.
    pub unseen: Vec<f64>,
    /// Microseconds per mark of a page.
    pub mark: Vec<f64>,
    pub bytes_per_owner: f64,
    /// False negatives: seen ids reported as unseen; 0 or the store is broken.
    pub lost: u64,
}

/// Ids per page.
const PAGE: usize = 20;

pub fn owner(n: u64) -> String {
    format!("user-{n:08}")
}

/// Ids of fourteen bytes, as articles have them.
pub fn id(owner: u64, n: u64) -> String {
    format!("{:014x}", mix(owner << 32 | n) >> 8)
}

pub fn run(options: Options, docs: &Path) -> Result<(), String> {
    let _awake = CpuWarmer::keep();
    let server = server::start()?;
    let dir = tempfile::tempdir().map_err(|error| format!("no folder to write in: {error}"))?;
    let mut rows = vec![];
    let mut stores: Vec<Box<dyn Store>> = vec![
        Box::new(stores::Ours::embedded(dir.path())?),
        Box::new(stores::Ours::redis("mayhap, Redis compact", &server, 1, "compact")?),
        Box::new(stores::Ours::redis("mayhap, Redis list", &server, 2, "list")?),
        Box::new(competitors::Seed::new(&server, 3, competitors::Codec::Package)?),
        Box::new(competitors::Sorted::new(&server, 4, competitors::Mode::EachScore)?),
        Box::new(competitors::Plain::new(&server, 5)?),
    ];
    for store in &mut stores {
        let start = Instant::now();
        let before = store.bytes();
        fill(&mut **store, options);
        let bytes = store.bytes().saturating_sub(before);
        eprintln!("{}: filled in {:.1} s", store.name(), start.elapsed().as_secs_f64());
        rows.push(Row {
            name: store.name(),
            unseen: vec![],
            mark: vec![],
            bytes_per_owner: bytes as f64 / options.owners as f64,
            lost: 0,
        });
    }
    // The same sorted sets, with the command that Redis has since 6.2.
    stores.push(Box::new(competitors::Sorted::new(&server, 4, competitors::Mode::AllScores)?));
    // The same lists, with Mayhap's code for their filters.
    stores.push(Box::new(competitors::Seed::new(&server, 3, competitors::Codec::Ours)?));
    for (name, filled_by) in [("Redis ZSET, ZMSCORE", 4), ("Go lists, with our filter code", 3)] {
        let bytes_per_owner = rows[filled_by].bytes_per_owner;
        rows.push(Row { name, unseen: vec![], mark: vec![], bytes_per_owner, lost: 0 });
    }
    for turn in 0..options.turns {
        take_turn(turn, options, &mut stores, &mut rows);
    }
    let sizes = report::sizes(&server)?;
    report::write(options, &rows, &sizes, docs)
        .map_err(|error| format!("writing the page: {error}"))
}

fn fill(store: &mut dyn Store, options: Options) {
    const OWNERS: u64 = 500;
    for first in (0..options.owners).step_by(OWNERS as usize) {
        let last = (first + OWNERS).min(options.owners);
        // Page after page, as in production.
        for page in (0..options.ids).step_by(PAGE) {
            let ids =
                |n| (page..(page + PAGE as u64).min(options.ids)).map(|at| id(n, at)).collect();
            let shown: Vec<_> = (first..last).map(|n| (owner(n), ids(n))).collect();
            store.fill(&shown);
        }
    }
}

fn take_turn(turn: u64, options: Options, stores: &mut [Box<dyn Store>], rows: &mut [Row]) {
    for at in 0..stores.len() {
        let at = (at + turn as usize) % stores.len();
        // Another owner for each store, or the first would warm the cache for the rest.
        let n = mix(turn << 8 | at as u64) % options.owners;
        // A tenth was seen before, spread among the rest.
        let seen = options.candidates / 10;
        let candidate = |i: u64| match i.is_multiple_of(10) {
            true => id(n, mix(turn + i) % options.ids),
            false => id(n, 1 << 30 | turn << 12 | i),
        };
        let candidates: Vec<String> = (0..options.candidates).map(candidate).collect();
        let (name, store, row) = (owner(n), &mut stores[at], &mut rows[at]);
        let start = Instant::now();
        let unseen = store.unseen(&name, &candidates);
        row.unseen.push(start.elapsed().as_secs_f64() * 1e6);
        row.lost += (unseen as u64).saturating_sub(options.candidates - seen);
        if turn < options.turns / 4 {
            let page: Vec<String> =
                (0..PAGE as u64).map(|i| id(n, 1 << 31 | turn << 12 | i)).collect();
            let start = Instant::now();
            store.mark(&name, &page);
            row.mark.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
}
