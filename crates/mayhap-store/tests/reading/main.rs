//! Text in, records and keys out: the same whatever the blocks, threads and codecs.

mod inputs;
mod records;

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
