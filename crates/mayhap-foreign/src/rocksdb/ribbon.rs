//! RocksDB's ribbon filter, read only: to make one is to solve a system of equations over all keys.
//!
//! The array is segments of 16 bytes. A block of them, one a column, holds the solution for 128
//! starting places; the first `upper` blocks have a column less than the others. A key is in
//! where, for every column, the parity of its coefficients and the solution is the key's own bit.
//! Trailer: `fe`, seed, number of blocks as 24 bits LE.

use super::TRAILER_BYTES;
use crate::{ForeignError, hash::le64, hash::xxph3};
use mayhap::key::{ByteKeys, KeyOf};

const SEGMENT_BYTES: u64 = 16;
/// Coefficients of a key, and starting places of a block.
const WIDTH: u64 = 128;
const MAX_COLUMNS: u64 = 32;

/// RocksDB's ribbon filter. Smaller than a Bloom filter of the same rate and slower to ask; it
/// can take no keys after it was made.
#[derive(Clone, Debug)]
pub struct Ribbon<B> {
    bytes: B,
    seed: u8,
    blocks: u64,
    /// Of the wide blocks.
    columns: u64,
    /// How many blocks are narrow.
    upper: u64,
}

impl<B: AsRef<[u8]>> Ribbon<B> {
    pub(super) fn new(trailer: &[u8; TRAILER_BYTES], bytes: B) -> Result<Self, ForeignError> {
        let [_, seed, low, middle, high] = *trailer;
        let blocks = u32::from_le_bytes([low, middle, high, 0]).into();
        if blocks < 2 {
            return Err(ForeignError::field("blocks", blocks, "2 or more"));
        }
        let have = bytes.as_ref().len() as u64;
        let segments = have / SEGMENT_BYTES;
        if !have.is_multiple_of(SEGMENT_BYTES) || segments == 0 {
            return Err(ForeignError::field("bytes of the array", have, "a multiple of 16"));
        }
        let columns = segments.div_ceil(blocks);
        if columns > MAX_COLUMNS {
            return Err(ForeignError::field("columns", columns, "1 to 32"));
        }
        let upper = columns * blocks - segments;
        Ok(Ribbon { bytes, seed, blocks, columns, upper })
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl KeyOf<ByteKeys>) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Hash a key once, to ask for it later.
    #[inline]
    pub fn hash(&self, key: impl KeyOf<ByteKeys>) -> u64 {
        xxph3(key.key_bytes().as_ref())
    }

    /// Whether the hashed key may be in; `false` is certain.
    pub fn contains_hash(&self, hash: u64) -> bool {
        let seeded = (hash ^ self.raw_seed()).wrapping_mul(0x6193_d459_236a_3a0d);
        let start = ((u128::from(seeded) * u128::from(self.starts())) >> 64) as u64;
        let mixed = seeded.wrapping_mul(0xc28f_8282_2b65_0bed);
        let wide = u128::from(mixed);
        let coefficients = (wide << 64 ^ wide ^ 0xc367_844a_6e52_731d) | 1;
        let expected = mixed.swap_bytes() as u32;

        let (block, shift) = (start / WIDTH, (start % WIDTH) as u32);
        let first = block * self.columns - block.min(self.upper);
        let columns = self.columns - u64::from(block < self.upper);
        (0..columns).all(|column| {
            let mut hit = self.segment(first + column) & coefficients << shift;
            if shift > 0 {
                hit ^= self.segment(first + columns + column) & coefficients >> (128 - shift);
            }
            hit.count_ones() & 1 == expected >> column & 1
        })
    }

    #[inline]
    fn segment(&self, at: u64) -> u128 {
        let at = (at * SEGMENT_BYTES) as usize;
        let bytes = self.bytes.as_ref();
        u128::from(le64(bytes, at)) | u128::from(le64(bytes, at + 8)) << 64
    }

    fn raw_seed(&self) -> u64 {
        let t = u64::from(self.seed).wrapping_mul(0xc782_19a2_3eea_dd03);
        (t ^ (t & 0xf0f0_f0f0_f0f0_f0f0) >> 4) & 0xffff_ffff
    }

    /// A key's coefficients may begin anywhere but in the last block, which they only reach into.
    fn starts(&self) -> u64 {
        (self.blocks - 1) * WIDTH + 1
    }

    /// The share of bits that are set: about half, whatever the keys.
    pub fn fill(&self) -> f64 {
        let ones: u64 = self.as_bytes().iter().map(|byte| u64::from(byte.count_ones())).sum();
        ones as f64 / (8 * self.as_bytes().len()) as f64
    }

    /// How often a stranger passes: one in two for every column.
    pub fn fpr(&self) -> f64 {
        let wide = 0.5f64.powi(self.columns as i32);
        // The last block is started in at one place only.
        let narrow = self.upper.min(self.blocks - 1) as f64 / (self.blocks - 1) as f64;
        wide * (1.0 + narrow)
    }

    /// Columns of a wide block: bits that must agree.
    pub(super) fn columns(&self) -> u32 {
        self.columns as u32
    }

    /// The segments.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    pub(super) fn trailer(&self) -> [u8; TRAILER_BYTES] {
        let [low, middle, high, ..] = self.blocks.to_le_bytes();
        [0xfe, self.seed, low, middle, high]
    }
}
