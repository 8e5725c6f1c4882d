//! An archive of the command and the module with an installer that needs no root.

use super::{BUILT, OUT, companions, copy, epoch, executable, version, write};
use crate::steps::read;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const INSTALL: &str = include_str!("install.sh");

/// Name of the archive and of the folder in it.
pub fn name() -> String {
    format!("mayhap-{}-{}-linux", version(), std::env::consts::ARCH)
}

pub fn path() -> PathBuf {
    Path::new(OUT).join(format!("{}.tar.gz", name()))
}

pub fn build() -> Result<(), String> {
    let stage = Path::new("target/dist-build/stage");
    let root = stage.join(name());
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    }
    let binary = root.join("bin/mayhap");
    copy(&Path::new(BUILT).join("mayhap"), &binary)?;
    copy(&Path::new(BUILT).join("libmayhap_module.so"), &root.join("lib/mayhap/mayhap.so"))?;
    companions(&root.join("share"))?;
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        copy(Path::new(file), &root.join("share/doc/mayhap").join(file))?;
    }
    let installer = root.join("install.sh");
    write(&installer, INSTALL)?;
    executable(&installer)?;
    executable(&binary)?;
    read(Command::new("chmod").args(["-R", "go=rX,u+rw"]).arg(&root))?;
    let plain = path().with_extension("");
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"]);
    tar.arg(format!("--mtime=@{}", epoch()?)).arg("-C").arg(stage);
    read(tar.arg("-cf").arg(&plain).arg(name()))?;
    read(Command::new("gzip").args(["-9", "-n", "-f"]).arg(&plain)).map(drop)
}
