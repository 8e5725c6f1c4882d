//! Whole filters, there and back.

use super::{connect, make, on_their_way, try_connect};
use mayhap::format::Metadata;
use mayhap::{AnyFilter, Blocked, Counting, Fuse, Scalable, Secret, Spec};
use mayhap_foreign::redisbloom::{Chain, Scaling};
use mayhap_redis::{FilterError, KeyContent, LinkError, SavedFormat, ServerModule};
use mayhap_testkit::Value;
use mayhap_testkit::{Server, makes};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SECRET: Secret = Secret::from_bytes([4; 16]);

fn samples() -> Vec<(AnyFilter, Option<Secret>)> {
    let spec = Spec::new(3_000_000, 0.01).unwrap(); // 3.7 MB and more: several pieces
    let mut filters: Vec<(AnyFilter, _)> = vec![
        (Blocked::new(Spec::new(6_000_000, 0.01).unwrap()).unwrap().into(), None),
        (Blocked::new(spec.with_secret(SECRET)).unwrap().into(), Some(SECRET)),
        (Scalable::new(Spec::new(100, 0.01).unwrap()).unwrap().into(), None),
        (Counting::new(spec).unwrap().into(), None),
    ];
    for (filter, _) in &mut filters {
        (0..1000u64).for_each(|key| _ = filter.insert(key).unwrap());
    }
    filters.push((Fuse::with_spec(spec, 0..1000u64).unwrap().into(), None));
    filters
}

#[test]
fn filters_of_ours_go_there_and_come_back_the_same() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let filters = connect(&server);
        assert_eq!(filters.server_module(), ServerModule::Mayhap);
        for (at, (filter, secret)) in samples().into_iter().enumerate() {
            let key = format!("f{at}");
            let file = filter.encode(&Metadata::new());
            let moved = AtomicU64::new(0);
            let count = |bytes| _ = moved.fetch_add(bytes, Relaxed);
            // It has a temporary name during the upload, which is removed.
            let look = |bytes| {
                count(bytes);
                let mut client = server.client();
                assert_eq!(client.say(&format!("EXISTS {key}")), Value::Int(0));
                let temp = client.say("KEYS *:loading-*").array().remove(0).text();
                assert!((3500..=3600).contains(&client.say(&format!("TTL {temp}")).int()));
            };
            filters.load_file(key.as_bytes(), &file, secret, false, &look).unwrap();
            assert_eq!(moved.swap(0, Relaxed), file.len() as u64);
            assert_eq!(filters.key_content(key.as_bytes()), Ok(KeyContent::Filter));
            assert_eq!(server.client().say(&format!("TTL {key}")), Value::Int(-1));
            let mut back = Vec::new();
            let saved = filters.save(key.as_bytes(), &mut back, &count).unwrap();
            assert_eq!(saved, SavedFormat::Mayhap { secret });
            assert!(back == file, "{} came back differently", filter.kind());
            assert_eq!(moved.into_inner(), file.len() as u64);
        }
        assert_eq!(on_their_way(&server), 0);
    }
}

#[test]
fn redisblooms_filters_go_there_and_come_back_the_same() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let filters = connect(&server);
    let mut chain = Chain::reserve(1_000_000, 0.01, Scaling::By(2)).unwrap();
    (0..1_500_000u64).for_each(|key| _ = chain.insert(key.to_le_bytes()).unwrap());
    filters.load_chain(b"theirs", &chain, false, &|_| ()).unwrap();
    let mut back = Vec::new();
    assert_eq!(filters.save(b"theirs", &mut back, &|_| ()), Ok(SavedFormat::RedisBloom));
    assert!(back == chain.encode());
    // As RedisBloom would have it: its type, and its answers.
    assert_eq!(server.client().say("TYPE theirs").text(), "MBbloom--");
    assert_eq!(on_their_way(&server), 0);
}

#[test]
fn what_is_damaged_or_in_the_way_leaves_everything_as_it_was() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let (filters, mut client) = (connect(&server), server.client());
    let file = Blocked::new(Spec::new(5_000_000, 0.01).unwrap()).unwrap().encode(&Metadata::new());
    let mut bad = file.clone();
    bad[file.len() / 2] ^= 1;
    let load =
        |key: &str, file: &[u8], over| filters.load_file(key.as_bytes(), file, None, over, &|_| ());
    let error = load("f", &bad, false).unwrap_err();
    assert!(
        matches!(&error, FilterError::Refused { what, .. } if what.contains("bad data")),
        "{error}"
    );
    assert_eq!(filters.key_content(b"f"), Ok(KeyContent::Nothing));
    assert_eq!(on_their_way(&server), 0);
    client.say("RPUSH list a");
    let exists = |key: &str| Err(FilterError::Exists { key: key.to_owned() });
    assert_eq!(load("list", &file, false), exists("list"));
    assert_eq!(filters.key_content(b"list"), Ok(KeyContent::Other("list".to_owned())));
    assert_eq!(load("f", &file, false), Ok(()));
    client.say("BF.ADD f ada");
    assert_eq!(load("f", &file, false), exists("f"));
    assert_eq!(client.say("BF.EXISTS f ada"), Value::Int(1));
    assert_eq!(load("f", &file, true), Ok(()));
    assert_eq!(client.say("BF.EXISTS f ada"), Value::Int(0));
    let missing = filters.save(b"nothing", &mut Vec::new(), &|_| ());
    assert_eq!(missing, Err(FilterError::Missing { key: "nothing".to_owned() }));
    // Several filters in one key are no file.
    client.say("BF.ADD a x");
    client.say("BF.ADD b y");
    client.say("BF.MERGE a b LAYERS");
    let error = filters.save(b"a", &mut Vec::new(), &|_| ()).unwrap_err();
    assert!(error.to_string().contains("BF.MERGE"), "{error}");
    // The limit of the server holds for what is loaded.
    client.say("CONFIG SET mayhap.max-filter-bytes 1000000");
    let error = load("g", &file, false).unwrap_err();
    assert!(error.to_string().contains("memory") && error.hint().is_some(), "{error}");
    assert_eq!(on_their_way(&server), 0);
}

#[test]
fn who_is_there_is_found_out() {
    let Some(make) = make() else { return };
    let bare = Server::bare(make, &[]);
    let url = format!("redis://127.0.0.1:{}", bare.port);
    let error = try_connect(&url, "BF").err().unwrap();
    assert!(matches!(error, FilterError::NoModule { .. }) && error.hint().is_some(), "{error}");
    let prefixed = Server::with_module(make, &["PREFIX", "MH"], &[]);
    let url = format!("redis://127.0.0.1:{}", prefixed.port);
    assert!(matches!(try_connect(&url, "BF"), Err(FilterError::NoModule { .. })));
    let filters = try_connect(&url, "MH").unwrap();
    let file = Blocked::new(Spec::new(100, 0.01).unwrap()).unwrap().encode(&Metadata::new());
    filters.load_file(b"f", &file, None, false, &|_| ()).unwrap();
    assert_eq!(prefixed.client().say("MH.EXISTS f x"), Value::Int(0));
    // Connection refused: an error at once, not after all retries.
    let port = bare.port;
    drop(bare);
    let error = try_connect(&format!("redis://127.0.0.1:{port}"), "BF").err().unwrap();
    assert!(matches!(error, FilterError::Link(LinkError::Unreachable { .. })), "{error}");
}
