//! `mayhap dedup`, the real program: what it prints, what it keeps, what it survives.

#[path = "dedup/endings.rs"]
mod endings;
#[path = "dedup/outputs.rs"]
mod outputs;
#[path = "dedup/states.rs"]
mod states;

use assert_cmd::Command;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

fn mayhap(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("mayhap").unwrap();
    command.args(args);
    command
}

/// Standard output and standard error of a run that goes well.
fn run(args: &[&str], input: impl Into<Vec<u8>>) -> (String, String) {
    let done = mayhap(args).write_stdin(input).assert().success();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

/// Standard error of a run that must not work.
fn refusal(args: &[&str]) -> String {
    let done = mayhap(args).write_stdin("").assert().code(2).stdout("");
    String::from_utf8_lossy(&done.get_output().stderr).into_owned()
}

/// Each line so many times, as `awk '++s[$0] <= k'` does it.
fn awk(text: &[u8], times: u32) -> Vec<u8> {
    let mut seen: HashMap<&[u8], u32> = HashMap::new();
    let mut out = Vec::new();
    let whole = text.strip_suffix(b"\n").unwrap_or(text);
    for line in whole.split(|byte| *byte == b'\n').filter(|_| !text.is_empty()) {
        let count = seen.entry(line).or_default();
        *count += 1;
        if *count <= times {
            out.extend_from_slice(line);
            out.push(b'\n');
        }
    }
    out
}

/// Lines of many lengths with all sorts of bytes, repeated near and far; the last without an end.
fn work(lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    let mut x = 1u64;
    for i in 0..lines {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let id = (x >> 33) % (lines / 2).max(1);
        text.extend(format!("line {id} ").bytes());
        let filler = (0xff ^ id as u8).max(b'\n' + 1);
        text.extend(std::iter::repeat_n(filler, (id % 90) as usize));
        if i + 1 < lines {
            text.push(b'\n');
        }
    }
    text
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

#[test]
fn first_occurrences_in_order() {
    let (out, err) = run(&["dedup"], "b\na\nb\nc\na");
    assert_eq!(out, "b\na\nc\n");
    assert!(err.starts_with("5 lines, 3 new, 2 repeats; new lines taken for repeats: "), "{err}");
    assert_eq!(run(&["dedup"], "").0, "");
    assert_eq!(run(&["dedup", "-q"], "a\na\n").1, "");
}

#[test]
fn exact_equals_awk_from_files_and_pipes_on_any_number_of_threads() {
    let folder = Folder::new();
    let text = work(60_000);
    let file = folder.file("work", &text);
    for (args, times) in [
        (vec!["dedup", "--exact"], 1),
        (vec!["dedup", "--exact", "-j", "1"], 1),
        (vec!["dedup", "--exact", "-j", "4", "-n", "10"], 1),
        (vec!["dedup", "--exact", "-j", "3", "--max-repeat", "3"], 3),
    ] {
        let want = awk(&text, times);
        let piped = mayhap(&args).write_stdin(text.clone()).assert().success();
        assert!(piped.get_output().stdout == want, "{args:?} from a pipe");
        let read = mayhap(&args).arg(&file).assert().success();
        assert!(read.get_output().stdout == want, "{args:?} from a file");
        assert!(String::from_utf8_lossy(&read.get_output().stderr).contains("; exact"));
    }
}

/// At 1e-9, 30 000 lines lose none.
#[test]
fn a_filter_loses_no_line_at_a_low_rate_and_prints_none_twice() {
    let folder = Folder::new();
    let text = work(60_000);
    let file = folder.file("work", &text);
    for args in [
        vec!["dedup", "-p", "1e-9", &file],
        vec!["dedup", "-p", "1e-9", "-n", "100", &file], // grows
        vec!["dedup", "-p", "1e-9", "--window", "1M", &file],
        vec!["dedup", "-p", "1e-9", "--window", "1h", "-n", "100k", &file],
    ] {
        let done = mayhap(&args).assert().success();
        assert!(done.get_output().stdout == awk(&text, 1), "{args:?}");
    }
    let done = mayhap(&["dedup", "-p", "1e-9", "--max-repeat", "2", &file]).assert().success();
    assert!(done.get_output().stdout == awk(&text, 2));
}

#[test]
fn a_high_rate_loses_lines_and_says_so() {
    let folder = Folder::new();
    let text: String = (0..20_000).map(|i| format!("{i}\n")).collect();
    let file = folder.file("lines", text);
    let done = mayhap(&["dedup", "-p", "10%", "--json", &file]).assert().success();
    let printed = done.get_output().stdout.iter().filter(|byte| **byte == b'\n').count();
    let summary: serde_json::Value = serde_json::from_slice(&done.get_output().stderr).unwrap();
    let promised = summary["lost_at_most"].as_f64().unwrap();
    let lost = 20_000.0 - printed as f64;
    assert!(lost > 0.0 && lost <= promised && promised < 2_500.0, "{lost} of {promised}");
    assert_eq!(summary["new"], printed);
    assert_eq!(summary["exact"], false);
}

#[test]
fn repeats_are_shown_or_set_aside() {
    let folder = Folder::new();
    assert_eq!(run(&["dedup", "--invert"], "a\nb\na\na\n").0, "a\na\n");
    let dupes = folder.path("dupes");
    assert_eq!(run(&["dedup", "--dupes", &dupes], "a\nb\na\nc\nb").0, "a\nb\nc\n");
    assert_eq!(folder.read("dupes"), "a\nb\n");
}

#[test]
fn known_lines_count_as_seen() {
    let folder = Folder::new();
    let (list, filter) = (folder.file("list", "HTTP://A.example\n"), folder.path("list.may"));
    run(&["build", "-p", "1e-9", "-o", &filter, "--normalize", "url", &list], "");
    // The filter says how keys are made of lines.
    let lines = "http://a.example/#x\nhttp://b.example\nhttp://B.example/\n";
    let (out, err) = run(&["dedup", "--against", &filter], lines);
    assert_eq!(out, "http://b.example\n");
    assert!(err.starts_with("3 lines, 1 new, 2 repeats"), "{err}");
    let other = folder.path("other.may");
    run(&["build", "-o", &other, &list], "");
    let err = refusal(&["dedup", "--against", &filter, "--against", &other]);
    assert!(err.contains("read keys differently"), "{err}");
}

#[test]
fn the_key_may_be_a_part_and_the_line_is_printed() {
    let (out, _) = run(&["dedup", "--field", "2"], "1\ta\n2\tb\n3\ta\n");
    assert_eq!(out, "1\ta\n2\tb\n");
    let folder = Folder::new();
    let [one, two] = [("one", "id,u\n1,x\n2,x\n"), ("two", "id,u\n3,y\n4,x\n")]
        .map(|(name, text)| folder.file(name, text));
    // One table of two: the head once.
    assert_eq!(run(&["dedup", "--csv", "u", &one, &two], "").0, "id,u\n1,x\n3,y\n");
    let (out, err) = run(&["dedup", "--json-key", "/k"], "{\"k\":1}\n{\"k\":1,\"z\":0}\nno\n");
    assert_eq!(out, "{\"k\":1}\nno\n");
    assert!(err.contains("warning"), "{err}");
}

#[test]
fn a_state_remembers_from_run_to_run() {
    let folder = Folder::new();
    let state = folder.path("state.may");
    let dedup =
        |args: &[&str], input: &str| run(&[&["dedup", "--state", &state], args].concat(), input).0;
    assert_eq!(dedup(&[], "a\nb\na\n"), "a\nb\n");
    assert_eq!(dedup(&[], "b\nc\n"), "c\n");
    assert_eq!(dedup(&["-p", "1e-6"], "a\nb\nc\nd\n"), "d\n");
    let err = refusal(&["dedup", "--state", &state, "-p", "1%"]);
    assert!(err.contains("made for a rate of 0.000001"), "{err}");
    // A state is a filter like others.
    assert_eq!(run(&["check", &state], "d\ne\n").0, "d\n");
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1);
}

#[test]
fn a_state_keeps_its_rules() {
    let folder = Folder::new();
    let state = folder.path("state.may");
    run(&["dedup", "--state", &state, "--normalize", "lower"], "Ada\n");
    assert_eq!(run(&["dedup", "--state", &state], "ADA\nEve\n").0, "Eve\n");
    let err = refusal(&["dedup", "--state", &state, "--normalize", "hex"]);
    assert!(err.contains("normalized by lower, not by hex"), "{err}");
}

/// What `--window N` says: a repeat among the last N lines, new behind 1.25 N different ones, however
/// often lines come again in between.
#[test]
fn a_window_of_lines_holds_however_often_lines_come_again() {
    const N: u64 = 400;
    let mut random = 1u64;
    let mut below = |limit: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    // Few lines come most of the time, and some seldom.
    let lines: Vec<u64> = (0..40_000)
        .map(|_| match below(4) {
            0 => below(2_500),
            1 => below(400),
            _ => below(40),
        })
        .collect();
    let text: String = (0..).zip(&lines).map(|(at, line)| format!("{line}\t{at}\n")).collect();
    let window = N.to_string();
    let (out, _) = run(&["dedup", "--window", &window, "-p", "1e-9", "--field", "1"], text);
    let place = |line: &str| line.split_once('\t').unwrap().1.parse().unwrap();
    let printed: HashSet<u64> = out.lines().map(place).collect();
    let (mut last, mut order) = (HashMap::new(), BTreeSet::new());
    let (mut within, mut behind, mut between) = (0, 0, 0);
    for (at, line) in (0u64..).zip(&lines) {
        let before = last.insert(*line, at);
        let different = before.map(|before| order.range(before + 1..).count() as u64);
        before.map(|before| order.remove(&before));
        order.insert(at);
        let is_repeat = match (before, different) {
            (Some(before), _) if at - before <= N => Some(true),
            (None, _) => Some(false),
            (_, Some(different)) if different >= N + N / 4 => Some(false),
            _ => None,
        };
        let was_repeat = !printed.contains(&at);
        match is_repeat {
            Some(repeat) => assert_eq!(was_repeat, repeat, "line {line} at {at}, {before:?}"),
            None => between += 1,
        }
        within += u32::from(is_repeat == Some(true));
        behind += u32::from(is_repeat == Some(false) && before.is_some());
    }
    assert!(within > 10_000 && behind > 100 && between > 100, "{within}, {behind}, {between}");
}

#[test]
fn a_window_forgets() {
    let mut text: String = (0..3_000).map(|i| format!("{i}\n")).collect();
    text += "0\n2999\n";
    let (out, _) = run(&["dedup", "--window", "1000", "-p", "1e-9"], text);
    // 0 is new again, 2999 is not.
    assert_eq!(out.lines().last(), Some("0"));
    assert_eq!(out.lines().count(), 3_001);
}

#[test]
fn what_cannot_be_is_refused_with_a_hint() {
    let folder = Folder::new();
    let text = folder.file("text", "no filter\n");
    let state = folder.path("state");
    for (args, why) in [
        (vec!["--exact", "-p", "1%"], "cannot be used with"),
        (vec!["--exact", "--state", &text], "not a set of exact hashes"),
        (vec!["--exact", "--window", "5"], "cannot be used with"),
        (vec!["--invert", "--dupes", "x"], "cannot be used with"),
        (vec!["--save-every", "1s"], "required"),
        (vec!["--max-repeat", "0"], "0"),
        (vec!["--window", "soon"], "neither a number"),
        (vec!["--window", "1h"], "hint: add -n"),
        (vec!["--window", "10", "-n", "10"], "hint: leave out -n"),
        (vec!["--window", "0"], "a window of at least 1 line"),
        (vec!["--window", "10", "--max-repeat", "2"], "hint: use a window of time"),
        (vec!["--state", &text], "not a mayhap file"),
        (vec!["--against", &text], "not a mayhap file"),
        (vec!["-n", "1T", "--max-memory", "1GB"], "what 1.00 GB can do:"),
        (vec!["--exact", "-n", "1G", "--max-memory", "1GB"], "what 1.00 GB can do:"),
        (vec!["no such file"], "hint:"),
        (vec!["-p", "0"], "0"),
    ] {
        let err = refusal(&[&["dedup"], args.as_slice()].concat());
        assert!(err.contains(why), "{args:?}: {err}");
    }
    assert_eq!(folder.read("text"), "no filter\n");
    assert!(!Path::new(&state).exists());
}

#[test]
fn statistics_and_json_go_to_standard_error() {
    let (out, err) = run(&["dedup", "--stats"], "a\nb\na\n");
    assert_eq!(out, "a\nb\n");
    assert!(err.contains("33.33%") && err.contains("scalable"), "{err}");
    let (_, err) = run(&["dedup", "--json", "--exact"], "a\nb\na\n");
    let summary: serde_json::Value = serde_json::from_str(&err).unwrap();
    assert_eq!((&summary["lines"], &summary["repeats"]), (&3.into(), &1.into()));
    assert_eq!(summary["exact"], true);
}

/// A run that reads from a pipe we hold.
/// Starts with signals as they are by default: a script that tests in the background has SIGINT
/// ignored.
fn start(args: &[&str]) -> Child {
    std::process::Command::new("env")
        .arg("--default-signal")
        .arg(assert_cmd::cargo::cargo_bin("mayhap"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn feed(child: &mut Child, text: &str) {
    child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
}

/// The next line that comes out, while the input stays open.
fn line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}

fn signal(child: &Child, name: &str) {
    let kill = std::process::Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()), "kill {name}");
}

#[test]
fn a_live_pipe_is_answered_at_once_and_holds_its_state() {
    let folder = Folder::new();
    let state = folder.path("state.may");
    let mut child = start(&["dedup", "--state", &state]);
    feed(&mut child, "a\n");
    assert_eq!(line(&mut child), "a\n");
    // The second writer is told who has it.
    let err = refusal(&["dedup", "--state", &state]);
    assert!(err.contains(&format!("process {}", child.id())) && err.contains("hint:"), "{err}");
    refusal(&["dedup", "--state", &state, "--wait=50ms"]);
    // One that waits gets its turn.
    let mut second = start(&["dedup", "--state", &state, "--wait"]);
    feed(&mut second, "a\nb\n");
    drop((child.stdin.take(), second.stdin.take()));
    assert!(child.wait().unwrap().success());
    assert_eq!(line(&mut second), "b\n");
    assert!(second.wait().unwrap().success());
}

#[test]
fn an_interrupted_run_keeps_what_it_has_shown() {
    for name in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let state = folder.path("state.may");
        let mut child = start(&["dedup", "--state", &state]);
        feed(&mut child, "shown\n");
        assert_eq!(line(&mut child), "shown\n");
        // Waiting would close the pipe, and the run end by itself.
        let pipe = child.stdin.take();
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
        drop(pipe);
        assert_eq!(run(&["dedup", "--state", &state], "shown\nnew\n").0, "new\n", "{name}");
    }
}

/// As under `nohup`, or in the background of a script: what is ignored stays so, and the other
/// signals are still heard.
#[test]
fn signals_ignored_by_the_caller_stay_ignored() {
    for (ignored, heard) in [("HUP", "-TERM"), ("INT", "-HUP")] {
        let folder = Folder::new();
        let state = folder.path("state.may");
        let mut child = std::process::Command::new("env")
            .args([
                "--default-signal",
                "sh",
                "-c",
                &format!("trap '' {ignored}; exec \"$@\""),
                "sh",
            ])
            .arg(assert_cmd::cargo::cargo_bin("mayhap"))
            .args(["dedup", "--state", &state])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        feed(&mut child, "shown\n");
        assert_eq!(line(&mut child), "shown\n");
        signal(&child, &format!("-{ignored}"));
        feed(&mut child, "more\n");
        assert_eq!(line(&mut child), "more\n", "after {ignored}");
        let pipe = child.stdin.take();
        signal(&child, heard);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{heard}");
        drop(pipe);
        assert_eq!(run(&["dedup", "--state", &state], "shown\nmore\nnew\n").0, "new\n");
    }
}

#[test]
fn a_killed_run_leaves_the_old_state_or_a_new_one_whole() {
    let folder = Folder::new();
    let state = folder.path("state.may");
    for round in 0..8u64 {
        let mut child = start(&["dedup", "--state", &state, "--save-every", "1ms", "-n", "1M"]);
        let (mut text, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let reader = std::thread::spawn(move || BufReader::new(out).lines().count());
        let writer = std::thread::spawn(move || {
            let lines = |i| format!("{round} {i}\n").repeat(100);
            (0..).any(|i| text.write_all(lines(i).as_bytes()).is_err())
        });
        // Saving goes on all the time; where in it the end comes is left to chance.
        std::thread::sleep(Duration::from_millis(60 + 7 * round));
        signal(&child, "-KILL");
        child.wait().unwrap();
        assert!(writer.join().unwrap());
        reader.join().unwrap();
        if Path::new(&state).exists() {
            run(&["verify", &state], "");
        }
    }
    assert!(Path::new(&state).exists());
    // The next run takes it as it is.
    run(&["dedup", "--state", &state], "0 0\n");
}

#[test]
fn a_saved_state_survives_what_comes_after() {
    let folder = Folder::new();
    let state = folder.path("state.may");
    let mut child = start(&["dedup", "--state", &state, "--save-every", "1ms"]);
    for word in ["one\n", "two\n"] {
        feed(&mut child, word);
        assert_eq!(line(&mut child), word);
    }
    // `two` is saved soon after it is printed, though nothing more comes: wait for the file to
    // say so.
    let saved = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let asked = mayhap(&["check", "-q", &state]).write_stdin("two\n").output().unwrap();
        asked.status.success()
    });
    assert!(saved);
    signal(&child, "-KILL");
    child.wait().unwrap();
    assert_eq!(run(&["dedup", "--state", &state], "one\ntwo\nthree\n").0, "three\n");
}
