//! One filter over three primaries with three replicas: a failover and slot migrations under
//! load. What was acknowledged by a replica is found afterwards.

use super::{make, try_connect};
use mayhap::format::Metadata;
use mayhap::{Secret, Spec};
use mayhap_redis::{Address, Descriptor, FilterError, Filters, LinkError, Sharded, Wait, slot_of};
use mayhap_testkit::nodes::{fail_over, move_slot, start};
use mayhap_testkit::{Server, eventually};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const SHARDS: u32 = 24;
const ROUND: u64 = 200;

fn url(servers: &[Server]) -> String {
    let hosts: Vec<String> = servers.iter().map(|s| format!("127.0.0.1:{}", s.port)).collect();
    format!("redis+cluster://{}", hosts.join(","))
}

fn items(round: u64) -> Vec<String> {
    (0..ROUND).map(|item| format!("{round}/{item}")).collect()
}

#[test]
fn acknowledged_items_survive_failover_and_migration() {
    let Some(make) = make() else { return };
    let soak = std::env::var_os("MAYHAP_SOAK").is_some();
    let mut servers = start(make);
    let (address, _) = Address::parse(&url(&servers)).unwrap();
    let wait = Wait { replicas: 1, within: Duration::from_secs(1) };
    let patience = Duration::from_secs(60);
    let filters = Filters::connect_with(address, "BF", patience).unwrap().with_wait(wait);
    let filters = Arc::new(filters);
    // In the long run for as many minutes as are asked for, at some pace.
    let minutes: Option<u64> =
        std::env::var("MAYHAP_CLUSTER_MINUTES").ok().and_then(|m| m.parse().ok());
    let long = Duration::from_secs(60 * minutes.unwrap_or(0));
    let (capacity, rest) = match minutes {
        Some(minutes) => (1_000_000 * minutes.max(1), Duration::from_millis(20)),
        None => (1_000_000, Duration::ZERO),
    };
    let spec = Spec::new(capacity, 0.001).unwrap().with_secret(Secret::from_bytes([6; 16]));
    let about = Descriptor::new(spec, SHARDS, Metadata::new()).unwrap();
    let list = Sharded::create(&filters, b"list", about, false).unwrap();
    // Every primary has its part.
    assert_eq!(list.info().unwrap().nodes.values().collect::<Vec<_>>(), [&8, &8, &8]);

    let (started, mut failovers) = (Instant::now(), 0);
    let (stop, rounds, absent) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let (stop, rounds, absent, list) = (&stop, &rounds, &absent, &list);
    std::thread::scope(|scope| {
        // Items are added meanwhile; a round counts when replicas have all of it.
        let load = scope.spawn(move || {
            while !stop.load(Relaxed) {
                list.add(&items(rounds.load(Relaxed))).unwrap();
                rounds.fetch_add(1, Relaxed);
                std::thread::sleep(rest);
            }
        });
        // And looked up meanwhile.
        let asking = scope.spawn(move || {
            let mut at = 0;
            while !stop.load(Relaxed) {
                let known = rounds.load(Relaxed);
                if known > 0 {
                    at = (at + 7) % known;
                    let found = list.check(&items(at)).unwrap();
                    let missing = found.iter().filter(|found| !**found).count() as u64;
                    absent.fetch_add(missing, Relaxed);
                }
            }
        });
        let pass = |count: u64| {
            let until = rounds.load(Relaxed) + count;
            let over = || load.is_finished() || asking.is_finished();
            eventually("load", || rounds.load(Relaxed) >= until || over());
        };
        pass(20);
        while failovers < if soak { 5 } else { 1 } || started.elapsed() < long {
            fail_over(&mut servers);
            failovers += 1;
            pass(20);
        }
        let shards: Vec<String> =
            list.keys().map(|key| String::from_utf8(key.to_vec()).unwrap()).collect();
        for key in &shards[8..12] {
            move_slot(&servers[1], &servers[2], slot_of(key.as_bytes()), &[key], || pass(2));
        }
        stop.store(true, Relaxed);
    });
    let added = rounds.load(Relaxed);
    assert!(added >= 40);
    let missing: usize = (0..added)
        .map(|round| list.check(&items(round)).unwrap().iter().filter(|found| !**found).count())
        .sum();
    assert_eq!((missing, absent.load(Relaxed)), (0, 0), "of {added} rounds");
    println!(
        "soak: {failovers} failovers, 4 slots moved, {} items acknowledged by a replica, none missing",
        added * ROUND
    );
    assert!(list.count().unwrap().abs_diff(added * ROUND) < added * ROUND / 100);

    // A filter built elsewhere goes to all nodes.
    let mut built = mayhap::Sharded::new(Spec::new(20_000, 0.01).unwrap(), 7).unwrap();
    (0..100).for_each(|round| items(round).iter().for_each(|item| _ = built.insert(item)));
    let loaded =
        Sharded::load(&filters, b"built", &built, Metadata::new(), false, &|_| ()).unwrap();
    assert!((0..100).all(|round| loaded.check(&items(round)).unwrap().iter().all(|found| *found)));
    assert_eq!(loaded.info().unwrap().nodes.len(), 3);
    // A node addressed as a single server is an error that says so.
    let alone = try_connect(&format!("redis://127.0.0.1:{}", servers[1].port), "BF").unwrap();
    let errors: Vec<FilterError> =
        (0..4).filter_map(|n| alone.key_content(format!("k{n}").as_bytes()).err()).collect();
    let told =
        |error: &FilterError| matches!(error, FilterError::Link(LinkError::NotACluster { .. }));
    assert!(!errors.is_empty() && errors.iter().all(told), "{errors:?}");
}
