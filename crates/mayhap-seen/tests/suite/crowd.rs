//! Many at once: whatever the crowd does, no id is lost.

use crate::stores::{Kind, Store, all, is_soak};
use mayhap_seen::SeenError;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

const CLIENTS: usize = 16;
/// Room for all, at a rate so low that an error here is an error of ours.
const ROOMY: &str = "slices=4,ids=100000,rate=1e-9";

/// The same in many small filters, as each mark rewrites one of them.
fn roomy_lists() -> String {
    format!("slices=64,ids={},rate=0.0001", marks() * CLIENTS / 40)
}

fn stores() -> impl Iterator<Item = Store> {
    let ours = all(ROOMY).filter(|store| !store.kind.is_list());
    ours.chain(
        [Kind::List, Kind::ListOnValkey]
            .into_iter()
            .filter_map(|kind| kind.open(roomy_lists().parse().unwrap())),
    )
}

fn marks() -> usize {
    if is_soak() { 10_000 } else { 500 }
}

/// Each client marks ids of its own, one call an id; all must be new and all must be found.
fn all_are_kept(owner: impl Fn(usize, usize) -> String + Sync) {
    for store in stores() {
        let seen = &store.seen;
        let new: u64 = std::thread::scope(|scope| {
            let client = |client: usize| {
                let owner = &owner;
                scope.spawn(move || {
                    let mark =
                        |at| seen.mark(owner(client, at).as_bytes(), &[format!("{client}-{at}")]);
                    (0..marks()).map(|at| mark(at).unwrap()).sum::<u64>()
                })
            };
            let clients: Vec<_> = (0..CLIENTS).map(client).collect();
            clients.into_iter().map(|client| client.join().unwrap()).sum()
        });
        let all = (CLIENTS * marks()) as u64;
        // Filters take a few new ids for old ones.
        let least = if store.kind.is_list() { all - all / 100 } else { all };
        assert!((least..=all).contains(&new), "{:?}: {new} of {all} were new", store.kind);
        let mut shown: HashMap<String, Vec<String>> = HashMap::new();
        for client in 0..CLIENTS {
            for at in 0..marks() {
                shown.entry(owner(client, at)).or_default().push(format!("{client}-{at}"));
            }
        }
        for (owner, ids) in &shown {
            let lost = seen.unseen(owner.as_bytes(), ids).unwrap();
            assert!(lost.is_empty(), "{:?}: {} of {owner} lost", store.kind, lost.len());
        }
    }
}

#[test]
fn a_crowd_on_one_owner_loses_nothing() {
    all_are_kept(|_, _| "everybody".to_owned());
}

#[test]
fn a_crowd_on_many_owners_loses_nothing() {
    all_are_kept(|client, at| format!("user-{}", (client + at) % 37));
}

#[test]
fn of_a_crowd_that_wants_the_same_each_id_goes_to_one() {
    for store in stores() {
        let seen = &store.seen;
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let taken = &taken;
                scope.spawn(move || {
                    for round in 0..20 {
                        let wanted: Vec<String> =
                            (0..10).map(|id| format!("{round}-{id}")).collect();
                        let take = || match client % 2 {
                            0 => seen.mark_unseen(b"everybody", &wanted),
                            _ => seen.offer(b"everybody", &wanted, 1000),
                        };
                        // Lists of filters compare and set: nothing is done when others were
                        // quicker too often, and the caller is told.
                        let got = std::iter::repeat_with(take)
                            .find(|got| !matches!(got, Err(SeenError::Contended { .. })));
                        let got = got.unwrap().unwrap();
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
