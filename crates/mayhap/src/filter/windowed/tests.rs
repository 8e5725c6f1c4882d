use super::*;
use crate::Contains;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

/// So low that a test which meets a false positive may call it a bug.
const NEVER: f64 = 1e-10;

fn filter(capacity: u64, fpr: f64, seed: u64, window: Window) -> Windowed {
    Windowed::new(Spec::new(capacity, fpr).unwrap().with_seed(seed), window).unwrap()
}

/// False positives among this many absent keys.
fn false_positives(filter: &Windowed, count: u64, now: u64) -> u64 {
    let hashes: Vec<_> = (1 << 40..(1 << 40) + count).map(|key| filter.hash(key)).collect();
    let mut answers = Vec::new();
    filter.contains_batch(&hashes, now, &mut answers);
    answers.iter().map(|hit| u64::from(*hit)).sum()
}

/// Moves when the hash, the probes or the sizes of generations do.
#[test]
fn golden_false_positives() {
    let wrong = |scheme| -> Vec<u64> {
        let spec = Spec::new(100, 0.01).unwrap().with_scheme(scheme);
        let mut filter = Windowed::new(spec, Window::last_keys(4)).unwrap();
        (0..1000u64).for_each(|key| _ = filter.insert(key, 0));
        (1000..).filter(|key| filter.contains(*key, 0)).take(10).collect()
    };
    let first = [3021, 5829, 6865, 7087, 7563, 7621, 7929, 7930, 8518, 9196];
    assert_eq!(wrong(Native::xxh3(0)), first);
    let second = [1800, 1946, 2172, 2266, 3571, 3687, 3998, 4348, 4693, 7474];
    assert_eq!(wrong(Native::columns(0)), second);
}

#[test]
fn windows_that_are_none_are_refused() {
    let spec = Spec::new(100, 0.01).unwrap();
    for window in [
        Window::last_keys(0),
        Window::last_keys(1025),
        Window::last_keys(u32::MAX),
        Window::span(0, 4),
        Window::span(3, 4), // a generation of less than a tick
        Window::span(100, 0),
        Window::span(u64::MAX, 1025),
    ] {
        let (generations, span) = (window.generations(), window.ticks().unwrap_or(0));
        let want = SpecError::Window { generations, span };
        assert_eq!(Windowed::new(spec, window).unwrap_err(), want);
    }
    assert!(Windowed::new(spec, Window::span(4, 4)).is_ok());
    assert!(Windowed::new(spec, Window::last_keys(1024)).is_ok());
    assert!(Windowed::new(spec, Window::span(u64::MAX, 1024)).is_ok());
}

#[test]
fn the_rate_holds_over_all_generations_at_full_load() {
    for (window, fpr) in [
        (Window::last_keys(1), 0.01),
        (Window::last_keys(8), 0.01),
        (Window::span(1000, 4), 0.01),
        (Window::span(1000, 16), 0.05),
    ] {
        let (capacity, generations) = (20_000, u64::from(window.generations()));
        let (each, seeds, asked) = (capacity / generations, 6, 250_000);
        let mut hits = 0;
        for seed in 0..seeds {
            let mut filter = filter(capacity, fpr, seed, window);
            let mut now = 0;
            for step in 0..5 * (generations + 1) {
                now = (step * 1000).div_ceil(generations);
                let hashes: Vec<_> =
                    (step * each..(step + 1) * each).map(|key| filter.hash(key)).collect();
                filter.insert_batch(&hashes, now);
            }
            // All generations are as good as full, one of them on its way out.
            let full = each * (generations + 1);
            assert_eq!(filter.most_layers(), 1);
            assert!(filter.keys(now) > full * 97 / 100, "{filter}");
            assert!(filter.fpr_now(now) < 1.05 * fpr, "{filter}");
            let estimate = filter.estimate(now);
            assert!((full * 97 / 100..full * 102 / 100).contains(&estimate), "{estimate}");
            hits += false_positives(&filter, asked, now);
        }
        let expected = fpr * (seeds * asked) as f64;
        assert!((hits as f64) < expected + 5.0 * expected.sqrt(), "{window}: {hits}");
        // Generations of time keep a part of their rate for bursts, and room.
        let least = if window.ticks().is_some() { 0.5 } else { 0.8 };
        assert!((hits as f64) > least * expected, "{window}: {hits} of {expected}");
    }
}

/// Whatever share of a window's keys comes at once, and whichever generations that is in.
#[test]
fn the_rate_holds_however_keys_arrive() {
    let (capacity, fpr, asked) = (20_000u64, 0.01, 200_000);
    for generations in [1u32, 4, 10, 100] {
        let window = Window::span(100_000, generations);
        let even = filter(capacity, fpr, 0, window).bytes();
        // All at once; half at once and half evenly; all at once, and again when the first are
        // just out of the window, but not yet forgotten.
        for (name, arrivals) in [
            ("at once", vec![(0u64, capacity)]),
            ("half", (0..50).map(|i| (i * 1000, if i == 25 { 10_000 } else { 200 })).collect()),
            ("twice", vec![(0, capacity), (100_001, capacity)]),
            ("in pairs", (0..20).map(|i| (i * 50_001, capacity / 2)).collect()),
        ] {
            let mut filter = filter(capacity, fpr, 3, window);
            let (mut key, mut now) = (0u64, 0);
            for (at, count) in arrivals {
                now = 1_000_000 + at;
                let hashes: Vec<_> = (key..key + count).map(|key| filter.hash(key)).collect();
                key += count;
                filter.insert_batch(&hashes, now);
                let mut answers = Vec::new();
                filter.contains_batch(&hashes, now, &mut answers);
                assert!(answers.iter().all(|found| *found), "{name}: a key is missing");
                assert!(filter.fpr_now(now) <= 1.02 * fpr, "{generations} {name}: {filter}");
            }
            let hits = false_positives(&filter, asked, now) as f64;
            let expected = fpr * asked as f64;
            assert!(hits < expected + 5.0 * expected.sqrt(), "{generations} {name}: {hits}");
            assert!(filter.bytes() < 5 * even, "{generations} {name}: {filter}");
            // What a burst cost is given back.
            filter.advance(now + 300_000);
            assert_eq!(filter.bytes(), even, "{generations} {name}");
        }
    }
}

#[test]
fn past_its_capacity_the_rate_climbs_and_memory_does_not() {
    let mut filter = filter(1000, 0.01, 0, Window::span(100, 4));
    let hashes: Vec<_> = (0..100_000u64).map(|key| filter.hash(key)).collect();
    filter.insert_batch(&hashes[..1000], 5);
    let full = filter.bytes();
    assert_eq!((filter.most_layers(), filter.remaining_before_growth()), (3, u64::MAX));
    assert!(filter.fpr_now(5) <= 0.01);
    filter.insert_batch(&hashes, 5);
    assert_eq!((filter.bytes(), filter.next_layer()), (full, None));
    assert!(filter.fpr_now(5) > 0.5);
    assert!(hashes.iter().all(|hash| filter.contains_hash(*hash, 5)));
}

#[test]
fn the_next_layer_of_a_burst_is_known_beforehand() {
    let mut timed = filter(1000, 0.01, 0, Window::span(100, 4));
    let mut key = 0u64;
    for layers in 1..MAX_GENERATION_LAYERS {
        while timed.remaining_before_growth() > 0 {
            timed.insert(key, 5);
            key += 1;
        }
        assert_eq!(timed.most_layers(), layers);
        let (next, before) = (timed.next_layer().unwrap(), timed.bytes());
        timed.try_grow().unwrap();
        assert_eq!(timed.bytes() - before, next.shape.bits() / 8);
        assert_eq!(timed.remaining_before_growth() == u64::MAX, layers == 2);
    }
    let mut counted = filter(1000, 0.01, 0, Window::last_keys(4));
    (0..5000u64).for_each(|key| _ = counted.insert(key, 0));
    assert_eq!((counted.most_layers(), counted.remaining_before_growth()), (1, u64::MAX));
    counted.try_grow().unwrap();
    assert_eq!(counted.most_layers(), 1);
}

#[test]
fn bursts_merge_by_time_and_do_not_intersect() {
    let window = Window::span(100, 4);
    let spec = |keys: std::ops::Range<u64>, now| {
        let mut made = filter(1000, 0.01, 0, window);
        keys.for_each(|key| _ = made.insert(key, now));
        made
    };
    let (burst, few) = (spec(0..900, 5), spec(2000..2100, 40));
    for (mut ours, theirs) in [(burst.clone(), &few), (few.clone(), &burst)] {
        ours.union(theirs).unwrap();
        assert!((0..900).chain(2000..2100).all(|key| ours.contains(key, 45)));
        assert!((0..900).filter(|key| ours.contains(*key, 130)).count() < 40);
        assert_eq!(ours.most_layers(), 3);
        let error = ours.intersect(theirs).unwrap_err();
        assert!(error.what().starts_with("layers of a generation"), "{error}");
    }
    let mut both = burst.clone();
    both.union(&spec(3000..3900, 5)).unwrap();
    assert!((0..900).chain(3000..3900).all(|key| both.contains(key, 5)));
}

#[test]
fn clocks_that_jump_are_noticed_and_heal() {
    let window = Window::span(100, 4);
    let mut seen = filter(1000, NEVER, 0, window);
    assert_eq!(seen.check_clock(1u64 << 50), Ok(())); // nothing to lose
    seen.insert("ada", 10_000);
    for fine in [9_900, 9_999, 10_000, 10_100, 10_124] {
        assert_eq!(seen.check_clock(fine), Ok(()), "{fine}");
    }
    let on = seen.check_clock(10_125).unwrap_err();
    let back = seen.check_clock(9_899).unwrap_err();
    assert_eq!((on.is_back(), back.is_back()), (false, true));
    assert_eq!(
        back.to_string(),
        "the clock went back by 101 ticks, from 10000 to 9899: more than the 100 that the window spans"
    );
    // Ten years ahead for one key.
    seen.insert("eve", 10_000_000);
    assert!(!seen.contains("ada", 0) && seen.contains("eve", 0));
    for now in 10_001..10_200 {
        seen.insert(now, now);
    }
    assert!(!seen.contains("eve", 10_199), "remembered for good");
    assert!((10_100..10_200).all(|key: u64| seen.contains(key, 10_199)));
    assert!(!seen.contains(10_010u64, 10_199));
    // A step of less than the window stands still.
    seen.insert("bob", 10_120);
    assert!(seen.contains("bob", 10_299) && seen.contains(10_150u64, 10_199));
    // Put right by hand, and nothing is lost.
    seen.set_clock(500);
    assert!(seen.contains("bob", 500) && !seen.contains("bob", 626));
    let mut counted = filter(100, NEVER, 0, Window::last_keys(4));
    counted.insert("ada", 5);
    counted.set_clock(1u64 << 60);
    assert_eq!(counted.check_clock(u64::MAX), Ok(()));
    counted.insert("eve", u64::MAX);
    assert!(counted.contains("ada", 0) && counted.contains("eve", 0));
}

#[test]
fn asking_forgets_without_advancing() {
    let mut filter = filter(100, NEVER, 0, Window::span(100, 4));
    filter.insert("ada", 1000);
    assert!(filter.contains("ada", 1000) && filter.contains("ada", 1100));
    assert!(filter.contains("ada", 1124));
    assert!(!filter.contains("ada", 1125) && !filter.contains("ada", u64::MAX));
    assert_eq!((filter.keys(1125), filter.fill(1125)), (0, 0.0));
    assert_eq!((filter.estimate(1125), filter.fpr_now(1125)), (0, 0.0));
    // Asking changed nothing; a clock that went back stands still.
    assert!(filter.contains("ada", 0));
    assert!(Contains::contains(&filter, "ada"));
    filter.advance(1125);
    assert!(!filter.contains("ada", 1000));
    assert!(!Contains::contains(&filter, "ada"));
}

#[test]
fn a_key_inserted_again_is_remembered_anew() {
    let mut filter = filter(100, NEVER, 0, Window::span(100, 4));
    assert!(filter.insert("ada", 0));
    assert!(!filter.insert("ada", 90));
    assert!(filter.contains("ada", 190));
    assert!(!filter.contains("ada", 215));
    assert!(filter.insert("ada", 215));
}

#[test]
fn hot_keys_push_nothing_out() {
    let mut filter = filter(100, NEVER, 0, Window::last_keys(4));
    filter.insert("ada", 0);
    (0..10_000).for_each(|_| _ = filter.insert("eve", 0));
    assert!(filter.contains("ada", 0));
    assert_eq!(filter.oldest(0), 2);
}

#[test]
fn it_says_how_old_the_oldest_answer_can_be() {
    let mut filter = filter(100, NEVER, 0, Window::span(100, 4));
    assert_eq!(filter.oldest(77), 0);
    filter.insert("ada", 1010); // in the generation of 1000 to 1024
    assert_eq!(filter.oldest(1010), 10);
    assert_eq!(filter.oldest(1124), 124);
    assert_eq!(filter.oldest(1125), 0);
    assert_eq!(filter.oldest(0), 0); // the clock stands at 1000
    filter.insert("eve", 1060);
    assert_eq!((filter.oldest(1060), filter.oldest(1130)), (60, 80));
}

#[test]
fn clocks_may_jump_and_go_back() {
    for window in [Window::span(1, 1), Window::span(1000, 7), Window::span(u64::MAX, 1024)] {
        let mut filter = filter(10, NEVER, 0, window);
        for now in [0, 1, u64::MAX / 2, 5, u64::MAX - 1, u64::MAX, 0, u64::MAX] {
            filter.insert(now, now);
            assert!(filter.contains(now, now));
            filter.advance(now);
            assert!(filter.contains(now, 0));
        }
        filter.clear();
        assert_eq!((filter.keys(0), filter.estimate(0), filter.oldest(u64::MAX)), (0, 0, 0));
    }
}

#[test]
fn long_batches_are_the_loop_too() {
    for window in [Window::last_keys(3), Window::span(10, 3)] {
        let (mut one, mut all) = (filter(7000, 0.01, 0, window), filter(7000, 0.01, 0, window));
        // Every third key has come before.
        let key = |i: u64| if i.is_multiple_of(3) { i / 2 } else { i };
        let hashes: Vec<_> = (0..30_000).map(|i| one.hash(key(i))).collect();
        let looped: Vec<_> = hashes.iter().map(|hash| one.insert_hash(*hash, 5)).collect();
        let (mut new, mut answers) = (Vec::new(), Vec::new());
        all.insert_batch_new(&hashes, 5, &mut new);
        assert_eq!(new, looped);
        all.contains_batch(&hashes, 5, &mut answers);
        assert!(answers.iter().copied().eq(hashes.iter().map(|h| one.contains_hash(*h, 5))));
    }
}

#[test]
fn union_of_spans_goes_by_time() {
    let window = Window::span(100, 4);
    let (mut a, mut b) = (filter(100, NEVER, 0, window), filter(100, NEVER, 0, window));
    a.insert("ada", 1000);
    b.insert("eve", 1080);
    let mut late = b.clone();
    late.union(&a).unwrap();
    a.union(&b).unwrap();
    for both in [&a, &late] {
        assert_eq!(both.newest(), b.newest());
        assert!(both.contains("ada", 1100) && both.contains("eve", 1180));
        assert!(!both.contains("ada", 1125) && !both.contains("eve", 1200));
    }
    let mut far = filter(100, NEVER, 0, window);
    far.insert("bob", 1u64 << 60);
    far.union(&a).unwrap();
    assert!(far.contains("bob", 0) && !far.contains("ada", 0));
    a.union(&far).unwrap();
    assert!(a.contains("bob", 0) && !a.contains("ada", 0));
}

#[test]
fn union_of_counts_wants_equal_generations() {
    let window = Window::last_keys(4);
    let (mut a, mut b) = (filter(100, NEVER, 0, window), filter(100, NEVER, 0, window));
    (0..60u64).for_each(|key| _ = a.insert(key, 0));
    b.union(&a).unwrap(); // new, so it is as a is
    assert!((0..60u64).all(|key| b.contains(key, 0)));
    a.union(&filter(100, NEVER, 0, window)).unwrap();
    (60..100u64).for_each(|key| _ = b.insert(key, 0));
    let why = a.union(&b).unwrap_err().to_string();
    assert_eq!(why, "unlike filters: generations begun are 2 here and 3 there");
    (100..115u64).for_each(|key| _ = a.insert(key, 0));
    (115..130u64).for_each(|key| _ = a.insert(key, 0));
    a.union(&b).unwrap();
    assert!((0..130u64).all(|key| a.contains(key, 0)));
}

#[test]
fn unlike_windows_do_not_merge() {
    let mut a = filter(100, 0.01, 0, Window::span(100, 4));
    let unlike = [
        (filter(100, 0.01, 0, Window::span(100, 5)), "windows"),
        (filter(100, 0.01, 0, Window::last_keys(4)), "windows"),
        (filter(10_000, 0.01, 0, Window::span(100, 4)), "capacities or rates"),
        (filter(100, 0.01, 1, Window::span(100, 4)), "seeds"),
    ];
    for (other, what) in unlike {
        assert_eq!(a.union(&other).unwrap_err().what(), what);
        assert_eq!(a.intersect(&other).unwrap_err().what(), what);
    }
}

#[test]
fn intersection_keeps_what_both_remember() {
    for window in [Window::span(100, 2), Window::last_keys(2)] {
        let (mut a, mut b) = (filter(1300, 0.01, 0, window), filter(1300, 0.01, 0, window));
        (0..600u64).for_each(|key| _ = a.insert(key, 1000));
        (0..200u64).for_each(|key| _ = b.insert(key + 2000, 960));
        (300..900u64).for_each(|key| _ = b.insert(key, 1060)); // another generation than in a
        let before = a.fpr_now(0);
        a.intersect(&b).unwrap();
        assert!((300..600u64).all(|key| a.contains(key, 1060)));
        assert!((0..300u64).filter(|key| a.contains(*key, 1060)).count() < 200);
        assert!(a.fpr_now(0) <= before);
    }
    let window = Window::span(100, 4);
    let (mut a, mut b) = (filter(10, NEVER, 0, window), filter(10, NEVER, 0, window));
    a.insert("ada", 0);
    b.insert("ada", 1000);
    a.intersect(&b).unwrap();
    assert!(!a.contains("ada", 0)); // forgotten at b's time
    b.advance(9000);
    b.intersect(&a).unwrap();
    assert_eq!(b.keys(0), 0);
}

#[test]
fn parts_make_the_whole_again() {
    for window in [Window::span(100, 4), Window::last_keys(4)] {
        let mut filter = filter(100, NEVER, 0, window);
        (0..300u64).for_each(|key| _ = filter.insert(key, key));
        let parts: Vec<_> = filter.generations().map(<[_]>::to_vec).collect();
        let again = |newest, parts| Windowed::from_parts(filter.spec(), window, newest, parts);
        let same = again(filter.newest(), parts.clone()).unwrap();
        assert_eq!(same.to_string(), filter.to_string());
        assert_eq!(same.oldest(310), filter.oldest(310));
        for now in [299, 330, 400, 1000] {
            let all = |filter: &Windowed| -> Vec<u64> {
                (0..300).filter(|key| filter.contains(*key, now)).collect()
            };
            assert_eq!(all(&same), all(&filter));
        }
        assert!(again(0, parts[1..].to_vec()).is_none());
        let spec = filter.spec().with_seed(1);
        assert!(Windowed::from_parts(spec, window, 0, parts.clone()).is_none());
        // Any number is a generation.
        let mut last = again(u64::MAX, parts).unwrap();
        (0..300u64).for_each(|key| _ = last.insert(key, u64::MAX));
        assert!(last.contains(299u64, u64::MAX));
        last.advance(u64::MAX);
        assert!(last.contains(299u64, 0));
    }
}

#[test]
fn it_says_what_it_is() {
    let said = filter(100, 0.01, 0, Window::span(3600, 4)).to_string();
    let want = "windowed: 0 keys, made for 100 in 3600 ticks in 4 generations, 320 bytes, ";
    println!("{said}");
    assert!(said.starts_with(want), "{said}");
}

/// What a window of keys must remember, kept exactly.
struct LastKeys {
    generations: VecDeque<HashSet<u64>>,
    each: usize,
}

impl LastKeys {
    fn insert(&mut self, key: u64) -> bool {
        if self.generations[0].contains(&key) {
            return false;
        }
        let new = !self.contains(key);
        if self.generations[0].len() == self.each {
            self.generations.rotate_right(1);
            self.generations[0].clear();
        }
        self.generations[0].insert(key);
        new
    }

    fn contains(&self, key: u64) -> bool {
        self.generations.iter().any(|generation| generation.contains(&key))
    }
}

proptest! {
    #[test]
    fn the_last_keys_are_remembered_and_no_others(
        keys in vec(0..400u64, 1..1500),
        capacity in 1..100u64,
        generations in 1..9u32,
    ) {
        let mut filter = filter(capacity, NEVER, 0, Window::last_keys(generations));
        let count = generations as usize + 1;
        let each = capacity.div_ceil(generations.into()) as usize;
        let mut exact = LastKeys { generations: vec![HashSet::new(); count].into(), each };
        for (i, key) in keys.iter().enumerate() {
            prop_assert_eq!(filter.insert(*key, 0), exact.insert(*key));
            let last = i.saturating_sub(capacity as usize);
            prop_assert!(keys[last..=i].iter().all(|key| filter.contains(*key, 0)));
            prop_assert!(filter.oldest(0) <= (count * each) as u64);
        }
        prop_assert!((0..400).all(|key| filter.contains(key, 0) == exact.contains(key)));
    }

    #[test]
    fn a_stream_of_new_keys_is_forgotten_in_order(
        capacity in 1..200u64,
        generations in 1..9u32,
        count in 0..2000u64,
    ) {
        let mut filter = filter(capacity, NEVER, 0, Window::last_keys(generations));
        (0..count).for_each(|key| _ = filter.insert(key, 0));
        let g = u64::from(generations);
        let most = capacity.div_ceil(g) * (g + 1);
        for (age, key) in (0..count).rev().enumerate() {
            let age = age as u64;
            if age <= capacity {
                prop_assert!(filter.contains(key, 0), "{} after {} of {}", key, age, capacity);
            }
            if age >= most {
                prop_assert!(!filter.contains(key, 0), "{} after {} of {}", key, age, capacity);
            }
        }
    }

    #[test]
    fn a_span_is_remembered_and_no_more(
        steps in vec((0..50u64, -30..60i64, any::<bool>()), 1..300),
        start in prop_oneof![Just(0), 0..1u64 << 50, Just(u64::MAX - 3000)],
        ticks in 1..200u64,
        generations in 1..12u32,
    ) {
        let generations = generations.min(ticks as u32);
        let window = Window::span(ticks, generations);
        let mut filter = filter(100, NEVER, 0, window);
        // The clock as it should be, and when each key came last.
        let (mut clock, mut now) = (0, start);
        // A clock that goes back by more than the window is another matter.
        let least = |clock: u64| clock.saturating_sub(ticks);
        let mut last = HashMap::new();
        let gone = |age: u64| age * u64::from(generations) >= ticks * u64::from(generations + 1);
        for (key, step, insert) in steps {
            now = now.saturating_add_signed(step).max(least(clock));
            let moment = clock.max(now);
            let age = last.get(&key).map(|came| moment - came);
            let hit = filter.contains(key, now);
            prop_assert!(hit || age.is_none_or(|age| age > ticks), "{} {:?}", key, age);
            prop_assert!(!hit || age.is_some_and(|age| !gone(age)), "{} {:?}", key, age);
            let older = age.is_some_and(|age| age > filter.oldest(now));
            prop_assert!(!(hit && older && now == moment), "{} {:?}", key, age);
            if insert {
                clock = moment;
                prop_assert_eq!(filter.insert(key, now), !hit);
                last.insert(key, moment);
            }
        }
    }

    #[test]
    fn batch_is_the_loop(
        // Small numbers, so that batches hold duplicates and overlap.
        batches in vec((vec(0..500u64, 0..300), 0..40u64), 1..8),
        capacity in 1..200u64,
        fpr in 0.0001..0.5,
        window in prop_oneof![
            (1..6u32).prop_map(Window::last_keys),
            (6..60u64, 1..6u32).prop_map(|(ticks, generations)| Window::span(ticks, generations)),
        ],
    ) {
        let mut one = filter(capacity, fpr, 0, window);
        let mut all = one.clone();
        let (mut new, mut answers, mut now) = (Vec::new(), Vec::new(), 0);
        for (batch, step) in &batches {
            now += step;
            let hashes: Vec<_> = batch.iter().map(|key| one.hash(*key)).collect();
            let mut counted = one.clone();
            let looped: Vec<_> = hashes.iter().map(|hash| one.insert_hash(*hash, now)).collect();
            all.insert_batch_new(&hashes, now, &mut new);
            prop_assert_eq!(&new, &looped);
            let count = looped.iter().filter(|new| **new).count() as u64;
            prop_assert_eq!(counted.insert_batch(&hashes, now), count);
            prop_assert!(one.generations().flatten().map(Blocked::as_bytes)
                .eq(all.generations().flatten().map(Blocked::as_bytes)));
            let asked: Vec<_> = (0..1000u64).map(|key| all.hash(key)).collect();
            for now in [now, now + 7, now + 30] {
                all.contains_batch(&asked, now, &mut answers);
                let looped: Vec<_> = asked.iter().map(|h| one.contains_hash(*h, now)).collect();
                prop_assert_eq!(&answers, &looped);
            }
        }
    }
}

/// Bursts, forgotten and come again, unions in between: what is written can be read.
#[test]
fn windows_that_had_bursts_are_read_back() {
    let readable = |window: &Windowed, what: &str| {
        let file = window.encode(&crate::format::Metadata::new());
        let read = Windowed::decode(&file, None);
        let read = read.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(read.encode(&crate::format::Metadata::new()) == file, "{what}");
    };
    for generations in [1u32, 2, 3, 4, 5, 7, 10, 16, 64] {
        for capacity in [1u64, 2, 3, 5, 10, 97, 1_000] {
            let ticks = u64::from(generations) * 10;
            let spec = Spec::new(capacity, 1e-3).unwrap();
            let new = || Windowed::new(spec, Window::span(ticks, generations)).unwrap();
            let (mut window, mut other) = (new(), new());
            for round in 0..4u64 {
                let what = format!("{generations} generations, {capacity} keys, round {round}");
                let now = Moment::ticks((round + 1) * ticks * 3);
                let keys = round * capacity..(round + 1) * capacity;
                keys.clone().for_each(|key| _ = window.insert(key, now));
                readable(&window, &what);
                assert!(keys.clone().all(|key| window.contains(key, now)), "{what}");
                keys.step_by(2).for_each(|key| _ = other.insert(key + 1_000_000, now));
                window.union(&other).unwrap_or_else(|error| panic!("{what}: {error}"));
                (0..capacity).for_each(|key| _ = window.insert(key + 2_000_000, now));
                readable(&window, &what);
                let later = Moment::ticks((round + 1) * ticks * 3 + 2 * ticks);
                window.insert(u64::MAX, later);
                readable(&window, &what);
            }
            window.clear();
            readable(&window, "cleared");
        }
    }
}
