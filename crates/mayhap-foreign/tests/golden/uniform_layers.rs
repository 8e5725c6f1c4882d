//! The formats of several arrays or kinds through the one door: opened, detected, kept in our own
//! file, added to.

use crate::vectors::{Case, cases, read};
use mayhap::format::Notes;
use mayhap_foreign::parquet::Physical;
use mayhap_foreign::{Bytes, Detection, Foreign, Format, KeyType, Options, detect, wrap};

struct Opened {
    name: String,
    format: Format,
    file: Vec<u8>,
    members: Vec<Vec<u8>>,
    probes: Vec<Vec<u8>>,
    answers: Vec<bool>,
}

fn keys(format: Format, case: &Case, texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let physical = match (format, case.key_type.as_str()) {
        (Format::Parquet | Format::ParquetBitset, "i64") => Physical::Int64,
        (Format::Parquet | Format::ParquetBitset, "i32") => Physical::Int32,
        _ => Physical::ByteArray,
    };
    texts.iter().map(|text| physical.key(text).unwrap().into_owned()).collect()
}

fn all() -> Vec<Opened> {
    let mut all = Vec::new();
    let mut add = |format, case: &Case, file: Vec<u8>| {
        let (members, probes) =
            (keys(format, case, &case.members), keys(format, case, &case.probes));
        let (name, answers) = (case.name.clone(), case.answers.clone());
        all.push(Opened { name, format, file, members, probes, answers });
    };
    for case in cases("rocksdb") {
        add(Format::Rocksdb, &case, case.file.clone());
    }
    for case in cases("redisbloom") {
        add(Format::Redisbloom, &case, case.file.clone());
        let dump = read(case.params["redis_dump_file"].as_str().unwrap());
        add(Format::RedisbloomDump, &case, dump);
    }
    for case in cases("valkey-bloom") {
        add(Format::ValkeyBloom, &case, case.file.clone());
    }
    for case in cases("parquet") {
        let is_file = case.name.starts_with("file_");
        let format = if is_file { Format::Parquet } else { Format::ParquetBitset };
        add(format, &case, case.file.clone());
    }
    assert!(all.len() > 40);
    all
}

fn open(case: &Opened) -> Box<dyn Foreign> {
    let options = match case.format {
        Format::Parquet => Options::new().with_column("c"),
        _ => Options::new(),
    };
    mayhap_foreign::open(case.format, &Bytes::new(case.file.clone()), &options).unwrap()
}

fn slices(keys: &[Vec<u8>]) -> Vec<&[u8]> {
    keys.iter().map(Vec::as_slice).collect()
}

fn check(case: &Opened, filter: &dyn Foreign) {
    let mut answers = Vec::new();
    filter.contains_batch(&slices(&case.members), &mut answers);
    assert!(answers.iter().all(|answer| *answer), "{}", case.name);
    filter.contains_batch(&slices(&case.probes), &mut answers);
    assert_eq!(answers, case.answers, "{}", case.name);
    assert!(case.probes.iter().zip(&answers).all(|(key, answer)| filter.contains(key) == *answer));
}

fn written(case: &Opened, filter: &dyn Foreign) -> Vec<u8> {
    let mut file = Vec::new();
    filter.write_as(case.format, &mut file).unwrap();
    file
}

#[test]
fn answers_and_bytes_through_the_one_door() {
    for case in all() {
        let filter = open(&case);
        check(&case, filter.as_ref());
        let summary = filter.summary();
        assert_eq!(summary.format, case.format);
        assert!(summary.fill > 0.0 && summary.fill < 1.0 && summary.bits > 0, "{}", case.name);
        let is_sst = mayhap_foreign::rocksdb::is_sst(&case.file);
        assert!(is_sst || written(&case, filter.as_ref()) == case.file, "{}", case.name);
    }
}

#[test]
fn kept_in_our_own_file_they_answer_alike() {
    for case in all() {
        let filter = open(&case);
        let mut file = Vec::new();
        wrap::write(filter.as_ref(), KeyType::Bytes, &Notes::new(), &mut file).unwrap();
        mayhap::format::verify(&file).unwrap();
        let wrapped = wrap::open(&Bytes::new(file)).unwrap();
        assert_eq!(wrapped.format, case.format, "{}", case.name);
        check(&case, wrapped.filter.as_ref());
        if case.format != Format::Parquet {
            let again = written(&case, wrapped.filter.as_ref());
            assert_eq!(again, written(&case, filter.as_ref()), "{}", case.name);
        }
    }
}

#[test]
fn bytes_say_what_they_are() {
    for case in all() {
        match detect(&case.file) {
            Detection::Certain(format) => assert_eq!(format, case.format, "{}", case.name),
            Detection::OneOf(candidates) => {
                let weak = case.format == Format::ParquetBitset || case.name.starts_with("ribbon");
                assert!(weak && candidates.contains(&case.format), "{}: {candidates:?}", case.name);
            }
        }
    }
}

#[test]
fn keys_are_added_where_the_format_takes_them() {
    let more: Vec<Vec<u8>> = (0..20).map(|i| format!("more-{i}").into_bytes()).collect();
    for case in all() {
        let mut filter = open(&case);
        let mut new = Vec::new();
        let added = filter.insert_batch(&slices(&more), &mut new);
        let refuses = case.format == Format::Parquet
            || case.name.starts_with("ribbon")
            || case.name == "nonscaling_10"; // full
        assert_eq!(added.is_err(), refuses, "{}: {added:?}", case.name);
        if added.is_ok() {
            assert_eq!(new.len(), more.len());
            assert!(more.iter().all(|key| filter.contains(key)), "{}", case.name);
            // The union of old and new is the new.
            let mut union = open(&case);
            union.union(filter.as_ref()).unwrap();
            assert!(more.iter().chain(&case.members).all(|key| union.contains(key)));
        }
    }
}

#[test]
fn new_ones_are_made_to_a_wish() {
    let keys: Vec<Vec<u8>> = (0..1000).map(|i| format!("key-{i}").into_bytes()).collect();
    for format in [
        Format::Rocksdb,
        Format::Redisbloom,
        Format::RedisbloomDump,
        Format::ValkeyBloom,
        Format::ParquetBitset,
    ] {
        let mut filter = mayhap_foreign::create(format, 1000, 0.01, &Options::new()).unwrap();
        filter.insert_batch(&slices(&keys), &mut Vec::new()).unwrap();
        let mut file = Vec::new();
        filter.write_as(format, &mut file).unwrap();
        let again = mayhap_foreign::open(format, &Bytes::new(file), &Options::new()).unwrap();
        assert!(keys.iter().all(|key| again.contains(key)), "{format}");
        assert!(again.summary().fpr_now < 0.013, "{format}: {}", again.summary().fpr_now);
    }
    let error = mayhap_foreign::create(Format::Parquet, 1000, 0.01, &Options::new()).unwrap_err();
    assert!(error.to_string().contains("parquet-bitset"), "{error}");
}

#[test]
fn a_parquet_file_wants_its_column_named() {
    let cases = all();
    let case = cases.iter().find(|case| case.format == Format::Parquet).unwrap();
    let file = Bytes::new(case.file.clone());
    let error = mayhap_foreign::open(Format::Parquet, &file, &Options::new()).unwrap_err();
    assert!(error.to_string().contains("--column, there are filters of c"), "{error}");
}
