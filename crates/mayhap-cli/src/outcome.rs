//! What became of a filter that was built or changed: a summary, and a warning if it is overfull.

use crate::exit::Exit;
use crate::globals::Globals;
use crate::numbers::{bytes, grouped, known_estimate, percent, plural, rate_flag, rounded, spoken};
use crate::print;
use mayhap::{AnyFilter, Kind};
use mayhap_store::keys::{Rules, Tally};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// What became of a filter.
pub struct Outcome<'a> {
    /// `built`, `added to`, …
    pub verb: &'static str,
    pub path: &'a Path,
    pub filter: &'a AnyFilter,
    pub tally: Tally,
    /// Keys that a filter of integers cannot hold.
    pub no_integers: u64,
    /// Keys taken out, where any were to be.
    pub removed: Option<u64>,
    pub took: Duration,
    /// Whether the filter itself went to standard output, where nothing else may then go.
    pub to_stdout: bool,
}

impl Outcome<'_> {
    /// Say it: to people on standard error, to programs on standard output.
    pub fn say(&self, rules: &Rules, globals: &Globals) -> anyhow::Result<()> {
        if globals.json && !self.to_stdout {
            print::json(&self.json())?;
        } else if !globals.quiet {
            print::say(self.text());
        }
        if globals.quiet {
            return Ok(());
        }
        if self.left_out() > 0 {
            let hint = "a bitmap holds integers; --kind blocked holds any key";
            let what = format!("lines left out that are no integers: {}", grouped(self.left_out()));
            print::warning(&what, Some(hint));
        } else {
            print::unparsed(self.tally, rules, globals);
        }
        if let Some((what, hint)) = overfull(self.filter) {
            print::warning(&format!("{}: {what}", self.path.display()), Some(&hint));
        }
        Ok(())
    }

    /// 0, or 2 where it is overfull (or lost keys) and that was not to be.
    pub fn exit(&self, strict: bool) -> Exit {
        let amiss = self.left_out() > 0 || overfull(self.filter).is_some();
        if strict && amiss { Exit::Trouble } else { Exit::Yes }
    }

    /// Lines that an exact set of integers has no place for.
    fn left_out(&self) -> u64 {
        let missing = if self.filter.kind() == Kind::Bitmap { self.tally.missing } else { 0 };
        self.no_integers + missing
    }

    fn text(&self) -> String {
        let Outcome { verb, path, filter, tally, removed, took, .. } = self;
        let taken = removed.map_or_else(String::new, |keys| format!("{} removed, ", grouped(keys)));
        let rate = match filter.kind() {
            Kind::Bitmap => "exact".to_owned(),
            _ => format!("rate {}", percent(rate_now(filter))),
        };
        format!(
            "{verb} {}: {}, {taken}{}, {} {}, {rate}, {}",
            path.display(),
            plural(tally.records, "line"),
            plural(filter.keys(), "key"),
            filter.kind(),
            bytes(filter.bytes()),
            spoken(*took),
        )
    }

    fn json(&self) -> Value {
        let Outcome { path, filter, tally, .. } = self;
        let mut value = json!({
            "file": path.display().to_string(),
            "kind": filter.kind().name(),
            "lines": tally.records,
            "unparsed": tally.unparsed,
            "missing": tally.missing,
            "keys": filter.keys(),
            "capacity": filter.capacity(),
            "bytes": filter.bytes(),
            "rate": filter.fpr(),
            "rate_now": rate_now(filter),
            "overfull": overfull(filter).is_some(),
            "seconds": self.took.as_secs_f64(),
        });
        if self.left_out() > 0 {
            value["left_out"] = self.left_out().into();
        }
        if let Some(keys) = self.removed {
            value["removed"] = keys.into();
        }
        value
    }
}

/// The rate as the bits stand, windows looked at as of now.
pub fn rate_now<B: AsRef<[u8]>>(filter: &AnyFilter<B>) -> f64 {
    match filter {
        AnyFilter::Windowed(window) => window.fpr_now(crate::clock::now()),
        other => other.fpr_now(),
    }
}

/// More keys in than there is room for, and a rate above the one asked for: what that means, and
/// what to do.
pub fn overfull<B: AsRef<[u8]>>(filter: &AnyFilter<B>) -> Option<(String, String)> {
    let (keys, capacity, asked) = (filter.keys(), filter.capacity(), filter.fpr());
    // Where nobody said how many, who knows; and an exact set is never too full.
    if capacity == 0 || asked == 0.0 {
        return None;
    }
    let now = rate_now(filter);
    if let AnyFilter::Windowed(window) = filter {
        // Bursts are given room, so that it takes more keys than were planned for.
        let crowd = now > 1.1 * asked;
        return crowd.then(|| crowded(keys, capacity, window.window().generations(), now, asked));
    }
    if keys <= capacity || now <= asked {
        return None;
    }
    let what = format!(
        "overfull: {} where {} were planned; the rate is {} now, {} was asked for. No key is lost",
        plural(keys, "key"),
        grouped(capacity),
        percent(now),
        percent(asked)
    );
    // Twice what is in; a filter that is full to the brim cannot tell how many that are.
    let room = rounded(keys.max(known_estimate(filter.estimate()).unwrap_or(0)).saturating_mul(2));
    // Only these two have a kind that does the same and grows.
    let or = match filter.kind() {
        Kind::Blocked | Kind::Classic => ", or with --kind scalable",
        _ => "",
    };
    let hint = format!(
        "build it anew from all its keys with -n {room} -p {}{or}; `mayhap plan -n {room}` shows the cost",
        rate_flag(asked)
    );
    Some((what, hint))
}

fn crowded(keys: u64, capacity: u64, generations: u32, now: f64, asked: f64) -> (String, String) {
    let what = format!(
        "crowded: {} in the {generations} parts of the window, planned for {}; \
         the rate is {} now, {} was asked for, until they are forgotten. No key is lost",
        plural(keys, "key"),
        grouped(capacity),
        percent(now),
        percent(asked)
    );
    (what, "where so many keys come in the time, build it with a larger -n or --window".to_owned())
}
