//! What was to be reached, and what this run reached.

use crate::contest::{Contest, Row, ratio};
use crate::engine::Findings;
use crate::limit;
use crate::subject::Way;
use mayhap::sizing::{BlockedShape, ClassicShape};

const FOLD: &str = "fastbloom (foldhash)";
const SBBF: &str = "sbbf-rs-safe";
const BLOCKED: &str = "mayhap Blocked";
const CLASSIC: &str = "mayhap Classic";

/// A promise and its outcome.
pub struct Bar {
    pub what: String,
    pub bar: String,
    pub reached: String,
    /// `None`: not measured in this run.
    pub ok: Option<bool>,
}

impl Bar {
    pub fn at_least(what: impl Into<String>, bar: f64, reached: Option<f64>) -> Bar {
        let shown = reached.map_or("not run".to_owned(), |reached| format!("{reached:.2}×"));
        let ok = reached.map(|reached| reached >= bar);
        Bar { what: what.into(), bar: format!("≥ {bar}×"), reached: shown, ok }
    }

    pub fn at_most(what: impl Into<String>, bar: f64, reached: Option<f64>) -> Bar {
        let shown = reached.map_or("not run".to_owned(), |reached| format!("{reached:.3}×"));
        let ok = reached.map(|reached| reached <= bar);
        Bar { what: what.into(), bar: format!("≤ {bar}×"), reached: shown, ok }
    }

    /// What a bare line would have reached, hashed, read and written the same way.
    fn with_limit(mut self, limit: Option<f64>) -> Bar {
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

/// All bars, in the order of the promise.
pub fn all(findings: &Findings) -> Vec<Bar> {
    let mut bars = speed(&findings.contests);
    for threads in &findings.threads {
        bars.push(Bar::at_least(threads.name, threads.bar, threads.speedup));
    }
    bars.extend(rates(findings));
    bars.extend(memory());
    bars.extend(fuse(findings));
    bars.extend(crate::quotient::bars(&findings.quotient));
    let extra = findings.hashing.difference;
    bars.push(Bar {
        what: "hashing a 32-byte key, keyed against seeded".to_owned(),
        bar: "≤ +20 ns".to_owned(),
        reached: format!("{extra:+.1} ns"),
        ok: Some(extra <= 20.0),
    });
    bars
}

/// The bars that contests decide.
pub fn speed(contests: &[Contest]) -> Vec<Bar> {
    let mut bars = large(contests);
    bars.extend(cached(contests));
    bars
}

fn find(contests: &[Contest], keys: u64) -> Option<&Contest> {
    contests.iter().find(|c| c.keys == keys && c.fpr == 0.01 && c.sort == "u64")
}

/// How many times as fast as the rival, a round at a time.
fn speedup(
    contest: Option<&Contest>,
    (ours, way): (&str, Way),
    (rival, rival_way): (&str, Way),
    times: Times,
) -> Option<f64> {
    let contest = contest?;
    let (ours, rival) = (contest.row(ours, way)?, contest.row(rival, rival_way)?);
    ratio(times(rival), times(ours))
}

fn large(contests: &[Contest]) -> Vec<Bar> {
    let at = find(contests, 100_000_000);
    let against = |ours, way, rival, times| speedup(at, (ours, way), (rival, Way::Single), times);
    let line = |times| {
        let line = (limit::NAME, Way::Hashed);
        speedup(at, line, (BLOCKED, Way::Hashed), times)
    };
    let mut bars = vec![
        Bar::at_most("100M: `Blocked` batch hit against a random line", 1.10, line(HIT)),
        Bar::at_most("100M: `Blocked` batch miss against a random line", 1.10, line(MISS)),
    ];
    let rows: [(&str, &str, Way, &str, Times, f64); 9] = [
        ("`Blocked` batch hit", BLOCKED, Way::Batch, FOLD, HIT, 6.0),
        ("`Blocked` batch miss", BLOCKED, Way::Batch, FOLD, MISS, 3.8),
        ("`Blocked` batch hit", BLOCKED, Way::Batch, SBBF, HIT, 2.4),
        ("`Blocked` batch miss", BLOCKED, Way::Batch, SBBF, MISS, 2.4),
        ("`Blocked` batch insert", BLOCKED, Way::Batch, FOLD, INSERT, 6.0),
        ("`Blocked` one at a time, hit", BLOCKED, Way::Single, FOLD, HIT, 4.0),
        ("`Blocked` one at a time, miss", BLOCKED, Way::Single, FOLD, MISS, 2.5),
        ("`Classic` batch hit", CLASSIC, Way::Batch, FOLD, HIT, 1.4),
        ("`Classic` batch miss", CLASSIC, Way::Batch, FOLD, MISS, 1.7),
    ];
    for (what, ours, way, rival, times, bar) in rows {
        let what = format!("100M: {what} against {rival}");
        let limit = against(limit::NAME, way, rival, times).filter(|_| ours == BLOCKED);
        bars.push(Bar::at_least(what, bar, against(ours, way, rival, times)).with_limit(limit));
    }
    bars
}

fn cached(contests: &[Contest]) -> Vec<Bar> {
    let at = find(contests, 100_000);
    let mut bars = Vec::new();
    for (rival, bar) in [(FOLD, 4.0), (SBBF, 1.2)] {
        for (answer, times) in [("hit", HIT), ("miss", MISS)] {
            let what = format!("100k, in cache: `Blocked` batch {answer} against {rival}");
            let against = |ours| speedup(at, (ours, Way::Batch), (rival, Way::Single), times);
            bars.push(Bar::at_least(what, bar, against(BLOCKED)).with_limit(against(limit::NAME)));
        }
    }
    bars
}

/// One bar a kind: its worst rate.
fn rates(findings: &Findings) -> Vec<Bar> {
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
        Some(Bar {
            what: format!("measured rate of `{kind}`, its worst"),
            bar: "≤ 1.02×".to_owned(),
            reached: shown,
            ok: Some(of_kind().all(crate::rates::Rate::holds)),
        })
    };
    kinds.into_iter().filter_map(bar).collect()
}

fn memory() -> impl Iterator<Item = Bar> {
    const KEYS: u64 = 10_000_000;
    [(0.01, 1.045), (0.001, 1.03), (0.0001, 1.03)].into_iter().map(|(fpr, bar)| {
        let blocked = BlockedShape::for_rate(KEYS, fpr).bits() as f64;
        let classic = ClassicShape::for_rate(KEYS, fpr).bits as f64;
        let what = format!("`Blocked` bits a key against `Classic` at {}%", 100.0 * fpr);
        Bar::at_most(what, bar, Some(blocked / classic))
    })
}

fn fuse(findings: &Findings) -> Vec<Bar> {
    let mut bars = Vec::new();
    for duel in &findings.duels {
        let at = format!("{}M keys: `Fuse`", duel.keys / 1_000_000);
        // Eight bits are log2(1/p).
        let bits = Some(duel.bits_per_key / 8.0);
        bars.push(Bar::at_most(format!("{at} bits a key against log2(1/p)"), 1.14, bits));
        let pairs = [
            ("lookups one at a time against xorf", 1.0, duel.lookup_single),
            ("lookups in batches against xorf", 1.0, duel.lookup_batch),
            ("build against xorf", 0.9, duel.build),
        ];
        for (what, bar, reached) in pairs {
            bars.push(Bar::at_least(format!("{at} {what}"), bar, Some(reached)));
        }
    }
    if bars.is_empty() {
        bars.push(Bar::at_least("`Fuse` against xorf", 1.0, None));
    }
    bars
}
