//! `cargo xtask bench WHAT`: build the measuring program for speed and run it.

use crate::Trouble;
use crate::steps::{cargo, spelled};
use std::process::ExitCode;

const BENCHES: &[&str] = &["engine", "cli", "cascade", "seen", "module", "scale"];

/// The rest of the arguments belong to the program.
pub fn run(args: &[String]) -> Result<ExitCode, Trouble> {
    let Some(which) = args.first() else {
        return Err(Trouble::Usage(format!("bench what? {}", BENCHES.join(", "))));
    };
    if !BENCHES.contains(&which.as_str()) {
        let known = BENCHES.join(", ");
        return Err(Trouble::Usage(format!("no bench called {which}: there are {known}")));
    }
    // What is measured must be there before the program that measures it.
    if let "cli" | "module" = which.as_str() {
        let mut build = cargo(&format!("build --release -p mayhap-{which}"));
        if !build.status().is_ok_and(|status| status.success()) {
            return Err(Trouble::Failed(format!("{}: failed", spelled(&build))));
        }
    }
    let mut command = cargo("run --release -p mayhap-bench --");
    let status = command.args(args).status();
    match status {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) => Err(Trouble::Failed(format!("{}: {error}", spelled(&command)))),
    }
}
