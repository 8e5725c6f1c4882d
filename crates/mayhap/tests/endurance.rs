//! Many threads and many changes: small here, as large as promised where `cargo xtask soak` asks for it. What was seen is
//! printed for docs/RELIABILITY.md.

use mayhap::scheme::Scheme;
use mayhap::{
    Blocked, Classic, Contains, Counting, Hash, Insert, Quotient, Remove, Spec, SpecError,
};

fn soaking() -> bool {
    std::env::var_os("MAYHAP_SOAK").is_some()
}

/// Each thread inserts keys of its own and of its neighbour; the bits are those of one thread that inserts all.
#[test]
fn sixty_four_writers_set_the_bits_of_one() -> Result<(), SpecError> {
    const WRITERS: u64 = 64;
    let each: u64 = if soaking() { 1_000_000 } else { 2_000 };
    let keys = WRITERS * each;
    let spec = Spec::new(keys, 0.01)?;
    let hashes = |first: u64, end: u64| (first..end).map(move |key| spec.scheme().hash(key));
    let (blocked, classic) = (Blocked::new(spec)?.into_shared(), Classic::new(spec)?.into_shared());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (blocked, classic) = (&blocked, &classic);
            scope.spawn(move || {
                let mut batch: Vec<Hash> = vec![];
                for first in (writer * each..(writer + 1) * each).step_by(4096) {
                    batch.clear();
                    batch.extend(hashes(first, (first + 4096).min((writer + 1) * each)));
                    blocked.insert_batch(&batch);
                    classic.insert_batch(&batch);
                }
                // Some of the neighbour's, one by one, while the neighbour inserts them too.
                let next = (writer + 1) % WRITERS * each;
                for hash in hashes(next, next + each / 20) {
                    blocked.insert_hash(hash);
                    classic.insert_hash(hash);
                }
            });
        }
    });
    let (mut one_blocked, mut one_classic) = (Blocked::new(spec)?, Classic::new(spec)?);
    for first in (0..keys).step_by(4096) {
        let batch: Vec<Hash> = hashes(first, (first + 4096).min(keys)).collect();
        one_blocked.insert_batch(&batch);
        one_classic.insert_batch(&batch);
    }
    assert!(blocked.into_inner().as_bytes() == one_blocked.as_bytes());
    assert!(classic.into_inner().as_bytes() == one_classic.as_bytes());
    println!(
        "soak: {WRITERS} threads, {keys} keys into Blocked and Classic: bits identical to those of one thread"
    );
    // The control: a key more is a bit more.
    let before = one_classic.as_bytes().to_vec();
    (keys..keys + 20).for_each(|key| _ = one_classic.insert(key));
    assert!(one_classic.as_bytes() != before);
    println!("control: the bits differ after 20 more keys");
    Ok(())
}

/// A multiset of numbered keys beside a filter; how often the filter denied a member.
fn denied<F: Contains + Insert + Remove>(filter: &mut F, changes: u64, forget: u64) -> u64 {
    const KEYS: u64 = 1 << 20;
    let mut copies = vec![0u8; KEYS as usize];
    let (mut state, mut denied) = (1u64, 0);
    for change in 0..changes {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        // The square favours low numbers: some keys come often, most rarely.
        let unit = (state >> 32) as f64 / 2f64.powi(32);
        let at = (unit * unit * KEYS as f64) as usize;
        let key = (at as u64).to_le_bytes();
        let (count, wants_more) = (copies[at], state >> 8 & 3 < 2);
        if wants_more && count < 3 {
            copies[at] += 1;
            if forget == 0 || change % forget != 0 {
                filter.try_insert(key).expect("it takes keys");
            }
        } else if count > 0 {
            copies[at] -= 1;
            filter.try_remove(key).expect("it gives keys up");
        }
        let asked = (state >> 16) % KEYS;
        if copies[asked as usize] > 0 && !filter.contains(asked.to_le_bytes()) {
            denied += 1;
        }
    }
    let keys = copies.iter().enumerate().filter(|(_, count)| **count > 0);
    denied + keys.filter(|(at, _)| !filter.contains((*at as u64).to_le_bytes())).count() as u64
}

/// Removes never exceed inserts, so no member may ever be denied.
#[test]
fn deletable_kinds_live_as_a_multiset_does() -> Result<(), SpecError> {
    let changes: u64 = if soaking() { 100_000_000 } else { 300_000 };
    let spec = Spec::new(2_000_000, 0.01)?;
    assert_eq!(denied(&mut Quotient::new(spec)?, changes, 0), 0);
    println!(
        "soak: Quotient: {changes} inserts, removes and lookups against a multiset: no member denied"
    );
    assert_eq!(denied(&mut Counting::new(spec)?, changes / 10, 0), 0);
    println!("soak: Counting: {} of them: no member denied", changes / 10);
    let wrong = denied(&mut Quotient::new(spec)?, changes.min(3_000_000), 1000);
    assert!(wrong > 0, "one insert in a thousand was left out, and nothing was noticed");
    println!("control: with one insert in a thousand left out, {wrong} members were denied");
    Ok(())
}
