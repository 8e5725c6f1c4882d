use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn filled(keys: u64, fpr: f64, shards: u32) -> Sharded {
    let mut filter = Sharded::new(Spec::new(keys, fpr).unwrap(), shards).unwrap();
    (0..keys).for_each(|key| _ = filter.insert(key));
    filter
}

/// A changed fold, constant or range moves these. They are frozen: files and clusters depend on
/// them.
#[test]
fn golden_homes() {
    let scheme = Native::xxh3(0);
    let homes =
        |shards| (0..12u64).map(|key| shard_of(scheme.hash(key), shards)).collect::<Vec<_>>();
    assert_eq!(homes(1), [0; 12]);
    assert_eq!(homes(7), [2, 0, 3, 0, 1, 5, 5, 2, 0, 2, 0, 3]);
    assert_eq!(homes(64), [22, 6, 34, 1, 10, 52, 46, 27, 6, 21, 2, 33]);
    let many = [1416, 419, 2216, 108, 645, 3330, 2963, 1748, 443, 1351, 182, 2151];
    assert_eq!(homes(4096), many);
}

#[test]
fn keys_spread_evenly_and_no_shard_gets_more_than_it_has_room_for() {
    let filter = filled(200_000, 0.01, 64);
    let (mean, room) = (200_000.0 / 64.0, filter.shards()[0].spec().capacity());
    let chi: f64 =
        filter.shards().iter().map(|shard| (shard.estimate() as f64 - mean).powi(2) / mean).sum();
    // 63 degrees of freedom: below 30 and above 110 once in ten thousand.
    assert!((30.0..110.0).contains(&chi), "{chi}");
    assert!(filter.shards().iter().all(|shard| shard.keys() <= room));
}

/// If a piece were chosen by what chooses its lines or bits, it would use but a part of them, and
/// the rate would be many times what was asked for.
#[test]
fn the_rate_holds_in_pieces_too() {
    for (fpr, shards) in [(0.01, 3), (0.01, 64), (0.01, 1024), (1e-3, 64)] {
        let filter = filled(300_000, fpr, shards);
        let wrong = (300_000..2_300_000u64).filter(|key| filter.contains(*key)).count();
        let rate = wrong as f64 / 2e6;
        assert!(rate < 1.06 * fpr, "{shards} shards: {rate} for {fpr}");
        assert!((filter.fpr_now() / rate - 1.0).abs() < 0.1, "{} and {rate}", filter.fpr_now());
        let keys = filter.estimate();
        assert!(keys.abs_diff(300_000) < 3_000, "{keys}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let spec = Spec::new(1000, 0.01).unwrap();
    for shards in [0, 4097, u32::MAX] {
        assert!(matches!(Sharded::new(spec, shards), Err(SpecError::Shards { .. })));
    }
    let mut three = Sharded::new(spec, 3).unwrap();
    let error = three.union(&Sharded::new(spec, 4).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "unlike filters: shards are 3 here and 4 there");
    let other = Blocked::new(Spec::new(5, 0.01).unwrap()).unwrap();
    let parts = vec![three.shards()[0].clone(), other];
    assert!(Sharded::from_parts(spec, parts).is_none());
    assert!(Sharded::<AlignedBuf>::from_parts(spec, vec![]).is_none());
}

#[test]
fn both_of_two_are_in_their_union() {
    let spec = Spec::new(1000, 0.01).unwrap();
    let [mut one, mut two] = [0; 2].map(|_| Sharded::new(spec, 5).unwrap());
    (0..500u64).for_each(|key| _ = one.insert(key));
    (400..1000u64).for_each(|key| _ = two.insert(key));
    let mut both = one.clone();
    both.intersect(&two).unwrap();
    assert!((400..500u64).all(|key| both.contains(key)));
    one.union(&two).unwrap();
    assert!((0..1000u64).all(|key| one.contains(key)));
    one.clear();
    assert_eq!((one.keys(), one.fill()), (0, 0.0));
}

proptest! {
    #[test]
    fn batches_equal_loops(keys in vec(any::<u16>(), 0..300), shards in 1u32..80) {
        let spec = Spec::new(200, 0.05).unwrap();
        let [mut batch, mut one] = [0; 2].map(|_| Sharded::new(spec, shards).unwrap());
        let hashes: Vec<_> = keys.iter().map(|key| one.hash(u64::from(*key))).collect();
        let want: Vec<_> = hashes.iter().map(|hash| one.insert_hash(*hash)).collect();
        let mut new = Vec::new();
        batch.clone().insert_batch_new(&hashes, &mut new);
        prop_assert_eq!(&new, &want);
        let count = want.iter().filter(|new| **new).count() as u64;
        prop_assert_eq!(batch.insert_batch(&hashes), count);
        let asked: Vec<_> = (0..2000u64).map(|key| one.hash(key)).collect();
        batch.contains_batch(&asked, &mut new);
        let want: Vec<_> = asked.iter().map(|hash| one.contains_hash(*hash)).collect();
        prop_assert_eq!(new, want);
    }
}
