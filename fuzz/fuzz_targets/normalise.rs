//! Any bytes at all through every normaliser: nothing may panic, and what depends on nothing but
//! letters must be the same when done twice.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_store::text::Normalizer;

fuzz_target!(|key: &[u8]| {
    for normalizer in Normalizer::ALL {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        if !normalizer.apply(key, &mut once) {
            continue;
        }
        let again = normalizer.apply(&once, &mut twice);
        if matches!(normalizer, Normalizer::None | Normalizer::Lower | Normalizer::Hex) {
            assert!(again && once == twice, "{normalizer:?}");
        }
    }
});
