//! Every parser under the fuzzer, and a parser with a planted defect that it must find.

use super::trial::{Outcome, Trial, watched};
use crate::steps::{StepResult, cargo};
use crate::tools;
use std::fs;
use std::process::Command;

const CARGO_FUZZ: &str = "0.13.2";
/// How long each parser is fuzzed, unless `MAYHAP_FUZZ_SECONDS` says otherwise.
const SECONDS: u32 = 1800;
/// The target with the planted defect.
const CONTROL: &str = "planted_defect";

/// The targets are the files; a new one needs no line here.
pub fn trials() -> Vec<Trial> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/fuzz_targets");
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".rs")?.to_owned()))
        .filter(|name| name != CONTROL)
        .collect();
    names.sort();
    let trial = |name: String| Trial::new(format!("fuzz {name}"), move || fuzz(&name));
    let mut trials = vec![Trial::new("fuzz control", control)];
    trials.extend(names.into_iter().map(trial));
    trials
}

fn seconds() -> u32 {
    let asked = std::env::var("MAYHAP_FUZZ_SECONDS").ok();
    asked.and_then(|seconds| seconds.parse().ok()).unwrap_or(SECONDS)
}

fn command(target: &str, seconds: u32) -> Result<Command, String> {
    tools::cargo_tool("fuzz", CARGO_FUZZ)?;
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(&corpus).map_err(|error| format!("{corpus}: {error}"))?;
    let mut command = cargo("fuzz run");
    command
        .arg(target)
        .arg(corpus)
        .arg("testdata") // golden files are the best seeds
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=5", "-rss_limit_mb=1024", "-max_len=65536"])
        // The sanitizers' flags are unstable, and the compiler is a stable one.
        .env("RUSTC_BOOTSTRAP", "1");
    Ok(command)
}

fn fuzz(target: &str) -> Outcome {
    match command(target, seconds()) {
        Ok(mut command) => watched(&mut command),
        Err(why) => Outcome { result: StepResult::Skipped(why), saw: vec![] },
    }
}

/// The defect must be found within a minute.
fn control() -> Outcome {
    let mut outcome = match command(CONTROL, 60) {
        Ok(mut command) => watched(&mut command),
        Err(why) => return Outcome { result: StepResult::Skipped(why), saw: vec![] },
    };
    let found = fs::read_dir(format!("fuzz/artifacts/{CONTROL}"))
        .is_ok_and(|files| files.flatten().count() > 0);
    outcome.result = match outcome.result {
        StepResult::Failed(_) if found => {
            outcome.saw = vec!["control: the planted defect was found".into()];
            _ = fs::remove_dir_all(format!("fuzz/artifacts/{CONTROL}"));
            StepResult::Passed
        }
        StepResult::Failed(why) => StepResult::Failed(why),
        _ => StepResult::Failed("the planted defect was not found".into()),
    };
    outcome
}
