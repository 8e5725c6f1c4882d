//! The programs to compare with: found, installed, or reported missing.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the programs are.
pub struct Tools {
    pub mayhap: PathBuf,
    competitors: Vec<(&'static str, PathBuf)>,
    /// Those that are not available, and why.
    pub missing: Vec<String>,
}

/// The program, and the crate it comes from.
const CRATES: [(&str, &str); 4] =
    [("runiq", "runiq"), ("huniq", "huniq"), ("xuniq", "xuniq"), ("poppy", "poppy-filters")];

impl Tools {
    /// Find the installed ones, and install the rest into the folder: once, it takes minutes.
    pub fn find(folder: &Path) -> Tools {
        let mut tools = Tools { mayhap: beside_us("mayhap"), competitors: vec![], missing: vec![] };
        let root = folder.join("tools");
        for (program, package) in CRATES {
            let path = root.join("bin").join(program);
            if path.exists() || cargo_install(package, &root) {
                tools.competitors.push((program, path));
            } else {
                tools.missing.push(format!("{program}: `cargo install {package}` did not work"));
            }
        }
        let package = "golang-github-dcso-bloom-cli";
        let bloom = Path::new("/usr/bin/bloom");
        if bloom.exists() || apt_install(package) {
            tools.competitors.push(("bloom", bloom.to_owned()));
        } else {
            tools.missing.push(format!("DCSO bloom: `apt-get install {package}` did not work"));
        }
        tools
    }

    pub fn competitor(&self, name: &str) -> Option<&Path> {
        let competitor = self.competitors.iter().find(|(program, _)| *program == name);
        competitor.map(|(_, path)| path.as_path())
    }
}

/// A program that cargo built into the same folder.
fn beside_us(name: &str) -> PathBuf {
    let us = std::env::current_exe().unwrap_or_default();
    us.with_file_name(name)
}

fn cargo_install(package: &str, root: &Path) -> bool {
    eprintln!("installing {package}, once");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["install", "--quiet", "--locked", "--root"]).arg(root).arg(package);
    cargo.status().is_ok_and(|status| status.success())
}

fn apt_install(package: &str) -> bool {
    eprintln!("installing {package}, once");
    let mut apt = Command::new("apt-get");
    apt.args(["-y", "-qq", "install", package]).env("DEBIAN_FRONTEND", "noninteractive");
    apt.status().is_ok_and(|status| status.success())
}
