use super::*;
use crate::format::Metadata;
use crate::{Contains, Insert, Kind, Remove, Secret, Unsupported};
use std::rc::Rc;
use std::sync::Arc;

/// A filter of every kind that takes integers, empty, and one of each static kind with 0 to 99.
fn kinds() -> Vec<AnyFilter> {
    vec![
        Blocked::with_rate(1_000, 0.01).unwrap().into(),
        Classic::with_rate(1_000, 0.01).unwrap().into(),
        Counting::with_rate(1_000, 0.01).unwrap().into(),
        Scalable::with_rate(10, 0.01).unwrap().into(),
        Sharded::with_rate(1_000, 0.01, 3).unwrap().into(),
        Windowed::with_rate(1_000, 0.01, Window::last_keys(3)).unwrap().into(),
        #[cfg(feature = "bitmap")]
        Bitmap::new().into(),
    ]
}

fn static_kinds() -> Vec<AnyFilter> {
    let spec = Spec::new(100, 0.01).unwrap();
    vec![
        Fuse::from_keys(0.01, 0..100u64).unwrap().into(),
        Ribbon::from_keys(0.01, 0..100u64).unwrap().into(),
        Cascade::from_keys(spec.fpr(), 0..100u64, 100..1000u64).unwrap().into(),
    ]
}

/// Every kind as what generic code sees of it, in a box.
fn boxed(filter: AnyFilter) -> Box<dyn Contains> {
    match filter {
        AnyFilter::Blocked(filter) => Box::new(filter),
        AnyFilter::Classic(filter) => Box::new(filter),
        AnyFilter::Counting(filter) => Box::new(filter),
        AnyFilter::Quotient(filter) => Box::new(filter),
        AnyFilter::Scalable(filter) => Box::new(filter),
        AnyFilter::Sharded(filter) => Box::new(filter),
        AnyFilter::Windowed(filter) => Box::new(filter),
        AnyFilter::Fuse(filter) => Box::new(filter),
        AnyFilter::Ribbon(filter) => Box::new(filter),
        AnyFilter::Cascade(filter) => Box::new(filter),
        #[cfg(feature = "bitmap")]
        AnyFilter::Bitmap(filter) => Box::new(filter),
    }
}

#[test]
fn every_kind_answers_through_the_traits_as_by_itself() {
    let mut all = kinds();
    for filter in &mut all {
        assert!(filter.is_empty(), "{filter:?}");
        assert_eq!(filter.try_insert(0u64), Ok(true));
        assert!((1..100u64).all(|key| filter.try_insert_bytes(&key.to_le_bytes()).is_ok()));
        assert!(!filter.is_empty(), "{filter:?}");
    }
    all.extend(static_kinds());
    let bytes: Vec<_> = (0..3000u64).map(u64::to_le_bytes).collect();
    let keys: Vec<&[u8]> = bytes.iter().map(|key| &key[..]).collect();
    for filter in all {
        let want: Vec<bool> = (0..3000u64).map(|key| filter.contains(key)).collect();
        assert!(want[..100].iter().all(|yes| *yes) && want.iter().any(|yes| !yes));
        let mut answers = vec![true];
        filter.contains_bytes_batch(&keys, &mut answers);
        assert_eq!(answers, want, "{filter:?}");
        let filter = boxed(filter);
        filter.contains_bytes_batch(&keys, &mut answers);
        assert_eq!(answers, want);
        let one_by_one: Vec<bool> = keys.iter().map(|key| filter.contains_bytes(key)).collect();
        assert_eq!(one_by_one, want);
        let typed: Vec<bool> = (0..3000u32).map(|key| filter.contains(key)).collect();
        assert_eq!(typed, want);
    }
}

fn has(filter: impl Contains, key: u64) -> bool {
    filter.contains(key)
}

#[test]
fn pointers_are_filters_too() {
    let mut filter = Blocked::with_rate(10, 0.001).unwrap();
    assert_eq!(Insert::try_insert(&mut &mut filter, 7), Ok(true));
    let mut boxed: Box<dyn Insert> = Box::new(filter.clone());
    assert_eq!(boxed.try_insert(8), Ok(true));
    assert!(has(&filter, 7) && has(&boxed, 8) && !has(&filter, 8));
    assert!(has(Rc::new(filter.clone()), 7) && has(Arc::new(filter.clone()), 7));
    let mut shared = Arc::new(filter.into_shared());
    let mut other = Arc::clone(&shared);
    assert_eq!(other.try_insert(9), Ok(true));
    assert_eq!(Insert::try_insert(&mut &*shared, 9), Ok(false));
    assert_eq!(shared.try_insert_bytes(&9u64.to_le_bytes()), Ok(false));
    assert!(has(&shared, 9) && has(shared, 7));
}

#[test]
fn what_a_kind_cannot_do_is_an_error_with_its_name() {
    let said = |done: Result<bool, Unsupported>| done.unwrap_err().to_string();
    let mut fuse = AnyFilter::from(Fuse::from_keys(0.01, ["ada"]).unwrap());
    assert_eq!(
        said(fuse.try_insert("eve")),
        "a fuse filter is built from all keys at once: build it again"
    );
    let mut window =
        Windowed::with_rate(100, 0.01, Window::time(std::time::Duration::from_secs(60), 4))
            .unwrap();
    assert!(said(window.try_insert("eve")).contains("of time must be told it"));
    assert!(window.is_empty());
    let mut blocked = AnyFilter::from(Blocked::with_rate(10, 0.01).unwrap());
    assert!(said(blocked.try_remove("eve")).contains("cannot give keys up"));
    let mut packet = crate::packet::Packet::<4, 3>::new().with_limit(3);
    packet.try_insert("ada").unwrap();
    assert!(said(packet.try_insert("eve")).contains("is at its limit"));
    for mut filter in [
        Box::new(Counting::with_rate(10, 0.001).unwrap()) as Box<dyn Remove>,
        Box::new(Quotient::with_rate(10, 0.001).unwrap()),
    ] {
        assert_eq!(filter.try_insert("ada"), Ok(true));
        assert_eq!(filter.try_remove("ada"), Ok(true));
        assert_eq!(filter.try_remove("ada"), Ok(false));
    }
}

#[test]
fn extending_is_inserting() {
    fn extended<F: Extend<u64> + Contains>(mut filter: F) {
        filter.extend(0..5_000u64);
        assert!((0..5_000u64).all(|key| filter.contains(key)));
    }
    extended(Blocked::with_rate(5_000, 0.01).unwrap());
    extended(Classic::with_rate(5_000, 0.01).unwrap());
    extended(Counting::with_rate(5_000, 0.01).unwrap());
    extended(Quotient::with_rate(5_000, 0.01).unwrap());
    extended(Scalable::with_rate(100, 0.01).unwrap());
    extended(Sharded::with_rate(5_000, 0.01, 2).unwrap());
    extended(&Blocked::with_rate(5_000, 0.01).unwrap().into_shared());
    let mut words = Blocked::with_rate(10, 0.01).unwrap();
    words.extend(["ada", "bob"]);
    assert_eq!(words.keys(), 2);
}

#[test]
fn equal_filters_are_the_same_file_wherever_they_are() {
    let mut all = kinds();
    all.iter_mut().for_each(|filter| (0..50u64).for_each(|key| _ = filter.insert(key).unwrap()));
    all.extend(static_kinds());
    for (i, filter) in all.iter().enumerate() {
        let file = filter.encode(&Metadata::new());
        assert!(*filter == AnyFilter::open(&file, None).unwrap());
        assert_eq!(*filter, AnyFilter::decode(&file, None).unwrap());
        assert_eq!(all.iter().filter(|other| *other == filter).count(), 1);
        let mut other = filter.clone();
        if other.insert(1_000_001u64).is_ok() {
            assert_ne!(*filter, other, "{i}");
        }
    }
    let spec = Spec::new(100, 0.01).unwrap();
    let empty = |spec| Blocked::new(spec).unwrap();
    assert_eq!(empty(spec), empty(spec));
    assert_ne!(empty(spec), empty(spec.with_seed(1)));
    assert_ne!(empty(spec), empty(spec.with_secret(Secret::from_bytes([1; 16]))));
    assert_eq!(Quotient::new(spec).unwrap(), Quotient::new(spec).unwrap());
    let mut quotient = Quotient::new(spec).unwrap();
    quotient.insert("ada");
    assert_ne!(quotient, Quotient::new(spec).unwrap());
}

#[test]
fn debug_is_one_line_of_what_matters() {
    let mut seen = Blocked::with_rate(1_000, 0.01).unwrap();
    seen.insert("ada");
    assert_eq!(format!("{seen:?}"), "Blocked { keys: 1, capacity: 1000, fpr: 0.01, bytes: 1280 }");
    assert_eq!(format!("{:#?}", AnyFilter::from(seen.clone())), format!("{seen:?}"));
    for filter in kinds().into_iter().chain(static_kinds()) {
        let (debug, display) = (format!("{filter:#?}"), filter.to_string());
        assert!(!debug.contains('\n') && debug.len() < 100, "{debug}");
        assert!(!display.contains('\n'), "{display}");
        let name = filter.kind().name();
        assert!(debug.to_lowercase().starts_with(name) && display.starts_with(name), "{debug}");
    }
    let quotient = Quotient::with_rate(1_000, 0.01).unwrap();
    assert!(format!("{quotient:?}").starts_with("Quotient { keys: 0, capacity: "));
}

#[test]
fn a_filter_for_no_keys_is_an_empty_filter() {
    let seen = Blocked::with_rate(0, 0.01).unwrap();
    assert!(seen.is_empty() && !seen.contains("ada"));
    for filter in [Fuse::from_keys(0.01, [0u64; 0]).unwrap().into(), empty_ribbon()] {
        let filter: AnyFilter = filter;
        assert!(filter.is_empty() && !filter.contains("ada"), "{filter:?}");
        let file = filter.encode(&Metadata::new());
        assert!(AnyFilter::decode(&file, None).unwrap().is_empty());
    }
    assert!(Scalable::with_rate(0, 0.01).unwrap().is_empty());
    assert!(Classic::with_rate(0, 0.01).unwrap().is_empty());
    assert!(Kind::ALL.len() >= 10);
}

fn empty_ribbon() -> AnyFilter {
    Ribbon::from_keys(0.01, [""; 0]).unwrap().into()
}

#[test]
fn compatible_filters_are_those_that_merge() {
    let spec = Spec::new(1_000, 0.01).unwrap();
    let specs = [spec, spec.with_seed(1), Spec::new(5_000, 0.01).unwrap(), spec];
    let of_each = |make: fn(Spec) -> AnyFilter| specs.map(make);
    let mut all: Vec<AnyFilter> = [
        of_each(|spec| Blocked::new(spec).unwrap().into()),
        of_each(|spec| Classic::new(spec).unwrap().into()),
        of_each(|spec| Counting::new(spec).unwrap().into()),
        of_each(|spec| Scalable::new(spec).unwrap().into()),
        of_each(|spec| Sharded::new(spec, 2).unwrap().into()),
        of_each(|spec| Windowed::new(spec, Window::last_keys(2)).unwrap().into()),
    ]
    .into_iter()
    .flatten()
    .collect();
    all.extend(static_kinds());
    for ours in &all {
        for theirs in &all {
            let merged = ours.clone().union(theirs);
            // Scalable filters of other capacities fit while the rate allows.
            if !matches!(ours, AnyFilter::Scalable(_)) || ours.capacity() == theirs.capacity() {
                assert_eq!(ours.is_compatible(theirs), merged.is_ok(), "{ours:?} and {theirs:?}");
            }
        }
    }
    let quotients = specs.map(|spec| Quotient::new(spec).unwrap());
    let likes = quotients.each_ref().map(|other| quotients[0].is_compatible(other));
    assert_eq!(likes, [true, false, false, true]);
}
