//! What `AnyFilter` adds to the kinds: knowing which it is, and refusing what that cannot do.

use super::*;
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
    ];
    assert_eq!(numbers, frozen);
    assert!(Kind::ALL.iter().all(|kind| Kind::from_id(kind.id()) == Some(*kind)));
    assert_eq!([0, 11, u16::MAX].map(Kind::from_id), [None; 3]);
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
    let mut fuse = AnyFilter::from(Fuse::from_keys(spec, 0..100u64).unwrap());
    let error = fuse.insert("ada").unwrap_err();
    assert_eq!(error.to_string(), "a fuse filter is built from all keys at once: build it anew");
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
