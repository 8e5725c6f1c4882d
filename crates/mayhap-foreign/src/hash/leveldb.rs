//! LevelDB's `Hash`, which resembles Murmur, in its two spellings.

use super::le32;

/// How the one to three bytes behind the last whole word are widened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// As `uint8_t`: LevelDB since 1.18, goleveldb, Badger.
    Unsigned,
    /// As a signed `char`: LevelDB before 1.18 on x86, RocksDB to this day.
    Signed,
}

/// The seed of every filter.
const SEED: u32 = 0xbc9f_1d34;

/// LevelDB's hash of a filter's key.
#[inline]
pub fn ldbhash(bytes: &[u8], tail: Tail) -> u32 {
    const M: u32 = 0xc6a4_a793;
    let mut h = SEED ^ (bytes.len() as u32).wrapping_mul(M);
    let (blocks, rest) = bytes.as_chunks::<4>();
    for block in blocks {
        h = h.wrapping_add(le32(block, 0)).wrapping_mul(M);
        h ^= h >> 16;
    }
    if !rest.is_empty() {
        for (j, byte) in rest.iter().enumerate() {
            let wide = match tail {
                Tail::Unsigned => u32::from(*byte),
                Tail::Signed => i32::from(*byte as i8) as u32,
            };
            h = h.wrapping_add(wide << (8 * j));
        }
        h = h.wrapping_mul(M);
        h ^= h >> 24;
    }
    h
}
