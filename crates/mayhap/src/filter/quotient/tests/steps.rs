//! Growing in steps is growing at once, seen from outside, at every moment.

use super::*;
use crate::format::Metadata;

/// Random insertions and removals, of hot keys too, in a filter that grows in steps and one that grows
/// at once: the same answers, the same contents and the same file, also half way.
#[test]
fn growing_in_steps_is_growing_at_once() {
    for (capacity, fpr) in [(300, 0.01), (300, 1e-4), (100, 0.3)] {
        let spec = Spec::new(capacity, fpr).unwrap();
        let mut at_once = Quotient::new(spec).unwrap();
        let mut steps = at_once.clone();
        let mut random = Random(capacity ^ 77);
        let (mut half_way, mut grown) = (0, 0);
        for step in 0..20_000u64 {
            let hash = Hash(match random.below(10) {
                0 => random.below(5) << 60,
                _ => (random.next() % 6007).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            });
            if random.below(3) > 0 {
                if steps.room() == 0 {
                    grown += u32::from(steps.grow_in_steps().unwrap());
                }
                assert_eq!(steps.insert_hash(hash), at_once.insert_hash(hash));
            } else {
                assert_eq!(steps.remove_hash(hash), at_once.remove_hash(hash));
            }
            let other = Hash((random.next() % 6007).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            for hash in [hash, other] {
                assert_eq!(steps.contains_hash(hash), at_once.contains_hash(hash));
                assert_eq!(steps.count_hash(hash), at_once.count_hash(hash));
            }
            assert_eq!(steps.counts(), at_once.counts(), "{step}");
            assert_eq!(steps.shape(), at_once.shape());
            half_way += u32::from(steps.is_growing());
            if step.is_multiple_of(97) || steps.is_growing() && step.is_multiple_of(3) {
                assert!(steps.fingerprints().eq(at_once.fingerprints()));
                assert!(steps.encode(&Metadata::new()) == at_once.encode(&Metadata::new()));
            }
        }
        assert!(half_way > 20 && grown > 3, "{half_way} {grown}");
    }
}

#[test]
fn batches_merges_and_clones_know_of_both_tables() {
    let spec = Spec::new(2000, 0.001).unwrap();
    let mut filter = Quotient::new(spec).unwrap();
    let mut random = Random(5);
    let hashes: Vec<Hash> = (0..6000).map(|_| Hash(random.next())).collect();
    let old: Vec<Hash> = hashes[..1900].iter().copied().chain([hashes[7]; 9]).collect();
    filter.insert_batch(&old);
    assert!(filter.grow_in_steps().unwrap());
    let plain = Quotient::from_hashes(spec, &mut old.clone()).unwrap();
    let (mut answers, mut counts, mut known) = (Vec::new(), Vec::new(), Vec::new());
    // Some lines moved, others not.
    for line in 0..20 {
        assert!(filter.is_growing() && filter.fingerprints().eq(plain.fingerprints()), "{line}");
        filter.contains_batch(&hashes, &mut answers);
        plain.contains_batch(&hashes, &mut known);
        assert_eq!(answers, known);
        filter.count_batch(&hashes, &mut counts);
        assert!(counts.iter().zip(&known).all(|(count, known)| (*count > 0) == *known));
        assert_eq!(counts[7], 10);
        filter.move_line();
    }
    assert!(filter.as_bytes().len() as u64 * 8 == filter.shape().bits());
    let mut removed = filter.clone();
    let mut gone = Vec::new();
    removed.remove_batch_removed(&hashes, &mut gone);
    assert!(gone[..1900].iter().all(|gone| *gone) && removed.is_growing());
    assert_eq!(removed.remove_batch(&[hashes[7]; 20]), 9);
    removed.finish_growing();
    assert_eq!(removed.keys(), 0);
    assert!(removed.as_bytes().iter().all(|byte| *byte == 0));
    let mut both = filter.clone();
    both.union(&filter).unwrap();
    assert!(!both.is_growing() && both.keys() == 2 * filter.keys());
    assert!(plain.clone().intersect(&filter).is_ok());
    let mut more = filter.clone();
    let mut new = Vec::new();
    more.insert_batch_new(&hashes, &mut new);
    assert!(!more.is_growing(), "moved on the way");
    assert!(new.iter().position(|new| *new).unwrap() >= 1900);
    let all: Vec<Hash> = old.iter().chain(&hashes).copied().collect();
    let plain = Quotient::from_hashes(spec, &mut all.clone()).unwrap();
    assert!(more.fingerprints().eq(plain.fingerprints()));
    filter.clear();
    assert!(filter.is_empty() && !filter.is_growing() && filter.fingerprints().next().is_none());
}
