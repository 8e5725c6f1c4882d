//! Interleaved measurements: all filters work on the same chunk of keys, one after another.
//!
//! A machine may drift by a factor of two within minutes, so absolute times mean little and only
//! times of one round may be divided. The median of the rounds' ratios is what counts.

use crate::baseline;
use crate::candidate::{Candidate, Mode};
use crate::keys::Keys;
use std::time::Instant;

/// Keys per turn. Slow filters take a few milliseconds: in a longer turn they would be interrupted
/// more often. In a shorter one the fast ones would be timed refilling TLB and caches, which the
/// others' turns evicted, rather than at work.
const CHUNK: u64 = 32_768;
/// Filters below this many bits are meant to be in cache: a turn starts with some untimed keys,
/// since the others' turns have evicted it.
const CACHED_BITS: u64 = 8 << 20;
const WARM_KEYS: u64 = 8192;

/// One mode of one filter. Times are nanoseconds per key, one for each round; `NaN` for a round it
/// did not take part in.
pub struct Row {
    pub name: &'static str,
    pub way: Mode,
    pub insert: Vec<f64>,
    pub hit: Vec<f64>,
    pub miss: Vec<f64>,
    /// For filters built at once: the whole build.
    pub build: Option<f64>,
    pub bits_per_key: f64,
    pub probes: u64,
    pub false_positives: u64,
    /// Members that were not found.
    pub lost: u64,
}

impl Row {
    /// The false-positive rate, and its standard error.
    pub fn rate(&self) -> (f64, f64) {
        let (hits, probes) = (self.false_positives as f64, self.probes as f64);
        (hits / probes, hits.max(1.0).sqrt() / probes)
    }

    /// The raw line is a baseline, not a filter.
    pub fn is_filter(&self) -> bool {
        self.name != baseline::NAME
    }

    pub fn is_ours(&self) -> bool {
        self.name.starts_with("mayhap")
    }
}

/// All rows of one size, rate and sort of keys.
pub struct Comparison {
    pub sort: &'static str,
    pub keys: u64,
    pub fpr: f64,
    pub rows: Vec<Row>,
}

impl Comparison {
    pub fn row(&self, name: &str, way: Mode) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name && row.way == way)
    }
}

/// The median; `NaN`s are left out.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The median over the rounds of `a` over `b`.
pub fn ratio(a: &[f64], b: &[f64]) -> Option<f64> {
    median(a.iter().zip(b).map(|(a, b)| a / b))
}

/// Fill all filters and look up `rounds` chunks of hits and as many of misses.
pub fn run<K: Keys>(
    keys: u64,
    fpr: f64,
    rounds: u64,
    mut subjects: Vec<Box<dyn Candidate<K>>>,
) -> Comparison {
    let mut rows: Vec<Vec<Row>> = subjects.iter().map(|subject| rows_of(&**subject)).collect();
    let (mut chunk, mut warm) = (K::new(), K::new());
    let count = (keys / 64).clamp(1, 2 * CHUNK);
    for round in 0..keys.div_ceil(count) {
        chunk.fill(round * count..((round + 1) * count).min(keys));
        warm.fill_absent(1 << 32 | round, WARM_KEYS);
        for s in turns(round, subjects.len()) {
            let (subject, rows) = (&mut subjects[s], &mut rows[s]);
            let ways = subject.insert_ways();
            // Two modes of filling one filter take rounds in turn.
            let way = ways.get(round as usize % ways.len().max(1)).copied();
            warm_up(&mut **subject, &warm);
            let nanoseconds =
                timed(&chunk, |chunk| subject.insert(way.unwrap_or(Mode::Batch), chunk));
            for row in rows {
                row.insert.push(if Some(row.way) == way { nanoseconds } else { f64::NAN });
            }
        }
    }
    for (subject, rows) in subjects.iter_mut().zip(&mut rows) {
        let start = Instant::now();
        subject.finish();
        let build = start.elapsed().as_secs_f64() * 1e9 / keys as f64;
        for row in rows {
            row.build = subject.insert_ways().is_empty().then_some(build);
            row.bits_per_key = subject.bits() as f64 / keys as f64;
        }
    }
    let order = order(&rows);
    // A chunk for each mode: lines that one mode has just visited would be in cache for the next.
    let mut chunks = [K::new(), K::new(), K::new()];
    for round in 0..2 * rounds {
        let present = round % 2 == 0;
        for (way, chunk) in chunks.iter_mut().enumerate() {
            let draw = 3 * round + way as u64;
            match present {
                true => chunk.fill_present(keys, draw, CHUNK),
                false => chunk.fill_absent(draw, CHUNK),
            }
        }
        warm.fill_absent(1 << 33 | round, WARM_KEYS);
        for turn in turns(round / 2, order.len()) {
            let (s, r) = order[turn];
            let (subject, row) = (&mut subjects[s], &mut rows[s][r]);
            warm_up(&mut **subject, &warm);
            let mut hits = 0;
            let chunk = &chunks[row.way as usize];
            let time = timed(chunk, |chunk| hits = subject.contains(row.way, chunk));
            row.note(present, time, hits);
        }
    }
    Comparison { sort: K::NAME, keys, fpr, rows: rows.into_iter().flatten().collect() }
}

impl Row {
    fn note(&mut self, present: bool, nanoseconds: f64, hits: u64) {
        if present {
            self.hit.push(nanoseconds);
            self.lost += if self.is_filter() { CHUNK - hits } else { 0 };
        } else {
            self.miss.push(nanoseconds);
            self.probes += CHUNK;
            self.false_positives += hits;
        }
        assert!(!self.is_ours() || self.lost == 0, "{} lost {} keys", self.name, self.lost);
    }
}

fn rows_of<K: Keys>(subject: &dyn Candidate<K>) -> Vec<Row> {
    let row = |way: &Mode| Row {
        name: subject.name(),
        way: *way,
        insert: Vec::new(),
        hit: Vec::new(),
        miss: Vec::new(),
        build: None,
        bits_per_key: 0.0,
        probes: 0,
        false_positives: 0,
        lost: 0,
    };
    subject.ways().iter().map(row).collect()
}

/// The order of lookups: rows of one filter far apart, so that the others come between and evict it
/// from the cache.
fn order(rows: &[Vec<Row>]) -> Vec<(usize, usize)> {
    let mut parts = [vec![], vec![], vec![]];
    for (s, rows) in rows.iter().enumerate() {
        for r in 0..rows.len() {
            parts[(r + s) % 3].push((s, r));
        }
    }
    parts.concat()
}

/// Everybody once, each round starting with another one.
fn turns(round: u64, subjects: usize) -> impl Iterator<Item = usize> {
    (0..subjects).map(move |i| (i + round as usize) % subjects)
}

fn warm_up<K: Keys>(subject: &mut dyn Candidate<K>, warm: &K) {
    if (1..CACHED_BITS).contains(&subject.bits()) {
        subject.contains(subject.ways()[0], warm);
    }
}

/// Nanoseconds per key.
fn timed<K: Keys>(chunk: &K, work: impl FnOnce(&K)) -> f64 {
    let start = Instant::now();
    work(chunk);
    start.elapsed().as_secs_f64() * 1e9 / chunk.hashes().len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_sat_out_do_not_count() {
        assert_eq!(ratio(&[2.0, f64::NAN, 6.0, 9.0], &[1.0, 1.0, 2.0, 3.0]), Some(3.0));
        assert_eq!(ratio(&[f64::NAN], &[1.0]), None);
    }

    #[test]
    fn everybody_gets_a_turn() {
        assert_eq!(turns(1, 3).collect::<Vec<_>>(), [1, 2, 0]);
    }
}
