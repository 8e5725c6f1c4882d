//! Millions of inserts and removes beside an exact multiset, on every instruction set.

use super::*;

/// How keys are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Draw {
    Even,
    /// One in four from a small part of the range: crowded lines and many copies.
    Hot,
}

/// Fill to a load, and then insert and remove by turns around it; ask at every step.
fn play(kernel: Kernel, remainder_bits: u32, load: f64, draw: Draw, steps: u64) -> Quotient {
    let lines = 30;
    let mut filter = fixed(remainder_bits, lines);
    filter.kernel = kernel;
    let range = filter.shape().range;
    let wanted = (filter.shape().slots() as f64 * load) as usize;
    let mut random = Random(u64::from(remainder_bits) << 32 | (load * 1000.0) as u64);
    let (mut model, mut list) = (Model::new(), Vec::new());
    for step in 0..steps {
        let filling = list.len() < wanted;
        let roll = random.next();
        if list.is_empty() || roll % 8 < if filling { 7 } else { 3 } {
            let near = if draw == Draw::Hot && roll >> 8 & 3 == 0 { range / 97 + 1 } else { range };
            let fingerprint = random.below(near);
            let count = model.entry(fingerprint).or_default();
            let hash = hash_of(&filter, fingerprint);
            assert_eq!(filter.insert_hash(hash), *count == 0, "step {step}");
            *count += 1;
            list.push(fingerprint);
        } else {
            let fingerprint = list.swap_remove(random.below(list.len() as u64) as usize);
            assert!(filter.remove_hash(hash_of(&filter, fingerprint)), "step {step}");
            match model.get_mut(&fingerprint) {
                Some(count) if *count > 1 => *count -= 1,
                _ => _ = model.remove(&fingerprint),
            }
        }
        // An absent key is refused, and nothing changes; a present one is counted.
        let any = random.below(range);
        let hash = hash_of(&filter, any);
        let count = model.get(&any).copied().unwrap_or(0);
        assert_eq!((filter.contains_hash(hash), filter.count_hash(hash)), (count > 0, count));
        if count == 0 {
            assert!(!filter.remove_hash(hash), "step {step}");
        }
        if step % 4999 == 0 {
            agrees(&filter, &model);
            for (fingerprint, count) in &model {
                let hash = hash_of(&filter, *fingerprint);
                assert!(filter.contains_hash(hash), "step {step}");
                assert_eq!(filter.count_hash(hash), *count, "step {step}");
            }
        }
    }
    agrees(&filter, &model);
    let filled = filter.clone();
    for fingerprint in list {
        assert!(filter.remove_hash(hash_of(&filter, fingerprint)));
    }
    assert!(filter.is_empty() && filter.side_entries() == 0);
    assert!(filter.as_bytes().iter().all(|byte| *byte == 0), "an empty filter is all zero");
    filled
}

/// The same steps on all instruction sets leave the same bytes.
fn play_on_all(remainder_bits: u32, load: f64, draw: Draw, steps: u64) {
    let mut first: Option<Quotient> = None;
    for kernel in Kernel::all() {
        let filter = play(kernel, remainder_bits, load, draw, steps);
        let first = first.get_or_insert_with(|| filter.clone());
        assert!(filter.as_bytes() == first.as_bytes(), "{kernel:?}");
        assert_eq!(filter.side_bytes(), first.side_bytes(), "{kernel:?}");
    }
}

const LOADS: [f64; 4] = [0.5, 0.9, 0.97, 1.02];

#[test]
fn every_answer_is_that_of_the_multiset_at_common_rates() {
    for remainder_bits in [6, 7, 10] {
        for load in LOADS {
            for draw in [Draw::Even, Draw::Hot] {
                play_on_all(remainder_bits, load, draw, 40_000);
            }
        }
    }
}

#[test]
fn every_answer_is_that_of_the_multiset_at_every_layout() {
    use crate::sizing::{MAX_REMAINDER_BITS, MIN_REMAINDER_BITS};
    for remainder_bits in MIN_REMAINDER_BITS..=MAX_REMAINDER_BITS {
        for load in [0.6, 0.96, 1.02] {
            play_on_all(remainder_bits, load, Draw::Hot, 5_000);
        }
    }
}

#[test]
fn one_key_goes_in_and_out_ten_thousand_times() {
    for remainder_bits in [1, 6, 7, 13, 40] {
        let mut filter = fixed(remainder_bits, 20);
        for key in 0..200u64 {
            filter.insert(key);
        }
        let before = (filter.as_bytes().to_vec(), filter.side_bytes(), filter.keys());
        let count = filter.count("hot");
        for copy in 0..10_000 {
            assert_eq!(filter.insert("hot"), count + copy == 0);
            assert_eq!(filter.count("hot"), count + copy + 1);
        }
        assert!(filter.load() < 1.0 && filter.side_entries() >= 1);
        for copy in (0..10_000).rev() {
            assert!(filter.remove("hot"));
            assert_eq!(filter.count("hot"), count + copy);
        }
        assert_eq!((filter.as_bytes().to_vec(), filter.side_bytes(), filter.keys()), before);
    }
}

/// Past all room: offsets reach 255, and what comes then goes into the side table.
#[test]
fn a_filter_that_must_not_grow_takes_everything() {
    for (remainder_bits, times) in [(6, 3), (7, 4), (10, 5)] {
        let mut filter = fixed(remainder_bits, 25);
        let mut model = Model::new();
        let mut random = Random(times);
        let keys = filter.shape().slots() * times;
        for _ in 0..keys {
            let fingerprint = random.below(filter.shape().range);
            filter.insert_hash(hash_of(&filter, fingerprint));
            *model.entry(fingerprint).or_default() += 1;
        }
        assert!(filter.side_entries() > 100);
        agrees(&filter, &model);
        for (fingerprint, count) in &model {
            assert_eq!(filter.count_hash(hash_of(&filter, *fingerprint)), *count);
        }
        for (fingerprint, count) in &model {
            for _ in 0..*count {
                assert!(filter.remove_hash(hash_of(&filter, *fingerprint)));
            }
        }
        agrees(&filter, &Model::new());
        assert!(filter.as_bytes().iter().all(|byte| *byte == 0));
    }
}

/// All keys of a line at once, as an attacker who knows the hash would choose them.
#[test]
fn a_crowded_line_loses_nothing() {
    let mut filter = fixed(7, 50);
    let mut model = Model::new();
    for fingerprint in 47 * 128 * 20..47 * 128 * 21 {
        assert!(filter.insert_hash(hash_of(&filter, fingerprint)));
        model.insert(fingerprint, 1);
    }
    agrees(&filter, &model);
    assert!(filter.side_entries() > 5000);
    assert!(model.keys().all(|fingerprint| filter.contains_hash(hash_of(&filter, *fingerprint))));
    assert!(!filter.contains_hash(hash_of(&filter, 47 * 128 * 21)));
    for fingerprint in model.keys() {
        assert!(filter.remove_hash(hash_of(&filter, *fingerprint)));
    }
    agrees(&filter, &Model::new());
}

#[test]
fn bytes_depend_on_the_multiset_alone() {
    let mut random = Random(1);
    for remainder_bits in [6, 7, 9, 13, 29] {
        let mut filter = fixed(remainder_bits, 40);
        let keys = filter.shape().slots() * 19 / 20;
        let mut all: Vec<u64> = (0..keys).map(|_| random.below(filter.shape().range)).collect();
        all.extend_from_within(..20);
        all.extend(std::iter::repeat_n(all[0], 9));
        for fingerprint in &all {
            filter.insert_hash(hash_of(&filter, *fingerprint));
        }
        // Others come and go.
        let others: Vec<Hash> = (0..40).map(|_| Hash(random.next())).collect();
        filter.insert_batch(&others);
        assert_eq!(filter.remove_batch(&others), others.len() as u64);
        let mut hashes: Vec<Hash> = all.iter().map(|f| hash_of(&filter, *f)).collect();
        hashes.reverse();
        let mut backwards = fixed(remainder_bits, 40);
        backwards.insert_batch(&hashes);
        let at_once = stream::collect(filter.shape(), filter.fingerprints()).unwrap();
        for other in [&backwards.table, &at_once] {
            assert!(other.bytes.as_ref() == filter.as_bytes(), "{remainder_bits} bits");
            assert_eq!(other.side.to_bytes(), filter.side_bytes());
        }
    }
}
