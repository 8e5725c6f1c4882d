//! `cargo xtask soak [PART…]`: the long runs before a release, in parts that can be resumed.
//!
//! A step that passed is noted in `target/soak`, with the commit it passed on, and is not run again for that commit: a
//! soak that was interrupted continues where it was. `--again` runs everything again.

use crate::steps::{self, Step, StepResult, cargo, read, succeeds};
use crate::{Error, cross, live, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::rc::Rc;

const CARGO_FUZZ: &str = "0.13.2";
/// How long each parser is fuzzed, unless `MAYHAP_FUZZ_SECONDS` says otherwise.
const FUZZ_SECONDS: u32 = 1800;
/// As in the workspace's `rust-version`.
const OLDEST_RUST: &str = "1.90";
const NOTES: &str = "target/soak";

/// What makes the steps of a part.
type Part = fn() -> Result<Vec<Step>, Error>;

/// The parts, in the order in which they run.
const PARTS: &[(&str, Part)] = &[
    ("tests", enlarged_tests),
    ("oldest-rust", || Ok(vec![Step::new("the oldest compiler promised", oldest_rust)])),
    ("features", || Ok(feature_lints())),
    ("live", || Ok(live::steps())),
    ("cross", || Ok(cross::steps())),
    ("fuzz", fuzzing),
];

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    let again = args.iter().any(|arg| arg == "--again");
    let wanted: Vec<&String> = args.iter().filter(|arg| *arg != "--again").collect();
    if let Some(unknown) =
        wanted.iter().find(|name| PARTS.iter().all(|(part, _)| *part != name.as_str()))
    {
        let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        return Err(Error::Usage(format!(
            "no part called {unknown}: there are {}",
            names.join(", ")
        )));
    }
    let commit = read(Command::new("git").args(["rev-parse", "HEAD"])).map_err(Error::Failed)?;
    let commit: Rc<str> = commit.trim().into();
    let mut steps = vec![];
    for (name, part) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|one| one.as_str() == *name) {
            steps.extend(part()?.into_iter().map(|step| noted(step, commit.clone(), again)));
        }
    }
    Ok(steps::run(&steps))
}

/// The same step, noted where it passes and not run where a note says that it has.
fn noted(step: Step, commit: Rc<str>, again: bool) -> Step {
    let note = note(&step.name);
    Step::new(step.name, move || {
        if !again && fs::read_to_string(&note).is_ok_and(|passed| *passed == *commit) {
            println!("it has passed on this commit already");
            return StepResult::Passed;
        }
        let result = (step.run)();
        if matches!(result, StepResult::Passed) {
            let written = fs::create_dir_all(NOTES).and_then(|()| fs::write(&note, &*commit));
            if let Err(error) = written {
                println!("{}: {error}: it will run again", note.display());
            }
        }
        result
    })
}

/// Where a step is noted.
fn note(step: &str) -> PathBuf {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name: String = step.chars().map(|c| if is_plain(c) { c } else { '.' }).collect();
    Path::new(NOTES).join(name)
}

fn enlarged_tests() -> Result<Vec<Step>, Error> {
    Ok(vec![
        Step::command("enlarged tests", || {
            let mut test = cargo("test --release --workspace");
            test.env("MAYHAP_SOAK", "1"); // tests that scale look for it
            test
        }),
        Step::command("connections behind TLS", || {
            cargo("test -p mayhap-redis --features async,tls")
        }),
    ])
}

fn feature_lints() -> Vec<Step> {
    let lint = |(package, features): (&'static str, String)| {
        Step::command(format!("{package} with {features:?} only"), move || {
            let features = format!("--no-default-features --features={features}");
            cargo(&format!("clippy -p {package} {features} -- -D warnings"))
        })
    };
    feature_sets().into_iter().map(lint).collect()
}

fn fuzzing() -> Result<Vec<Step>, Error> {
    let targets = fuzz_targets().map_err(Error::Failed)?;
    let step = |name: String| Step::new(format!("fuzz {name}"), move || fuzz(&name));
    Ok(targets.into_iter().map(step).collect())
}

/// Every combination of the features that are not aliases of others.
fn feature_sets() -> Vec<(&'static str, String)> {
    let packages: [(&str, &[&str]); 4] = [
        ("mayhap", &["std", "alloc", "bitmap", "serde", "uuid", "bytes"]),
        ("mayhap-redis", &["async", "tls"]),
        ("mayhap-seen", &["embedded", "redis", "async", "tls"]),
        ("mayhap-cli", &["parquet-values", "tls"]),
    ];
    let sets = packages.iter().flat_map(|(package, features)| {
        (0..1u32 << features.len()).map(|set| {
            let chosen = features.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            let chosen: Vec<&str> = chosen.map(|(_, feature)| *feature).collect();
            (*package, chosen.join(","))
        })
    });
    sets.collect()
}

fn oldest_rust() -> StepResult {
    match tools::toolchain(OLDEST_RUST) {
        // Through rustup: the cargo that runs us belongs to one toolchain only.
        Ok(()) => succeeds(
            Command::new("rustup")
                .args(["run", OLDEST_RUST, "cargo", "check", "--workspace", "--all-targets"])
                .args(["--target-dir", "target/oldest"])
                .env_remove("CARGO")
                .env_remove("RUSTUP_TOOLCHAIN"),
        ),
        Err(why) => StepResult::Skipped(format!("no Rust {OLDEST_RUST}: {why}")),
    }
}

/// The targets are the files; a new one needs no line here.
fn fuzz_targets() -> Result<Vec<String>, String> {
    let folder = fs::read_dir("fuzz/fuzz_targets").map_err(|error| error.to_string())?;
    let mut names = vec![];
    for entry in folder {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        names.extend(name.to_string_lossy().strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    if names.is_empty() {
        return Err("fuzz/fuzz_targets holds no targets".into());
    }
    Ok(names)
}

fn fuzz_seconds() -> u32 {
    let asked = std::env::var("MAYHAP_FUZZ_SECONDS").ok();
    asked.and_then(|seconds| seconds.parse().ok()).unwrap_or(FUZZ_SECONDS)
}

fn fuzz(target: &str) -> StepResult {
    if let Err(why) = tools::cargo_tool("fuzz", CARGO_FUZZ) {
        return StepResult::Skipped(format!("no cargo-fuzz: {why}"));
    }
    let mut command = cargo("fuzz run");
    command
        .arg(target)
        .arg(format!("fuzz/corpus/{target}"))
        .arg("testdata") // golden files are the best seeds
        .arg("--")
        .arg(format!("-max_total_time={}", fuzz_seconds()))
        .args(["-timeout=5", "-rss_limit_mb=1024", "-max_len=65536"])
        // The sanitizers' flags are unstable, and the compiler is a stable one.
        .env("RUSTC_BOOTSTRAP", "1");
    if let Err(error) = fs::create_dir_all(format!("fuzz/corpus/{target}")) {
        return StepResult::Failed(format!("fuzz/corpus/{target}: {error}"));
    }
    succeeds(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_step_that_passed_runs_again_for_another_commit_only() {
        let name = format!("a test of soak ({})", std::process::id());
        let runs = Rc::new(Cell::new(0));
        let step = |commit: &str, again| {
            let runs = runs.clone();
            let counted = move || {
                runs.set(runs.get() + 1);
                StepResult::Passed
            };
            (noted(Step::new(name.clone(), counted), commit.into(), again).run)();
        };
        step("one", false);
        step("one", false);
        assert_eq!(runs.get(), 1);
        step("one", true);
        step("two", false);
        assert_eq!(runs.get(), 3);
        fs::remove_file(note(&name)).unwrap();
    }
}
