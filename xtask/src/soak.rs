//! `cargo xtask soak`: the long runs before a release.

use crate::steps::{self, Step, StepResult, cargo, succeeds};
use crate::{Error, cross, live, no_arguments, tools};
use std::process::{Command, ExitCode};

const CARGO_FUZZ: &str = "0.13.2";
const FUZZ_SECONDS: u32 = 60;
/// As in the workspace's `rust-version`.
const OLDEST_RUST: &str = "1.90";

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    no_arguments("soak", args)?;
    let mut steps = vec![
        Step::command("enlarged tests", || {
            let mut test = cargo("test --release --workspace");
            test.env("MAYHAP_SOAK", "1"); // tests that scale look for it
            test
        }),
        Step::command("connections behind TLS", || {
            cargo("test -p mayhap-redis --features async,tls")
        }),
        Step::new("the oldest compiler promised", oldest_rust),
    ];
    for (package, features) in feature_sets() {
        steps.push(Step::command(format!("{package} with {features:?} only"), move || {
            let features = format!("--no-default-features --features={features}");
            cargo(&format!("clippy -p {package} {features} -- -D warnings"))
        }));
    }
    steps.extend(live::steps());
    steps.extend(cross::steps());
    for name in fuzz_targets().map_err(Error::Failed)? {
        steps.push(Step::new(format!("fuzz {name}"), move || fuzz(&name)));
    }
    Ok(steps::run(&steps))
}

/// Every combination of the features that are not aliases of others.
fn feature_sets() -> Vec<(&'static str, String)> {
    let packages: [(&str, &[&str]); 4] = [
        ("mayhap", &["std", "alloc", "bitmap", "serde", "uuid", "bytes"]),
        ("mayhap-redis", &["async", "tls"]),
        ("mayhap-seen", &["embedded", "redis", "async", "tls"]),
        ("mayhap-cli", &["parquet-values", "tls"]),
    ];
    let sets = packages.iter().flat_map(|(package, features)| {
        (0..1u32 << features.len()).map(|set| {
            let chosen = features.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            let chosen: Vec<&str> = chosen.map(|(_, feature)| *feature).collect();
            (*package, chosen.join(","))
        })
    });
    sets.collect()
}

fn oldest_rust() -> StepResult {
    match tools::toolchain(OLDEST_RUST) {
        // Through rustup: the cargo that runs us belongs to one toolchain only.
        Ok(()) => succeeds(
            Command::new("rustup")
                .args(["run", OLDEST_RUST, "cargo", "check", "--workspace", "--all-targets"])
                .args(["--target-dir", "target/oldest"])
                .env_remove("CARGO")
                .env_remove("RUSTUP_TOOLCHAIN"),
        ),
        Err(why) => StepResult::Skipped(format!("no Rust {OLDEST_RUST}: {why}")),
    }
}

/// The targets are the files; a new one needs no line here.
fn fuzz_targets() -> Result<Vec<String>, String> {
    let folder = std::fs::read_dir("fuzz/fuzz_targets").map_err(|error| error.to_string())?;
    let mut names = vec![];
    for entry in folder {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        names.extend(name.to_string_lossy().strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    if names.is_empty() {
        return Err("fuzz/fuzz_targets holds no targets".into());
    }
    Ok(names)
}

fn fuzz(target: &str) -> StepResult {
    if let Err(why) = tools::cargo_tool("fuzz", CARGO_FUZZ) {
        return StepResult::Skipped(format!("no cargo-fuzz: {why}"));
    }
    let mut command = cargo("fuzz run");
    command
        .arg(target)
        .arg(format!("fuzz/corpus/{target}"))
        .arg("testdata") // golden files are the best seeds
        .arg("--")
        .arg(format!("-max_total_time={FUZZ_SECONDS}"))
        .args(["-timeout=5", "-rss_limit_mb=1024", "-max_len=65536"])
        // The sanitizers' flags are unstable, and the compiler is a stable one.
        .env("RUSTC_BOOTSTRAP", "1");
    if let Err(error) = std::fs::create_dir_all(format!("fuzz/corpus/{target}")) {
        return StepResult::Failed(format!("fuzz/corpus/{target}: {error}"));
    }
    succeeds(&mut command)
}
