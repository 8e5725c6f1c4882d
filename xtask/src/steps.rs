//! A list of steps, all run whatever fails, with a summary in one line.

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// The result of a step.
pub enum StepResult {
    /// It passed.
    Passed,
    /// It could not run, and why.
    Skipped(String),
    /// It needs something that cannot be installed automatically.
    Missing(String),
    /// It failed, and why.
    Failed(String),
}

/// A step: its name and its function.
pub struct Step {
    pub name: String,
    pub run: Box<dyn Fn() -> StepResult>,
}

impl Step {
    pub fn new(name: impl Into<String>, run: impl Fn() -> StepResult + 'static) -> Step {
        Step { name: name.into(), run: Box::new(run) }
    }

    /// One command, which passes by exiting with 0.
    pub fn command(name: impl Into<String>, command: impl Fn() -> Command + 'static) -> Step {
        Step::new(name, move || succeeds(&mut command()))
    }
}

/// Run them all. The last line is `N passed, N failed, N skipped`; the code is 1 if any failed.
pub fn run(steps: &[Step]) -> ExitCode {
    // On a laptop a missing tool is an inconvenience; in CI it is a gap.
    let strict = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let mut tally = Tally::default();
    for Step { name, run } in steps {
        println!("── {name}");
        let (start, before) = (Instant::now(), processor_seconds());
        let (verdict, why) = tally.count(run(), strict);
        let (wall, processor) = (start.elapsed().as_secs_f64(), processor_seconds() - before);
        println!("── {name}: {verdict} in {wall:.1} s, {processor:.1} s of processor time{why}\n");
    }
    tally.failures.iter().for_each(|failure| println!("{failure}"));
    println!("{}", tally.line());
    ExitCode::from(u8::from(tally.failed > 0))
}

/// What all programs that have been run and waited for have used; 0 where the system does not tell.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in brackets may hold anything. Behind it: state, 12 numbers, then ticks of the children.
    let numbers: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| numbers.get(at).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(14) + ticks(15)) / 100.0
}

#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
    skipped: u32,
    failures: Vec<String>,
}

impl Tally {
    /// The result, and the reason to print after it.
    fn count(&mut self, outcome: StepResult, strict: bool) -> (&'static str, String) {
        let (verdict, why) = match outcome {
            StepResult::Passed => {
                self.passed += 1;
                return ("passed", String::new());
            }
            StepResult::Skipped(why) if !strict => {
                self.skipped += 1;
                ("skipped", why)
            }
            StepResult::Missing(why) => {
                self.skipped += 1;
                ("skipped", why)
            }
            StepResult::Skipped(why) => {
                self.failed += 1;
                ("failed", format!("{why} (and with CI=true nothing may be skipped)"))
            }
            StepResult::Failed(why) => {
                self.failed += 1;
                ("failed", why)
            }
        };
        self.failures.push(format!("{verdict}: {why}"));
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

/// Run it with its output shown; returns whether it exits with 0.
pub fn succeeds(command: &mut Command) -> StepResult {
    match command.status() {
        Ok(status) if status.success() => StepResult::Passed,
        Ok(status) => StepResult::Failed(format!("{}: {status}", command_line(command))),
        Err(error) => StepResult::Failed(format!("{}: {error}", command_line(command))),
    }
}

/// Run it and return its output, with errors shown.
pub fn read(command: &mut Command) -> Result<String, String> {
    match command.stderr(Stdio::inherit()).output() {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(format!("{}: {}", command_line(command), output.status)),
        Err(error) => Err(format!("{}: {error}", command_line(command))),
    }
}

/// Run it quietly: does it exist and exit with 0?
pub fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// The command line as one would type it.
pub fn command_line(command: &Command) -> String {
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
            tally.count(StepResult::Passed, strict);
            tally.count(StepResult::Failed("broken".into()), strict);
            tally.count(StepResult::Skipped("no tool".into()), strict);
            tally.count(StepResult::Missing("not sold".into()), strict);
            assert_eq!(tally.line(), line);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn processor_time_of_children_is_counted() {
        let before = processor_seconds();
        let mut busy = Command::new("sh");
        busy.args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"]);
        assert!(matches!(succeeds(&mut busy), StepResult::Passed));
        assert!(processor_seconds() > before);
    }

    #[test]
    fn commands_fail_by_exit_code_and_by_absence() {
        let quiet = |args| succeeds(cargo(args).stdout(Stdio::null()).stderr(Stdio::null()));
        assert!(matches!(quiet("--version"), StepResult::Passed));
        assert!(matches!(quiet("--no-such-flag"), StepResult::Failed(_)));
        let absent = succeeds(&mut Command::new("no-such-program-at-all"));
        assert!(matches!(absent, StepResult::Failed(why) if why.starts_with("no-such-program")));
    }
}
