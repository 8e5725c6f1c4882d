//! Files that are written in pieces, and read while their bytes are freed.

use super::super::*;
use super::samples;
use crate::{AnyFilter, Scalable, Spec};

#[test]
fn a_file_in_pieces_is_the_file() {
    let metadata = Metadata::new().with("made by", "a test").unwrap();
    for (filter, _) in samples() {
        let file = filter.encode(&metadata);
        assert_eq!(filter.file_bytes(&metadata), file.len() as u64);
        for bytes in [1, 700, 4096, 10_000, 1 << 20] {
            let mut joined = Vec::new();
            for from in (0..file.len() as u64).step_by(bytes) {
                filter.write_range_to(&mut joined, &metadata, from..from + bytes as u64).unwrap();
            }
            assert!(joined == file, "{} in pieces of {bytes}", filter.kind());
        }
        let mut none = Vec::new();
        filter.write_range_to(&mut none, &metadata, u64::MAX - 1..u64::MAX).unwrap();
        assert!(none.is_empty());
    }
}

#[test]
fn what_is_taken_is_what_was_there() {
    for (filter, secret) in samples() {
        let file = filter.encode(&Metadata::new());
        let mut bytes = b"before it".to_vec();
        bytes.extend(&file);
        let taken = AnyFilter::decode_draining(&mut bytes, 9, secret).unwrap();
        assert_eq!(bytes, b"before it");
        assert!(taken.encode(&Metadata::new()) == file, "{}", filter.kind());
        // What is bad stays.
        for bad in [file.len() / 2, file.len() - 1] {
            let mut changed = file.clone();
            changed[bad] ^= 1;
            let before = changed.clone();
            assert!(AnyFilter::decode_draining(&mut changed, 0, secret).is_err());
            assert!(AnyFilter::check(&changed, secret).is_err());
            assert!(changed == before);
        }
        assert!(AnyFilter::decode_draining(&mut file.clone(), usize::MAX, secret).is_err());
    }
}

#[test]
fn large_arrays_are_taken_piece_by_piece() {
    let mut filter = Scalable::new(Spec::new(100_000, 0.01).unwrap()).unwrap();
    (0..10_000_000u64).for_each(|key| _ = filter.insert(key));
    let filter = AnyFilter::from(filter);
    assert!(filter.bytes() > 17 << 20);
    let mut bytes = filter.encode(&Metadata::new());
    let file = bytes.clone();
    let taken = AnyFilter::decode_draining(&mut bytes, 0, None).unwrap();
    assert_eq!((bytes.len(), bytes.capacity() < 17 << 20), (0, true));
    assert!(taken.encode(&Metadata::new()) == file);
}
