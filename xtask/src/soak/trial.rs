//! One long run and what it showed: a trial is a step that also hands back what it saw.

use crate::steps::{Step, StepResult, command_line};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

/// What a test says of itself for docs/RELIABILITY.md, and what its control says.
const MARKS: [&str; 2] = ["soak: ", "control: "];

/// A long run: its name, and what it does.
pub struct Trial {
    pub name: String,
    pub run: Box<dyn Fn() -> Outcome>,
}

/// How it ended, and sentences about what was seen.
pub struct Outcome {
    pub result: StepResult,
    pub saw: Vec<String>,
}

impl Trial {
    pub fn new(name: impl Into<String>, run: impl Fn() -> Outcome + 'static) -> Trial {
        Trial { name: name.into(), run: Box::new(run) }
    }

    /// `cargo` with these arguments on tests, enlarged. A filter that matches no test is a failure.
    pub fn tests(name: &'static str, commands: &'static [&'static str]) -> Trial {
        Trial::new(name, move || {
            let mut all = Outcome { result: StepResult::Passed, saw: vec![] };
            let mut passed = 0;
            for args in commands {
                let mut test = crate::steps::cargo(args);
                if !args.contains(" -- ") {
                    test.arg("--");
                }
                // Tests that scale look for it; what they saw must not be captured.
                test.args(["--nocapture"]).env("MAYHAP_SOAK", "1");
                let mut outcome = watched(&mut test);
                let count = take_passed(&mut outcome.saw);
                if count == 0 && matches!(outcome.result, StepResult::Passed) {
                    outcome.result = StepResult::Failed(format!("cargo {args}: no test ran"));
                }
                passed += count;
                all.saw.extend(outcome.saw);
                if matches!(all.result, StepResult::Passed) {
                    all.result = outcome.result;
                }
            }
            all.saw.insert(0, format!("{passed} tests passed"));
            all
        })
    }
}

impl From<Step> for Trial {
    fn from(step: Step) -> Trial {
        Trial::new(step.name, move || Outcome { result: (step.run)(), saw: vec![] })
    }
}

/// Run it with its output shown, and keep the lines that tell what was seen.
pub fn watched(command: &mut Command) -> Outcome {
    let mut child = match command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(error) => {
            let why = format!("{}: {error}", command_line(command));
            return Outcome { result: StepResult::Failed(why), saw: vec![] };
        }
    };
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let saw = std::thread::scope(|scope| {
        let err = scope.spawn(move || err.map(kept).unwrap_or_default());
        let mut saw = out.map(kept).unwrap_or_default();
        saw.extend(err.join().unwrap_or_default());
        saw
    });
    let result = match child.wait() {
        Ok(status) if status.success() => StepResult::Passed,
        Ok(status) => StepResult::Failed(format!("{}: {status}", command_line(command))),
        Err(error) => StepResult::Failed(format!("{}: {error}", command_line(command))),
    };
    Outcome { result, saw }
}

/// Show a stream line by line; what is kept of it.
fn kept(stream: impl Read) -> Vec<String> {
    let mut stream = BufReader::new(stream);
    let (mut line, mut kept) = (Vec::new(), Vec::new());
    while stream.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        println!("{text}");
        kept.extend(observation(&text));
        line.clear();
    }
    kept
}

/// What a line of output tells: a test's own words, cargo's count of tests, the fuzzer's count of runs.
fn observation(line: &str) -> Option<String> {
    // `--nocapture` prints the words behind the test's name.
    let said = MARKS.iter().filter_map(|mark| line.find(mark)).min();
    if let Some(at) = said {
        let said = &line[at..];
        return Some(said.strip_prefix(MARKS[0]).unwrap_or(said).to_owned());
    }
    let counted = |line: &str, end: &str| line.split(end).next().map(str::to_owned);
    if let Some(rest) = line.strip_prefix("test result: ok. ") {
        return counted(rest, ";");
    }
    let rest = line.strip_prefix("Done ")?;
    counted(rest, " second").map(|count| format!("{count} s").replace(" runs in ", " inputs in "))
}

/// Cargo's counts, taken out and added up.
fn take_passed(saw: &mut Vec<String>) -> u64 {
    let count = |line: &str| line.strip_suffix(" passed").and_then(|n| n.parse::<u64>().ok());
    let sum = saw.iter().filter_map(|line| count(line)).sum();
    saw.retain(|line| count(line).is_none());
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tests_and_fuzzers_say_is_kept() {
        let seen = [
            "test a::b ... soak: 500 kills, 0 broken files",
            "control: 7 of 9 broken",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured",
            "Done 81234 runs in 61 second(s)",
            "anything else",
        ];
        let kept: Vec<String> = seen.iter().filter_map(|line| observation(line)).collect();
        let want = [
            "500 kills, 0 broken files",
            "control: 7 of 9 broken",
            "12 passed",
            "81234 inputs in 61 s",
        ];
        assert_eq!(kept, want);
        let mut kept = kept;
        assert_eq!(take_passed(&mut kept), 12);
        assert_eq!(kept.len(), 3);
    }

    #[test]
    fn a_command_that_fails_keeps_what_it_said() {
        let mut shell = Command::new("sh");
        let outcome = watched(shell.args(["-c", "echo soak: half; echo control: it >&2; exit 1"]));
        assert!(matches!(outcome.result, StepResult::Failed(_)));
        assert_eq!(outcome.saw, ["half", "control: it"]);
    }
}
