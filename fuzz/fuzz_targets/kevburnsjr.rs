//! Any bytes as a file of format `kevburnsjr`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_foreign::Format;

fuzz_target!(|bytes: &[u8]| mayhap_fuzz::foreign(Format::Kevburnsjr, bytes));
