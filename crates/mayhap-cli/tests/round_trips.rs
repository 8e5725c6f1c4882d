//! What goes in is found again: by every kind, from every input, whatever the bytes.

use assert_cmd::Command;
use std::fs;
use std::path::Path;
use tempfile::{TempDir, tempdir};

/// The command, in a folder of its own.
fn mayhap(folder: &TempDir, args: &str) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("mayhap"));
    command.current_dir(folder.path()).env("NO_COLOR", "1").args(args.split_whitespace());
    command
}

fn lines(range: std::ops::Range<u32>) -> String {
    range.map(|n| format!("https://example.com/{n}\n")).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const KINDS: [&str; 10] = [
    "--kind blocked",
    "--kind blocked -p 1e-6",
    "--kind classic",
    "--kind counting",
    "--kind quotient",
    "--kind scalable -n 500",
    "--kind windowed --window 20k",
    "--kind windowed --window 1h",
    "--kind fuse",
    "--kind blocked --keyed",
];

#[test]
fn no_kind_misses_a_key() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("list"), lines(0..20_000)).unwrap();
    for kind in KINDS {
        for threads in ["-j1", "-j3"] {
            mayhap(&folder, &format!("build -q -o f {kind} {threads} list")).assert().success();
            let check = mayhap(&folder, &format!("check -v f list {threads}")).assert().code(1);
            assert!(check.get_output().stdout.is_empty(), "{kind} misses keys");
            let absent_keys =
                mayhap(&folder, "check -c f").write_stdin(lines(20_000..40_000)).output();
            let passed: u32 = text(&absent_keys.unwrap().stdout).trim().parse().unwrap();
            assert!(passed < 300, "{kind}: {passed} false positives of 20000");
        }
    }
}

#[test]
fn a_bitmap_is_exact() {
    let folder = tempdir().unwrap();
    let numbers =
        |range: std::ops::Range<i64>| -> String { range.map(|n| format!("{n}\n")).collect() };
    mayhap(&folder, "build -q -o ids --kind bitmap")
        .write_stdin(numbers(-500..500))
        .assert()
        .success();
    let check = mayhap(&folder, "check ids").write_stdin(numbers(-1000..1000)).assert().success();
    assert_eq!(text(&check.get_output().stdout), numbers(-500..500));
}

/// One thread and many, files and pipes: the same bits.
#[test]
fn threads_and_pipes_change_nothing() {
    let folder = tempdir().unwrap();
    let list = lines(0..50_000);
    fs::write(folder.path().join("list"), &list).unwrap();
    for (kind, same_count) in [("blocked", false), ("classic", false), ("fuse", true)] {
        let body = |name: &str| {
            let info = mayhap(&folder, &format!("info --json {name}")).output().unwrap();
            let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
            // Everything but the time of making and the exact count: which of two keys that look
            // alike came first depends on the threads.
            let mut facts = info.clone();
            for fact in ["file", "created"] {
                facts.as_object_mut().unwrap().remove(fact);
            }
            if !same_count {
                for fact in ["keys", "bits_per_key"] {
                    facts.as_object_mut().unwrap().remove(fact);
                }
            }
            let file = fs::read(folder.path().join(name)).unwrap();
            let bytes = info["bytes"].as_u64().unwrap() as usize;
            (facts, file[4096..4096 + bytes].to_vec())
        };
        let build = format!("build -q -n 50000 --kind {kind}");
        mayhap(&folder, &format!("{build} -o one -j1 list")).assert().success();
        mayhap(&folder, &format!("{build} -o many -j4 list")).assert().success();
        mayhap(&folder, &format!("{build} -o pipe -")).write_stdin(list.clone()).assert().success();
        assert!(body("one") == body("many"), "{kind}: threads matter");
        assert!(body("one") == body("pipe"), "{kind}: pipes matter");
    }
}

#[test]
fn a_pipe_of_unknown_length_makes_a_filter_that_grows() {
    let folder = tempdir().unwrap();
    let list = lines(0..120_000);
    let built = mayhap(&folder, "build -o f --json").write_stdin(list.clone()).assert().success();
    let said: serde_json::Value = serde_json::from_slice(&built.get_output().stdout).unwrap();
    assert_eq!(said["kind"], "scalable");
    assert!(said["capacity"].as_u64() > Some(120_000) && said["rate_now"].as_f64() < Some(0.01));
    mayhap(&folder, "check -v f").write_stdin(list).assert().code(1);
}

/// No UTF-8, no newline at the end, empty lines, carriage returns, and a line beyond any buffer.
#[test]
fn keys_are_any_bytes() {
    let folder = tempdir().unwrap();
    let mut keys = b"\xff\xfe\n\nx\r\n\0\n".to_vec();
    keys.resize(keys.len() + 3_000_000, b'y');
    mayhap(&folder, "build -q -o f -p 1e-9").write_stdin(keys.clone()).assert().success();
    let check = mayhap(&folder, "check f").write_stdin(keys.clone()).assert().success();
    keys.push(b'\n');
    assert!(check.get_output().stdout == keys, "not as they came");
    mayhap(&folder, "check f").write_stdin("x\n\\0\nyy\n").assert().code(1);
}

#[test]
fn a_filter_goes_through_a_pipe() {
    let folder = tempdir().unwrap();
    let built =
        mayhap(&folder, "build -o - -n 1000 -").write_stdin(lines(0..1000)).assert().success();
    fs::write(folder.path().join("f"), &built.get_output().stdout).unwrap();
    mayhap(&folder, "verify f").assert().success();
    mayhap(&folder, "check -vc f").write_stdin(lines(0..1000)).assert().code(1).stdout("0\n");
}

#[test]
fn merged_filters_hold_what_each_held() {
    let folder = tempdir().unwrap();
    for kind in ["blocked", "classic", "counting", "quotient", "scalable"] {
        for (name, range) in [("a", 0..3000), ("b", 2000..5000), ("c", 5000..6000)] {
            let build = format!("build -q -n 10k --kind {kind} -o {name} -");
            mayhap(&folder, &build).write_stdin(lines(range)).assert().success();
        }
        mayhap(&folder, "merge -q -o all a b c").assert().success();
        mayhap(&folder, "check -v all").write_stdin(lines(0..6000)).assert().code(1);
        mayhap(&folder, "merge -q -o both --op intersect a b").assert().success();
        mayhap(&folder, "check -v both").write_stdin(lines(2000..3000)).assert().code(1);
    }
}

#[test]
fn what_was_removed_is_gone_and_the_rest_is_not() {
    let folder = tempdir().unwrap();
    mayhap(&folder, "build -q --kind counting -p 1e-9 -n 2k -o f -")
        .write_stdin(lines(0..2000))
        .assert()
        .success();
    mayhap(&folder, "remove -q f").write_stdin(lines(0..500)).assert().success();
    let left = mayhap(&folder, "check f").write_stdin(lines(0..2000)).assert().success();
    assert_eq!(text(&left.get_output().stdout), lines(500..2000));
}

/// The last line of every plan is a command; whoever pastes it gets a filter.
#[test]
fn the_line_a_plan_ends_in_works() {
    let folder = tempdir().unwrap();
    let kinds = ["blocked", "classic", "counting", "quotient", "scalable", "windowed", "fuse"];
    for asked in ["-n 10k -p 0.1%", "-n 10k --memory 20kB", "-p 1/1000 --memory 1MB"] {
        for kind in kinds {
            let plan =
                mayhap(&folder, &format!("plan {asked} --kind {kind} --json")).assert().success();
            let plan: serde_json::Value =
                serde_json::from_slice(&plan.get_output().stdout).unwrap();
            let line = plan["build"].as_str().unwrap();
            let args = line.strip_prefix("mayhap ").unwrap();
            let built =
                mayhap(&folder, &format!("{args} --json")).write_stdin("ada\n").assert().success();
            let built: serde_json::Value =
                serde_json::from_slice(&built.get_output().stdout).unwrap();
            assert_eq!(built["kind"], kind, "{line}");
            if kind != "fuse" {
                let (planned, made) =
                    (plan["bytes"].as_f64().unwrap(), built["bytes"].as_f64().unwrap());
                assert!(
                    (made / planned - 1.0).abs() < 0.05,
                    "{line}: {made} bytes, planned {planned}"
                );
                assert_eq!(built["capacity"], plan["keys"], "{line}");
            }
            mayhap(&folder, "check -q seen.mayhap").write_stdin("ada\n").assert().success();
        }
    }
}

/// The seed's question, and its answer in numbers.
#[test]
fn two_billion_keys_in_500_megabytes() {
    let folder = tempdir().unwrap();
    let plan = mayhap(&folder, "plan -n 2G --memory 500MB").assert().success();
    let said = text(&plan.get_output().stdout);
    for answer in ["39.3% with a Bloom filter", "25% at best with anything", "2.40 GB (classic)"] {
        assert!(said.contains(answer), "{answer} is missing in:\n{said}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let folder = tempdir().unwrap();
    let help = text(&mayhap(&folder, "-h").output().unwrap().stdout);
    let (_, list) = help.split_once("Commands:\n").unwrap();
    // Longer descriptions go on below.
    let verbs = list.lines().take_while(|line| !line.is_empty() && !line.starts_with("Options"));
    let verbs = verbs.filter(|line| !line.starts_with("   "));
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let verbs: Vec<&str> = verbs.filter(|verb| *verb != "help" && !verb.is_empty()).collect();
    assert!(verbs.len() >= 11, "{verbs:?}");
    mayhap(&folder, "man pages").assert().success();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script =
            text(&mayhap(&folder, &format!("completions {shell}")).output().unwrap().stdout);
        assert!(verbs.iter().all(|verb| script.contains(verb)), "{shell}");
    }
    for verb in &verbs {
        let page = folder.path().join(format!("pages/mayhap-{verb}.1"));
        assert!(Path::new(&page).exists(), "no page for {verb}");
    }
    // Those of verbs' verbs, too.
    for page in fs::read_dir(folder.path().join("pages")).unwrap() {
        let page = page.unwrap().path();
        let text = fs::read_to_string(&page).unwrap();
        for section in ["NAME", "SYNOPSIS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT"] {
            let section = format!(".SH {section}\n");
            assert!(text.contains(&section), "{}: no {section}", page.display());
        }
    }
    for verb in verbs {
        let help = text(&mayhap(&folder, &format!("help {verb}")).output().unwrap().stdout);
        for section in ["EXAMPLES:", "EXIT STATUS:", "ENVIRONMENT:"] {
            let (_, below) =
                help.split_once(section).unwrap_or_else(|| panic!("help {verb}: no {section}"));
            assert!(below.starts_with("\n  "), "help {verb}: {section} is not indented");
        }
    }
}

/// The secret is in its file, and nowhere else.
#[test]
fn secrets_are_not_shown() {
    let folder = tempdir().unwrap();
    mayhap(&folder, "build -o f --keyed").write_stdin("ada\n").assert().success();
    mayhap(&folder, "build -q -o g --keyed").write_stdin("ada\n").assert().success();
    let secret = fs::read_to_string(folder.path().join("f.key")).unwrap();
    let (secret, raw) = (secret.trim(), {
        let digits = secret.trim().as_bytes().chunks(2);
        digits
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(raw.len(), 16);
    assert_ne!(secret, fs::read_to_string(folder.path().join("g.key")).unwrap().trim());
    let file = fs::read(folder.path().join("f")).unwrap();
    assert!(!file.windows(16).any(|bytes| bytes == raw), "the secret is in the filter");
    for args in [
        "info f",
        "info f --json",
        "info f --measure",
        "verify f",
        "check f --mark --json",
        "add f",
        "check f --key-file g.key",
        "merge -o h f g",
        "bench f --time 1ms",
        "info f --key-file g.key",
        "build -o f --keyed --json",
    ] {
        let said = mayhap(&folder, args).write_stdin("ada\nbob\n").output().unwrap();
        let said = text(&[said.stdout, said.stderr].concat());
        assert!(!said.contains(secret), "{args} shows it: {said}");
        assert!(!said.is_empty(), "{args} says nothing");
    }
}

/// The last of an hour, all at once: the rate holds although every key comes in one part of it.
#[test]
fn a_window_of_time_keeps_its_rate_in_a_burst() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("list"), lines(0..20_000)).unwrap();
    mayhap(&folder, "build -q -o f --window 1h -n 20k -p 1% list").assert().success();
    let absent_keys = mayhap(&folder, "check -c f").write_stdin(lines(20_000..40_000)).output();
    let passed: u32 = text(&absent_keys.unwrap().stdout).trim().parse().unwrap();
    assert!(passed < 300, "{passed} false positives of 20000");
    mayhap(&folder, "verify f").assert().success();
    mayhap(&folder, "build -o f --max-memory 30kB --window 1h -n 20k -p 1% list").assert().code(2);
}

/// A window that was written while the clock was wrong says so, and goes on.
#[test]
fn a_clock_that_jumped_is_told() {
    use mayhap::window::Moment;
    use mayhap::{Spec, Window, Windowed};
    use std::time::{Duration, SystemTime};
    let folder = tempdir().unwrap();
    let hour = Duration::from_secs(3600);
    let written_at = |when: SystemTime| {
        let spec = Spec::new(1000, 1e-6).unwrap();
        let mut filter = Windowed::new(spec, Window::time(hour, 4)).unwrap();
        filter.insert("ada", Moment::from(when));
        fs::write(folder.path().join("f"), filter.encode(&mayhap::format::Metadata::new()))
            .unwrap();
        let add = mayhap(&folder, "add f").write_stdin("eve\n").assert().success();
        let found = mayhap(&folder, "check f").write_stdin("ada\neve\n").output().unwrap();
        (text(&add.get_output().stderr), text(&found.stdout))
    };
    let now = SystemTime::now();
    let (said, found) = written_at(now);
    assert!(!said.contains("the clock"), "{said}");
    assert_eq!(found, "ada\neve\n");
    let (said, found) = written_at(now + 100 * hour);
    assert!(said.contains("it was ahead then, or is behind now"), "{said}");
    assert_eq!(found, "ada\neve\n");
    // A pause, however many windows long: nothing to tell of.
    let (said, found) = written_at(now - 100 * hour);
    assert!(!said.contains("the clock"), "{said}");
    assert_eq!(found, "eve\n");
    let (said, found) = written_at(now - 24 * 500 * hour);
    assert!(said.contains("more than 1 h old, and forgotten"), "{said}");
    assert_eq!(found, "eve\n");
}

#[test]
fn merged_keyed_filters_are_opened_like_any_keyed_filter() {
    let folder = tempdir().unwrap();
    for kind in ["blocked", "quotient"] {
        let build = format!("build -q --kind {kind} --keyed -n 2000 -o {kind} -");
        mayhap(&folder, &build).write_stdin(lines(0..1000)).assert().success();
        mayhap(&folder, &format!("merge -q -o {kind}.sum {kind} {kind}")).assert().success();
        let check = format!("check -q {kind}.sum -");
        mayhap(&folder, &check).write_stdin(lines(0..1000)).assert().success();
    }
    // The secret of another filter is not replaced, and nothing is written.
    mayhap(&folder, "merge -q -o blocked.sum --force quotient quotient").assert().code(2);
    mayhap(&folder, "check -q blocked.sum -").write_stdin(lines(0..1000)).assert().success();
}
