use super::*;
use crate::Hash;
use crate::format::verify;
use crate::scheme::Scheme;
use std::sync::atomic::AtomicBool;

/// What is saved while four threads write: whole files, with every key whose insert was over.
#[test]
fn saving_while_others_write_keeps_what_was_there_before() {
    const KEYS: u64 = if cfg!(miri) { 400 } else { 40_000 };
    let spec = Spec::new(KEYS, 0.001).unwrap();
    let (blocked, classic) =
        (Blocked::new(spec).unwrap().into_shared(), Classic::new(spec).unwrap().into_shared());
    let (at, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for key in 0..KEYS {
                blocked.insert(key);
                classic.insert(key);
                at.store(key, std::sync::atomic::Ordering::Release);
            }
            over.store(true, std::sync::atomic::Ordering::Release);
        });
        while !over.load(std::sync::atomic::Ordering::Acquire) {
            let before = at.load(std::sync::atomic::Ordering::Acquire);
            let (mut first, mut second) = (Vec::new(), Vec::new());
            blocked.write_to(&mut first, &Metadata::new()).unwrap();
            classic.write_to(&mut second, &Metadata::new()).unwrap();
            assert!(verify(&first).is_ok() && verify(&second).is_ok());
            let (first, second) =
                (Blocked::decode(&first, None).unwrap(), Classic::decode(&second, None).unwrap());
            let copy = blocked.snapshot().unwrap();
            for key in (0..before).step_by(37) {
                assert!(first.contains(key) && second.contains(key) && copy.contains(key), "{key}");
            }
        }
    });
    let (mut file, metadata) = (Vec::new(), Metadata::new().with_created(7));
    blocked.write_to(&mut file, &metadata).unwrap();
    assert_eq!(file.len() as u64, blocked.file_bytes(&metadata));
    let plain = blocked.into_inner();
    assert!(file == plain.encode(&metadata), "as the plain filter writes it");
    let mut file = Vec::new();
    classic.write_to(&mut file, &metadata).unwrap();
    assert_eq!(file.len() as u64, classic.file_bytes(&metadata));
    assert!(file == classic.into_inner().encode(&metadata));
}

#[test]
fn the_bits_tell_what_they_tell_the_plain_filter() {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1e-30);
    for (keys, fpr) in [(10, 0.01), (30_000, 0.01), (30_000, 1e-5), (100_001, 0.001)] {
        let spec = Spec::new(keys, fpr).unwrap();
        let (mut blocked, mut classic) = (Blocked::new(spec).unwrap(), Classic::new(spec).unwrap());
        blocked.extend(0..keys / 2);
        classic.extend(0..keys / 2);
        let shared = (blocked.clone().into_shared(), classic.clone().into_shared());
        assert!(near(shared.0.fpr_now(), blocked.fpr_now()), "{fpr}: {} {}", shared.0, blocked);
        assert!(near(shared.0.fill(), blocked.fill()));
        // Each run of lines is rounded to whole keys.
        assert!(shared.0.estimate().abs_diff(blocked.estimate()) <= 4, "{blocked}");
        assert!(
            near(shared.1.fpr_now(), classic.fpr_now()) && near(shared.1.fill(), classic.fill())
        );
        assert_eq!(shared.1.estimate(), classic.estimate());
        assert_eq!(shared.0.bytes(), blocked.as_bytes().len() as u64);
        assert!(!shared.0.is_empty() && Blocked::new(spec).unwrap().into_shared().is_empty());
        assert!(shared.0.to_string().starts_with("shared blocked: "), "{}", shared.0);
        assert!(format!("{:?}", shared.1).starts_with("Shared { classic, keys: "));
    }
}

#[test]
fn a_union_takes_everything_in_and_only_likes() {
    let spec = Spec::new(1_000, 0.001).unwrap();
    let (mut more, mut even) = (Blocked::new(spec).unwrap(), Classic::new(spec).unwrap());
    more.extend(500..1_000u64);
    even.extend(500..1_000u64);
    let (seen, also) =
        (Blocked::new(spec).unwrap().into_shared(), Classic::new(spec).unwrap().into_shared());
    (0..500u64).for_each(|key| _ = (seen.insert(key), also.insert(key)));
    seen.union(&more).unwrap();
    also.union(&even).unwrap();
    assert!((0..1_000u64).all(|key| seen.contains(key) && also.contains(key)));
    assert!(seen.keys().abs_diff(1_000) < 30 && also.keys().abs_diff(1_000) < 30);
    let other = Blocked::new(Spec::new(2_000, 0.001).unwrap()).unwrap();
    let error = seen.union(&other).unwrap_err().to_string();
    assert!(error.contains("made for 1000 keys at a rate of 0.001, the other for 2000"), "{error}");
    let other = Blocked::new(spec.with_seed(3)).unwrap();
    let error = seen.union(&other).unwrap_err().to_string();
    assert!(error.contains("hashes with seed 0, the other with seed 3"), "{error}");
    let _: Hash = spec.scheme().hash("still a hash");
}
