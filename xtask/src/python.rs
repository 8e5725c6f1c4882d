//! `cargo xtask python`: the environment that the tests in Python run in, and those tests.

use crate::steps::{StepResult, cargo, succeeds};
use crate::{Error, no_arguments, tools};
use std::process::ExitCode;

/// The environment; `crates/mayhap-python/tests/python.rs` looks for it here.
pub const ENVIRONMENT: &str = "target/python";
const PACKAGES: [&str; 5] =
    ["numpy==2.4.6", "pyarrow==26.0.1", "polars==2.1.0", "pytest==9.2.0", "hypothesis==6.170.15"];

/// The step of `cargo xtask test` that comes before the tests.
pub fn environment() -> StepResult {
    match tools::python(ENVIRONMENT, &PACKAGES) {
        Ok(()) => StepResult::Passed,
        Err(why) => StepResult::Skipped(format!("no tests of the Python package: {why}")),
    }
}

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    no_arguments("python", args)?;
    if let StepResult::Skipped(why) | StepResult::Failed(why) = environment() {
        return Err(Error::Failed(why));
    }
    let mut tests = cargo("test -p mayhap-cli -p mayhap-module -p mayhap-python --test python");
    Ok(match succeeds(&mut tests) {
        StepResult::Passed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
