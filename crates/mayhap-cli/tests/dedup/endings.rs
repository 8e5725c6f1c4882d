//! How a run ends: readers that leave, streams that are closed, files that grow, signals that ask.

use super::*;
use std::io::Read;

fn numbers(lines: std::ops::Range<u64>) -> String {
    lines.map(|i| format!("https://example.com/page/{i}\n")).collect()
}

/// Waits until the program has written as much as a pipe takes, and waits itself.
fn wait_until_it_prints(child: &mut Child) -> String {
    line(child)
}

#[test]
fn a_reader_that_leaves_is_told_nothing_and_scripts_are() {
    let folder = Folder::new();
    let file = folder.file("work", work(200_000));
    let mut child = start(&["dedup", "--exact", &file]);
    line(&mut child);
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    assert_eq!(
        (done.status.code(), String::from_utf8_lossy(&done.stderr).as_ref()),
        (Some(141), "")
    );
}

/// What was printed is in the state, and nothing else is: the next run prints the rest.
#[test]
fn a_state_has_exactly_what_was_printed_before_the_reader_left() {
    let folder = Folder::new();
    let text = numbers(0..100_000);
    let file = folder.file("work", &text);
    for exact in [false, true] {
        for invert in [false, true] {
            let state = folder.path(&format!("state-{exact}-{invert}"));
            let mut args = vec!["dedup", "--state", &state];
            args.extend(exact.then_some("--exact"));
            // Everything is a repeat of something, so that there is something to print.
            let twice = folder.file("twice", format!("{text}{text}"));
            args.extend(if invert { vec!["--invert", &twice] } else { vec![file.as_str()] });
            let mut child = start(&args);
            let mut read = vec![0; 30_000];
            child.stdout.as_mut().unwrap().read_exact(&mut read).unwrap();
            drop(child.stdout.take());
            let done = child.wait_with_output().unwrap();
            assert_eq!(done.status.code(), Some(141), "{args:?}");
            assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));

            let mut args = vec!["dedup", "-q", "--state", &state, &file];
            args.extend(exact.then_some("--exact"));
            let rest = run(&args, "").0;
            if invert {
                // All lines had been read once before the first repeat came.
                assert_eq!(rest, "");
                continue;
            }
            assert!(text.ends_with(&rest), "not the rest: {}", rest.lines().next().unwrap());
            let printed = text.len() - rest.len();
            let whole = read.iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
            // What we read, and at most what a pipe holds beside it.
            assert!((whole..whole + (1 << 20)).contains(&printed), "{printed} of {whole}");
        }
    }
}

/// A disk that is full under standard output: the same, and it is said.
#[test]
#[cfg(target_os = "linux")]
fn a_state_has_nothing_that_could_not_be_written() {
    let folder = Folder::new();
    let (state, file) = (folder.path("state"), folder.file("work", numbers(0..10_000)));
    let full = fs::File::create("/dev/full").unwrap();
    let done = std::process::Command::new(assert_cmd::cargo::cargo_bin("mayhap"))
        .args(["dedup", "--state", &state, &file])
        .stdout(full)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2));
    assert!(said.contains("No space left") && said.contains("hint: "), "{said}");
    assert_eq!(run(&["dedup", "-q", "--state", &state, &file], "").0, numbers(0..10_000));
}

/// Runs with standard output, or another stream, closed by the shell.
fn with_closed(stream: &str, args: &[&str]) -> std::process::Output {
    std::process::Command::new("sh")
        .args(["-c", &format!("exec \"$0\" \"$@\" {stream}")])
        .arg(assert_cmd::cargo::cargo_bin("mayhap"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_closed_stream_is_an_error_wherever_it_matters() {
    let folder = Folder::new();
    let (list, filter) = (folder.file("list", "a\nb\na\n"), folder.path("list.may"));
    run(&["build", "-q", "-n", "10", "-o", &filter, &list], "");
    let state = folder.path("state");
    for args in [
        vec!["dedup", &list],
        vec!["dedup", "--state", &state, &list],
        vec!["check", &filter, &list],
        vec!["check", "-c", &filter, &list],
        vec!["check", "--mark", "--json", &filter, &list],
        vec!["info", &filter],
        vec!["info", "--json", &filter],
        vec!["verify", &filter],
        vec!["plan", "-n", "10"],
        vec!["build", "-n", "10", "-o", "-", &list],
        vec!["completions", "bash"],
        vec!["--help"],
        vec!["help", "dedup"],
        vec!["--version"],
    ] {
        let done = with_closed(">&-", &args);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("standard output: it is closed"), "{args:?}: {said}");
    }
    assert!(!Path::new(&state).exists(), "a state of lines that were never printed");
    // What prints nothing needs no output.
    for args in [
        vec!["add", &filter, &list],
        vec!["check", "-q", &filter, &list],
        vec!["dedup", "--in-place", &list],
        vec!["build", "--force", "-n", "10", "-o", &filter, &list],
    ] {
        let done = with_closed(">&-", &args);
        assert_eq!(done.status.code(), Some(0), "{args:?}: {done:?}");
    }
    for args in [vec!["dedup"], vec!["check", &filter]] {
        let done = with_closed("<&-", &args);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("standard input is closed"), "{said}");
    }
    // Nothing on it is something else: whoever sends output to /dev/null means it.
    let null = fs::File::options().read(true).write(true).open("/dev/null").unwrap();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("mayhap"));
    assert!(command.args(["info", &filter]).stdout(null).status().unwrap().success());
}

#[test]
fn every_verb_tells_that_its_reader_has_gone() {
    let folder = Folder::new();
    let (list, filter) = (folder.file("list", numbers(0..200_000)), folder.path("list.may"));
    run(&["build", "-q", "-o", &filter, &list], "");
    for args in [
        vec!["dedup", &list],
        vec!["check", &filter, &list],
        vec!["check", "--json", &filter, &list],
        vec!["build", "-n", "1M", "-o", "-", &list],
        vec!["info", &filter],
        vec!["plan", "-n", "10"],
        vec!["completions", "bash"],
        vec!["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done = std::process::Command::new(assert_cmd::cargo::cargo_bin("mayhap"))
            .args(&args)
            .stdin(Stdio::null())
            .stdout(writer)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), said.as_ref()), (Some(141), ""), "{args:?}");
    }
}

/// The program has counted the lines of the file, and waits for us to read; the file grows.
#[test]
fn lines_that_come_after_the_count_are_not_lost() {
    let folder = Folder::new();
    // Two threads, so that it cannot have read it all when it waits.
    let dedup = ["dedup", "-j", "2"].as_slice();
    for args in [dedup, &["dedup", "-j", "2", "-p", "1e-9"], &["dedup", "-j", "2", "--exact"]] {
        let file = folder.file("log", numbers(0..200_000));
        let mut child = start(&[args, &[file.as_str()]].concat());
        let mut out = wait_until_it_prints(&mut child);
        let mut log = fs::File::options().append(true).open(&file).unwrap();
        log.write_all(numbers(200_000..900_000).as_bytes()).unwrap();
        child.stdout.as_mut().unwrap().read_to_string(&mut out).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success());
        let lost = 900_000 - out.lines().count();
        // At 1e-6 one of them may be, in one run of two.
        assert!(lost <= if args.len() == 3 { 6 } else { 0 }, "{args:?}: {lost} lost");
        if lost == 0 {
            assert!(out == numbers(0..900_000), "{args:?}");
        }
    }
}

/// As a log does: it grows all the time while it is read.
#[test]
fn a_file_that_grows_all_the_time_loses_nothing() {
    let folder = Folder::new();
    let file = folder.file("log", numbers(0..200_000));
    let path = file.clone();
    let writer = std::thread::spawn(move || {
        let mut log = fs::File::options().append(true).open(path).unwrap();
        for from in (200_000..900_000).step_by(1_000) {
            log.write_all(numbers(from..from + 1_000).as_bytes()).unwrap();
        }
    });
    let done = mayhap(&["dedup", "-p", "1e-9", "--json", &file]).assert().success();
    writer.join().unwrap();
    let out = String::from_utf8_lossy(&done.get_output().stdout);
    let lines = out.lines().count() as u64;
    let summary: serde_json::Value = serde_json::from_slice(&done.get_output().stderr).unwrap();
    assert_eq!(summary["repeats"].as_u64().unwrap(), summary["lines"].as_u64().unwrap() - lines);
    // The last line may have been read when half of it was there.
    assert!(summary["repeats"].as_u64().unwrap() == 0, "{summary}");
    let (whole, _) = out.trim_end().rsplit_once('\n').unwrap();
    assert!(numbers(0..lines).starts_with(whole));
}

#[test]
fn a_signal_is_answered_with_how_far_it_is() {
    let folder = Folder::new();
    let (list, filter) = (folder.file("list", "b\n"), folder.path("list.may"));
    run(&["build", "-q", "-n", "100", "-o", &filter, &list], "");
    let state = folder.path("state");
    for args in [
        vec!["dedup", "--state", &state],
        vec!["check", "--line-buffered", "--mark", &filter],
        vec!["add", &filter],
        vec!["build", "-n", "10", "--force", "-o", &list],
    ] {
        let mut child = start(&args);
        feed(&mut child, "a\nb\n");
        if ["dedup", "check"].contains(&args[0]) {
            line(&mut child);
        }
        // The others say nothing before the end: ask until they have begun to listen.
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let listens = || {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            u64::from_str_radix(caught.trim(), 16).unwrap() >> 9 & 1 == 1
        };
        assert!((0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            listens()
        }));
        signal(&child, "-USR1");
        let mut said = String::new();
        errors.read_line(&mut said).unwrap();
        let far = said.starts_with(&format!("{}: ", args[0])) && said.contains(" lines, ");
        assert!(far || said.starts_with("nothing is being read now"), "{args:?}: {said}");
        if args[0] == "dedup" {
            assert!(said.starts_with("dedup: 2 lines, 4 B in "), "{said}");
        }
        // It goes on.
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "{args:?}");
    }
}

/// Cut off while it is read: what was printed is in the state, and it is told.
#[test]
fn a_file_that_becomes_shorter_is_an_error() {
    let folder = Folder::new();
    let file = folder.file("log", numbers(0..300_000));
    let state = folder.path("state");
    let mut child = start(&["dedup", "-j", "2", "--state", &state, &file]);
    let mut out = line(&mut child);
    fs::File::create(&file).unwrap();
    child.stdout.as_mut().unwrap().read_to_string(&mut out).unwrap();
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot read") && said.contains("log"), "{said}");
    let file = folder.file("log", numbers(0..300_000));
    let rest = run(&["dedup", "-q", "-p", "1e-6", "--state", &state, &file], "").0;
    assert!(out + &rest == numbers(0..300_000));
}

/// The end of a run that has been told to stop; it is given time, but not forever.
fn end_of(mut child: Child) -> (Option<i32>, String) {
    for _ in 0..1000 {
        if child.try_wait().unwrap().is_some() {
            let done = child.wait_with_output().unwrap();
            return (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    panic!("it goes on waiting");
}

/// Nobody has opened the other end yet: the wait for that ends with a signal.
#[test]
#[cfg(target_os = "linux")]
fn a_named_pipe_without_another_end_can_be_left() {
    let folder = Folder::new();
    let (list, out) = (folder.file("list", "a\nb\na\n"), folder.path("out"));
    let pipe = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (args, name) in [
        (vec!["dedup", "-o", &pipe, &list], "-TERM"),
        (vec!["dedup", "--dupes", &pipe, &list], "-INT"),
        (vec!["build", "-n", "10", "-o", &pipe, &list], "-TERM"),
        (vec!["dedup", &pipe], "-TERM"),
        (vec!["build", "-n", "10", "-o", &out, &pipe], "-INT"),
    ] {
        let child = start(&args);
        let listens = || {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
            u64::from_str_radix(caught.trim(), 16).unwrap() >> 14 & 1 == 1
        };
        assert!((0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            listens()
        }));
        std::thread::sleep(Duration::from_millis(100));
        signal(&child, name);
        let (code, said) = end_of(child);
        assert_eq!(code, Some(130), "{args:?}: {said}");
        assert!(said.contains("interrupted"), "{args:?}: {said}");
    }
    // Whoever comes late gets everything.
    let child = start(&["dedup", "-o", &pipe, &list]);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(fs::read_to_string(&pipe).unwrap(), "a\nb\n");
    assert_eq!(end_of(child).0, Some(0));
    let mut child = start(&["dedup", &pipe]);
    std::thread::sleep(Duration::from_millis(200));
    fs::write(&pipe, "a\nb\na\n").unwrap();
    let mut out = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!((out.as_str(), end_of(child).0), ("a\nb\n", Some(0)));
}

/// A reader that neither reads nor leaves: a signal ends the run all the same, and the state has what
/// went into the pipe.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_ends_a_run_whose_reader_stalls() {
    let folder = Folder::new();
    let text = numbers(0..200_000);
    let file = folder.file("work", &text);
    for state in [None, Some(folder.path("state"))] {
        let mut args = vec!["dedup", &file];
        args.extend(state.iter().flat_map(|state| ["--state", state.as_str()]));
        let mut child = start(&args);
        wait_until_it_waits(&child);
        signal(&child, "-TERM");
        let status = child.wait().unwrap(); // while the pipe is still full
        assert_eq!(status.code(), Some(130));
        let mut printed = String::new();
        child.stdout.as_mut().unwrap().read_to_string(&mut printed).unwrap();
        assert!(text.starts_with(&printed) && printed.len() > 10_000, "{}", printed.len());
        if let Some(state) = state {
            let rest = run(&["dedup", "-q", "--state", &state, &file], "").0;
            let whole = printed.rfind('\n').unwrap() + 1;
            assert_eq!(rest, text[whole..]);
        }
    }
}

/// Waits until the program sleeps in a system call: the pipe is full.
#[cfg(target_os = "linux")]
fn wait_until_it_waits(child: &Child) {
    let stat = format!("/proc/{}/stat", child.id());
    let mut asleep = 0;
    while asleep < 20 {
        let stat = fs::read_to_string(&stat).unwrap();
        let state = stat.rsplit(") ").next().unwrap_or_default();
        asleep = if state.starts_with('S') { asleep + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Nothing was printed, so nothing is remembered, and no file is left that would say so.
#[test]
#[cfg(target_os = "linux")]
fn a_run_that_printed_nothing_leaves_no_new_state() {
    let folder = Folder::new();
    let (state, out) = (folder.path("state"), folder.path("out"));
    for exact in [false, true] {
        for output in [false, true] {
            let mut args = vec!["dedup", "--state", &state];
            args.extend(exact.then_some("--exact"));
            args.extend(output.then_some(["-o", out.as_str()]).into_iter().flatten());
            let mut child = start(&args);
            if output {
                child.stdin.as_mut().unwrap().write_all(b"a\nb\n").unwrap();
            }
            while !Path::new(&state).exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _open = child.stdin.take();
            signal(&child, "-INT");
            let done = child.wait().unwrap();
            assert_eq!(done.code(), Some(130), "{args:?}");
            let left = [&state, &out].map(|path| Path::new(path).exists());
            assert_eq!(left, [false; 2], "{args:?}");
        }
    }
    // One that was there before stays.
    run(&["dedup", "-q", "--state", &state], "a\n");
    let mut child = start(&["dedup", "--state", &state, "-o", &out]);
    wait_until_it_waits(&child);
    let _open = child.stdin.take();
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(run(&["dedup", "-q", "--state", &state], "a\nb\n").0, "b\n");
}
