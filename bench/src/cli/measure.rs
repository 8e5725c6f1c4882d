//! What a program costs.

use super::jobs::Job;
use std::fs::File;
use std::io::{Error, Result};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use wait4::Wait4;

/// What one run cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Processor time of all threads.
    pub cpu_s: f64,
    pub wall_s: f64,
    /// Peak memory.
    pub peak_bytes: u64,
}

/// Run all steps of a job, and add up their cost.
pub fn measured(job: &Job, folder: &Path) -> Result<Cost> {
    for file in &job.fresh {
        _ = std::fs::remove_file(folder.join(file));
    }
    let mut total = Cost::default();
    for step in &job.steps {
        let mut command = Command::new(&step.program);
        command.args(&step.args).current_dir(folder).env("LC_ALL", "C");
        command.stderr(Stdio::null());
        match &step.input {
            Some(input) => command.stdin(File::open(folder.join(input))?),
            None => command.stdin(Stdio::null()),
        };
        command.stdout(File::create(folder.join(&job.output))?);
        let start = Instant::now();
        let used = command.spawn()?.wait4()?;
        total.wall_s += start.elapsed().as_secs_f64();
        total.cpu_s += (used.rusage.utime + used.rusage.stime).as_secs_f64();
        total.peak_bytes = total.peak_bytes.max(used.rusage.maxrss);
        // A check that finds nothing exits with 1.
        if !matches!(used.status.code(), Some(0 | 1)) {
            return Err(Error::other(format!("{}: {}", job.name(), used.status)));
        }
    }
    Ok(total)
}
