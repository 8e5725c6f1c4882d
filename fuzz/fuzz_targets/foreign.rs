//! Any bytes as a file of every format: a golden file of one is a good seed for the others too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_foreign::Format;

fuzz_target!(|bytes: &[u8]| {
    for format in Format::ALL {
        mayhap_fuzz::foreign(format, bytes);
    }
});
