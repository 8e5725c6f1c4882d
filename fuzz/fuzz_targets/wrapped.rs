//! Any bytes as our own file with a foreign filter in it. Checksums would let hardly any through, so the
//! bytes are what a filter keeps beside its bits, in a file that is whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::{Array, FileLayout, Metadata};
use mayhap_foreign::{Bytes, Format, detect, wrap};

fuzz_target!(|bytes: &[u8]| {
    _ = detect(bytes);
    let [id, at, array, params @ .., data] = bytes else { return };
    let Some(format) = Format::ALL.get(usize::from(*at)) else { return };
    let mut scheme_data = vec![format.name().len() as u8];
    scheme_data.extend(format.name().as_bytes());
    scheme_data.push(data & 3);
    scheme_data.extend(params.iter().take(4000));
    let count = usize::from(*array);
    let words = params.chunks_exact(8).take(8).map(|w| u64::from_le_bytes(w.try_into().unwrap()));
    let params: Vec<u64> = [8 * count as u64, 3].into_iter().chain(words).collect();
    let layout = FileLayout {
        kind: mayhap::Kind::Classic,
        scheme: mayhap::scheme::SchemeId(256 + u16::from(*id)),
        seed_or_key_check: 0,
        scheme_data: &scheme_data,
        capacity: 100,
        fpr: 0.01,
        keys: 0,
        params: vec![],
        arrays: vec![Array { params, bytes: vec![*data; count].into() }],
    };
    let mut file = Vec::new();
    mayhap::format::write(&mut file, &layout, &Metadata::new()).expect("within its limits");
    if let Ok(wrapped) = wrap::open(&Bytes::new(file)) {
        wrapped.filter.contains(b"8 bytes!");
        wrapped.filter.summary();
    }
});
