//! Any bytes at all, as an exact state of `dedup`.
//!
//! Nothing may panic, hang or ask for memory the bytes do not pay for; and what is let in must
//! be whole: written again it is the same set.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_store::budget::Budget;
use mayhap_store::exact::ExactSet;

fuzz_target!(|bytes: &[u8]| {
    let read =
        |bytes: &[u8]| ExactSet::read_bytes(bytes, bytes.len() as u64, Budget::of_bytes(16 << 20));
    _ = read(bytes);
    // With the right start, lengths and checksum bytes get further.
    let keys = bytes.len() / 16;
    let mut ours = b"\x89MAX\r\n\x1a\n\x01\0\0\0".to_vec();
    let notes = br#"{"created":0,"normaliser":"","pairs":{}}"#;
    ours.extend_from_slice(&(notes.len() as u32).to_le_bytes());
    ours.extend_from_slice(&(keys as u64).to_le_bytes());
    ours.extend_from_slice(&[0; 8]);
    ours.extend_from_slice(notes);
    ours.extend_from_slice(&bytes[..keys * 16]);
    ours.extend_from_slice(&xxhash_rust::xxh3::xxh3_128(&ours).to_le_bytes());
    if let Ok((set, notes)) = read(&ours) {
        let mut again = Vec::new();
        set.write_to(&mut again, &notes).expect("written to memory");
        let (same, _) = read(&again).expect("what we wrote");
        assert!(same.keys() == set.keys() && set.iter().all(|hash| same.contains(hash)));
    }
});
