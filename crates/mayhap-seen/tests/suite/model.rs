//! An exact model of what an owner has seen, compared with all stores in random runs.

use crate::stores::{OURS, Store, is_soak};
use mayhap_seen::{List, Operation, Policy, Seconds, decode, encode, entry, hash_ids};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

type Id = u8;

/// One slice: when it began, how many it takes, what it holds.
struct Slice {
    started: Seconds,
    capacity: usize,
    ids: BTreeSet<Id>,
}

pub struct Model {
    policy: Policy,
    slices: Vec<Slice>,
    offers: BTreeMap<Id, Seconds>,
    last_new: Seconds,
}

impl Model {
    pub fn new(policy: Policy) -> Model {
        Model { policy, slices: vec![], offers: BTreeMap::new(), last_new: 0 }
    }

    fn forget_old(&mut self, now: Seconds) {
        self.offers.retain(|_, until| *until > now);
        if self.policy.idle().is_some_and(|idle| now >= self.last_new + idle) {
            self.slices.clear();
        }
        if let Some(every) = self.policy.every() {
            let periods = u64::from(self.policy.slices());
            self.slices.retain(|slice| now / every - slice.started / every < periods);
        }
    }

    fn is_marked(&self, id: Id) -> bool {
        self.slices.iter().any(|slice| slice.ids.contains(&id))
    }

    fn is_seen(&self, id: Id) -> bool {
        self.is_marked(id) || self.offers.contains_key(&id)
    }

    pub fn unseen(&mut self, ids: &[Id], now: Seconds) -> Vec<Id> {
        self.forget_old(now);
        ids.iter().copied().filter(|id| !self.is_seen(*id)).collect()
    }

    /// How many were new.
    pub fn mark(&mut self, ids: &[Id], now: Seconds) -> u64 {
        self.forget_old(now);
        let new: BTreeSet<Id> = ids.iter().copied().filter(|id| !self.is_marked(*id)).collect();
        ids.iter().for_each(|id| self.mark_one(*id, now));
        new.len() as u64
    }

    fn mark_one(&mut self, id: Id, now: Seconds) {
        self.offers.remove(&id);
        let period = |at: Seconds| self.policy.every().map(|every| at / every);
        let current = self.slices.first().filter(|s| period(s.started) == period(now));
        if current.is_some_and(|slice| slice.ids.contains(&id)) {
            return;
        }
        if !self.is_marked(id) {
            self.last_new = now;
        }
        let (is_current, capacity) = current.map_or((false, 0), |s| (true, s.capacity));
        if current.is_none_or(|slice| slice.ids.len() >= slice.capacity) {
            let ids = self.policy.ids() as usize;
            let grown = self.policy.every().is_some() && is_current;
            let capacity = if grown { capacity * 2 } else { ids };
            self.slices.insert(0, Slice { started: now, capacity, ids: BTreeSet::new() });
            if self.policy.every().is_none() {
                self.slices.truncate(self.policy.slices() as usize);
            }
        }
        self.slices[0].ids.insert(id);
    }

    fn once(ids: Vec<Id>) -> Vec<Id> {
        let mut met = BTreeSet::new();
        ids.into_iter().filter(|id| met.insert(*id)).collect()
    }

    pub fn mark_unseen(&mut self, ids: &[Id], now: Seconds) -> Vec<Id> {
        let unseen = Model::once(self.unseen(ids, now));
        self.mark(&unseen, now);
        unseen
    }

    pub fn offer(&mut self, ids: &[Id], ttl: Seconds, now: Seconds) -> Vec<Id> {
        let unseen = Model::once(self.unseen(ids, now));
        // An offer of no time is over at once.
        self.offers.extend(unseen.iter().map(|id| (*id, now + ttl)));
        unseen
    }

    pub fn forget(&mut self) {
        *self = Model::new(self.policy);
    }
}

#[derive(Clone, Debug)]
pub enum Step {
    Turn(Seconds),
    Mark(Vec<Id>),
    MarkUnseen(Vec<Id>),
    Offer(Vec<Id>, Seconds),
    Forget,
    MoveHouse,
}

fn life() -> impl Strategy<Value = Vec<Step>> {
    let ids = || vec(0..60u8, 1..9);
    let step = prop_oneof![
        2 => (0..40u64).prop_map(Step::Turn),
        4 => ids().prop_map(Step::Mark),
        2 => ids().prop_map(Step::MarkUnseen),
        2 => (ids(), 0..30u64).prop_map(|(ids, ttl)| Step::Offer(ids, ttl)),
        1 => Just(Step::Forget),
        1 => Just(Step::MoveHouse),
    ];
    vec(step, 1..60)
}

/// Rates so low that a wrong answer in these tests is a bug.
const POLICIES: [&str; 5] = [
    "slices=3,ids=5,rate=1e-9,idle=100",
    "slices=1,ids=7,rate=1e-9,idle=20,exact=0",
    "slices=5,ids=2,rate=1e-9,idle=never,exact=1",
    "slices=3,every=50,ids=4,rate=1e-9,exact=2",
    "slices=2,every=30,ids=50,rate=1e-9,idle=25",
];

fn named(ids: &[Id]) -> Vec<String> {
    ids.iter().map(|id| format!("id-{id}")).collect()
}

const EVERYTHING: [Id; 60] = {
    let mut all = [0; 60];
    let mut at = 0;
    while at < 60 {
        all[at] = at as Id;
        at += 1;
    }
    all
};

/// One random run in a store and in the model: every answer must be the same.
fn live(store: &Store, owner: &[u8], policy: Policy, life: &[Step]) -> Result<(), TestCaseError> {
    let (seen, mut model) = (&store.seen, Model::new(policy));
    let everything = named(&EVERYTHING);
    seen.forget(owner).unwrap();
    for step in life {
        let now = store.hands.now();
        match step {
            Step::Turn(seconds) => store.hands.turn(*seconds),
            Step::Mark(ids) => {
                prop_assert_eq!(seen.mark(owner, &named(ids)).unwrap(), model.mark(ids, now));
            }
            Step::MarkUnseen(ids) => {
                let names = named(ids);
                let got = seen.mark_unseen(owner, &names).unwrap();
                let want = named(&model.mark_unseen(ids, now));
                prop_assert_eq!(got, want.iter().collect::<Vec<_>>());
            }
            Step::Offer(ids, ttl) => {
                let names = named(ids);
                let got = seen.offer(owner, &names, *ttl).unwrap();
                let want = named(&model.offer(ids, *ttl, now));
                prop_assert_eq!(got, want.iter().collect::<Vec<_>>());
            }
            Step::Forget => {
                seen.forget(owner).unwrap();
                model.forget();
            }
            Step::MoveHouse => {
                if let Some(bytes) = seen.export(owner).unwrap() {
                    seen.forget(owner).unwrap();
                    seen.import(owner, &bytes).unwrap();
                }
            }
        }
        let now = store.hands.now();
        let got = seen.unseen(owner, &everything).unwrap();
        let want = named(&model.unseen(&EVERYTHING, now));
        prop_assert_eq!(got, want.iter().collect::<Vec<_>>(), "after {:?}", step);
    }
    Ok(())
}

fn cases(few: u32) -> ProptestConfig {
    ProptestConfig { cases: if is_soak() { few * 20 } else { few }, ..ProptestConfig::default() }
}

#[test]
fn every_store_lives_as_the_model_does() {
    for kind in OURS {
        for text in POLICIES {
            let policy: Policy = text.parse().unwrap();
            let Some(store) = kind.open(policy) else { continue };
            let mut runner = proptest::test_runner::TestRunner::new(cases(12));
            let outcome = runner.run(&life(), |life| live(&store, b"owner", policy, &life));
            outcome.unwrap_or_else(|failed| panic!("{kind:?}, {text}: {failed}"));
        }
    }
}

proptest! {
    #![proptest_config(cases(200))]

    /// The pure list, as a record with entries and as one without, beside the model.
    #[test]
    fn records_live_as_the_model_does(life in life(), which in 0..POLICIES.len(), folded in 1..6usize) {
        let policy: Policy = POLICIES[which].parse().unwrap();
        let mut model = Model::new(policy);
        let everything = hash_ids(b"owner", &named(&EVERYTHING));
        let (mut now, mut value) = (1_800_000_000, encode(&List::default()));
        for (at, step) in life.iter().enumerate() {
            let operation = match step {
                Step::Turn(seconds) => { now += seconds; None }
                Step::Mark(ids) => { model.mark(ids, now); Some((Operation::Mark, ids)) }
                Step::MarkUnseen(ids) => { model.mark_unseen(ids, now); Some((Operation::MarkUnseen, ids)) }
                Step::Offer(ids, ttl) => {
                    model.offer(ids, *ttl, now);
                    Some((Operation::Offer { ttl: *ttl }, ids))
                }
                Step::Forget => { model.forget(); value = encode(&List::default()); None }
                Step::MoveHouse => None,
            };
            if let Some((operation, ids)) = operation {
                value.extend(entry(&operation, &hash_ids(b"owner", &named(ids)), now));
            }
            let (list, _) = decode(&value, &policy, now).unwrap();
            if at % folded == 0 {
                value = encode(&list);
                prop_assert_eq!(&decode(&value, &policy, now).unwrap().0, &list);
            }
            let unseen = model.unseen(&EVERYTHING, now);
            for (id, hash) in EVERYTHING.iter().zip(&everything) {
                prop_assert_eq!(list.contains(*hash), !unseen.contains(id), "id {} after {:?}", id, step);
            }
            prop_assert!(list.false_positive_rate() <= policy.rate() * 1.000_001);
        }
    }

    #[test]
    fn any_bytes_are_a_list_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        let policy = Policy::default();
        _ = decode(&bytes, &policy, 5);
        let ours = [&[0xb7, 1], bytes.as_slice()].concat();
        _ = decode(&ours, &policy, 5);
    }

    #[test]
    fn no_flip_and_no_cut_goes_unnoticed(ids in vec(any::<u64>(), 1..60), at in any::<prop::sample::Index>(), bit in 0..8u32) {
        let policy = Policy::default();
        let hashes: Vec<_> = ids.iter().map(|id| mayhap::Hash::from_u64(*id)).collect();
        let mut list = List::default();
        list.apply(&Operation::Mark, &hashes, &policy, 1000);
        let mut value = encode(&list);
        value.extend(entry(&Operation::MarkUnseen, &hashes[..1], 1001));
        let mut flipped = value.clone();
        flipped[at.index(value.len())] ^= 1 << bit;
        prop_assert!(decode(&flipped, &policy, 1002).is_err());
        // Cut off just behind the body it is a whole record, of an earlier moment.
        let cut = at.index(value.len());
        prop_assert!(decode(&value[..cut], &policy, 1002).is_err() || cut == encode(&list).len());
    }
}
