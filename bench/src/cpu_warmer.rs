//! Keeps processors from idling: waking one, especially in a virtual machine, takes longer than
//! what a server does between two requests of one client, and would drown all differences.

use std::hint::spin_loop;
use std::os::unix::process::parent_id;
use std::process::{Child, Command, Stdio};

/// The verb under which this program spins.
pub const VERB: &str = "spin";

/// Keeps every processor busy at the lowest priority, until it is dropped.
pub struct CpuWarmer(Vec<Child>);

impl CpuWarmer {
    pub fn keep() -> CpuWarmer {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = || {
            let mut command = Command::new("nice");
            command.args(["-n", "19"]).arg(std::env::current_exe().ok()?).arg(VERB);
            command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().ok()
        };
        CpuWarmer((0..cores).filter_map(|_| spin()).collect())
    }
}

/// Spin as long as the parent process lives. With pauses: two processors may be one core, and what
/// is measured on the other should have it for itself.
pub fn spin() {
    let parent = parent_id();
    while parent_id() == parent {
        (0..1_000_000).for_each(|_| spin_loop());
    }
}

impl Drop for CpuWarmer {
    fn drop(&mut self) {
        for child in &mut self.0 {
            _ = child.kill().and_then(|()| child.wait());
        }
    }
}
