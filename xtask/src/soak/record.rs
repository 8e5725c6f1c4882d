//! What trials showed, one small text file each in docs/reliability/, committed with the project.

use super::trial::Outcome;
use crate::steps::{StepResult, read};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reliability");

/// The last run of a trial.
#[derive(Debug, PartialEq)]
pub struct Record {
    pub trial: String,
    /// The last change of the code: of anything but documents.
    pub commit: String,
    pub date: String,
    pub machine: String,
    pub seconds: u64,
    /// `passed`, `failed: …` or `not run: …`.
    pub result: String,
    pub saw: Vec<String>,
}

impl Record {
    pub fn new(trial: &str, commit: &str, seconds: u64, outcome: &Outcome) -> Record {
        let result = match &outcome.result {
            StepResult::Passed => "passed".to_owned(),
            StepResult::Failed(why) => format!("failed: {why}"),
            StepResult::Skipped(why) | StepResult::Missing(why) => format!("not run: {why}"),
        };
        let date = read(Command::new("date").args(["-u", "+%F"])).unwrap_or_default();
        Record {
            trial: trial.to_owned(),
            commit: commit.to_owned(),
            date: date.trim().to_owned(),
            machine: machine(),
            seconds,
            result,
            saw: outcome.saw.clone(),
        }
    }

    pub fn passed(&self) -> bool {
        self.result == "passed"
    }

    /// The record of a trial, if it was ever run.
    pub fn of(trial: &str) -> Option<Record> {
        parse(&fs::read_to_string(path(trial)).ok()?)
    }

    pub fn write(&self) -> Result<(), String> {
        let path = path(&self.trial);
        fs::create_dir_all(FOLDER)
            .and_then(|()| fs::write(&path, self.text()))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Only tests make records of nothing.
    #[cfg(test)]
    pub fn forget(trial: &str) {
        fs::remove_file(path(trial)).unwrap();
    }

    fn text(&self) -> String {
        let Record { trial, commit, date, machine, seconds, result, saw } = self;
        let mut text = format!(
            "trial: {trial}\ncommit: {commit}\ndate: {date}\nmachine: {machine}\nseconds: {seconds}\nresult: {}\n",
            result.replace('\n', " ")
        );
        saw.iter().for_each(|line| text += &format!("saw: {line}\n"));
        text
    }
}

fn parse(text: &str) -> Option<Record> {
    let field = |name: &str| {
        let of = move |line: &str| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned);
        text.lines().filter_map(of).collect::<Vec<_>>()
    };
    let one = |name: &str| field(name).into_iter().next();
    Some(Record {
        trial: one("trial")?,
        commit: one("commit")?,
        date: one("date")?,
        machine: one("machine")?,
        seconds: one("seconds")?.parse().ok()?,
        result: one("result")?,
        saw: field("saw"),
    })
}

fn path(trial: &str) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric();
    let name: String = trial.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    Path::new(FOLDER).join(words.join("-").to_lowercase() + ".txt")
}

/// The last commit that changed anything but documents: results of it hold until the next.
pub fn commit() -> Result<String, String> {
    let mut log = Command::new("git");
    log.args(["log", "-1", "--format=%h", "--", ".", ":!docs", ":!*.md", ":!.github"]);
    Ok(read(&mut log)?.trim().to_owned())
}

/// The class of this machine.
fn machine() -> String {
    let line = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let value =
            text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(':'));
        value.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kib: u64 = line("/proc/meminfo", "MemTotal")
        .split_whitespace()
        .next()
        .and_then(|kib| kib.parse().ok())
        .unwrap_or_default();
    format!(
        "{}, {cores} cores, {} GiB, {}",
        line("/proc/cpuinfo", "model name"),
        (kib + (1 << 19)) >> 20,
        std::env::consts::OS
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_went() {
        let outcome = Outcome {
            result: StepResult::Passed,
            saw: vec!["500 kills".into(), "control: 3 of 5 broken".into()],
        };
        let record = Record::new("kill -9: files", "abc", 61, &outcome);
        assert_eq!(parse(&record.text()), Some(record));
        assert_eq!(parse("trial: x\n"), None);
    }

    #[test]
    fn every_trial_has_a_file_of_its_own() {
        assert_eq!(path("kill -9: files"), Path::new(FOLDER).join("kill-9-files.txt"));
        assert_ne!(path("a b"), path("a c"));
    }
}
