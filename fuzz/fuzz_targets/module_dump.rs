//! Any bytes at all, as the head and the bodies of a module's dump.
//!
//! Nothing may panic, hang or ask for memory the bytes do not pay for; what is let in answers.
//! Checksums are mended first: a forger would do that too, and behind them is what must hold.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap::format::dump::DumpHead;
use mayhap_module::filter::{Filter, LoadingFilter, take};

/// A head of one part, whose bodies follow.
const HEAD_BYTES: usize = 12 + 26 + 4;

fuzz_target!(|bytes: &[u8]| {
    // A file or RedisBloom's chunks as they are, given a good head.
    for secret in [None, Some(mayhap::Secret::from_bytes([7; 16]))] {
        judge(&DumpHead::of_file(bytes.len() as u64, secret), bytes);
    }
    let Some((head, bodies)) = bytes.split_at_checked(HEAD_BYTES) else { return };
    let mut head = head.to_vec();
    head[..8].copy_from_slice(b"\x89MHDUMP\n");
    let (front, sum) = head.split_at_mut(HEAD_BYTES - 4);
    sum.copy_from_slice(&crc32c::crc32c(front).to_le_bytes());
    if let Ok(head) = DumpHead::decode(&head) {
        judge(&head, bodies);
    }
    // The same in two chunks.
    if let Ok(mut incoming) = LoadingFilter::begin(&head, 1 << 24) {
        let (first, second) = bodies.split_at(bodies.len() / 2);
        let half = incoming.push(first.len() as u64 + 1, first);
        let whole = incoming.push(bodies.len() as u64 + 1, second);
        _ = (half, whole);
    }
});

fn judge(head: &DumpHead, bodies: &[u8]) {
    let Ok(parts) = take(head, &mut bodies.to_vec()) else { return };
    let mut filter = Filter::from_parts(parts).expect("a head has a part");
    _ = filter.contains(b"ada", 5);
    _ = filter.info(5);
    if filter.add(b"ada", 5, 1 << 20).is_ok() {
        assert!(filter.contains(b"ada", 5).expect("it is whole"));
    }
    _ = filter.chunk_after(0);
    _ = filter.clear();
}
