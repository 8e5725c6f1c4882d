//! Bytes that are not a filter: refused, and harmless where they are asked all the same.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// A filter with everything that there can be: spilled lines, copies, a side table.
fn full(remainder_bits: u32, load: f64) -> Quotient {
    let mut filter = fixed(remainder_bits, 12);
    let mut random = Random(9);
    for _ in 0..(filter.shape().slots() as f64 * load) as u64 {
        filter.insert_hash(Hash(random.next()));
    }
    (0..6).for_each(|_| _ = filter.insert("hot"));
    filter
}

/// Every line changed one bit at a time: no changed filter is taken for the same one.
#[test]
fn every_bit_counts() {
    for remainder_bits in [6, 7, 13] {
        let filter = full(remainder_bits, 0.9);
        let side = filter.side_bytes();
        let model: Model = filter.fingerprints().collect();
        let mut bytes = filter.as_bytes().to_vec();
        let mut refused = 0;
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            match Quotient::from_bytes(spec(), filter.shape(), &bytes, &side) {
                // Another remainder in the right order is another filter.
                Ok(other) => assert!(other.fingerprints().ne(model.iter().map(|(f, n)| (*f, *n)))),
                Err(_) => refused += 1,
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(refused > 8 * bytes.len() / 2, "{refused}");
    }
}

#[test]
fn side_tables_are_checked() {
    let filter = full(7, 0.9);
    let (shape, lines, side) = (filter.shape(), filter.as_bytes(), filter.side_bytes());
    let what = |side: &[u8]| {
        let read = Quotient::from_bytes(spec(), shape, lines, side);
        read.map(|_| "").unwrap_or_else(|error| error.what)
    };
    assert_eq!(what(&side), "");
    assert_eq!(what(&side[1..]), "the side table has part of an entry");
    let told = "a line tells of an entry that the side table does not have";
    assert_eq!(what(&[]), told);
    assert_eq!(what(&[&side[..], &side].concat()), "entries of the side table are not in order");
    let entry =
        |fingerprint: u64, count: u64| [fingerprint.to_le_bytes(), count.to_le_bytes()].concat();
    assert_eq!(what(&entry(u64::MAX, 1)), "an entry of the side table is out of range");
    let hot = filter.fingerprint(filter.hash("hot"));
    assert_eq!(what(&entry(hot, 0)), "an entry of the side table counts nothing");
    let much = "the side table counts more keys than there are numbers";
    assert_eq!(what(&entry(hot, u64::MAX)), much);
    let far = if hot > shape.range / 2 { 0 } else { shape.range - 1 };
    let untold = "a line does not tell of its entry in the side table";
    assert_eq!(what(&entry(far, 1)), untold);
    let long = [lines, &[0; 64]].concat();
    for lines in [&lines[64..], &lines[..lines.len() - 1], &long, &[]] {
        assert!(Quotient::from_bytes(spec(), shape, lines, &side).is_err());
    }
    let wrong = QuotientShape { remainder_bits: 0, ..shape };
    assert!(Quotient::from_bytes(spec(), wrong, lines, &side).is_err());
}

/// A filter over bytes that nobody has checked, as a file has that changes under a map.
fn unchecked<'a>(shape: QuotientShape, lines: &'a [u8], side: &'a [u8]) -> Quotient<&'a [u8]> {
    let mut table = Table::empty(shape, lines);
    table.side = SideTable::Bytes(side);
    Quotient::over(spec(), table)
}

/// A count that leaves no room for the copies in the lines.
#[test]
fn the_greatest_count_is_counted() {
    let filter = full(7, 0.5);
    let hot = filter.hash("hot");
    let side = [filter.fingerprint(hot).to_le_bytes(), u64::MAX.to_le_bytes()].concat();
    let filter = unchecked(filter.shape(), filter.as_bytes(), &side);
    assert_eq!(filter.count_hash(hot), u64::MAX);
    assert!(filter.fingerprints().any(|(_, count)| count == u64::MAX));
}

/// Ask everything that can be asked of a filter that is only read.
fn ask_everything(filter: &Quotient<&[u8]>, hashes: &[Hash]) {
    let (mut answers, mut counts) = (Vec::new(), Vec::new());
    for kernel in Kernel::all() {
        let filter = Quotient { kernel, ..filter.clone() };
        for hash in hashes {
            assert_eq!(filter.contains_hash(*hash), filter.count_hash(*hash) > 0);
        }
        filter.contains_batch(hashes, &mut answers);
        filter.count_batch(hashes, &mut counts);
    }
    // Bounded by the slots there are, each read at most twice, and the side table.
    let most = 2 * 64 * (filter.as_bytes().len() / 64 + 1) + filter.side_bytes().len();
    assert!(filter.fingerprints().count() <= most);
}

proptest! {
    #[test]
    fn mutations_are_refused_or_valid_and_never_harmful(
        bits in 1u32..=48,
        load in 0.1f64..1.3,
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
        shorter in any::<bool>(),
        asked in vec(any::<u64>().prop_map(Hash), 50),
    ) {
        let filter = full(bits, load);
        let (mut lines, mut side) = (filter.as_bytes().to_vec(), filter.side_bytes());
        for (at, byte) in changes {
            let at = at.index(lines.len() + side.len());
            match lines.get_mut(at) {
                Some(place) => *place ^= byte,
                None => side[at - lines.len()] ^= byte,
            }
        }
        if let Ok(read) = Quotient::from_bytes(spec(), filter.shape(), &lines, &side) {
            // What passes is a filter like any other: every key is found and can be removed.
            let model: Model = read.fingerprints().collect();
            prop_assert!(model.keys().all(|f| read.contains_hash(hash_of(&read, *f))));
            let small = model.values().sum::<u64>() < 100_000;
            let lines = AlignedBuf::copy_of(&lines).unwrap();
            let own = Quotient::from_bytes(
                spec(), filter.shape(), lines, AlignedBuf::copy_of(&side).unwrap(),
            );
            let mut own = own.unwrap();
            for (fingerprint, count) in model.iter().filter(|_| small) {
                let hash = hash_of(&own, *fingerprint);
                for _ in 0..*count {
                    prop_assert!(own.remove_hash(hash));
                }
                prop_assert!(!own.remove_hash(hash));
            }
            prop_assert!(!small || own.is_empty() && own.as_bytes().iter().all(|byte| *byte == 0));
        }
        let end = if shorter { cut.index(lines.len() + 1) } else { lines.len() };
        ask_everything(&unchecked(filter.shape(), &lines[..end], &side), &asked);
    }

    #[test]
    fn noise_is_harmless(
        bits in 1u32..=48,
        bytes in vec(any::<u8>(), 0..3000),
        side in vec(any::<u8>(), 0..200),
        asked in vec(any::<u64>().prop_map(Hash), 50),
    ) {
        let shape = fixed(bits, 12).shape();
        prop_assert!(Quotient::from_bytes(spec(), shape, &bytes, &side).is_err());
        ask_everything(&unchecked(shape, &bytes, &side), &asked);
    }
}
