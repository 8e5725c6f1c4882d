//! Damages files: changed, truncated and inserted bytes.

use proptest::prelude::*;

/// The position, the byte, and the change.
pub type Change = (prop::sample::Index, u8, u8);

/// The bytes with some of them changed, truncated or inserted.
pub fn damage(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    /// Most formats have their numbers at one of the ends.
    const END: usize = 80;
    for (place, byte, how) in changes {
        let at = place.index(bytes.len().max(1));
        match how % 8 {
            0 | 1 if at < bytes.len() => bytes[at] = *byte,
            2 | 3 if bytes.len() > END => bytes[at % END] ^= 1 << (byte % 8),
            4 | 5 if bytes.len() > END => {
                let end = bytes.len() - 1 - at % END;
                bytes[end] ^= 1 << (byte % 8);
            }
            6 => bytes.truncate(at),
            _ => bytes.insert(at.min(bytes.len()), *byte),
        }
    }
    bytes
}
