//! Any bytes as a Parquet file, as its footer, and as a bare bitset.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_foreign::parquet::{self, File};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(filter) = parquet::open(bytes) {
        filter.contains("ada");
        assert!((0.0..=1.0).contains(&filter.fpr_now()));
    }
    let length = (bytes.len() as u32).to_le_bytes();
    let footer = [b"PAR1", bytes, &length, b"PAR1"].concat();
    for file in [bytes, &footer] {
        let Ok(found) = File::read(file) else { continue };
        for found in found.filters() {
            let filter = found.filter(&file[found.bits.clone()]).expect("bits that are there");
            filter.contains("ada");
        }
    }
});
