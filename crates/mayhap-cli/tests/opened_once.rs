//! A filter's file is opened once and mapped once, whatever is asked of it: `strace` counts. Without
//! it nothing is tested here, which `cargo xtask test` says; with CI=true that is a failure.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::tempdir;

fn strace_works() -> bool {
    let works = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !works {
        eprintln!("strace does not work here: not tested");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no strace, and CI=true");
    }
    works
}

fn mayhap(folder: &Path, args: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    let output = command.args(args.split_whitespace()).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{args}: {output:?}");
}

/// How often a command opens a file, and how often it maps it.
fn opens_and_maps(folder: &Path, args: &str, file: &str) -> (usize, usize) {
    let log = folder.join("calls");
    let mut strace = Command::new("strace");
    // -y names the file behind each descriptor.
    strace.args(["-f", "-qq", "-y", "-e", "trace=open,openat,mmap", "-o"]).arg(&log);
    strace.arg(env!("CARGO_BIN_EXE_mayhap")).args(args.split_whitespace()).current_dir(folder);
    let output = strace.output().unwrap();
    assert!(output.status.success(), "{args}: {output:?}");
    let calls = fs::read_to_string(&log).unwrap();
    let count = |call: &str, name: &str| {
        let ours = calls.lines().filter(|line| line.contains(call) && line.contains(name));
        ours.filter(|line| !line.contains("ENOENT")).count()
    };
    (count(" open", &format!("\"{file}\"")), count(" mmap(", &format!("/{file}>")))
}

#[test]
fn a_filter_is_opened_and_mapped_once() {
    if !strace_works() {
        return;
    }
    let folder = tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("list"), "ada\nbob\n").unwrap();
    mayhap(folder, "build -o ours.may list");
    mayhap(folder, "build -o keyed.may --keyed list");
    mayhap(folder, "build -o guava.bin --format guava list");
    mayhap(folder, "convert guava.bin -o wrapped.may --to mayhap");
    for file in ["ours.may", "keyed.may", "guava.bin", "wrapped.may"] {
        for verb in ["check FILE list", "check --no-verify FILE list", "info FILE"] {
            let args = verb.replace("FILE", file);
            assert_eq!(opens_and_maps(folder, &args, file), (1, 1), "{args}");
        }
    }
    for file in ["ours.may", "keyed.may", "guava.bin"] {
        assert_eq!(opens_and_maps(folder, &format!("add {file} list"), file).1, 1, "add {file}");
    }
}
