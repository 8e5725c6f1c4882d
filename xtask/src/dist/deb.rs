//! Debian packages: the command, and the module for Redis and Valkey.

use super::{BUILT, OUT, companions, copy, epoch, executable, version, write};
use crate::steps::read;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the module is, for `loadmodule`.
pub const MODULE: &str = "usr/lib/mayhap/mayhap.so";

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: mayhap
Source: built from source by `cargo xtask dist`

Files: *
Copyright: the Mayhap authors
License: MIT or Apache-2.0
 The texts of both licences are in this folder.
";

/// Printed when the module has been installed: the server must be told to load it.
const POSTINST: &str = "\
#!/bin/sh
set -e
if [ \"$1\" = configure ]; then
    echo 'Add this line to redis.conf or valkey.conf, then restart the server:'
    echo 'loadmodule /usr/lib/mayhap/mayhap.so'
fi
";

pub fn build() -> Result<(), String> {
    let command = stage("mayhap")?;
    let binary = command.join("usr/bin/mayhap");
    copy(&Path::new(BUILT).join("mayhap"), &binary)?;
    executable(&binary)?;
    companions(&command.join("usr/share"))?;
    pack(&command, "mayhap", "Bloom filters and their family on the command line", None)?;

    let module = stage("mayhap-module")?;
    copy(&Path::new(BUILT).join("libmayhap_module.so"), &module.join(MODULE))?;
    pack(
        &module,
        "mayhap-module",
        "Bloom and cuckoo filter commands for Redis and Valkey",
        Some(POSTINST),
    )
}

/// Path of a package.
pub fn path(name: &str) -> Result<PathBuf, String> {
    Ok(Path::new(OUT).join(format!("{name}_{}_{}.deb", version(), architecture()?)))
}

fn architecture() -> Result<String, String> {
    Ok(read(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned())
}

/// An empty folder with what every package has.
fn stage(name: &str) -> Result<PathBuf, String> {
    let root = Path::new("target/dist-build/stage").join(name);
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    }
    let doc = root.join("usr/share/doc").join(name);
    write(&doc.join("copyright"), COPYRIGHT)?;
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(Path::new(licence), &doc.join(licence))?;
    }
    Ok(root)
}

fn pack(root: &Path, name: &str, about: &str, postinst: Option<&str>) -> Result<(), String> {
    let (version, architecture) = (version(), architecture()?);
    let control = format!(
        "Package: {name}\nVersion: {version}\nArchitecture: {architecture}\nSection: utils\nPriority: optional\n\
         Maintainer: the Mayhap authors <mayhap@localhost>\nDepends: libc6 (>= {}.{}), libgcc-s1\nDescription: {about}\n",
        super::NEWEST_GLIBC.0,
        super::NEWEST_GLIBC.1
    );
    write(&root.join("DEBIAN/control"), control)?;
    if let Some(script) = postinst {
        let file = root.join("DEBIAN/postinst");
        write(&file, script)?;
        executable(&file)?;
    }
    // One owner, one mask, one time: the same package whoever builds it, whenever.
    read(Command::new("chmod").args(["-R", "go=rX,u+rw"]).arg(root))?;
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "-Zxz", "--build"]).arg(root).arg(path(name)?);
    read(pack.env("SOURCE_DATE_EPOCH", epoch()?)).map(drop)
}
