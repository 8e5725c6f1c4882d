//! Any bytes as the payload of Redis' `DUMP`; behind a right checksum, or hardly any got far.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_foreign::redisbloom::dump;

fuzz_target!(|bytes: &[u8]| {
    _ = dump::decode(bytes);
    let sealed = [bytes, &dump::footer(bytes, 9)].concat();
    if let Ok((chain, options)) = dump::decode_with_options(&sealed) {
        chain.contains("ada");
        let again = dump::encode(&chain, options);
        let again = dump::decode(&again).expect("its own payload");
        assert_eq!(again.encode(), chain.encode());
    }
});
