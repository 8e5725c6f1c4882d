//! Where a rival is better, found in the numbers, so that nobody has to be honest by hand.

use crate::contest::{Contest, Row, ratio};
use crate::report::amount;
use crate::subject::Way;

/// Below this a difference is noise.
const NOISE: f64 = 1.03;

type Times = fn(&Row) -> &[f64];
const WORK: [(&str, Times); 3] =
    [("inserts", |row| &row.insert), ("hits", |row| &row.hit), ("misses", |row| &row.miss)];

/// Sentences, one a rival and subject, each with the places where it holds.
pub fn all(contests: &[Contest]) -> Vec<String> {
    let mut losses: Vec<(String, Vec<String>)> = Vec::new();
    for contest in contests {
        for (what, place) in speed(contest).into_iter().chain(memory(contest)) {
            match losses.iter_mut().find(|loss| loss.0 == what) {
                Some(loss) => loss.1.push(place),
                None => losses.push((what, vec![place])),
            }
        }
    }
    losses.sort();
    losses.into_iter().map(|(what, places)| format!("{what}: {}.", places.join(", "))).collect()
}

fn place(contest: &Contest) -> String {
    format!("{} {} {}%", amount(contest.keys), contest.sort, 100.0 * contest.fpr)
}

fn rivals(contest: &Contest) -> impl Iterator<Item = &Row> {
    contest.rows.iter().filter(|row| row.is_filter() && !row.is_ours())
}

/// Rivals faster than `Blocked` used one key at a time, or even than its batches.
fn speed(contest: &Contest) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for ours in
        [Way::Batch, Way::Single].iter().filter_map(|way| contest.row("mayhap Blocked", *way))
    {
        for rival in rivals(contest) {
            for (work, times) in WORK {
                let slower = ratio(times(ours), times(rival));
                if let Some(slower) = slower.filter(|slower| *slower > NOISE) {
                    let what = format!(
                        "`{}` is faster than `Blocked` ({}) on {work}",
                        rival.name, ours.way
                    );
                    found.push((what, format!("{slower:.2}× ({})", place(contest))));
                }
            }
        }
    }
    found
}

/// Rivals with less memory and no more wrong answers than `Blocked`.
fn memory(contest: &Contest) -> Vec<(String, String)> {
    // Bits are bits, whatever the keys: one sort says it all.
    let ours = contest.row("mayhap Blocked", Way::Batch).filter(|_| contest.sort == "u64");
    let Some(ours) = ours else { return Vec::new() };
    let better = |rival: &&Row| {
        let (rate, error) = rival.rate();
        let as_good = rate - 2.0 * error <= 1.02 * ours.rate().0.max(contest.fpr);
        as_good && rival.bits_per_key * 1.005 < ours.bits_per_key
    };
    let say = |rival: &Row| {
        let bits =
            format!("{:.2} for {:.2} ({})", rival.bits_per_key, ours.bits_per_key, place(contest));
        (format!("`{}` takes fewer bits a key than `Blocked`", rival.name), bits)
    };
    rivals(contest).filter(better).map(say).collect()
}
