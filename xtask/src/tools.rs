//! Tools a step needs beyond cargo: found, installed, or reported missing.

use crate::steps::{StepResult, cargo, command_line, succeeds, works};
use std::path::Path;
use std::process::Command;

/// `cargo <name>`, installed from the package `cargo-<name>` of this version if missing.
pub fn cargo_tool(name: &str, version: &str) -> Result<(), String> {
    if works(cargo(name).arg("--version")) {
        return Ok(());
    }
    println!("installing cargo-{name} {version}, once");
    // Unoptimised: it builds in a fraction of the time, and our trees are small.
    fetched(&mut cargo(&format!("install --locked --debug --quiet cargo-{name}@{version}")))
}

/// The standard library for another target.
pub fn target(name: &str) -> Result<(), String> {
    fetched(Command::new("rustup").args(["target", "add", name]))
}

/// Another toolchain, without its documentation.
pub fn toolchain(version: &str) -> Result<(), String> {
    fetched(Command::new("rustup").args(["toolchain", "install", version, "--profile", "minimal"]))
}

/// A program from the system's packages, on Debian with permission to install.
pub fn program(name: &str, package: &str) -> Result<(), String> {
    if works(Command::new(name).arg("--version")) { Ok(()) } else { installed(package) }
}

/// A file from the system's packages, likewise.
pub fn file(path: &str, package: &str) -> Result<(), String> {
    if Path::new(path).exists() { Ok(()) } else { installed(package) }
}

/// A Python virtual environment in this folder, with these packages, which are imported by their
/// own names (`_` for `-`).
pub fn python(folder: &str, packages: &[&str]) -> Result<(), String> {
    let python = format!("{folder}/bin/python");
    let name = |package: &&str| package.split("==").next().unwrap_or_default().replace('-', "_");
    let names: Vec<String> = packages.iter().map(name).collect();
    if works(Command::new(&python).args(["-c", &format!("import {}", names.join(", "))])) {
        return Ok(());
    }
    println!("installing {} into {folder}, once", packages.join(", "));
    let venv = || fetched(Command::new("python3").args(["-m", "venv", folder]));
    // Debian's Python lacks the module that creates environments.
    venv().or_else(|_| installed("python3-venv").and_then(|()| venv()))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"]);
    fetched(pip.args(packages))
}

fn installed(package: &str) -> Result<(), String> {
    println!("installing {package}, once");
    let apt = |args: &[&str]| {
        let mut apt = Command::new("apt-get");
        fetched(apt.args(["-y", "-qq"]).args(args).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    // A fresh system has no package index, an old one an outdated index.
    apt(&["install", package]).or_else(|_| {
        apt(&["update"])?;
        apt(&["install", package])
    })
}

/// Whether a command that installs something worked.
pub fn fetched(command: &mut Command) -> Result<(), String> {
    match succeeds(command) {
        StepResult::Passed => Ok(()),
        _ => Err(format!("`{}` did not work here", command_line(command))),
    }
}
