//! Two billion URLs: at 1%, as a static filter, and in 500 MB.
//!
//! The reference is generating and hashing the URLs on the same threads, which no program that
//! reads keys can avoid.

use crate::batches::Lookups;
use crate::fill::{batches, hash_urls, partitioned, shared};
use crate::machine::peak_memory;
use crate::page;
use crate::report::amount;
use crate::splitmix::below;
use clap::Args;
use mayhap::sizing::{BlockedShape, ClassicShape};
use mayhap::{Blocked, Classic, Ribbon, Spec};
use std::fmt::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

/// Numbers of URLs that are in no filter start here.
const ABSENT: u64 = 1 << 40;
/// Bits per key of the second part: 500 MB for two billion.
const FEW_BITS: u64 = 2;

/// The amount of work.
#[derive(Args, Clone, Copy)]
pub struct Options {
    /// Keys of the filter
    #[arg(long, default_value_t = FULL, value_parser = crate::number)]
    pub keys: u64,
    /// Threads that fill it
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: u64,
    /// Absent keys and members to look up
    #[arg(long, default_value = "1e8", value_parser = crate::number)]
    pub probes: u64,
}

/// Keys in a run that is written to the page.
const FULL: u64 = 2_000_000_000;

/// Measure and print; a full run goes into the page too.
pub fn run(options: Options, docs: &Path) -> std::io::Result<()> {
    let Options { keys, threads, probes } = options;
    let mut text = format!(
        "## Two billion URLs\n\nWritten by `cargo xtask bench scale`: {} URLs, {threads} threads, \
         {} probes.\n\n",
        amount(keys),
        amount(probes)
    );
    let mut say = |line: String| {
        println!("{line}");
        _ = writeln!(text, "{line}");
    };
    let start = Instant::now();
    batches(0..keys, threads, &|i| i, &|hashes| _ = std::hint::black_box(hashes.len()));
    let alone = start.elapsed().as_secs_f64();
    say(format!("- making and hashing the URLs alone: {alone:.1} s"));

    let spec = Spec::new(keys, 0.01).expect("a sane size");
    let filter = Blocked::new(spec).expect("memory for the filter");
    let (filter, took) = timed(|| blocked(filter, keys, threads));
    let ratio = took / alone;
    let bytes = filter.shape().bits() / 8;
    say(format!(
        "- `Blocked` at 1%, {:.2} GB: filled in {took:.1} s, {ratio:.2}× of that (bar ≤ 3×: {})",
        bytes as f64 / 1e9,
        verdict(ratio <= 3.0)
    ));
    let (rate, error) = absent_keys(&filter, probes, threads);
    let ok = rate - 2.0 * error <= 0.0102;
    say(format!("  - measured rate {} (bar ≤ 1.02%: {})", percent(rate, error), verdict(ok)));
    let missing = missing(&filter, keys, probes, threads);
    say(format!(
        "  - {missing} of {} sampled members missing ({})",
        amount(probes),
        verdict(missing == 0)
    ));
    drop(filter);

    let (filter, filled) = timed(|| ribbon(spec, keys, threads));
    let bytes = filter.bits() / 8;
    let bar = 0.845 * keys as f64;
    say(format!(
        "- `Ribbon` at 1%, {:.3} GB (bar {:.3} GB: {}): built in {filled:.1} s, {:.2}× of the time of \
         `Blocked`",
        bytes as f64 / 1e9,
        bar / 1e9,
        verdict(bytes as f64 <= bar),
        filled / took
    ));
    let (rate, error) = absent_keys(&filter, probes, threads);
    say(format!(
        "  - measured rate {} (bar ≤ 1.01%: {})",
        percent(rate, error),
        verdict(rate - 2.0 * error <= 0.0101)
    ));
    let missing = self::missing(&filter, keys, probes, threads);
    say(format!(
        "  - {missing} of {} sampled members missing ({})",
        amount(probes),
        verdict(missing == 0)
    ));
    drop(filter);

    let bits = keys * FEW_BITS;
    let shape = BlockedShape::for_bits(keys, bits);
    let filter = Blocked::with_shape(spec, shape).expect("memory for the filter");
    let (filter, took) = timed(|| blocked(filter, keys, threads));
    let found = absent_keys(&filter, probes, threads);
    say(small("Blocked", shape.bits(), took, shape.fpr_at(keys), found));
    drop(filter);

    let shape = ClassicShape::for_bits(keys, bits);
    let filter = Classic::with_shape(spec, shape).expect("memory for the filter");
    let (filter, took) = timed(|| shared(filter, keys, threads));
    let found = absent_keys(&filter, probes, threads);
    say(small("Classic", shape.bits, took, shape.fpr_at(keys), found));
    say(format!("- most memory held at any time: {:.2} GB", peak_memory() as f64 / 1e9));
    if keys >= FULL {
        page::write_part(docs, page::SCALE, &text)?;
    }
    Ok(())
}

/// Fill with all URLs from all threads.
fn blocked(mut filter: Blocked, keys: u64, threads: u64) -> Blocked {
    partitioned(&mut filter, keys, threads, &|ids, each| hash_urls(ids, &|i| i, each));
    filter
}

/// Hashes that are held at a time while a static filter is built: 2 GB.
const MAX_HASHES: usize = 250_000_000;

/// Built in as many passes over all URLs as it takes.
fn ribbon(spec: Spec, keys: u64, threads: u64) -> Ribbon {
    let built = Ribbon::build(spec, MAX_HASHES, |keep| {
        let keep = Mutex::new(keep);
        batches(0..keys, threads, &|i| i, &|hashes| {
            let mut keep = keep.lock().expect("no thread panics");
            hashes.iter().for_each(|hash| keep(*hash));
        });
    });
    built.expect("memory for the filter")
}

fn small(kind: &str, bits: u64, took: f64, planned: f64, (rate, error): (f64, f64)) -> String {
    // The plan is for an average filter; 1% covers the variance.
    let ok = (rate - planned).abs() <= 0.01 * planned + 3.0 * error;
    format!(
        "- `{kind}` in {:.0} MB: filled in {took:.1} s; planned {:.3}%, measured {} ({})",
        bits as f64 / 8e6,
        100.0 * planned,
        percent(rate, error),
        verdict(ok)
    )
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let made = work();
    (made, start.elapsed().as_secs_f64())
}

fn verdict(ok: bool) -> &'static str {
    if ok { "ok" } else { "**not ok**" }
}

fn percent(rate: f64, error: f64) -> String {
    format!("{:.4}% ± {:.4}", 100.0 * rate, 100.0 * error)
}

/// The false-positive rate on absent URLs, and its standard error.
fn absent_keys<F>(filter: &F, probes: u64, threads: u64) -> (f64, f64)
where
    F: Lookups + Sync,
{
    let wrong = count(filter, ABSENT..ABSENT + probes, threads, |i| i);
    let rate = wrong as f64 / probes as f64;
    (rate, (rate * (1.0 - rate) / probes as f64).sqrt())
}

/// Members, drawn at random, that are not found.
fn missing<F>(filter: &F, keys: u64, probes: u64, threads: u64) -> u64
where
    F: Lookups + Sync,
{
    probes - count(filter, 0..probes, threads, |i| below(keys, i))
}

fn count<F>(
    filter: &F,
    ids: std::ops::Range<u64>,
    threads: u64,
    pick: impl Fn(u64) -> u64 + Sync,
) -> u64
where
    F: Lookups + Sync,
{
    let yes = std::sync::atomic::AtomicU64::new(0);
    batches(ids, threads, &pick, &|hashes| {
        let mut answers = Vec::new();
        filter.lookup(hashes, &mut answers);
        let found = answers.iter().map(|yes| u64::from(*yes)).sum();
        yes.fetch_add(found, std::sync::atomic::Ordering::Relaxed);
    });
    yes.into_inner()
}
