//! Any bytes as RocksDB's filter block, and as an SST file with one in it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_foreign::rocksdb::{Filter, filter_in_sst, key_may_match};

fuzz_target!(|bytes: &[u8]| {
    let may_match = key_may_match("ada", bytes);
    if let Ok(filter) = Filter::open(bytes) {
        assert_eq!(filter.contains("ada"), may_match);
        assert!((0.0..=1.0).contains(&filter.fpr_now()));
        assert_eq!(filter.encode(), bytes);
    }
    if let Ok(range) = filter_in_sst(bytes) {
        key_may_match("ada", &bytes[range]);
    }
});
