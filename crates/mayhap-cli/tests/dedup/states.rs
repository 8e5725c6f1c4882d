//! States: full ones, windows, and exact ones.

use super::*;

fn lines(range: std::ops::Range<u64>) -> String {
    range.map(|i| format!("line {i}\n")).collect()
}

/// One that was built for some keys, and cannot grow: as many as it was built for and no more.
#[test]
fn a_full_state_ends_the_run_before_lines_are_lost() {
    let folder = Folder::new();
    let known = folder.file("known", lines(0..100));
    let more = folder.file("more", lines(0..20_000));
    for kind in [
        vec!["--kind", "blocked"],
        vec!["--kind", "classic"],
        vec!["--kind", "counting"],
        vec!["--shards", "4"],
    ] {
        let state = folder.path("state");
        let build = ["build", "-q", "--force", "-n", "1000", "-p", "1%", "-o", &state, &known];
        run(&[&build, kind.as_slice()].concat(), "");
        let done = mayhap(&["dedup", "--state", &state, &more]).assert().code(2);
        let said = String::from_utf8_lossy(&done.get_output().stderr);
        assert!(said.contains("does not grow") && said.contains("hint: "), "{kind:?}: {said}");
        assert!(!said.contains("18,446,744"), "{kind:?}: {said}");
        let out = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
        // New ones until it was full, of which a few in a hundred were taken for repeats.
        let printed = out.lines().count();
        assert!((800..=902).contains(&printed), "{kind:?}: {printed}");
        run(&["verify", &state], "");
        // What was printed is in it; what was not is still to come.
        let again = mayhap(&["dedup", "--state", &state, &more]).assert().code(2);
        let again = String::from_utf8_lossy(&again.get_output().stdout).into_owned();
        assert!(again.lines().all(|line| !out.contains(&format!("{line}\n"))), "{kind:?}");
        // Repeats alone need no room.
        let seen = folder.file("seen", &out);
        assert_eq!(run(&["dedup", "-q", "--state", &state, &seen], "").0, "", "{kind:?}");
        // The way out that the hint names.
        let new = folder.path(&format!("new-{}", kind[1]));
        let rest = run(&["dedup", "-q", "--state", &new, "--against", &state, &more], "").0;
        let left = 20_000 - 100 - printed;
        assert!(rest.lines().count() > left * 97 / 100, "{kind:?}");
    }
}

#[test]
fn an_overfull_state_is_refused_before_anything_is_printed() {
    let folder = Folder::new();
    let (state, keys) = (folder.path("state"), folder.file("keys", lines(0..5_000)));
    run(&["build", "-q", "-n", "100", "-p", "1%", "--kind", "blocked", "-o", &state, &keys], "");
    let before = fs::read(&state).unwrap();
    let new = folder.file("new", lines(5_000..20_000));
    let err = refusal(&["dedup", "--state", &state, &new]);
    assert!(err.contains("the state is overfull") && err.contains("hint: "), "{err}");
    assert!(fs::read(&state).unwrap() == before);
}

#[test]
fn a_state_that_dedup_made_grows_as_far_as_needed() {
    let folder = Folder::new();
    let state = folder.path("state");
    run(&["dedup", "-q", "-n", "10", "-p", "1e-9", "--state", &state], "a\n");
    let more = folder.file("more", lines(0..100_000));
    assert!(run(&["dedup", "-q", "--state", &state, &more], "").0 == lines(0..100_000));
    assert_eq!(run(&["dedup", "-q", "--state", &state, &more], "").0, "");
}

/// Not enough memory to grow: all that fits is printed and saved, and only then it ends.
#[test]
fn a_state_without_the_memory_to_grow_keeps_what_it_has_printed() {
    let folder = Folder::new();
    let more = folder.file("more", lines(0..100_000));
    for exact in [vec![], vec!["--exact"]] {
        let state = folder.path(&format!("state{}", exact.len()));
        let args = ["dedup", "-n", "1000", "--max-memory", "100kB", "--state", &state, &more];
        let args = [&args, exact.as_slice()].concat();
        let done = mayhap(&args).assert().code(2);
        let said = String::from_utf8_lossy(&done.get_output().stderr);
        assert!(said.contains("of memory needed") && said.contains("--max-memory"), "{said}");
        let out = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
        assert!(out.lines().count() >= 1_000 && lines(0..100_000).starts_with(&out));
        let args = ["dedup", "-q", "--state", &state, &more];
        let rest = run(&[&args, exact.as_slice()].concat(), "").0;
        assert!(out + &rest == lines(0..100_000), "{exact:?}");
    }
}

#[test]
fn a_crowded_window_ends_the_run_before_lines_are_lost() {
    let folder = Folder::new();
    let more = folder.file("more", lines(0..50_000));
    let done = mayhap(&["dedup", "--window", "1h", "-n", "10", &more]).assert().code(2);
    let said = String::from_utf8_lossy(&done.get_output().stderr);
    assert!(said.contains("within the window, made for 10") && said.contains("hint: "), "{said}");
    assert!(!said.contains("18,446,744"), "{said}");
    let out = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(lines(0..50_000).starts_with(&out) && out.lines().count() >= 10, "{out}");
}

#[test]
fn a_window_is_not_put_on_a_state_of_another_make() {
    let folder = Folder::new();
    let [plain, keys, time] = ["plain", "keys", "time"].map(|name| folder.path(name));
    run(&["dedup", "-q", "--state", &plain], "a\n");
    run(&["dedup", "-q", "--state", &keys, "--window", "1000"], "a\n");
    run(&["dedup", "-q", "--state", &time, "--window", "1h", "-n", "1000"], "a\n");
    for (state, window, why) in [
        (&plain, vec!["--window", "1000"], "made without a window (scalable), not of 1,000 lines"),
        (&keys, vec!["--window", "999"], "with a window of 1,000 lines, not of 999 lines"),
        (&keys, vec!["--window", "1h", "-n", "5"], "with a window of 1,000 lines, not of 1 h"),
        (&time, vec!["--window", "2h", "-n", "1000"], "with a window of 1 h, not of 2 h"),
        (&time, vec!["--window", "1000"], "with a window of 1 h, not of 1,000 lines"),
        (&time, vec!["--window", "1h", "-n", "2000"], "made for 1,000 lines within its window"),
    ] {
        let before = fs::read(state).unwrap();
        let err = refusal(&[&["dedup", "--state", state], window.as_slice()].concat());
        assert!(err.contains(why) && err.contains("hint: "), "{window:?}: {err}");
        assert!(fs::read(state).unwrap() == before);
    }
    // The same again, or nothing said, is no other make.
    assert_eq!(run(&["dedup", "-q", "--state", &keys, "--window", "1k"], "a\nb\n").0, "b\n");
    assert_eq!(run(&["dedup", "-q", "--state", &time, "--window", "60m"], "a\nb\n").0, "b\n");
    assert_eq!(run(&["dedup", "-q", "--state", &time], "a\nb\nc\n").0, "c\n");
}

/// With a state lines are looked at before they are remembered: that must not lengthen a window.
#[test]
fn a_window_with_a_state_forgets_as_one_without() {
    let folder = Folder::new();
    for window in [1, 2, 5, 100, 1_000] {
        let mut text = String::new();
        for i in 0..3_000u64 {
            text += &format!("{}\n", i * i % (2 * window + 3));
        }
        let window = window.to_string();
        let args = ["dedup", "-q", "-p", "1e-9", "--window", &window];
        let state = folder.path(&format!("state-{window}"));
        let without = run(&args, text.clone()).0;
        let with = run(&[&args, ["--state", &state].as_slice()].concat(), text).0;
        assert!(without == with, "{window}");
    }
}

#[test]
fn an_exact_state_remembers_from_run_to_run_and_errs_never() {
    let folder = Folder::new();
    let (state, text) = (folder.path("state.max"), work(60_000));
    let all = awk(&text, 1);
    let end = text.len() / 2 + text[text.len() / 2..].iter().position(|b| *b == b'\n').unwrap() + 1;
    let mut out = Vec::new();
    for part in [&text[..end], &text[end..], &text] {
        let args = ["dedup", "--exact", "--state", &state];
        let done = mayhap(&args).write_stdin(part).assert().success();
        assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("; exact"));
        out.extend_from_slice(&done.get_output().stdout);
    }
    assert!(out == all);
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1);
    let said = run(&["verify", &state], "").0;
    assert!(said.contains("whole: exact, ") && said.contains(" keys, "), "{said}");
    // 16 bytes a line, and something.
    let (lines, bytes) =
        (all.split(|b| *b == b'\n').count() - 1, fs::metadata(&state).unwrap().len());
    assert!(bytes as usize <= 16 * lines + 200, "{bytes} for {lines}");
}

#[test]
fn an_exact_state_keeps_its_rules_and_passes() {
    let folder = Folder::new();
    let state = folder.path("state");
    let dedup = |args: &[&str], input: &str| {
        run(&[&["dedup", "-q", "--exact", "--state", &state], args].concat(), input).0
    };
    assert_eq!(dedup(&["--normalize", "lower", "--max-repeat", "2"], "Ada\n"), "Ada\n");
    assert_eq!(dedup(&["--max-repeat", "2"], "ADA\nada\nEve\n"), "ADA\nEve\n");
    let err = refusal(&["dedup", "--exact", "--state", &state, "--normalize", "hex"]);
    assert!(err.contains("normalized by lower, not by hex"), "{err}");
}

#[test]
fn a_state_of_another_make_is_refused_by_name() {
    let folder = Folder::new();
    let [filter, exact] = ["filter", "exact"].map(|name| folder.path(name));
    run(&["dedup", "-q", "--state", &filter], "a\n");
    // Its last byte differs from run to run; one that ends a LevelDB filter must not matter.
    for _ in 0..20 {
        run(&["dedup", "-q", "--exact", "--state", &exact], "a\n");
        let err = refusal(&["dedup", "--state", &exact]);
        assert!(err.contains("is an exact state"), "{err}");
        fs::remove_file(&exact).unwrap();
    }
    run(&["dedup", "-q", "--exact", "--state", &exact], "a\n");
    let before = [&filter, &exact].map(|path| fs::read(path).unwrap());
    let err = refusal(&["dedup", "--exact", "--state", &filter]);
    assert!(err.contains("is a filter, which is not exact") && err.contains("hint: "), "{err}");
    let err = refusal(&["dedup", "--state", &exact]);
    assert!(err.contains("is an exact state") && err.contains("hint: add --exact"), "{err}");
    // Nor is it taken for a list of keys, a filter to ask, or one to replace.
    for args in [
        vec!["dedup", &exact],
        vec!["check", &exact],
        vec!["dedup", "--against", &exact],
        vec!["build", "-n", "5", "-o", &exact],
        vec!["info", &exact],
    ] {
        let err = refusal(&args);
        assert!(err.contains("exact"), "{args:?}: {err}");
    }
    assert!([&filter, &exact].map(|path| fs::read(path).unwrap()) == before);
}

#[test]
fn a_damaged_exact_state_is_refused_and_left() {
    let folder = Folder::new();
    let state = folder.path("state");
    run(&["dedup", "-q", "--exact", "--state", &state], lines(0..50));
    let whole = fs::read(&state).unwrap();
    let mut flipped = whole.clone();
    flipped[200] ^= 4;
    for damaged in [&flipped[..], &whole[..whole.len() - 1], &[whole.as_slice(), b"x"].concat()] {
        fs::write(&state, damaged).unwrap();
        let err = refusal(&["dedup", "--exact", "--state", &state]);
        assert!(err.contains("damaged") && err.contains("hint: "), "{err}");
        mayhap(&["verify", &state]).assert().code(1);
        assert!(fs::read(&state).unwrap() == damaged);
    }
}

/// Killed in the middle of saving, again and again: what is there is whole, and what a run before
/// had saved is in it.
#[test]
fn an_exact_state_survives_being_killed() {
    let folder = Folder::new();
    let state = folder.path("state");
    run(&["dedup", "-q", "--exact", "--state", &state], lines(0..50_000));
    for round in 0..6u64 {
        let mut child = start(&["dedup", "--exact", "--state", &state, "--save-every", "1ms"]);
        let (mut text, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let reader = std::thread::spawn(move || BufReader::new(out).lines().count());
        let writer = std::thread::spawn(move || {
            (0..).any(|i| text.write_all(format!("{round} {i}\n").repeat(50).as_bytes()).is_err())
        });
        std::thread::sleep(Duration::from_millis(60 + 7 * round));
        signal(&child, "-KILL");
        child.wait().unwrap();
        assert!(writer.join().unwrap());
        reader.join().unwrap();
        run(&["verify", &state], "");
    }
    assert_eq!(
        run(&["dedup", "-q", "--exact", "--state", &state], lines(0..50_001)).0,
        "line 50000\n"
    );
}

#[test]
fn an_exact_state_has_one_writer_at_a_time() {
    let folder = Folder::new();
    let state = folder.path("state");
    let mut child = start(&["dedup", "--exact", "--state", &state]);
    feed(&mut child, "a\n");
    assert_eq!(line(&mut child), "a\n");
    let err = refusal(&["dedup", "--exact", "--state", &state]);
    assert!(err.contains(&format!("process {}", child.id())), "{err}");
    let mut second = start(&["dedup", "--exact", "--state", &state, "--wait"]);
    feed(&mut second, "a\nb\n");
    drop((child.stdin.take(), second.stdin.take()));
    assert!(child.wait().unwrap().success());
    assert_eq!(line(&mut second), "b\n");
    assert!(second.wait().unwrap().success());
}

/// All at once on a state that is not there yet: each line is printed by one of them.
#[test]
fn runs_that_begin_a_state_at_once_take_turns() {
    for exact in [false, true] {
        let folder = Folder::new();
        let (state, file) = (folder.path("state"), folder.file("in", lines(0..5_000)));
        let mut args = vec!["dedup", "-p", "1e-9", "--state", &state, "--wait", &file];
        if exact {
            args = vec!["dedup", "--exact", "--state", &state, "--wait", &file];
        }
        let runs: Vec<Child> = (0..6).map(|_| start(&args)).collect();
        let mut printed = String::new();
        for run in runs {
            let done = run.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success(), "{said}");
            printed += &String::from_utf8(done.stdout).unwrap();
        }
        assert!(printed == lines(0..5_000), "{exact}: {} lines", printed.lines().count());
    }
}

/// A state knows which part of the lines its keys were: keys from elsewhere would all be new.
#[test]
fn a_state_is_not_used_with_keys_from_elsewhere() {
    let folder = Folder::new();
    let table = folder.file("t.csv", "id,url\n1,a\n2,b\n");
    let ways: [(&[&str], &str, &str); 5] = [
        (&[], "a\n", "lines"),
        (&["--field", "2,3"], "x\ta\tb\n", "field 2-3"),
        (&["--field", "2,3", "--delimiter", "|"], "x|a|b\n", "field 2-3 between '|'"),
        (&["--csv", "url"], "", "column url"),
        (&["--json-key", "/a~1b/0"], "{\"a/b\":[1]}\n", "JSON value /a~1b/0"),
    ];
    for (at, (flags, input, name)) in ways.iter().enumerate() {
        for exact in [false, true] {
            let state = folder.path(&format!("state-{at}-{exact}"));
            let args = |flags: &[&'static str]| {
                let mut args = vec!["dedup", "-q", "--state"];
                args.push(Box::leak(state.clone().into_boxed_str()));
                args.extend(exact.then_some("--exact"));
                args.extend(flags);
                args
            };
            let mut first = args(flags);
            if input.is_empty() {
                first.push(Box::leak(table.clone().into_boxed_str()));
            }
            let printed = run(&first, *input).0;
            assert!(!printed.is_empty());
            assert!(!run(&first, *input).0.contains(input.lines().next().unwrap_or("1,a")));
            for (other, (flags, ..)) in ways.iter().enumerate().filter(|(other, _)| *other != at) {
                let before = fs::read(&state).unwrap();
                let said = refusal(&args(flags));
                let want = format!("its keys are {name}, and these are {}", ways[other].2);
                assert!(said.contains(&want) && said.contains("--mixed-keys"), "{said}");
                assert_eq!(fs::read(&state).unwrap(), before);
            }
        }
    }
    // Two feeds of the same keys, for whoever says so.
    let state = folder.path("mixed");
    run(&["dedup", "-q", "--state", &state, "--csv", "url", &table], "");
    let json = "{\"u\":\"a\"}\n{\"u\":\"c\"}\n";
    let args = ["dedup", "-q", "--state", &state, "--mixed-keys", "--json-key", "/u"];
    assert_eq!(run(&args, json).0, "{\"u\":\"c\"}\n");
    // Filters made by other verbs say nothing of it.
    let built = folder.path("built");
    run(&["build", "-q", "-n", "10", "-o", &built], "a\n");
    assert_eq!(
        run(&["dedup", "-q", "--state", &built, "--field", "2"], "x\ta\ny\tb\n").0,
        "y\tb\n"
    );
}
