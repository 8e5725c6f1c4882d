//! Golden files of every format with bytes changed, removed and inserted, and random bytes, opened as
//! every format: nothing panics, what is accepted answers, is written back unchanged,
//! and survives being wrapped in a Mayhap file.

mod damage;

use damage::{Change, damage};
use mayhap::format::Metadata;
use mayhap_foreign::{Bytes, Detection, Foreign, Format, KeyType, Options, detect, open, wrap};
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

static GOLDEN: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign");
    let mut files = Vec::new();
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        if folder.is_dir() && !["keys", "edge"].iter().any(|name| folder.ends_with(name)) {
            files.extend(
                std::fs::read_dir(folder).unwrap().filter_map(|f| golden(&f.unwrap().path())),
            );
        }
    }
    assert!(files.len() > 70, "{} files", files.len());
    files
});

fn golden(path: &Path) -> Option<Vec<u8>> {
    let file = std::fs::read(path).unwrap();
    (!path.ends_with("manifest.json") && file.len() < 12_000).then_some(file)
}

fn written(filter: &dyn Foreign, format: Format) -> Vec<u8> {
    let mut file = Vec::new();
    filter.write_as(format, &mut file).unwrap();
    file
}

/// Where the same filter has several encodings: JSON, gzip, lengths in a dump.
fn has_spellings(format: Format, bytes: &[u8]) -> bool {
    use Format::*;
    match format {
        BloomfilterJs | BloomfilterJsOld | RedisbloomDump => true,
        BitsAndBlooms => bytes.starts_with(b"{"),
        Dcso => bytes.starts_with(&[0x1f, 0x8b]),
        _ => false,
    }
}

fn open_as_everything(bytes: &[u8]) {
    let detected = detect(bytes);
    let file = Bytes::new(bytes.to_vec());
    for format in Format::ALL {
        for key_type in [KeyType::Bytes, KeyType::I64] {
            let options = Options::new().with_probes(5).with_key_type(key_type);
            let mut filter = match open(format, &file, &options) {
                Ok(filter) => filter,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    continue;
                }
            };
            let answer = filter.contains(b"8 bytes!");
            let mut answers = Vec::new();
            filter.contains_batch(&[b"8 bytes!"], &mut answers);
            assert_eq!(answers, [answer], "{format}");
            let summary = filter.summary();
            assert!((0.0..=1.0).contains(&summary.fpr_now), "{format}: {summary:?}");
            let is_block = format == Format::Rocksdb && detected == Detection::Certain(format);
            if format != Format::Mayhap && !is_block && !has_spellings(format, bytes) {
                assert_eq!(written(filter.as_ref(), format), bytes, "{format}");
            }
            let mut ours = Vec::new();
            if wrap::write(filter.as_ref(), key_type, &Metadata::new(), &mut ours).is_ok() {
                mayhap::format::verify(&ours).unwrap();
                let back = wrap::open(&Bytes::new(ours)).unwrap();
                assert_eq!(back.filter.contains(b"8 bytes!"), answer, "{format}");
            }
            // A chain may grow by a link of any size: those have tests of their own.
            if summary.layers == 1 && filter.insert_batch(&[b"8 bytes!"], &mut answers).is_ok() {
                assert!(filter.contains(b"8 bytes!"), "{format}");
            }
        }
    }
}

fn damaged(at: usize, changes: &[Change]) -> Vec<u8> {
    damage(GOLDEN[at % GOLDEN.len()].clone(), changes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var("MAYHAP_SOAK").is_ok() {
        100_000
    } else {
        1_000
    }))]

    #[test]
    fn damage_is_refused_or_harmless(
        at: usize,
        changes in vec((any::<prop::sample::Index>(), any::<u8>(), any::<u8>()), 0..4),
    ) {
        open_as_everything(&damaged(at, &changes));
    }

    #[test]
    fn noise_is_refused_or_harmless(bytes in vec(any::<u8>(), 0..200)) {
        open_as_everything(&bytes);
    }

    #[test]
    fn texts_are_refused_or_harmless(text in "[\\[{]?[\"mkb:,0-9A-Za-z+/=_ \n\\]}-]{0,80}") {
        open_as_everything(text.as_bytes());
    }

    /// What was inserted is found, in every format, one by one and out of a file again.
    #[test]
    fn nothing_is_forgotten(
        keys in vec(vec(any::<u8>(), 0..40), 1..100),
        capacity in 1..200u64,
        fpr in 0.001..0.5f64,
        at: usize,
    ) {
        let made = |format: &Format| !matches!(format, Format::Mayhap | Format::Parquet);
        let formats: Vec<Format> = Format::ALL.into_iter().filter(made).collect();
        let format = formats[at % formats.len()];
        let mut filter = mayhap_foreign::create(format, capacity, fpr, &Options::new()).unwrap();
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        filter.insert_batch(&keys, &mut Vec::new()).unwrap();
        let file = Bytes::new(written(filter.as_ref(), format));
        let options = Options::new().with_probes(filter.summary().probes);
        let again = open(format, &file, &options).unwrap();
        prop_assert!(keys.iter().all(|key| filter.contains(key) && again.contains(key)));
    }
}
