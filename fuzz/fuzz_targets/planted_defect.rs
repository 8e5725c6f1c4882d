//! The control of all other targets: a parser with a defect that the fuzzer must find, or it would find none.

#![no_main]

use libfuzzer_sys::fuzz_target;

/// A record: a tag, a length, and as many bytes. The length is believed.
fn last_byte(record: &[u8]) -> Option<u8> {
    let [b'm', b'h', length, rest @ ..] = record else { return None };
    (*length > 0).then(|| rest[*length as usize - 1])
}

fuzz_target!(|bytes: &[u8]| {
    _ = last_byte(bytes);
});
