//! `cargo xtask bench engine|cli|cascade|scale|seen`: build the measuring program for speed and run it.

use crate::Trouble;
use crate::steps::{cargo, spelled};
use std::process::ExitCode;

const BENCHES: &[&str] = &["engine", "cli", "cascade", "scale", "seen"];

/// The rest of the arguments belong to the program.
pub fn run(args: &[String]) -> Result<ExitCode, Trouble> {
    let Some(which) = args.first() else {
        return Err(Trouble::Usage(format!("bench what? {}", BENCHES.join(" or "))));
    };
    if !BENCHES.contains(&which.as_str()) {
        let known = BENCHES.join(" and ");
        return Err(Trouble::Usage(format!("no bench called {which}: there are {known}")));
    }
    // What is measured must be there before the program that measures it.
    let built =
        |mut command: std::process::Command| command.status().is_ok_and(|status| status.success());
    if which == "cli" && !built(cargo("build --release -p mayhap-cli")) {
        return Err(Trouble::Failed("the command itself does not build".into()));
    }
    let mut command = cargo("run --release -p mayhap-bench --");
    let status = command.args(args).status();
    match status {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) => Err(Trouble::Failed(format!("{}: {error}", spelled(&command)))),
    }
}
