use super::*;
use crate::kernel::ribbon::Isa;
use crate::spec::SpecError;
use proptest::prelude::*;

fn spec(fpr: f64) -> Spec {
    Spec::new(1, fpr).unwrap()
}

fn hashes(range: std::ops::Range<u64>) -> Vec<Hash> {
    range.map(|key| spec(0.01).scheme().hash(key)).collect()
}

fn found(filter: &Ribbon, hashes: &[Hash]) -> usize {
    let mut answers = Vec::new();
    filter.contains_batch(hashes, &mut answers);
    for (hash, answer) in hashes.iter().zip(&answers).step_by(97) {
        assert_eq!(filter.contains_hash(*hash), *answer);
    }
    answers.iter().filter(|answer| **answer).count()
}

#[test]
fn every_key_is_found_at_every_size() -> Result<(), SpecError> {
    for keys in [0, 1, 2, 3, 7, 64, 100, 1_000, 2_500, 2_501, 3_000, 20_000, 300_000] {
        for fpr in [0.5, 0.37, 0.01, 1e-3, 1e-4, 1e-9] {
            let members = hashes(0..keys);
            let filter = Ribbon::from_hashes(spec(fpr), &mut members.clone())?;
            assert_eq!(filter.keys(), keys);
            assert_eq!(found(&filter, &members), keys as usize, "{keys} keys at {fpr}");
            assert!(filter.fpr_now() <= fpr, "{keys} at {fpr}: {}", filter.fpr_now());
        }
    }
    Ok(())
}

#[test]
fn the_rate_is_the_one_asked_for() -> Result<(), SpecError> {
    for (keys, fpr) in [(100_000, 0.5), (100_000, 0.37), (1_200_000, 0.01), (50_000, 1e-3)] {
        let filter = Ribbon::from_hashes(spec(fpr), &mut hashes(0..keys))?;
        let absent = hashes(keys..keys + 4_000_000);
        let (got, mean) = (found(&filter, &absent) as f64, fpr * absent.len() as f64);
        let deviations = (got - mean) / (mean * (1.0 - fpr)).sqrt();
        assert!(deviations.abs() < 4.0, "{keys} at {fpr}: {got} for {mean}, {deviations} sigma");
        assert!((0.998..=1.0).contains(&(filter.fpr_now() / fpr)), "{}", filter.fpr_now());
    }
    Ok(())
}

#[test]
fn sizes_keep_near_the_information_bound() -> Result<(), SpecError> {
    let bars = [
        (1_000_000, 0.01, 1.016),
        (1_000_000, 1e-3, 1.005),
        (1_000_000, 1e-4, 1.009),
        (1_000_000, 0.37, 1.075), // two widths of columns alone cost 1.06 here
        (100_000, 0.01, 1.02),
        (1_000, 0.01, 9.0 / 6.644),
    ];
    for (keys, fpr, most) in bars {
        let filter = Ribbon::from_hashes(spec(fpr), &mut hashes(0..keys))?;
        let bits = filter.bits() as f64 / keys as f64;
        let ratio = bits / -fpr.log2();
        assert!((1.0..=most).contains(&ratio), "{keys} at {fpr}: {bits} bits, {ratio}");
        let planned = RibbonShape { keys, ..filter.shape() }.bits() as f64 / keys as f64;
        assert!((planned / bits - 1.0).abs() < 0.02, "{planned} planned, {bits} built");
    }
    Ok(())
}

#[test]
fn bytes_do_not_depend_on_how_the_keys_come() -> Result<(), SpecError> {
    let members = hashes(0..1_300_000);
    let whole = Ribbon::from_hashes(spec(0.01), &mut members.clone())?;
    assert_eq!(whole.shards(), 2);
    let mut backwards: Vec<Hash> = members.iter().rev().copied().collect();
    let same = Ribbon::from_hashes(spec(0.01), &mut backwards)?;
    assert!(whole.as_bytes() == same.as_bytes());
    for max_hashes in [1, 700_000, 2_000_000] {
        let pass =
            |keep: &mut (dyn FnMut(Hash) + Send)| members.iter().for_each(|hash| keep(*hash));
        let passes = Ribbon::build(spec(0.01), max_hashes, pass)?;
        assert!(whole.as_bytes() == passes.as_bytes(), "{max_hashes}");
    }
    let builder = RibbonBuilder::new(spec(0.01), members.len() as u64)?;
    let mut shards = Vec::new();
    for shard in 0..builder.shard_count() {
        let belongs = |hash: &&Hash| builder.shard_of(**hash) == shard;
        let mut own: Vec<Hash> = members.iter().filter(belongs).copied().collect();
        shards.extend(builder.shards(shard..shard + 1, &mut own)?);
    }
    assert!(whole.as_bytes() == builder.finish(shards)?.as_bytes(), "one shard at a time");
    Ok(())
}

#[test]
fn keys_that_change_between_passes_are_noticed() {
    let mut calls = 0;
    let refused = Ribbon::build(spec(0.01), 10, |keep| {
        calls += 1;
        (0..1_000 + calls).for_each(|n| keep(Hash(n << 40)));
    });
    assert!(matches!(refused, Err(SpecError::Passes { first: 1_001, later: 1_002 })));
}

#[test]
fn equal_keys_count_once() -> Result<(), SpecError> {
    let mut members = hashes(0..5_000);
    members.extend(hashes(0..5_000));
    members.extend([members[0]; 1_000]);
    let filter = Ribbon::from_hashes(spec(0.001), &mut members)?;
    assert_eq!(filter.keys(), 5_000);
    assert_eq!(found(&filter, &hashes(0..5_000)), 5_000);
    Ok(())
}

#[test]
fn contrived_hashes_are_never_lost() -> Result<(), SpecError> {
    let one_bucket: Vec<Hash> = (0..30_000u64).map(Hash).collect();
    let one_bit: Vec<Hash> = (0..64).map(|bit| Hash(1 << bit)).collect();
    let steps: Vec<Hash> = (0..30_000u64).map(|n| Hash(n << 49)).collect();
    let few_equations: Vec<Hash> = (0..4_000u64).map(|n| Hash(n.rotate_right(12))).collect();
    for contrived in [one_bucket, one_bit, steps, few_equations] {
        for fpr in [0.3, 1e-9] {
            let filter = Ribbon::from_hashes(spec(fpr), &mut contrived.clone())?;
            assert_eq!(found(&filter, &contrived), contrived.len());
        }
    }
    Ok(())
}

#[test]
fn every_instruction_set_gives_the_same_answers() -> Result<(), SpecError> {
    for fpr in [0.4, 0.01, 1.0 / 256.0, 0.003, 1e-4, 1e-5, 1e-9] {
        let filter = Ribbon::from_hashes(spec(fpr), &mut hashes(0..30_000))?;
        let mut scalar = filter.clone();
        scalar.directory.force(Isa::Scalar);
        let mut sets = vec![filter];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if sets[0].directory.isa() == Isa::Avx512 {
            let mut other = sets[0].clone();
            other.directory.force(Isa::Avx2);
            sets.push(other);
        }
        let asked = hashes(20_000..400_000);
        let (mut want, mut got) = (Vec::new(), Vec::new());
        scalar.contains_batch(&asked, &mut want);
        for filter in &sets {
            filter.contains_batch(&asked, &mut got);
            assert!(got == want, "{:?} at {fpr}", filter.directory.isa());
            let one = |hash: &Hash| filter.contains_hash(*hash);
            assert!(asked.iter().map(one).eq(want.iter().copied()));
        }
    }
    Ok(())
}

proptest! {
    /// Whatever the bytes, a filter is refused or answers.
    #[test]
    fn hostile_bytes_are_refused_or_answered(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        only_directory in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let filter = Ribbon::from_hashes(spec(0.01), &mut hashes(0..4_000)).unwrap();
        let mut bytes = filter.as_bytes().to_vec();
        for (at, value) in changes {
            let range = if only_directory { 40 } else { bytes.len() };
            bytes[at.index(range)] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let RibbonShape { columns, wide, .. } = filter.shape();
        if let Some(opened) = Ribbon::from_bytes(spec(0.01), 4_000, 1, columns, wide, bytes) {
            let mut answers = Vec::new();
            opened.contains_batch(&hashes(0..5_000), &mut answers);
            let _ = opened.fpr_now();
        }
    }
}

#[test]
fn impossible_shapes_are_refused() -> Result<(), SpecError> {
    let filter = Ribbon::from_hashes(spec(0.01), &mut hashes(0..1_000))?;
    let RibbonShape { columns, wide, .. } = filter.shape();
    let open = |shards, columns, wide| {
        Ribbon::from_bytes(spec(0.01), 1_000, shards, columns, wide, filter.as_bytes()).is_some()
    };
    assert!(open(1, columns, wide));
    for shards in [0, 2, 1_000, u64::MAX] {
        assert!(!open(shards, columns, wide), "{shards} shards");
    }
    for columns in [0, 5, 7, 32, 33, u32::MAX] {
        assert!(!open(1, columns, wide), "{columns} columns");
    }
    assert!(!open(1, columns, 0));
    Ok(())
}
