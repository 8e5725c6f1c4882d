//! Any bytes as a file of format `num-base64`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_foreign::Format;

fuzz_target!(|bytes: &[u8]| mayhap_fuzz::foreign(Format::NumBase64, bytes));
