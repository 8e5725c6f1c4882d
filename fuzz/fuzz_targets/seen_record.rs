//! Any bytes at all, as the record of a seen list.
//!
//! Nothing may panic, hang or ask for memory the bytes do not pay for; and what is let in must
//! be whole: written again it is the same list.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_seen::{Policy, decode, encode};

fuzz_target!(|bytes: &[u8]| {
    let policies = [Policy::default(), Policy::by_time(3, 100, 10, 0.01).expect("a good policy")];
    // Bytes that begin rightly get further than random ones.
    let ours = [&[0xb7, 1], bytes].concat();
    for policy in policies {
        for bytes in [bytes, &ours] {
            if let Ok((list, _)) = decode(bytes, &policy, 1000) {
                let again = decode(&encode(&list), &policy, 1000).expect("what we wrote");
                assert_eq!(again.0, list);
            }
        }
    }
});
