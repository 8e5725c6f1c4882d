//! Concurrency: whatever many clients do at once, no id is lost.

use crate::seed::Seed;
use crate::stores::{KINDS, Kind, Store, is_soak};
use mayhap_seen::Policy;
use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;
use std::time::Instant;

const CLIENTS: usize = 16;
/// Room for all, in many small slices, as each mark of a list of filters rewrites one of them.
fn roomy(rate: &str) -> Policy {
    format!("slices=64,ids={},rate={rate}", marks() * CLIENTS / 40).parse().unwrap()
}

fn open(kind: Kind) -> Option<Store> {
    kind.open(roomy(if kind.is_list() { "0.0001" } else { "0.000001" }))
}

fn marks() -> usize {
    if is_soak() { 10_000 } else { 500 }
}

fn id(client: usize, at: usize) -> String {
    format!("{client}-{at}")
}

/// Each client does its marks, one after another.
fn crowd(mark: impl Fn(usize, usize) -> u64 + Sync) -> u64 {
    std::thread::scope(|scope| {
        let mark = &mark;
        let marking = |client| (0..marks()).map(|at| mark(client, at)).sum::<u64>();
        let clients: Vec<_> =
            (0..CLIENTS).map(|client| scope.spawn(move || marking(client))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    })
}

/// Each client marks ids of its own, one call per id; all must be new and all must be found.
fn all_are_kept(kind: Kind, owner: impl Fn(usize, usize) -> String + Sync) {
    let Some(Store { seen, .. }) = &open(kind) else { return };
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (client, at) in (0..CLIENTS).flat_map(|client| (0..marks()).map(move |at| (client, at))) {
        shown.entry(owner(client, at)).or_default().push(id(client, at));
    }
    let start = Instant::now();
    let new =
        crowd(|client, at| seen.mark(owner(client, at).as_bytes(), &[id(client, at)]).unwrap());
    let all = (CLIENTS * marks()) as u64;
    // At these rates there are a few false positives, hardly ever one in Mayhap's own records.
    let least = all - if kind.is_list() { all / 100 } else { 3 };
    assert!((least..=all).contains(&new), "{kind:?}: {new} of {all} were new");
    for (owner, ids) in &shown {
        let lost = seen.unseen(owner.as_bytes(), ids).unwrap();
        assert!(lost.is_empty(), "{kind:?}: {} of {owner} lost", lost.len());
    }
    let (owners, seconds) = (shown.len(), start.elapsed().as_secs_f64());
    println!("{kind:?}: {all} marks of {owners} owners, none lost, {seconds:.1} s");
}

fn one_owner(_: usize, _: usize) -> String {
    "everybody".to_owned()
}

#[test]
fn a_crowd_on_one_owner_loses_nothing_embedded() {
    all_are_kept(Kind::Embedded, one_owner);
}

#[test]
fn a_crowd_on_one_owner_loses_nothing_on_redis() {
    all_are_kept(Kind::Compact, one_owner);
}

#[test]
fn a_crowd_on_one_owner_loses_nothing_on_valkey() {
    all_are_kept(Kind::CompactOnValkey, one_owner);
}

#[test]
fn a_crowd_on_one_owner_loses_nothing_in_lists_on_redis() {
    all_are_kept(Kind::List, one_owner);
}

#[test]
fn a_crowd_on_one_owner_loses_nothing_in_lists_on_valkey() {
    all_are_kept(Kind::ListOnValkey, one_owner);
}

#[test]
fn a_crowd_on_many_owners_loses_nothing() {
    for kind in KINDS {
        all_are_kept(kind, |client, at| format!("user-{}", (client + at) % 37));
    }
}

/// The control: the same clients, each reading the list, changing it and writing it back.
#[test]
fn read_and_write_back_loses_ids() {
    let policy = roomy("0.0001");
    for store in [Kind::List, Kind::ListOnValkey].into_iter().filter_map(|kind| kind.open(policy)) {
        let (server, seed) = (store.server.as_ref().unwrap(), Seed(policy));
        let links: Vec<_> = (0..CLIENTS).map(|_| Mutex::new(server.connection())).collect();
        let all = crowd(|client, at| {
            let link = &mut *links[client].lock().unwrap();
            seed.set_exposed(link, "t:everybody", &[id(client, at)]);
            1
        });
        let ids: Vec<String> =
            (0..CLIENTS).flat_map(|client| (0..marks()).map(move |at| id(client, at))).collect();
        let lost = store.seen.unseen(b"everybody", &ids).unwrap().len();
        println!("{:?}: {lost} of {all} lost by reading and writing back", store.kind);
        assert!(lost > 0, "the control lost nothing: the crowd was none");
    }
}

#[test]
fn of_a_crowd_that_wants_the_same_each_id_goes_to_one() {
    for store in KINDS.into_iter().filter_map(open) {
        let seen = &store.seen;
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let taken = &taken;
                scope.spawn(move || {
                    for round in 0..20 {
                        let wanted: Vec<String> =
                            (0..10).map(|id| format!("{round}-{id}")).collect();
                        // Lists of filters use compare-and-swap, and every client succeeds in the end.
                        let got = match client % 2 {
                            0 => seen.mark_unseen(b"everybody", &wanted).unwrap(),
                            _ => seen.offer(b"everybody", &wanted, 1000).unwrap(),
                        };
                        taken.lock().unwrap().extend(got.into_iter().cloned());
                    }
                });
            }
        });
        let taken = taken.into_inner().unwrap();
        let distinct: HashSet<&String> = taken.iter().collect();
        assert_eq!(taken.len(), distinct.len(), "{:?}", store.kind);
        let least = if store.kind.is_list() { 198 } else { 200 };
        assert!(taken.len() >= least, "{:?}: {} given out", store.kind, taken.len());
    }
}

#[test]
fn readers_go_on_while_others_write() {
    for store in
        [Kind::Embedded, Kind::Compact].into_iter().filter_map(|k| k.open(Default::default()))
    {
        let seen = &store.seen;
        seen.mark(b"user", &["first"]).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                (0..200).for_each(|n| _ = seen.mark(b"user", &[format!("{n}")]).unwrap());
            });
            let mut reads = 0;
            while !writer.is_finished() || reads == 0 {
                assert!(seen.unseen(b"user", &["first"]).unwrap().is_empty());
                reads += 1;
            }
        });
    }
}
