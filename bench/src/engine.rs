//! The engine against its rivals and its limit: one run, every number.

use crate::contest::{self, Contest};
use crate::hashing::{self, Hashing};
use crate::keys::{Keys, Numbers, UrlKeys};
use crate::limit::Limit;
use crate::rates::{self, Rate};
use crate::threads::{self, Threads};
use crate::{bars, ours, report, rivals};
use mayhap::sizing::BlockedShape;
use std::path::Path;

/// What to leave out or take in.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// About a minute: no 100M keys, fewer rounds and rates.
    pub quick: bool,
    /// Slow rivals at 100M keys too.
    pub all: bool,
    /// Only the contests of this many keys, printed but not written to the page.
    pub only: Option<u64>,
}

/// `Fuse` against xorf at one size; ratios above 1 are in our favour.
pub struct Duel {
    pub keys: u64,
    pub bits_per_key: f64,
    pub build: f64,
    pub lookup_single: f64,
    pub lookup_batch: f64,
}

/// Everything one run found.
pub struct Findings {
    pub options: Options,
    pub contests: Vec<Contest>,
    pub rates: Vec<Rate>,
    pub hashing: Hashing,
    pub threads: Vec<Threads>,
    pub duels: Vec<Duel>,
    pub quotient: crate::quotient::Findings,
}

/// Measure, print, and write the page and its charts into `docs`.
pub fn run(options: Options, docs: &Path) -> std::io::Result<()> {
    let mut contests = Vec::new();
    for keys in [100_000, 5_000_000, 100_000_000] {
        let large = keys > 50_000_000;
        if (large && options.quick) || options.only.is_some_and(|only| only != keys) {
            continue;
        }
        for fpr in [0.01, 0.001] {
            contests.push(contest::<Numbers>(keys, fpr, options));
            // Keys cost the same at every rate: the largest size is built for one only.
            if fpr == 0.01 || !(large || options.quick) {
                contests.push(contest::<UrlKeys>(keys, fpr, options));
            }
        }
    }
    if options.only.is_some() {
        let run = bars::speed(&contests).into_iter().filter(|bar| bar.ok.is_some());
        println!("{}", report::bars_table(run.collect()));
        return Ok(());
    }
    let targets: &[f64] =
        if options.quick { &[0.05, 0.01, 0.001] } else { &[0.05, 0.01, 0.001, 0.0001] };
    let findings = Findings {
        options,
        contests,
        rates: rates::all(targets),
        hashing: hashing::measure(),
        threads: threads::measure(options.quick),
        duels: duels(options),
        quotient: crate::quotient::measure(options.quick),
    };
    report::write(&findings, docs)
}

fn contest<K: Keys>(keys: u64, fpr: f64, options: Options) -> Contest {
    eprintln!("{keys} {} keys at {}%", K::NAME, 100.0 * fpr);
    let limit = Limit::new(BlockedShape::for_rate(keys, fpr).bits());
    eprintln!("  random lines: fastest with {} prefetched ahead", limit.ahead());
    let mut subjects = ours::all::<K>(keys, fpr);
    subjects.push(crate::fuse::subject(keys, fpr));
    subjects.push(Box::new(limit));
    subjects.extend(rivals::fast(keys, fpr));
    if options.all || keys <= 50_000_000 {
        subjects.extend(rivals::slow(keys, fpr));
    }
    let contest = contest::run(keys, fpr, if options.quick { 24 } else { 64 }, subjects);
    eprintln!("{}", report::contest_section(&contest));
    contest
}

fn duels(options: Options) -> Vec<Duel> {
    let mut duels = vec![crate::fuse::duel(1_000_000, 7)];
    if !options.quick {
        duels.push(crate::fuse::duel(20_000_000, 3));
    }
    duels
}
