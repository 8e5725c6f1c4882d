//! Any bytes at all, as the lines and the side table of a quotient filter, in a file whose checksums are
//! right.
//!
//! In place nothing is read before it is asked: whatever the bytes, no lookup may leave them, panic or
//! hang. What is read whole is refused, or is a filter like any other: every key that is in is found
//! and can be removed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::{Array, FileLayout, Metadata, write};
use mayhap::sizing::QuotientShape;
use mayhap::{AnyFilter, Hash, Kind, Quotient, SchemeId, Spec};

fuzz_target!(|bytes: &[u8]| {
    let Some(([bits, lines, copies], rest)) = bytes.split_first_chunk::<3>() else { return };
    let remainder_bits = u32::from(bits % 48) + 1;
    // As many lines as there are bytes for: ranges that are one more or less tell another number.
    let range = (u64::from(lines % 16) + 1) << remainder_bits.min(56);
    let shape = QuotientShape { range, remainder_bits };
    let wanted = (shape.bits() / 8) as usize;
    if !shape.is_valid() || wanted > 1 << 16 {
        return;
    }
    let mut body = rest.to_vec();
    body.resize(wanted.max(rest.len()), 0);
    let side = body.split_off(wanted);
    let side = &side[..side.len() / 16 * 16];
    let counts = u64::from(*copies);
    let mut arrays = vec![Array { params: vec![range, remainder_bits.into()], bytes: body.into() }];
    if !side.is_empty() {
        arrays.push(Array { params: vec![], bytes: side.into() });
    }
    let layout = FileLayout {
        kind: Kind::Quotient,
        scheme: SchemeId::XXH3,
        fingerprint: 7,
        scheme_data: &[],
        capacity: 1000,
        fpr: 0.01,
        keys: counts,
        params: vec![counts, counts.min(range), counts, 1],
        arrays,
    };
    let mut file = Vec::new();
    write(&mut file, &layout, &Metadata::new()).expect("within its limits");
    let hashes: Vec<Hash> =
        (0..64u64).map(|key| Hash(key.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let spec = Spec::new(1000, 0.01).expect("valid");
    if let Ok(AnyFilter::Quotient(filter)) = AnyFilter::open(file.as_slice(), None) {
        filter.contains_batch(&hashes, &mut Vec::new());
        filter.count_batch(&hashes, &mut Vec::new());
        hashes.iter().for_each(|hash| _ = filter.contains_hash(*hash));
        _ = (filter.fingerprints().count(), filter.to_string(), filter.fpr_now());
        let mut own = Quotient::with_shape(spec, shape).expect("small");
        _ = (own.union(&filter), own.intersect(&filter));
    }
    let decoded = AnyFilter::decode(&file, None);
    assert_eq!(decoded.is_ok(), mayhap::format::verify(&file).is_ok());
    let read = Quotient::from_bytes(spec, shape, layout.arrays[0].bytes.as_ref(), side);
    if let Ok(filter) = read {
        let all: Vec<(u64, u64)> = filter.fingerprints().collect();
        let total = all.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        assert_eq!((filter.keys(), filter.distinct_fingerprints()), (total, all.len() as u64));
        let hash = |fingerprint: u64| {
            Hash(u64::try_from((u128::from(fingerprint) << 64).div_ceil(range.into())).unwrap_or(0))
        };
        assert!(all.iter().all(|(fingerprint, _)| filter.contains_hash(hash(*fingerprint))));
    }
});
