//! The engine against its competitors and the baseline: one run, every number.

use crate::baseline::Baseline;
use crate::comparison::{self, Comparison};
use crate::hashing::{self, Hashing};
use crate::keys::{Keys, Numbers, UrlKeys};
use crate::rates::{self, Rate};
use crate::threads::{self, Threads};
use crate::{competitors, ours, report, targets};
use clap::Args;
use mayhap::sizing::BlockedShape;
use std::path::Path;

/// What to measure.
#[derive(Args, Clone, Copy)]
pub struct Options {
    /// About a minute: no 100M keys, fewer rounds and rates
    #[arg(long)]
    pub quick: bool,
    /// Slow competitors at 100M keys too
    #[arg(long)]
    pub all: bool,
    /// Only the comparisons of this many keys (1e5, 5e6, 1e8), printed but not written to the page
    #[arg(long, value_parser = crate::number)]
    pub only: Option<u64>,
}

/// `Fuse` against xorf at one size; ratios above 1 are in our favour.
pub struct HeadToHead {
    pub keys: u64,
    pub bits_per_key: f64,
    pub build: f64,
    pub lookup_single: f64,
    pub lookup_batch: f64,
}

/// All results of a run.
pub struct Findings {
    pub options: Options,
    pub contests: Vec<Comparison>,
    pub rates: Vec<Rate>,
    pub hashing: Hashing,
    pub threads: Vec<Threads>,
    pub duels: Vec<HeadToHead>,
    pub ribbon: crate::ribbon::Findings,
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
            contests.push(comparison::<Numbers>(keys, fpr, options));
            // Keys cost the same at every rate: the largest size is built for one only.
            if fpr == 0.01 || !(large || options.quick) {
                contests.push(comparison::<UrlKeys>(keys, fpr, options));
            }
        }
    }
    if options.only.is_some() {
        let run = targets::speed(&contests).into_iter().filter(|bar| bar.ok.is_some());
        println!("{}", report::targets_table(run.collect()));
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
        ribbon: crate::ribbon::measure(options.quick),
    };
    report::write(&findings, docs)
}

fn comparison<K: Keys>(keys: u64, fpr: f64, options: Options) -> Comparison {
    eprintln!("{keys} {} keys at {}%", K::NAME, 100.0 * fpr);
    let limit = Baseline::new(BlockedShape::for_fpr(keys, fpr).bits());
    eprintln!("  random lines: fastest with {} prefetched ahead", limit.ahead());
    let mut subjects = ours::all::<K>(keys, fpr);
    subjects.push(crate::fuse::subject(keys, fpr));
    subjects.push(Box::new(limit));
    subjects.extend(competitors::fast(keys, fpr));
    if options.all || keys <= 50_000_000 {
        subjects.extend(competitors::slow(keys, fpr));
    }
    let comparison = comparison::run(keys, fpr, if options.quick { 24 } else { 64 }, subjects);
    eprintln!("{}", report::comparison_section(&comparison));
    comparison
}

fn duels(options: Options) -> Vec<HeadToHead> {
    let mut duels = vec![crate::fuse::duel(1_000_000, 7)];
    if !options.quick {
        duels.push(crate::fuse::duel(20_000_000, 3));
    }
    duels
}
