//! docs/RELIABILITY.md, written from the goals and the records of their trials.

use super::goals::{GOALS, Goal};
use super::record::Record;
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/RELIABILITY.md");

const HEAD: &str = "\
# Reliability: what was tried, and what happened

Written by `cargo xtask soak` from the records in [reliability/](reliability); not edited by hand. Each goal below names its
trials: what ran, on which commit, how long, and what it saw. Every fault test has a **control**: the same test on something that must fail,
which shows that the test can notice. A trial that has not been run says so, and a run that was shorter than the
goal says how long it was. `cargo xtask soak` runs all of it, `cargo xtask soak PART` one part; what passed on a commit is not run again.

";

pub fn write() -> Result<(), String> {
    std::fs::write(PAGE, text(Record::of)).map_err(|error| format!("{PAGE}: {error}"))
}

fn text(record: impl Fn(&str) -> Option<Record>) -> String {
    let mut text = HEAD.to_owned();
    text += "| part | goal | trials passed |\n|---|---|---|\n";
    for goal in GOALS {
        let names = goal.names();
        let passed = names.iter().filter(|name| record(name).is_some_and(|r| r.passed())).count();
        let anchor = goal.part;
        _ = writeln!(
            text,
            "| [{anchor}](#{anchor}) | {} | {passed} of {} |",
            goal.promise,
            names.len()
        );
    }
    for goal in GOALS {
        section(&mut text, goal, &record);
    }
    text
}

fn section(text: &mut String, goal: &Goal, record: impl Fn(&str) -> Option<Record>) {
    _ = write!(text, "\n## {}\n\n{}. Control: {}.\n\n", goal.part, goal.promise, goal.control);
    for name in goal.names() {
        let Some(Record { commit, date, machine, seconds, result, saw, .. }) = record(&name) else {
            _ = writeln!(text, "- **{name}**: not run yet");
            continue;
        };
        _ = writeln!(
            text,
            "- **{name}**: {result}; {date}, commit {commit}, {}, {machine}",
            lasted(seconds)
        );
        saw.iter().for_each(|line| _ = writeln!(text, "  - {line}"));
    }
}

fn lasted(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        _ => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page is that of the records.
    #[test]
    fn the_page_is_written_and_not_edited() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        assert!(page == text(Record::of), "run `cargo xtask soak page`");
    }

    #[test]
    fn what_was_not_run_is_said() {
        let page = text(|_| None);
        assert!(page.contains("not run yet") && page.contains("| 0 of "));
    }
}
