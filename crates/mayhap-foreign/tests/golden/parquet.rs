use crate::vectors::{Case, cases};
use mayhap_foreign::parquet::{self, File, Physical};
use std::ops::Range;

fn bitset(case: &Case) -> Range<usize> {
    if !case.name.starts_with("file_") {
        return 0..case.file.len();
    }
    let file = File::read(&case.file).unwrap();
    let found = file.of_column("c").unwrap();
    assert_eq!((found.len(), file.row_groups()), (1, 1));
    let offset = case.params["bloom_filter_offset"].as_u64().unwrap() as usize;
    let length = case.params["bloom_filter_length"].as_u64().unwrap() as usize;
    assert_eq!(found[0].bits.end, offset + length, "{}", case.name);
    assert_eq!(found[0].values, case.members.len() as u64);
    assert_eq!(found[0].physical, physical(case));
    let bits = &case.file[found[0].bits.clone()];
    assert_eq!(found[0].filter(bits).unwrap().as_bytes(), bits);
    found[0].bits.clone()
}

fn physical(case: &Case) -> Physical {
    match case.key_type.as_str() {
        "i64" => Physical::Int64,
        "i32" => Physical::Int32,
        _ => Physical::ByteArray,
    }
}

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("parquet") {
        let bits = &case.file[bitset(&case)];
        let filter = parquet::decode(bits).unwrap();
        let key = |text: &Vec<u8>| physical(&case).key(text).unwrap().into_owned();
        assert!(case.members.iter().all(|text| filter.contains(key(text))), "{}", case.name);
        let answers: Vec<bool> =
            case.probes.iter().map(|text| filter.contains(key(text))).collect();
        assert_eq!(answers, case.answers, "{}", case.name);
        let hashes: Vec<_> = case.probes.iter().map(|text| filter.hash(key(text))).collect();
        let mut batch = Vec::new();
        parquet::open(bits).unwrap().contains_batch(&hashes, &mut batch);
        assert_eq!(batch, case.answers, "{}", case.name);
        assert_eq!(filter.encode().unwrap(), bits, "{}", case.name);

        let mut rebuilt = filter.clone();
        rebuilt.clear();
        case.members.iter().for_each(|text| _ = rebuilt.insert(key(text)));
        assert_eq!(rebuilt.as_bytes(), bits, "{}", case.name);
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    for case in cases("parquet").iter().filter(|case| case.params["sizing"].is_string()) {
        let sizing = case.params["sizing"].as_str().unwrap();
        let keys: u64 = sizing.strip_prefix("ndv:").unwrap().parse().unwrap();
        let mut filter = parquet::create(keys, case.params["fpp"].as_f64().unwrap()).unwrap();
        case.members.iter().for_each(|key| _ = filter.insert(key));
        assert_eq!(filter.encode().unwrap(), case.file, "{}", case.name);
    }
}

#[test]
fn a_column_without_a_filter_is_told_from_one_that_is_not_there() {
    let cases = cases("parquet");
    let case = cases.iter().find(|case| case.name == "file_rs_i64").unwrap();
    let file = File::read(&case.file).unwrap();
    assert_eq!(file.columns(), [("c".to_owned(), Physical::Int64)]);
    let error = file.of_column("d").unwrap_err().to_string();
    assert!(error.contains("\"d\", not in the file; there are c"), "{error}");
}

#[test]
fn cut_off_and_damaged_files_are_refused() {
    let cases = cases("parquet");
    let case = cases.iter().find(|case| case.name == "file_rs_i64").unwrap();
    for end in 0..case.file.len() {
        assert!(File::read(&case.file[..end]).is_err());
    }
    let start = case.params["bloom_filter_offset"].as_u64().unwrap() as usize;
    // The header: number of bytes, then algorithm, hash and compression as unions.
    let header = &case.file[start..start + 16];
    assert_eq!(header[3..], [0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0]);
    for (at, byte, message) in [
        (1, 0x81, "bytes of a filter"),
        (4, 0x2c, "algorithm of a filter is 2"),
        (8, 0x2c, "hash of a filter is 2"),
        (12, 0x2c, "compression of a filter is 2"),
    ] {
        let mut file = case.file.clone();
        file[start + at] = byte;
        let error = File::read(&file).unwrap_err().to_string();
        assert!(error.contains(message), "{error} instead of {message}");
    }
}

/// A footer made up of thousands of filters that share one place: refused at once. Each of them
/// would be looked at in full otherwise, so that 400 kB took minutes.
#[test]
fn filters_that_share_their_bits_are_refused_quickly() {
    let varint = |mut number: u64| {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    };
    let zigzag = |number: u64| varint(number * 2);
    // A header of 32 bytes of bits at 4, behind it a long list of fields nobody knows.
    let header = |padding: usize| {
        let mut header = [&[0x15][..], &zigzag(32)].concat();
        [2u8, 3, 4].iter().for_each(|_| header.extend([0x1c, 0x1c, 0, 0]));
        header.extend([0x11].repeat(padding)); // booleans: a byte each
        header.push(0);
        header
    };
    for padding in [0, 200_000] {
        let header = header(padding);
        let mut file = [b"PAR1", &*header, &[0; 32]].concat();
        let start = file.len();
        // FileMetaData { 4: [RowGroup { 1: [ColumnChunk { 3: { 1: INT32, 14: offset } }; n] }] }
        let columns = 20_000;
        file.extend([0x49, 0x1c, 0x19, 0xfc]);
        file.extend(varint(columns));
        for _ in 0..columns {
            file.extend([0x3c, 0x15, 2, 0xd6]);
            file.extend(zigzag(4));
            file.extend([0, 0]);
        }
        file.extend([0, 0]);
        let footer = (file.len() - start) as u32;
        file.extend(footer.to_le_bytes());
        file.extend(b"PAR1");
        let clock = std::time::Instant::now();
        let error = File::read(&file).unwrap_err().to_string();
        assert!(error.contains("filter") || error.contains("Thrift"), "{error}");
        assert!(clock.elapsed().as_secs() < 10, "{:?}", clock.elapsed());
    }
}
