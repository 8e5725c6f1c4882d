//! `Quotient` beside other filters with removal, and beside `Blocked`: full filters, looked up,
//! emptied and filled, interleaved.

use crate::candidate::Mode;
use crate::comparison::{median, ratio};
use crate::ours::{BATCH, yes};
use crate::page::{self, table};
use crate::splitmix::splitmix;
use crate::targets::Target;
use mayhap::sizing::QuotientShape;
use mayhap::{Blocked, Counting, Hash, Quotient, Spec};
use rustix::time::{ClockId, clock_gettime};
use std::collections::hash_map::DefaultHasher;
use std::hint::black_box;
use std::path::Path;

/// 95% of 2²⁴ and of 2²⁰, where the powers of two that `qfilter` has are full too.
const FAR: u64 = 15_900_000;
const NEAR: u64 = 995_000;
/// Keys of one turn.
const CHUNK: u64 = 16_384;
/// Untimed lookups before a turn: the others' turns have evicted the filter from the cache.
const WARM: u64 = 4096;

/// What is timed.
const OPERATIONS: [&str; 5] = ["fill", "hit", "miss", "delete", "insert when full"];
const FILL: usize = 0;
const HIT: usize = 1;
const MISS: usize = 2;
const DELETE: usize = 3;
const INSERT: usize = 4;

/// A filter with its own methods.
trait Competitor {
    fn name(&self) -> &'static str;
    fn bits(&self) -> u64;
    fn insert(&mut self, way: Mode, keys: &[u64]);
    fn contains(&mut self, way: Mode, keys: &[u64]) -> u64;
    /// Does nothing if unsupported.
    fn remove(&mut self, way: Mode, keys: &[u64]);

    fn ways(&self) -> &'static [Mode] {
        &[Mode::Single]
    }

    fn can_remove(&self) -> bool {
        true
    }
}

/// A Mayhap kind, and the buffers of a caller who works in batches.
struct Ours<F> {
    filter: F,
    hashes: Vec<Hash>,
    answers: Vec<bool>,
}

fn ours<F>(filter: F) -> Ours<F> {
    Ours { filter, hashes: Vec::new(), answers: Vec::new() }
}

macro_rules! ours {
    ($kind:ty, $name:literal, $remove:expr, $remove_batch:expr, $can:literal) => {
        impl Competitor for Ours<$kind> {
            fn name(&self) -> &'static str {
                $name
            }

            fn bits(&self) -> u64 {
                8 * self.filter.as_bytes().len() as u64
            }

            fn insert(&mut self, way: Mode, keys: &[u64]) {
                let Ours { filter, hashes, .. } = self;
                if way == Mode::Single {
                    keys.iter().for_each(|key| _ = filter.insert(key));
                    return;
                }
                for keys in keys.chunks(BATCH) {
                    filter.scheme().hash_batch(keys, hashes);
                    filter.insert_batch(hashes);
                }
            }

            fn contains(&mut self, way: Mode, keys: &[u64]) -> u64 {
                let Ours { filter, hashes, answers } = self;
                if way == Mode::Single {
                    return keys.iter().map(|key| u64::from(filter.contains(key))).sum();
                }
                let mut hits = 0;
                for keys in keys.chunks(BATCH) {
                    filter.scheme().hash_batch(keys, hashes);
                    filter.contains_batch(hashes, answers);
                    hits += yes(answers);
                }
                hits
            }

            fn remove(&mut self, way: Mode, keys: &[u64]) {
                let Ours { filter, hashes, .. } = self;
                if way == Mode::Single {
                    keys.iter().for_each(|key| $remove(filter, *key));
                    return;
                }
                for keys in keys.chunks(BATCH) {
                    filter.scheme().hash_batch(keys, hashes);
                    $remove_batch(filter, hashes);
                }
            }

            fn ways(&self) -> &'static [Mode] {
                &[Mode::Single, Mode::Batch]
            }

            fn can_remove(&self) -> bool {
                $can
            }
        }
    };
}

const QUOTIENT: &str = "mayhap Quotient";
const COUNTING: &str = "mayhap Counting";
const BLOCKED: &str = "mayhap Blocked";
const QFILTER: &str = "qfilter";
const CUCKOO: &str = "cuckoofilter";

ours!(
    Quotient,
    "mayhap Quotient",
    |filter: &mut Quotient, key: u64| _ = filter.remove(key),
    |filter: &mut Quotient, hashes: &[Hash]| _ = filter.remove_batch(hashes),
    true
);
ours!(
    Counting,
    "mayhap Counting",
    |filter: &mut Counting, key: u64| _ = filter.remove(key),
    |filter: &mut Counting, hashes: &[Hash]| _ = filter.remove_batch(hashes),
    true
);
ours!(
    Blocked,
    "mayhap Blocked",
    |_: &mut Blocked, _: u64| (),
    |_: &mut Blocked, _: &[Hash]| (),
    false
);

impl Competitor for qfilter::Filter {
    fn name(&self) -> &'static str {
        QFILTER
    }

    fn bits(&self) -> u64 {
        8 * self.memory_usage() as u64
    }

    fn insert(&mut self, _: Mode, keys: &[u64]) {
        keys.iter().for_each(|key| _ = self.insert_duplicated(key));
    }

    fn contains(&mut self, _: Mode, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from(qfilter::Filter::contains(self, key))).sum()
    }

    fn remove(&mut self, _: Mode, keys: &[u64]) {
        keys.iter().for_each(|key| _ = qfilter::Filter::remove(self, key));
    }
}

impl Competitor for cuckoofilter::CuckooFilter<DefaultHasher> {
    fn name(&self) -> &'static str {
        CUCKOO
    }

    fn bits(&self) -> u64 {
        8 * self.memory_usage() as u64
    }

    fn insert(&mut self, _: Mode, keys: &[u64]) {
        keys.iter().for_each(|key| _ = self.add(key));
    }

    fn contains(&mut self, _: Mode, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from(cuckoofilter::CuckooFilter::contains(self, key))).sum()
    }

    fn remove(&mut self, _: Mode, keys: &[u64]) {
        keys.iter().for_each(|key| _ = self.delete(key));
    }
}

/// One mode of one filter: nanoseconds per key, one for each round.
struct Row {
    name: &'static str,
    way: Mode,
    times: [Vec<f64>; OPERATIONS.len()],
    bits_per_key: f64,
    false_positives: u64,
    asked: u64,
}

/// All filters at one size.
struct Match {
    keys: u64,
    rows: Vec<Row>,
}

/// The cost of growing a filter by one bit.
struct Growth {
    keys: u64,
    nanoseconds: f64,
    lost: u64,
    rate_changed: bool,
}

/// All results.
struct Findings {
    matches: Vec<Match>,
    growth: Growth,
}

/// Measure, at both sizes.
fn measure(quick: bool) -> Findings {
    let rounds = if quick { 31 } else { 101 };
    let matches = [NEAR, FAR].map(|keys| compare(keys, rounds)).into();
    Findings { matches, growth: growth(if quick { 1_000_000 } else { 10_000_000 }) }
}

/// Measure, print, and write the section of the page unless it is a quick run.
pub fn run(quick: bool, docs: &Path) -> Result<(), String> {
    let findings = measure(quick);
    let text = text(&findings);
    println!("{text}");
    if quick {
        return Ok(());
    }
    page::write_part(docs, page::QUOTIENT, &text)
        .map_err(|error| format!("writing the page: {error}"))
}

fn key(i: u64) -> u64 {
    splitmix(i ^ 0x5eed_0000_0000_0000)
}

fn compare(keys: u64, rounds: u64) -> Match {
    eprintln!("Quotient beside others, {keys} keys");
    let spec = Spec::new(keys, 0.01).expect("a sane rate");
    let mut competitors: Vec<Box<dyn Competitor>> = vec![
        Box::new(ours(Quotient::new(spec).expect("memory for a filter"))),
        Box::new(qfilter::Filter::new(keys, 0.01).expect("a sane size")),
        Box::new(ours(Counting::new(spec).expect("memory for a filter"))),
        Box::new(ours(Blocked::new(spec).expect("memory for a filter"))),
        Box::new(cuckoofilter::CuckooFilter::<DefaultHasher>::with_capacity(keys as usize)),
    ];
    let mut rows: Vec<Vec<Row>> =
        competitors.iter().map(|competitor| rows_of(&**competitor)).collect();
    fill(&mut competitors, &mut rows, keys);
    for round in 0..rounds {
        for turn in 0..competitors.len() {
            let at = (turn + round as usize) % competitors.len();
            let (competitor, rows) = (&mut competitors[at], &mut rows[at]);
            for (way, row) in rows.iter_mut().enumerate() {
                let draw = |salt: u64| splitmix(round * 8 + 2 * way as u64 + salt) % (keys - CHUNK);
                let (hit, gone) = (draw(0), draw(1));
                let absent = (1 << 40) + (round * 2 + way as u64) * CHUNK;
                let warm: Vec<u64> = (0..WARM).map(|i| key((1 << 41) + i * (round + 1))).collect();
                black_box(competitor.contains(row.way, &warm));
                let present: Vec<u64> = (hit..hit + CHUNK).map(key).collect();
                row.times[HIT]
                    .push(timed(|| _ = black_box(competitor.contains(row.way, &present))));
                let absent: Vec<u64> = (absent..absent + CHUNK).map(key).collect();
                let mut wrong = 0;
                row.times[MISS].push(timed(|| wrong = competitor.contains(row.way, &absent)));
                (row.false_positives, row.asked) = (row.false_positives + wrong, row.asked + CHUNK);
                if competitor.can_remove() {
                    let gone: Vec<u64> = (gone..gone + CHUNK).map(key).collect();
                    row.times[DELETE].push(timed(|| competitor.remove(row.way, &gone)));
                    row.times[INSERT].push(timed(|| competitor.insert(row.way, &gone)));
                }
            }
        }
    }
    for (competitor, rows) in competitors.iter_mut().zip(&mut rows) {
        rows.iter_mut().for_each(|row| row.bits_per_key = competitor.bits() as f64 / keys as f64);
        let mut lost = 0;
        for start in (0..keys).step_by(1 << 16) {
            let chunk: Vec<u64> = (start..(start + (1 << 16)).min(keys)).map(key).collect();
            lost += chunk.len() as u64 - competitor.contains(Mode::Batch, &chunk);
        }
        assert!(
            lost == 0 || !competitor.name().starts_with("mayhap"),
            "{} lost {lost}",
            competitor.name()
        );
    }
    Match { keys, rows: rows.into_iter().flatten().collect() }
}

fn rows_of(competitor: &dyn Competitor) -> Vec<Row> {
    let row = |way: &Mode| Row {
        name: competitor.name(),
        way: *way,
        times: Default::default(),
        bits_per_key: 0.0,
        false_positives: 0,
        asked: 0,
    };
    competitor.ways().iter().map(row).collect()
}

/// All filters get the same chunks in turn; two modes of filling one take rounds in turn.
fn fill(competitors: &mut [Box<dyn Competitor>], rows: &mut [Vec<Row>], keys: u64) {
    let chunk = (keys / 128).max(1);
    for round in 0..keys.div_ceil(chunk) {
        let range = round * chunk..((round + 1) * chunk).min(keys);
        let chunk: Vec<u64> = range.clone().map(key).collect();
        for (competitor, rows) in competitors.iter_mut().zip(rows.iter_mut()) {
            let ways = rows.len();
            for (at, row) in rows.iter_mut().enumerate() {
                let is_turn = round as usize % ways == at;
                let time = match is_turn {
                    true => timed(|| competitor.insert(row.way, &chunk)) * CHUNK as f64,
                    false => f64::NAN,
                };
                row.times[FILL].push(time / chunk.len() as f64);
            }
        }
    }
}

/// Nanoseconds per key of a chunk.
fn timed(work: impl FnOnce()) -> f64 {
    let start = cpu_nanoseconds();
    work();
    (cpu_nanoseconds() - start) / CHUNK as f64
}

/// CPU time of this thread so far. Turns of slow filters are long enough to be interrupted, so
/// wall-clock time would include other programs.
fn cpu_nanoseconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn growth(keys: u64) -> Growth {
    let spec = Spec::new(keys, 0.01).expect("a sane rate");
    let mut hashes: Vec<Hash> = (0..keys).map(|i| Hash::from_u64(key(i))).collect();
    let full = Quotient::from_hashes(spec, &mut hashes).expect("memory for a filter");
    let mut took = Vec::new();
    let mut grown = full.clone();
    for _ in 0..5 {
        grown = full.clone();
        let start = cpu_nanoseconds();
        assert!(grown.grow().expect("memory for a filter"));
        took.push((cpu_nanoseconds() - start) / keys as f64);
    }
    let mut answers = Vec::new();
    grown.contains_batch(&hashes, &mut answers);
    let lost = answers.iter().filter(|yes| !**yes).count() as u64;
    let rate_changed = full.fpr_now() != grown.fpr_now();
    Growth { keys, nanoseconds: median(took).unwrap_or(f64::NAN), lost, rate_changed }
}

impl Match {
    fn row(&self, name: &str, way: Mode) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name && row.way == way)
    }

    /// The ratio of our time to the other's.
    fn over(&self, way: Mode, (name, their_way): (&str, Mode), operation: usize) -> Option<f64> {
        let (ours, theirs) = (self.row(QUOTIENT, way)?, self.row(name, their_way)?);
        match operation {
            // Filled in different rounds.
            FILL => {
                let middle = |row: &Row| median(row.times[FILL].iter().copied());
                Some(middle(ours)? / middle(theirs)?)
            }
            _ => ratio(&ours.times[operation], &theirs.times[operation]),
        }
    }
}

/// The targets, and what was reached.
fn targets(findings: &Findings) -> Vec<Target> {
    let mut targets = Vec::new();
    for (fpr, bar) in [(0.01, 9.5), (0.001, 12.9), (0.0001, 16.4)] {
        let shape = QuotientShape::for_fpr(FAR, fpr);
        let bits = shape.bits() as f64 / FAR as f64;
        targets.push(Target {
            what: format!("`Quotient` bits per key at {}%", 100.0 * fpr),
            bar: format!("≤ {bar}"),
            reached: format!("{bits:.2}"),
            ok: Some(bits <= bar && shape.fpr_at(FAR) <= fpr),
        });
    }
    for Match { keys, rows } in &findings.matches {
        let Some(row) = rows.first() else { continue };
        let rate = row.false_positives as f64 / row.asked as f64;
        targets.push(Target {
            what: format!("`Quotient`, {} keys: measured rate at 1%", crate::report::amount(*keys)),
            bar: "≤ 1%".to_owned(),
            reached: format!("{:.3}%", 100.0 * rate),
            ok: Some(rate <= 0.01),
        });
    }
    let rows: [(Mode, &str, Mode, usize, f64); 11] = [
        (Mode::Single, QFILTER, Mode::Single, HIT, 0.75),
        (Mode::Single, QFILTER, Mode::Single, MISS, 0.8),
        (Mode::Single, QFILTER, Mode::Single, DELETE, 0.2),
        (Mode::Single, QFILTER, Mode::Single, INSERT, 0.25),
        (Mode::Batch, COUNTING, Mode::Batch, HIT, 0.45),
        (Mode::Batch, COUNTING, Mode::Batch, MISS, 0.4),
        (Mode::Batch, COUNTING, Mode::Batch, DELETE, 0.85),
        (Mode::Batch, COUNTING, Mode::Batch, INSERT, 1.0),
        (Mode::Batch, BLOCKED, Mode::Batch, HIT, 4.5),
        (Mode::Batch, BLOCKED, Mode::Batch, FILL, 3.5),
        (Mode::Single, CUCKOO, Mode::Single, HIT, 1.3),
    ];
    for found in &findings.matches {
        for (way, name, their_way, operation, bar) in rows {
            let what = format!(
                "`Quotient`, {} keys, {way}: {} against {name}",
                crate::report::amount(found.keys),
                OPERATIONS[operation]
            );
            targets.push(Target::at_most(what, bar, found.over(way, (name, their_way), operation)));
        }
    }
    let Growth { keys, nanoseconds, lost, rate_changed } = findings.growth;
    targets.push(Target {
        what: format!("`Quotient`, {} keys: growing by a bit", crate::report::amount(keys)),
        bar: "≤ 30 ns per key, none lost".to_owned(),
        reached: format!("{nanoseconds:.1} ns, {lost} lost"),
        ok: Some(nanoseconds <= 30.0 && lost == 0 && !rate_changed),
    });
    targets
}

/// The section of the page.
fn text(findings: &Findings) -> String {
    let mut text = format!(
        "## Keys that are removed again\n\n\
        Written by `cargo xtask bench quotient`, on a processor with {}. Filters are full and take turns, \
        {CHUNK} keys at a time; keys are\nlooked up, removed and inserted again. Times are of this thread, \
        as other programs run beside it; ratios are medians of the ratios of\nsingle rounds. `qfilter` \
        has sizes that are powers of two, which these are; `cuckoofilter` has one rate.\n\n{}\n",
        crate::machine::vectors(),
        crate::report::targets_table(targets(findings)),
    );
    for Match { keys, rows } in &findings.matches {
        let head = [&["filter", "way", "bits per key", "rate"][..], &OPERATIONS].concat();
        let line = |row: &Row| {
            let rate = 100.0 * row.false_positives as f64 / row.asked as f64;
            let mut cells = vec![
                row.name.to_owned(),
                row.way.to_string(),
                format!("{:.2}", row.bits_per_key),
                format!("{rate:.3}%"),
            ];
            cells.extend(row.times.iter().map(|times| {
                let middle = median(times.iter().copied());
                middle.map_or("–".to_owned(), |middle| format!("{middle:.1}"))
            }));
            cells
        };
        let rows: Vec<_> = rows.iter().map(line).collect();
        text += &format!(
            "### {} keys at 1%, full; ns per key\n\n{}\n",
            crate::report::amount(*keys),
            table(&head, &rows)
        );
    }
    text
}
