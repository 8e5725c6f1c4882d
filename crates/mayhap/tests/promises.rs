//! What every kind promises, whatever it is: a key that went in is found, also in a filter that
//! is far too full, also after it was saved and opened again.

use mayhap::cascade::{CascadeOptions, FirstLayer};
use mayhap::format::{Metadata, verify};
use mayhap::scheme::Scheme;
use mayhap::window::Moment;
use mayhap::{
    AnyFilter, Blocked, Cascade, Classic, Counting, Fuse, Hash, Kind, Scalable, Secret, Sharded,
    Spec, SpecError, Window, Windowed,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A filter of each kind that takes keys one by one, made for `spec`.
fn empty(spec: Spec) -> Result<Vec<AnyFilter>, SpecError> {
    Ok(vec![
        Classic::new(spec)?.into(),
        Blocked::new(spec)?.into(),
        Counting::new(spec)?.into(),
        Scalable::new(spec)?.into(),
        Windowed::new(spec, Window::span(1_000, 4))?.into(),
        Sharded::new(spec, 5)?.into(),
    ])
}

/// Larger where `cargo xtask soak` asks for it.
fn soaking() -> bool {
    std::env::var_os("MAYHAP_SOAK").is_some()
}

proptest! {
    #[test]
    fn what_went_in_is_found(
        keys in vec(vec(any::<u8>(), 0..40), 0..300),
        capacity in 1u64..200, // overfull more often than not
        fpr in 1e-9f64..0.9,
        seed in any::<u64>(),
        secret in proptest::option::of(any::<[u8; 16]>()),
    ) {
        let spec = Spec::new(capacity, fpr)?.with_seed(seed);
        let secret = secret.map(Secret::from_bytes);
        let spec = secret.map_or(spec, |secret| spec.with_secret(secret));
        let mut filters = empty(spec)?;
        for filter in &mut filters {
            for key in &keys {
                filter.insert_at(key, Moment::ticks(7))?;
            }
        }
        filters.push(Fuse::with_spec(spec, &keys)?.into());
        let others = (0..300u64).map(u64::to_be_bytes).filter(|key| !keys.contains(&key.to_vec()));
        filters.push(Cascade::with_options(spec, Default::default(), &keys, others)?.into());
        for filter in filters {
            prop_assert!(keys.iter().all(|key| filter.contains_at(key, Moment::ticks(7))), "{}", filter.kind());
            let file = filter.encode(&Metadata::new());
            prop_assert_eq!(verify(&file)?.keys, filter.keys());
            let opened = AnyFilter::open(&file, secret)?;
            prop_assert!(keys.iter().all(|key| opened.contains_at(key, Moment::ticks(7))), "{}", filter.kind());
            let decoded = AnyFilter::decode(&file, secret)?;
            prop_assert_eq!(&decoded.encode(&Metadata::new()), &file);
            // Absent keys get the same answers, false positives included.
            for absent_key in 0..500u64 {
                let want = filter.contains_at(absent_key, Moment::ticks(7));
                prop_assert_eq!(opened.contains_at(absent_key, Moment::ticks(7)), want);
                prop_assert_eq!(decoded.contains_at(absent_key, Moment::ticks(7)), want);
            }
        }
    }

    #[test]
    fn no_argument_brings_it_down(
        capacity in any::<u64>(), fpr in any::<f64>(), key in any::<Vec<u8>>(), now in any::<u64>(),
    ) {
        if let Ok(spec) = Spec::new(capacity % 100_000, fpr) {
            for mut filter in empty(spec)? {
                filter.insert_at(&key, Moment::ticks(now))?;
                prop_assert!(filter.contains_at(&key, Moment::ticks(now)));
                _ = (filter.fill(), filter.estimate(), filter.fpr_now(), filter.to_string());
            }
        }
    }
}

#[test]
fn unlike_kinds_do_not_merge() -> Result<(), SpecError> {
    let spec = Spec::new(100, 0.01)?;
    let mut blocked: AnyFilter = Blocked::new(spec)?.into();
    let classic: AnyFilter = Classic::new(spec)?.into();
    let said = blocked.union(&classic).map_err(|error| error.to_string());
    assert_eq!(said, Err("unlike filters: kinds are blocked here and classic there".into()));
    assert_eq!(blocked.kind(), Kind::Blocked);
    Ok(())
}

/// Who knows the hash can choose keys that set only clear bits, and drive the rate up. Who does
/// not know the secret cannot.
#[test]
fn chosen_keys_hurt_a_seeded_filter_but_not_a_keyed_one() -> Result<(), SpecError> {
    let spec = Spec::new(1_000, 0.01)?;
    let secret = Secret::from_bytes(*b"not in the open!");
    // The attacker's own copy, with the public hash.
    let mut mirror = Classic::new(spec)?;
    let mut seeded = Classic::new(spec)?;
    let mut keyed = Classic::new(spec.with_secret(secret))?;
    let mut chosen = Vec::new();
    for candidate in 0u64.. {
        let before = mirror.fill();
        let mut tried = mirror.clone();
        tried.insert(candidate);
        let gained = ((tried.fill() - before) * mirror.shape().bits as f64).round() as u32;
        if gained == mirror.shape().probes || candidate > 40_000 {
            mirror = tried;
            chosen.push(candidate);
        }
        if chosen.len() == 1_000 {
            break;
        }
    }
    for key in &chosen {
        seeded.insert(key);
        keyed.insert(key);
    }
    // The control: the attack works where it can.
    assert!(seeded.fpr_now() > 0.03, "{}", seeded.fpr_now());
    assert!(keyed.fpr_now() < 0.0125, "{}", keyed.fpr_now());
    let lookups = if soaking() { 1_000_000 } else { 20_000 };
    // Queries that the attacker knows to be hits of the public hash: no better than chance.
    let forged: Vec<u64> = (1_000_000..).filter(|key| seeded.contains(key)).take(lookups).collect();
    let hits = forged.iter().filter(|key| keyed.contains(key)).count();
    let rate = hits as f64 / forged.len() as f64;
    assert!(rate < 1.1 * keyed.fpr_now() + 5.0 * (0.01f64 / forged.len() as f64).sqrt(), "{rate}");
    println!(
        "soak: keyed, {} chosen keys at 1%: rate {:.2}%; {} of {} forged lookups hit",
        chosen.len(),
        100.0 * keyed.fpr_now(),
        hits,
        forged.len()
    );
    println!(
        "control: with a public hash the same keys give {:.2}%, and every forged lookup hits",
        100.0 * seeded.fpr_now()
    );
    Ok(())
}

/// Random flips in a file too large to try them all.
#[test]
fn flips_in_a_large_file_are_found() -> Result<(), Box<dyn std::error::Error>> {
    let (keys, flips) = if soaking() { (80_000_000, 5_000) } else { (800_000, 500) };
    let mut filter = Blocked::new(Spec::new(keys, 0.01)?)?;
    (0..100_000u64).for_each(|key| _ = filter.insert(key));
    let mut file = filter.encode(&Metadata::new());
    verify(&file)?;
    let mut state = 1u64;
    for _ in 0..flips {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let at = ((state >> 32) as usize * 8191 + (state >> 20) as usize) % file.len();
        let bit = 1 << (state >> 61);
        file[at] ^= bit;
        assert!(verify(&file).is_err(), "bit {bit:#x} of byte {at}");
        file[at] ^= bit;
    }
    verify(&file)?;
    println!("soak: {flips} random flips in a file of {} bytes: every one detected", file.len());
    println!("control: the file with every flip undone verifies");
    Ok(())
}

/// Past 2³² bits and 4 GiB nothing wraps around. Gigabytes: only where `soak` asks for it.
#[test]
fn huge_filters_find_every_key() -> Result<(), SpecError> {
    let capacity = if soaking() { 4_000_000_000 } else { 4_000_000 };
    let keys = if soaking() { 1_000_000_000 } else { 500_000 };
    let mut blocked = Blocked::new(Spec::new(capacity, 0.01)?)?;
    let (mut hashes, mut answers) = (Vec::new(), Vec::new());
    let mut highest = 0;
    for first in (0..keys).step_by(8192) {
        let batch: Vec<u64> = (first..keys.min(first + 8192)).collect();
        blocked.scheme().hash_batch(&batch, &mut hashes);
        blocked.insert_batch(&hashes);
        highest = highest.max(hashes.iter().map(|hash| hash.to_u64()).max().unwrap_or(0));
    }
    for first in (0..keys).step_by(8192) {
        let batch: Vec<u64> = (first..keys.min(first + 8192)).collect();
        blocked.scheme().hash_batch(&batch, &mut hashes);
        blocked.contains_batch(&hashes, &mut answers);
        assert!(answers.iter().all(|answer| *answer));
    }
    // The far end was written, and the estimate sees all of it.
    assert!(highest > u64::MAX / 1000 * 999);
    let last = blocked.as_bytes().chunks(1 << 16).next_back().unwrap_or_default();
    assert!(last.iter().any(|byte| *byte != 0));
    assert!(blocked.estimate().abs_diff(keys) < keys / 500, "{}", blocked.estimate());
    println!("soak: {keys} keys in a filter of {} bytes: none missing", blocked.as_bytes().len());
    // The control: keys that were not inserted are absent.
    let passed = (1 << 40..(1 << 40) + 1_000_000u64).filter(|key| blocked.contains(*key)).count();
    assert!(passed < 15_000, "{passed}");
    println!("control: {passed} of 1000000 keys that were not inserted are taken for members");
    Ok(())
}

/// Zero errors on both lists, a million keys against ten; smaller where nobody asks for more.
#[test]
fn a_cascade_is_exact_on_both_lists() -> Result<(), Box<dyn std::error::Error>> {
    let (included, excluded) =
        if soaking() { (1_000_000, 10_000_000) } else { (100_000, 1_000_000) };
    for making in [CascadeOptions::default(), CascadeOptions::default().with_blocked()] {
        let spec = Spec::new(included, 0.01)?;
        let hashes = |first: u64, count: u64| -> Vec<Hash> {
            (first..first + count).map(|key| spec.scheme().hash(key)).collect()
        };
        let (include, exclude) = (hashes(0, included), hashes(1 << 40, excluded));
        let filter = Cascade::build(
            spec,
            making.with_max_hashes(included as usize),
            |each| include.chunks(10_000).for_each(each),
            |each| exclude.chunks(10_000).for_each(each),
        )?;
        let file = filter.encode(&Metadata::new());
        let opened = Cascade::open(&file[..], None)?;
        let mut answers = Vec::new();
        opened.contains_batch(&include, &mut answers);
        assert!(answers.iter().all(|answer| *answer), "an included key is missing");
        opened.contains_batch(&exclude, &mut answers);
        assert!(!answers.iter().any(|answer| *answer), "an excluded key is taken for an included");
        // Lines take half as much again as an ideal first layer, a ribbon a hundredth, or two below a
        // million keys.
        let most = match filter.first() {
            FirstLayer::Ribbon(_) if soaking() => 1.02,
            FirstLayer::Ribbon(_) => 1.03,
            _ => 1.55,
        };
        let bound = mayhap::sizing::cascade_bound(included, excluded, filter.fpr_now());
        let bits = filter.bytes() as f64 * 8.0 / included as f64;
        assert!(bits < most * bound, "{bits} bits per key of {bound}");
    }
    Ok(())
}
