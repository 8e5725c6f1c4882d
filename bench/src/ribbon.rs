//! `Ribbon` beside `Fuse` and xorf's filters: size, rate, build and lookups, interleaved.

use crate::comparison::{median, ratio};
use crate::page::table;
use crate::rates::{Rate, measure as measure_rate};
use crate::report::amount;
use crate::splitmix::{below, splitmix};
use crate::targets::Target;
use mayhap::ribbon::RibbonBuilder;
use mayhap::{Fuse, Hash, Ribbon, Spec};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::Instant;
use xorf::{BinaryFuse8, BinaryFuse16, Filter};

/// Keys of a filter that the outer caches hold, and of one that they do not.
const SIZES: [u64; 2] = [1_000_000, 20_000_000];
/// False-positive rates, and the most bits per key that are allowed, divided by log2(1/rate).
const RATES: [(f64, f64); 3] = [(0.01, 1.016), (0.001, 1.005), (0.0001, 1.009)];
/// Lookups of one turn.
const CHUNK: u64 = 16_384;
/// Numbers of absent keys start here.
const ABSENT: u64 = 1 << 40;

/// The competitor of the width that meets the rate.
enum Xorf {
    Narrow(BinaryFuse8),
    Wide(BinaryFuse16),
}

impl Xorf {
    fn build(fpr: f64, hashes: &[u64]) -> Xorf {
        match fpr < 1.0 / 256.0 {
            true => Xorf::Wide(BinaryFuse16::try_from(hashes).expect("distinct hashes")),
            false => Xorf::Narrow(BinaryFuse8::try_from(hashes).expect("distinct hashes")),
        }
    }

    fn count(&self, hashes: &[Hash]) -> usize {
        match self {
            Xorf::Narrow(filter) => {
                hashes.iter().filter(|hash| filter.contains(&hash.to_u64())).count()
            }
            Xorf::Wide(filter) => {
                hashes.iter().filter(|hash| filter.contains(&hash.to_u64())).count()
            }
        }
    }
}

/// The three filters at one size and rate: nanoseconds per key of CPU time, by round.
pub struct Match {
    keys: u64,
    fpr: f64,
    most_bits: f64,
    /// Bits per key divided by the information bound: `Ribbon`, `Fuse`.
    bits: [f64; 2],
    missing: u64,
    /// `Ribbon`, `Fuse`, xorf.
    build: [Vec<f64>; 3],
    single: [Vec<f64>; 3],
    /// `Ribbon`, `Fuse`.
    batch: [Vec<f64>; 2],
}

/// All results.
pub struct Findings {
    matches: Vec<Match>,
    /// How many times as fast two threads build as one.
    two_threads: f64,
    rates: Vec<Rate>,
}

/// Measure, at both sizes unless it must be quick.
pub fn measure(quick: bool) -> Findings {
    let mut matches = Vec::new();
    for keys in SIZES {
        if quick && keys > 1_000_000 {
            continue;
        }
        for (fpr, most_bits) in RATES {
            let builds = if keys > 1_000_000 { 3 } else { 9 };
            matches.push(compare(keys, (fpr, most_bits), builds, if quick { 51 } else { 201 }));
        }
    }
    let rates = RATES.map(|(fpr, _)| rate(Spec::new(1_000_000, fpr).expect("a sane rate"), member));
    Findings { matches, two_threads: two_threads(if quick { 3 } else { 7 }), rates: rates.into() }
}

/// Print the tables.
pub fn run(quick: bool) {
    let findings = measure(quick);
    println!("{}", text(&findings));
    println!("{}", crate::report::targets_table(targets(&findings)));
}

/// The measured rate of a `Ribbon` of a million keys.
pub fn rate(spec: Spec, member: fn(u64) -> Hash) -> Rate {
    let mut hashes = (0..1_000_000).map(member).collect::<Vec<_>>();
    let ribbon = Ribbon::from_hashes(spec, &mut hashes).expect("memory for a filter");
    measure_rate("Ribbon", spec.fpr(), ribbon.bits(), &ribbon)
}

fn member(i: u64) -> Hash {
    Hash::from_u64(splitmix(i))
}

fn compare(keys: u64, (fpr, most_bits): (f64, f64), builds: u64, rounds: u64) -> Match {
    eprintln!("Ribbon beside Fuse and xorf, {} keys at {}%", amount(keys), 100.0 * fpr);
    let spec = Spec::new(keys, fpr).expect("a sane rate");
    let hashes: Vec<Hash> = (0..keys).map(member).collect();
    let numbers: Vec<u64> = hashes.iter().map(|hash| hash.to_u64()).collect();
    let mut build = [const { Vec::new() }; 3];
    let mut made = None;
    for _ in 0..builds {
        drop(made.take());
        let (mut own, mut copy) = (hashes.clone(), hashes.clone());
        let (took, ribbon) = timed(keys, || Ribbon::from_hashes(spec, &mut own));
        build[0].push(took);
        let (took, fuse) = timed(keys, || Fuse::from_hashes(spec, &mut copy));
        build[1].push(took);
        drop((own, copy));
        let (took, xorf) = timed(keys, || Xorf::build(fpr, &numbers));
        build[2].push(took);
        made =
            Some((ribbon.expect("memory for a filter"), fuse.expect("memory for a filter"), xorf));
    }
    let (ribbon, fuse, xorf) = made.expect("at least one build");
    let (mut single, mut batch) = ([const { Vec::new() }; 3], [const { Vec::new() }; 2]);
    let mut answers = Vec::new();
    for round in 0..rounds {
        // Hits and misses in turns.
        let base = (round % 2) * ABSENT;
        let chunk = |salt: u64| -> Vec<Hash> {
            let first = (round * 8 + salt) * CHUNK;
            (first..first + CHUNK).map(|i| member(base + below(keys, i))).collect()
        };
        // Each begins with a chunk that is not timed: the others have evicted it from the cache.
        let (warm, asked) = (chunk(0), [chunk(1), chunk(2)]);
        let one = |contains: &dyn Fn(&[Hash]) -> usize, times: &mut Vec<f64>| {
            black_box(contains(&warm[..4096]));
            times.push(timed(CHUNK, || contains(&asked[0])).0);
        };
        let hits =
            |hashes: &[Hash], f: &Ribbon| hashes.iter().filter(|h| f.contains_hash(**h)).count();
        one(&|hashes| hits(hashes, &ribbon), &mut single[0]);
        let mut many = |contains: &mut dyn FnMut(&[Hash], &mut Vec<bool>), times: &mut Vec<f64>| {
            contains(&warm[..4096], &mut answers);
            let mut all = || asked[1].chunks(2048).for_each(|part| contains(part, &mut answers));
            times.push(timed(CHUNK, &mut all).0);
        };
        many(&mut |hashes, answers| ribbon.contains_batch(hashes, answers), &mut batch[0]);
        let hits =
            |hashes: &[Hash], f: &Fuse| hashes.iter().filter(|h| f.contains_hash(**h)).count();
        one(&|hashes| hits(hashes, &fuse), &mut single[1]);
        many(&mut |hashes, answers| fuse.contains_batch(hashes, answers), &mut batch[1]);
        one(&|hashes| xorf.count(hashes), &mut single[2]);
    }
    ribbon.contains_batch(&hashes, &mut answers);
    let missing = answers.iter().filter(|yes| !**yes).count() as u64;
    let per_key = |bits: u64| bits as f64 / keys as f64 / -fpr.log2();
    let bits = [per_key(ribbon.bits()), per_key(fuse.bits())];
    Match { keys, fpr, most_bits, bits, missing, build, single, batch }
}

/// How many times as fast two threads build as one, by the clock on the wall.
fn two_threads(rounds: u64) -> f64 {
    const KEYS: u64 = 8_000_000;
    let spec = Spec::new(KEYS, 0.01).expect("a sane rate");
    let hashes: Vec<Hash> = (0..KEYS).map(member).collect();
    let builder = || RibbonBuilder::new(spec, KEYS).expect("memory for a filter");
    let divided = builder();
    let half = divided.shard_count() / 2;
    let (low, high): (Vec<Hash>, Vec<Hash>) =
        hashes.iter().partition(|hash| divided.shard_of(**hash) < half);
    let mut ratios = Vec::new();
    for _ in 0..rounds {
        let shards = |first: bool| {
            let builder = builder();
            let (range, mut own) = if first {
                (0..half, low.clone())
            } else {
                (half..builder.shard_count(), high.clone())
            };
            move || black_box(builder.shards(range, &mut own).expect("memory for a filter"))
        };
        let (one, other) = (shards(true), shards(false));
        let start = Instant::now();
        drop((one(), other()));
        let alone = start.elapsed().as_secs_f64();
        let (one, other) = (shards(true), shards(false));
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(one);
            other();
        });
        ratios.push(alone / start.elapsed().as_secs_f64());
    }
    median(ratios).unwrap_or(f64::NAN)
}

/// Nanoseconds per key of CPU time, and the result.
fn timed<T>(keys: u64, work: impl FnOnce() -> T) -> (f64, T) {
    let start = cpu_nanoseconds();
    let made = black_box(work());
    ((cpu_nanoseconds() - start) / keys as f64, made)
}

fn cpu_nanoseconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The targets, and what was reached.
pub fn targets(findings: &Findings) -> Vec<Target> {
    let mut targets = Vec::new();
    for found in &findings.matches {
        let Match { keys, fpr, .. } = *found;
        let at = format!("`Ribbon`, {} keys, {}%", amount(keys), 100.0 * fpr);
        let far = keys > 10_000_000;
        let over = |times: &[Vec<f64>], other: usize| ratio(&times[0], &times[other]);
        let at_most =
            |what: &str, bar, reached| Target::at_most(format!("{at}: {what}"), bar, reached);
        targets.push(at_most("bits against log2(1/p)", found.most_bits, Some(found.bits[0])));
        let (batch, single) = if far { (1.05, 1.05) } else { (1.2, 1.3) };
        targets.push(at_most("batch lookups against `Fuse`", batch, over(&found.batch, 1)));
        targets.push(at_most("one lookup against `Fuse`", single, over(&found.single, 1)));
        targets.push(at_most("build against `Fuse`", 1.4, over(&found.build, 1)));
        if far {
            targets.push(at_most("build against xorf", 1.0, over(&found.build, 2)));
        }
    }
    let speedup = Some(findings.two_threads);
    targets.push(Target::at_least("`Ribbon` built by two threads against one", 1.7, speedup));
    for rate in &findings.rates {
        let (measured, error) = (rate.measured / rate.target, rate.error / rate.target);
        targets.push(Target {
            what: format!("`Ribbon`: measured rate at {}%", 100.0 * rate.target),
            bar: "≤ 1.01×".to_owned(),
            reached: format!("{measured:.4}× ± {error:.4}"),
            ok: Some(measured - 2.0 * error <= 1.0 && measured <= 1.01),
        });
    }
    targets
}

/// Its part of the page.
pub fn text(findings: &Findings) -> String {
    let head = [
        "keys, rate",
        "bits ÷ bound: `Ribbon`, `Fuse`",
        "build: `Ribbon`, `Fuse`, xorf",
        "one lookup: `Ribbon`, `Fuse`, xorf",
        "batch: `Ribbon`, `Fuse`",
        "missing",
    ];
    let middle = |times: &[Vec<f64>]| {
        let each = times.iter().map(|times| median(times.iter().copied()).unwrap_or(f64::NAN));
        each.map(|time| format!("{time:.1}")).collect::<Vec<_>>().join(" / ")
    };
    let rows: Vec<Vec<String>> = findings
        .matches
        .iter()
        .map(|found| {
            vec![
                format!("{}, {}%", amount(found.keys), 100.0 * found.fpr),
                format!("{:.4} / {:.4}", found.bits[0], found.bits[1]),
                middle(&found.build),
                middle(&found.single),
                middle(&found.batch),
                found.missing.to_string(),
            ]
        })
        .collect();
    format!(
        "## Static filters: `Ribbon` beside `Fuse` and xorf\n\nNanoseconds of CPU time per key, \
         medians; keys are hashed before, half of them are members.\n\n{}",
        table(&head, &rows)
    )
}
