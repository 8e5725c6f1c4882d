//! `mayhap seen`, as it is typed: a file as the store, and a server where there is one.

use assert_cmd::Command;
use std::net::TcpListener;
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

#[test]
fn trouble_says_what_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.redb");
    let store = path.to_str().unwrap();
    let error = fails(store, &["unseen", "user-1", "a"]);
    assert!(error.contains("no such store") && error.contains("hint:"), "{error}");
    assert!(!Path::new(store).exists(), "a question makes no file");
    assert!(fails(store, &["mark", "u", "a"]).contains("an owner of 1 bytes"));
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

/// Only what passes is failed open, and it is said once.
#[test]
fn failing_open_is_said_once_and_passwords_never() {
    let away = "redis://ada:secret@127.0.0.1:1/0?timeout=1";
    let open = seen(away, &["unseen", "--fail-open", "user-1", "a"]).output().unwrap();
    let said = String::from_utf8(open.stderr).unwrap();
    assert_eq!((open.status.code(), open.stdout.as_slice()), (Some(0), &b"a\n"[..]));
    assert!(said.starts_with("warning: ") && said.contains("127.0.0.1:1"), "{said}");
    assert!(said.contains("nothing counts as seen") && !said.contains("secret"), "{said}");
    let lines: String = (0..2000).map(|n| format!("user-{n}\ta\n")).collect();
    let bulk =
        seen(away, &["mark", "--fail-open", "--owners-from", "-"]).write_stdin(lines).output();
    let said = String::from_utf8(bulk.unwrap().stderr).unwrap();
    assert_eq!(said.matches("warning: ").count(), 1, "{said}");
    // What is no passing trouble stays an error.
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

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn a_server_is_a_store_in_both_layouts() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let child = std::process::Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no redis-server, and CI=true");
        eprintln!("skipped: no redis-server here (apt-get install redis-server)");
        return;
    };
    let _server = Server(child);
    let patience = Instant::now() + Duration::from_secs(20);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < patience, "redis-server does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
    the_whole_round(&format!("redis://127.0.0.1:{port}/0?prefix=c:"), true);
    the_whole_round(&format!("redis://127.0.0.1:{port}/0?prefix=l:&layout=list"), false);
}
