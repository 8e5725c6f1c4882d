//! What `AnyFilter` adds to the kinds: knowing which it is, and refusing what that cannot do.

use super::*;
#[cfg(feature = "bitmap")]
use crate::filter::Bitmap;
use crate::filter::{Blocked, BuildMode, Classic, Fuse, Windowed};
use crate::{Spec, Window};

#[test]
fn numbers_are_frozen() {
    let mut numbers: Vec<_> = Kind::ALL.iter().map(|kind| (kind.id(), kind.name())).collect();
    numbers.sort_unstable();
    let frozen = [
        (1, "classic"),
        (2, "blocked"),
        (3, "counting"),
        (4, "scalable"),
        (5, "windowed"),
        (6, "fuse"),
        (7, "bitmap"),
        (8, "cascade"),
        (9, "sharded"),
        (10, "ribbon"),
        (11, "quotient"),
    ];
    assert_eq!(numbers, frozen);
    assert!(Kind::ALL.iter().all(|kind| Kind::from_id(kind.id()) == Some(*kind)));
    assert_eq!([0, 12, u16::MAX].map(Kind::from_id), [None; 3]);
}

#[test]
fn unlike_kinds_do_not_merge() {
    let spec = Spec::new(100, 0.01).unwrap();
    let mut classic = AnyFilter::from(Classic::new(spec).unwrap());
    let blocked = AnyFilter::from(Blocked::new(spec).unwrap());
    let error = classic.union(&blocked).unwrap_err();
    assert_eq!(error.to_string(), "unlike filters: kinds are classic here and blocked there");
    assert_eq!(classic.intersect(&blocked), Err(error));
}

#[test]
fn what_a_kind_cannot_do_is_refused_by_name() {
    let spec = Spec::new(100, 0.01).unwrap();
    let mut fuse = AnyFilter::from(Fuse::with_spec(spec, 0..100u64).unwrap());
    let error = fuse.insert("ada").unwrap_err();
    assert_eq!(error.to_string(), "a fuse filter is built from all keys at once: build it again");
    assert_eq!([fuse.clear(), fuse.insert_batch(&[]).map(|_| ())], [Err(error); 2]);
    let other = fuse.clone();
    assert!(fuse.union(&other).is_err() && fuse.intersect(&other).is_err());
    assert!(fuse.contains(1u64), "nothing was lost");
    assert!(fuse.remove(1u64).is_err());

    let mut window = AnyFilter::from(Windowed::new(spec, Window::span(60, 1)).unwrap());
    assert!(window.insert("ada").is_err());
    assert_eq!(window.insert_at("ada", 1000), Ok(true));
    assert!(window.contains("ada") && window.contains_at("ada", 1060));
    assert!(!window.contains_at("ada", 2000));
}

#[cfg(feature = "bitmap")]
#[test]
fn an_exact_set_has_no_hashes() {
    let mut ids = AnyFilter::from(Bitmap::new());
    assert_eq!(ids.insert(7u8), Ok(true));
    assert!(ids.insert("ada").is_err() && !ids.contains("ada") && ids.contains(7u64));
    let hash = Hash(7);
    assert!(ids.hash(7u8).is_err() && ids.contains_hash(hash).is_err());
    assert!(ids.contains_batch(&[hash], &mut Vec::new()).is_err());
    assert!(ids.insert_batch(&[hash]).is_err());
    assert_eq!((ids.remove(7u8), ids.keys(), ids.scheme()), (Ok(true), 0, None));
}

#[test]
fn any_filter_answers_as_its_kind_does() {
    let spec = Spec::new(100, 0.1).unwrap();
    let mut kind = Blocked::new(spec).unwrap();
    let mut any = AnyFilter::from(Blocked::new(spec).unwrap());
    for key in 0..100u64 {
        assert_eq!(any.insert(key), Ok(kind.insert(key)));
    }
    let hashes: Vec<_> = (0..1000u64).map(|key| any.hash(key).unwrap()).collect();
    let (mut answers, mut want) = (Vec::new(), Vec::new());
    any.contains_batch(&hashes, &mut answers).unwrap();
    kind.contains_batch(&hashes, &mut want);
    assert_eq!(answers, want);
    assert_eq!(
        (any.keys(), any.estimate(), any.fill()),
        (kind.keys(), kind.estimate(), kind.fill())
    );
    assert_eq!((any.capacity(), any.fpr(), any.fpr_now()), (100, 0.1, kind.fpr_now()));
    assert_eq!((any.bytes(), any.to_string()), (kind.as_bytes().len() as u64, kind.to_string()));
    any.clear().unwrap();
    assert_eq!((any.keys(), any.contains(1u64)), (0, false));
}

/// A spec and the hashes of keys for it.
fn thousand() -> (Spec, Vec<Hash>) {
    let spec = Spec::new(1_000, 0.01).unwrap();
    (spec, (0..1_000u64).map(|key| spec.scheme().hash(key)).collect())
}

/// The kinds that this build has.
fn built() -> impl Iterator<Item = Kind> {
    Kind::ALL.iter().copied().filter(|kind| cfg!(feature = "bitmap") || *kind != Kind::Bitmap)
}

#[test]
fn every_kind_is_made_by_its_name() {
    for kind in built() {
        let ((spec, mut hashes), kind_spec) = (thousand(), KindSpec::of(kind));
        assert_eq!(kind_spec.kind(), kind);
        let empty = AnyFilter::create(&kind_spec, spec);
        assert_eq!(empty.is_ok(), kind.traits().inserts, "{kind}");
        if let Ok(mut filter) = empty {
            assert_eq!((filter.kind(), filter.keys()), (kind, 0));
            assert_eq!(filter.insert(7u64), Ok(true), "{kind}");
            assert_eq!(filter.remove(7u64).is_ok(), kind.traits().removes, "{kind}");
            let other = filter.clone();
            assert_eq!(filter.union(&other).is_ok(), kind.traits().merges, "{kind}");
        }
        let full = AnyFilter::from_hashes(&kind_spec, spec, &mut hashes);
        assert_eq!(full.is_ok(), kind.traits().build != BuildMode::Integers, "{kind}");
        if let Ok(filter) = full {
            assert_eq!(filter.kind(), kind);
            assert!((990..=1_000).contains(&filter.keys()), "{kind}: {}", filter.keys());
            assert!((0..1_000u64).all(|key| filter.contains(key)), "{kind}");
            let passes = AnyFilter::from_passes(&kind_spec, spec, 100, |keep| {
                hashes.iter().for_each(|hash| keep(*hash));
            });
            assert!((0..1_000u64).all(|key| passes.as_ref().unwrap().contains(key)), "{kind}");
        }
    }
}

#[test]
fn new_keys_are_told_from_known_ones_in_every_kind() {
    for kind in built().filter(|kind| kind.traits().inserts) {
        let (spec, hashes) = thousand();
        let mut filter = AnyFilter::create(&kind.into(), spec).unwrap();
        let (mut new, twice) = (Vec::new(), [&hashes[..10], &hashes[..10]].concat());
        let taken = filter.insert_batch_new(&twice, 5, &mut new);
        if kind.traits().build == BuildMode::Integers {
            assert!(taken.is_err());
            continue;
        }
        let want: Vec<bool> = (0..20).map(|at| at < 10).collect();
        assert_eq!((taken, new), (Ok(()), want), "{kind}");
    }
}

#[test]
fn numbers_tell_what_is_in() {
    for kind in Kind::ALL.iter().copied() {
        let (spec, mut hashes) = thousand();
        let Ok(filter) = AnyFilter::from_hashes(&kind.into(), spec, &mut hashes) else { continue };
        let stats = filter.stats(Moment::LAST);
        assert_eq!(stats.sizes, filter.sizes(Moment::LAST));
        let sizes = stats.sizes;
        assert_eq!((sizes.kind, sizes.keys, sizes.bytes), (kind, filter.keys(), filter.bytes()));
        assert_eq!((sizes.capacity, sizes.fpr), (filter.capacity(), filter.fpr()));
        // The one that grows and does not promise the rate.
        let grows = kind.traits().grows || kind == Kind::Quotient;
        assert_eq!(sizes.growth.is_some(), grows, "{kind}");
        assert_eq!(sizes.window.is_some(), kind == Kind::Windowed);
        assert!((900..1100).contains(&stats.estimate), "{kind}: {}", stats.estimate);
        assert!(stats.fpr_now < 0.0101 && stats.overfull().is_none(), "{kind}");
        let layers = filter.layer_stats();
        assert_eq!(layers.iter().map(|layer| layer.bytes).sum::<u64>(), filter.bytes(), "{kind}");
        assert_eq!(layers.iter().map(|layer| layer.keys).sum::<u64>(), filter.keys(), "{kind}");
    }
}

#[test]
fn more_keys_than_planned_are_noticed_where_the_rate_climbs() {
    for kind in built().filter(|kind| kind.traits().inserts) {
        let (_, hashes) = thousand();
        let kind_spec = match KindSpec::of(kind) {
            KindSpec::Sharded { .. } => KindSpec::Sharded { shards: 2 },
            usual => usual,
        };
        let mut filter = AnyFilter::create(&kind_spec, Spec::new(100, 0.01).unwrap()).unwrap();
        if filter.insert_batch(&hashes).is_err() {
            continue; // a set of integers
        }
        let overfull = filter.stats(Moment::LAST).overfull();
        // A window of keys forgets, and what grows has room.
        let forgets = kind == Kind::Windowed || kind.traits().grows;
        assert_eq!(overfull.is_none(), forgets, "{kind}: {overfull:?}");
        if let Some(overfull) = overfull {
            assert_eq!(overfull.keys, filter.keys());
            // The lines of a quotient filter are whole, and all of them are for its rate.
            assert!((100..150).contains(&overfull.capacity), "{kind}: {}", overfull.capacity);
            assert!(overfull.fpr_now > overfull.fpr && overfull.generations.is_none());
        }
    }
    let mut window = Windowed::new(Spec::new(4, 0.01).unwrap(), Window::span(1 << 40, 1)).unwrap();
    let (_, hashes) = thousand();
    (0..1 << 20).step_by(1000).for_each(|at| {
        let more: Vec<Hash> = hashes.iter().map(|hash| Hash(hash.0.wrapping_add(at))).collect();
        window.insert_batch(&more, at);
    });
    let overfull = AnyFilter::from(window).stats(1 << 20).overfull();
    assert_eq!(overfull.and_then(|overfull| overfull.generations), Some(1));
}
