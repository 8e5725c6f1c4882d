use super::super::growing::{Layer as _, Outcome};
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

/// A layer is full at its capacity, give or take what its stripes have not told of yet.
#[test]
fn layers_hold_their_capacity_and_hardly_more() {
    for capacity in [1, 10, 1_000, 50_000, 300_000] {
        let seen = Scalable::with_rate(capacity, 0.001).unwrap().into_shared();
        let mut key = 0;
        while seen.layers() == 1 {
            seen.insert(key);
            key += 1;
        }
        let about = capacity - capacity / 100..=capacity + capacity / 100;
        assert!(about.contains(&(seen.keys() - 1)), "{capacity}: {seen}");
    }
}

#[test]
fn where_it_cannot_grow_keys_go_on_into_the_newest_layer() {
    let mut first = Scalable::with_rate(1_000, 0.01).unwrap();
    first.extend(0..990u64);
    let mut seen = first.into_shared();
    // No place for another layer.
    seen.layers =
        Layers::new(seen.layers.into_slots().filter_map(OnceLock::into_inner).collect(), 0);
    (&seen).extend(0..5_000u64);
    assert_eq!(seen.layers(), 1);
    assert!(seen.keys() > 3_000 && (0..5_000u64).all(|key| seen.contains(key)), "{seen}");
    // Nobody tries again with each key.
    let newest = seen.layers.newest_first::<Box<Growable>>().next().unwrap();
    newest.postpone();
    assert_eq!(newest.insert(seen.hash("new"), false), Outcome::New);
}

/// Older layers do not change, so they are asked with the fast kernels, and both say the same.
#[test]
fn sealed_layers_answer_as_before() {
    let seen = Scalable::with_rate(100, 0.01).unwrap().into_shared();
    (0..2_000u64).for_each(|key| _ = seen.insert(key));
    let (snapshot, keys) = (seen.snapshot().unwrap(), 0..20_000u64);
    assert_eq!(
        seen.growables().filter(|layer| layer.sealed().is_some()).count() + 1,
        seen.layers()
    );
    assert!(keys.clone().all(|key| seen.contains(key) == snapshot.contains(key)));
    let hashes = seen.hash_batch(&keys.collect::<Vec<_>>());
    let (mut shared, mut plain) = (Vec::new(), Vec::new());
    seen.contains_batch(&hashes, &mut shared);
    snapshot.contains_batch(&hashes, &mut plain);
    assert_eq!(shared, plain);
    // A sealed layer takes nothing more, whatever it is asked to.
    let oldest = seen.layers.newest_first::<Box<Growable>>().last().unwrap();
    let absent =
        (0..).map(|key| seen.hash(("x", key))).find(|hash| !oldest.contains(*hash)).unwrap();
    assert_eq!(oldest.insert(absent, true), Outcome::Closed);
    assert!(!oldest.contains(absent));
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
