//! The real implementations of other programs' filters: found or installed, then compared.
//!
//! `cargo xtask test --live` and `soak` run these. What no registry has must be provided; if
//! missing, that is reported and is not a failure even where skipping is.

use crate::steps::{Step, StepResult, cargo, succeeds, works};
use crate::tools;
use std::path::Path;
use std::process::Command;

/// Where Python and Node packages are installed; the tests look for them here.
const LIVE: &str = "target/live";
const PYTHON_PACKAGES: [&str; 2] = ["pyarrow==26.0.1", "duckdb==2.0.0"];
/// Both generations side by side, under distinct names.
const NODE_PACKAGES: [&str; 2] =
    ["bloomfilter-0.0.18@npm:bloomfilter@0.0.18", "bloomfilter-0.0.21@npm:bloomfilter@0.0.21"];
const GO_PACKAGES: &str = "/usr/share/gocode/src/github.com";

/// One step per test of `crates/mayhap-foreign/tests/live/`.
pub fn steps() -> Vec<Step> {
    vec![
        step("guava", || {
            tools::program("java", "default-jdk-headless")?;
            tools::file("/usr/share/java/guava.jar", "libguava-java")
        }),
        step("goleveldb", || {
            tools::file("/usr/bin/go", "golang-go")?;
            let package = "golang-github-syndtr-goleveldb-dev";
            tools::file(&format!("{GO_PACKAGES}/syndtr/goleveldb"), package)
        }),
        step("willf_bloom", || {
            tools::file("/usr/bin/go", "golang-go")?;
            let package = "golang-github-willf-bloom-dev";
            tools::file(&format!("{GO_PACKAGES}/willf/bloom"), package)
        }),
        step("dcso", || tools::program("bloom", "golang-github-dcso-bloom-cli")),
        step("parquet_files", python),
        step("bloomfilter_js", node),
        Step::new("live: node_redis", node_redis),
        Step::new("live: redisbloom", redisbloom),
        Step::new("live: valkey_bloom", || {
            StepResult::Missing("no registry has a valkey-bloom module to load filters into".into())
        }),
    ]
}

fn step(name: &'static str, install: impl Fn() -> Result<(), String> + 'static) -> Step {
    Step::new(format!("live: {name}"), move || match install() {
        Ok(()) => test(name),
        Err(why) => StepResult::Skipped(format!("live {name}: {why}")),
    })
}

/// The ignored test of this name.
fn test(name: &str) -> StepResult {
    let mut command = cargo("test -p mayhap-foreign --test live -- --ignored --exact");
    succeeds(command.arg(if name == "redisbloom" { "redis::redisbloom" } else { name }))
}

/// The module's commands through a client for Node.
fn node_redis() -> StepResult {
    let installed = tools::program("node", "nodejs")
        .and_then(|()| tools::program("npm", "npm"))
        .and_then(|()| crate::test::node_client());
    match installed {
        Ok(()) => {
            let mut command = cargo("test -p mayhap-module --test servers -- --exact");
            succeeds(command.arg("clients::the_client_for_node_works_unmodified"))
        }
        Err(why) => StepResult::Skipped(format!("live node_redis: {why}")),
    }
}

/// RedisBloom exists as source, or inside servers, and in none of the places we install from.
fn redisbloom() -> StepResult {
    if std::env::var_os("MAYHAP_REDISBLOOM").is_none() {
        let hint = "set MAYHAP_REDISBLOOM=/path/to/redisbloom.so to run this";
        return StepResult::Missing(format!("no registry has RedisBloom's module; {hint}"));
    }
    match tools::program("redis-server", "redis-server") {
        Ok(()) => test("redisbloom"),
        Err(why) => StepResult::Skipped(format!("live redisbloom: {why}")),
    }
}

fn python() -> Result<(), String> {
    tools::program("python3", "python3-venv")?;
    let python = format!("{LIVE}/venv/bin/python");
    if !works(Command::new(&python).arg("--version")) {
        tools::fetched(Command::new("python3").args(["-m", "venv", &format!("{LIVE}/venv")]))?;
    }
    if works(Command::new(&python).args(["-c", "import pyarrow, duckdb"])) {
        return Ok(());
    }
    println!("installing {}, once", PYTHON_PACKAGES.join(" and "));
    let mut pip = Command::new(&python);
    tools::fetched(pip.args(["-m", "pip", "-q", "install"]).args(PYTHON_PACKAGES))
}

fn node() -> Result<(), String> {
    tools::program("node", "nodejs")?;
    tools::program("npm", "npm")?;
    let folder = format!("{LIVE}/node");
    let there = |package: &str| {
        let name = package.split('@').next().unwrap_or(package);
        Path::new(&folder).join("node_modules").join(name).exists()
    };
    if NODE_PACKAGES.into_iter().all(there) {
        return Ok(());
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("{folder}: {error}"))?;
    let mut npm = Command::new("npm");
    tools::fetched(npm.args(["--silent", "--prefix", &folder, "install"]).args(NODE_PACKAGES))
}
