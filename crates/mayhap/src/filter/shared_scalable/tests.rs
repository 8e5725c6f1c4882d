use super::*;
use crate::format::{Metadata, verify};

/// Many writers over many growths: none of their keys is lost, and the layers are about those that
/// one writer makes.
#[test]
fn growing_under_many_writers_loses_no_key() {
    const KEYS: u64 = if cfg!(miri) { 300 } else { 200_000 };
    const THREADS: u64 = 16;
    for growth in [2, 4] {
        let spec = Spec::new(50, 0.01).unwrap().with_seed(growth.into());
        let seen = Scalable::new(spec).unwrap().with_growth(growth).unwrap().into_shared();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let seen = &seen;
                scope.spawn(move || {
                    let keys: Vec<u64> = (thread..KEYS).step_by(THREADS as usize).collect();
                    for (i, keys) in keys.chunks(300).enumerate() {
                        if i % 2 == 0 {
                            keys.iter().for_each(|key| _ = seen.insert(key));
                        } else {
                            seen.insert_batch(&seen.hash_batch(keys));
                        }
                        assert!(keys.iter().all(|key| seen.contains(key)));
                    }
                });
            }
        });
        assert!((0..KEYS).all(|key| seen.contains(key)));
        let keys: Vec<u64> = (0..KEYS).collect();
        let mut answers = Vec::new();
        seen.contains_batch(&seen.hash_batch(&keys), &mut answers);
        assert!(answers.len() == keys.len() && answers.iter().all(|yes| *yes));
        let mut alone = Scalable::new(spec).unwrap().with_growth(growth).unwrap();
        alone.extend(0..KEYS);
        assert_eq!(seen.layers(), alone.layers().len());
        assert!(seen.fpr_now() < 0.011, "{seen}");
        assert!(seen.keys().abs_diff(KEYS) < KEYS / 50 + 20, "{seen}");
        assert!(seen.estimate().abs_diff(KEYS) < KEYS / 20 + 40, "{} of {seen}", seen.estimate());
        let (keys, layers) = (seen.keys(), seen.layers());
        let file = seen.snapshot().unwrap().encode(&Metadata::new());
        let plain = seen.into_inner();
        assert_eq!((plain.keys(), plain.layers().len()), (keys, layers));
        assert!(plain.encode(&Metadata::new()) == file && verify(&file).is_ok());
        assert!((0..KEYS).all(|key| plain.contains(key)));
    }
}

/// A layer is full at its capacity, or a thousandth later.
#[test]
fn layers_hold_their_capacity_and_hardly_more() {
    for capacity in [10, 1_000, 50_000] {
        let seen = Scalable::with_rate(capacity, 0.001).unwrap().into_shared();
        let mut key = 0;
        while seen.layers() == 1 {
            seen.insert(key);
            key += 1;
        }
        let most = capacity + capacity / 150 + 1;
        assert!((capacity..=most).contains(&(seen.keys() - 1)), "{capacity}: {seen}");
    }
}

#[test]
fn where_it_cannot_grow_keys_go_on_into_the_newest_layer() {
    // The most keys that there can be a filter for at this rate are few.
    let spec = Spec::new(4_000_000, 1e-12).unwrap();
    let first = Scalable::new(spec).unwrap();
    assert!(first.next_layer().is_some());
    let seen = first.into_shared();
    let newest = seen.growables().next().unwrap();
    newest.full.store(u64::MAX, Ordering::Relaxed);
    let before = newest.grow_at.load(Ordering::Relaxed);
    newest.postpone();
    assert!(
        !Box::new(Growable::of(crate::Blocked::with_rate(9, 0.1).unwrap().into_shared())).is_full()
    );
    assert!(newest.full.load(Ordering::Relaxed) == 0);
    assert_ne!(newest.grow_at.load(Ordering::Relaxed), before);
}

#[test]
fn what_was_there_before_sharing_is_there() {
    let mut seen = Scalable::with_rate(10, 0.01).unwrap();
    seen.extend(0..1_000u64);
    let (keys, text) = (seen.keys(), seen.to_string());
    let shared = seen.clone().into_shared();
    assert!((0..1_000u64).all(|key| shared.contains(key)));
    assert_eq!(shared.keys(), keys);
    assert_eq!(shared.to_string(), format!("shared {text}"));
    assert!(!format!("{shared:?}").contains('\n') && !shared.is_empty());
    assert_eq!(shared.into_inner(), seen);
    assert!(Scalable::with_rate(10, 0.01).unwrap().into_shared().is_empty());
}
