//! Any bytes at all through every normaliser: nothing may panic, and what depends on nothing but
//! letters must be the same when done twice.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_store::keys::Normaliser;

fuzz_target!(|key: &[u8]| {
    for normaliser in Normaliser::ALL {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        if !normaliser.apply(key, &mut once) {
            continue;
        }
        let again = normaliser.apply(&once, &mut twice);
        if matches!(normaliser, Normaliser::None | Normaliser::Lower | Normaliser::Hex) {
            assert!(again && once == twice, "{normaliser:?}");
        }
    }
});
