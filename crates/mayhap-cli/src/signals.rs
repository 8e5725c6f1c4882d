//! Ctrl-C and its like: stop at the next block, leave old files whole and no half ones behind.

use mayhap_store::keys::Watch;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Stop this reading when SIGINT, SIGTERM or SIGHUP comes. A second signal ends the process at
/// once: files are replaced whole, so that is safe too, if less tidy.
pub fn stop_on_signal(watch: &Arc<Watch>) {
    let watch = Arc::clone(watch);
    let before = AtomicBool::new(false);
    // A handler may be there already, from an earlier reading of the same run: then the signal
    // takes its usual course.
    _ = ctrlc::try_set_handler(move || {
        if before.swap(true, Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        watch.stop();
    });
}

/// The exit code of a run that was interrupted, as shells have it for SIGINT.
pub const INTERRUPTED: u8 = 130;
