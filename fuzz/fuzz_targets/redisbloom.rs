//! Any bytes as the chunks of RedisBloom's dump, and as its header alone.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_foreign::redisbloom::Chain;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(chain) = Chain::open(bytes) {
        chain.contains("ada");
        assert_eq!(chain.encode(), bytes);
        // In pieces and put together again.
        let mut chunks = chain.chunks_of(37);
        let header = chunks.next().expect("a header");
        let mut loaded = Chain::load_header(&header.bytes, 1 << 20).expect("its own header");
        for chunk in chunks {
            loaded.load_chunk(chunk.iterator, &chunk.bytes).expect("its own chunk");
        }
        assert_eq!(loaded.encode(), bytes);
    }
    if let Ok(mut chain) = Chain::load_header(bytes, 1 << 20) {
        assert_eq!(chain.header().encode(), bytes);
        // The bytes again, as a chunk somewhere.
        _ = chain.load_chunk(1 + bytes.len() as u64, bytes);
        if chain.links().last().is_some_and(|link| link.room() > 0) {
            chain.insert("ada").expect("room for one");
            assert!(chain.contains("ada"));
        }
    }
});
