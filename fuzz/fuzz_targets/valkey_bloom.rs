//! Any bytes as what valkey-bloom's `BF.LOAD` takes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_foreign::valkey_bloom::Chain;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(chain) = Chain::open(bytes) {
        chain.contains("ada");
        assert!((0.0..=1.0).contains(&chain.fpr_now()));
        assert_eq!(chain.encode(), bytes);
    }
});
