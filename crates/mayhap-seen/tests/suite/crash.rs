//! kill -9: nothing that was acknowledged is lost.

use crate::server::Server;
use crate::stores::is_soak;
use mayhap_seen::embedded::{Durability, Options};
use mayhap_seen::redis::Redis;
use mayhap_seen::{Embedded, Seen, SeenError};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The process that is killed: marks one id after another from two threads, and says so after
/// each. Run by `nothing_acknowledged_is_lost` through this very program.
#[test]
#[ignore = "a part of nothing_acknowledged_is_lost"]
fn victim() {
    let Some(path) = std::env::var_os("MAYHAP_VICTIM") else { return };
    let cycle = std::env::var("MAYHAP_CYCLE").unwrap();
    let seen = Seen::new(Embedded::open(path).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (seen, cycle) = (&seen, &cycle);
            scope.spawn(move || {
                for n in 0.. {
                    let (owner, id) = (format!("user-{}", n % 5), format!("{cycle}-{thread}-{n}"));
                    seen.mark(owner.as_bytes(), &[&id]).unwrap();
                    // One write a line: a line that is there is whole.
                    let mut out = std::io::stdout().lock();
                    out.write_all(format!("\nacknowledged {owner} {id}\n").as_bytes()).unwrap();
                    out.flush().unwrap();
                }
            });
        }
    });
}

#[test]
fn nothing_acknowledged_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let cycles = if is_soak() { 500 } else { 6 };
    let mut acknowledged = 0;
    for cycle in 0..cycles {
        let told = run_and_kill(&path, cycle);
        acknowledged += told.len();
        let seen = Seen::new(Embedded::open(&path).unwrap());
        // The default list keeps the last 4000 ids of an owner at least: more than a cycle makes.
        for (owner, id) in told.iter().rev().take(3000) {
            let kept = seen.unseen(owner.as_bytes(), &[id]).unwrap().is_empty();
            assert!(kept, "cycle {cycle}: {id} of {owner} was acknowledged and is lost");
        }
    }
    assert!(acknowledged > cycles, "only {acknowledged} marks: the victim hardly lived");
    println!("soak: {cycles} kills, {acknowledged} marks acknowledged, none lost");
}

fn run_and_kill(path: &Path, cycle: usize) -> Vec<(String, String)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::victim", "--ignored", "--nocapture", "--test-threads=1"])
        .env("MAYHAP_VICTIM", path)
        .env("MAYHAP_CYCLE", cycle.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = vec![];
    let mut take = |line: String| {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["acknowledged", owner, id] = words[..] {
            told.push((owner.to_owned(), id.to_owned()));
        }
        told.len()
    };
    // Killed at another moment each time, always after some marks.
    let enough = 3 + (cycle * 7919) % 40;
    for line in lines.by_ref() {
        if take(line.unwrap()) >= enough {
            break;
        }
    }
    std::thread::sleep(Duration::from_micros((cycle as u64 * 977) % 5000));
    child.kill().unwrap();
    child.wait().unwrap();
    lines.map_while(Result::ok).for_each(|line| _ = take(line));
    told
}

/// The control: with acknowledgement before the sync, a crash may lose something, and a flush
/// makes it safe. A copy of the file is what a crash leaves.
#[test]
fn marks_within_a_time_are_safe_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, copy) = (dir.path().join("seen.redb"), dir.path().join("copy.redb"));
    let options = Options::default().with_durability(Durability::Within(Duration::from_secs(3600)));
    let seen = Seen::new(Embedded::open_with(&path, options).unwrap());
    seen.mark(b"user", &["safe"]).unwrap();
    seen.flush().unwrap();
    seen.mark(b"user", &["hardly"]).unwrap();
    assert!(seen.unseen(b"user", &["hardly"]).unwrap().is_empty(), "seen at once all the same");
    std::fs::copy(&path, &copy).unwrap();
    let left = Seen::new(Embedded::open(&copy).unwrap());
    assert_eq!(left.unseen(b"user", &["safe", "hardly"]).unwrap(), [&"hardly"]);
    drop(seen);
    let seen = Seen::new(Embedded::open(&path).unwrap());
    assert!(seen.unseen(b"user", &["hardly"]).unwrap().is_empty(), "closing makes all safe");
}

#[test]
fn the_second_process_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let _first = Embedded::open(&path).unwrap();
    // redb locks the file itself, so a second handle in this process meets the same lock.
    let error = Embedded::open(&path).err().unwrap();
    assert_eq!(error, SeenError::InUse { path: path.clone() });
    assert!(error.to_string().contains("another process has it open"), "{error}");
}

#[test]
fn a_file_that_is_not_ours_is_refused_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    std::fs::write(&path, b"hello, this is not a database at all".repeat(400)).unwrap();
    let error = Embedded::open(&path).err().unwrap().to_string();
    assert!(error.contains("seen.redb"), "{error}");
    assert!(std::fs::read(&path).unwrap().starts_with(b"hello"));
}

#[test]
fn the_sweeper_removes_what_is_over_and_nothing_else() {
    use crate::stores::Hands;
    let dir = tempfile::tempdir().unwrap();
    let hands = Hands::new();
    let options =
        Options::default().with_policy("idle=100".parse().unwrap()).with_clock(hands.clock());
    let store = Seen::new(Embedded::open_with(dir.path().join("s.redb"), options).unwrap());
    for user in 0..1500 {
        store.mark(format!("user-{user}").as_bytes(), &["a"]).unwrap();
        if user == 999 {
            hands.turn(60);
        }
    }
    store.mark(b"user-0", &["b"]).unwrap(); // new: lives on
    store.mark(b"user-1", &["a"]).unwrap(); // nothing new
    hands.turn(50);
    assert_eq!(store.backend().sweep().unwrap(), 999);
    assert_eq!(store.backend().sweep().unwrap(), 0);
    assert_eq!(store.stats().unwrap().owners, 501);
    assert!(store.unseen(b"user-0", &["a", "b"]).unwrap().is_empty());
    hands.turn(200);
    assert_eq!(store.backend().sweep().unwrap(), 501);
}

#[test]
fn a_redis_that_is_killed_comes_back_with_all_it_wrote_down() {
    let args = ["--appendonly", "yes", "--appendfsync", "always"];
    let Some(mut server) = Server::start(&args) else { return };
    let seen = Seen::new(Redis::open(&server.url()).unwrap());
    for round in 0..3 {
        let ids: Vec<String> = (0..300).map(|n| format!("{round}-{n}")).collect();
        for id in &ids {
            seen.mark(b"user", &[id]).unwrap();
        }
        server.kill();
        server.revive();
        assert!(seen.unseen(b"user", &ids).unwrap().is_empty(), "round {round}");
    }
}
