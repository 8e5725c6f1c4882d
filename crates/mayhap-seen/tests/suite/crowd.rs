//! Many at once: whatever the crowd does, no id is lost.

use crate::stores::{Kind, Store, all, is_soak};
use std::collections::HashSet;
use std::sync::Mutex;

const CLIENTS: usize = 16;
/// Room for all, at a rate so low that an error here is an error of ours.
const ROOMY: &str = "slices=4,ids=100000,rate=1e-9";

/// A filter for so many in each element makes the list layout slow: `lists.rs` has its crowd.
fn stores() -> impl Iterator<Item = Store> {
    all(ROOMY).filter(|store| store.kind != Kind::List)
}

fn marks() -> usize {
    if is_soak() { 10_000 } else { 250 }
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
        assert_eq!(new, (CLIENTS * marks()) as u64, "{:?}", store.kind);
        for client in 0..CLIENTS {
            for at in 0..marks() {
                let id = [format!("{client}-{at}")];
                let unseen = seen.unseen(owner(client, at).as_bytes(), &id).unwrap();
                assert!(unseen.is_empty(), "{:?}: {client}-{at} is lost", store.kind);
            }
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
                        let got = match client % 2 {
                            0 => seen.mark_unseen(b"everybody", &wanted),
                            _ => seen.offer(b"everybody", &wanted, 1000),
                        };
                        taken.lock().unwrap().extend(got.unwrap().into_iter().cloned());
                    }
                });
            }
        });
        let taken = taken.into_inner().unwrap();
        let distinct: HashSet<&String> = taken.iter().collect();
        assert_eq!((taken.len(), distinct.len()), (200, 200), "{:?}", store.kind);
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
