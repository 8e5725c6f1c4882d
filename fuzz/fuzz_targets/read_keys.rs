//! Any bytes at all as a list of keys, by any rules: packed or plain, lines, fields, tables, JSON.
//!
//! Nothing may panic or hang, and the keys must be the same in small blocks on one thread and in
//! large ones on several.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_store::text::{
    Codec, CollectKeys, Csv, ExtractRules, Fields, KeyField, KeyReader, KeysError, Normalizer,
    Pointer, RecordFormat, TextEncoding,
};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;

/// One per process, rewritten for each input.
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("mayhap-fuzz-{}", std::process::id())));

fuzz_target!(|bytes: &[u8]| {
    let Some(([how, block_bytes], text)) = bytes.split_first_chunk() else { return };
    // A few packed bytes can stand for gigabytes, and a record has no longest length.
    let most = if Codec::of(text).is_some() { 1 << 10 } else { text.len() };
    let text = &text[..text.len().min(most)];
    if std::fs::write(&*FILE, text).is_err() {
        return;
    }
    let rules = rules(*how);
    let read = |block_bytes: usize, threads: usize| {
        let reading = KeyReader::new(vec![FILE.clone().into()], rules.clone());
        let reading = reading.with_block_bytes(block_bytes).with_threads(threads);
        let mut keys = Vec::new();
        let tally = reading.run(&CollectKeys, |batch| {
            keys.extend(batch.out.iter().map(<[u8]>::to_vec));
            Ok::<_, KeysError>(ControlFlow::Continue(()))
        });
        tally.ok().map(|tally| (tally, keys))
    };
    let small = read(usize::from(*block_bytes).max(1), 1);
    let large = read(1 << 16, 2);
    // Where reading breaks off there may be more or fewer keys before; it must break off in both.
    assert_eq!(small, large);
});

fn rules(how: u8) -> ExtractRules {
    let part = match how & 7 {
        0 => KeyField::Whole,
        1 => Fields::new(b',', vec![2]).map_or(KeyField::Whole, KeyField::Fields),
        2 => Fields::new(b'\t', vec![3, 1]).map_or(KeyField::Whole, KeyField::Fields),
        3 => KeyField::Csv(Csv::new("1")),
        4 => KeyField::Csv(Csv::new("a")),
        5 => KeyField::Csv(Csv::new("2").with_separator(b';').with_header(true)),
        6 => Pointer::new("/a/0").map_or(KeyField::Whole, KeyField::Json),
        _ => Pointer::new("").map_or(KeyField::Whole, KeyField::Json),
    };
    let encoding = match how >> 3 & 3 {
        0 => TextEncoding::Bytes,
        1 => TextEncoding::Hex,
        2 => TextEncoding::I64,
        _ => TextEncoding::Utf16,
    };
    let (crlf, skip_empty) = (how & 32 != 0, how & 64 != 0);
    let format = RecordFormat { delimiter: b'\n', crlf, skip_empty, any_bytes: how & 128 != 0 };
    let normalizer = if how & 128 != 0 { Normalizer::Lower } else { Normalizer::None };
    ExtractRules { format, part, normalizer, encoding, ..ExtractRules::default() }
}
