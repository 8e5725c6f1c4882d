//! One writer at a time, and how long the next one waits.

use crate::numbers;
use clap::Args;
use mayhap_store::replace::{Lock, LockError};
use std::path::Path;
use std::time::Duration;

/// How long to wait for another writer.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Wait {
    /// Wait for another writer of the file to end; with a time, at most that long
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true)]
    #[arg(value_parser = numbers::duration)]
    wait: Option<Option<Duration>>,
}

impl Wait {
    /// The right to replace a file that is there.
    pub fn lock(self, path: &Path) -> Result<Lock, LockError> {
        Lock::acquire(path, self.timeout())
    }

    /// How long to wait, if anything was said about it.
    pub fn patience(self) -> Option<Duration> {
        self.wait.map(|time| time.unwrap_or(Duration::MAX))
    }

    /// How long to wait; not at all, unless asked to.
    pub fn timeout(self) -> Duration {
        self.patience().unwrap_or(Duration::ZERO)
    }

    /// The right to put a file where one may be: what somebody is writing just now must not be
    /// lost between the two.
    pub fn lock_if_there(self, path: &Path) -> Result<Option<Lock>, LockError> {
        path.is_file().then(|| self.lock(path)).transpose()
    }
}
