//! Other programs' hash functions, one a file, each pinned to known answers.
//!
//! XXH64 is the `xxhash-rust` crate's. Where a name is a standard's and the function is not (Spark,
//! ORC, RocksDB, LevelDB), the file says what differs: that is what other readers get wrong.

mod fnv;
mod lanes;
mod leveldb;
mod murmur2;
mod murmur3;
mod orc;
mod sip;
mod spark;
mod wyhash;
mod xxph3;

pub(crate) use fnv::fnv1a_32_mixed_twice_of_rows;
pub use fnv::{
    LANES, fnv1_64, fnv1_64_of_each, fnv1a_32_mixed, fnv1a_32_mixed_twice, fnv1a_64,
    fnv1a_64_of_each, mix_32,
};
pub(crate) use lanes::{KeyLanes, MultiLane, side_by_side};
pub use leveldb::{Tail, ldbhash};
pub use murmur2::{murmur2_32, murmur64a};
pub use murmur3::{murmur3_128, murmur3_128_and_with};
pub use orc::{orc_bytes, orc_long};
pub(crate) use sip::sip13_of_slice_of_rows;
pub use sip::sip13_of_slice_twice;
pub use spark::spark_murmur3;
pub(crate) use spark::spark_murmur3_of_rows;
pub use wyhash::wyhash;
pub use xxph3::xxph3;

/// Four bytes at `at`, little-endian. The caller has seen that they are there.
#[inline(always)]
pub(crate) fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Eight bytes at `at`, little-endian. The caller has seen that they are there.
#[inline(always)]
pub(crate) fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from(le32(bytes, at)) | u64::from(le32(bytes, at + 4)) << 32
}

/// Hash keys several at a time, and the last few one by one: `hashes` is cleared and filled.
#[inline(always)]
pub(crate) fn in_lanes<H>(
    keys: &[&[u8]],
    hashes: &mut Vec<H>,
    hash_lanes: impl Fn([&[u8]; LANES]) -> [H; LANES],
    hash_one: impl Fn(&[u8]) -> H,
) {
    let (several, rest) = keys.as_chunks::<LANES>();
    hashes.clear();
    several.iter().for_each(|keys| hashes.extend(hash_lanes(*keys)));
    hashes.extend(rest.iter().map(|key| hash_one(key)));
}

/// Both halves of a 128-bit product folded together.
#[inline(always)]
pub(crate) const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests;
