//! Inputs: compressed, damaged, wrong, silent, counted.

use super::*;

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
