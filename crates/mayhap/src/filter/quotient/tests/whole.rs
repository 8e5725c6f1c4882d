//! Growing, shrinking, merging, building at once, and what the whole filter tells.

use super::*;
use crate::{Counting, Secret};
use proptest::collection::vec;
use proptest::prelude::*;

fn hashes(keys: std::ops::Range<u64>) -> Vec<Hash> {
    keys.map(|key| spec().scheme().hash(key)).collect()
}

fn model_of<B: AsRef<[u8]>>(filter: &Quotient<B>) -> Model {
    filter.fingerprints().collect()
}

proptest! {
    #[test]
    fn a_batch_is_a_loop(
        keys in vec(0u64..400, 0..300),
        gone in vec(0u64..400, 0..300),
        grows in any::<bool>(),
    ) {
        let small = Spec::new(20, 0.01).unwrap();
        let new = || {
            let mut filter = Quotient::new(small).unwrap();
            filter.set_auto_grow(grows);
            filter
        };
        let (mut one, mut all, mut told) = (new(), new(), new());
        let keys: Vec<Hash> = keys.iter().map(|key| one.hash(key)).collect();
        let gone: Vec<Hash> = gone.iter().map(|key| one.hash(key)).collect();
        let mut said = vec![true];
        let new: Vec<bool> = keys.iter().map(|hash| one.insert_hash(*hash)).collect();
        prop_assert_eq!(all.insert_batch(&keys), new.iter().filter(|new| **new).count() as u64);
        told.insert_batch_new(&keys, &mut said);
        prop_assert_eq!(&said, &new);
        let removed: Vec<bool> = gone.iter().map(|hash| one.remove_hash(*hash)).collect();
        let count = removed.iter().filter(|removed| **removed).count() as u64;
        prop_assert_eq!(all.remove_batch(&gone), count);
        told.remove_batch_removed(&gone, &mut said);
        prop_assert_eq!(&said, &removed);
        for other in [&all, &told] {
            prop_assert_eq!(other.as_bytes(), one.as_bytes());
            prop_assert_eq!(other.side_bytes(), one.side_bytes());
            prop_assert_eq!(other.keys(), one.keys());
        }
        let asked: Vec<Hash> = (0..400u64).map(|key| one.hash(key)).collect();
        let (mut answers, mut counts) = (vec![true], vec![1]);
        one.contains_batch(&asked, &mut answers);
        one.count_batch(&asked, &mut counts);
        for (i, hash) in asked.iter().enumerate() {
            prop_assert_eq!(answers[i], one.contains_hash(*hash));
            prop_assert_eq!(counts[i], one.count_hash(*hash));
        }
    }

    #[test]
    fn a_union_is_all_inserts_in_one_and_commutes(
        ours in vec(0u64..300, 0..200),
        theirs in vec(0u64..300, 0..200),
    ) {
        let made = |keys: &[u64]| {
            let mut filter = Quotient::new(Spec::new(50, 0.01).unwrap()).unwrap();
            keys.iter().for_each(|key| _ = filter.insert(key));
            filter
        };
        let (mut a, mut b) = (made(&ours), made(&theirs));
        let both = made(&[ours, theirs].concat());
        let old = a.clone();
        a.union(&b).unwrap();
        b.union(&old).unwrap();
        prop_assert_eq!(model_of(&a), model_of(&both));
        prop_assert_eq!(model_of(&b), model_of(&both));
        agrees(&a, &model_of(&both));
    }
}

#[test]
fn batches_past_the_cache_are_loops_too() {
    let all = hashes(0..400_000);
    let mut filter = Quotient::new(Spec::new(300_000, 0.001).unwrap()).unwrap();
    assert!(filter.as_bytes().len() > crate::kernel::CACHED);
    let new = filter.insert_batch(&all[..300_000]);
    assert_eq!((filter.keys(), new), (300_000, filter.distinct_fingerprints()));
    let mut one = Quotient::new(filter.spec()).unwrap();
    all[..300_000].iter().for_each(|hash| _ = one.insert_hash(*hash));
    assert!(one.as_bytes() == filter.as_bytes());
    let mut answers = Vec::new();
    filter.contains_batch(&all, &mut answers);
    assert!(answers[..300_000].iter().all(|answer| *answer));
    assert!(all.iter().zip(&answers).all(|(hash, answer)| one.contains_hash(*hash) == *answer));
    assert_eq!(filter.remove_batch(&all[..300_000]), 300_000);
    assert!(filter.is_empty() && filter.as_bytes().iter().all(|byte| *byte == 0));
}

#[test]
fn growing_and_shrinking_keep_every_key_and_the_rate() {
    let all = hashes(0..5000);
    let mut filter =
        Quotient::from_hashes(Spec::new(5000, 1e-3).unwrap(), &mut all.clone()).unwrap();
    all.iter().take(100).for_each(|hash| _ = filter.insert_batch(&[*hash; 20]));
    let (model, rate, born) = (model_of(&filter), filter.fpr_now(), filter.clone());
    let mut sizes = vec![filter.as_bytes().len()];
    while filter.grow().unwrap() {
        agrees(&filter, &model);
        assert_eq!(filter.fpr_now(), rate);
        assert!(all.iter().all(|hash| filter.contains_hash(*hash)));
        sizes.push(filter.as_bytes().len());
    }
    assert_eq!(filter.shape().remainder_bits, 1);
    assert!(sizes.is_sorted() && sizes.len() == 9, "{sizes:?}");
    while filter.shape() != born.shape() {
        assert!(filter.shrink().unwrap());
        assert_eq!(filter.as_bytes().len(), sizes.pop().map(|_| *sizes.last().unwrap()).unwrap());
    }
    agrees(&filter, &model);
    assert!(filter.as_bytes() == born.as_bytes());
    assert!(!filter.shrink().unwrap(), "full");
    assert!(filter.as_bytes() == born.as_bytes());
    assert_eq!(filter.remove_batch(&all[1000..]), 4000);
    assert!(filter.shrink().unwrap() && filter.shrink().unwrap());
    assert!(all[..1000].iter().all(|hash| filter.contains_hash(*hash)));
}

#[test]
fn inserts_grow_it_and_lose_nothing() {
    let mut filter = Quotient::new(Spec::new(10, 0.001).unwrap()).unwrap();
    let small = filter.as_bytes().len();
    let all = hashes(0..200_000);
    for chunk in all.chunks(777) {
        filter.insert_batch(chunk);
        assert!(filter.load() <= 0.98 || filter.shape().remainder_bits == 1);
    }
    assert!(filter.as_bytes().len() > 10 * small);
    assert_eq!(filter.keys(), 200_000);
    assert!(all.iter().all(|hash| filter.contains_hash(*hash)));
    assert!(filter.fpr_now() > 0.5 && filter.keys_at_fpr() < 300);
    assert_eq!(filter.remove_batch(&all), 200_000);
    assert!(filter.is_empty());
}

#[test]
fn the_rate_holds_after_growing_sixteenfold() {
    let keys = 3000;
    for fpr in [0.0167, 0.01, 1e-3, 1e-5] {
        let spec = Spec::new(keys, fpr).unwrap();
        let mut filter = Quotient::with_growth(spec, 4).unwrap();
        let born = filter.as_bytes().len();
        filter.insert_batch(&hashes(0..16 * keys));
        assert!(filter.as_bytes().len() > 6 * born);
        assert!(filter.fpr_now() <= fpr, "{fpr}: {}", filter.fpr_now());
        assert!(filter.keys_at_fpr() >= 16 * keys);
        let asked = hashes(1 << 40..(1 << 40) + 1_000_000);
        let mut answers = Vec::new();
        filter.contains_batch(&asked, &mut answers);
        let wrong = answers.iter().filter(|yes| **yes).count() as f64;
        let (expected, slack) = (1e6 * filter.fpr_now(), 5.0 * (1e6 * fpr).sqrt());
        assert!((wrong - expected).abs() <= slack, "{fpr}: {wrong}, not {expected}");
    }
}

#[test]
fn too_much_growth_is_refused() {
    let spec = Spec::new(1 << 40, 0.01).unwrap();
    for doublings in [9, 64, u32::MAX] {
        let error = Quotient::with_growth(spec, doublings).unwrap_err();
        assert!(matches!(error, SpecError::Capacity { .. }), "{error}");
    }
    let tight = Spec::new(1000, 1e-12).unwrap();
    assert!(matches!(Quotient::with_growth(tight, 30), Err(SpecError::BelowHash { .. })));
    let shape = QuotientShape { range: 1000, remainder_bits: 49 };
    assert!(matches!(Quotient::with_shape(spec, shape), Err(SpecError::Range { .. })));
    let shape = QuotientShape { range: 1 << 60, remainder_bits: 6 };
    assert!(matches!(Quotient::with_shape(spec, shape), Err(SpecError::Memory { .. })));
}

/// The documented loss: only keys with the identical fingerprint, about one for each wrong remove,
/// where counters lose five times as many.
#[test]
fn removing_absent_keys_loses_no_more_than_their_twins() {
    let (keys, absent) = (200_000, 100_000);
    let spec = Spec::new(keys, 0.01).unwrap();
    let (members, others) = (hashes(0..keys), hashes(1 << 40..(1 << 40) + absent));
    let mut ours = Quotient::new(spec).unwrap();
    let mut counting = Counting::new(spec).unwrap();
    ours.insert_batch(&members);
    counting.insert_batch(&members);
    let rate = ours.fpr_now();
    let accepted = [ours.remove_batch(&others), counting.remove_batch(&others)];
    let lost = [
        members.iter().filter(|hash| !ours.contains_hash(**hash)).count() as u64,
        members.iter().filter(|hash| !counting.contains_hash(**hash)).count() as u64,
    ];
    let expected = rate * absent as f64;
    assert!((accepted[0] as f64 - expected).abs() < 5.0 * expected.sqrt(), "{accepted:?}");
    assert!(lost[0] <= accepted[0], "{lost:?} {accepted:?}");
    assert!(lost[1] > 4 * accepted[1], "{lost:?} {accepted:?}");
    assert_eq!(ours.keys(), keys - accepted[0]);
}

#[test]
fn filters_that_differ_say_in_what() {
    let small = Quotient::new(Spec::new(100, 0.01).unwrap()).unwrap();
    let mut large = Quotient::new(Spec::new(100_000, 0.01).unwrap()).unwrap();
    let before = large.clone();
    let error = large.union(&small).unwrap_err();
    assert_eq!(error.what(), "ranges of fingerprints");
    let secret = Secret::from_bytes([7; 16]);
    let keyed = Quotient::new(Spec::new(100_000, 0.01).unwrap().with_secret(secret)).unwrap();
    assert_eq!(large.union(&keyed).unwrap_err().what(), "hashes");
    let seeded = Quotient::new(Spec::new(100_000, 0.01).unwrap().with_seed(9)).unwrap();
    assert_eq!(large.union(&seeded).unwrap_err().what(), "seeds");
    assert!(large.as_bytes() == before.as_bytes());
}

#[test]
fn filters_of_one_range_merge_whatever_they_have_grown_to() {
    let spec = Spec::new(1000, 0.01).unwrap();
    let mut ours = Quotient::with_growth(spec, 4).unwrap();
    let mut theirs = Quotient::with_growth(spec, 4).unwrap();
    ours.insert_batch(&hashes(0..900));
    theirs.insert_batch(&hashes(500..9000));
    assert_ne!(ours.shape(), theirs.shape());
    let bytes = (theirs.as_bytes().to_vec(), theirs.side_bytes());
    let borrowed =
        Quotient::from_bytes(spec, theirs.shape(), bytes.0.as_slice(), bytes.1.as_slice()).unwrap();
    ours.union(&borrowed).unwrap();
    assert_eq!(ours.keys(), 900 + 8500);
    assert!(hashes(0..9000).iter().all(|hash| ours.contains_hash(*hash)));
    assert!(hashes(500..900).iter().all(|hash| ours.count_hash(*hash) >= 2));
    assert!(ours.capacity() >= ours.table.counts.in_lines);
}

/// As a union does that finds no memory for a new array, and as a file may say that it has.
#[test]
fn any_number_of_copies_goes_in_at_once() {
    let mut filter = fixed(7, 10);
    let (mut model, mut random) = (Model::new(), Random(3));
    for copies in (0..12).chain([1_000_000, 1 << 60]) {
        let fingerprint = random.below(filter.shape().range);
        filter.insert_copies(fingerprint, copies);
        if copies > 0 {
            model.insert(fingerprint, copies);
        }
    }
    agrees(&filter, &model);
    for _ in 0..6 {
        let other = filter.clone();
        filter.union(&other).unwrap();
    }
    assert_eq!(filter.keys(), u64::MAX);
    assert!(filter.insert_batch(&hashes(0..100)) > 90);
    assert!(model.keys().all(|f| filter.remove_hash(hash_of(&filter, *f))));
}

#[test]
fn keyed_filters_need_their_secret() {
    let spec = Spec::new(100, 0.001).unwrap();
    let mut one = Quotient::new(spec.with_secret(Secret::from_bytes([1; 16]))).unwrap();
    let mut other = Quotient::new(spec.with_secret(Secret::from_bytes([2; 16]))).unwrap();
    one.insert("ada");
    other.insert("ada");
    assert!(one.contains("ada") && other.contains("ada"));
    assert!(!model_of(&one).contains_key(&other.fingerprint(other.hash("ada"))));
    assert!(one.scheme().is_keyed());
}

#[test]
fn clearing_forgets_everything_and_it_works_on() {
    let mut filter = Quotient::new(Spec::new(100, 0.01).unwrap()).unwrap();
    (0..100).for_each(|_| _ = filter.insert("hot"));
    filter.insert_batch(&hashes(0..1000));
    filter.clear();
    assert!(filter.is_empty() && filter.side_entries() == 0 && filter.estimate() == 0);
    assert!(!filter.contains("hot"));
    filter.insert_batch(&hashes(0..10_000));
    assert!(hashes(0..10_000).iter().all(|hash| filter.contains_hash(*hash)));
}

#[test]
fn keys_are_told_from_fingerprints() {
    let filter = Quotient::from_hashes(Spec::new(50_000, 0.0167).unwrap(), &mut hashes(0..50_000));
    let filter = filter.unwrap();
    assert!(filter.distinct_fingerprints() < 50_000);
    assert!(filter.estimate().abs_diff(50_000) < 200, "{}", filter.estimate());
    assert!(filter.to_string().starts_with("quotient: 50000 of 500"), "{filter}");
}
