//! Nodes that hang, and replicas: every call ends at its deadline or at once, and names the node
//! that failed.

use super::{connect, make, try_connect};
use mayhap::format::Metadata;
use mayhap::{Blocked, Secret, Spec};
use mayhap_redis::{Descriptor, FilterError, LinkError, SavedFormat, Sharded};
use mayhap_testkit::nodes::start;
use mayhap_testkit::{Server, eventually};
use std::time::{Duration, Instant};

/// A call with a timeout of a second ends long before this, however busy the machine is.
const LONG: Duration = Duration::from_secs(10);

fn items() -> Vec<String> {
    (0..1000).map(|item| item.to_string()).collect()
}

fn timely<T>(what: &str, call: impl FnOnce() -> Result<T, FilterError>) -> LinkError {
    let start = Instant::now();
    let error = call().err();
    assert!(start.elapsed() < LONG, "{what} took {:?}", start.elapsed());
    match error {
        Some(FilterError::Link(error)) => error,
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn a_stopped_primary_holds_nobody_longer_than_the_timeout() {
    let Some(make) = make() else { return };
    let servers = start(make);
    // No failover: what is tested is how it ends without one.
    for replica in &servers[3..] {
        replica.signal("-STOP");
    }
    let url = format!("redis+cluster://127.0.0.1:{}?timeout=1", servers[1].port);
    let filters = try_connect(&url, "BF").unwrap();
    let spec = Spec::new(100_000, 0.001).unwrap().with_secret(Secret::from_bytes([6; 16]));
    let about = Descriptor::new(spec, 6, Metadata::new()).unwrap();
    let list = Sharded::create(&filters, b"list", about, false).unwrap();
    list.add(&items()).unwrap();
    servers[0].signal("-STOP");
    // Neither the one that the address names, nor those that answer.
    let stopped = format!("127.0.0.1:{}", servers[0].port);
    let mut errors = vec![
        timely("check", || list.check(&items())),
        timely("add", || list.add(&items())),
        timely("count", || list.count()),
        timely("info", || list.info()),
        timely("delete", || list.delete()),
    ];
    errors.retain(|error| !error.to_string().contains("CLUSTERDOWN"));
    assert!(!errors.is_empty());
    for error in errors {
        assert!(error.is_of_the_moment() && error.to_string().contains(&stopped), "{error}");
    }
    for server in &servers {
        server.signal("-CONT");
    }
    eventually("the cluster to answer again", || filters.key_content(b"list").is_ok());
}

#[test]
fn a_replica_is_saved_from_and_says_at_once_that_it_takes_no_writes() {
    let Some(make) = make() else { return };
    let (primary, replica) = (Server::start(make, &[]), Server::start(make, &[]));
    let filters = connect(&primary);
    let mut filter = Blocked::new(Spec::new(10_000, 0.01).unwrap()).unwrap();
    (0..1000u64).for_each(|key| _ = filter.insert(key));
    let file = filter.encode(&Metadata::new());
    filters.load_file(b"f", &file, None, false, &|_| ()).unwrap();
    let mut client = replica.client();
    client.say(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
    eventually("the replica", || {
        client.say("INFO replication").text().contains("master_link_status:up")
            && client.say("EXISTS f").int() == 1
    });
    let there = connect(&replica);
    let mut saved = vec![];
    assert_eq!(there.save(b"f", &mut saved, &|_| ()), Ok(SavedFormat::Mayhap { secret: None }));
    assert!(saved == file);
    let list = Sharded::open(&there, b"f").unwrap();
    assert!(list.check(&[7u64.to_le_bytes()]).unwrap()[0]);
    let errors = [
        timely("add", || list.add(&items())),
        timely("load", || there.load_file(b"g", &file, None, false, &|_| ())),
        timely("reserve", || there.reserve(b"h", 100, 0.01)),
        timely("delete", || list.delete()),
    ];
    for error in errors {
        let named = error.to_string().contains(&format!(":{}: a replica", replica.port));
        assert!(matches!(error, LinkError::Replica { .. }) && named, "{error}");
    }
}

#[test]
fn what_is_no_cluster_and_what_has_no_name_is_said_at_once() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let url = format!("redis+cluster://127.0.0.1:{}", server.port);
    let start = Instant::now();
    let Err(FilterError::Link(error)) = try_connect(&url, "BF") else { panic!("connected") };
    assert!(matches!(error, LinkError::Standalone { .. }), "{error:?}");
    let filters = connect(&server);
    assert_eq!(filters.key_content(b""), Err(FilterError::EmptyName));
    assert_eq!(filters.reserve(b"", 100, 0.01), Err(FilterError::EmptyName));
    assert_eq!(filters.save(b"", &mut vec![], &|_| ()), Err(FilterError::EmptyName));
    assert_eq!(filters.load_file(b"", b"", None, false, &|_| ()), Err(FilterError::EmptyName));
    assert!(start.elapsed() < LONG);
    assert_eq!(server.client().say("DBSIZE").int(), 0);
}
