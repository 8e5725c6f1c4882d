//! `cargo xtask dist`: packages of the command and of the module, in `target/dist`, and the tests that install them.

mod deb;
mod install;
mod tar;

use crate::steps::{self, Step, StepResult, cargo, read};
use crate::{Error, no_arguments, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Where packages are written.
const OUT: &str = "target/dist";
/// What they are made of: the profile `dist` and everything that a quick build leaves out.
const BUILT: &str = "target/dist-build/dist";
/// The crates that can be published, and are built as they would be downloaded.
const CRATES: [&str; 7] = [
    "mayhap",
    "mayhap-foreign",
    "mayhap-store",
    "mayhap-redis",
    "mayhap-seen",
    "mayhap-cli",
    "mayhap-module",
];
const CYCLONEDX: &str = "0.5.9";
/// The newest symbol version of the C library that packages may need: that of Ubuntu 22.04, Debian 12 and RHEL 9.
const NEWEST_GLIBC: (u32, u32) = (2, 34);

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    no_arguments("dist", args)?;
    fs::create_dir_all(OUT).map_err(|error| Error::Failed(format!("{OUT}: {error}")))?;
    let steps = [
        Step::command("build the command", || {
            built("-p mayhap-cli --features mayhap-cli/parquet-values,mayhap-cli/tls")
        }),
        Step::command("build the module", || built("-p mayhap-module")),
        Step::new("the oldest C library they run on", glibc),
        Step::new("bill of materials", || told(bill_of_materials())),
        Step::new("Debian packages", || told(deb::build())),
        Step::new("archive with an installer", || told(tar::build())),
        Step::new("packages built twice are the same bytes", || told(reproducible())),
        Step::new("checksums", || told(checksums())),
        Step::new("Debian packages install, work and go", || told(install::debs())),
        Step::new("the archive installs into an empty home", || told(install::archive())),
        Step::command("crates as for a registry", || {
            let crates: Vec<String> = CRATES.iter().map(|name| format!("-p {name}")).collect();
            let target = "--target-dir target/dist-build";
            cargo(&format!("package --quiet --allow-dirty {target} {}", crates.join(" ")))
        }),
    ];
    Ok(steps::run(&steps))
}

fn built(what: &str) -> Command {
    let mut build = cargo(&format!("build --profile dist --target-dir target/dist-build {what}"));
    // Paths of this machine stay out of the binaries, so that they are the same wherever they are built.
    let here = std::env::current_dir().unwrap_or_default();
    let home = std::env::var("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|_| std::env::var("HOME").map(|home| Path::new(&home).join(".cargo")));
    let mut flags = format!("--remap-path-prefix={}=.", here.display());
    if let Ok(home) = home {
        flags += &format!(" --remap-path-prefix={}=cargo", home.display());
    }
    build.env("RUSTFLAGS", flags);
    build
}

fn told(result: Result<(), String>) -> StepResult {
    result.map_or_else(StepResult::Failed, |()| StepResult::Passed)
}

/// The version in the workspace's manifest.
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The time of the last commit: files in packages carry it, so that packages do not depend on the clock.
fn epoch() -> Result<String, String> {
    let time = read(Command::new("git").args(["log", "-1", "--format=%ct"]))?;
    Ok(time.trim().to_owned())
}

/// Every package in `OUT`, sorted.
fn packages() -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(OUT).map_err(|error| format!("{OUT}: {error}"))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.is_file() && !path.ends_with("SHA256SUMS"));
    paths.sort();
    Ok(paths)
}

/// The newest `GLIBC_x.y` that a binary asks for.
fn glibc() -> StepResult {
    let mut newest = (0, 0);
    for binary in ["mayhap", "libmayhap_module.so"] {
        let symbols =
            match read(Command::new("objdump").arg("-T").arg(Path::new(BUILT).join(binary))) {
                Ok(symbols) => symbols,
                Err(why) => return StepResult::Skipped(format!("no objdump: {why}")),
            };
        newest = newest.max(newest_glibc(&symbols));
    }
    println!("they need glibc {}.{} or newer", newest.0, newest.1);
    if newest <= NEWEST_GLIBC {
        return StepResult::Passed;
    }
    StepResult::Failed(format!(
        "they need glibc {}.{}; the documents promise {}.{}: build on an older system",
        newest.0, newest.1, NEWEST_GLIBC.0, NEWEST_GLIBC.1
    ))
}

fn newest_glibc(symbols: &str) -> (u32, u32) {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
        let mut numbers = rest[..end].split('.').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    versions.max().unwrap_or_default()
}

/// What the command is made of, as CycloneDX has it.
fn bill_of_materials() -> Result<(), String> {
    tools::cargo_tool("cyclonedx", CYCLONEDX)?;
    let mut sbom = cargo("cyclonedx --format json --manifest-path crates/mayhap-cli/Cargo.toml");
    sbom.args(["--all-features", "--override-filename", "sbom"]);
    tools::fetched(&mut sbom)?;
    // It writes one beside the manifest of every member.
    for member in fs::read_dir("crates").map_err(|error| error.to_string())?.flatten() {
        let made = member.path().join("sbom.json");
        if member.file_name() == "mayhap-cli" {
            copy(&made, &Path::new(OUT).join(format!("mayhap-{}.cdx.json", version())))?;
        }
        _ = fs::remove_file(made);
    }
    for other in ["bench", "examples", "xtask"] {
        _ = fs::remove_file(Path::new(other).join("sbom.json"));
    }
    Ok(())
}

/// Packages made again from the same binaries are the same bytes.
fn reproducible() -> Result<(), String> {
    let is_made_here = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".deb") || name.ends_with(".tar.gz")
    };
    let read_all = || -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        let paths = packages()?.into_iter().filter(is_made_here);
        paths.map(|path| Ok((path.clone(), fs::read(&path).map_err(|e| e.to_string())?))).collect()
    };
    let first = read_all()?;
    deb::build()?;
    tar::build()?;
    for ((path, before), (_, after)) in first.iter().zip(read_all()?) {
        if *before != after {
            return Err(format!("{} differs when it is built again", path.display()));
        }
    }
    if first.is_empty() { Err("there is no package".into()) } else { Ok(()) }
}

fn checksums() -> Result<(), String> {
    let mut sums = Command::new("sha256sum");
    sums.current_dir(OUT);
    for path in packages()? {
        sums.arg(path.file_name().unwrap_or_default());
    }
    write(&Path::new(OUT).join("SHA256SUMS"), read(&mut sums)?)
}

fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), String> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(path, contents).map_err(|error| format!("{}: {error}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    write(to, fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?)
}

/// Files that accompany the command wherever it is installed: manual pages and completions.
fn companions(share: &Path) -> Result<(), String> {
    let mayhap = Path::new(BUILT).join("mayhap");
    let man = share.join("man/man1");
    read(Command::new(&mayhap).arg("man").arg(&man))?;
    let pages = fs::read_dir(&man).map_err(|error| format!("{}: {error}", man.display()))?;
    for page in pages.flatten() {
        // Without its own name and time, or it would differ from run to run.
        read(Command::new("gzip").args(["-9", "-n", "-f"]).arg(page.path()))?;
    }
    for (shell, file) in [
        ("bash", "bash-completion/completions/mayhap"),
        ("zsh", "zsh/vendor-completions/_mayhap"),
        ("fish", "fish/vendor_completions.d/mayhap.fish"),
    ] {
        let script = read(Command::new(&mayhap).args(["completions", shell]))?;
        write(&share.join(file), script)?;
    }
    Ok(())
}

fn executable(path: &Path) -> Result<(), String> {
    read(Command::new("chmod").arg("755").arg(path)).map(drop)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_newest_symbol_version_counts() {
        let symbols =
            "0 DF *UND* 0 (GLIBC_2.9) a\n0 DF *UND* 0 (GLIBC_2.34) b\n0 (GLIBC_2.2.5) c\n";
        assert_eq!(super::newest_glibc(symbols), (2, 34));
        assert_eq!(super::newest_glibc("no symbols"), (0, 0));
    }
}
