//! Records and the keys in them.

use super::*;

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
