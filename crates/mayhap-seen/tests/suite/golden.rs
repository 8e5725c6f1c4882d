//! What the first release wrote stays readable. How it was made: testdata/seen/v1/README.md.

use crate::stores::Hands;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_seen::embedded::Options;
use mayhap_seen::{Embedded, Explanation, Policy, Seen, decode, hash_ids};
use std::path::PathBuf;

/// When they were made, about.
const MADE: u64 = 1_794_971_930;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/seen/v1").join(name)
}

fn clock() -> Options {
    let hands = Hands::new();
    Options::default().with_clock({
        let hands = hands.clone();
        std::sync::Arc::new(move || hands.now().min(MADE + 60))
    })
}

fn articles(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|n| format!("article-{n}")).collect()
}

/// The lists of the two stores, however they were opened.
fn look(full: &Seen<Embedded>, window: &Seen<Embedded>) {
    let policy = "slices=5,ids=1000,rate=0.001,idle=never,exact=24,owner=2";
    assert_eq!(full.policy().unwrap().to_string(), policy);
    assert!(full.unseen(b"ada", &articles(0..5000)).unwrap().is_empty());
    let absent_keys = full.unseen(b"ada", &articles(5000..8000)).unwrap().len();
    assert!((2985..3000).contains(&absent_keys), "{absent_keys}");
    assert!(full.unseen(b"bob", &["a", "b", "c", "d", "e"]).unwrap().is_empty());
    assert!(matches!(full.explain(b"bob", b"d").unwrap(), Explanation::Offered { .. }));
    let stats = full.stats_of(b"ada").unwrap().unwrap();
    assert_eq!((stats.slices, stats.bytes), (5, 8690));
    assert!(window.unseen(b"eve", &articles(0..300)).unwrap().is_empty());
    assert_eq!(window.policy().unwrap().every(), Some(30 * 86_400));
    assert_eq!(window.stats_of(b"eve").unwrap().unwrap().slices, 3);
}

#[test]
fn stores_of_the_first_release_are_read_and_written() {
    let [full, window] = ["full.redb", "window.redb"]
        .map(|name| Seen::new(Embedded::open_with(file(name), clock().read_only()).unwrap()));
    look(&full, &window);
    let dir = tempfile::tempdir().unwrap();
    let [full, window] = ["full.redb", "window.redb"].map(|name| {
        let copy = dir.path().join(name);
        std::fs::copy(file(name), &copy).unwrap();
        Seen::new(Embedded::open_with(copy, clock()).unwrap())
    });
    look(&full, &window);
    assert_eq!(full.mark(b"ada", &["new"]).unwrap(), 1);
    assert_eq!(full.mark(b"bob", &["d"]).unwrap(), 1);
    drop(full);
    let full = Seen::new(Embedded::open_with(dir.path().join("full.redb"), clock()).unwrap());
    assert!(full.unseen(b"ada", &articles(1000..5000)).unwrap().is_empty());
    assert!(full.unseen(b"ada", &["new"]).unwrap().is_empty());
    assert!(full.forget(b"ada").unwrap() && !full.forget(b"ada").unwrap());
}

#[test]
fn exports_of_the_first_release_are_imported() {
    let dir = tempfile::tempdir().unwrap();
    let import = |name: &str, policy: &str| {
        let options = clock().with_policy(policy.parse().unwrap());
        let store = Embedded::open_with(dir.path().join(name), options).unwrap();
        let seen = Seen::new(store);
        for line in std::fs::read_to_string(file(name)).unwrap().lines() {
            let field = |name: &str| {
                let start = line.find(&format!("\"{name}\":\"")).unwrap() + name.len() + 4;
                &line[start..start + line[start..].find('"').unwrap()]
            };
            let list = STANDARD.decode(field("list")).unwrap();
            seen.import(field("owner").as_bytes(), &list).unwrap();
        }
        seen
    };
    look(
        &import("full.jsonl", "idle=never,owner=2"),
        &import("window.jsonl", "slices=4,every=30d,ids=50"),
    );
}

/// A record as it lay on a Redis, with all kinds of entries and no body yet.
#[test]
fn records_with_entries_are_read() {
    let record = std::fs::read(file("entries.record")).unwrap();
    let policy: Policy = "idle=never".parse().unwrap();
    let (list, entry_bytes) = decode(&record, &policy, MADE + 60).unwrap();
    assert_eq!(entry_bytes, record.len() - 3);
    let hashes = hash_ids(b"ada", &["a1", "a2", "a3", "a4", "a6", "a5"]);
    assert!(hashes.iter().all(|hash| list.contains(*hash)));
    assert!(hashes[..5].iter().all(|hash| list.is_marked(*hash)) && !list.is_marked(hashes[5]));
    assert_eq!((list.ids(), list.offered()), (5, 1));
}
