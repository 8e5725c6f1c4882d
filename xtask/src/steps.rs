//! A list of steps, run to its end whatever fails on the way, and summed up in one line.

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// How a step ended.
pub enum Outcome {
    /// It holds.
    Passed,
    /// It could not be looked at, and why.
    Skipped(String),
    /// Nobody could look at it without bringing along what cannot be installed.
    Missing(String),
    /// It does not hold, and why.
    Failed(String),
}

/// A name for the reader, and what is done.
pub struct Step {
    pub name: String,
    pub run: Box<dyn Fn() -> Outcome>,
}

impl Step {
    pub fn new(name: impl Into<String>, run: impl Fn() -> Outcome + 'static) -> Step {
        Step { name: name.into(), run: Box::new(run) }
    }

    /// One command, which passes by exiting with 0.
    pub fn command(name: impl Into<String>, command: impl Fn() -> Command + 'static) -> Step {
        Step::new(name, move || succeeds(&mut command()))
    }
}

/// Run them all. The last line is `N passed, N failed, N skipped`; the code is 1 if any failed.
pub fn run(steps: &[Step]) -> ExitCode {
    // On a laptop a missing tool is an inconvenience; where it guards the project it is a hole.
    let strict = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let mut tally = Tally::default();
    for Step { name, run } in steps {
        println!("── {name}");
        let start = Instant::now();
        let (verdict, why) = tally.count(run(), strict);
        println!("── {name}: {verdict} in {:.1} s{why}\n", start.elapsed().as_secs_f64());
    }
    tally.troubles.iter().for_each(|trouble| println!("{trouble}"));
    println!("{}", tally.line());
    ExitCode::from(u8::from(tally.failed > 0))
}

#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
    skipped: u32,
    troubles: Vec<String>,
}

impl Tally {
    /// The verdict, and the reason to print behind it.
    fn count(&mut self, outcome: Outcome, strict: bool) -> (&'static str, String) {
        let (verdict, why) = match outcome {
            Outcome::Passed => {
                self.passed += 1;
                return ("passed", String::new());
            }
            Outcome::Skipped(why) if !strict => {
                self.skipped += 1;
                ("skipped", why)
            }
            Outcome::Missing(why) => {
                self.skipped += 1;
                ("skipped", why)
            }
            Outcome::Skipped(why) => {
                self.failed += 1;
                ("failed", format!("{why} (and with CI=true nothing may be skipped)"))
            }
            Outcome::Failed(why) => {
                self.failed += 1;
                ("failed", why)
            }
        };
        self.troubles.push(format!("{verdict}: {why}"));
        (verdict, format!(": {why}"))
    }

    fn line(&self) -> String {
        let Tally { passed, failed, skipped, .. } = self;
        format!("{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Cargo, with these arguments split at spaces.
pub fn cargo(args: &str) -> Command {
    // The cargo that runs us, not whichever comes first in the path.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args(args.split_whitespace());
    command
}

/// Run it in the open and see whether it exits with 0.
pub fn succeeds(command: &mut Command) -> Outcome {
    match command.status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("{}: {status}", spelled(command))),
        Err(error) => Outcome::Failed(format!("{}: {error}", spelled(command))),
    }
}

/// Run it and take what it prints, errors still in the open.
pub fn read(command: &mut Command) -> Result<String, String> {
    match command.stderr(Stdio::inherit()).output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(format!("{}: {}", spelled(command), output.status)),
        Err(error) => Err(format!("{}: {error}", spelled(command))),
    }
}

/// Run it quietly: does it exist and exit with 0?
pub fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The command as one would type it.
pub fn spelled(command: &Command) -> String {
    let name = std::path::Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_a_failure_only_where_strict() {
        for (strict, line) in
            [(false, "1 passed, 1 failed, 2 skipped"), (true, "1 passed, 2 failed, 1 skipped")]
        {
            let mut tally = Tally::default();
            tally.count(Outcome::Passed, strict);
            tally.count(Outcome::Failed("broken".into()), strict);
            tally.count(Outcome::Skipped("no tool".into()), strict);
            tally.count(Outcome::Missing("not sold".into()), strict);
            assert_eq!(tally.line(), line);
        }
    }

    #[test]
    fn commands_fail_by_exit_code_and_by_absence() {
        let quiet = |args| succeeds(cargo(args).stdout(Stdio::null()).stderr(Stdio::null()));
        assert!(matches!(quiet("--version"), Outcome::Passed));
        assert!(matches!(quiet("--no-such-flag"), Outcome::Failed(_)));
        let absent = succeeds(&mut Command::new("no-such-program-at-all"));
        assert!(matches!(absent, Outcome::Failed(why) if why.starts_with("no-such-program")));
    }
}
