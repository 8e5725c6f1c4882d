use super::*;
use crate::budget::MaxMemory;
use mayhap::{Blocked, Hash, Scalable, Spec, Window, Windowed};

#[test]
fn each_line_passes_as_often_as_it_may() -> anyhow::Result<()> {
    let (mut seen, mut new) = (Exact::new(100, MaxMemory::default())?, Vec::new());
    seen.insert_times(&[7, 8, 7, 7, 7], 3, &mut new)?;
    assert_eq!(new, [true, true, true, true, false]);
    seen.insert_times(&[7, 8, 8, 8], 3, &mut new)?;
    assert_eq!(new, [false, true, true, false]);
    Ok(())
}

/// States outlive programs.
#[test]
fn the_second_pass_has_a_frozen_hash() {
    assert_eq!(FilterSet::again(Hash::from_u64(0), 1), Hash::from_u64(0xe220_a839_7b1d_cdaf));
    assert_ne!(FilterSet::again(Hash::from_u64(0), 2), FilterSet::again(Hash::from_u64(0), 1));
    assert_eq!(Exact::again(0, 1), 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
}

/// To look first and to insert at once come to the same.
#[test]
fn a_look_says_what_inserting_would() -> anyhow::Result<()> {
    for times in 1..4 {
        let mut at_once = Exact::new(10, MaxMemory::default())?;
        let mut looking = Exact::new(10, MaxMemory::default())?;
        let mut new = Vec::new();
        for batch in [vec![7u128, 8, 7, 7, 7], vec![], vec![7, 8, 8, 8, 9, 9, 9, 9, 9]] {
            at_once.insert_times(&batch, times, &mut new)?;
            let draft = looking.look(&batch, times, u64::MAX)?;
            assert_eq!(draft.new, new);
            let hashes: Vec<u128> = draft.inserts.iter().map(|(_, hash)| *hash).collect();
            looking.insert(&hashes)?;
        }
    }
    Ok(())
}

#[test]
fn a_look_ends_where_room_does() -> anyhow::Result<()> {
    let seen = Exact::new(10, MaxMemory::default())?;
    let draft = seen.look(&[1, 1, 2, 1, 3, 4], 1, 2)?;
    // The third distinct key is the fifth line: four lines can be told.
    assert_eq!(draft.new, [true, false, true, false]);
    assert_eq!(draft.inserts[..2], [(0, 1), (2, 2)]);
    assert_eq!(seen.look(&[1, 2], 1, 2)?.new.len(), 2);
    Ok(())
}

fn hashes(from: u64, to: u64) -> Vec<Hash> {
    (from..to)
        .map(|i| mayhap::scheme::Scheme::hash(&mayhap::scheme::Native::default(), i))
        .collect()
}

#[test]
fn a_filter_that_cannot_grow_has_room_up_to_its_capacity() -> anyhow::Result<()> {
    let filter = Blocked::new(Spec::new(1_000, 0.01)?)?;
    let mut seen = FilterSet::new(filter.into(), MaxMemory::default())?;
    assert_eq!(seen.room(5_000), 1_000);
    seen.insert(&hashes(0, 400))?;
    let keys = seen.filter().map_or(0, AnyFilter::keys);
    assert_eq!(seen.room(5_000), 1_000 - keys);
    assert!(seen.full().to_string().contains("does not grow"));
    Ok(())
}

#[test]
fn a_growing_filter_has_room_until_hashes_are_too_short() -> anyhow::Result<()> {
    let filter = Scalable::new(Spec::new(1_000, 1e-6)?)?;
    let mut seen = FilterSet::new(filter.into(), MaxMemory::default())?;
    assert_eq!(seen.room(1_000_000), 1_000_000);
    // 64-bit hashes of nine million keys alone make half of this rate.
    let filter = Scalable::new(Spec::new(9_000_000, 1e-12)?)?;
    let mut seen = FilterSet::new(filter.into(), MaxMemory::default())?;
    assert!(seen.room(20_000_000) >= 9_000_000);
    Ok(())
}

/// A burst that one generation cannot take.
#[test]
fn a_window_of_time_has_room_up_to_its_rate() -> anyhow::Result<()> {
    let window = Windowed::new(Spec::new(10_000, 0.001)?, Window::span(3_600_000, 4))?;
    let mut seen = FilterSet::new(window.into(), MaxMemory::default())?;
    let room = seen.room(1_000_000);
    assert!((2_500..20_000).contains(&room), "{room}");
    seen.insert(&hashes(0, room))?;
    assert!(seen.rate() <= 0.001 * 1.2, "{}", seen.rate());
    assert!(seen.room(1_000) < 100);
    Ok(())
}
