//! Every golden file by format name: detected, opened in place, looked up in batches, written
//! back, wrapped in a Mayhap file, unwrapped again.

use crate::vectors::{Case, cases, key_type};
use mayhap::format::{self, Metadata};
use mayhap_foreign::{
    Bytes, Detection, Foreign, ForeignError, Format, KeyType, Options, TypedFilter, detect, open,
    wrap,
};

/// Every golden file, with what must be known to open it.
fn everything() -> Vec<(Case, Format, Options)> {
    let mut all = Vec::new();
    for (folder, name) in [
        ("guava", Format::Guava),
        ("leveldb", Format::Leveldb),
        ("rocksdb", Format::Rocksdb),
        ("redisbloom", Format::Redisbloom),
        ("valkey-bloom", Format::ValkeyBloom),
        ("bits-and-blooms", Format::BitsAndBlooms),
        ("parquet", Format::Parquet),
        ("spark", Format::Spark),
        ("dcso", Format::Dcso),
        ("poppy", Format::Poppy),
        ("kevburnsjr", Format::Kevburnsjr),
        ("num-base64-list", Format::NumBase64),
        ("bloomfilter-js", Format::BloomfilterJs),
        ("orc", Format::Orc),
    ] {
        for case in cases(folder) {
            let format = match case.name.as_str() {
                name if name.starts_with("goleveldb") => Format::Goleveldb,
                name if name.starts_with("badger") => Format::Badger,
                name if name.starts_with("v18") => Format::BloomfilterJsOld,
                name if name.starts_with("sbbf") => Format::ParquetBitset,
                _ if case.file.starts_with(b"\x07\x81") => Format::RedisbloomDump,
                _ => name,
            };
            let chars = case.params["funnel"] == "Funnels.unencodedCharsFunnel()";
            let keys = if chars { KeyType::Utf16 } else { key_type(&case) };
            let mut options = Options::new().with_key_type(keys);
            if let Some(probes) = case.params["k"].as_u64() {
                options = options.with_probes(probes as u32);
            }
            if let Some(column) = case.params["column"].as_str() {
                options = options.with_column(column);
            }
            all.push((case, format, options));
        }
    }
    assert!(all.len() > 70, "{} files", all.len());
    all
}

fn check(case: &Case, format: Format, keys: KeyType, filter: &dyn Foreign) {
    let spelled = |texts: &[Vec<u8>]| -> Vec<Vec<u8>> {
        texts.iter().map(|text| keys.key(format, text).unwrap().into_owned()).collect()
    };
    let mut answers = Vec::new();
    let probes = spelled(&case.probes);
    filter.contains_batch(&probes.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut answers);
    assert_eq!(answers, case.answers, "{format}: {}", case.name);
    assert!(probes.iter().zip(&answers).all(|(key, answer)| filter.contains(key) == *answer));
    let members = spelled(&case.members);
    filter.contains_batch(&members.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut answers);
    assert!(answers.iter().all(|answer| *answer), "{format}: {}", case.name);
}

fn written(filter: &dyn Foreign, format: Format) -> Vec<u8> {
    let mut file = Vec::new();
    filter.write_as(format, &mut file).unwrap();
    file
}

#[test]
fn files_are_opened_by_name_and_written_back() {
    for (case, format, options) in everything() {
        let file = Bytes::new(case.file.clone());
        let filter = open(format, &file, &options)
            .unwrap_or_else(|error| panic!("{format}: {}: {error}", case.name));
        check(&case, format, options.key_type, filter.as_ref());
        let summary = filter.summary();
        assert_eq!(summary.format, format, "{}", case.name);
        assert!((0.0..=1.0).contains(&summary.fill) && summary.bits > 0, "{summary:?}");
        if case.file.starts_with(&[0x1f, 0x8b]) || case.name.starts_with("sst") {
            continue; // compressed anew, or a filter out of a larger file
        }
        assert!(written(filter.as_ref(), format) == case.file, "{format}: {}", case.name);
    }
}

#[test]
fn bytes_that_say_what_they_are_are_believed() {
    use Format::*;
    for (case, format, _) in everything() {
        match (detect(&case.file), format) {
            (Detection::Certain(found), _) => assert_eq!(found, format, "{}", case.name),
            (
                Detection::OneOf(candidates),
                Leveldb | Goleveldb | Badger | Rocksdb | ParquetBitset | Kevburnsjr | BloomfilterJs
                | BloomfilterJsOld,
            ) => assert!(candidates.contains(&format), "{}: {candidates:?}", case.name),
            (other, _) => panic!("{format}: {}: {other:?}", case.name),
        }
    }
    assert_eq!(detect(b""), Detection::OneOf(vec![]));
    assert_eq!(detect(b"\x89MAY\r\n\x1a\n"), Detection::Certain(Mayhap));
}

#[test]
fn our_own_file_keeps_them_as_they_are() {
    for (case, format, options) in everything() {
        let filter = open(format, &Bytes::new(case.file.clone()), &options).unwrap();
        let mut ours = Vec::new();
        wrap::write(filter.as_ref(), options.key_type, &Metadata::new(), &mut ours).unwrap();
        let header = format::verify(&ours).unwrap();
        assert!(wrap::is_foreign(&header));
        let ours = Bytes::new(ours);
        assert_eq!(detect(ours.as_ref()), Detection::Certain(Format::Mayhap));
        let mut back = wrap::open(&ours).unwrap_or_else(|e| panic!("{format}: {}: {e}", case.name));
        assert_eq!((back.format, back.key_type), (format, options.key_type));
        check(&case, format, options.key_type, back.filter.as_ref());
        let (before, after) = (filter.summary(), back.filter.summary());
        assert_eq!((before.fill, before.estimate), (after.fill, after.estimate), "{}", case.name);
        if format != Format::Parquet {
            let want = written(filter.as_ref(), format);
            assert!(written(back.filter.as_ref(), format) == want, "{format}: {}", case.name);
        }
        // A wrapped filter can grow.
        let is_static = case.name.starts_with("ribbon") || format == Format::Parquet;
        let mut new = Vec::new();
        match back.filter.insert_batch(&[b"8 bytes!"], &mut new) {
            Ok(()) => assert!(back.filter.contains(b"8 bytes!"), "{format}: {}", case.name),
            Err(ForeignError::Refused { .. }) if is_static => {}
            Err(error) if case.name.contains("nonscaling") => {
                assert!(error.to_string().contains("full"), "{error}");
            }
            Err(error) => panic!("{format}: {}: {error}", case.name),
        }
    }
}

#[test]
fn damaged_files_of_our_own_are_refused() {
    let (case, format, options) = everything().remove(0);
    let filter = open(format, &Bytes::new(case.file), &options).unwrap();
    let mut ours = Vec::new();
    wrap::write(filter.as_ref(), options.key_type, &Metadata::new(), &mut ours).unwrap();
    for at in [0, 20, 85, 90, ours.len() - 1] {
        let mut damaged = ours.clone();
        damaged[at] ^= 1;
        let error = wrap::open(&Bytes::new(damaged)).unwrap_err();
        assert!(matches!(error, ForeignError::Wrapper(_)), "{at}: {error}");
    }
    let native = mayhap::Blocked::new(mayhap::Spec::new(10, 0.1).unwrap()).unwrap();
    let error = wrap::open(&Bytes::new(native.encode(&Metadata::new()))).unwrap_err();
    assert!(error.to_string().contains("of our own"), "{error}");
}

#[test]
fn formats_of_one_family_become_each_other_and_others_do_not() {
    use Format::*;
    let families: [&[Format]; 4] = [
        &[Leveldb, Goleveldb, Badger],
        &[Redisbloom, RedisbloomDump],
        &[Kevburnsjr, NumBase64],
        &[Dcso, Poppy],
    ];
    let related = |a: Format, b: Format| {
        a == b || families.iter().any(|family| family.contains(&a) && family.contains(&b))
    };
    for from in Format::ALL {
        if matches!(from, Mayhap | Parquet) {
            continue;
        }
        let mut filter = mayhap_foreign::create(from, 500, 0.01, &Options::new()).unwrap();
        filter.insert_batch(&[b"ada", b"eve"], &mut Vec::new()).unwrap();
        for to in Format::ALL.into_iter().filter(|to| !matches!(to, Mayhap | Parquet)) {
            let mut file = Vec::new();
            match filter.write_as(to, &mut file) {
                Ok(()) => {
                    assert!(related(from, to), "{from} to {to}");
                    let options = Options::new().with_probes(filter.summary().probes);
                    let back = open(to, &Bytes::new(file), &options).unwrap();
                    assert!(back.contains(b"ada") && !back.contains(b"bob"), "{from} to {to}");
                }
                Err(error) => {
                    // poppy's second version is not its first, which is DCSO's.
                    assert!(!related(from, to) || (from, to) == (Poppy, Dcso), "{from} to {to}");
                    let text = error.to_string();
                    assert!(text.contains(&format!("{from} and {to} hash differently")), "{text}");
                }
            }
        }
    }
}

#[test]
fn made_by_name_filled_in_batches_and_merged() {
    let keys: Vec<Vec<u8>> =
        (0..4000).map(|i| format!("number {i}, not too short").into_bytes()).collect();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let (left, right) = slices.split_at(1000);
    for format in Format::ALL {
        if matches!(format, Format::Mayhap | Format::Parquet) {
            continue;
        }
        let create = || mayhap_foreign::create(format, 2000, 0.01, &Options::new()).unwrap();
        let (mut one, mut other) = (create(), create());
        let mut new = Vec::new();
        one.insert_batch(left, &mut new).unwrap();
        assert!(new.iter().filter(|new| **new).count() > 980, "{format}");
        other.insert_batch(&right[..1000], &mut new).unwrap();
        one.union(other.as_ref()).unwrap_or_else(|error| panic!("{format}: {error}"));
        let mut answers = Vec::new();
        one.contains_batch(&slices, &mut answers);
        assert!(answers[..2000].iter().all(|answer| *answer), "{format}");
        let wrong = answers[2000..].iter().filter(|answer| **answer).count();
        let most = if format == Format::Badger { 200 } else { 70 }; // 4% for a target of 1%
        assert!(wrong < most, "{format}: {wrong} of 2000");
        let summary = one.summary();
        assert!(summary.estimate.abs_diff(2000) < 120, "{format}: {summary:?}");
        assert!(summary.fpr_now < 0.1, "{format}: {summary:?}");

        let mut other = mayhap_foreign::create(Format::Guava, 2000, 0.01, &Options::new()).unwrap();
        if format != Format::Guava {
            let error = other.union(one.as_ref()).unwrap_err();
            assert!(matches!(error, ForeignError::Untranslatable { .. }), "{format}: {error}");
        }
    }
}

/// Typed values, in whatever width a caller has them: members are found, and what cannot be a key
/// of the filter is an error and never a "no".
#[test]
fn typed_values_are_found_in_every_width_or_refused() {
    let mut integers = 0;
    for (case, format, options) in everything() {
        let file = Bytes::new(case.file.clone());
        let filter = TypedFilter::open(format, &file, &options).unwrap();
        let name = &case.name;
        match options.key_type {
            KeyType::I32 | KeyType::I64 => {
                integers += 1;
                for text in &case.members {
                    let number: i64 = std::str::from_utf8(text).unwrap().parse().unwrap();
                    let mut answers = vec![filter.contains(number)];
                    answers.extend(isize::try_from(number).ok().map(|n| filter.contains(n)));
                    answers.extend(u64::try_from(number).ok().map(|n| filter.contains(n)));
                    answers.extend(usize::try_from(number).ok().map(|n| filter.contains(n)));
                    answers.extend(i32::try_from(number).ok().map(|n| filter.contains(n)));
                    answers.extend(u32::try_from(number).ok().map(|n| filter.contains(n)));
                    answers.extend(i16::try_from(number).ok().map(|n| filter.contains(n)));
                    answers.extend(u16::try_from(number).ok().map(|n| filter.contains(n)));
                    answers.extend(i8::try_from(number).ok().map(|n| filter.contains(n)));
                    answers.extend(u8::try_from(number).ok().map(|n| filter.contains(n)));
                    assert!(
                        answers.iter().all(|yes| *yes == Ok(true)),
                        "{format} {name}: {number}"
                    );
                }
                let numbers = case
                    .probes
                    .iter()
                    .map(|text| std::str::from_utf8(text).unwrap().parse::<i64>().unwrap());
                assert_eq!(filter.contains_all(numbers).unwrap(), case.answers, "{name}");
                assert!(filter.contains("7").is_err() && filter.contains(b"7").is_err());
                assert!(filter.contains(u64::MAX).is_err(), "{name}");
                if filter.encoding() != mayhap::key::KeyEncoding::I64 {
                    assert!(filter.contains(1i64 << 40).is_err(), "{name}");
                }
            }
            KeyType::Utf16 => {
                let texts = case.members.iter().map(|text| std::str::from_utf8(text).unwrap());
                assert!(filter.contains_all(texts).unwrap().iter().all(|yes| *yes), "{name}");
                assert!(filter.contains(7i32).is_err(), "{name}");
            }
            KeyType::Bytes if filter.encoding() == mayhap::key::KeyEncoding::Bytes => {
                let members = case.members.iter().map(Vec::as_slice);
                assert!(filter.contains_all(members).unwrap().iter().all(|yes| *yes), "{name}");
                assert!(filter.contains(7i32).is_err() && filter.contains(7u64).is_err());
            }
            // A Parquet file says that its keys are integers.
            KeyType::Bytes => {
                assert!(filter.contains(7i32).is_ok() && filter.contains("7").is_err());
            }
        }
    }
    assert!(integers >= 8, "{integers} files of integers");
}
