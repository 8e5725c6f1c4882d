//! Text in, records and keys out: the same whatever the blocks, threads and codecs.

use mayhap_store::text::{
    Batch, CollectKeys, Column, Csv, ExtractRules, FieldRange, Fields, Input, InputEstimate,
    KeyBuffer, KeyField, KeyReader, KeysError, Normalizer, OnMissing, Pointer, ProgressAndCancel,
    RecordFormat, Tally, TextEncoding, compound,
};
use proptest::prelude::*;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What a reading gave: keys, numbered records, and the tally.
#[derive(Debug, Default, PartialEq)]
struct Got {
    keys: Vec<Vec<u8>>,
    records: Vec<(u64, Vec<u8>)>,
    headers: Vec<Vec<u8>>,
    copied: Vec<u8>,
    tally: Tally,
}

fn read(reading: &KeyReader) -> Result<Got, KeysError> {
    let mut got = Got::default();
    got.tally = reading.run(&CollectKeys, |batch: &mut Batch<KeyBuffer>| {
        got.keys.extend(batch.out.iter().map(<[u8]>::to_vec));
        got.records.extend(batch.numbered().map(|(number, record)| (number, record.to_vec())));
        got.headers.extend(batch.header().map(<[u8]>::to_vec));
        batch.copy_where(|i| i % 3 != 1, &mut got.copied);
        assert_eq!(batch.out.keys(), batch.records());
        Ok::<_, KeysError>(ControlFlow::Continue(()))
    })?;
    Ok(got)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn reading(&self, text: impl AsRef<[u8]>, rules: ExtractRules) -> KeyReader {
        KeyReader::new(vec![self.file("keys", text).into()], rules)
    }

    fn keys(&self, text: impl AsRef<[u8]>, rules: ExtractRules) -> (Vec<String>, u64) {
        let got = read(&self.reading(text, rules)).unwrap();
        let text = |key: &Vec<u8>| String::from_utf8_lossy(key).into_owned();
        (got.keys.iter().map(text).collect(), got.tally.missing)
    }
}

/// Records as anybody would split them.
fn naive(text: &[u8], delimiter: u8) -> Vec<Vec<u8>> {
    let mut records: Vec<_> = text.split(|byte| *byte == delimiter).map(<[u8]>::to_vec).collect();
    // Behind the last delimiter there is nothing, not an empty record.
    if records.last().is_some_and(Vec::is_empty) {
        records.pop();
    }
    records
}

fn letters(of: &'static [u8], most: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(proptest::sample::select(of), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_blocks_and_threads_give_the_same_records(
        texts in proptest::collection::vec(letters(b"ab\n\0\r", 120), 1..4),
        block_bytes in 1usize..40,
        threads in 1usize..5,
        delimiter in proptest::sample::select(b"\n\0a".as_slice()),
        (crlf, skip_empty) in any::<(bool, bool)>(),
    ) {
        let folder = Folder::new();
        let inputs = texts.iter().enumerate().map(|(i, text)| folder.file(&i.to_string(), text).into());
        let rules = ExtractRules { format: RecordFormat { delimiter, crlf, skip_empty, any_bytes: false }, ..ExtractRules::default() };
        let reading = KeyReader::new(inputs.collect(), rules)
            .with_block_bytes(block_bytes)
            .with_threads(threads);
        let got = read(&reading).unwrap();

        let (mut keys, mut records) = (Vec::new(), Vec::new());
        for text in &texts {
            for (number, record) in naive(text, delimiter).into_iter().enumerate() {
                let bare = record.strip_suffix(b"\r").filter(|_| crlf).unwrap_or(&record);
                if !(skip_empty && bare.is_empty()) {
                    keys.push(bare.to_vec());
                    records.push((number as u64 + 1, record.clone()));
                }
            }
        }
        prop_assert_eq!(got.tally, Tally { records: keys.len() as u64, ..Tally::default() });
        prop_assert_eq!(got.keys, keys);
        prop_assert_eq!(got.records, records);
        prop_assert_eq!(reading.count().unwrap(), got.tally.records);
    }

    /// Blocks long enough that their ends are found by a glance, records that fit it and do not.
    #[test]
    fn large_blocks_give_the_same_records(
        lengths in proptest::collection::vec(prop_oneof![9 => 0usize..600, 1 => 3_000usize..9_000], 0..150),
        block_bytes in 4_000usize..20_000,
        threads in 1usize..4,
        is_whole in any::<bool>(),
    ) {
        let mut text = Vec::new();
        for (i, length) in lengths.iter().enumerate() {
            text.extend(std::iter::repeat_n(b'a' + (i % 26) as u8, *length));
            text.push(b'\n');
        }
        if !is_whole {
            text.pop();
        }
        let folder = Folder::new();
        let reading = folder.reading(&text, ExtractRules::default());
        let got = read(&reading.with_block_bytes(block_bytes).with_threads(threads)).unwrap();
        prop_assert_eq!(got.keys, naive(&text, b'\n'));
    }

    #[test]
    fn copies_are_the_records_chosen(text in letters(b"ab\n", 200), skip_empty in any::<bool>()) {
        let folder = Folder::new();
        let format = RecordFormat { skip_empty, ..RecordFormat::default() };
        let got = read(&folder.reading(&text, ExtractRules { format, ..ExtractRules::default() })).unwrap();
        let mut want = Vec::new();
        for (i, (_, record)) in got.records.iter().enumerate() {
            if i % 3 != 1 {
                want.extend_from_slice(record);
                want.push(b'\n');
            }
        }
        prop_assert_eq!(got.copied, want);
    }

    /// Rows are cut by our own eyes and taken apart by csv-core: both must see the same table.
    #[test]
    fn tables_are_read_as_csv_core_reads_them(
        text in letters(b"ab,\"\n\r", 150),
        block_bytes in 1usize..30,
    ) {
        let folder = Folder::new();
        let part = KeyField::Csv(Csv::new("1"));
        let reading = folder.reading(&text, ExtractRules { part, ..ExtractRules::default() });
        let got = read(&reading.with_block_bytes(block_bytes).with_threads(2));
        // One more row behind it is one more, unless quotes take it in.
        let more = [text.as_slice(), b"\nz\n"].concat();
        if first_column(&more).len() == first_column(&text).len() {
            let is_open = matches!(got, Err(KeysError::OpenQuote { .. }));
            prop_assert!(is_open, "{:?}", got);
            return Ok(());
        }
        let got = got.unwrap();
        let rows = got.keys.iter().zip(&got.records)
            .filter(|(_, (_, record))| !record.is_empty() && record != b"\r");
        let ours: Vec<Vec<u8>> = rows.map(|(key, _)| key.clone()).collect();
        prop_assert_eq!(ours, first_column(&text));
    }
}

/// The first field of each row that is not empty, by csv-core on the whole text. A carriage return
/// at the end of a row is no part of it.
fn first_column(text: &[u8]) -> Vec<Vec<u8>> {
    let terminator = csv_core::Terminator::Any(b'\n');
    let mut reader = csv_core::ReaderBuilder::new().terminator(terminator).build();
    let (mut rest, mut field, mut written) = (text, vec![0; text.len() + 1], 0);
    let (mut column, mut is_first, mut start) = (Vec::new(), true, 0);
    loop {
        let (result, read, wrote) = reader.read_field(rest, &mut field[written..]);
        rest = &rest[read..];
        written += wrote;
        match result {
            csv_core::ReadFieldResult::End => return column,
            csv_core::ReadFieldResult::Field { record_end } => {
                let end = text.len() - rest.len();
                let row = &text[start..end];
                let bare = row.strip_suffix(b"\n").unwrap_or(row);
                let bare = bare.strip_suffix(b"\r").filter(|_| record_end);
                if is_first && bare.is_none_or(|bare| bare.iter().any(|byte| *byte != b'\n')) {
                    column.push(field[..written - usize::from(bare.is_some())].to_vec());
                }
                (is_first, written) = (record_end, 0);
                if record_end {
                    start = end;
                }
            }
            _ => {}
        }
    }
}

#[test]
fn a_record_longer_than_its_block_is_whole() {
    let folder = Folder::new();
    let long = "x".repeat(300_000);
    let text = format!("a\n{long}\nb");
    for threads in [1, 3] {
        let reading = folder.reading(&text, ExtractRules::default());
        let got = read(&reading.with_block_bytes(1_000).with_threads(threads)).unwrap();
        assert_eq!(got.keys, [b"a".to_vec(), long.clone().into_bytes(), b"b".to_vec()]);
    }
}

#[test]
fn fields_are_found_and_joined_without_confusion() {
    let folder = Folder::new();
    let fields = |numbers: &[usize]| ExtractRules {
        part: KeyField::Fields(Fields::new(b'\t', numbers.to_vec()).unwrap()),
        ..ExtractRules::default()
    };
    let text = "ab\tc\t1\na\tbc\t2\nlonely\n";
    let (keys, missing) = folder.keys(text, fields(&[2]));
    assert_eq!((keys, missing), (vec!["c".into(), "bc".into()], 1));
    let (keys, missing) = folder.keys(text, fields(&[1, 2]));
    assert_ne!(keys[0], keys[1]);
    assert_eq!(keys[0], "\u{2}\0\0\0\0\0\0\0ab\u{1}\0\0\0\0\0\0\0c");
    assert_eq!((keys.len(), missing), (2, 1));
    assert_eq!(Fields::new(b'\t', vec![]), None);
    assert_eq!(Fields::new(b'\t', vec![0]), None);
}

#[test]
fn columns_have_names_and_rows_have_line_ends() {
    let folder = Folder::new();
    let text = "\u{feff}id,\"the url\"\r\n1,\"a,b\"\r\n2,\"say \"\"hi\"\"\nthere\"\r\n3\r\n4,plain";
    let part = KeyField::Csv(Csv::new("the url"));
    for (block_bytes, threads, crlf) in [(1, 1, true), (7, 2, false), (1 << 20, 1, false)] {
        let format = RecordFormat { crlf, ..RecordFormat::default() };
        let rules = ExtractRules { part: part.clone(), format, ..ExtractRules::default() };
        let reading = folder.reading(text, rules).with_block_bytes(block_bytes);
        let got = read(&reading.with_threads(threads)).unwrap();
        let want = ["a,b", "say \"hi\"\nthere", "plain"].map(|key| key.as_bytes().to_vec());
        assert_eq!(got.keys, want);
        assert_eq!(got.headers, ["\u{feff}id,\"the url\"\r\n".as_bytes()]);
        assert_eq!(got.tally, Tally { records: 4, unparsable: 0, missing: 1 });
        // The header is row 1.
        assert_eq!(got.records.iter().map(|row| row.0).collect::<Vec<_>>(), [2, 3, 5]);
    }
}

#[test]
fn rows_end_with_or_without_a_carriage_return() {
    let folder = Folder::new();
    let rules = |skip_empty| ExtractRules {
        part: KeyField::Csv(Csv::new("url")),
        format: RecordFormat { skip_empty, ..RecordFormat::default() },
        ..ExtractRules::default()
    };
    let text = "id,url\r\n1,x\r\n2,\"y\"\r\n3,\"z\r\n\"\r\n4,\"w\r\"\n5,v\r\r\n6,u\r";
    let got = read(&folder.reading(text, rules(false))).unwrap();
    assert_eq!(got.keys, ["x", "y", "z\r\n", "w\r", "v\r", "u"].map(|key| key.as_bytes().to_vec()));
    // Records are as they came.
    assert_eq!(got.records[0], (2, b"1,x\r".to_vec()));
    assert!(got.copied.starts_with(b"1,x\r\n3,\"z\r\n\"\r\n"), "{:?}", got.copied);
    assert_eq!(folder.keys("id,url\r\n\r\n1,x\r\n\r\n", rules(true)), (vec!["x".into()], 0));
    // Between NULs it is a letter.
    let format = RecordFormat { delimiter: 0, ..RecordFormat::default() };
    let part = KeyField::Csv(Csv::new("2"));
    assert_eq!(
        folder.keys("1,x\r\0", ExtractRules { part, format, ..ExtractRules::default() }).0,
        ["x\r"]
    );
}

#[test]
fn a_quote_that_is_never_closed_is_an_error_in_its_line() {
    let folder = Folder::new();
    let rows: String = (2..1000).map(|n| format!("{n},y\n")).collect();
    let rules = ExtractRules { part: KeyField::Csv(Csv::new("id")), ..ExtractRules::default() };
    for (text, want, whole) in [
        (format!("id,n\n1,\"x\n{rows}"), 2, 0),
        (format!("id,n\n{rows}1,\"x"), 1000, 998),
        // Line ends within quotes are line ends, and quotes written twice close nothing.
        (format!("id,n\n\"a\n\",x\n1,\"b\n\",\"\"\"c\n{rows}"), 5, 1),
        (format!("id,\"n\n{rows}"), 1, 0),
    ] {
        for (block_bytes, threads) in [(1, 1), (50, 3), (4_000, 2), (1 << 20, 1)] {
            let reading = folder.reading(&text, rules.clone()).with_block_bytes(block_bytes);
            let reading = reading.with_threads(threads);
            let mut records = 0;
            let read = reading.run(&CollectKeys, |batch| {
                records += batch.records();
                Ok(ControlFlow::Continue(()))
            });
            let Err(KeysError::OpenQuote { path, line }) = read else { panic!("{read:?}") };
            assert!(path.ends_with("keys"));
            assert_eq!((line, records), (want, whole), "{block_bytes}");
            assert!(matches!(reading.count(), Err(KeysError::OpenQuote { .. })));
        }
    }
    // Closed at the very end, and quotes that open nothing.
    for text in ["id,n\n1,\"x\"", "id,n\n1,x\"", "id,n\n1,\"x\"\"\""] {
        assert_eq!(folder.keys(text, rules.clone()).0, ["1"], "{text}");
    }
}

#[test]
fn numbered_columns_need_no_header() {
    let folder = Folder::new();
    let csv = Csv::new("2").with_separator(b';');
    assert_eq!(csv.columns, [Column::Number(2)]);
    let rules = ExtractRules { part: KeyField::Csv(csv.clone()), ..ExtractRules::default() };
    assert_eq!(folder.keys("a;b\nc;d\n", rules).0, ["b", "d"]);
    let rules =
        ExtractRules { part: KeyField::Csv(csv.with_header(true)), ..ExtractRules::default() };
    assert_eq!(folder.keys("a;b\nc;d\n", rules).0, ["d"]);
}

#[test]
fn a_missing_column_names_those_that_are_there() {
    let folder = Folder::new();
    let rules = ExtractRules { part: KeyField::Csv(Csv::new("url")), ..ExtractRules::default() };
    let error = read(&folder.reading("id,URL\n1,x\n", rules.clone())).unwrap_err().to_string();
    assert!(error.ends_with("has no column \"url\": there are id, URL"), "{error}");
    // No rows, no columns to miss.
    assert_eq!(read(&folder.reading("", rules)).unwrap().tally.records, 0);
}

#[test]
fn json_values_are_found_by_pointer() {
    let folder = Folder::new();
    let rules = |pointer| ExtractRules {
        part: KeyField::Json(Pointer::new(pointer).unwrap()),
        ..ExtractRules::default()
    };
    let text = concat!(
        r#"{"a": {"b": "x\ny"}, "z": [1, {"b": 2}]}"#,
        "\n",
        r#"{"a": {"b": 1e3}, "a": {"b": -0.50}}"#,
        "\n",
        r#"{"a": {"b": true}}"#,
        "\n",
        r#"{"a": {"b": null}}"#,
        "\n",
        r#"{"a": ["b"]}"#,
        "\n",
        r#"{"a": {"b": "cut"#,
        "\n",
        r#"{"a": {"b": "two"}} {}"#,
        "\n",
        r#"not json"#,
        "\n",
    );
    let (keys, missing) = folder.keys(text, rules("/a/b"));
    assert_eq!(keys, ["x\ny", "-0.50", "true"]);
    assert_eq!(missing, 5);
    assert_eq!(folder.keys(r#"{"z": [1, {"b/~": 2}]}"#, rules("/z/1/b~1~0")).0, ["2"]);
    assert_eq!(folder.keys("\"whole\"\n7\n", rules("")).0, ["whole", "7"]);
    for wrong in ["a", "/a~2", "/~"] {
        assert_eq!(Pointer::new(wrong), None, "{wrong}");
    }
}

#[test]
fn keys_are_normalised_then_spelled() {
    let folder = Folder::new();
    let rules = ExtractRules {
        normalizer: Normalizer::Hex,
        encoding: TextEncoding::Hex,
        ..ExtractRules::default()
    };
    let (keys, missing) = folder.keys("0x4142\n 434A \nxyz\n", rules);
    assert_eq!((keys, missing), (vec!["AB".into(), "CJ".into()], 1));
}

/// What becomes of records without a key is what the rules say, and they keep their numbers.
#[test]
fn records_without_a_key_are_skipped_refused_or_taken_whole() {
    let folder = Folder::new();
    let text = "a\t1\n\nlonely\nb\t2\nalone";
    let part = KeyField::Fields(Fields::new(b'\t', vec![2]).unwrap());
    let format = RecordFormat { skip_empty: true, ..RecordFormat::default() };
    let rules =
        |missing| ExtractRules { part: part.clone(), format, missing, ..ExtractRules::default() };
    for (block_bytes, threads) in [(1, 1), (9, 2), (1 << 20, 1)] {
        let reading = |missing| {
            let reading = folder.reading(text, rules(missing));
            reading.with_block_bytes(block_bytes).with_threads(threads)
        };
        let got = read(&reading(OnMissing::Skip)).unwrap();
        assert_eq!(got.keys, [b"1", b"2"]);
        assert_eq!(got.records, [(1, b"a\t1".to_vec()), (4, b"b\t2".to_vec())]);
        assert_eq!(got.tally, Tally { records: 4, unparsable: 0, missing: 2 });

        let got = read(&reading(OnMissing::Line)).unwrap();
        assert_eq!(got.keys, [&b"1"[..], b"lonely", b"2", b"alone"]);
        assert_eq!(got.tally, Tally { records: 4, unparsable: 2, missing: 0 });

        let error = read(&reading(OnMissing::Fail)).unwrap_err().to_string();
        assert!(
            error.ends_with("has no key in line 3: it is without the field asked for"),
            "{error}"
        );

        let mut all = Vec::new();
        let copied = reading(OnMissing::Skip).run(&CollectKeys, |batch| {
            batch.copy_lines(|key| key != Some(0) || batch.records() < 2, &mut all);
            Ok::<_, KeysError>(ControlFlow::Continue(()))
        });
        assert_eq!(copied.unwrap().missing, 2);
        let want =
            if block_bytes > 9 { "lonely\nb\t2\nalone\n" } else { "a\t1\nlonely\nb\t2\nalone\n" };
        assert_eq!(String::from_utf8(all).unwrap(), want);
    }
}

/// A part that is there but cannot be normalised is a key, and not the line around it.
#[test]
fn what_cannot_be_normalised_is_the_part_as_it_is() {
    let folder = Folder::new();
    let part = KeyField::Fields(Fields::new(b'\t', vec![1]).unwrap());
    let rules = ExtractRules { part, normalizer: Normalizer::Url, ..ExtractRules::default() };
    let got = read(&folder.reading("no url\tx\nHTTP://A.b/\ty\n", rules)).unwrap();
    assert_eq!(got.keys, [&b"no url"[..], b"http://a.b/"]);
    assert_eq!(got.tally, Tally { records: 2, unparsable: 1, missing: 0 });
}

#[test]
fn ranges_of_fields_and_several_columns_are_joined_alike() {
    let folder = Folder::new();
    let fields = |ranges: &[&str]| {
        let ranges = ranges.iter().map(|range| FieldRange::from_text(range).unwrap()).collect();
        let part = KeyField::Fields(Fields::of(b',', ranges).unwrap());
        ExtractRules { part, ..ExtractRules::default() }
    };
    let text = "a,b,c,d\ne,f\n";
    let join = |fields: &[&str]| String::from_utf8(compound(fields)).unwrap();
    assert_eq!(folder.keys(text, fields(&["2-3", "1"])), (vec![join(&["b", "c", "a"])], 1));
    assert_eq!(folder.keys(text, fields(&["-2"])).0, [join(&["a", "b"]), join(&["e", "f"])]);
    assert_eq!(folder.keys(text, fields(&["2-"])).0, [join(&["b", "c", "d"]), join(&["f"])]);
    assert_eq!(folder.keys(text, fields(&["2-2"])).0, ["b", "f"]);
    for wrong in ["", "-", "0", "0-2", "3-2", "a", "1-a", "+1", "1--2", "1,2"] {
        assert_eq!(FieldRange::from_text(wrong), None, "{wrong}");
    }

    let csv = Csv::of(vec![Column::from("z"), Column::from("x")]);
    let rules = ExtractRules { part: KeyField::Csv(csv), ..ExtractRules::default() };
    let got = folder.keys("x,y,z\n1,2,\"3,4\"\n5\n", rules.clone());
    assert_eq!(got, (vec![join(&["3,4", "1"])], 1));
    let error = read(&folder.reading("x,y\n1,2\n", rules)).unwrap_err().to_string();
    assert!(error.ends_with("has no column \"z\": there are x, y"), "{error}");
}

/// Zstandard with the largest window there is, and as `pzstd` writes it.
#[test]
fn zstd_windows_of_any_size_and_skippable_frames_are_read() {
    let folder = Folder::new();
    // Magic, no content size, window of 2^log, one last raw block of 8 bytes.
    let frame = |log: u8| {
        [b"\x28\xb5\x2f\xfd\0", &[(log - 10) << 3, 8 << 3 | 1, 0, 0][..], b"ada\neve\n"].concat()
    };
    let keys =
        |bytes: Vec<u8>| read(&folder.reading(bytes, ExtractRules::default())).map(|got| got.keys);
    let want = [b"ada".to_vec(), b"eve".to_vec()];
    assert_eq!(keys(frame(20)).unwrap(), want);
    match keys(frame(31)) {
        Ok(got) => assert_eq!(got, want),
        // On a machine with less than 4 GiB of memory.
        Err(error) => assert!(matches!(error, KeysError::Window { .. }), "{error}"),
    }
    let skip = b"\x50\x2a\x4d\x18\x04\0\0\0\x11\0\0\0";
    let many = [&skip[..], &frame(20), &skip[..], &frame(20)].concat();
    assert_eq!(keys(many).unwrap(), [want.clone(), want].concat());
}

#[test]
fn files_that_are_no_text_are_refused_by_name_unless_any_bytes_are_wanted() {
    let folder = Folder::new();
    let mut tar = vec![0; 1024];
    tar[..9].copy_from_slice(b"hello.txt");
    tar[257..262].copy_from_slice(b"ustar");
    let parquet = b"PAR1\x15\0\x15\0PAR1".to_vec();
    for (bytes, what) in [
        (parquet.clone(), "a Parquet file"),
        (tar.clone(), "a tar archive"),
        (b"PK\x03\x04rest".to_vec(), "a zip archive"),
        (b"7z\xbc\xaf\x27\x1c".to_vec(), "a 7z archive"),
        (b"SQLite format 3\0".to_vec(), "an SQLite database"),
        (b"\x7fELF\x02".to_vec(), "an ELF program"),
        (b"\x89PNG\r\n\x1a\n".to_vec(), "a PNG image"),
        (b"\xff\xfea\0\n\0".to_vec(), "UTF-16 text"),
        (packed("gz", &tar), "a tar archive inside gzip"),
        (packed("lz4", &parquet), "a Parquet file inside lz4"),
    ] {
        let reading = folder.reading(&bytes, ExtractRules::default());
        let error = read(&reading).unwrap_err();
        assert!(error.to_string().ends_with(&format!("is {what}, not a list of keys")), "{error}");
        assert!(reading.count().is_err());
        let format = RecordFormat { any_bytes: true, ..RecordFormat::default() };
        let got = read(&folder.reading(&bytes, ExtractRules { format, ..ExtractRules::default() }))
            .unwrap();
        assert!(got.tally.records > 0, "{what}");
    }
}

#[test]
fn inputs_that_cannot_be_read_may_be_passed_over() {
    let folder = Folder::new();
    let cut = packed("gz", b"gone\n");
    let inputs = [
        folder.0.path().join("nowhere"),
        folder.file("one", "a\n"),
        folder.0.path().to_owned(),
        folder.file("cut.gz", &cut[..cut.len() - 4]),
        folder.file("two", "b\n"),
    ];
    let reading =
        KeyReader::new(inputs.into_iter().map(Input::from).collect(), ExtractRules::default());
    assert!(read(&reading).is_err());
    let errors = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = Arc::clone(&errors);
    let reading = reading.passing_over(move |error| told.lock().unwrap().push(error.to_string()));
    for threads in [1, 3] {
        let got = read(&reading.clone().with_threads(threads)).unwrap();
        assert!(got.keys.contains(&b"a".to_vec()) && got.keys.contains(&b"b".to_vec()));
        let errors = std::mem::take(&mut *errors.lock().unwrap());
        assert_eq!(errors.len(), 3, "{errors:?}");
    }
}

fn packed(codec: &str, bytes: &[u8]) -> Vec<u8> {
    match codec {
        "gz" => {
            let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            to.write_all(bytes).unwrap();
            to.finish().unwrap()
        }
        "zst" => zstd::encode_all(bytes, 1).unwrap(),
        "xz" => liblzma::encode_all(bytes, 1).unwrap(),
        "lz4" => {
            let mut to = lz4_flex::frame::FrameEncoder::new(Vec::new());
            to.write_all(bytes).unwrap();
            to.finish().unwrap()
        }
        "bz2" => {
            let mut to = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            to.write_all(bytes).unwrap();
            to.finish().unwrap()
        }
        _ => bytes.to_vec(),
    }
}

const CODECS: [&str; 6] = ["gz", "zst", "xz", "bz2", "lz4", "plain"];

#[test]
fn every_codec_is_known_by_its_first_bytes_and_may_come_in_pieces() {
    let folder = Folder::new();
    let (one, two) = ("a\nb\nhalf ".repeat(10_000), "of it\nlast".repeat(1_000));
    let want = naive(format!("{one}{two}").as_bytes(), b'\n');
    for codec in CODECS {
        let bytes = [packed(codec, one.as_bytes()), packed(codec, two.as_bytes())].concat();
        // The name says nothing.
        let got = read(&folder.reading(bytes, ExtractRules::default()).with_threads(2)).unwrap();
        assert!(got.keys == want, "{codec}");
        // An empty file is one of no keys.
        let got = read(&folder.reading(packed(codec, b""), ExtractRules::default())).unwrap();
        assert_eq!(got.keys.len(), 0, "{codec}");
    }
}

#[test]
fn damaged_and_cut_off_files_are_refused() {
    let folder = Folder::new();
    // Noise, so that the packed file is not a few bytes.
    let text: Vec<u8> =
        (0..40_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for codec in &CODECS[..4] {
        let whole = packed(codec, &text);
        let cut = &whole[..whole.len() - whole.len() / 3];
        let error = read(&folder.reading(cut, ExtractRules::default())).unwrap_err();
        assert!(matches!(error, KeysError::Damaged { .. }), "{codec}: {error}");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 0x10;
        let error =
            read(&folder.reading(flipped, ExtractRules::default()).with_threads(2)).unwrap_err();
        assert!(matches!(error, KeysError::Damaged { .. }), "{codec}: {error}");
    }
}

#[test]
fn text_that_only_looks_packed_is_text() {
    let folder = Folder::new();
    for text in ["BZh", "BZh9 is a level", "\u{1f}", "(", "M", ""] {
        assert_eq!(
            folder.keys(text, ExtractRules::default()).0,
            naive(text.as_bytes(), b'\n')
                .iter()
                .map(|key| String::from_utf8_lossy(key).into_owned())
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn wrong_inputs_are_named() {
    let folder = Folder::new();
    let refusal = |path: &Path| {
        let inputs = vec![folder.file("good", "a\n").into(), Input::from(path.to_owned())];
        read(&KeyReader::new(inputs, ExtractRules::default()).with_threads(2)).unwrap_err()
    };
    assert!(matches!(refusal(folder.0.path()), KeysError::Directory { .. }));
    let missing = folder.0.path().join("missing");
    let error = refusal(&missing);
    assert!(matches!(error, KeysError::Open { .. }) && error.path() == Some(&missing), "{error}");
    let filter = mayhap::Blocked::new(mayhap::Spec::new(10, 0.01).unwrap()).unwrap();
    let filter = folder.file("filter", filter.encode(&mayhap::format::Metadata::new()));
    assert!(matches!(refusal(&filter), KeysError::Filter { .. }));
}

#[test]
fn the_consumer_may_end_it_and_errors_come_in_their_place() {
    let folder = Folder::new();
    let text = "line\n".repeat(100_000);
    for threads in [1, 4] {
        let missing = Input::from(folder.0.path().join("missing"));
        let inputs = vec![folder.file("keys", &text).into(), missing];
        let reading = KeyReader::new(inputs, ExtractRules::default())
            .with_block_bytes(1_000)
            .with_threads(threads);
        let mut batches = 0;
        let tally = reading.run(&CollectKeys, |_| {
            batches += 1;
            let flow =
                if batches == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            Ok::<_, KeysError>(flow)
        });
        assert_eq!((tally.unwrap().records, batches), (600, 3));
        // Everything before the error is delivered first.
        let mut records = 0;
        let error = reading.run(&CollectKeys, |batch| {
            records += batch.records();
            Ok::<_, KeysError>(ControlFlow::Continue(()))
        });
        assert!(matches!(error, Err(KeysError::Open { .. })));
        assert_eq!(records, 100_000);
    }
}

#[test]
fn a_watch_sees_and_stops() {
    let folder = Folder::new();
    for threads in [1, 3] {
        let watch = Arc::new(ProgressAndCancel::default());
        let text = "line\n".repeat(100_000);
        let reading = folder
            .reading(&text, ExtractRules::default())
            .with_block_bytes(1_000)
            .with_threads(threads)
            .with_progress(Arc::clone(&watch));
        assert_eq!(read(&reading).unwrap().tally.records, 100_000);
        assert_eq!((watch.read_bytes(), watch.total_bytes()), (500_000, Some(500_000)));
        assert_eq!(watch.records(), 100_000);
        let result = reading.run(&CollectKeys, |batch| {
            if batch.numbered().any(|(number, _)| number > 5_000) {
                watch.stop();
            }
            Ok::<_, KeysError>(ControlFlow::Continue(()))
        });
        assert!(result.unwrap_err().is_cancelled());
    }
}

/// A pipe that says nothing must not hold up whoever wants to leave.
#[test]
#[cfg(unix)]
fn a_silent_pipe_can_be_left() {
    let folder = Folder::new();
    let pipe = folder.0.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    for threads in [1, 2] {
        // Open for both, so that opening waits for nobody and the end never comes.
        let mut writer = std::fs::File::options().read(true).write(true).open(&pipe).unwrap();
        writer.write_all(b"one\ntwo\nhal").unwrap();
        let watch = Arc::new(ProgressAndCancel::default());
        let reading = KeyReader::new(vec![pipe.clone().into()], ExtractRules::default())
            .with_threads(threads)
            .with_progress(Arc::clone(&watch));
        let mut records = 0;
        let result = reading.run(&CollectKeys, |batch| {
            // Whole lines are here though the pipe is still open.
            records += batch.records();
            watch.stop();
            Ok::<_, KeysError>(ControlFlow::Continue(()))
        });
        assert!(result.unwrap_err().is_cancelled());
        assert_eq!(records, 2);
        // Whoever wants to be called is, though nothing comes.
        writer.write_all(b"one\n").unwrap();
        let reading = KeyReader::new(vec![pipe.clone().into()], ExtractRules::default());
        let mut calls = Vec::new();
        let tally = reading.with_threads(threads).run_with_idle(
            &CollectKeys,
            Duration::from_millis(5),
            |batch| {
                calls.push(batch.map_or(0, |batch| batch.records()));
                let enough = calls.ends_with(&[0, 0, 0]) && calls.contains(&1);
                let flow = if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
                Ok::<_, KeysError>(flow)
            },
        );
        assert_eq!(tally.unwrap().records, 1);
        drop(writer);
    }
}

/// Nor must one that nobody has opened yet; whoever then opens it is heard to the end.
#[test]
#[cfg(any(target_os = "linux", target_os = "android"))]
fn a_pipe_without_a_writer_can_be_left_and_is_waited_for() {
    let folder = Folder::new();
    let pipe = folder.0.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    let later = || std::thread::sleep(Duration::from_millis(200));
    let watch = Arc::new(ProgressAndCancel::default());
    let reading = KeyReader::new(vec![pipe.clone().into()], ExtractRules::default());
    let watched = reading.clone().with_progress(Arc::clone(&watch));
    let (send, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(read(&watched)));
    later();
    watch.stop();
    let end = ended.recv_timeout(Duration::from_secs(20)).expect("waits in vain");
    assert!(end.unwrap_err().is_cancelled());

    // Writers come late, are slow, or say nothing at all.
    for (pieces, want) in [(vec!["a\nb", "c\nd"], vec!["a", "bc", "d"]), (vec![], vec![])] {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                later();
                let mut writer = std::fs::File::options().write(true).open(&pipe).unwrap();
                for piece in pieces {
                    later();
                    writer.write_all(piece.as_bytes()).unwrap();
                }
                later();
            });
            let got = read(&reading).unwrap();
            assert_eq!(
                got.keys,
                want.iter().map(|key| key.as_bytes().to_vec()).collect::<Vec<_>>()
            );
        });
    }
}

#[test]
fn distinct_keys_are_estimated() {
    let folder = Folder::new();
    let text: String = (0..60_000).map(|i| format!("key {}\n", i % 20_000)).collect();
    let reading = folder.reading(text, ExtractRules::default()).with_threads(2);
    let InputEstimate { records, distinct } = reading.estimate_input().unwrap();
    assert_eq!(records, 60_000);
    assert!(distinct.abs_diff(20_000) < 400, "{distinct}");
    assert_eq!(reading.count().unwrap(), 60_000);
    assert!(reading.is_rereadable());
    assert!(!KeyReader::new(vec![Input::Stdin], ExtractRules::default()).is_rereadable());
}
