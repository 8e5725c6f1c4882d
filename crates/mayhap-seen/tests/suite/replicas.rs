//! Changes that replicas must acknowledge.

use crate::cluster::{self, Node};
use crate::server::{Make, Server};
use mayhap_redis::redis::cmd;
use mayhap_redis::slot_of;
use mayhap_seen::redis::{AsyncSeen, Options, Redis, Wait};
use mayhap_seen::{Seen, SeenError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

#[test]
fn changes_wait_for_replicas_and_tell_if_they_do_not_come() {
    for make in [Make::Redis, Make::Valkey9] {
        let Some(primary) = Server::start_a(make, &["--repl-diskless-sync-delay", "0"]) else {
            continue;
        };
        let mut replica = Server::start_a(make, &[]).unwrap();
        let port = primary.port;
        cmd("REPLICAOF").arg("127.0.0.1").arg(port).exec(&mut replica.connection()).unwrap();
        let follows = || {
            let info: String =
                cmd("INFO").arg("replication").query(&mut replica.connection()).unwrap();
            info.contains("master_link_status:up")
        };
        cluster::wait("the replica to follow", follows);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let stores = ["compact", "list"].map(|layout| {
            let url = format!("{}?layout={layout}&prefix={layout}:", primary.url());
            // Long, for a machine that is busy; what is waited for in vain takes as long.
            let wait = Wait { replicas: 1, within: Duration::from_secs(2) };
            let options = || Options::parse(&url).unwrap().with_wait(wait);
            let tasks = runtime.block_on(AsyncSeen::open_with(options())).unwrap();
            (Seen::new(Redis::open_with(options()).unwrap()), tasks, layout)
        });
        for (seen, tasks, layout) in &stores {
            for n in 0..20 {
                let owner = format!("user-{n}");
                assert_eq!(seen.mark_unseen(owner.as_bytes(), &["a", "b"]).unwrap().len(), 2);
                let keys: u64 = cmd("EXISTS")
                    .arg(format!("{layout}:{owner}"))
                    .query(&mut replica.connection())
                    .unwrap();
                assert_eq!(keys, 1, "acknowledged, so the replica has it");
            }
            assert_eq!(runtime.block_on(tasks.mark(b"task", &["a"])).unwrap(), 1);
            assert_eq!(
                seen.mark_many(&[(&b"m1"[..], &["a"][..]), (b"m2", &["a"])]).unwrap(),
                [1, 1]
            );
        }
        replica.kill();
        for (seen, tasks, layout) in &stores {
            // The ids are this caller's all the same, and the error has them.
            let error = seen.mark_unseen(b"user-1", &["b", "c"]).unwrap_err();
            let SeenError::Unacknowledged { known, what } = &error else { panic!("{error:?}") };
            assert_eq!(*known, [[true, false]], "{layout}");
            assert!(what.contains("no replica"), "{what}");
            assert!(seen.unseen(b"user-1", &["c"]).unwrap().is_empty(), "{layout}: it was done");
            let error = runtime.block_on(tasks.mark(b"task", &["z"])).unwrap_err();
            assert!(matches!(error, SeenError::Unacknowledged { .. }), "{error:?}");
            // Not an outage: nothing is failed open, and reads go on.
            let error = runtime.block_on(tasks.clone().with_fail_open(true).mark(b"task", &["y"]));
            assert!(matches!(error, Err(SeenError::Unacknowledged { .. })), "{error:?}");
            assert!(runtime.block_on(tasks.unseen(b"task", &["y", "z"])).unwrap().is_empty());
        }
    }
}

/// A call of several rounds: one that too few replicas have is not made good by a later one, of
/// another node.
#[test]
fn an_early_round_that_is_not_acknowledged_is_told() {
    if Make::Redis.program_or_skip().is_none() {
        return;
    }
    let mut nodes = cluster::replicated(Make::Redis);
    let hosts: Vec<String> = nodes[..3].iter().map(Node::host).collect();
    let url = format!("redis+cluster://{}?timeout=9&layout=list", hosts.join(","));
    let wait = Wait { replicas: 1, within: Duration::from_secs(1) };
    let options = || Options::parse(&url).unwrap().with_wait(wait);
    let seen = Seen::new(Redis::open_with(options()).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let tasks = runtime.block_on(AsyncSeen::open_with(options())).unwrap();
    let owner_on = |slots: std::ops::Range<u16>, nth: usize| {
        let owners = (0..).map(|n| format!("user-{n}"));
        owners.into_iter().filter(|o| slots.contains(&slot_of(o.as_bytes()))).nth(nth).unwrap()
    };
    // The first node has no replica any more.
    drop(nodes.remove(3));
    for nth in 0..2 {
        let (first, second) = (owner_on(0..5461, nth), owner_on(5461..10_923, nth));
        // What a script does not know the shape of takes another round.
        let mut connection = nodes[1].connection();
        cmd("RPUSH").arg(&second).arg("not a filter").exec(&mut connection).unwrap();
        let shown: [(&[u8], &[&str]); 2] =
            [(first.as_bytes(), &["a"]), (second.as_bytes(), &["a"])];
        let marked = match nth {
            0 => seen.mark_many(&shown),
            _ => runtime.block_on(tasks.mark_many(&shown)),
        };
        let Err(SeenError::Unacknowledged { known, .. }) = marked else { panic!("{marked:?}") };
        assert_eq!(known, [[false], [false]]);
    }
}

/// The primary dies under eight threads that mark: what replicas have acknowledged is there
/// afterwards. What was acknowledged by the primary alone need not be.
#[test]
fn acknowledged_marks_survive_their_primary() {
    if Make::Redis.program_or_skip().is_none() {
        return;
    }
    let mut nodes = cluster::replicated(Make::Redis);
    let hosts: Vec<String> = nodes.iter().map(Node::host).collect();
    let url = format!("redis+cluster://{}?timeout=2", hosts.join(","));
    let wait = Wait { replicas: 1, within: Duration::from_secs(1) };
    let options = Options::parse(&url).unwrap().with_wait(wait);
    let seen = Seen::new(Redis::open_with(options).unwrap());
    let (marked, over) = (Mutex::new(vec![]), AtomicBool::new(false));
    let (mut before, mut after) = (0, 0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (seen, marked, over) = (&seen, &marked, &over);
            scope.spawn(move || {
                for n in (0..).take_while(|_| !over.load(Relaxed)) {
                    let (owner, id) = (format!("user-{thread}-{}", n % 5), format!("id-{n}"));
                    match seen.mark(owner.as_bytes(), &[&id]) {
                        Ok(_) => marked.lock().unwrap().push((owner, id)),
                        Err(SeenError::Unreachable { .. } | SeenError::Unacknowledged { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let count = || marked.lock().unwrap().len();
        cluster::wait("marks", || count() > 500);
        drop(nodes.remove(0));
        before = count();
        cluster::wait("the replica to take over", || {
            nodes.iter().filter(|node| node.is_primary()).count() == 3
        });
        let promoted = count();
        cluster::wait("more marks", || count() > promoted + 500);
        after = count();
        over.store(true, Relaxed);
    });
    assert!(after > before);
    for (owner, id) in marked.into_inner().unwrap() {
        let is_seen = seen.unseen(owner.as_bytes(), &[&id]).unwrap().is_empty();
        assert!(is_seen, "{owner} {id} of {before} and {after} marks");
    }
}
