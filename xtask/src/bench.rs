//! `cargo xtask bench WHAT`: build the benchmark program with optimizations and run it.

use crate::Error;
use crate::steps::{cargo, command_line};
use std::process::ExitCode;

const BENCHES: &[&str] =
    &["engine", "quotient", "cli", "cascade", "seen", "module", "cuckoo", "scale", "readme"];

/// The other arguments are passed to the program.
pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    let Some(which) = args.first() else {
        return Err(Error::Usage(format!("bench what? {}", BENCHES.join(", "))));
    };
    if !BENCHES.contains(&which.as_str()) {
        let known = BENCHES.join(", ");
        return Err(Error::Usage(format!("no bench called {which}: there are {known}")));
    }
    // What is measured must be built before the program that measures it.
    let built = match which.as_str() {
        "cli" => Some("cli"),
        "module" | "cuckoo" => Some("module"),
        _ => None,
    };
    if let Some(built) = built {
        let mut build = cargo(&format!("build --release -p mayhap-{built}"));
        if !build.status().is_ok_and(|status| status.success()) {
            return Err(Error::Failed(format!("{}: failed", command_line(&build))));
        }
    }
    let mut command = cargo("run --release -p mayhap-bench --");
    let status = command.args(args).status();
    match status {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) => Err(Error::Failed(format!("{}: {error}", command_line(&command)))),
    }
}
