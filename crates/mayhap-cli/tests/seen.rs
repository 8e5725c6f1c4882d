//! `mayhap seen`, as it is typed: a file as the store, and a server where there is one.

use assert_cmd::Command;
use mayhap_testkit::{Client, Make, Server, Value};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn seen(store: &str, words: &[&str]) -> Command {
    let mut command = Command::cargo_bin("mayhap").unwrap();
    command.arg("seen").args(&words[..1]).args(["--store", store]).args(&words[1..]);
    command
}

/// Exit code and standard output.
#[track_caller]
fn says(store: &str, words: &[&str], code: i32, text: &str) {
    let output = seen(store, words).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), text, "{words:?}: {errors}");
    assert_eq!(output.status.code(), Some(code), "{words:?}: {errors}");
}

/// The errors of a call that must fail.
#[track_caller]
fn fails(store: &str, words: &[&str]) -> String {
    let output = seen(store, words).write_stdin("").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{words:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn the_whole_round(store: &str, exports: bool) {
    says(store, &["mark", "user-1", "a", "b", "a"], 0, "2\n");
    says(store, &["mark", "user-1", "b", "c"], 0, "1\n");
    says(store, &["unseen", "user-1", "x", "a", "y", "c"], 0, "x\ny\n");
    says(store, &["unseen", "user-1", "a", "b", "c"], 1, "");
    says(store, &["mark-unseen", "user-1", "c", "d"], 0, "d\n");
    says(store, &["mark-unseen", "user-1", "c", "d"], 1, "");
    says(store, &["offer", "user-1", "--for", "1h", "e", "f"], 0, "e\nf\n");
    says(store, &["offer", "user-1", "e", "f"], 1, "");
    says(store, &["confirm", "user-1", "e"], 0, "1\n");
    says(store, &["explain", "user-1", "nothing"], 1, "not seen\n");
    let output = seen(store, &["explain", "user-1", "a"]).output().unwrap();
    assert!(output.stdout.starts_with(b"seen: in the newest slice"), "{output:?}");
    let output = seen(store, &["explain", "user-1", "f", "--json"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("offered_until"), "{output:?}");
    // Ids from a pipe, any bytes but newlines.
    let output = seen(store, &["unseen", "user-1"]).write_stdin(b"a\n\xff\nz").output().unwrap();
    assert_eq!(output.stdout, b"\xff\nz\n");
    // Lines of other systems.
    let output = seen(store, &["unseen", "user-1"]).write_stdin(b"a\r\nz\r\n").output().unwrap();
    assert_eq!(output.stdout, b"z\n");
    let stats = seen(store, &["stats", "user-1", "--json"]).output().unwrap();
    assert!(String::from_utf8_lossy(&stats.stdout).contains("\"ids\": 5"), "{stats:?}");
    if exports {
        let lists = seen(store, &["export"]).output().unwrap();
        assert_eq!(lists.status.code(), Some(0));
        says(store, &["forget", "user-1"], 0, "");
        says(store, &["unseen", "user-1", "a"], 0, "a\n");
        let output = seen(store, &["import"]).write_stdin(lists.stdout).output().unwrap();
        assert_eq!(output.stdout, b"1\n");
        says(store, &["unseen", "user-1", "a", "q"], 0, "q\n");
    }
    says(store, &["forget", "user-1"], 0, "");
    says(store, &["forget", "user-1"], 1, "");
    says(store, &["stats", "user-1"], 1, "no list\n");
}

#[test]
fn a_file_is_a_store() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    the_whole_round(path.to_str().unwrap(), true);
}

#[test]
fn bulk_loads_take_owners_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let (store, list) = (dir.path().join("seen.redb"), dir.path().join("shown.tsv"));
    let store = store.to_str().unwrap();
    let lines: String = (0..5000).map(|n| format!("user-{}\tid-{n}\n", n % 70)).collect();
    std::fs::write(&list, lines + "user-3\tid-3\n").unwrap();
    let list = list.to_str().unwrap();
    says(store, &["mark", "--owners-from", list], 0, "5000\n");
    says(store, &["unseen", "user-3", "id-3", "id-4"], 0, "id-4\n");
    let output = seen(store, &["stats", "--json"]).output().unwrap();
    let stats = String::from_utf8(output.stdout).unwrap();
    assert!(stats.contains("\"owners\": 70") && stats.contains("\"ids\": 5000"), "{stats}");
    std::fs::write(list, "user-1\ta\nno tab here\n").unwrap();
    let error = fails(store, &["mark", "--owners-from", list]);
    assert!(error.contains("shown.tsv:2: no tab") && error.contains("hint:"), "{error}");
}

#[test]
fn a_file_remembers_its_policy() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let store = path.to_str().unwrap();
    says(store, &["mark", "--policy", "slices=1,ids=2", "user-1", "a", "b"], 0, "2\n");
    says(store, &["mark", "user-1", "c"], 0, "1\n");
    says(store, &["unseen", "user-1", "a", "b", "c"], 0, "a\nb\n");
}

/// A policy is changed by the verb that says so, field by field, and by nothing else.
fn the_policy_stays(store: &str) {
    let ids: Vec<String> = (0..6000).map(|n| format!("id-{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mark = [&["mark", "--policy", "slices=8,idle=120d", "user-1"], &ids[..]].concat();
    let marked = seen(store, &mark).output().unwrap();
    assert_eq!(marked.status.code(), Some(0), "{marked:?}");
    let unseen = [&["unseen", "user-1"], &ids[..]].concat();
    let policy = "slices=8,ids=1000,rate=0.001,idle=120d,exact=24,owner=1\n";
    for verb in ["unseen", "mark", "mark-unseen", "offer", "explain", "stats", "forget", "export"] {
        let words = [verb, "--policy", "rate=0.01", "user-1", "x"];
        let words = if verb == "stats" || verb == "forget" || verb == "export" {
            &words[..4]
        } else {
            &words[..]
        };
        let error = fails(store, words);
        assert!(error.contains("rate is 0.001 there and 0.01 here"), "{verb}: {error}");
        assert!(error.contains("hint:") && error.contains("mayhap seen policy"), "{error}");
    }
    says(store, &unseen, 1, "");
    says(store, &["policy"], 0, policy);
    let policy = policy.replace("rate=0.001", "rate=0.01");
    says(store, &["policy", "rate=0.01"], 0, &policy);
    says(store, &unseen, 1, "");
    says(store, &["policy", "--quiet", "slices=9", "idle=never"], 0, "");
    let output = seen(store, &["policy", "--json"]).output().unwrap();
    let json = String::from_utf8(output.stdout).unwrap();
    assert!(json.contains("\"slices\": \"9\"") && json.contains("idle=never"), "{json}");
    assert!(fails(store, &["policy", "slices=0"]).contains("1 to 64"));
    assert!(fails(store, &["policy", "colour=red"]).contains("slices, ids, rate"));
    says(store, &unseen, 1, "");
}

#[test]
fn the_policy_of_a_file_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    the_policy_stays(path.to_str().unwrap());
    // What only reads leaves every byte as it is.
    let before = std::fs::read(&path).unwrap();
    let store = path.to_str().unwrap();
    for words in [
        &["unseen", "user-1", "x"][..],
        &["stats"],
        &["explain", "user-1", "id-1"],
        &["export"],
        &["policy"],
    ] {
        assert_eq!(seen(store, words).output().unwrap().status.code(), Some(0), "{words:?}");
    }
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn older_exports_take_nothing_away() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let store = path.to_str().unwrap();
    let lines = |range: std::ops::Range<u32>| -> String {
        range.map(|n| format!("user-1\tid-{n}\n")).collect()
    };
    let mut exports = vec![];
    for from in [0, 1500, 3000] {
        let mark = seen(store, &["mark", "--owners-from", "-"])
            .write_stdin(lines(from..from + 1500))
            .output()
            .unwrap();
        assert_eq!(mark.status.code(), Some(0), "{mark:?}");
        exports.push(seen(store, &["export"]).output().unwrap().stdout);
        std::thread::sleep(Duration::from_millis(1100)); // slices are told apart by the second
    }
    for export in exports.iter().chain(&exports) {
        let import = seen(store, &["import"]).write_stdin(export.clone()).output().unwrap();
        assert_eq!(import.stdout, b"1\n");
    }
    let ids: Vec<String> = (0..4500).map(|n| format!("id-{n}")).collect();
    let unseen = seen(store, &["unseen", "user-1"]).write_stdin(ids.join("\n")).output().unwrap();
    assert_eq!((unseen.status.code(), unseen.stdout.len()), (Some(1), 0));
}

#[test]
fn marks_at_once_wait_for_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let store = path.to_str().unwrap();
    let ids: Vec<String> = (0..20).map(|n| format!("id-{n}")).collect();
    std::thread::scope(|scope| {
        for id in &ids {
            scope.spawn(move || says(store, &["mark", "--wait=100s", "user-1", id], 0, "1\n"));
        }
    });
    let all = [&["unseen", "user-1"], &ids.iter().map(String::as_str).collect::<Vec<_>>()[..]];
    says(store, &all.concat(), 1, "");
    let mut other = mayhap_seen_open(&path);
    let error = fails(store, &["mark", "--wait=1ms", "user-1", "x"]);
    assert!(error.contains("another process has it open") && error.contains("--wait"), "{error}");
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
}

/// The file, held open as another process would.
fn mayhap_seen_open(path: &Path) -> Child {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("mayhap"))
        .args(["seen", "mark", "--owners-from", "-", "--store"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // It is open as soon as nobody else gets it.
    let patience = Instant::now() + Duration::from_secs(60);
    while seen(path.to_str().unwrap(), &["mark", "--wait=1ms", "user-1", "x"])
        .output()
        .unwrap()
        .status
        .success()
    {
        assert!(Instant::now() < patience && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn more_ids_than_the_policy_keeps_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let store = path.to_str().unwrap();
    let ids: Vec<String> = (0..70).map(|n| format!("id-{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let words = [&["mark", "--policy", "slices=5,ids=10,rate=1e-9", "user-1"], &ids[..]].concat();
    let output = seen(store, &words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"70\n");
    assert!(
        said.contains("20 of these ids were let go again: the policy keeps 50 at most"),
        "{said}"
    );
    let json = seen(store, &[&["mark", "--json", "user-2"], &ids[..51]].concat()).output().unwrap();
    assert!(String::from_utf8_lossy(&json.stdout).contains("\"let_go\": 10"), "{json:?}");
    let lines: String = ids.iter().map(|id| format!("user-3\t{id}\n")).collect();
    let bulk = seen(store, &["mark", "--owners-from", "-"]).write_stdin(lines).output().unwrap();
    assert!(String::from_utf8_lossy(&bulk.stderr).contains("20 of these ids"), "{bulk:?}");
    let few = seen(store, &[&["mark", "user-4"], &ids[..50]].concat()).output().unwrap();
    assert!(few.stderr.is_empty(), "{few:?}");
}

#[test]
fn lines_before_a_bad_one_are_marked_and_carriage_returns_are_no_part_of_ids() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let store = path.to_str().unwrap();
    let lines = "user-1\ta\r\n\r\nuser-1\tb\nno tab here\nuser-1\tc\n";
    let bulk = seen(store, &["mark", "--owners-from", "-"]).write_stdin(lines).output().unwrap();
    let said = String::from_utf8_lossy(&bulk.stderr);
    assert_eq!(bulk.status.code(), Some(2));
    assert!(
        said.contains("-:4: no tab") && said.contains("the lines before it are marked"),
        "{said}"
    );
    says(store, &["unseen", "user-1", "a", "b", "c"], 0, "c\n");
    let json = seen(store, &["mark", "--json", "--owners-from", "-"])
        .write_stdin("user-1\tc\n\nuser-1\td\n")
        .output()
        .unwrap();
    let json = String::from_utf8(json.stdout).unwrap();
    assert!(json.contains("\"lines\": 2") && json.contains("\"new\": 2"), "{json}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_store_made_on_a_full_disk_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let mayhap = assert_cmd::cargo::cargo_bin("mayhap");
    for blocks in [0, 1, 8, 16, 32, 48] {
        // No file may be larger than so many blocks: what is written behind them is an error.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .arg(&mayhap)
            .args(["seen", "mark", "user-1", "a", "--store"])
            .arg(&path)
            .output()
            .unwrap();
        let left = std::fs::read_dir(dir.path()).unwrap().count();
        if output.status.success() {
            break;
        }
        assert_eq!((output.status.code(), left), (Some(2), 0), "{blocks} blocks: {output:?}");
    }
    _ = std::fs::remove_file(&path);
    says(path.to_str().unwrap(), &["mark", "user-1", "a"], 0, "1\n");
}

#[test]
fn no_password_is_ever_printed() {
    for url in [
        "redis://u:geheim@127.0.0.1:1/0",
        "redis://u:geheim@127.0.0.1:1/0?password=geheim",
        "redis+cluster://u:geheim@127.0.0.1:1,127.0.0.1:2",
        "http://u:geheim@h",
    ] {
        for words in [
            &["unseen", "user-1", "a"][..],
            &["stats", "--json"],
            &["mark", "user-1", "a"],
            &["policy"],
        ] {
            let output = seen(url, words).output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            assert!(!String::from_utf8_lossy(&said).contains("geheim"), "{words:?} of {url}");
        }
    }
    let mut help = Command::cargo_bin("mayhap").unwrap();
    let help = help.env("MAYHAP_SEEN_STORE", "redis://u:geheim@h").args(["seen", "mark", "--help"]);
    let said = String::from_utf8(help.output().unwrap().stdout).unwrap();
    assert!(said.contains("MAYHAP_SEEN_STORE") && !said.contains("geheim"), "{said}");
}

#[test]
fn errors_say_what_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.redb");
    let store = path.to_str().unwrap();
    let error = fails(store, &["unseen", "user-1", "a"]);
    assert!(error.contains("no such store") && error.contains("hint:"), "{error}");
    assert!(!Path::new(store).exists(), "a lookup creates no file");
    assert!(fails(store, &["mark", "", "a"]).contains("an owner of 0 bytes"));
    let error = fails(store, &["mark", "--policy", "owner=2", "u", "a"]);
    assert!(error.contains("an owner of 1 byte: this policy allows 2"), "{error}");
    assert!(fails(store, &["mark", "user-1"]).contains("no ids"));
    assert!(fails(store, &["mark", "--policy", "slices=0", "user-1", "a"]).contains("1 to 64"));
    let error = fails("redis://127.0.0.1:1/0", &["unseen", "user-1", "a"]);
    assert!(error.contains("127.0.0.1:1"), "{error}");
    says("redis://127.0.0.1:1/0", &["unseen", "--fail-open", "user-1", "a"], 0, "a\n");
    assert!(fails("redis://h?layuot=list", &["unseen", "user-1", "a"]).contains("layout="));
    let text = dir.path().join("text.txt");
    std::fs::write(&text, "not a store\n".repeat(2000)).unwrap();
    let error = fails(text.to_str().unwrap(), &["mark", "user-1", "a"]);
    assert!(error.contains("text.txt"), "{error}");
    let import = seen(store, &["import"]).write_stdin("nonsense\n").output().unwrap();
    assert!(String::from_utf8_lossy(&import.stderr).contains("-:1: not a line"), "{import:?}");
}

/// A store that is removed under a bulk load: what was marked went with it, and that is said.
#[test]
#[cfg(unix)]
fn a_store_that_goes_while_it_is_loaded_is_told_of() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("mayhap"))
        .args(["seen", "mark", "--owners-from", "-", "--store", path.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than a pipe holds, so the store is open when all is written. Lines are marked a hundred thousand
    // at a time: these wait for the end of the input.
    stdin.write_all("user-1\tabcdefgh\n".repeat(20_000).as_bytes()).unwrap();
    assert!(path.exists());
    std::fs::remove_file(&path).unwrap();
    drop(stdin);
    let done = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("seen.redb") && said.contains("hint: what was marked went"), "{said}");
    assert!(!path.exists(), "made again without what was in it");
}

/// Only what passes is failed open, and it is said once.
#[test]
fn failing_open_is_said_once_and_passwords_never() {
    let away = "redis://ada:secret@127.0.0.1:1/0?timeout=1";
    let open = seen(away, &["unseen", "--fail-open", "user-1", "a"]).output().unwrap();
    let said = String::from_utf8(open.stderr).unwrap();
    assert_eq!((open.status.code(), open.stdout.as_slice()), (Some(0), &b"a\n"[..]));
    assert!(said.starts_with("warning: ") && said.contains("127.0.0.1:1"), "{said}");
    assert!(said.contains("nothing counts as seen") && !said.contains("secret"), "{said}");
    // A mark that was not kept is not counted, and it is said that it was not.
    let open = seen(away, &["mark", "--fail-open", "user-1", "a", "b"]).output().unwrap();
    let said = String::from_utf8(open.stderr).unwrap();
    assert_eq!((open.status.code(), open.stdout.as_slice()), (Some(0), &b"0\n"[..]), "{said}");
    assert!(said.starts_with("warning: ") && said.contains("no mark is kept"), "{said}");
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    let closed = fails(away, &["mark", "user-1", "a"]);
    assert!(closed.starts_with("error: ") && closed.contains("127.0.0.1:1"), "{closed}");
    let lines: String = (0..2000).map(|n| format!("user-{n}\ta\n")).collect();
    let bulk =
        seen(away, &["mark", "--fail-open", "--owners-from", "-"]).write_stdin(lines).output();
    let said = String::from_utf8(bulk.unwrap().stderr).unwrap();
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    // What is not temporary stays an error.
    let refused =
        fails("redis://ada:secret@h?pass=secret", &["unseen", "--fail-open", "user-1", "a"]);
    assert!(refused.contains("pass=…") && !refused.contains("secret"), "{refused}");
    assert!(!fails("redis:/ada:secret@h", &["unseen", "user-1", "a"]).contains("secret"));
    let help = seen(away, &["mark", "--help"]).env("MAYHAP_SEEN_STORE", away).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("MAYHAP_SEEN_STORE") && !help.contains("secret"), "{help}");
    let file = fails("none.redb", &["mark", "--wait-replicas", "1", "user-1", "a"]);
    assert!(file.contains("no replicas") && file.contains("hint: "), "{file}");
}

#[test]
fn a_server_is_a_store_in_both_layouts() {
    if Make::Redis.program_or_skip().is_none() {
        return;
    }
    let server = Server::launch(Make::Redis, &[]).unwrap();
    let port = server.port;
    the_whole_round(&format!("redis://127.0.0.1:{port}/0?prefix=c:"), true);
    the_whole_round(&format!("redis://127.0.0.1:{port}/0?prefix=l:&layout=list"), false);
    the_policy_stays(&format!("redis://127.0.0.1:{port}/1?prefix=c:"));
    what_cannot_be_read_is_told(port);
}

/// One list is damaged, one key is another program's, one list is well.
fn what_cannot_be_read_is_told(port: u16) {
    let store = format!("redis://127.0.0.1:{port}/2");
    says(&store, &["mark", "user-1", "a"], 0, "1\n");
    let mut redis = Client::connect(port).unwrap();
    assert_eq!(redis.say("SELECT 2"), Value::ok());
    let nonsense: [&[u8]; 3] = [b"SET", b"user-2", b"\xb7\x01\x05nonsense"];
    assert_eq!(redis.call(&nonsense), Value::ok());
    assert_eq!(redis.say("SET another program"), Value::ok());
    let export = seen(&store, &["export"]).output().unwrap();
    let said = String::from_utf8_lossy(&export.stderr);
    assert_eq!(export.status.code(), Some(2), "{said}");
    assert!(
        said.contains("user-2") && said.contains("left out") && said.contains("1 key is not"),
        "{said}"
    );
    assert_eq!(String::from_utf8_lossy(&export.stdout).lines().count(), 1);
    let stats = seen(&store, &["stats", "--json"]).output().unwrap();
    assert_eq!(stats.status.code(), Some(2), "{stats:?}");
    let json = String::from_utf8_lossy(&stats.stdout);
    for part in ["\"owners\": 1", "\"unreadable\": 1", "\"foreign\": 1"] {
        assert!(json.contains(part), "{json}");
    }
    says(&store, &["forget", "user-2"], 0, "");
    assert_eq!(seen(&store, &["stats"]).output().unwrap().status.code(), Some(0));
}
