//! One filter over many keys of one server.

use super::{connect, make, on_their_way};
use mayhap::format::Metadata;
use mayhap::{Secret, Spec};
use mayhap_redis::{
    Address, Descriptor, FilterError, Filters, LinkError, SavedFormat, Sharded, Wait,
};
use mayhap_testkit::Server;
use mayhap_testkit::Value;
use std::sync::Arc;
use std::time::Duration;

const SECRET: Secret = Secret::from_bytes([8; 16]);

fn about(keys: u64, shards: u32) -> Descriptor {
    let spec = Spec::new(keys, 0.01).unwrap().with_secret(SECRET);
    let metadata = Metadata::new().with_created(5).with_normalizer("url").unwrap();
    Descriptor::new(spec, shards, metadata).unwrap()
}

fn items(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|item| format!("item {item}")).collect()
}

#[test]
fn many_keys_are_one_filter() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let (filters, mut client) = (connect(&server), server.client());
    let urls = Sharded::create(&filters, b"urls", about(50_000, 16), false).unwrap();
    let (members, absent_keys) = (items(0..50_000), items(50_000..150_000));
    let new = urls.add(&members).unwrap().into_iter().filter(|new| *new).count();
    assert!(new > 49_400, "{new}");
    assert!(!urls.add(&members).unwrap().contains(&true), "added twice");
    assert!(urls.check(&members).unwrap().iter().all(|found| *found));
    let wrong = urls.check(&absent_keys).unwrap().into_iter().filter(|found| *found).count();
    assert!(wrong < 1100, "{wrong} of 100000 at 1%");
    assert_eq!(urls.count().unwrap(), new as u64);
    let info = urls.info().unwrap();
    assert_eq!((info.items, info.capacity, info.keyed), (new as u64, 50_000, Some(true)));
    assert!(info.fpr_now.unwrap() < 0.0102 && info.fullest.1 <= info.fullest.2, "{info:?}");
    assert_eq!(info.nodes.values().sum::<u32>(), 16);
    // Opened by another client, it is the same.
    let again = Sharded::open(&filters, b"urls").unwrap();
    let (opened, made) = (again.about().unwrap(), about(50_000, 16));
    assert_eq!((opened.spec(), opened.metadata()), (made.spec(), made.metadata()));
    assert!(opened.has_identity() && !made.has_identity());
    assert!(again.check(&members).unwrap().iter().all(|found| *found));
    assert_eq!(again.expect_shards(16), Ok(()));
    let shards = again.expect_shards(8);
    assert_eq!(shards, Err(FilterError::Shards { key: "urls".to_owned(), have: 16, need: 8 }));
    // Each is a filter that everybody can ask.
    let key = String::from_utf8(urls.keys().next().unwrap().to_vec()).unwrap();
    assert!(client.say(&format!("BF.CARD {key}")).int() > 2000);
    // A missing one is an error, not an empty filter.
    client.say(&format!("DEL {key}"));
    let node = format!("redis://127.0.0.1:{}", server.port);
    let lost = Err(FilterError::Lost { key: key.clone(), node: node.clone() });
    assert_eq!(urls.check(&members), lost);
    assert_eq!(urls.add(&members), lost);
    assert_eq!(urls.count(), Err(FilterError::Lost { key, node }));
    assert_eq!(urls.delete(), Ok(16));
    assert_eq!(client.say("DBSIZE"), Value::Int(0));
    let gone = Err(FilterError::Replaced { key: "urls".to_owned() });
    assert_eq!(urls.check(&members), gone);
    assert!(matches!(Sharded::open(&filters, b"urls"), Err(FilterError::Missing { .. })));
}

#[test]
fn a_filter_built_elsewhere_goes_there_and_comes_back_the_same() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let filters = connect(&server);
    for spec in [Spec::new(30_000, 0.01).unwrap().with_seed(7), about(30_000, 1).spec()] {
        let mut built = mayhap::Sharded::new(spec, 9).unwrap();
        let members = items(0..30_000);
        members.iter().for_each(|item| _ = built.insert(item));
        let metadata = about(1, 1).metadata().clone();
        let load = |over| {
            let metadata = metadata.clone();
            Sharded::load(&filters, b"list", &built, metadata, over, &|_| ())
                .map(|list| list.count())
        };
        assert_eq!(load(true), Ok(Ok(built.keys())));
        assert!(matches!(load(false), Err(FilterError::Exists { .. })));
        assert_eq!(load(true), Ok(Ok(built.keys())));
        let list = Sharded::open(&filters, b"list").unwrap();
        assert!(list.check(&members).unwrap().iter().all(|found| *found));
        // False positives too.
        let absent_keys = items(100_000..120_000);
        let want: Vec<bool> = absent_keys.iter().map(|item| built.contains(item)).collect();
        assert_eq!(list.check(&absent_keys).unwrap(), want);
        for (shard, piece) in (0..).zip(built.shards()) {
            let mut back = Vec::new();
            let saved = list.save_shard(shard, &mut back, &|_| ());
            assert_eq!(saved, Ok(SavedFormat::Mayhap { secret: spec.scheme().secret() }));
            assert!(back == piece.encode(&Metadata::new()), "shard {shard}");
        }
        assert_eq!(on_their_way(&server), 0);
    }
}

#[test]
fn what_is_in_the_way_or_full_is_told() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let (filters, mut client) = (connect(&server), server.client());
    let create = |name: &str, over| {
        Sharded::create(&filters, name.as_bytes(), about(1000, 4), over).map(|_| ())
    };
    assert!(matches!(create("a{b}c", false), Err(FilterError::Name { .. })));
    client.say("SET text hello");
    assert!(matches!(create("text", false), Err(FilterError::Exists { .. })));
    let error = Sharded::open(&filters, b"text").err().unwrap();
    assert_eq!(error.to_string(), "text: not a filter but string");
    assert_eq!(create("text", true), Ok(()));
    assert!(matches!(create("text", false), Err(FilterError::Exists { .. })));
    // The descriptor was lost, its shards were not: they are not taken for new ones.
    client.say("DEL text");
    assert!(matches!(create("text", false), Err(FilterError::Exists { .. })));
    assert_eq!(create("text", true), Ok(()));
    client.say("SETRANGE text 60 x");
    let error = Sharded::open(&filters, b"text").err().unwrap();
    assert!(matches!(error, FilterError::Descriptor { .. }), "{error}");
    // A replica is waited for, but not forever.
    let url = format!("redis://127.0.0.1:{}", server.port);
    let (address, _) = Address::parse(&url).unwrap();
    let patience = Duration::from_millis(200);
    let careful = Filters::connect_with(address, "BF", patience).unwrap();
    let careful = Arc::new(careful.with_wait(Wait { replicas: 1, within: patience }));
    let error = Sharded::create(&careful, b"alone", about(1000, 4), false).err().unwrap();
    let alone = matches!(error, FilterError::Link(LinkError::Unacknowledged { replicas: 1, .. }));
    assert!(alone && error.hint().is_some(), "{error}");
    assert_eq!(create("small", false), Ok(()));
    let small = Sharded::open(&filters, b"small").unwrap();
    let error = small.add(&items(0..5000)).unwrap_err();
    assert!(matches!(error, FilterError::Full { .. }) && error.hint().is_some(), "{error}");
    // A replacement is detected by clients that have the old one open.
    let other = Spec::new(1000, 0.01).unwrap().with_secret(Secret::from_bytes([9; 16]));
    let other = Descriptor::new(other, 5, Metadata::new()).unwrap();
    Sharded::create(&filters, b"small", other, true).unwrap();
    assert_eq!(small.check(&["x"]), Err(FilterError::Replaced { key: "small".to_owned() }));
    // A plain filter is used alike.
    client.say("BF.ADD plain ada");
    let plain = Sharded::open(&filters, b"plain").unwrap();
    assert_eq!(plain.check(&["ada", "eve"]), Ok(vec![true, false]));
    assert_eq!(plain.add(&["ada", "eve"]), Ok(vec![false, true]));
    assert_eq!((plain.count(), plain.about()), (Ok(2), None));
    assert_eq!(plain.delete(), Ok(1));
    assert_eq!(plain.check(&["x"]), Err(FilterError::Missing { key: "plain".to_owned() }));
}
