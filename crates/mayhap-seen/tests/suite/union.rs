//! Merging lists, and so importing them, is a union.

use mayhap_seen::{
    Embedded, List, Operation, Policy, Seconds, Seen, decode, embedded, encode, hash_ids,
};
use proptest::collection::vec;
use proptest::prelude::*;

const OWNER: &[u8] = b"owner";
const START: Seconds = 1_800_000_000;

/// Rates so low that a wrong answer in these tests is a bug.
const POLICIES: [&str; 4] = [
    "slices=3,ids=5,rate=1e-9,idle=never",
    "slices=2,ids=3,rate=1e-9,idle=never,exact=0",
    "slices=5,ids=40,rate=1e-9,idle=1000,exact=6",
    "slices=4,every=50,ids=4,rate=1e-9,exact=2",
];

/// Marks and offers, and how long after the one before.
type Life = Vec<(Seconds, Option<Seconds>, Vec<u8>)>;

fn life() -> impl Strategy<Value = Life> {
    let ttl = prop_oneof![3 => Just(None), 1 => (1..99u64).prop_map(Some)];
    vec((0..9u64, ttl, vec(0..90u8, 1..12)), 0..12)
}

fn live(list: &mut List, now: &mut Seconds, life: &Life, policy: &Policy) {
    for (later, ttl, ids) in life {
        *now += later;
        let operation = ttl.map_or(Operation::Mark, |ttl| Operation::Offer { ttl });
        list.apply(&operation, &hashes(ids.iter().copied()), policy, *now);
    }
}

fn hashes(ids: impl Iterator<Item = u8>) -> Vec<mayhap::Hash> {
    hash_ids(OWNER, &ids.map(|id| format!("id-{id}")).collect::<Vec<_>>())
}

fn known(list: &List) -> Vec<bool> {
    hashes(0..90).into_iter().map(|hash| list.contains(hash)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Two stores that have something in common, and then each its own life.
    #[test]
    fn merging_is_a_union(
        common in life(), mine in life(), theirs in life(), which in 0..POLICIES.len(),
    ) {
        let policy: Policy = POLICIES[which].parse().unwrap();
        let mut base = List::default();
        let mut then = START;
        live(&mut base, &mut then, &common, &policy);
        let (mut a, mut b) = (base.clone(), base.clone());
        let (mut now, mut their_now) = (then, then);
        live(&mut a, &mut now, &mine, &policy);
        live(&mut b, &mut their_now, &theirs, &policy);
        let now = now.max(their_now);
        for list in [&mut base, &mut a, &mut b] {
            list.forget_old(&policy, now);
        }

        let merged = |into: &List, other: &List| {
            let mut list = into.clone();
            list.merge(other.clone(), &policy, now);
            list
        };
        let ab = merged(&a, &b);
        // Nothing is forgotten that either knew, nor is anything known that none knew.
        for (both, (a, b)) in known(&ab).into_iter().zip(known(&a).into_iter().zip(known(&b))) {
            prop_assert_eq!(both, a || b);
        }
        // It does not matter which is merged into which, nor how often.
        prop_assert_eq!(known(&ab), known(&merged(&b, &a)));
        prop_assert_eq!(encode(&merged(&ab, &b)), encode(&ab));
        prop_assert_eq!(encode(&merged(&ab, &a)), encode(&ab));
        prop_assert_eq!(encode(&merged(&a, &a)), encode(&a));
        prop_assert_eq!(encode(&merged(&List::default(), &a)), encode(&a));
        prop_assert!(ab.slices() <= a.slices() + b.slices() && ab.ids() <= a.ids() + b.ids());
        // An older state takes nothing away.
        let with_old = merged(&a, &base);
        for (after, before) in known(&with_old).into_iter().zip(known(&a)) {
            prop_assert!(after || !before);
        }
        // What is written is what is read.
        let (read, _) = decode(&encode(&ab), &policy, now).unwrap();
        prop_assert_eq!(known(&read), known(&ab));
    }
}

/// The way it was found: a list goes on, and an older export comes back, again and again.
#[test]
fn an_older_export_takes_nothing_away() {
    let dir = tempfile::tempdir().unwrap();
    let hands = crate::stores::Hands::new();
    let options = embedded::Options::default().with_clock(hands.clock());
    let seen = Seen::new(Embedded::open_with(dir.path().join("s.redb"), options).unwrap());
    let ids: Vec<String> = (0..4900).map(|n| format!("id-{n}")).collect();
    let mut exports = vec![];
    for page in ids.chunks(700) {
        seen.mark(OWNER, page).unwrap();
        exports.push(seen.export(OWNER).unwrap().unwrap());
        hands.turn(60);
    }
    let known = || ids.len() - seen.unseen(OWNER, &ids).unwrap().len();
    let before = (known(), seen.stats_of(OWNER).unwrap().unwrap());
    assert!(before.0 > 4890);
    for export in exports.iter().rev().chain(&exports) {
        seen.import(OWNER, export).unwrap();
        assert_eq!((known(), seen.stats_of(OWNER).unwrap().unwrap()), before);
    }
    // Lists that have nothing in common are both kept, and make room as new ids come.
    let other = Seen::new(Embedded::open(dir.path().join("other.redb")).unwrap());
    let others: Vec<String> = (0..4900).map(|n| format!("other-{n}")).collect();
    hands.turn(1);
    let options = embedded::Options::default().with_clock(hands.clock());
    drop(other);
    let other = Seen::new(Embedded::open_with(dir.path().join("other.redb"), options).unwrap());
    other.mark(OWNER, &others).unwrap();
    seen.import(OWNER, &other.export(OWNER).unwrap().unwrap()).unwrap();
    assert!(seen.unseen(OWNER, &ids).unwrap().is_empty());
    assert!(seen.unseen(OWNER, &others).unwrap().is_empty());
    hands.turn(1);
    seen.mark(OWNER, &["one more"]).unwrap();
    assert!(seen.unseen(OWNER, &ids).unwrap().is_empty(), "there was room in the newest slice");
    let more: Vec<String> = (0..9000).map(|n| format!("more-{n}")).collect();
    for page in more.chunks(500) {
        seen.mark(OWNER, page).unwrap();
        let newest = seen.stats_of(OWNER).unwrap().unwrap();
        assert!(newest.slices >= 5, "{newest:?}");
    }
    assert_eq!(seen.stats_of(OWNER).unwrap().unwrap().slices, 5, "as the policy has it again");
}
