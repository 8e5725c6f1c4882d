//! When things go wrong in the middle: signals, full disks, readers that leave, two writers.
//! A filter's file is the old one or the new one, never a broken one.
#![cfg(unix)]

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::tempdir;

/// Signals are as by default: under `nohup`, or in the background of a script, the program would
/// rightly go on ignoring some.
fn mayhap(folder: &Path, args: &str) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal").arg(env!("CARGO_BIN_EXE_mayhap"));
    command.current_dir(folder).env("NO_COLOR", "1").args(args.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Run it to its end on this input.
fn run(folder: &Path, args: &str, input: &[u8]) -> Output {
    let mut child = mayhap(folder, args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || _ = stdin.write_all(input));
        child.wait_with_output().unwrap()
    })
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "cannot send {signal}");
}

fn numbers(range: std::ops::Range<u32>) -> Vec<u8> {
    range.map(|n| format!("{n}\n")).collect::<String>().into_bytes()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Wait until somebody else is told that the file is being written. Whoever is to take the lock
/// must be ready to wait: this asks by trying.
fn wait_for_lock(folder: &Path, file: &str) {
    let start = Instant::now();
    while !said(&run(folder, &format!("add {file}"), b"")).contains("is being written") {
        assert!(start.elapsed() < Duration::from_secs(60), "nobody takes the lock");
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_reader_that_leaves_is_told_nothing() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 10 -", b"ada\n").status.success());
    fs::write(folder.join("list"), b"ada\n".repeat(500_000)).unwrap();
    for args in ["check f list", "check --mark f list", "check --json f list"] {
        let mut child = mayhap(folder, args).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        _ = stdout.read(&mut [0; 1]);
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), said(&output)), (Some(141), String::new()), "{args}");
    }
}

#[test]
fn the_second_writer_is_told_who_writes_or_waits() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 100 -p 1e-9 -", b"ada\n").status.success());
    let mut first = mayhap(folder, "add -q --wait f").spawn().unwrap();
    wait_for_lock(folder, "f");

    let told = run(folder, "add f", b"eve\n");
    assert_eq!(told.status.code(), Some(2));
    let told = said(&told);
    assert!(told.contains("f is being written by ") && told.contains("hint: --wait"), "{told}");
    if cfg!(target_os = "linux") {
        assert!(told.contains(&format!("process {}", first.id())), "{told}");
    }
    let impatient = run(folder, "add --wait=50ms f", b"eve\n");
    assert_eq!(impatient.status.code(), Some(2));
    // Nor is the file built anew, or merged into, while somebody adds to it.
    for verb in ["build -o f -n 5 -", "merge -o f f f"] {
        let told = run(folder, verb, b"eve\n");
        assert!(said(&told).contains("is being written by "), "{verb}: {}", said(&told));
    }

    let mut second = mayhap(folder, "add -q --wait f").spawn().unwrap();
    second.stdin.take().unwrap().write_all(b"zoe\n").unwrap();
    sleep(Duration::from_millis(100));
    first.stdin.take().unwrap().write_all(b"bob\n").unwrap();
    assert!(first.wait().unwrap().success());
    assert!(second.wait().unwrap().success());
    let all = run(folder, "check f", b"ada\nbob\neve\nzoe\n");
    assert_eq!(all.stdout, b"ada\nbob\nzoe\n");
}

#[test]
fn many_writers_that_wait_all_land() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 10k -p 1e-9 -", b"").status.success());
    std::thread::scope(|scope| {
        for part in 0..8 {
            scope.spawn(move || {
                let added =
                    run(folder, "add -q --wait f", &numbers(part * 1000..(part + 1) * 1000));
                assert!(added.status.success(), "{}", said(&added));
            });
        }
    });
    assert_eq!(run(folder, "check -vc f", &numbers(0..8000)).stdout, b"0\n");
    assert_eq!(files(folder), ["f"]);
}

/// Ctrl-C, and a polite request to end: the old file stays, and nothing lies about.
#[test]
fn signals_leave_the_old_file_whole() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 1000 -", b"ada\n").status.success());
    let before = fs::read(folder.join("f")).unwrap();
    for verb in ["add --wait f", "build -o f -n 5M -", "build -o f --kind fuse -"] {
        for signal in ["-INT", "-TERM", "-HUP"] {
            let mut child = mayhap(folder, verb).spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(&numbers(0..100_000)).unwrap();
            if verb.starts_with("add") {
                wait_for_lock(folder, "f");
            } else {
                // The pipe holds less than was written, so it has begun to read.
                sleep(Duration::from_millis(100));
            }
            send(signal, &child);
            let output = child.wait_with_output().unwrap();
            drop(stdin);
            let told = said(&output);
            assert_eq!(output.status.code(), Some(130), "{verb} {signal}: {told}");
            assert!(told.contains("error: interrupted"), "{verb} {signal}: {told}");
            assert!(
                fs::read(folder.join("f")).unwrap() == before,
                "{verb} {signal} changed the file"
            );
            assert_eq!(files(folder), ["f"], "{verb} {signal} leaves files about");
        }
    }
}

/// kill -9 at any moment, the moment of writing among them.
#[test]
fn sudden_death_leaves_the_old_file_or_the_new() {
    let cycles = if std::env::var_os("MAYHAP_SOAK").is_some() { 200 } else { 24 };
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 1000 -", b"ada\n").status.success());
    let input = numbers(0..1000);
    let (mut old, mut new) = (0, 0);
    for cycle in 0..cycles {
        let verb = if cycle % 2 == 0 { "build -q -o f -n 4M -" } else { "add -q f" };
        let before = fs::read(folder.join("f")).unwrap();
        let mut child = mayhap(folder, verb).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        _ = stdin.write_all(&input);
        drop(stdin);
        sleep(Duration::from_millis(cycle * 5 % 97));
        _ = child.kill();
        _ = child.wait();
        let whole = run(folder, "verify f", b"");
        assert!(whole.status.success(), "after {verb}: {}", said(&whole));
        if fs::read(folder.join("f")).unwrap() == before { old += 1 } else { new += 1 }
    }
    assert!(old + new == cycles);
    println!("soak: {cycles} kills of build and add: {old} old files, {new} new ones, none broken");
}

/// A disk that is full: the file system's limit, and the process's own. Both say what is wrong.
#[test]
fn a_full_disk_leaves_the_old_file() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 100 -", b"ada\n").status.success());
    let before = fs::read(folder.join("f")).unwrap();
    let exe = env!("CARGO_BIN_EXE_mayhap");
    // 512 bytes a block, or 1024 in some shells: far less than the megabyte to be written.
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {exe} build -o f -n 1M -");
    let mut limited = Command::new("sh");
    limited.args(["-c", &script]).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::piped());
    let output = limited.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("cannot write f: "), "{}", said(&output));
    assert!(fs::read(folder.join("f")).unwrap() == before);
    assert_eq!(files(folder), ["f"]);
    // Half a key file would be in the way of the next attempt.
    let script = format!("trap '' XFSZ; ulimit -f 0; exec {exe} build -o k --keyed -n 10 -");
    let mut limited = Command::new("sh");
    limited.args(["-c", &script]).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::piped());
    let output = limited.output().unwrap();
    assert!(said(&output).contains("key file k.key cannot be written"), "{}", said(&output));
    assert_eq!(files(folder), ["f"]);

    if Path::new("/dev/full").exists() {
        let output = run(folder, "build -o /dev/full -n 10 -", b"ada\n");
        let told = said(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("No space left") && told.contains("hint: make room"), "{told}");
        let mut check = mayhap(folder, "check f");
        check.stdout(fs::File::create("/dev/full").unwrap());
        let mut check = check.spawn().unwrap();
        check.stdin.take().unwrap().write_all(b"ada\n").unwrap();
        let output = check.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));

        // Nobody hears it: the exit codes are as ever.
        for (args, code) in [("dedup --stats", 0), ("info no-such-file", 2), ("dedup -p 7", 2)] {
            let mut unheard = mayhap(folder, args);
            unheard.stdin(Stdio::null()).stderr(fs::File::create("/dev/full").unwrap());
            assert_eq!(unheard.status().unwrap().code(), Some(code), "{args}");
        }
    }
}

/// A disk of 64 KiB, where the system lets us mount one.
#[test]
fn a_tiny_disk_is_filled_and_nothing_is_lost() {
    let folder = tempdir().unwrap();
    let exe = env!("CARGO_BIN_EXE_mayhap");
    let script = format!(
        "mount -t tmpfs -o size=64k none . && cd . && cd \"$PWD\" || exit 77
         echo ada | {exe} build -q -o f -n 100 - || exit 1
         cp f before
         echo eve | {exe} build -o f -n 1M - ; echo \"code $?\"
         cmp f before && ls -A | tr '\\n' ' '"
    );
    let unshared = Command::new("unshare")
        .args(["--mount", "--map-root-user", "sh", "-c", &script])
        .current_dir(folder.path())
        .output();
    let output = match unshared {
        Ok(output)
            if !matches!(output.status.code(), Some(77) | None)
                && !said(&output).contains("unshare") =>
        {
            output
        }
        // No such tool, or no such right: the test above has another way to the same end.
        _ => return eprintln!("cannot mount: skipped"),
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(printed, "code 2\nbefore f ", "{}", said(&output));
    assert!(said(&output).contains("hint: make room on the disk"), "{}", said(&output));
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 100 -", b"ada\n").status.success());
    let before = fs::read(folder.join("f")).unwrap();
    fs::write(folder.join("locked"), "eve\n").unwrap();
    let mut mode = fs::metadata(folder.join("locked")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0);
    fs::set_permissions(folder.join("locked"), mode).unwrap();
    // A superuser may read even that; nobody can read the first page of memory.
    let unreadable =
        if fs::read(folder.join("locked")).is_err() { "locked" } else { "/proc/self/mem" };
    if unreadable != "locked" && !Path::new(unreadable).exists() {
        return;
    }
    for verb in ["add f", "build -o f -n 9", "check f", "check f --except"] {
        let output = run(folder, &format!("{verb} {unreadable}"), b"");
        let told = said(&output);
        assert_eq!(output.status.code(), Some(2), "{verb}: {told}");
        assert!(told.contains(unreadable), "{verb}: {told}");
    }
    assert!(fs::read(folder.join("f")).unwrap() == before);
}

/// A reader at the end of a slow pipe gets each answer as soon as it can be known.
#[test]
fn answers_do_not_wait_for_the_end() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 100 -", b"ada\nbob\n").status.success());
    let mut child = mayhap(folder, "check --line-buffered f").spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for name in [b"ada\n", b"bob\n"] {
        stdin.write_all(name).unwrap();
        let mut answer = [0; 4];
        stdout.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, name);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_link_is_followed_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 100 -", b"ada\n").status.success());
    fs::set_permissions(folder.join("f"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("f", folder.join("link")).unwrap();
    assert!(run(folder, "add -q link", b"bob\n").status.success());
    assert!(fs::symlink_metadata(folder.join("link")).unwrap().is_symlink());
    assert_eq!(fs::metadata(folder.join("f")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(run(folder, "check -c f", b"ada\nbob\n").stdout, b"2\n");
}

/// Every flipped bit and every cut is found before an answer is given.
#[test]
fn damaged_filters_are_not_asked() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 1000 -", b"ada\n").status.success());
    let whole = fs::read(folder.join("f")).unwrap();
    for at in [20, 4100, whole.len() - 30, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs::write(folder.join("bad"), &bytes).unwrap();
        for verb in ["check bad", "add bad", "info bad", "merge -o x f bad"] {
            let output = run(folder, verb, b"ada\n");
            assert_eq!(output.status.code(), Some(2), "byte {at}, {verb}: {}", said(&output));
            assert!(said(&output).contains("damaged"), "byte {at}, {verb}: {}", said(&output));
            assert!(output.stdout.is_empty());
        }
        assert_eq!(run(folder, "verify bad", b"").status.code(), Some(1));
    }
    fs::write(folder.join("bad"), &whole[..whole.len() / 2]).unwrap();
    let output = run(folder, "check bad", b"ada\n");
    assert!(said(&output).contains("cut off"), "{}", said(&output));
}

/// A mapped filter takes the memory of the pages it is asked about, not of its size; and verifying
/// it lets go of what it has read. What the program takes by itself depends on how it was built,
/// so a small filter is the measure.
#[test]
#[cfg(target_os = "linux")]
fn a_large_filter_is_asked_in_little_memory() {
    const MORE_KIB: u64 = 8 << 10;
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o small -n 1000 -", b"ada\n").status.success());
    assert!(run(folder, "build -q -o large -n 60M -", b"ada\n").status.success());
    assert!(fs::metadata(folder.join("large")).unwrap().len() > 8 * MORE_KIB * 1024);
    for verb in ["check --no-verify", "check"] {
        let [small, large] = ["small", "large"].map(|f| peak_kib(folder, &format!("{verb} {f}")));
        assert!(large < small + MORE_KIB, "{verb}: {large} KiB, of a small one {small}");
    }
}

/// The most memory that a verb has taken when it has found one key.
#[cfg(target_os = "linux")]
fn peak_kib(folder: &Path, verb: &str) -> u64 {
    let mut child = mayhap(folder, verb).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    stdin.write_all(b"ada\n").unwrap();
    stdout.read_exact(&mut [0; 4]).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Nothing to read and a terminal: somebody wants help, not to type keys.
#[test]
#[cfg(target_os = "linux")]
fn a_terminal_gets_help_and_no_binary() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    assert!(run(folder, "build -q -o f -n 10 -", b"ada\n").status.success());
    let on_terminal = |args: &str| {
        let command = format!("{} {args}", env!("CARGO_BIN_EXE_mayhap"));
        let script = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .output();
        script.map(|output| {
            (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
        })
    };
    for verb in ["check f", "add f", "remove f", "build -o g", "dedup", ""] {
        let Ok((code, shown)) = on_terminal(verb) else { return eprintln!("no script: skipped") };
        assert_eq!(code, Some(2), "{verb}: {shown}");
        assert!(shown.contains("Usage:"), "{verb}: {shown}");
    }
    let Ok((code, shown)) = on_terminal("build -o - f") else { return };
    assert!(code == Some(2) && shown.contains("standard output is a terminal"), "{shown}");
}

/// A file that may not grow any more is a write that fails like any other.
#[test]
fn a_limit_of_file_sizes_is_an_error_and_leaves_nothing() {
    let folder = tempdir().unwrap();
    let keys = numbers(0..1000);
    assert!(run(folder.path(), "build -n 1000000 -o old.mh -", &keys).status.success());
    let old = fs::read(folder.path().join("old.mh")).unwrap();
    let program = env!("CARGO_BIN_EXE_mayhap");
    for args in ["build -n 1000000 -o new.mh -", "add old.mh -"] {
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -f 8; exec env --default-signal {program} {args}")]);
        limited.current_dir(folder.path()).env("NO_COLOR", "1");
        limited.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = limited.spawn().unwrap();
        child.stdin.take().unwrap().write_all(&keys).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}: {:?}", output.status);
        assert!(said(&output).contains("File too large"), "{}", said(&output));
    }
    assert_eq!(files(folder.path()), ["old.mh"]);
    assert!(fs::read(folder.path().join("old.mh")).unwrap() == old);
}
