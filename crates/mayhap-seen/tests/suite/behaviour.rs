//! What every store must do, one guarantee per test.

use crate::stores::{Kind, all};
use mayhap_seen::{Backend, Explanation, Policy, Seen, SeenError};

fn ids(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|id| format!("article-{id:06}")).collect()
}

#[test]
fn thousands_of_candidates_come_back_in_order() {
    for store in all("") {
        let shown = ids(0..3000);
        let mut new = 0;
        for batch in shown.chunks(250) {
            new += store.seen.mark(b"user", batch).unwrap();
        }
        // At 0.1% there are a few false positives, and no false negatives.
        assert!((2985..=3000).contains(&new), "{:?}: {new} new", store.kind);
        let mut candidates = ids(0..5000);
        candidates.reverse();
        let unseen = store.seen.unseen(b"user", &candidates).unwrap();
        assert!((1980..=2000).contains(&unseen.len()), "{:?}: {}", store.kind, unseen.len());
        assert!(unseen.is_sorted_by(|a, b| a > b));
        assert!(unseen.iter().all(|id| id.as_str() >= "article-003000"));
        assert!(store.seen.unseen(b"user", &shown).unwrap().is_empty());
    }
}

#[test]
fn a_full_list_keeps_the_rate_over_all_slices() {
    for store in all("") {
        store
            .seen
            .mark_many(&ids(0..5000).chunks(1000).map(|c| (&b"user"[..], c)).collect::<Vec<_>>())
            .unwrap();
        let absent_keys = ids(100_000..300_000);
        let unseen = store.seen.unseen(b"user", &absent_keys).unwrap().len();
        let rate = (absent_keys.len() - unseen) as f64 / absent_keys.len() as f64;
        // 200 are expected; 70 more would be five standard deviations. Go programs have the
        // rate for each slice.
        let most = if store.kind.is_list() { 0.0058 } else { 0.00135 };
        assert!(rate < most, "{:?}: {rate}", store.kind);
        assert!(rate > 0.0001, "{:?}: {rate}, the test is blind", store.kind);
    }
}

#[test]
fn bad_calls_are_refused_and_change_nothing() {
    for store in all("") {
        let seen = &store.seen;
        let none: [&str; 0] = [];
        let error = seen.mark(b"", &["a"]).unwrap_err();
        assert_eq!(error, SeenError::Owner { got: 0, need: 1 });
        assert!(seen.unseen(b"", &["a"]).is_err() && seen.forget(b"").is_err());
        for error in [
            seen.mark(b"user", &none).unwrap_err(),
            seen.unseen(b"user", &none).unwrap_err(),
            seen.mark_unseen(b"user", &none).unwrap_err(),
            seen.offer(b"user", &none, 5).unwrap_err(),
        ] {
            assert_eq!(error, SeenError::NoIds);
        }
        assert_eq!(seen.stats().unwrap().owners, 0);
    }
    for store in all("owner=0") {
        assert_eq!(store.seen.mark(b"", &["a"]).unwrap(), 1);
    }
    for store in all("owner=2") {
        let error = store.seen.mark(b"u", &["a"]).unwrap_err();
        assert_eq!(error, SeenError::Owner { got: 1, need: 2 });
    }
    for store in all("") {
        assert_eq!(store.seen.mark(b"u", &["a"]).unwrap(), 1);
    }
}

#[test]
fn owners_and_ids_are_any_bytes() {
    for store in all("") {
        let owners: [&[u8]; 5] =
            [b"\x00\x00", b"\xff\xfe\n", b"a b", "好友".as_bytes(), b"{x}y*[z]?"];
        let ids: [&[u8]; 4] = [b"", b"\x00", b"\xff::\r\n", &[7; 70_000]];
        for owner in owners {
            assert_eq!(store.seen.mark(owner, &ids).unwrap(), 4);
        }
        for owner in owners {
            assert!(store.seen.unseen(owner, &ids).unwrap().is_empty());
            assert_eq!(store.seen.unseen(owner, &[b"other"]).unwrap().len(), 1);
        }
        assert_eq!(store.seen.stats().unwrap().owners, 5);
    }
}

#[test]
fn offers_lapse_and_confirmed_ones_stay() {
    for store in all("") {
        let (seen, hands) = (&store.seen, &store.hands);
        let candidates = ["a", "b", "c", "a"];
        assert_eq!(seen.offer(b"user", &candidates, 60).unwrap(), [&"a", &"b", &"c"]);
        assert!(seen.offer(b"user", &candidates, 60).unwrap().is_empty());
        assert!(seen.mark_unseen(b"user", &candidates).unwrap().is_empty());
        assert_eq!(seen.confirm(b"user", &["b"]).unwrap(), 1);
        let until = hands.now() + 60;
        assert_eq!(seen.explain(b"user", b"a").unwrap(), Explanation::Offered { until });
        assert!(matches!(seen.explain(b"user", b"b").unwrap(), Explanation::Seen { slice: 0, .. }));
        hands.turn(59);
        assert!(seen.unseen(b"user", &candidates).unwrap().is_empty());
        hands.turn(1);
        assert_eq!(seen.unseen(b"user", &candidates).unwrap(), [&"a", &"c", &"a"]);
        // It is never too late to confirm.
        assert_eq!(seen.confirm(b"user", &["c"]).unwrap(), 1);
        assert_eq!(seen.unseen(b"user", &candidates[..3]).unwrap(), [&"a"]);
    }
}

#[test]
fn explanations_tell_slice_and_time() {
    for store in all("slices=3,ids=2,rate=0.001,idle=1d").filter(|store| !store.kind.is_list()) {
        let (seen, hands) = (&store.seen, &store.hands);
        let start = hands.now();
        for batch in [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]] {
            seen.mark(b"user", &batch).unwrap();
            hands.turn(100);
        }
        assert_eq!(
            seen.explain(b"user", b"a").unwrap(),
            Explanation::NotSeen,
            "its slice is dropped"
        );
        let Explanation::Seen { slice, since, before, false_positive_rate } =
            seen.explain(b"user", b"d").unwrap()
        else {
            panic!("{:?}: d is lost", store.kind)
        };
        assert_eq!((slice, since, before), (2, Some(start + 100), Some(start + 200)));
        assert!(false_positive_rate < 0.001);
        hands.turn(86_400);
        assert_eq!(seen.explain(b"user", b"h").unwrap(), Explanation::NotSeen, "idle for a day");
    }
}

#[test]
fn many_owners_go_in_one_call() {
    for store in all("") {
        let names: Vec<String> = (0..300).map(|n| format!("user-{n}")).collect();
        let lists: Vec<Vec<String>> = (0..300).map(|n| ids(n..n + 10)).collect();
        let shown: Vec<(&[u8], &[String])> = names
            .iter()
            .zip(&lists)
            .map(|(name, list)| (name.as_bytes(), list.as_slice()))
            .collect();
        assert_eq!(store.seen.mark_many(&shown).unwrap(), vec![10; 300]);
        let candidates = ids(0..400);
        let asked: Vec<(&[u8], &[String])> =
            names.iter().map(|name| (name.as_bytes(), candidates.as_slice())).collect();
        for (n, unseen) in store.seen.unseen_many(&asked).unwrap().into_iter().enumerate() {
            let want: Vec<&String> = candidates
                .iter()
                .enumerate()
                .filter(|(at, _)| !(n..n + 10).contains(at))
                .map(|(_, id)| id)
                .collect();
            assert_eq!(unseen, want, "{:?}: user {n}", store.kind);
        }
        let stats = store.seen.stats().unwrap();
        assert_eq!((stats.owners, stats.ids), (300, 3000));
    }
}

#[test]
fn lists_move_from_store_to_store() {
    let policy = Policy::default();
    let [Some(here), Some(there)] = [Kind::Embedded.open(policy), Kind::Compact.open(policy)]
    else {
        return;
    };
    let shown = ids(0..2500);
    shown.chunks(100).for_each(|batch| _ = here.seen.mark(b"user", batch).unwrap());
    let bytes = here.seen.export(b"user").unwrap().unwrap();
    there.seen.mark(b"user", &["there"]).unwrap();
    there.seen.import(b"user", &bytes).unwrap();
    there.seen.import(b"user", &bytes).unwrap(); // idempotent
    assert!(there.seen.unseen(b"user", &shown).unwrap().is_empty());
    assert!(there.seen.unseen(b"user", &["there"]).unwrap().is_empty());
    assert_eq!(there.seen.stats_of(b"user").unwrap().unwrap().slices, 4);
    for owner in [&b"user-2"[..], b"user-3"] {
        here.seen.mark(owner, &[owner]).unwrap();
    }
    let exported = |seen: &Seen<Box<dyn Backend>>| {
        let mut lists = vec![];
        let keep = |owner: &[u8], list: Result<Vec<u8>, SeenError>| {
            lists.push((owner.to_vec(), list?));
            Ok(())
        };
        seen.export_all(keep).unwrap();
        lists
    };
    let mut lists = exported(&here.seen);
    let many = |lists: &[(Vec<u8>, Vec<u8>)], seen: &Seen<Box<dyn Backend>>| {
        let lists: Vec<(&[u8], &[u8])> = lists.iter().map(|(o, l)| (&o[..], &l[..])).collect();
        seen.import_many(&lists)
    };
    many(&lists, &there.seen).unwrap();
    let back = exported(&there.seen);
    assert_eq!((lists.len(), back.len()), (3, 3));
    many(&back, &here.seen).unwrap();
    for seen in [&here.seen, &there.seen] {
        assert!(seen.unseen(b"user-3", &[b"user-3"]).unwrap().is_empty());
        assert!(seen.unseen(b"user", &shown).unwrap().is_empty());
    }
    // One that cannot be read, and nothing is done.
    lists.push((b"user-4".to_vec(), b"nonsense".to_vec()));
    lists.insert(0, (b"user-5".to_vec(), lists[1].1.clone()));
    assert!(many(&lists, &here.seen).is_err());
    assert_eq!(here.seen.stats().unwrap().owners, 3);
    assert_eq!(here.seen.export(b"nobody").unwrap(), None);
    let error = there.seen.import(b"user", b"nonsense").unwrap_err();
    assert!(matches!(error, SeenError::Record { .. }), "{error}");
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let Some(store) = Kind::Compact.open(Policy::default()) else { return };
    let mut server = store.server.as_ref().unwrap().connection();
    use mayhap_redis::redis::cmd;
    cmd("SET").arg("t:text").arg("hello").exec(&mut server).unwrap();
    cmd("LPUSH").arg("t:list").arg("hello").exec(&mut server).unwrap();
    for owner in ["text", "list"] {
        for error in [
            store.seen.mark(owner.as_bytes(), &["a"]).unwrap_err(),
            store.seen.unseen(owner.as_bytes(), &["a"]).unwrap_err(),
        ] {
            assert!(!matches!(error, SeenError::Unreachable { .. }), "{error}");
            assert!(
                error.to_string().contains("prefix") || error.to_string().contains("layout"),
                "{error}"
            );
        }
    }
    assert_eq!(cmd("GET").arg("t:text").query::<String>(&mut server).unwrap(), "hello");
    let stats = store.seen.stats().unwrap();
    assert_eq!((stats.owners, stats.foreign, stats.unreadable), (0, 2, 0));
}

#[test]
fn a_server_that_is_away_is_an_error_or_fails_open() {
    let Some(mut store) = Kind::Compact.open(Policy::default()) else { return };
    store.seen.mark(b"user", &["a"]).unwrap();
    store.server.as_mut().unwrap().kill();
    for error in [
        store.seen.mark(b"user", &["b"]).unwrap_err(),
        store.seen.unseen(b"user", &["a"]).unwrap_err(),
    ] {
        assert!(matches!(error, SeenError::Unreachable { .. }), "{error}");
    }
    store.seen = store.seen.with_fail_open(true);
    assert_eq!(store.seen.unseen(b"user", &["a", "b"]).unwrap(), [&"a", &"b"]);
    assert_eq!(store.seen.mark_unseen(b"user", &["a"]).unwrap(), [&"a"]);
    assert_eq!(store.seen.mark(b"user", &["a"]).unwrap(), 0);
    assert_eq!(store.seen.failures(), 3);
    store.server.as_mut().unwrap().revive();
    assert_eq!(store.seen.mark(b"user", &["c"]).unwrap(), 1);
    assert!(store.seen.unseen(b"user", &["c"]).unwrap().is_empty());
}

#[test]
fn keys_on_the_server_expire_by_themselves() {
    let Some(store) = Kind::Compact.open("idle=5d".parse().unwrap()) else { return };
    store.seen.mark(b"user", &["a"]).unwrap();
    let mut server = store.server.as_ref().unwrap().connection();
    let ttl: i64 = mayhap_redis::redis::cmd("TTL").arg("t:user").query(&mut server).unwrap();
    assert!((5 * 86_400 - 60..=5 * 86_400).contains(&ttl), "{ttl}");
}

#[test]
fn marks_do_not_shorten_offers() {
    for store in all("idle=1h").filter(|store| store.server.is_some()) {
        store.seen.offer(b"user", &["a"], 6 * 86_400).unwrap();
        store.seen.mark(b"user", &["b"]).unwrap();
        let mut server = store.server.as_ref().unwrap().connection();
        let key = if store.kind.is_list() { "{t:user}:offered" } else { "t:user" };
        let ttl: i64 = mayhap_redis::redis::cmd("TTL").arg(key).query(&mut server).unwrap();
        assert!(ttl > 5 * 86_400, "{:?}: the key lives for {ttl} s", store.kind);
        store.hands.turn(5 * 86_400);
        assert!(store.seen.unseen(b"user", &["a"]).unwrap().is_empty(), "{:?}", store.kind);
    }
}

#[test]
fn imports_do_not_shorten_offers() {
    let Some(store) = Kind::Compact.open("idle=1h".parse().unwrap()) else { return };
    store.seen.offer(b"user", &["a"], 6 * 86_400).unwrap();
    let exported = store.seen.export(b"user").unwrap().unwrap();
    store.seen.forget(b"user").unwrap();
    store.seen.import(b"user", &exported).unwrap();
    let mut server = store.server.as_ref().unwrap().connection();
    let ttl: i64 = mayhap_redis::redis::cmd("TTL").arg("t:user").query(&mut server).unwrap();
    assert!(ttl > 5 * 86_400, "the key lives for {ttl} s");
}

#[test]
fn what_cannot_be_read_is_told_and_does_not_grow() {
    let Some(store) = Kind::Compact.open(Policy::default()) else { return };
    let mut server = store.server.as_ref().unwrap().connection();
    use mayhap_redis::redis::cmd;
    for owner in [&b"good"[..], b"bad"] {
        store.seen.mark(owner, &["a", "b"]).unwrap();
    }
    let mut record: Vec<u8> = cmd("GET").arg("t:bad").query(&mut server).unwrap();
    record[12] ^= 1;
    cmd("SET").arg("t:bad").arg(&record).exec(&mut server).unwrap();
    for _ in 0..3 {
        assert!(matches!(store.seen.mark(b"bad", &["c"]), Err(SeenError::Record { .. })));
    }
    let after: Vec<u8> = cmd("GET").arg("t:bad").query(&mut server).unwrap();
    assert!(after == record, "a record that cannot be read has grown");
    let stats = store.seen.stats().unwrap();
    assert_eq!((stats.owners, stats.unreadable, stats.foreign), (1, 1, 0));
    let (mut read, mut unread) = (0, 0);
    let count = |_: &[u8], list: Result<Vec<u8>, SeenError>| {
        *(if list.is_ok() { &mut read } else { &mut unread }) += 1;
        Ok(())
    };
    store.seen.export_all(count).unwrap();
    assert_eq!((read, unread), (1, 1));
    assert!(store.seen.forget(b"bad").unwrap());
}

/// A period may take many slices: none of the window's periods is forgotten for it.
#[test]
fn windows_of_many_slices_forget_nothing_early() {
    for store in all("slices=59,every=1s,ids=1").filter(|store| !store.kind.is_list()) {
        let mut all = vec![];
        for second in 0..58u32 {
            let ids = ids(second * 10..second * 10 + 7);
            store.seen.mark(b"user", &ids).unwrap();
            all.extend(ids);
            assert!(store.seen.unseen(b"user", &all).unwrap().is_empty(), "{second} s");
            store.hands.turn(1);
        }
        assert!(store.seen.stats_of(b"user").unwrap().unwrap().slices > 64, "the test is blind");
        let copy = store.seen.export(b"user").unwrap().unwrap();
        store.seen.import(b"user", &copy).unwrap();
        assert!(store.seen.unseen(b"user", &all).unwrap().is_empty());
    }
}
