//! The checksums of blocks in an SST file: over the block's bytes and the byte that names its
//! compression.

use crate::ForeignError;

/// How blocks are checked, as the footer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    None,
    Crc32c,
    Xxh32,
    Xxh64,
    Xxh3,
}

impl Checksum {
    pub fn from_id(id: u8) -> Result<Checksum, ForeignError> {
        match id {
            0 => Ok(Checksum::None),
            1 => Ok(Checksum::Crc32c),
            2 => Ok(Checksum::Xxh32),
            3 => Ok(Checksum::Xxh64),
            4 => Ok(Checksum::Xxh3),
            _ => Err(ForeignError::field("checksum type", id, "0 to 4")),
        }
    }

    /// Of a block and its last byte, which lie behind each other in `both`; `None` where there is
    /// nothing to check.
    pub fn of(self, both: &[u8]) -> Option<u32> {
        use xxhash_rust::{xxh3::xxh3_64, xxh32::xxh32, xxh64::xxh64};
        match self {
            Checksum::None => None,
            // Masked, because the checksum of bytes that hold their own checksum is no use.
            Checksum::Crc32c => {
                Some(crc32c::crc32c(both).rotate_right(15).wrapping_add(0xa282_ead8))
            }
            Checksum::Xxh32 => Some(xxh32(both, 0)),
            Checksum::Xxh64 => Some(xxh64(both, 0) as u32),
            Checksum::Xxh3 => {
                let (last, block) = both.split_last()?;
                Some(xxh3_64(block) as u32 ^ u32::from(*last).wrapping_mul(0x6b90_83d9))
            }
        }
    }
}
