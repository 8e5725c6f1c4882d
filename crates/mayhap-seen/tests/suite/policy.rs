//! A policy is set when a store is created, and changed only explicitly.

use crate::server::Server;
use mayhap_redis::redis::cmd;
use mayhap_seen::redis::{Options as RedisOptions, Redis};
use mayhap_seen::{Backend, Embedded, Policy, PolicyFields, Seen, SeenError, embedded};
use std::path::Path;

type Lists = Seen<Box<dyn Backend>>;
type Open<'a> = dyn Fn(Option<&str>) -> Result<Lists, SeenError> + 'a;

pub fn ids(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|id| format!("id-{id}")).collect()
}

fn in_file(path: &Path, policy: Option<&str>) -> Result<Lists, SeenError> {
    let fields: PolicyFields = policy.unwrap_or_default().parse().unwrap();
    let options = embedded::Options::default().with_policy_fields(fields);
    Ok(Seen::new(Box::new(Embedded::open_with(path, options)?)))
}

fn on_server(url: &str, policy: Option<&str>) -> Result<Lists, SeenError> {
    let fields: PolicyFields = policy.unwrap_or_default().parse().unwrap();
    Ok(Seen::new(Box::new(Redis::open_with(RedisOptions::parse(url)?.with_policy_fields(fields))?)))
}

/// What holds for every store. A refusal comes when it is opened, or at the first call.
fn is_kept(open: &Open<'_>) {
    let all = ids(0..7500);
    let first = open(Some("slices=8,idle=120d")).unwrap();
    for page in all.chunks(1000) {
        first.mark(b"user", page).unwrap();
    }
    drop(first);
    // Without a policy, and with some of its fields, it is the stored one.
    for policy in [None, Some("slices=8"), Some("idle=120d,ids=1000"), Some("owner=4")] {
        let seen = open(policy).unwrap();
        assert_eq!(seen.policy().unwrap().slices(), 8, "{policy:?}");
        assert!(seen.unseen(b"user", &all).unwrap().is_empty(), "{policy:?}");
        seen.mark(b"user", &["again"]).unwrap();
    }
    // Another one is rejected by everything, and the error says what differs.
    let refusals = [
        open(Some("slices=5")).and_then(|seen| seen.mark(b"user", &["x"]).map(drop)),
        open(Some("slices=5")).and_then(|seen| seen.unseen(b"user", &["x"]).map(drop)),
        open(Some("slices=5")).and_then(|seen| seen.stats().map(drop)),
        open(Some("slices=5")).and_then(|seen| seen.forget(b"user").map(drop)),
    ];
    for refusal in refusals {
        let error = refusal.unwrap_err();
        let said = error.to_string();
        assert!(said.contains("slices is 8 there and 5 here") && !said.contains("idle"), "{said}");
        let SeenError::Policy { stored, asked } = error else { panic!("{error:?}") };
        assert_eq!((stored.slices(), asked.slices()), (8, 5));
    }
    // Field by field, and nothing is dropped by that.
    let mut seen = open(None).unwrap();
    let changed = seen.set_policy(&"rate=0.01 ids=2000".parse().unwrap()).unwrap();
    assert_eq!(changed.to_string(), "slices=8,ids=2000,rate=0.01,idle=120d,exact=24,owner=1");
    assert_eq!(seen.policy().unwrap(), changed);
    drop(seen);
    assert_eq!(open(None).unwrap().policy().unwrap(), changed);
    let narrow = {
        let mut seen = open(None).unwrap();
        seen.set_policy(&"slices=1".parse().unwrap()).unwrap();
        seen
    };
    assert!(narrow.unseen(b"user", &all).unwrap().is_empty(), "nothing goes at once");
    let nonsense = "ids=0".parse::<PolicyFields>().unwrap();
    drop(narrow);
    assert!(open(None).unwrap().set_policy(&nonsense).is_err());
}

#[test]
fn a_file_keeps_its_policy() {
    let dir = tempfile::tempdir().unwrap();
    is_kept(&|policy| in_file(&dir.path().join("seen.redb"), policy));
}

#[test]
fn a_server_keeps_the_policy_beside_the_lists() {
    let Some(server) = Server::start(&[]) else { return };
    let url = format!("{}?prefix=t:", server.url());
    is_kept(&|policy| on_server(&url, policy));
    // It is no owner's list, and no owner can have its name.
    let seen = on_server(&url, None).unwrap();
    let stats = seen.stats().unwrap();
    assert_eq!((stats.owners, stats.foreign, stats.unreadable), (1, 0, 0));
    for refused in [
        seen.mark(b"mayhap-seen:policy", &["a"]).map(drop),
        seen.unseen(b"mayhap-seen:policy", &["a"]).map(drop),
        seen.forget(b"mayhap-seen:policy").map(drop),
    ] {
        assert!(refused.unwrap_err().to_string().contains("policy"));
    }
    let mut redis = server.connection();
    let stored: String = cmd("GET").arg("t:mayhap-seen:policy").query(&mut redis).unwrap();
    assert_eq!(stored.parse::<Policy>().unwrap(), seen.policy().unwrap());
}

/// What reads stores nothing; lists of the first release, which stored none, go on by the policy of
/// the first who writes.
#[test]
fn who_only_reads_stores_no_policy() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.url();
    let mut redis = server.connection();
    let keys = |redis: &mut mayhap_redis::redis::Connection| -> Vec<String> {
        cmd("KEYS").arg("*").query(redis).unwrap()
    };
    for policy in [None, Some("ids=7")] {
        let seen = on_server(&url, policy).unwrap();
        assert_eq!(seen.unseen(b"user", &["a"]).unwrap().len(), 1);
        assert_eq!(seen.stats().unwrap().owners, 0);
        assert!(!seen.forget(b"user").unwrap());
        assert!(seen.export(b"user").unwrap().is_none());
        assert_eq!(seen.policy().unwrap().ids(), if policy.is_some() { 7 } else { 1000 });
        assert!(keys(&mut redis).is_empty(), "{:?}", keys(&mut redis));
    }
    let writer = on_server(&url, Some("ids=7")).unwrap();
    writer.mark(b"user", &["a"]).unwrap();
    assert_eq!(on_server(&url, None).unwrap().policy().unwrap().ids(), 7);
    cmd("DEL").arg("mayhap-seen:policy").exec(&mut redis).unwrap();
    on_server(&url, None).unwrap().mark(b"user", &["b"]).unwrap();
    let error = on_server(&url, Some("ids=7")).unwrap().mark(b"user", &["c"]).unwrap_err();
    assert!(matches!(error, SeenError::Policy { .. }), "{error}");
}

/// The time is the server's: a machine whose clock is wrong makes no list older.
#[test]
fn a_server_tells_the_time() {
    let Some(server) = Server::start(&[]) else { return };
    let seen = Seen::new(Redis::open(&server.url()).unwrap());
    seen.mark(b"user", &["a"]).unwrap();
    let reader = Seen::new(Redis::open(&server.url()).unwrap());
    assert!(reader.unseen(b"user", &["a"]).unwrap().is_empty());
    let (seconds, _): (u64, u64) = cmd("TIME").query(&mut server.connection()).unwrap();
    for seen in [&seen, &reader] {
        let now = seen.backend().now();
        assert!((seconds - 30..=seconds + 30).contains(&now), "{now} and {seconds}");
    }
}

/// A user who may run nothing but `GET` can ask what was not seen.
#[test]
fn who_may_only_get_can_read() {
    let Some(server) = Server::start(&[]) else { return };
    Seen::new(Redis::open(&server.url()).unwrap()).mark(b"user", &["a"]).unwrap();
    let mut redis = server.connection();
    cmd("ACL").arg(&["SETUSER", "reader", "on", ">word", "~*", "+get"]).exec(&mut redis).unwrap();
    let url = server.url().replace("redis://", "redis://reader:word@");
    let reader = Seen::new(Redis::open(&url).unwrap());
    assert_eq!(reader.unseen(b"user", &["a", "b"]).unwrap(), [&"b"]);
    assert!(reader.mark(b"user", &["b"]).is_err());
}

/// A foreign value under the policy's key is named, with a hint.
#[test]
fn what_is_no_policy_is_named_and_can_be_replaced() {
    let Some(server) = Server::start(&[]) else { return };
    let url = format!("{}?prefix=t:", server.url());
    let mut redis = server.connection();
    on_server(&url, Some("ids=7")).unwrap().mark(b"user", &["a"]).unwrap();
    let key = "t:mayhap-seen:policy";
    let refusals = |url: &str| {
        let open = || on_server(url, None).unwrap();
        [
            open().unseen(b"user", &["a"]).map(drop).unwrap_err(),
            open().mark(b"user", &["a"]).map(drop).unwrap_err(),
            open().forget(b"user").map(drop).unwrap_err(),
            open().policy().map(drop).unwrap_err(),
        ]
        .map(|error| error.to_string())
    };
    for garbage in ["garbage", "ids=0", ""] {
        cmd("SET").arg(key).arg(garbage).exec(&mut redis).unwrap();
        if !garbage.is_empty() {
            for said in refusals(&url) {
                assert!(said.contains(key) && said.contains("DEL"), "{said}");
                assert!(said.contains(&format!("{garbage:?}")), "{said}");
            }
        }
        let policy = on_server(&url, None).unwrap().set_policy(&"ids=7".parse().unwrap()).unwrap();
        assert_eq!(policy, "ids=7".parse().unwrap());
        assert!(
            on_server(&url, Some("ids=7")).unwrap().unseen(b"user", &["a"]).unwrap().is_empty()
        );
    }
    // One field that is none: the others stay as they are.
    cmd("SET").arg(key).arg("slices=8,ids=many,idle=120d,colour=red").exec(&mut redis).unwrap();
    let said = on_server(&url, None).unwrap().policy().unwrap_err().to_string();
    assert!(said.contains("ids=many"), "{said}");
    let policy = on_server(&url, None).unwrap().set_policy(&"ids=7".parse().unwrap()).unwrap();
    assert_eq!(policy, "slices=8,ids=7,idle=120d".parse().unwrap());
    cmd("DEL").arg(key).exec(&mut redis).unwrap();
    cmd("RPUSH").arg(key).arg("x").exec(&mut redis).unwrap();
    let set = |url: &str| on_server(url, None).unwrap().set_policy(&"ids=7".parse().unwrap());
    for said in refusals(&url).into_iter().chain([set(&url).unwrap_err().to_string()]) {
        assert!(said.contains(key) && said.contains("DEL"), "{said}");
        assert!(!said.contains("layout"), "{said}");
    }
    cmd("DEL").arg(key).exec(&mut redis).unwrap();
    set(&url).unwrap();
    // A user who may have all keys but this one.
    let user = ["SETUSER", "narrow", "on", ">word", "~t:user", "+@all"];
    cmd("ACL").arg(&user).exec(&mut redis).unwrap();
    let url = url.replace("redis://", "redis://narrow:word@");
    for said in refusals(&url).into_iter().chain([set(&url).unwrap_err().to_string()]) {
        assert!(said.contains(key) && said.contains("right"), "{said}");
    }
}

/// A file that is opened for reading is not written to, and several may read it.
#[test]
fn who_only_reads_a_file_leaves_it_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("seen.redb");
    let error = Embedded::open_with(&path, embedded::Options::default().read_only()).err().unwrap();
    assert!(error.to_string().contains("seen.redb") && !path.exists(), "{error}");
    in_file(&path, None).unwrap().mark(b"user", &ids(0..5000)).unwrap();
    let before = std::fs::read(&path).unwrap();
    let read = || {
        let options = embedded::Options::default().read_only();
        Seen::new(Embedded::open_with(&path, options).unwrap())
    };
    let readers = [read(), read()];
    for seen in &readers {
        assert!(seen.unseen(b"user", &ids(0..5000)).unwrap().is_empty());
        assert_eq!(seen.stats().unwrap().owners, 1);
        let error = seen.mark(b"user", &["a"]).unwrap_err();
        assert!(error.to_string().contains("reading only"), "{error}");
    }
    assert!(matches!(Embedded::open(&path), Err(SeenError::InUse { .. })));
    drop(readers);
    assert!(std::fs::read(&path).unwrap() == before);
}
