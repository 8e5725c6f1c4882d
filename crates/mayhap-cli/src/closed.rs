//! Standard streams that were closed when the program was started (`>&-`).
//!
//! The runtime opens `/dev/null` in their place before `main`, so that no file gets their numbers.
//! What is written there would seem to be printed. Whether a stream was closed can be told before
//! that only, which is why this looks before `main`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static STDIN: AtomicBool = AtomicBool::new(false);
static STDOUT: AtomicBool = AtomicBool::new(false);

/// Whether standard input was closed.
pub fn stdin() -> bool {
    STDIN.load(Relaxed)
}

/// Whether standard output was closed.
pub fn stdout() -> bool {
    STDOUT.load(Relaxed)
}

#[cfg(unix)]
ctor::declarative::ctor! {
    // What may run before `main`: two system calls and two stores.
    #[ctor(unsafe)]
    fn look() {
        use std::os::fd::AsFd;
        STDIN.store(std::io::stdin().as_fd().try_clone_to_owned().is_err(), Relaxed);
        STDOUT.store(std::io::stdout().as_fd().try_clone_to_owned().is_err(), Relaxed);
    }
}
