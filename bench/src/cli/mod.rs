//! The `mayhap` command beside other programs that do the same work on the same files.
//!
//! Each program is run as its users run it, with its output into a file. What counts is the
//! processor time of all its threads and its peak memory, both as the system accounts them, and as
//! ratios within one round: programs take turns.

mod jobs;
mod measure;
mod targets;
mod tools;
mod verify;

use crate::page::{self, table};
use crate::report::{amount, targets_table};
use crate::{comparison, machine};
use clap::Args;
use jobs::{Job, Work};
use measure::{Cost, measured};
use std::fmt::Write;
use std::io::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use tools::Tools;

/// The amount of work.
#[derive(Args, Clone, Copy)]
pub struct Options {
    /// Seconds instead of an hour; only to see that it works
    #[arg(long)]
    pub quick: bool,
    /// Lines of the files, at least 10
    #[arg(long, value_parser = crate::number, default_value = "1e7", default_value_if("quick", "true", "300000"))]
    pub lines: u64,
    /// How often each job runs
    #[arg(long, default_value = "5", default_value_if("quick", "true", "2"))]
    pub rounds: usize,
    /// Keys of the filter that is opened for one key: 2.4 GB
    #[arg(long, value_parser = crate::number, default_value = "1930000000", default_value_if("quick", "true", "2e7"))]
    pub large_keys: u64,
}

/// Lines in a run that is written to the page.
const FULL: u64 = 10_000_000;

/// One job and what it cost, round by round.
pub struct Run {
    pub job: Job,
    pub costs: Vec<Cost>,
    /// Errors in its output: new lines lost, members missing, false positives.
    pub errors: verify::Errors,
}

/// All results of a run.
pub struct Findings {
    pub options: Options,
    pub runs: Vec<Run>,
    pub missing_tools: Vec<String>,
}

impl Findings {
    /// The run of a program at some work.
    pub fn run(&self, work: Work, program: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.job.work == work && run.job.program == program)
    }
}

/// Measure and print; a full run goes into the page too.
pub fn run(options: Options, docs: &Path) -> Result<()> {
    let folder = work_folder()?;
    corpus(&folder, options.lines)?;
    let tools = Tools::find(&folder);
    let mut runs: Vec<Run> = Job::all(&tools, &folder, options)
        .into_iter()
        .map(|job| Run { job, costs: Vec::new(), errors: verify::Errors::default() })
        .collect();
    for round in 0..options.rounds {
        for run in &mut runs {
            eprintln!("round {} of {}: {}", round + 1, options.rounds, run.job.name());
            let cost = measured(&run.job, &folder)?;
            run.costs.push(cost);
            if round == 0 {
                run.errors = verify::of(&run.job, &folder, options.lines)?;
            }
        }
    }
    let findings = Findings { options, runs, missing_tools: tools.missing };
    let text = text(&findings);
    println!("{text}");
    if options.lines >= FULL {
        page::write_part(docs, page::CLI, &text)?;
    }
    Ok(())
}

/// Beside the programs cargo builds: large files that may go with them.
fn work_folder() -> Result<PathBuf> {
    let target = std::env::current_exe()?.ancestors().nth(2).map(Path::to_owned);
    let folder = target.unwrap_or_default().join("bench-cli");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The lists of URLs. Another process makes them: the memory of this one counts in every child's
/// account, so it must stay small.
fn corpus(folder: &Path, lines: u64) -> Result<()> {
    let stamp = folder.join("lines");
    let wanted = lines.to_string();
    if std::fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    eprintln!("making {} URLs", amount(lines));
    let status =
        Command::new(std::env::current_exe()?).arg("urls").arg(folder).arg(&wanted).status()?;
    if !status.success() {
        return Err(std::io::Error::other("the URLs were not made"));
    }
    std::fs::write(stamp, wanted)
}

const METHOD: &str = "\
All programs read the same files from the page cache and write to a file. CPU is user and system
time of all threads, memory the peak resident set, as `wait4` tells them; a ratio is the median of
the ratios of single rounds. `mayhap` runs as it comes, with a thread a core, unless a row says
`-j`.
";

fn text(findings: &Findings) -> String {
    let Options { lines, rounds, .. } = findings.options;
    let mut text = format!(
        "## The command\n\nWritten by `cargo xtask bench cli`: {} URLs, {rounds} rounds.\n\n{METHOD}\n",
        amount(lines)
    );
    for (name, fact) in machine::facts().into_iter().take(2) {
        _ = writeln!(text, "- {name}: {fact}");
    }
    _ = write!(text, "\n{}", targets_table(targets::all(findings)));
    for (work, title) in [
        (Work::Dedup, "Lines printed once"),
        (Work::Build, "A filter built at 1%"),
        (Work::Check, "A list checked"),
        (Work::OneKey, "One key asked of a large filter"),
    ] {
        _ = write!(text, "\n### {title}\n\n{}", work_table(findings, work));
    }
    for tool in &findings.missing_tools {
        _ = writeln!(text, "\nNot measured: {tool}");
    }
    text
}

fn work_table(findings: &Findings, work: Work) -> String {
    let row = |run: &Run| {
        let median = |of: fn(&Cost) -> f64| {
            comparison::median(run.costs.iter().map(of))
                .map_or("–".to_owned(), |x| format!("{x:.2}"))
        };
        let mib = comparison::median(run.costs.iter().map(|cost| cost.peak_bytes as f64));
        let mib = mib.map_or("–".to_owned(), |bytes| format!("{:.0}", bytes / (1 << 20) as f64));
        vec![
            format!("`{}`", run.job.shown),
            median(|cost| cost.cpu_s),
            median(|cost| cost.wall_s),
            mib,
            run.errors.to_string(),
        ]
    };
    let rows: Vec<_> = findings.runs.iter().filter(|run| run.job.work == work).map(row).collect();
    table(&["program", "CPU s", "wall s", "peak MiB", "wrong"], &rows)
}
