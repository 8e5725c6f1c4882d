//! Files that were damaged, by accident or on purpose.

use super::super::*;
use super::{metadata, reseal, samples, survives};
use crate::{AnyFilter, Blocked, Quotient, Spec};

#[test]
fn every_flipped_bit_is_noticed() {
    for (filter, secret) in samples() {
        let mut file = filter.encode(&metadata());
        let header = read_header(&file).unwrap().header_bytes as usize;
        for bit in 0..8 * file.len() {
            file[bit / 8] ^= 1 << (bit % 8);
            assert!(verify(&file).is_err(), "{}: bit {bit}", filter.kind());
            assert!(AnyFilter::decode(&file, secret).is_err(), "{}: bit {bit}", filter.kind());
            if let Ok(opened) = AnyFilter::open(&file, secret) {
                assert!(bit / 8 >= header, "opened with a bad header");
                _ = (opened.contains(1u64), opened.contains("ada"));
            }
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn every_flipped_bit_of_64_kib_is_noticed() {
    let mut filter = Blocked::new(Spec::new(47_000, 0.01).unwrap()).unwrap();
    (0..47_000u64).for_each(|key| _ = filter.insert(key));
    let mut file = filter.encode(&metadata());
    assert!((60 << 10..=64 << 10).contains(&file.len()), "{} bytes", file.len());
    for bit in 0..8 * file.len() {
        file[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&file).is_err(), "bit {bit}");
        file[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn every_cut_and_every_addition_is_noticed() {
    for (filter, secret) in samples() {
        let file = filter.encode(&metadata());
        for end in 0..file.len() {
            let error = verify(&file[..end]).unwrap_err();
            assert!(matches!(error, FormatError::Truncated { .. }), "{end}: {error}");
            assert_eq!(AnyFilter::open(&file[..end], secret).unwrap_err(), error);
            assert_eq!(AnyFilter::decode(&file[..end], secret).unwrap_err(), error);
        }
        for more in [vec![0], vec![0; 24], vec![0; 4096], vec![0xff; 70_000], file.clone()] {
            let longer = [&file[..], &more].concat();
            let (need, have) = (file.len() as u64, longer.len() as u64);
            let error = FormatError::Trailing { need, have };
            assert_eq!(verify(&longer), Err(error.clone()));
            assert_eq!(AnyFilter::open(&longer, secret).unwrap_err(), error);
            assert_eq!(AnyFilter::decode(&longer, secret).unwrap_err(), error);
        }
        // A hole in the middle, closed: as long as it should be, but not what it was.
        let mut moved = file.clone();
        moved.remove(5000 % file.len());
        moved.push(0x89);
        assert!(verify(&moved).is_err());
    }
}

/// The control: the tests above would be worth nothing if resealed files were refused anyway.
#[test]
fn resealing_mends_what_it_should() {
    for (filter, secret) in samples() {
        let mut file = filter.encode(&metadata());
        let good = file.clone();
        reseal(&mut file);
        assert!(file == good, "resealing changes nothing in a good file");
        file[56] ^= 1; // created
        assert_eq!(verify(&file), Err(FormatError::HeaderChecksum));
        reseal(&mut file);
        assert_eq!(verify(&file).unwrap().metadata.created(), 1_760_000_001);
        AnyFilter::decode(&file, secret).unwrap();
    }
}

#[test]
fn hostile_headers_are_refused_or_harmless() {
    for (filter, secret) in samples() {
        let good = filter.encode(&metadata());
        let header = read_header(&good).unwrap().header_bytes as usize;
        for at in 8..header - 4 {
            for width in [1, 2, 4, 8] {
                if at + width > header - 4 {
                    continue;
                }
                let mut word = [0; 8];
                word[..width].copy_from_slice(&good[at..at + width]);
                let was = u64::from_le_bytes(word);
                let extremes =
                    [0, 1, 2, was.wrapping_add(1), was.wrapping_sub(1), 1 << 31, 1 << 32];
                let huge = [1 << 48, 1 << 55, 1 << 58, 1 << 63, u64::MAX - 4095, u64::MAX];
                for value in extremes.into_iter().chain(huge) {
                    let mut file = good.clone();
                    file[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                    reseal(&mut file);
                    survives(&file, secret);
                }
            }
        }
    }
}

#[test]
fn a_few_bytes_never_promise_gigabytes() {
    let (filter, _) = &samples()[2];
    let good = filter.encode(&Metadata::new());
    // Lines and file length that agree with each other, and with nothing that is here.
    let lines = 1u64 << 40;
    let (array_offsets, total) = header::array_offsets(126, &[lines * 64]).unwrap();
    let mut file = good[..126].to_vec();
    assert_eq!(
        (file.len() as u64, array_offsets[0]),
        (read_header(&good).unwrap().header_bytes, 4096)
    );
    file[64..72].copy_from_slice(&total.to_le_bytes());
    file[88..96].copy_from_slice(&(lines * 64).to_le_bytes());
    file[98..106].copy_from_slice(&lines.to_le_bytes());
    let sum = crc32c::crc32c(&file[..122]).to_le_bytes();
    file[122..].copy_from_slice(&sum);
    assert_eq!(read_header(&file).unwrap().arrays[0].bytes, 1 << 46);
    let error = FormatError::Truncated { need: total, have: 126 };
    assert_eq!(AnyFilter::decode(&file, None).unwrap_err(), error);
    assert_eq!(AnyFilter::open(&file, None).unwrap_err(), error);
    assert_eq!(header::array_offsets(126, &[u64::MAX]), None);
    assert_eq!(header::array_offsets(126, &[u64::MAX - 8191]), None);
}

#[test]
fn padding_and_spare_bits_are_zero() {
    let (filter, _) = &samples()[0];
    let good = filter.encode(&Metadata::new());
    let mut file = good.clone();
    file[4000] = 1;
    reseal(&mut file);
    assert!(matches!(verify(&file), Err(FormatError::BadField { name: "padding", .. })));
    let mut file = good.clone();
    let last = 4096 + read_header(&good).unwrap().arrays[0].bytes as usize - 1;
    file[last] |= 0x80; // 959 bits
    reseal(&mut file);
    let name = "bits past the last";
    assert!(matches!(verify(&file), Err(FormatError::BadField { name: got, .. }) if got == name));
}

/// What is opened in place is not read, and must be read before it is merged: lines that break their
/// rules would be laid out anywhere.
#[test]
fn unsound_lines_are_refused_by_name() {
    let spec = Spec::new(100, 0.01).unwrap();
    let filter = Quotient::from_keys(spec, 0..100u64).unwrap();
    let mut file = filter.encode(&Metadata::new());
    let place = verify(&file).unwrap().arrays[0].at as usize;
    file[place + 63] ^= 1; // the offset of the first line
    reseal(&mut file);
    let error = verify(&file).unwrap_err().to_string();
    assert_eq!(
        error,
        "not a valid file: quotient filter is unsound: an offset does not follow from the line before (number 0), it must be sound; build it again"
    );
    assert_eq!(AnyFilter::decode(&file, None).unwrap_err().to_string(), error);
    assert_eq!(AnyFilter::check(&file, None).unwrap_err().to_string(), error);
    let opened = Quotient::open(&file, None).unwrap();
    let mut own = filter.clone();
    let error = own.union(&opened).unwrap_err();
    assert!(error.to_string().contains("an offset does not follow"), "{error}");
    assert!(own.intersect(&opened).is_err());
    assert!(own.fingerprints().eq(filter.fingerprints()), "nothing has changed");
    // Counts that are not those of the lines: sound lines, another filter.
    let mut file = filter.encode(&Metadata::new());
    let header = verify(&file).unwrap().header_bytes as usize;
    let params = header - 4 - (18 + 8 * 2) - 8 * 4;
    for (at, name) in [(0, "keys"), (8, "counts"), (16, "counts"), (24, "growth")] {
        let was = std::mem::replace(&mut file[params + at], 200);
        reseal(&mut file);
        let Err(FormatError::BadField { name: got, .. }) = verify(&file) else { panic!("{name}") };
        assert_eq!(got, name);
        file[params + at] = was;
    }
    file[params + 8] -= 1;
    reseal(&mut file);
    assert!(Quotient::open(&file, None).is_ok(), "instant");
    let error = verify(&file).unwrap_err().to_string();
    assert!(error.contains("another number of keys than is stated"), "{error}");
}
