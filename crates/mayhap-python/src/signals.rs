//! Ctrl-C during work that runs without the interpreter's lock.

use mayhap_store::HostError;
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// How long Python waits at most for its turn.
const EVERY: Duration = Duration::from_millis(100);

/// Gives Python its turn now and then: to take the lock more often would cost more than the work, where
/// other threads want it, too.
pub struct Signals {
    last: Instant,
}

impl Signals {
    pub fn new() -> Signals {
        Signals { last: Instant::now() }
    }

    /// Fails if a signal's handler has raised an exception. Cheap: looks at the clock.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method is of one lifetime, and all are wanted"
    )]
    pub fn check(&mut self) -> Result<(), HostError> {
        if self.last.elapsed() < EVERY {
            return Ok(());
        }
        self.last = Instant::now();
        Python::attach(|py| py.check_signals()).map_err(HostError::new)
    }
}
