//! Processors that do not fall asleep: waking one, in a virtual machine above all, takes longer
//! than what a server does between two questions of one client, and would drown all differences.

use std::process::{Child, Command, Stdio};

/// Keeps every processor busy with work that anything else goes before, until it is dropped.
pub struct Awake(Vec<Child>);

impl Awake {
    pub fn keep() -> Awake {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = || {
            let mut command = Command::new("nice");
            command.args(["-n", "19", "sh", "-c", "while :; do :; done"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().ok()
        };
        Awake((0..cores).filter_map(|_| spin()).collect())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for child in &mut self.0 {
            _ = child.kill().and_then(|()| child.wait());
        }
    }
}
