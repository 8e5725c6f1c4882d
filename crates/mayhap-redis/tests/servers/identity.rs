//! A replaced shard is detected by every call, and named.

use super::{connect, make};
use mayhap::format::Metadata;
use mayhap::{Secret, Spec};
use mayhap_redis::{Address, Descriptor, FilterError, Filters, Sharded};
use mayhap_testkit::{Client, Make, Server, Value, makes};
use std::sync::Arc;

const SECRET: Secret = Secret::from_bytes([8; 16]);
const SECRET_HEX: &str = "08080808080808080808080808080808";

fn items() -> Vec<String> {
    (0..20_000).map(|item| format!("item {item}")).collect()
}

fn spec() -> Spec {
    Spec::new(20_000, 0.01).unwrap().with_secret(SECRET)
}

/// Created and filled there, or built here and loaded.
fn both(filters: &Arc<Filters>) -> [Sharded; 2] {
    let about = Descriptor::new(spec(), 8, Metadata::new()).unwrap();
    let made = Sharded::create(filters, b"made", about, false).unwrap();
    made.add(&items()).unwrap();
    let mut built = mayhap::Sharded::new(spec(), 8).unwrap();
    items().iter().for_each(|item| _ = built.insert(item));
    let load = Sharded::load(filters, b"loaded", &built, Metadata::new(), false, &|_| ());
    [made, load.unwrap()]
}

fn key_of(list: &Sharded, shard: usize) -> String {
    String::from_utf8(list.keys().nth(shard).unwrap().to_vec()).unwrap()
}

/// Operations on keys, and what they hold afterwards.
fn swaps(client: &mut Client, key: &str, other: &str) -> Vec<(&'static str, Vec<Vec<String>>)> {
    client.say("BF.ADD spare x");
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let capacity = "3000";
    vec![
        ("made by an add", vec![words(&format!("DEL {key}")), words(&format!("BF.ADD {key} x"))]),
        ("cleared", vec![words(&format!("BF.CLEAR {key}"))]),
        (
            "made again alike",
            vec![
                words(&format!("DEL {key}")),
                words(&format!(
                    "BF.RESERVE {key} 0.01 {capacity} NONSCALING KIND blocked SECRET {SECRET_HEX}"
                )),
            ],
        ),
        ("another filter", vec![words(&format!("COPY spare {key} REPLACE"))]),
        ("another shard", vec![words(&format!("COPY {other} {key} REPLACE"))]),
        ("text", vec![words(&format!("SET {key} x"))]),
        ("gone", vec![words(&format!("DEL {key}"))]),
    ]
}

#[test]
fn a_shard_that_is_not_the_one_is_an_error_that_names_it() {
    makes().into_iter().for_each(swapped_shards_are_told_of);
}

fn swapped_shards_are_told_of(make: Make) {
    let server = Server::start(make, &[]);
    let (filters, mut client) = (connect(&server), server.client());
    // A module that knows no identities: RedisBloom's, valkey-bloom's, an earlier one of ours.
    let (address, _) = Address::parse(&format!("redis://127.0.0.1:{}", server.port)).unwrap();
    let older = Arc::new(Filters::connect(address, "BF").unwrap().without_identities());
    let about = Descriptor::new(spec(), 8, Metadata::new()).unwrap();
    let witnessed = Sharded::create(&older, b"witnessed", about, false).unwrap();
    let new = witnessed.add(&items()).unwrap().iter().filter(|new| **new).count() as u64;
    assert_eq!((witnessed.count(), witnessed.info().unwrap().items), (Ok(new), new));
    // Whoever opens it asks for the same marks, whatever the module knows by then.
    let witnessed = Sharded::open(&filters, b"witnessed").unwrap();
    // As many items in one command as there may be, and more than fit.
    let about = Descriptor::new(spec(), 1, Metadata::new()).unwrap();
    let small = Sharded::create(&older, b"small", about, false).unwrap();
    assert!(small.add(&items()).is_ok());
    assert!(small.check(&items()).unwrap().iter().all(|found| *found));
    let more: Vec<String> = (0..5000).map(|item| format!("more {item}")).collect();
    let full = small.add(&more);
    assert!(matches!(full, Err(FilterError::Full { .. })), "{full:?}");
    assert_eq!(small.delete(), Ok(2));
    let built = mayhap::Sharded::new(spec(), 8).unwrap();
    let refused =
        Sharded::load(&older, b"x", &built, Metadata::new(), false, &|_| ()).err().unwrap();
    assert!(refused.to_string().contains("earlier release"), "{refused}");
    for list in both(&filters).into_iter().chain([witnessed]) {
        let (key, other) = (key_of(&list, 3), key_of(&list, 4));
        for (what, commands) in swaps(&mut client, &key, &other) {
            assert!(list.check(&items()).unwrap().iter().all(|found| *found), "before {what}");
            assert_eq!(client.call(&["COPY", &key, "kept"]), Value::Int(1));
            for command in commands {
                assert_eq!(client.call(&command).error(), "", "{what}");
            }
            let items_there = client.call(&["BF.CARD", &key]);
            let check = list.check(&items()).map(|found| found.iter().filter(|f| **f).count());
            let add = list.add(&items()).map(|new| new.len());
            let errors = [check.map(drop), add.map(drop), list.count().map(drop)];
            for error in errors {
                let error = error.expect_err(what);
                let node = format!("127.0.0.1:{}", server.port);
                let said = error.to_string();
                assert!(said.contains(&key) && error.hint().is_some(), "{what}: {said}");
                assert!(said.contains(&node), "{what}: {said}");
            }
            assert!(list.info().is_err(), "{what}");
            assert!(list.save_shard(3, &mut Vec::new(), &|_| ()).is_err(), "{what}");
            // And nothing was written to other keys.
            assert_eq!(client.call(&["BF.CARD", &key]), items_there, "{what}");
            // The shard back under its name is the shard again: a rename changes nothing.
            client.call(&["RENAME", "kept", &key]);
        }
        assert!(list.check(&items()).unwrap().iter().all(|found| *found));
        assert_eq!(list.add(&items()).unwrap().iter().filter(|new| **new).count(), 0);
        list.delete().unwrap();
    }
}

/// Identities survive everything that transfers keys.
#[test]
fn a_shard_stays_one_through_dumps_restarts_and_rewrites() {
    let Some(make) = make() else { return };
    let mut server = Server::start(make, &["--appendonly", "yes"]);
    let filters = connect(&server);
    for list in both(&filters) {
        let key = key_of(&list, 2);
        let mut client = server.client();
        let dump = client.call(&["DUMP", &key]).bytes();
        client.call(&["DEL", &key]);
        let restore: [&[u8]; 4] = [b"RESTORE", key.as_bytes(), b"0", &dump];
        assert_eq!(client.call(&restore), Value::ok());
        assert!(list.check(&items()).unwrap().iter().all(|found| *found));
    }
    server.restart(); // from the commands of the append-only file
    for name in ["made", "loaded"] {
        let list = Sharded::open(&filters, name.as_bytes()).unwrap();
        assert!(list.check(&items()).unwrap().iter().all(|found| *found), "{name}");
    }
    let mut client = server.client();
    client.say("CONFIG SET aof-use-rdb-preamble no");
    client.say("BGREWRITEAOF");
    mayhap_testkit::eventually("rewriting", || {
        client.say("INFO persistence").text().contains("aof_rewrite_in_progress:0")
    });
    server.restart(); // from LOADCHUNKs
    for name in ["made", "loaded"] {
        let list = Sharded::open(&filters, name.as_bytes()).unwrap();
        assert!(list.check(&items()).unwrap().iter().all(|found| *found), "{name}");
        assert_eq!(list.add(&["new"]), Ok(vec![true]), "{name}");
    }
}

/// What earlier releases made has no identity: it is answered as they did, and can be told.
#[test]
fn filters_of_earlier_releases_are_asked_as_before() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let (filters, mut client) = (connect(&server), server.client());
    let about = Descriptor::new(spec(), 3, Metadata::new()).unwrap();
    let keys = ["old:{0.1}", "old:{1}", "old:{2.4}"];
    for key in keys {
        let capacity = about.shard_capacity();
        let reserve =
            format!("BF.RESERVE {key} 0.01 {capacity} NONSCALING KIND blocked SECRET {SECRET_HEX}");
        assert_eq!(client.say(&reserve), Value::ok());
    }
    assert_eq!(client.call(&[&b"SET"[..], b"old", &about.encode()]), Value::ok());
    let old = Sharded::open(&filters, b"old").unwrap();
    assert!(!old.about().unwrap().has_identity());
    old.add(&items()).unwrap();
    assert!(old.check(&items()).unwrap().iter().all(|found| *found));
    assert!(old.count().unwrap() > 19_000 && old.info().unwrap().items > 19_000);
    client.call(&["DEL", keys[1]]);
    assert!(matches!(old.check(&items()), Err(FilterError::Lost { .. })));
    assert_eq!(old.delete(), Ok(3));
}

/// A descriptor that was deleted, and its name taken by somebody's `BF.ADD`: whoever opens it next
/// must not be told "no" for what the shards hold.
#[test]
fn a_filter_that_took_the_name_of_a_sharded_one_does_not_answer_for_it() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let (filters, mut client) = (connect(&server), server.client());
        for shards in [1, 8, 100] {
            let about = Descriptor::new(spec(), shards, Metadata::new()).unwrap();
            let list = Sharded::create(&filters, b"urls", about, false).unwrap();
            list.add(&["a"]).unwrap();
            assert_eq!(client.say("DEL urls"), Value::Int(1));
            client.say("BF.ADD urls x");
            let error = Sharded::open(&filters, b"urls").err().expect("shards beside");
            assert!(matches!(error, FilterError::ShardsBeside { .. }), "{error}");
            assert!(error.to_string().starts_with("urls: a filter that took"), "{error}");
            // What is left of the larger one can be found and deleted; then it is a filter like any.
            let orphans = filters.orphans(Some(b"urls"), std::time::Duration::ZERO).unwrap();
            assert_eq!(filters.delete_orphans(&orphans), Ok(shards.into()));
            let plain = Sharded::open(&filters, b"urls").unwrap();
            assert_eq!(plain.check(&["x", "a"]), Ok(vec![true, false]));
            client.say("DEL urls");
        }
        // Filters that only look like shards by their names are somebody's own.
        client.say("BF.ADD urls x");
        client.say("BF.ADD urls:{0} x");
        assert!(Sharded::open(&filters, b"urls").is_ok());
    }
}
