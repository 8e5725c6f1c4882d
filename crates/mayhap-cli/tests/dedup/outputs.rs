//! Files that lines go to: whole or not at all, and never one that is read.

use super::*;

/// Names in the folder, in order.
fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.0.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn lines_go_to_a_file() {
    let folder = Folder::new();
    let (file, out) = (folder.file("in", "b\na\nb\n"), folder.path("out"));
    let (printed, said) = run(&["dedup", "-o", &out, &file], "");
    assert_eq!((printed.as_str(), folder.read("out").as_str()), ("", "b\na\n"));
    assert!(said.starts_with("3 lines, 2 new, 1 repeat; "), "{said}");
    // Replaced whole, also by fewer lines.
    run(&["dedup", "-q", "-o", &out], "c\n");
    assert_eq!(folder.read("out"), "c\n");
    assert_eq!(run(&["dedup", "-q", "-o", "-"], "c\nc\n").0, "c\n");
    // Pipes and devices are written to as they are.
    let printed = run(&["dedup", "-q", "-o", "/dev/stdout", &file], "").0;
    assert_eq!(printed, "b\na\n");
    let printed = run(&["dedup", "-q", "--dupes", "/dev/stdout", "-o", &out, &file], "").0;
    assert_eq!((printed.as_str(), folder.read("out").as_str()), ("b\n", "b\na\n"));
    run(&["dedup", "-q", "--dupes", "/dev/null", "-o", "/dev/null", &file], "");
    assert_eq!(names(&folder), ["in", "out"]);
}

#[test]
fn a_run_that_fails_leaves_all_files_as_they_were() {
    let folder = Folder::new();
    let (out, dupes) = (folder.file("out", "old\n"), folder.file("dupes", "old dupes\n"));
    let good = folder.file("good", "a\na\nb\n");
    let bad = folder.file("bad.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03 cut off");
    let state = folder.path("state");
    run(&["dedup", "-q", "--state", &state], "x\n");
    let before = fs::read(&state).unwrap();
    for inputs in [vec![good.as_str(), "no such file"], vec![&good, &bad]] {
        for extra in [vec!["-o", &out], vec!["-o", &out, "--state", &state], vec![]] {
            let args = [&["dedup", "--dupes", &dupes], extra.as_slice(), &inputs].concat();
            mayhap(&args).assert().code(2);
            assert_eq!(folder.read("out"), "old\n", "{args:?}");
            assert_eq!(folder.read("dupes"), "old dupes\n", "{args:?}");
            assert!(fs::read(&state).unwrap() == before, "{args:?}");
        }
    }
    // In place, the input that was whole stays too.
    mayhap(&["dedup", "--in-place", &good, "no such file"]).assert().code(2);
    assert_eq!(folder.read("good"), "a\na\nb\n");
    assert_eq!(names(&folder), ["bad.gz", "dupes", "good", "out", "state"]);
}

/// `-o` of other verbs names the filter.
#[test]
fn lines_do_not_take_the_place_of_a_filter() {
    let folder = Folder::new();
    let (filter, exact) = (folder.path("f.may"), folder.path("e.max"));
    run(&["dedup", "-q", "--state", &filter], "a\n");
    run(&["dedup", "-q", "--exact", "--state", &exact], "a\n");
    for (file, what) in [(&filter, "a Mayhap filter"), (&exact, "a Mayhap exact state")] {
        let before = fs::read(file).unwrap();
        for flag in ["-o", "--dupes"] {
            let said = refusal(&["dedup", flag, file]);
            assert!(said.contains(what) && said.contains("hint: choose another name"), "{said}");
        }
        let said = refusal(&["dedup", file]);
        assert!(said.contains("not a list of keys"), "{said}");
        assert!(fs::read(file).unwrap() == before);
    }
}

#[test]
fn an_interrupted_run_leaves_its_output_file_and_its_state() {
    let folder = Folder::new();
    let (out, state) = (folder.file("out", "old\n"), folder.path("state"));
    run(&["dedup", "-q", "--state", &state], "x\n");
    let mut child = start(&["dedup", "--state", &state, "-o", &out]);
    feed(&mut child, "a\nb\n");
    // It has read them once it says so.
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.starts_with("dedup: 2 lines") {
        std::thread::sleep(Duration::from_millis(10));
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() >> 9 & 1 == 1 {
            signal(&child, "-USR1");
            said.clear();
            errors.read_line(&mut said).unwrap();
        }
    }
    let pipe = child.stdin.take();
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(pipe);
    assert_eq!(folder.read("out"), "old\n");
    assert_eq!(run(&["dedup", "-q", "--state", &state], "x\na\nb\n").0, "a\nb\n");
    assert_eq!(names(&folder), ["out", "state"]);
}

#[test]
fn repeats_set_aside_are_kept_when_a_pipe_is_interrupted() {
    let folder = Folder::new();
    let dupes = folder.file("dupes", "old\n");
    let mut child = start(&["dedup", "--dupes", &dupes]);
    feed(&mut child, "a\na\nb\n");
    assert_eq!(line(&mut child) + &line(&mut child), "a\nb\n");
    assert_eq!(folder.read("dupes"), "old\n");
    let pipe = child.stdin.take();
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(pipe);
    assert_eq!(folder.read("dupes"), "a\n");
}

#[test]
#[cfg(unix)]
fn in_place_replaces_each_file_and_keeps_what_it_was() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let folder = Folder::new();
    let one = folder.file("one", "b\na\nb\n");
    let two = folder.file("two", "c\na\nc\nd");
    let same = folder.file("same", "x\ny\n");
    let empty = folder.file("empty", "");
    fs::set_permissions(&one, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("one", folder.path("link")).unwrap();
    let untouched = |path: &str| fs::metadata(path).map(|data| data.ino()).unwrap();
    let (same_before, empty_before) = (untouched(&same), untouched(&empty));
    let link = folder.path("link");
    let (out, said) = run(&["dedup", "--in-place", &link, &two, &same, &empty], "");
    assert_eq!(out, "");
    assert!(said.starts_with("9 lines, 6 new, 3 repeats; "), "{said}");
    assert_eq!(folder.read("one"), "b\na\n");
    // What the first has is not new in the second.
    assert_eq!(folder.read("two"), "c\nd\n");
    assert_eq!(fs::metadata(&one).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!((untouched(&same), untouched(&empty)), (same_before, empty_before));
    // Twice is once.
    let before = untouched(&one);
    run(&["dedup", "--in-place", &one], "");
    assert_eq!(untouched(&one), before);
    assert_eq!(names(&folder), ["empty", "link", "one", "same", "two"]);
}

#[test]
fn in_place_keeps_the_head_of_every_table() {
    let folder = Folder::new();
    let [one, two] = [("one", "id,u\n1,x\n2,x\n"), ("two", "id,u\n3,y\n4,x\n")]
        .map(|(name, text)| folder.file(name, text));
    run(&["dedup", "--csv", "u", "--in-place", &one, &two], "");
    assert_eq!(
        (folder.read("one"), folder.read("two")),
        ("id,u\n1,x\n".into(), "id,u\n3,y\n".into())
    );
}

#[test]
fn in_place_and_a_state_work_together() {
    let folder = Folder::new();
    let (file, state) = (folder.file("in", "a\nb\na\n"), folder.path("state"));
    run(&["dedup", "--in-place", "--state", &state, &file], "");
    assert_eq!(folder.read("in"), "a\nb\n");
    let next = folder.file("next", "b\nc\n");
    run(&["dedup", "--in-place", "--state", &state, &next], "");
    assert_eq!(folder.read("next"), "c\n");
}

/// The program waits for a line on its second input: a pipe cannot be replaced, so it is told
/// before, and a file that changes while others are read is found out at the end.
#[test]
fn in_place_leaves_a_file_alone_that_changes_meanwhile() {
    let folder = Folder::new();
    // Long enough that the change comes before the end.
    let file = folder.file("log", work(600_000));
    let child = start(&["dedup", "--in-place", &file]);
    let mut log = fs::File::options().append(true).open(&file).unwrap();
    let mut appended = 0;
    // Until it ends by itself.
    let mut child = child;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        log.write_all(b"one more\n").unwrap();
        appended += 1;
        std::thread::sleep(Duration::from_millis(2));
    };
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("changed while it was read") && said.contains("hint: "), "{said}");
    let text = fs::read(&file).unwrap();
    let more = text.windows(9).filter(|text| *text == b"one more\n").count();
    assert_eq!(more, appended);
    assert_eq!(names(&folder), ["log"]);
}

#[test]
fn what_cannot_be_replaced_is_refused() {
    let folder = Folder::new();
    let file = folder.file("in", "a\na\n");
    let packed = folder.path("in.gz");
    assert!(std::process::Command::new("gzip").args(["-k", &file]).status().unwrap().success());
    let state = folder.path("state");
    for (args, why) in [
        (vec!["--in-place"], "standard input is none"),
        (vec!["--in-place", "-"], "standard input is none"),
        (vec!["--in-place", "/dev/null"], "not a regular file"),
        (vec!["--in-place", "no such"], "cannot open"),
        (vec!["--in-place", &packed], "compressed (gzip)"),
        (vec!["--in-place", &file, &file], "are the same file"),
        (vec!["--in-place", "-o", "x", &file], "cannot be used with"),
        (vec!["--in-place", "--on-missing", "skip", "--field", "2", &file], "would delete"),
        (vec!["-o", "no/such/folder", &file], "cannot write"),
        (vec!["-o", folder.0.path().to_str().unwrap(), &file], "is a directory"),
        (vec!["--state", &state, "--save-every", "1s", "-o", "x", &file], "--save-every"),
    ] {
        let err = refusal(&[&["dedup"], args.as_slice()].concat());
        assert!(
            err.contains(why) && (err.contains("hint: ") || err.contains("Usage")),
            "{args:?}: {err}"
        );
    }
    assert_eq!(names(&folder), ["in", "in.gz"]);
    assert_eq!(folder.read("in"), "a\na\n");
}

/// By whatever name.
#[test]
#[cfg(unix)]
fn a_file_is_never_read_and_written_nor_written_twice() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let file = folder.file("in", "a\nb\na\n");
    fs::hard_link(&file, folder.path("hard")).unwrap();
    symlink("in", folder.path("soft")).unwrap();
    symlink("new", folder.path("dangling")).unwrap();
    fs::create_dir(folder.path("sub")).unwrap();
    let [hard, soft, new, dangling] = ["hard", "soft", "new", "dangling"].map(|n| folder.path(n));
    let roundabout = folder.path("sub/../new");
    let filter = folder.path("filter.may");
    run(&["build", "-q", "-n", "10", "-o", &filter, &file], "");
    let before = fs::read(&filter).unwrap();
    for args in [
        vec!["--dupes", &file, &file],
        vec!["--dupes", &hard, &file],
        vec!["--dupes", &soft, &file],
        vec!["-o", &file, &file],
        vec!["-o", &hard, &soft],
        vec!["--state", &soft, &hard],
        vec!["--state", &new, "--dupes", &new, &file],
        vec!["--state", &new, "--dupes", &roundabout, &file],
        vec!["--state", &dangling, "-o", &new, &file],
        vec!["-o", &new, "--dupes", &dangling, &file],
        vec!["--against", &filter, "--dupes", &filter, &file],
        vec!["--against", &filter, "--state", &filter, &file],
        vec!["--key-file", &hard, "--dupes", &soft, "-"],
        vec!["--in-place", "--dupes", &hard, &file],
    ] {
        let err = refusal(&[&["dedup"], args.as_slice()].concat());
        assert!(err.contains("same file") && err.contains("hint: "), "{args:?}: {err}");
        assert_eq!(folder.read("in"), "a\nb\na\n", "{args:?}");
        assert!(!Path::new(&new).exists(), "{args:?}");
        assert!(fs::read(&filter).unwrap() == before, "{args:?}");
    }
}

/// As a shell sends it, `>> in`; by then `> in` has emptied the file, and is still refused.
#[test]
#[cfg(unix)]
fn standard_output_is_none_of_the_inputs() {
    let folder = Folder::new();
    let (file, filter) = (folder.file("in", "a\nb\na\n"), folder.path("filter.may"));
    run(&["build", "-q", "-n", "10", "-o", &filter, &file], "");
    let shell = |command: &str| {
        let program = assert_cmd::cargo::cargo_bin("mayhap");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).arg(program).current_dir(folder.0.path()).output().unwrap()
    };
    for command in [
        "\"$0\" dedup in >> in",
        "\"$0\" dedup < in >> in",
        "\"$0\" dedup --exact - < in 1<> in",
        "\"$0\" dedup -o out --dupes /dev/stdout in >> in",
        "\"$0\" check filter.may in >> in",
        "\"$0\" check filter.may in >> filter.may",
    ] {
        let done = shell(command);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{command}: {said}");
        assert!(said.contains("same file"), "{command}: {said}");
        assert_eq!(folder.read("in"), "a\nb\na\n", "{command}");
    }
    run(&["verify", &filter], "");
    // What keeps nothing may be both.
    assert!(shell("\"$0\" dedup /dev/null > /dev/null").status.success());
    let done = shell("\"$0\" dedup in > in");
    assert_eq!(done.status.code(), Some(2));
}

/// Not even with --force: the list would be gone.
#[test]
fn a_list_is_not_replaced_by_the_filter_made_of_it() {
    let folder = Folder::new();
    let (file, other) = (folder.file("list", "a\nb\n"), folder.file("other", "c\n"));
    for args in [
        vec!["build", "--force", "-n", "10", "-o", &file, &file],
        vec!["build", "--force", "-o", &other, "--include", &file, "--exclude", &other],
        vec!["build", "--force", "--format", "guava", "-n", "10", "-o", &file, &file],
    ] {
        let err = refusal(&args);
        assert!(err.contains("same file") && err.contains("hint: "), "{args:?}: {err}");
    }
    assert_eq!((folder.read("list"), folder.read("other")), ("a\nb\n".into(), "c\n".into()));
}

/// Whether or not there is a state, which has lines dealt with in parts, and whether or not any
/// line has a key.
#[test]
fn lines_without_a_key_keep_their_places() {
    let folder = Folder::new();
    let lines = "none\nx,1\nnone\nx,1\ny,2\nnone\n";
    let list = folder.file("list", lines);
    let keyless = folder.file("keyless", "none\nnone\n");
    let state = folder.path("state");
    let by_field = ["dedup", "-q", "--delimiter", ",", "--field", "2"];
    for more in [vec![], vec!["--state", &state], vec!["--window", "10", "--state", "w.may"]] {
        let window = folder.path("w.may");
        let more: Vec<&str> =
            more.iter().map(|arg| if *arg == "w.may" { window.as_str() } else { *arg }).collect();
        let run_on = |file: &str| run(&[&by_field, more.as_slice(), &[file]].concat(), "").0;
        assert_eq!(run_on(&list), "none\nx,1\nnone\ny,2\nnone\n", "{more:?}");
        assert_eq!(run_on(&keyless), "none\nnone\n", "{more:?}");
    }
}

/// A last line without an end gets one, which is as long as an empty line that goes.
#[test]
fn a_repeat_goes_though_the_file_is_as_long_as_before() {
    let folder = Folder::new();
    for (before, after) in
        [("\n\nb", "\nb\n"), ("a\n\n\nb", "a\n\nb\n"), ("a\nb", "a\nb"), ("a\nb\n", "a\nb\n")]
    {
        let file = folder.file("list", before);
        run(&["dedup", "-q", "--in-place", &file], "");
        assert_eq!(folder.read("list"), after, "{before:?}");
    }
}

/// Nothing new, nothing written: a run over known lines needs no room on the disk.
#[test]
fn a_state_without_news_is_left_alone() {
    let folder = Folder::new();
    let (list, state) = (folder.file("list", "a\nb\n"), folder.path("state"));
    let run_it = || run(&["dedup", "-q", "--state", &state, &list], "").0;
    assert_eq!(run_it(), "a\nb\n");
    let file = || {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(&state).unwrap().ino()
    };
    let before = file();
    assert_eq!(run_it(), "");
    assert_eq!(file(), before);
}
