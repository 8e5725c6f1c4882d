//! Ctrl-C and its like: stop at the next block, leave old files whole and no half ones behind.
//! And the signals that ask how far things are.

use crate::print;
use crate::progress;
use mayhap_store::replace;
use mayhap_store::text::ProgressAndCancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::{Arc, Once};
use std::thread;

/// Stop this reading when SIGINT, SIGTERM or SIGHUP comes. A second signal ends the process at
/// once: files are replaced whole, so that is safe too, if less tidy.
///
/// What whoever started us wants ignored stays ignored: SIGHUP under `nohup`, SIGINT in the
/// background of a script.
pub fn stop_on_signal(watch: &Arc<ProgressAndCancel>) {
    tell_on_signal();
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
    // Without a handler signals take their usual course.
    let Ok(mut signals) = Signals::new(heard) else { return };
    let watch = Arc::clone(watch);
    thread::spawn(move || {
        let mut signals = signals.forever();
        if signals.next().is_some() {
            watch.stop();
            replace::stop_waiting();
        }
        if signals.next().is_some() {
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
}

/// A file that would exceed `ulimit -f` is a write that fails, with a message and the temporary
/// file removed, not the end of the process.
pub fn survive_file_size_limit() {
    // Any handler will do; without one the process ends as it always has.
    _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// From now on, say on standard error how far things are whenever SIGUSR1 comes, or SIGINFO
/// (Ctrl-T) where there is such a signal. Without this SIGUSR1 would end the process.
pub fn tell_on_signal() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let heard = ASKING.iter().copied().filter(|signal| !is_ignored(*signal));
        let Ok(mut signals) = Signals::new(heard) else { return };
        thread::spawn(move || signals.forever().for_each(|_| print::line(progress::now())));
    });
}

/// The signals that ask how far things are.
#[cfg(not(any(
    target_os = "macos",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly"
)))]
const ASKING: &[i32] = &[signal_hook::consts::SIGUSR1];
/// The signals that ask how far things are.
#[cfg(any(
    target_os = "macos",
    target_os = "freebsd",
    target_os = "netbsd",
    target_os = "openbsd",
    target_os = "dragonfly"
))]
const ASKING: &[i32] = &[signal_hook::consts::SIGUSR1, signal_hook::consts::SIGINFO];

/// Whether this process was started with the signal ignored. Where the system does not tell, a
/// hang-up is left to it, as `nohup` would want.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask >> (signal - 1) & 1 == 1,
        None => signal == SIGHUP,
    }
}

/// The exit code of a run that was interrupted, as shells have it for SIGINT.
pub const INTERRUPTED: u8 = 130;
/// The exit code of a run whose reader has gone, as shells have it for SIGPIPE.
pub const BROKEN_PIPE: u8 = 141;
