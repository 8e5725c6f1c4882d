//! What `Counting` promises.

use super::*;
use crate::Secret;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashMap;

fn spec() -> Spec {
    Spec::new(100, 0.01).unwrap()
}

/// A filter of so many counters, whatever the rate.
fn tiny(counters: u64, probes: u32) -> Counting {
    Counting::with_shape(spec(), ClassicShape { bits: counters, probes }).unwrap()
}

fn saturated(filter: &Counting) -> bool {
    (0..filter.shape().bits).any(|at| get(filter.as_bytes(), at) == FULL)
}

proptest! {
    /// The promise, in filters so small that everything collides and saturates.
    #[test]
    fn nothing_present_is_ever_missing(
        counters in 1u64..40,
        probes in 1u32..=64,
        steps in vec((any::<bool>(), 0u8..12), 0..400),
    ) {
        let mut filter = tiny(counters, probes);
        let mut present = HashMap::<u8, u32>::new();
        for (insert, key) in steps {
            let count = present.entry(key).or_default();
            if insert {
                filter.insert(key);
                *count += 1;
            } else if *count > 0 {
                prop_assert!(filter.remove(key));
                *count -= 1;
            }
            for (key, count) in &present {
                prop_assert!(u32::from(filter.count(*key)) >= (*count).min(15));
                prop_assert!(*count == 0 || filter.contains(*key));
            }
        }
        prop_assert_eq!(filter.keys(), present.values().map(|count| u64::from(*count)).sum::<u64>());
    }

    #[test]
    fn removing_what_is_absent_changes_nothing_and_says_so(
        keys in vec(any::<u64>(), 0..60),
        absent_keys in vec(any::<u64>(), 1..60),
    ) {
        let mut filter = Counting::new(spec()).unwrap();
        keys.iter().for_each(|key| _ = filter.insert(key));
        for absent_key in absent_keys {
            if !filter.contains(absent_key) {
                let before = (filter.as_bytes().to_vec(), filter.keys());
                prop_assert!(!filter.remove(absent_key));
                prop_assert_eq!(filter.remove_batch(&[filter.hash(absent_key)]), 0);
                prop_assert_eq!((filter.as_bytes().to_vec(), filter.keys()), before);
            }
        }
    }

    /// Coinciding probes included: 64 of them in as few as 8 counters.
    #[test]
    fn what_was_inserted_can_be_taken_back(
        counters in 8u64..200,
        probes in 1u32..=64,
        before in vec(any::<u16>(), 0..10),
        keys in vec(any::<u16>(), 0..10),
    ) {
        let mut filter = tiny(counters, probes);
        before.iter().for_each(|key| _ = filter.insert(key));
        let bytes = filter.as_bytes().to_vec();
        keys.iter().for_each(|key| _ = filter.insert(key));
        prop_assume!(!saturated(&filter));
        keys.iter().for_each(|key| assert!(filter.remove(key)));
        prop_assert_eq!(filter.as_bytes(), bytes);
    }

    #[test]
    fn a_batch_is_a_loop(
        counters in 1u64..5000,
        probes in 1u32..=20,
        keys in vec(0u64..300, 0..200),
        gone in vec(0u64..300, 0..100),
    ) {
        let (mut one, mut all, mut told) =
            (tiny(counters, probes), tiny(counters, probes), tiny(counters, probes));
        let hashes: Vec<Hash> = keys.iter().map(|key| one.hash(key)).collect();
        let gone: Vec<Hash> = gone.iter().map(|key| one.hash(key)).collect();
        let new: Vec<bool> = hashes.iter().map(|hash| one.insert_hash(*hash)).collect();
        prop_assert_eq!(all.insert_batch(&hashes), new.iter().filter(|new| **new).count() as u64);
        let mut said = vec![true];
        told.insert_batch_new(&hashes, &mut said);
        prop_assert_eq!(said, new);
        let removed = gone.iter().filter(|hash| one.remove_hash(**hash)).count();
        prop_assert_eq!(all.remove_batch(&gone), removed as u64);
        prop_assert_eq!(told.remove_batch(&gone), removed as u64);
        for other in [&all, &told] {
            prop_assert_eq!(other.as_bytes(), one.as_bytes());
            prop_assert_eq!(other.keys(), one.keys());
        }
        let asked: Vec<Hash> = (0..300u64).map(|key| one.hash(key)).collect();
        let mut answers = vec![true];
        one.contains_batch(&asked, &mut answers);
        let want: Vec<bool> = asked.iter().map(|hash| one.contains_hash(*hash)).collect();
        prop_assert_eq!(answers, want);
    }

    #[test]
    fn a_union_is_all_inserts_in_one_and_commutes(
        counters in 1u64..400,
        ours in vec(any::<u8>(), 0..60),
        theirs in vec(any::<u8>(), 0..60),
    ) {
        let made = |keys: &[u8]| {
            let mut filter = tiny(counters, 5);
            keys.iter().for_each(|key| _ = filter.insert(key));
            filter
        };
        let (a, b) = (made(&ours), made(&theirs));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.union(&b).unwrap();
        ba.union(&a).unwrap();
        let want = made(&[ours.clone(), theirs.clone()].concat());
        prop_assert_eq!(ab.as_bytes(), want.as_bytes());
        prop_assert_eq!(ba.as_bytes(), want.as_bytes());
        prop_assert_eq!((ab.keys(), ba.keys()), (want.keys(), want.keys()));
    }

    /// Also when the common keys are removed again, one by one.
    #[test]
    fn an_intersection_keeps_what_is_common(
        counters in 1u64..200,
        ours in vec(0u8..20, 0..60),
        theirs in vec(0u8..20, 0..60),
    ) {
        let (mut a, mut b) = (tiny(counters, 4), tiny(counters, 4));
        ours.iter().for_each(|key| _ = a.insert(key));
        theirs.iter().for_each(|key| _ = b.insert(key));
        a.intersect(&b).unwrap();
        let times = |keys: &[u8], key| keys.iter().filter(|other| **other == key).count();
        let mut common: Vec<u8> = (0..20)
            .flat_map(|key| vec![key; times(&ours, key).min(times(&theirs, key))])
            .collect();
        prop_assert!(common.iter().all(|key| a.contains(key)));
        while let Some(key) = common.pop() {
            prop_assert!(a.remove(key));
            prop_assert!(common.iter().all(|key| a.contains(key)));
        }
    }
}

#[test]
fn a_full_counter_stays_full() {
    let mut filter = tiny(1, 3); // one counter, which every key probes three times
    (0..14u64).for_each(|key| _ = filter.insert(key));
    assert_eq!((filter.count(0u64), filter.as_bytes()), (14, &[14][..]));
    assert!(filter.remove(13u64));
    assert_eq!(filter.count(0u64), 13);
    (13..40u64).for_each(|key| _ = filter.insert(key));
    (0..40u64).for_each(|key| assert!(filter.remove(key)));
    assert_eq!((filter.count(0u64), filter.keys()), (15, 0));
    filter.clear();
    assert_eq!(filter.as_bytes(), [0]);
}

#[test]
fn the_first_counter_is_the_low_half() {
    let mut bytes = [0; 2];
    set(&mut bytes, 0, 1);
    set(&mut bytes, 3, 15);
    assert_eq!(bytes, [0x01, 0xf0]);
    set(&mut bytes, 3, 2);
    assert_eq!((get(&bytes, 0), get(&bytes, 1), get(&bytes, 3)), (1, 0, 2));
}

#[test]
fn unlike_filters_say_what_differs() {
    let mut filter = tiny(64, 4);
    let said = |filter: &mut Counting, other: &Counting| {
        let (union, intersect) = (filter.union(other), filter.intersect(other));
        assert_eq!(union, intersect);
        union.unwrap_err().what()
    };
    assert_eq!(said(&mut filter, &tiny(65, 4)), "counters");
    assert_eq!(said(&mut filter, &tiny(64, 5)), "probes");
    let shape = filter.shape();
    let seeded = Counting::with_shape(spec().with_seed(1), shape).unwrap();
    assert_eq!(said(&mut filter, &seeded), "seeds");
    let keyed = spec().with_secret(Secret::from_bytes([7; 16]));
    assert_eq!(said(&mut filter, &Counting::with_shape(keyed, shape).unwrap()), "hashes");
}

#[test]
fn no_shape_or_bytes_that_do_not_fit_are_accepted() {
    let shape = ClassicShape { bits: 5, probes: 2 };
    let made = |shape, bytes: &'static [u8]| Counting::from_parts(spec(), shape, 0, bytes);
    assert!(made(shape, &[0xff, 0xff, 0x0f]).is_some());
    assert!(made(shape, &[0xff, 0xff, 0x1f]).is_none()); // a sixth counter
    assert!(made(shape, &[0; 2]).is_none());
    assert!(made(shape, &[0; 4]).is_none());
    for (bits, probes) in [(0, 2), (5, 0), (5, 65), (u64::MAX, 2)] {
        assert!(made(ClassicShape { bits, probes }, &[0; 3]).is_none());
        assert!(Counting::with_shape(spec(), ClassicShape { bits, probes }).is_err());
    }
}

#[test]
fn counters_tell_fill_keys_and_rate() {
    let mut filter = Counting::new(Spec::new(10_000, 0.01).unwrap()).unwrap();
    assert_eq!((filter.fill(), filter.estimate(), filter.fpr_now()), (0.0, 0, 0.0));
    (0..10_000u64).for_each(|key| _ = filter.insert(key));
    (0..10_000u64).for_each(|key| _ = filter.insert(key)); // twice is no news to the fill
    assert!((filter.fill() - 0.518).abs() < 0.01, "{}", filter.fill());
    assert!(filter.estimate().abs_diff(10_000) < 200, "{}", filter.estimate());
    assert!((filter.fpr_now() / 0.01 - 1.0).abs() < 0.1, "{}", filter.fpr_now());
    assert!(filter.to_string().starts_with(
        "counting: 20000 of 10000 keys, 47926 bytes, 7 probes in 95851 counters, rate "
    ));
}

/// False positives out of a million absent keys, and how many are expected.
fn false_positives(filter: &mut Counting, keys: u64) -> (f64, f64) {
    const ASKED: u64 = 1_000_000;
    let hashes: Vec<Hash> = (0..keys).map(|key| filter.hash(key)).collect();
    filter.insert_batch(&hashes);
    let absent_keys: Vec<Hash> = (0..ASKED).map(|key| filter.hash(u64::MAX - key)).collect();
    let mut answers = Vec::new();
    filter.contains_batch(&absent_keys, &mut answers);
    let found = answers.iter().filter(|found| **found).count();
    (found as f64, ASKED as f64 * filter.spec().fpr())
}

/// Within five standard deviations and the percent that a whole number of probes may cost.
fn as_promised((found, promised): (f64, f64)) -> bool {
    (found - promised).abs() < 5.0 * promised.sqrt() + 0.01 * promised
}

#[test]
fn the_rate_is_as_promised() {
    for keys in [10_000, 100_000, 1_000_000] {
        for fpr in [0.05, 0.01, 0.001] {
            let mut filter = Counting::new(Spec::new(keys, fpr).unwrap()).unwrap();
            let counted = false_positives(&mut filter, keys);
            assert!(as_promised(counted), "{keys} keys at {fpr}: {counted:?}");
        }
    }
}

/// The control: the bound above notices a sizing that is 10% off, either way.
#[test]
fn a_wrong_size_would_show() {
    for fpr in [0.05, 0.01, 0.001] {
        let spec = Spec::new(100_000, fpr).unwrap();
        let right = ClassicShape::for_fpr(100_000, fpr);
        for bits in [right.bits / 10 * 9, right.bits / 10 * 11] {
            let mut filter = Counting::with_shape(spec, ClassicShape { bits, ..right }).unwrap();
            let counted = false_positives(&mut filter, 100_000);
            assert!(!as_promised(counted), "{fpr} with {bits} counters: {counted:?}");
        }
    }
}

/// A changed hash, probe rule or sizing would move these lists. They were found by a program that
/// shares no code with this one.
#[test]
fn golden_false_positives() {
    let first_ten = |spec: Spec| -> Vec<u64> {
        let mut filter = Counting::new(spec).unwrap();
        (0..1000u64).for_each(|key| _ = filter.insert(key));
        (1000u64..).filter(|key| filter.contains(key)).take(10).collect()
    };
    let spec = Spec::new(1000, 0.01).unwrap();
    let seeded = [1165, 1299, 1417, 1575, 1736, 1830, 1943, 2006, 2020, 2111];
    assert_eq!(first_ten(spec.with_scheme(Native::xxh3(0))), seeded);
    let keyed = [1018, 1141, 1526, 1693, 1696, 1779, 1957, 2024, 2303, 2343];
    assert_eq!(first_ten(spec.with_secret(Secret::from_bytes([7; 16]))), keyed);
}
