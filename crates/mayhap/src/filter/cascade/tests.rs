use super::*;
use crate::SpecError;
use crate::sizing::{CascadeShape, FirstShape, cascade_bound};
use proptest::prelude::*;
use std::collections::HashSet;
use std::ops::Range;

fn spec(fpr: f64) -> Spec {
    Spec::new(1000, fpr).unwrap()
}

fn hashes(keys: Range<u64>) -> Vec<Hash> {
    keys.map(|key| spec(0.5).scheme().hash(key)).collect()
}

fn made(fpr: f64, options: CascadeOptions, include: Range<u64>, exclude: Range<u64>) -> Cascade {
    Cascade::from_hashes(spec(fpr), options, hashes(include), hashes(exclude)).unwrap()
}

fn yes<B: AsRef<[u8]>>(filter: &Cascade<B>, keys: Range<u64>) -> u64 {
    let mut answers = Vec::new();
    filter.contains_batch(&hashes(keys), &mut answers);
    answers.iter().map(|answer| u64::from(*answer)).sum()
}

/// Both ways to make a first layer.
fn makings() -> [CascadeOptions; 2] {
    [CascadeOptions::default(), CascadeOptions::default().with_blocked()]
}

proptest! {
    /// The promise: zero errors on both lists, whatever they are.
    #[test]
    fn both_lists_are_answered_exactly(
        include in proptest::collection::vec(any::<u16>(), 0..400),
        exclude in proptest::collection::vec(any::<u16>(), 0..400),
        fpr in 1e-6..0.999f64,
        seed: u64,
        blocked: bool,
        max_hashes in 0..500usize,
    ) {
        let spec = Spec::new(1000, fpr)?.with_seed(seed);
        let bad: HashSet<u16> = include.iter().copied().collect();
        let good: Vec<u16> = exclude.iter().filter(|key| !bad.contains(key)).copied().collect();
        let hashes = |keys: &[u16]| keys.iter().map(|key| spec.scheme().hash(key)).collect::<Vec<_>>();
        let (these, those) = (hashes(&include), hashes(&good));
        let options = if blocked { CascadeOptions::default().with_blocked() } else { CascadeOptions::default() };
        let whole = Cascade::from_hashes(spec, options, these.clone(), those.clone()).unwrap();
        let options = options.with_max_hashes(max_hashes);
        let passed = Cascade::build(spec, options, |each| each(&these), |each| each(&those)).unwrap();
        for filter in [whole, passed] {
            prop_assert!(include.iter().all(|key| filter.contains(key)));
            prop_assert!(!good.iter().any(|key| filter.contains(key)));
            prop_assert_eq!(filter.included(), bad.len() as u64);
            prop_assert_eq!(filter.excluded(), good.len() as u64);
        }
    }

    /// A key in both lists is an error that counts and names them, or goes where it is preferred.
    #[test]
    fn keys_in_both_lists_are_found_and_resolved(
        include in proptest::collection::vec(0..300u16, 0..200),
        exclude in proptest::collection::vec(0..300u16, 0..200),
        max_hashes in prop_oneof![Just(0), 0..300usize],
        blocked: bool,
    ) {
        let spec = spec(0.01);
        let hashes = |keys: &[u16]| keys.iter().map(|key| spec.scheme().hash(key)).collect::<Vec<_>>();
        let (these, those) = (hashes(&include), hashes(&exclude));
        let bad: HashSet<u16> = include.iter().copied().collect();
        let good: HashSet<u16> = exclude.iter().copied().collect();
        let both: HashSet<Hash> = hashes(&bad.intersection(&good).copied().collect::<Vec<_>>()).into_iter().collect();
        let options = if blocked { CascadeOptions::default().with_blocked() } else { CascadeOptions::default() };
        let options = options.with_max_hashes(max_hashes);
        let build = |options| Cascade::build(spec, options, |each| each(&these), |each| each(&those));
        match build(options) {
            Ok(filter) => {
                prop_assert!(both.is_empty());
                prop_assert_eq!(filter.in_both(), 0);
            }
            Err(CascadeError::InBoth { keys, first, .. }) => {
                prop_assert_eq!(keys, both.len() as u64);
                prop_assert_eq!(first.len(), both.len());
                prop_assert!(first.iter().all(|hash| both.contains(hash)));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
        for on_conflict in [OnConflict::Include, OnConflict::Exclude] {
            let filter = build(options.with_on_conflict(on_conflict)).unwrap();
            let want = |key: &u16| if on_conflict == OnConflict::Include { bad.contains(key) } else { !good.contains(key) };
            prop_assert!(bad.iter().chain(&good).all(|key| filter.contains(key) == want(key)));
            prop_assert_eq!(filter.in_both(), both.len() as u64);
            prop_assert_eq!(filter.included(), bad.union(&good).filter(|key| want(key)).count() as u64);
        }
    }
}

#[test]
fn tiny_lists_are_lists() {
    for options in makings() {
        for fpr in [0.9, 0.5, 0.01, 1e-6] {
            for (include, exclude) in
                [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (0, 1000), (1, 10_000)]
            {
                let filter = made(fpr, options, 0..include, include..include + exclude);
                assert_eq!(yes(&filter, 0..include), include, "{filter}");
                assert_eq!(yes(&filter, include..include + exclude), 0, "{filter}");
            }
        }
    }
    let nothing = made(0.01, CascadeOptions::default(), 0..0, 0..0);
    assert_eq!((yes(&nothing, 0..10_000), nothing.fpr_now()), (0, 0.0));
}

/// A million against ten in a release build, see `tests/promises.rs`; here a tenth.
#[test]
fn absent_keys_pass_at_the_rate() {
    for options in makings() {
        for fpr in [0.5, 0.25, 0.01, 1.0 / 1024.0] {
            let filter = made(fpr, options, 0..100_000, 100_000..1_100_000);
            assert_eq!((yes(&filter, 0..100_000), yes(&filter, 100_000..1_100_000)), (100_000, 0));
            let asked = 2_000_000;
            let wrong = yes(&filter, 1 << 40..(1 << 40) + asked) as f64 / asked as f64;
            let sigma = (filter.fpr_now() / asked as f64).sqrt();
            assert!(
                (wrong - filter.fpr_now()).abs() < 6.0 * sigma + 0.02 * fpr,
                "{filter}: {wrong}"
            );
            assert!(filter.fpr_now() <= 1.02 * fpr, "{filter}");
        }
    }
}

/// Both layers have the same keys where nothing is excluded: under one seed they would err alike.
#[test]
fn layers_err_independently() {
    for keys in [10, 100, 10_000] {
        let (mut passed, mut wrong) = (0.0, 0.0);
        for seed in 0..30 {
            let spec = spec(0.125).with_seed(seed);
            let filter = Cascade::from_keys(spec.fpr(), 0..keys, [0u64; 0]).unwrap();
            for key in 1 << 40..(1 << 40) + 10_000u64 {
                let (answer, by) = filter.decide(key);
                passed += f64::from(u8::from(by == DecidedBy::Lists));
                wrong += f64::from(u8::from(answer));
            }
        }
        assert!((0.4..0.6).contains(&(wrong / passed)), "{keys} keys: {wrong} of {passed}");
    }
}

#[test]
fn it_is_as_large_as_sizing_says_and_the_bound_allows() {
    let filter = made(0.5, CascadeOptions::default(), 0..1_000_000, 1_000_000..3_500_000);
    let shape = CascadeShape::for_lists(1_000_000, 2_500_000, 0.5).unwrap();
    let bits = filter.bytes() as f64 * 8.0;
    assert!((bits / shape.bits() as f64 - 1.0).abs() < 0.01, "{bits} of {}", shape.bits());
    let bound = cascade_bound(1_000_000, 2_500_000, 0.5);
    assert!(bits / 1e6 < 1.02 * bound, "{bits} of {bound}");
    assert_eq!((yes(&filter, 0..1_000_000), yes(&filter, 1_000_000..3_500_000)), (1_000_000, 0));
    let equal = CascadeShape::for_lists(1_000_000, 1_000_000, 0.5).unwrap();
    assert_eq!(equal.first, FirstShape::None);
}

/// Less memory means more passes, and the same filter.
#[test]
fn bounded_memory_makes_the_same_bytes() {
    let (include, exclude) = (hashes(0..1_200_000), hashes(1_200_000..4_000_000));
    for options in makings() {
        let whole =
            Cascade::from_hashes(spec(0.25), options, include.clone(), exclude.clone()).unwrap();
        assert!(whole.exact().shards() > 1, "{whole}");
        for (max_hashes, most) in [(usize::MAX, [1, 1]), (3_000_000, [1, 2]), (1_000_000, [9, 6])] {
            let mut passes = [0, 0];
            let [these, those] = &mut passes;
            let options = options.with_max_hashes(max_hashes);
            let filter = Cascade::build(
                spec(0.25),
                options,
                |each| {
                    *these += 1;
                    include.chunks(1000).rev().for_each(each);
                },
                |each| {
                    *those += 1;
                    exclude.chunks(777).for_each(each);
                },
            )
            .unwrap();
            assert!(passes[0] <= most[0] && passes[1] <= most[1], "{max_hashes}: {passes:?}");
            assert!(filter.exact().as_bytes() == whole.exact().as_bytes());
            assert_eq!(filter.to_string(), whole.to_string());
        }
    }
}

/// A log as an exclude list: few keys, and each very often, one of them on the include list too.
#[test]
fn a_key_a_million_times_takes_no_room() {
    let (include, one) = (hashes(0..1000), hashes(0..1));
    let options =
        CascadeOptions::default().with_max_hashes(3000).with_on_conflict(OnConflict::Exclude);
    let log = |each: &mut (dyn FnMut(&[Hash]) + Send)| {
        (0..2_000_000 / 500).for_each(|_| each(&one.repeat(500)));
    };
    let filter = Cascade::build(spec(0.01), options, |each| each(&include), log).unwrap();
    assert_eq!((filter.included(), filter.excluded(), filter.in_both()), (999, 2_000_000, 1));
    assert_eq!((yes(&filter, 0..1), yes(&filter, 1..1000)), (0, 999));
}

#[test]
fn lists_that_change_are_an_error() {
    let (mut more, all) = (1000, hashes(0..5000));
    let options = CascadeOptions::default().with_max_hashes(10);
    let exclude = |each: &mut (dyn FnMut(&[Hash]) + Send)| {
        more += 1;
        each(&all[1000..more + 3000]);
    };
    let answer = Cascade::build(spec(0.01), options, |each| each(&all[..1000]), exclude);
    let want = SpecError::Passes { first: 3001, later: 3002 };
    assert_eq!(answer.unwrap_err(), CascadeError::Spec(want));
}

#[test]
fn rates_that_cannot_be_had_are_refused() {
    let error = Cascade::from_keys(spec(1e-11).fpr(), [1u8], [2u8]).unwrap_err();
    assert_eq!(error, CascadeError::Spec(SpecError::Width { got: 1e-11 }));
    let lines = made(1e-11, CascadeOptions::default().with_blocked(), 0..1000, 1000..2000);
    assert!(lines.fpr_now() <= 1.5e-11, "{lines}");
}

#[test]
fn the_stash_has_the_last_word() {
    let mut filter = made(0.01, CascadeOptions::default(), 0..1000, 1000..5000);
    let absent_key = (1 << 40..).find(|key: &u64| !filter.contains(*key)).unwrap();
    assert!(filter.stash_add(absent_key) && !filter.stash_add(absent_key));
    assert!(filter.stash_remove(7u64) && filter.stash_add(4000u64));
    let decided = [absent_key, 7, 4000, 8].map(|key| filter.decide(key));
    let stash = DecidedBy::Stash;
    assert_eq!(decided, [(true, stash), (false, stash), (true, stash), (true, DecidedBy::Lists)]);
    assert_eq!((filter.keys(), filter.included()), (1002, 1000));
    let mut answers = Vec::new();
    filter.contains_batch(&[absent_key, 7, 4000, 8].map(|key| filter.hash(key)), &mut answers);
    assert_eq!(answers, [true, false, true, true]);
    assert!(filter.stash_add(7u64) && filter.contains(7u64));
    assert_eq!(filter.stash().removed(), []);
}

/// Frozen, as for every kind: a changed layer moves this list.
#[test]
fn golden_false_positives() {
    let filter = made(0.01, CascadeOptions::default(), 0..1000, 1000..5000);
    let wrong: Vec<u64> = (5000..).filter(|key: &u64| filter.contains(*key)).take(10).collect();
    assert_eq!(wrong, [5067, 5192, 5401, 5548, 5574, 5589, 6001, 6235, 6253, 6332]);
}

#[test]
fn it_tells_what_it_is() {
    let filter = made(0.01, CascadeOptions::default(), 0..1000, 1000..5000);
    let told = "cascade: 1000 included and 4000 excluded keys, 1159 bytes: a ribbon lets 1.563e-2 pass, one bit for 1073 of both lists, 0 added and 0 removed since, rate 7.813e-3 for strangers, 1.000e-2 asked for";
    assert_eq!(filter.to_string(), told);
    let named = Cascade::from_keys(spec(0.01).fpr(), 0..20u8, 10..30u8).unwrap_err();
    assert!(
        named.to_string().starts_with("10 keys are in both lists (10, 11, 12, …): "),
        "{named}"
    );
    let lists = (["ada", "b\nb", "\u{1}"], ["\u{1}", "ada"]);
    let named = Cascade::from_keys(0.01, lists.0, lists.1).unwrap_err();
    let told = r#"2 keys are in both lists ("ada", "\x01"): take"#;
    assert!(named.to_string().starts_with(told), "{named}");
}
