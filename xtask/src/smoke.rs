//! The README's main command, run as a new user would, with typical mistakes.

use crate::sample;
use crate::steps::{StepResult, cargo, command_line};
use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Everything the command promises; returns the first broken promise.
pub fn run() -> StepResult {
    let promises = [
        exact_on_the_sample,
        takes_any_bytes,
        names_a_missing_file,
        ends_with_its_reader,
        says_what_was_left_out,
    ];
    match promises.iter().try_for_each(|promise| promise()) {
        Ok(()) => StepResult::Passed,
        Err(why) => StepResult::Failed(why),
    }
}

fn dedup() -> Command {
    cargo("run --quiet --release -p mayhap-cli -- dedup")
}

/// At a rate of one in a million the answer for so few lines is the exact one.
fn exact_on_the_sample() -> Result<(), String> {
    let output = finish(dedup().arg(sample::PATH), b"")?;
    let text = sample::text();
    let mut before = HashSet::new();
    let first: Vec<&str> = text.lines().filter(|line| before.insert(*line)).collect();
    expect("lines of the sample printed once", output.stdout == lines(&first))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    print!("{said}");
    let digits = said.replace(',', "");
    let counts = format!("{} lines {} new", text.lines().count(), first.len());
    expect("counts in the summary", digits.contains(&counts))?;
    expect("exit code 0", output.status.code() == Some(0))
}

/// Invalid UTF-8, no newline at the end, empty lines, carriage returns, and a very long line.
fn takes_any_bytes() -> Result<(), String> {
    let mut input = b"\xff\xfe\n\nx\n\xff\xfe\nx\r\n\n".to_vec();
    input.resize(input.len() + 3_000_000, b'y');
    let output = finish(&mut dedup(), &input)?;
    let mut want = b"\xff\xfe\n\nx\nx\r\n".to_vec();
    want.resize(want.len() + 3_000_000, b'y');
    want.push(b'\n');
    expect("bytes kept as they are", output.stdout == want)
}

fn names_a_missing_file() -> Result<(), String> {
    let output = finish(dedup().arg("no/such/file"), b"")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    expect("exit code 2 for a missing file", output.status.code() == Some(2))?;
    expect(
        "a missing file named, with a hint",
        said.contains("no/such/file") && said.contains("hint:"),
    )
}

/// `mayhap dedup … | head -0`: no output, and no panic.
fn ends_with_its_reader() -> Result<(), String> {
    let mut command = dedup();
    let piped = command.arg(sample::PATH).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| format!("{}: {error}", command_line(piped)))?;
    drop(child.stdout.take());
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // Not "nothing at all": cargo repeats the compiler's warnings on the same stream.
    let complains = said.contains("error:") || said.contains("panicked");
    // As shells report SIGPIPE: not everything was printed.
    let told = output.status.code() == Some(141);
    expect("silence and exit code 141 when the reader leaves", !complains && told)
}

/// The quick build has no reader of Parquet's values, and says where there is one.
fn says_what_was_left_out() -> Result<(), String> {
    let mut verify = cargo("run --quiet --release -p mayhap-cli -- verify --column c");
    let output = finish(verify.arg("testdata/foreign/parquet/file_pyarrow_str_1k.parquet"), b"")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let told = said.contains("--column") && said.contains("hint: packages can");
    expect("a missing feature named, with a hint", output.status.code() == Some(2) && told)
}

fn finish(command: &mut Command, input: &[u8]) -> Result<Output, String> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |what: String, error| format!("{what}: {error}");
    let mut child = piped.spawn().map_err(|error| failed(command_line(piped), error))?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    std::thread::scope(|scope| {
        // On another thread, or both sides could block on a full pipe. A child that fails early
        // stops reading, which its exit code says better than this error would.
        scope.spawn(move || _ = stdin.write_all(input));
        child.wait_with_output().map_err(|error| failed(command_line(command), error))
    })
}

fn lines(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"]).flatten().copied().collect()
}

fn expect(what: &str, holds: bool) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("not as promised: {what}")) }
}
