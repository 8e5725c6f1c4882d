//! Loads while servers fail: what is reported as loaded is there.

use super::{connect, make, on_their_way};
use mayhap::format::Metadata;
use mayhap::{Blocked, Spec};
use mayhap_redis::{Address, FilterError, Filters, LinkError, Sharded, Wait};
use mayhap_testkit::nodes::{fail_over, start};
use mayhap_testkit::{Server, Value, eventually};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn items() -> Vec<String> {
    (0..20_000).map(|item| format!("item {item}")).collect()
}

/// 5 MB in 12 shards.
fn built() -> mayhap::Sharded {
    let mut built = mayhap::Sharded::new(Spec::new(4_000_000, 0.01).unwrap(), 12).unwrap();
    items().iter().for_each(|item| _ = built.insert(item));
    built
}

/// Calls this once, after this many chunks.
fn at_piece(piece: u64, what: impl FnMut() + Send) -> impl Fn(u64) + Sync {
    let (pieces, what) = (AtomicU64::new(0), Mutex::new(what));
    move |_| {
        if pieces.fetch_add(1, Relaxed) + 1 == piece {
            (what.lock().unwrap())();
        }
    }
}

#[test]
fn a_failover_in_the_middle_of_a_load_loses_nothing() {
    let Some(make) = make() else { return };
    let servers = Mutex::new(start(make));
    let hosts: Vec<String> =
        servers.lock().unwrap().iter().map(|s| format!("127.0.0.1:{}", s.port)).collect();
    let (address, _) = Address::parse(&format!("redis+cluster://{}", hosts.join(","))).unwrap();
    let filters = Filters::connect_with(address, "BF", Duration::from_secs(60)).unwrap();
    let filters = Arc::new(filters);
    let built = built();
    for (name, piece) in [("early", 1), ("middle", 6), ("late", 12)] {
        let fail = at_piece(piece, || fail_over(&mut servers.lock().unwrap()));
        let load = Sharded::load(&filters, name.as_bytes(), &built, Metadata::new(), false, &fail);
        let list = load.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(list.check(&items()).unwrap().iter().all(|found| *found), "{name}");
        let list = Sharded::open(&filters, name.as_bytes()).unwrap();
        assert_eq!(list.count(), Ok(built.keys()), "{name}");
    }
    let left: usize = servers.lock().unwrap()[..3].iter().map(on_their_way).sum();
    assert_eq!(left, 0);
    // One key goes through the same.
    let mut one = Blocked::new(Spec::new(10_000_000, 0.01).unwrap()).unwrap();
    items().iter().for_each(|item| _ = one.insert(item));
    let file = one.encode(&Metadata::new());
    let fail = at_piece(2, || fail_over(&mut servers.lock().unwrap()));
    // A key of the nodes that fail over.
    let key =
        (0..).map(|n| format!("one{n}")).find(|key| mayhap_redis::slot_of(key.as_bytes()) < 5000);
    let key = key.unwrap();
    filters.load_file(key.as_bytes(), &file, None, false, &fail).unwrap();
    let one = Sharded::open(&filters, key.as_bytes()).unwrap();
    assert!(one.check(&items()).unwrap().iter().all(|found| *found));
}

/// As after a failover to an empty replica.
#[test]
fn what_a_server_forgets_meanwhile_is_loaded_again() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let filters = connect(&server);
    let built = built();
    for (round, piece) in [1, 5, 12].into_iter().enumerate() {
        let name = format!("list{round}");
        let forget = at_piece(piece, || _ = server.client().say("FLUSHALL"));
        let load =
            Sharded::load(&filters, name.as_bytes(), &built, Metadata::new(), false, &forget);
        let list = load.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(list.check(&items()).unwrap().iter().all(|found| *found), "{name}");
        assert_eq!(server.client().say("DBSIZE"), Value::Int(13), "{name}");
    }
    let mut one = Blocked::new(Spec::new(5_000_000, 0.01).unwrap()).unwrap();
    items().iter().for_each(|item| _ = one.insert(item));
    let file = one.encode(&Metadata::new());
    let forget = at_piece(2, || _ = server.client().say("FLUSHALL")); // the last piece
    filters.load_file(b"one", &file, None, false, &forget).unwrap();
    let one = Sharded::open(&filters, b"one").unwrap();
    assert!(one.check(&items()).unwrap().iter().all(|found| *found));
    assert_eq!(server.client().say("DBSIZE"), Value::Int(1));
    // After too many retries it is an error, and nothing is left.
    let always = |_| _ = server.client().say("FLUSHALL");
    let error = filters.load_file(b"two", &file, None, false, &always).unwrap_err();
    assert!(matches!(error, FilterError::NotKept { .. }), "{error}");
    let load = Sharded::load(&filters, b"many", &built, Metadata::new(), false, &always);
    let error = load.err().unwrap();
    assert!(matches!(error, FilterError::NotKept { .. }) && error.hint().is_some(), "{error}");
    assert_eq!(server.client().say("DBSIZE"), Value::Int(0));
}

#[test]
fn replicas_that_do_not_hear_of_it_are_told_of() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let port = server.port.to_string();
    let replica = Server::start(make, &["--replicaof", "127.0.0.1", &port]);
    eventually("a replica", || {
        server.client().say("INFO replication").text().contains("state=online")
    });
    let (address, _) = Address::parse(&format!("redis://127.0.0.1:{port}")).unwrap();
    let filters = Filters::connect_with(address, "BF", Duration::from_secs(2)).unwrap();
    let wait = Wait { replicas: 1, within: Duration::from_millis(300) };
    let filters = Arc::new(filters.with_wait(wait));
    let built = mayhap::Sharded::new(Spec::new(1000, 0.01).unwrap(), 3).unwrap();
    Sharded::load(&filters, b"heard", &built, Metadata::new(), false, &|_| ()).unwrap();
    assert_eq!(filters.reserve(b"plain", 100, 0.01), Ok(()));
    let process = replica.client().say("INFO server").text();
    let process = process.lines().find_map(|line| line.strip_prefix("process_id:")).unwrap().trim();
    let signal = |signal: &str| {
        let kill = std::process::Command::new("kill").args([signal, process]).status();
        assert!(kill.unwrap().success());
    };
    signal("-STOP");
    let unheard = |error: Option<FilterError>| {
        matches!(error, Some(FilterError::Link(LinkError::Unacknowledged { .. })))
    };
    // Only one connection wrote, and another waits.
    let reserved = filters.reserve(b"alone", 100, 0.01).err();
    let loaded = Sharded::load(&filters, b"unheard", &built, Metadata::new(), false, &|_| ()).err();
    signal("-CONT");
    assert!(unheard(reserved.clone()), "{reserved:?}");
    assert!(unheard(loaded.clone()), "{loaded:?}");
    // What is there can be gone on with at once.
    Sharded::load(&filters, b"unheard", &built, Metadata::new(), false, &|_| ()).unwrap();
}
