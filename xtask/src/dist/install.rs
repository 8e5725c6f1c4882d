//! Packages as users get them: installed in an empty place, used, removed.

use super::{deb, tar};
use crate::sample;
use crate::steps::read;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty folder, made anew.
fn empty(name: &str) -> Result<PathBuf, String> {
    let path = std::env::current_dir().map_err(|error| error.to_string())?;
    let path = path.join("target/dist-build").join(name);
    if path.exists() {
        fs::remove_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Both packages, in a root of their own with its own list of what is installed.
pub fn debs() -> Result<(), String> {
    let root = empty("root")?;
    let database = root.join("var/lib/dpkg");
    for folder in ["info", "updates", "triggers"] {
        fs::create_dir_all(database.join(folder)).map_err(|error| error.to_string())?;
    }
    fs::write(database.join("status"), "").map_err(|error| error.to_string())?;
    let dpkg = |args: &[&str]| {
        let mut dpkg = Command::new("dpkg");
        dpkg.arg(format!("--root={}", root.display()));
        // The root has no C library of its own, and scripts find no shell in it.
        dpkg.args(["--force-depends", "--force-not-root", "--force-script-chrootless"]);
        dpkg.arg("--log=/dev/null").args(args);
        dpkg
    };
    let packages = [deb::path("mayhap")?, deb::path("mayhap-module")?];
    let before = files(&root)?;
    let mut install = dpkg(&["-i"]);
    let told = read(install.args(&packages))?;
    expect(told.contains("loadmodule /usr/lib/mayhap/mayhap.so"), "the loadmodule line")?;
    works(&root.join("usr/bin/mayhap"))?;
    expect(root.join(deb::MODULE).is_file(), "the module")?;
    for file in [
        "man/man1/mayhap.1.gz",
        "bash-completion/completions/mayhap",
        "zsh/vendor-completions/_mayhap",
    ] {
        expect(root.join("usr/share").join(file).is_file(), file)?;
    }
    read(&mut dpkg(&["--purge", "mayhap", "mayhap-module"]))?;
    let left: Vec<PathBuf> =
        files(&root)?.into_iter().filter(|path| !before.contains(path)).collect();
    expect(left.is_empty(), &format!("nothing left behind, but there is {left:?}"))
}

/// The archive, without root and with a home that has nothing in it.
pub fn archive() -> Result<(), String> {
    let (unpacked, home) = (empty("unpacked")?, empty("home")?);
    read(Command::new("tar").arg("-C").arg(&unpacked).arg("-xzf").arg(tar::path()))?;
    let mut install = Command::new(unpacked.join(tar::name()).join("install.sh"));
    let told = read(install.env("HOME", &home).env("PATH", "/usr/bin:/bin"))?;
    expect(told.contains("export PATH="), "the line for PATH")?;
    expect(told.contains("loadmodule "), "the loadmodule line")?;
    expect(home.join(".local/lib/mayhap/mayhap.so").is_file(), "the module")?;
    works(&home.join(".local/bin/mayhap"))
}

/// The main job, by an installed command in an empty environment.
fn works(mayhap: &Path) -> Result<(), String> {
    let mut dedup = Command::new(mayhap);
    let printed = read(dedup.env_clear().args(["dedup", "-q"]).arg(sample::PATH))?;
    let mut lines = std::collections::HashSet::new();
    let text = sample::text();
    let first = text.lines().filter(|line| lines.insert(*line)).count();
    expect(printed.lines().count() == first, "each line of the sample once")
}

/// Every file below a folder, apart from what dpkg keeps for itself.
fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let list = read(Command::new("find").arg(folder).args(["-not", "-path", "*/var/lib/dpkg*"]))?;
    Ok(list.lines().map(PathBuf::from).collect())
}

fn expect(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("not as promised: {what}")) }
}
