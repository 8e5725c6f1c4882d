//! The targets, and what this run reached.

use crate::baseline;
use crate::candidate::Mode;
use crate::comparison::{Comparison, Row, ratio};
use crate::engine::Findings;
use mayhap::sizing::{BlockedShape, ClassicShape};

const FOLD: &str = "fastbloom (foldhash)";
const SBBF: &str = "sbbf-rs-safe";
const BLOCKED: &str = "mayhap Blocked";
const CLASSIC: &str = "mayhap Classic";

/// A target and its result.
pub struct Target {
    pub what: String,
    pub bar: String,
    pub reached: String,
    /// `None`: not measured in this run.
    pub ok: Option<bool>,
}

impl Target {
    pub fn at_least(what: impl Into<String>, bar: f64, reached: Option<f64>) -> Target {
        let shown = reached.map_or("not run".to_owned(), |reached| format!("{reached:.2}×"));
        let ok = reached.map(|reached| reached >= bar);
        Target { what: what.into(), bar: format!("≥ {bar}×"), reached: shown, ok }
    }

    pub fn at_most(what: impl Into<String>, bar: f64, reached: Option<f64>) -> Target {
        let shown = reached.map_or("not run".to_owned(), |reached| format!("{reached:.3}×"));
        let ok = reached.map(|reached| reached <= bar);
        Target { what: what.into(), bar: format!("≤ {bar}×"), reached: shown, ok }
    }

    /// What the bare line would have reached, hashed, read and written the same way.
    fn with_limit(mut self, limit: Option<f64>) -> Target {
        if let Some(limit) = limit {
            self.reached += &format!(" (a bare line: {limit:.2}×)");
        }
        self
    }
}

/// Which times of a row.
type Times = fn(&Row) -> &[f64];
const HIT: Times = |row| &row.hit;
const MISS: Times = |row| &row.miss;
const INSERT: Times = |row| &row.insert;

/// All targets, in the order of the page.
pub fn all(findings: &Findings) -> Vec<Target> {
    let mut targets = speed(&findings.contests);
    for threads in &findings.threads {
        targets.push(Target::at_least(threads.name, threads.bar, threads.speedup));
    }
    targets.extend(rates(findings));
    targets.extend(memory());
    targets.extend(fuse(findings));
    targets.extend(crate::ribbon::targets(&findings.ribbon));
    let extra = findings.hashing.difference;
    targets.push(Target {
        what: "hashing a 32-byte key, keyed against seeded".to_owned(),
        bar: "≤ +20 ns".to_owned(),
        reached: format!("{extra:+.1} ns"),
        ok: Some(extra <= 20.0),
    });
    targets
}

/// The targets decided by comparisons.
pub fn speed(contests: &[Comparison]) -> Vec<Target> {
    let mut targets = large(contests);
    targets.extend(cached(contests));
    targets
}

fn find(contests: &[Comparison], keys: u64) -> Option<&Comparison> {
    contests.iter().find(|c| c.keys == keys && c.fpr == 0.01 && c.sort == "u64")
}

/// How many times as fast as the competitor, round by round.
fn speedup(
    comparison: Option<&Comparison>,
    (ours, way): (&str, Mode),
    (competitor, rival_way): (&str, Mode),
    times: Times,
) -> Option<f64> {
    let comparison = comparison?;
    let (ours, competitor) = (comparison.row(ours, way)?, comparison.row(competitor, rival_way)?);
    ratio(times(competitor), times(ours))
}

fn large(contests: &[Comparison]) -> Vec<Target> {
    let at = find(contests, 100_000_000);
    let against =
        |ours, way, competitor, times| speedup(at, (ours, way), (competitor, Mode::Single), times);
    let line = |times| {
        let line = (baseline::NAME, Mode::Hashed);
        speedup(at, line, (BLOCKED, Mode::Hashed), times)
    };
    let mut targets = vec![
        Target::at_most("100M: `Blocked` batch hit against a random line", 1.10, line(HIT)),
        Target::at_most("100M: `Blocked` batch miss against a random line", 1.10, line(MISS)),
    ];
    let rows: [(&str, &str, Mode, &str, Times, f64); 9] = [
        ("`Blocked` batch hit", BLOCKED, Mode::Batch, FOLD, HIT, 6.0),
        ("`Blocked` batch miss", BLOCKED, Mode::Batch, FOLD, MISS, 3.8),
        ("`Blocked` batch hit", BLOCKED, Mode::Batch, SBBF, HIT, 2.4),
        ("`Blocked` batch miss", BLOCKED, Mode::Batch, SBBF, MISS, 2.4),
        ("`Blocked` batch insert", BLOCKED, Mode::Batch, FOLD, INSERT, 6.0),
        ("`Blocked` one at a time, hit", BLOCKED, Mode::Single, FOLD, HIT, 4.0),
        ("`Blocked` one at a time, miss", BLOCKED, Mode::Single, FOLD, MISS, 2.5),
        ("`Classic` batch hit", CLASSIC, Mode::Batch, FOLD, HIT, 1.4),
        ("`Classic` batch miss", CLASSIC, Mode::Batch, FOLD, MISS, 1.7),
    ];
    for (what, ours, way, competitor, times, bar) in rows {
        let what = format!("100M: {what} against {competitor}");
        let limit = against(baseline::NAME, way, competitor, times).filter(|_| ours == BLOCKED);
        targets.push(
            Target::at_least(what, bar, against(ours, way, competitor, times)).with_limit(limit),
        );
    }
    targets
}

fn cached(contests: &[Comparison]) -> Vec<Target> {
    let at = find(contests, 100_000);
    let mut targets = Vec::new();
    for (competitor, bar) in [(FOLD, 4.0), (SBBF, 1.2)] {
        for (answer, times) in [("hit", HIT), ("miss", MISS)] {
            let what = format!("100k, in cache: `Blocked` batch {answer} against {competitor}");
            let against =
                |ours| speedup(at, (ours, Mode::Batch), (competitor, Mode::Single), times);
            targets.push(
                Target::at_least(what, bar, against(BLOCKED)).with_limit(against(baseline::NAME)),
            );
        }
    }
    targets
}

/// One target per kind: its worst rate.
fn rates(findings: &Findings) -> Vec<Target> {
    let mut kinds: Vec<&str> = findings.rates.iter().map(|rate| rate.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let bar = |kind: &str| {
        let of_kind = || findings.rates.iter().filter(|rate| rate.kind == kind);
        let excess = |rate: &&crate::rates::Rate| rate.measured / rate.target;
        let worst = of_kind().max_by(|a, b| excess(a).total_cmp(&excess(b)))?;
        let shown = format!(
            "{:.3}× ± {:.3} at {}%",
            excess(&worst),
            worst.error / worst.target,
            100.0 * worst.target
        );
        Some(Target {
            what: format!("measured rate of `{kind}`, its worst"),
            bar: "≤ 1.02×".to_owned(),
            reached: shown,
            ok: Some(of_kind().all(crate::rates::Rate::holds)),
        })
    };
    kinds.into_iter().filter_map(bar).collect()
}

fn memory() -> impl Iterator<Item = Target> {
    const KEYS: u64 = 10_000_000;
    [(0.01, 1.045), (0.001, 1.03), (0.0001, 1.03)].into_iter().map(|(fpr, bar)| {
        let blocked = BlockedShape::for_fpr(KEYS, fpr).bits() as f64;
        let classic = ClassicShape::for_fpr(KEYS, fpr).bits as f64;
        let what = format!("`Blocked` bits / key against `Classic` at {}%", 100.0 * fpr);
        Target::at_most(what, bar, Some(blocked / classic))
    })
}

fn fuse(findings: &Findings) -> Vec<Target> {
    let mut targets = Vec::new();
    for duel in &findings.duels {
        let at = format!("{}M keys: `Fuse`", duel.keys / 1_000_000);
        // Eight bits are log2(1/p).
        let bits = Some(duel.bits_per_key / 8.0);
        targets.push(Target::at_most(format!("{at} bits / key against log2(1/p)"), 1.14, bits));
        let pairs = [
            ("lookups one at a time against xorf", 1.0, duel.lookup_single),
            ("lookups in batches against xorf", 1.0, duel.lookup_batch),
            ("build against xorf", 0.9, duel.build),
        ];
        for (what, bar, reached) in pairs {
            targets.push(Target::at_least(format!("{at} {what}"), bar, Some(reached)));
        }
    }
    if targets.is_empty() {
        targets.push(Target::at_least("`Fuse` against xorf", 1.0, None));
    }
    targets
}
