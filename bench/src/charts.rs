//! The two pictures of the page: time against size, and measured rate against target.

use crate::candidate::Mode;
use crate::chart::{Axis, Chart, Series};
use crate::comparison::{Comparison, Row, median};
use crate::engine::Findings;
use crate::report::amount;

/// Nanoseconds per key against the number of keys, for hits or misses of u64 keys at 1%.
pub fn time_against_size(findings: &Findings, answer: &str, of: fn(&Row) -> &[f64]) -> Chart {
    let contests: Vec<&Comparison> =
        findings.contests.iter().filter(|c| c.sort == "u64" && c.fpr == 0.01).collect();
    let lines = contests.first().map_or(&[][..], |comparison| &comparison.rows);
    let shown = lines.iter().filter(|row| row.way != Mode::Hashed || !row.is_ours());
    let series = shown.map(|row| Series {
        name: match row.is_ours() {
            true => format!("{}, {}", row.name, row.way),
            false => row.name.to_owned(),
        },
        points: contests
            .iter()
            .filter_map(|comparison| {
                let row = comparison.row(row.name, row.way)?;
                Some((comparison.keys as f64, median(of(row).iter().copied())?, 0.0))
            })
            .collect(),
        strong: row.name == "mayhap Blocked",
    });
    let series: Vec<Series> = series.collect();
    Chart {
        title: format!("Asking for a key: {answer}, u64 keys, 1%"),
        x: Axis {
            label: "keys in the filter",
            marks: contests.iter().map(|c| (c.keys as f64, amount(c.keys))).collect(),
        },
        y: Axis {
            label: "nanoseconds per key",
            marks: [1, 2, 5, 10, 20, 50, 100, 200, 500]
                .map(|mark| (f64::from(mark), mark.to_string()))
                .into(),
        },
        series,
    }
}

/// Measured rate over target, against the target: 1 is a kept promise.
pub fn rate_against_target(findings: &Findings) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for rate in &findings.rates {
        let point = (rate.target, rate.measured / rate.target, 2.0 * rate.error / rate.target);
        push(&mut series, format!("mayhap {}", rate.kind), point, true);
    }
    // Rivals made to a target, from the contests; xorf and cuckoofilter have rates of their own.
    let middle = findings.contests.iter().filter(|c| c.sort == "u64" && c.keys == 5_000_000);
    for comparison in middle {
        for row in comparison.rows.iter().filter(|row| row.is_filter() && !row.is_ours()) {
            let (rate, error) = row.rate();
            if row.build.is_none() && row.name != "cuckoofilter" {
                let point = (comparison.fpr, rate / comparison.fpr, 2.0 * error / comparison.fpr);
                push(&mut series, row.name.to_owned(), point, false);
            }
        }
    }
    // Lines run from the lax target to the strict one, their names beside the strict end.
    let marks = [0.05, 0.01, 0.001, 0.0001].map(|mark| (mark, format!("{}%", 100.0 * mark)));
    Chart {
        title: "The rate measured, over the rate asked for (bars: two standard errors)".to_owned(),
        x: Axis { label: "rate asked for", marks: marks.into() },
        y: Axis {
            label: "measured / asked for",
            marks: [0.5, 0.8, 1.0, 1.25, 1.5, 2.0].map(|mark| (mark, mark.to_string())).into(),
        },
        series,
    }
}

fn push(series: &mut Vec<Series>, name: String, point: (f64, f64, f64), strong: bool) {
    match series.iter_mut().find(|series| series.name == name) {
        Some(line) => line.points.push(point),
        None => series.push(Series { name, points: vec![point], strong }),
    }
}
