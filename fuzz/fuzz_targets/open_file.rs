//! Any bytes at all, given to everything that reads our file format.
//!
//! Nothing may panic, hang or ask for memory the bytes do not pay for; and what is let in must
//! be whole: the three readers agree, and the filter answers queries.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::{AnyFilter, Secret};

fuzz_target!(|bytes: &[u8]| {
    let verified = mayhap::format::verify(bytes).is_ok();
    for secret in [None, Some(Secret::from_bytes([7; 16]))] {
        if let Ok(filter) = AnyFilter::open(bytes, secret) {
            _ = filter.contains("ada");
        }
        // A copy is made of good bytes only; opening in place may leave the bits unread.
        if let Ok(filter) = AnyFilter::decode(bytes, secret) {
            assert!(verified, "decoded what does not verify");
            _ = filter.contains("ada");
        }
    }
});
