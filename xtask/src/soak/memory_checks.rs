//! The engine's unsafe code under AddressSanitizer and Miri.

use super::trial::{Outcome, Trial, watched};
use crate::steps::{StepResult, cargo, works};
use std::fs;
use std::process::{Command, Stdio};

/// Kernels, aligned memory, shared words, and whatever opens bytes.
const UNSAFE_TESTS: [&str; 4] = ["kernel::", "filter::concurrent", "format::tests::any", "hash::"];

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::new("the kernels under AddressSanitizer", sanitizer),
        Trial::new("the portable kernel under Miri", miri),
    ]
}

/// Reads one byte past the end of its array.
const PAST_THE_END: &str = "fn main() { let bytes: Vec<u8> = (0..8).collect();
    let past = unsafe { *std::hint::black_box(bytes.as_ptr()).add(std::hint::black_box(8)) };
    println!(\"{past}\"); }";

/// Whether the program above is stopped when it is compiled or run so.
fn control(run: impl Fn(&str) -> Option<bool>) -> Result<String, String> {
    let source = "target/soak/past_the_end.rs";
    fs::create_dir_all("target/soak").map_err(|error| error.to_string())?;
    fs::write(source, PAST_THE_END).map_err(|error| format!("{source}: {error}"))?;
    match run(source) {
        Some(true) => Ok("control: a read one byte past an array was stopped".into()),
        Some(false) => Err("a read past the end was not noticed".into()),
        None => Err("the control could not be compiled".into()),
    }
}

fn sanitizer() -> Outcome {
    let program = "target/soak/past_the_end";
    let checked = control(|source| {
        let mut rustc = Command::new("rustc");
        rustc.env("RUSTC_BOOTSTRAP", "1").args(["-Zsanitizer=address", source, "-o", program]);
        works(&mut rustc).then(|| !works(&mut Command::new(program)))
    });
    let mut tests =
        cargo("test -p mayhap --lib --target x86_64-unknown-linux-gnu --target-dir target/asan --");
    tests.args(UNSAFE_TESTS).args(["--skip", "rate"]);
    // The sanitizers' flags are unstable, and the compiler is a stable one.
    tests.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    tests.env("PROPTEST_CASES", "64");
    with_control(checked, watched(&mut tests))
}

fn miri() -> Outcome {
    let through_rustup = || {
        let mut cargo = Command::new("rustup");
        cargo.args(["run", "nightly", "cargo"]).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        cargo
    };
    if !works(through_rustup().args(["miri", "--version"])) {
        let why = "no Miri: rustup component add --toolchain nightly miri rust-src".to_owned();
        return Outcome { result: StepResult::Skipped(why), saw: vec![] };
    }
    let checked = control(|source| {
        let package = "target/soak/past_the_end_package";
        fs::create_dir_all(format!("{package}/src")).ok()?;
        fs::copy(source, format!("{package}/src/main.rs")).ok()?;
        let manifest = "[package]\nname = \"past\"\nedition = \"2024\"\n[workspace]\n";
        fs::write(format!("{package}/Cargo.toml"), manifest).ok()?;
        let mut run = through_rustup();
        run.args(["miri", "run", "--quiet", "--manifest-path", &format!("{package}/Cargo.toml")]);
        let said = run.stdin(Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&said.stderr).contains("Undefined Behavior"))
    });
    let mut tests = through_rustup();
    tests.args(["miri", "test", "-p", "mayhap", "--lib", "--target-dir", "target/miri", "--"]);
    tests.args(["kernel::", "filter::concurrent", "--skip", "rate", "--skip", "callers"]);
    tests.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "2");
    with_control(checked, watched(&mut tests))
}

fn with_control(control: Result<String, String>, mut outcome: Outcome) -> Outcome {
    match control {
        Ok(told) => outcome.saw.push(told),
        Err(why) => outcome.result = StepResult::Failed(format!("the control: {why}")),
    }
    outcome
}
