//! Every write, sync and rename fails once: the error is told, the old file or the new one is
//! whole, and nothing lies about. `strace` makes them fail; without it nothing is tested here,
//! which `cargo xtask test` says.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::tempdir;

const CALLS: [&str; 4] =
    ["write,pwrite64", "fsync,fdatasync", "rename,renameat,renameat2", "ftruncate"];
const ERRORS: [&str; 2] = ["EIO", "ENOSPC"];
/// More such calls than any of the commands makes.
const MOST_CALLS: usize = 60;

fn mayhap(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    command.args(args.split_whitespace()).current_dir(folder).output().unwrap()
}

/// Run with the n-th such call of each thread failing. The output, and the calls that failed.
fn with_failures(folder: &Path, args: &str, inject: &str) -> (Output, Vec<String>) {
    let log = folder.parent().unwrap().join("calls");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e"]).arg(format!("inject={inject}")).arg("-o").arg(&log);
    strace.arg(env!("CARGO_BIN_EXE_mayhap")).args(args.split_whitespace()).current_dir(folder);
    let output = strace.env("NO_COLOR", "1").output().unwrap();
    let calls = fs::read_to_string(&log).unwrap();
    let failed = calls.lines().filter(|call| call.contains("(INJECTED)"));
    (output, failed.map(str::to_owned).collect())
}

fn strace_works() -> bool {
    Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|s| s.success())
}

/// Every such call of the command fails once; each time `look` sees the folder, what the run
/// printed, and what it said, with the failed calls.
fn each_call_fails_once(args: &str, before: &str, look: impl Fn(&Path, &Output, &str)) {
    if !strace_works() {
        eprintln!("strace does not work here: not tested");
        return;
    }
    let mut failures = 0;
    for (calls, error) in CALLS.iter().flat_map(|calls| ERRORS.map(|error| (calls, error))) {
        for when in 1..=MOST_CALLS {
            assert_ne!(when, MOST_CALLS, "{args}: too many calls to {calls}");
            let parent = tempdir().unwrap();
            let folder = parent.path().join("it");
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("old"), "ada\nbob\n").unwrap();
            fs::write(folder.join("more"), "eve\nzoe\neve\n").unwrap();
            assert!(mayhap(&folder, before).status.success());

            let inject = format!("{calls}:error={error}:when={when}");
            let (output, failed) = with_failures(&folder, args, &inject);
            if failed.is_empty() {
                break;
            }
            failures += 1;
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let context = format!("{args}\n{}\n{said}", failed.join("\n"));
            // A complaint that cannot be written is lost; the exit code tells all the same.
            let complaints = failed.iter().filter(|call| call.contains("write(2,")).count();
            if complaints < failed.len() {
                assert_eq!(output.status.code(), Some(2), "{context}");
            }
            if complaints == 0 {
                assert!(said.starts_with("error: ") && said.contains("hint: "), "{context}");
            }
            assert!(!said.contains("panicked"), "{context}");
            look(&folder, &output, &context);
        }
    }
    assert!(failures >= 4, "{args}: only {failures} calls failed");
    println!("soak: {args}: {failures} calls failed one after another, each told, nothing lost");
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// The command, and which of the keys in its file are there before and whatever happens.
fn every_call_fails_once(args: &str, file: &str, before: &str) {
    each_call_fails_once(args, before, |folder, _, context| {
        let verified = mayhap(folder, &format!("verify {file}"));
        assert!(verified.status.success(), "{context}{verified:?}");
        let kept = mayhap(folder, &format!("check -c {file} old"));
        assert_eq!(kept.stdout, b"2\n", "{context}");
        let new = mayhap(folder, &format!("check -c {file} more")).stdout;
        assert!(new == b"0\n" || new == b"3\n", "half of it: {context}{new:?}");
        assert_eq!(names(folder), [file, "more", "old"], "{context}");
    });
}

#[test]
fn add() {
    every_call_fails_once("add -q f more", "f", "build -q -n 100 -p 1e-9 -o f old");
}

#[test]
fn build_anew() {
    let before = "build -q -n 100 -p 1e-9 -o f old";
    every_call_fails_once("build -q --force -n 100 -p 1e-9 -o f old more", "f", before);
}

#[test]
fn dedup_with_a_state() {
    let before = "dedup -q -p 1e-9 --state f old";
    every_call_fails_once("dedup -q --state f more", "f", before);
}

#[test]
fn merge() {
    every_call_fails_once("merge -q --force -o f f f", "f", "build -q -n 100 -p 1e-9 -o f old");
}

/// Old or new, whole; and a state never has lines that no output has.
#[test]
fn dedup_to_a_file_with_an_exact_state() {
    let before = "dedup -q --exact --state f -o out old";
    each_call_fails_once("dedup -q --exact --state f -o out more", before, |folder, _, context| {
        assert!(mayhap(folder, "verify f").status.success(), "{context}");
        let out = fs::read_to_string(folder.join("out")).unwrap();
        assert!(out == "ada\nbob\n" || out == "eve\nzoe\n", "{context}{out}");
        assert_eq!(names(folder), ["f", "more", "old", "out"], "{context}");
        let left = mayhap(folder, "dedup -q --exact --state f old more").stdout;
        let left = String::from_utf8(left).unwrap();
        assert!(
            left == "eve\nzoe\n" || (left.is_empty() && out == "eve\nzoe\n"),
            "{context}{left}"
        );
    });
}

#[test]
fn dedup_with_an_exact_state() {
    let before = "dedup -q --exact --state f old";
    each_call_fails_once("dedup -q --exact --state f more", before, |folder, output, context| {
        assert!(mayhap(folder, "verify f").status.success(), "{context}");
        assert_eq!(names(folder), ["f", "more", "old"], "{context}");
        let left = mayhap(folder, "dedup -q --exact --state f old more").stdout;
        let both = [output.stdout.as_slice(), &left].concat();
        // Lines may come again, where the state could not be saved. None is lost.
        assert!(left == b"eve\nzoe\n" || both == b"eve\nzoe\n", "{context}{left:?}");
    });
}

#[test]
fn dedup_in_place() {
    let before = "dedup -q -o copy more";
    each_call_fails_once("dedup -q --in-place old more", before, |folder, _, context| {
        let more = fs::read_to_string(folder.join("more")).unwrap();
        assert!(more == "eve\nzoe\neve\n" || more == "eve\nzoe\n", "{context}{more}");
        assert_eq!(fs::read_to_string(folder.join("old")).unwrap(), "ada\nbob\n", "{context}");
        assert_eq!(names(folder), ["copy", "more", "old"], "{context}");
    });
}
