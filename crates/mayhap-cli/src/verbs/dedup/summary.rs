//! What came by, and what the filter may have cost.

use crate::globals::Globals;
use crate::numbers::{bytes, grouped, human_duration, percent, plural, rounded};
use crate::print;
use mayhap::Kind;
use serde_json::json;
use std::time::Duration;

/// What came by.
pub struct Summary {
    pub lines: u64,
    /// Lines that were new.
    pub passed: u64,
    /// The chance to take a new line for a repeat, now, at its highest; 0 where there is none.
    pub rate: f64,
    /// `None` where all hashes are kept.
    pub kind: Option<Kind>,
    /// More lines than the filter was made for: what that means, and what to do.
    pub overfull: Option<(String, String)>,
    pub bytes: u64,
    pub took: Duration,
}

impl Summary {
    /// Say it, on standard error: standard output has the lines.
    pub fn report(&self, stats: bool, globals: &Globals) {
        if globals.quiet {
            return;
        }
        if globals.json {
            print::line(self.json());
        } else {
            print::line(self.text());
            if stats {
                print::line(self.table().trim_end());
            }
        }
        if let Some((what, hint)) = &self.overfull {
            print::warning(what, Some(hint));
        }
    }

    /// Nothing can have been taken for a repeat that was none.
    fn is_exact(&self) -> bool {
        self.kind.is_none() && self.rate == 0.0
    }

    fn repeats(&self) -> u64 {
        self.lines - self.passed
    }

    /// New lines taken for repeats, the expected number at the most: each was with the chance of
    /// its moment, and the last one's was the highest. No more than there were repeats.
    fn lost(&self) -> f64 {
        let lost = self.passed as f64 * self.rate / (1.0 - self.rate).max(f64::MIN_POSITIVE);
        lost.min(self.repeats() as f64)
    }

    fn text(&self) -> String {
        let lines = plural(self.lines, "line");
        let passed = grouped(self.passed);
        let cost = if self.is_exact() {
            "exact".to_owned()
        } else {
            format!("new lines taken for repeats: {} expected at most", significant(self.lost()))
        };
        format!("{lines}, {passed} new, {}; {cost}", plural(self.repeats(), "repeat"))
    }

    fn table(&self) -> String {
        let share = self.repeats() as f64 / (self.lines as f64).max(1.0);
        let speed = self.lines as f64 / self.took.as_secs_f64().max(1e-9);
        let kind = self.kind.map_or("128-bit hashes", Kind::name);
        let bits = 8.0 * self.bytes as f64 / (self.passed as f64).max(1.0);
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        print::table(&[
            vec!["".to_owned(), "".to_owned()],
            row("repeats", format!("{:.2}%", 100.0 * share)),
            row("kept in", format!("{kind}, {}", bytes(self.bytes))),
            row("bits a new line", format!("{bits:.1}")),
            row("rate now", percent(self.rate)),
            row("took", human_duration(self.took)),
            row("lines a second", rounded(speed as u64)),
        ])
        .trim_start_matches('\n')
        .to_owned()
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "lines": self.lines,
            "new": self.passed,
            "repeats": self.repeats(),
            "exact": self.is_exact(),
            "kind": self.kind.map(Kind::name),
            "rate_now": self.rate,
            "lost_at_most": self.lost(),
            "overfull": self.overfull.is_some(),
            "bytes": self.bytes,
            "seconds": self.took.as_secs_f64(),
        })
    }
}

/// A small number with the digits that matter: 3.5, 0.02, 1e-9.
fn significant(number: f64) -> String {
    match number {
        0.0 => "0".to_owned(),
        tiny if tiny < 0.01 => format!("{tiny:.0e}"),
        small if small < 10.0 => format!("{small:.2}"),
        large => grouped(large.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter whose bits are all set takes everything for a repeat, and cannot tell how much it
    /// lost: no more than the repeats.
    #[test]
    fn a_full_filter_lost_no_more_lines_than_it_held_back() {
        for rate in [1.0, 1.0 - 1e-16, 0.999_999] {
            let summary = Summary {
                lines: 20_000,
                passed: 386,
                rate,
                kind: Some(Kind::Blocked),
                overfull: None,
                bytes: 1,
                took: Duration::ZERO,
            };
            assert_eq!(summary.lost(), 19_614.0);
            let text = summary.text();
            assert!(text.ends_with("repeats: 19,614 expected at most"), "{text}");
        }
    }
}
