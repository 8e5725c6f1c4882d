use super::*;
use crate::spec::SpecError;
use proptest::collection::vec;
use proptest::prelude::*;

fn spec(fpr: f64) -> Spec {
    Spec::new(1_000, fpr).unwrap()
}

/// Hashes of the keys from `from` on.
fn hashes(from: u64, count: u64) -> Vec<Hash> {
    let scheme = spec(0.01).scheme();
    (from..from + count).map(|key| scheme.hash(key)).collect()
}

fn built(fpr: f64, from: u64, count: u64) -> Fuse {
    Fuse::from_hashes(spec(fpr), &mut hashes(from, count)).unwrap()
}

/// Opened over a copy of its bytes, changed in between.
fn reopened(filter: &Fuse, change: impl Fn(&mut Vec<u8>)) -> Option<Fuse<Vec<u8>>> {
    let mut bytes = filter.as_bytes().to_vec();
    change(&mut bytes);
    Fuse::from_bytes(filter.spec(), filter.keys(), filter.shards(), filter.width(), bytes)
}

proptest! {
    /// The promise every kind makes, at any width, with keys that come twice.
    #[test]
    fn no_false_negatives(
        from in any::<u32>(),
        count in 0..5000u64,
        again in vec(0..5000u64, 0..20),
        width in 1..=32,
    ) {
        let mut all = hashes(from.into(), count);
        let again: Vec<Hash> = again.iter().filter_map(|i| all.get(*i as usize).copied()).collect();
        all.extend(again);
        let filter = Fuse::from_hashes(spec(0.5f64.powi(width)), &mut all).unwrap();
        prop_assert_eq!((filter.keys(), filter.width()), (count, width as u32));
        for hash in hashes(from.into(), count) {
            prop_assert!(filter.contains_hash(hash));
        }
    }

    #[test]
    fn a_batch_is_a_loop(count in 0..3000u64, asked in 0..300u64, width in 1..=32) {
        let filter = built(0.5f64.powi(width), 0, count);
        let asked = hashes(count.saturating_sub(asked / 2), asked);
        let mut answers = vec![true; 7];
        filter.contains_batch(&asked, &mut answers);
        let each: Vec<bool> = asked.iter().map(|hash| filter.contains_hash(*hash)).collect();
        prop_assert_eq!(answers, each);
    }

    /// Numbers that are no hashes at all: few bits, many alike.
    #[test]
    fn contrived_hashes_are_found_too(
        mut all in vec(prop_oneof![0..50u64, any::<u64>().prop_map(|x| x << 60), any::<u64>()], 0..300),
    ) {
        let mut given: Vec<Hash> = all.iter().copied().map(Hash).collect();
        let filter = Fuse::from_hashes(spec(0.01), &mut given).unwrap();
        prop_assert!(all.iter().all(|hash| filter.contains_hash(Hash(*hash))));
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(filter.keys(), all.len() as u64);
    }

    #[test]
    fn random_bytes_are_refused_or_answered(
        bytes in vec(prop_oneof![Just(0u8), any::<u8>()], 0..400),
        shards in prop_oneof![0..30u64, any::<u64>()],
        width in prop_oneof![0..40u32, any::<u32>()],
        asked in any::<u64>(),
    ) {
        if let Some(filter) = Fuse::from_bytes(spec(0.01), 1, shards, width, bytes) {
            let answer = filter.contains_hash(Hash(asked));
            let mut answers = Vec::new();
            filter.contains_batch(&[Hash(asked)], &mut answers);
            prop_assert_eq!(answers, [answer]);
        }
    }
}

/// Every bit of the directory matters: whatever is flipped, and whatever is cut off or added, no
/// lookup leaves the bytes. Most of it is refused; a flipped seed only makes another filter.
#[test]
fn a_changed_directory_is_refused_or_harmless() {
    let filter = built(0.01, 0, 500);
    let asked = hashes(0, 2000);
    let mut refused = 0;
    for bit in 0..64 * 8 {
        let flipped = reopened(&filter, |bytes| bytes[bit as usize / 8] ^= 1 << (bit % 8));
        refused += u32::from(flipped.is_none());
        if let Some(flipped) = flipped {
            let each: Vec<bool> = asked.iter().map(|hash| flipped.contains_hash(*hash)).collect();
            let mut answers = Vec::new();
            flipped.contains_batch(&asked, &mut answers);
            assert_eq!(answers, each);
        }
    }
    // 64 bits say where and how long, 32 how many; then come the seed and an empty gap.
    assert_eq!(refused, 96);
    for cut in 1..=filter.as_bytes().len() {
        assert!(reopened(&filter, |bytes| bytes.truncate(bytes.len() - cut)).is_none(), "{cut}");
    }
    for more in [1, 8, 16, 64, 4096] {
        assert!(reopened(&filter, |bytes| bytes.resize(bytes.len() + more, 0)).is_none());
    }
}

#[test]
fn wrong_parts_are_refused() {
    let filter = built(0.01, 0, 500);
    let open = |shards, width| Fuse::from_bytes(spec(0.01), 500, shards, width, filter.as_bytes());
    assert!(open(1, 7).is_some());
    for (shards, width) in [(0, 7), (2, 7), (u64::MAX, 7), (1, 0), (1, 6), (1, 8), (1, 33)] {
        assert!(open(shards, width).is_none(), "{shards} shards of {width} bits");
    }
}

/// What a builder writes that found no place for a shard's keys.
#[test]
fn a_shard_given_up_is_maybe_for_all() {
    let mut bytes = vec![0; 64];
    bytes[..16].copy_from_slice(&Shard::blank(true).record(64));
    bytes[16..32].copy_from_slice(&Shard::blank(false).record(64));
    let filter = Fuse::from_bytes(spec(0.01), 1, 2, 7, bytes).unwrap();
    assert!(filter.contains_hash(Hash(0)) && !filter.contains_hash(Hash(u64::MAX)));
    assert!((filter.fpr_now() - 0.5).abs() < 1e-9);
}

/// Bytes that change their length after they were checked.
#[test]
fn a_body_that_shrinks_is_no_way_out() {
    struct Shrinking(Vec<u8>, std::cell::Cell<usize>);
    impl AsRef<[u8]> for Shrinking {
        fn as_ref(&self) -> &[u8] {
            let length = self.1.get();
            self.1.set(length / 2);
            &self.0[..length]
        }
    }
    let filter = built(0.01, 0, 500);
    let bytes = filter.as_bytes().to_vec();
    let body = Shrinking(bytes.clone(), bytes.len().into());
    let filter = Fuse::from_bytes(spec(0.01), 500, 1, 7, body).unwrap();
    for hash in hashes(0, 500) {
        assert!(filter.contains_hash(hash));
        let mut answers = Vec::new();
        filter.contains_batch(&[hash], &mut answers);
        assert_eq!(answers, [true]);
    }
}

#[test]
fn no_keys_contain_nothing() {
    for filter in [built(0.5, 0, 0), Fuse::build(spec(0.5), 0, |_| ()).unwrap()] {
        assert!(hashes(0, 1000).iter().all(|hash| !filter.contains_hash(*hash)));
        assert_eq!((filter.keys(), filter.bits(), filter.fpr_now()), (0, 512, 0.0));
        assert!(reopened(&filter, |_| ()).is_some());
    }
}

#[test]
fn the_rate_is_that_of_the_width() {
    for width in 1..=14 {
        let filter = built(0.5f64.powi(width), 0, 20_000);
        let (asked, rate) = (2_000_000, 0.5f64.powi(width));
        let wrong = hashes(1 << 40, asked).iter().filter(|h| filter.contains_hash(**h)).count();
        let expected = asked as f64 * rate;
        let sigmas = (wrong as f64 - expected) / (expected * (1.0 - rate)).sqrt();
        assert!(sigmas.abs() < 5.0, "{width} bits: {wrong} for {expected}");
        assert!((filter.fpr_now() / rate - 1.0).abs() < 1e-9);
    }
    // Wide ones have next to no false positives; a mask forgotten somewhere would show.
    for width in 24..=32 {
        let filter = built(0.5f64.powi(width), 0, 20_000);
        let wrong = hashes(1 << 40, 1_000_000).iter().filter(|h| filter.contains_hash(**h)).count();
        assert!(wrong <= 3, "{width} bits: {wrong}");
    }
}

/// Frozen: a changed hash or choice of slots moves this list, and makes old files lie.
/// (So does a changed sizing, and that alone would be harmless: files say how they are cut.)
#[test]
fn golden_false_positives() {
    let filter = Fuse::with_spec(spec(1.0 / 128.0), 0..1000u64).unwrap();
    let wrong: Vec<u64> = (1000..).filter(|key: &u64| filter.contains(*key)).take(10).collect();
    assert_eq!(wrong, [1029, 1068, 1133, 1168, 1222, 1236, 1250, 1842, 1872, 2031]);
}

#[test]
fn many_shards_and_bounded_memory_make_the_same_bytes() {
    let all = hashes(0, 3_300_000);
    let with_doubles = || all.iter().chain(&all[..1000]).copied();
    let whole = Fuse::from_hashes(spec(0.01), &mut with_doubles().collect::<Vec<_>>()).unwrap();
    assert_eq!((whole.keys(), whole.shards()), (3_300_000, 3));
    assert!(all.iter().all(|hash| whole.contains_hash(*hash)));
    for (max_hashes, expected) in [(usize::MAX, 1), (3_400_000, 1), (2_300_000, 3), (0, 4)] {
        let mut passes = 0;
        let filter = Fuse::build(spec(0.01), max_hashes, |keep| {
            passes += 1;
            with_doubles().rev().for_each(keep);
        })
        .unwrap();
        assert_eq!(passes, expected, "at most {max_hashes} hashes");
        assert!(filter.as_bytes() == whole.as_bytes());
    }
}

#[test]
fn passes_that_differ_are_an_error() {
    let all = hashes(0, 10_000);
    for (skip, got) in [(0, 10_001), (1, 10_000), (2, 9_999)] {
        let mut first = true;
        let answer = Fuse::build(spec(0.01), 100, |keep| {
            let later = if first { 0 } else { skip };
            all[later..].iter().copied().for_each(&mut *keep);
            if !first {
                keep(Hash(7));
            }
            first = false;
        });
        assert_eq!(answer.unwrap_err(), SpecError::Passes { first: 10_000, later: got });
    }
}

#[test]
fn three_hundred_thousand_keys_twice_and_thrice() {
    let alone = built(0.001, 0, 300_000);
    let mut all = hashes(0, 300_000);
    all.extend_from_within(..);
    let filter = Fuse::from_hashes(spec(0.001), &mut all.clone()).unwrap();
    assert_eq!(filter.keys(), 300_000);
    assert!(filter.as_bytes() == alone.as_bytes());
    all.extend_from_within(..300_000);
    let filter = Fuse::from_hashes(spec(0.001), &mut all).unwrap();
    assert_eq!(filter.keys(), 300_000);
    assert!(filter.as_bytes() == alone.as_bytes());
    assert!(hashes(0, 300_000).iter().all(|hash| filter.contains_hash(*hash)));
}

/// Sizing says what a build takes: to the bit for one shard, nearly so for several.
#[test]
fn sizing_tells_the_bits() {
    for count in (0..30).chain([100, 1000, 12_345, 46_000, 140_000, 300_000, 1_200_000]) {
        let filter = built(0.01, 0, count);
        assert_eq!(filter.bits(), filter.shape().bits(), "{count} keys");
    }
    let filter = built(0.01, 0, 2_500_000);
    let ratio = filter.bits() as f64 / filter.shape().bits() as f64;
    assert!((ratio - 1.0).abs() < 0.004, "{ratio}");
    assert!(filter.bits() as f64 <= 1.14 * 7.0 * 2_500_000.0);
}

#[test]
fn rates_beyond_32_bits_are_refused() {
    let error = Fuse::with_spec(spec(1e-10), [1u8]).unwrap_err();
    assert_eq!(error, SpecError::Width { got: 1e-10 });
    assert!(error.to_string().contains("1 to 32 bits"), "{error}");
    assert_eq!(Fuse::with_spec(spec(0.5f64.powi(32)), [1u8]).unwrap().width(), 32);
    assert_eq!(Fuse::with_spec(spec(0.99), [1u8]).unwrap().width(), 1);
}

#[test]
fn it_tells_what_it_is() {
    let filter = built(0.01, 0, 1000);
    let told = "fuse: 1000 keys, 1472 bytes, fingerprints of 7 bits in 1 shard, rate 7.813e-3, 1.000e-2 asked for";
    assert_eq!(filter.to_string(), told);
    assert_eq!((filter.estimate(), filter.fill()), (1000, 1.0));
}
