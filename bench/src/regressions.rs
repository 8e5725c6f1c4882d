//! Where a competitor is better, found in the numbers automatically.

use crate::candidate::Mode;
use crate::comparison::{Comparison, Row, ratio};
use crate::report::amount;

/// Below this a difference is noise.
const NOISE: f64 = 1.03;

type Times = fn(&Row) -> &[f64];
const WORK: [(&str, Times); 3] =
    [("inserts", |row| &row.insert), ("hits", |row| &row.hit), ("misses", |row| &row.miss)];

/// Sentences, one per competitor and filter, each with the cases where it holds.
pub fn all(contests: &[Comparison]) -> Vec<String> {
    let mut losses: Vec<(String, Vec<String>)> = Vec::new();
    for comparison in contests {
        for (what, place) in speed(comparison).into_iter().chain(memory(comparison)) {
            match losses.iter_mut().find(|loss| loss.0 == what) {
                Some(loss) => loss.1.push(place),
                None => losses.push((what, vec![place])),
            }
        }
    }
    losses.sort();
    losses.into_iter().map(|(what, places)| format!("{what}: {}.", places.join(", "))).collect()
}

fn place(comparison: &Comparison) -> String {
    format!("{} {} {}%", amount(comparison.keys), comparison.sort, 100.0 * comparison.fpr)
}

fn competitors(comparison: &Comparison) -> impl Iterator<Item = &Row> {
    comparison.rows.iter().filter(|row| row.is_filter() && !row.is_ours())
}

/// Competitors faster than `Blocked` used one key at a time, or even than its batches.
fn speed(comparison: &Comparison) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for ours in
        [Mode::Batch, Mode::Single].iter().filter_map(|way| comparison.row("mayhap Blocked", *way))
    {
        for competitor in competitors(comparison) {
            for (work, times) in WORK {
                let slower = ratio(times(ours), times(competitor));
                if let Some(slower) = slower.filter(|slower| *slower > NOISE) {
                    let what = format!(
                        "`{}` is faster than `Blocked` ({}) on {work}",
                        competitor.name, ours.way
                    );
                    found.push((what, format!("{slower:.2}× ({})", place(comparison))));
                }
            }
        }
    }
    found
}

/// Competitors with less memory and no more false positives than `Blocked`.
fn memory(comparison: &Comparison) -> Vec<(String, String)> {
    // Bits do not depend on the keys: one sort is enough.
    let ours = comparison.row("mayhap Blocked", Mode::Batch).filter(|_| comparison.sort == "u64");
    let Some(ours) = ours else { return Vec::new() };
    let better = |competitor: &&Row| {
        let (rate, error) = competitor.rate();
        let as_good = rate - 2.0 * error <= 1.02 * ours.rate().0.max(comparison.fpr);
        as_good && competitor.bits_per_key * 1.005 < ours.bits_per_key
    };
    let say = |competitor: &Row| {
        let bits = format!(
            "{:.2} for {:.2} ({})",
            competitor.bits_per_key,
            ours.bits_per_key,
            place(comparison)
        );
        (format!("`{}` takes fewer bits per key than `Blocked`", competitor.name), bits)
    };
    competitors(comparison).filter(better).map(say).collect()
}
