//! The programs, their work and their arguments.

use super::Options;
use super::tools::Tools;
use std::path::{Path, PathBuf};

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Print lines once.
    Dedup,
    /// Make a filter of the distinct lines.
    Build,
    /// Print the lines that are in.
    Check,
    /// Look up one key in a large filter.
    OneKey,
}

/// One program at one work.
pub struct Job {
    pub work: Work,
    /// Its name in the targets.
    pub program: &'static str,
    /// Its name in tables.
    pub shown: String,
    pub steps: Vec<Step>,
    /// Where the standard output of the last step goes.
    pub output: String,
    /// Files that must not exist before.
    pub fresh: Vec<String>,
}

/// A command, and its standard input.
pub struct Step {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub input: Option<&'static str>,
}

impl Job {
    pub fn name(&self) -> String {
        format!("{:?}, {}", self.work, self.shown)
    }

    fn new(work: Work, program: &'static str) -> Job {
        let output = format!("out-{work:?}-{}", program.replace([' ', '-'], ""));
        let shown = program.to_owned();
        Job { work, program, shown, steps: Vec::new(), output, fresh: Vec::new() }
    }

    fn step(mut self, program: &Path, args: &str) -> Job {
        let args = args.split_whitespace().map(str::to_owned).collect();
        self.steps.push(Step { program: program.to_owned(), args, input: None });
        self
    }

    /// What the last step reads.
    fn reading(mut self, input: &'static str) -> Job {
        if let Some(step) = self.steps.last_mut() {
            step.input = Some(input);
        }
        self
    }

    fn making(mut self, file: &str) -> Job {
        self.fresh.push(file.to_owned());
        self
    }

    /// All jobs of the programs there are, Mayhap's first.
    pub fn all(tools: &Tools, folder: &Path, options: Options) -> Vec<Job> {
        let mayhap = &tools.mayhap;
        let distinct = options.lines * 7 / 10;
        let dedup = |name| Job::new(Work::Dedup, name);
        let build = |name| Job::new(Work::Build, name);
        let check = |name| Job::new(Work::Check, name);
        let mut jobs = vec![
            dedup("mayhap dedup").step(mayhap, "dedup urls.txt"),
            dedup("mayhap dedup --exact").step(mayhap, "dedup --exact urls.txt"),
            dedup("sort -u").step(Path::new("sort"), "-u urls.txt"),
            dedup("awk").step(Path::new("awk"), "!s[$0]++ urls.txt"),
        ];
        let competitor = |name: &str| tools.competitor(name);
        if let Some(runiq) = competitor("runiq") {
            jobs.push(dedup("runiq").step(runiq, "urls.txt"));
        }
        if let Some(huniq) = competitor("huniq") {
            jobs.push(dedup("huniq").step(huniq, "").reading("urls.txt"));
        }
        if let Some(xuniq) = competitor("xuniq") {
            jobs.push(dedup("xuniq").step(xuniq, "").reading("urls.txt"));
        }
        jobs.push(build("mayhap build").step(mayhap, "build -p 1% -o ours.may distinct.txt"));
        jobs.push(
            build("mayhap build -j 1").step(mayhap, "build -j 1 -p 1% -o ours.may distinct.txt"),
        );
        jobs.push(
            build("mayhap build -j 2").step(mayhap, "build -j 2 -p 1% -o ours.may distinct.txt"),
        );
        jobs.push(build("wc -l").step(Path::new("wc"), "-l distinct.txt"));
        jobs.push(check("mayhap check").step(mayhap, "check ours.may check.txt"));
        if let Some(poppy) = competitor("poppy") {
            jobs.push(
                build("poppy")
                    .making("poppy.pop")
                    .step(poppy, "create -p 0.01 poppy.pop distinct.txt"),
            );
            jobs.push(check("poppy").step(poppy, "check poppy.pop check.txt"));
        }
        if let Some(bloom) = competitor("bloom") {
            let create = format!("create -p 0.01 -n {distinct} dcso.bloom");
            jobs.push(
                build("DCSO bloom")
                    .making("dcso.bloom")
                    .step(bloom, &create)
                    .step(bloom, "insert dcso.bloom")
                    .reading("distinct.txt"),
            );
            jobs.push(check("DCSO bloom").step(bloom, "check dcso.bloom").reading("check.txt"));
        }
        // Created once: opening it is measured.
        if large_filter(mayhap, folder, options.large_keys) {
            let one = |name| Job::new(Work::OneKey, name);
            jobs.push(one("mayhap check one").step(mayhap, "check large.may").reading("one.txt"));
            jobs.push(
                one("mayhap check --no-verify one")
                    .step(mayhap, "check --no-verify large.may")
                    .reading("one.txt"),
            );
        }
        jobs
    }
}

/// A filter with a very large capacity that holds one key.
fn large_filter(mayhap: &Path, folder: &Path, keys: u64) -> bool {
    eprintln!("making a filter for {} keys", crate::report::amount(keys));
    if std::fs::write(folder.join("one.txt"), "https://example.com/\n").is_err() {
        return false;
    }
    let args = ["build", "--force", "-p", "1%", "-o", "large.may", "one.txt", "-n"];
    let mut build = std::process::Command::new(mayhap);
    build.args(args).arg(keys.to_string()).current_dir(folder);
    build.status().is_ok_and(|status| status.success())
}
