//! RocksDB's full filter before format version 5.
//!
//! One cache line a key, picked by LevelDB's hash (with its tail bytes signed), and bits of it by
//! double hashing. Trailer: probes, then the number of lines as `u32` LE. Lines are as long as
//! those of the machine that wrote the file: 64 bytes on x86, 128 elsewhere.

use super::{TRAILER_BYTES, fast_local, rate_by_block};
use crate::hash::{Tail, ldbhash};
use crate::{ForeignError, ids};
use mayhap::Classic;
use mayhap::key::{ByteKeys, KeyOf};
use mayhap::mem::AlignedBuf;
use mayhap::scheme::{Scheme, SchemeId};
use mayhap::sizing::ClassicShape;

/// The line of the machines that most files come from.
const LINE_BYTES: u64 = 64;

/// LevelDB's signed hash, and double hashing inside of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Legacy {
    lines: u32,
    /// A power of two.
    line_bits: u64,
}

impl Legacy {
    /// From the trailer of so many bits.
    pub(super) fn read(bits: u64, trailer: &[u8; TRAILER_BYTES]) -> Result<Legacy, ForeignError> {
        let lines = u32::from_le_bytes([trailer[1], trailer[2], trailer[3], trailer[4]]);
        let bytes = bits / 8;
        let line_bytes = bytes.checked_div(lines.into()).unwrap_or(0);
        if !line_bytes.is_power_of_two() || line_bytes * u64::from(lines) != bytes {
            let need = "so many that the array is lines of a power of two bytes";
            let got = format!("{lines} for {bytes} bytes");
            return Err(ForeignError::field("lines", got, need));
        }
        Ok(Legacy { lines, line_bits: 8 * line_bytes })
    }

    pub(super) fn trailer(&self, shape: ClassicShape) -> [u8; TRAILER_BYTES] {
        let [a, b, c, d] = self.lines.to_le_bytes();
        [shape.probes as u8, a, b, c, d]
    }
}

pub(super) fn hash(key: impl KeyOf<ByteKeys>) -> u32 {
    ldbhash(key.key_bytes().as_ref(), Tail::Signed)
}

impl Scheme for Legacy {
    type Hash = u32;
    type Keys = ByteKeys;

    fn id(&self) -> SchemeId {
        ids::ROCKSDB_LEGACY
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u32 {
        ldbhash(bytes, Tail::Signed)
    }

    #[inline]
    fn positions(&self, mut hash: u32, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let line = u64::from(hash % self.lines) * self.line_bits;
        let (delta, inside) = (hash.rotate_right(17), self.line_bits - 1);
        (0..probes).map(move |_| {
            let at = line + (u64::from(hash) & inside);
            hash = hash.wrapping_add(delta);
            at
        })
    }

    fn fpr_now(&self, bytes: &[u8], _: u64, probes: u32) -> f64 {
        rate_by_block(bytes, (self.line_bits / 8) as usize, probes)
    }
}

/// Whole bits a key, and the probes that go with them.
fn bits_and_probes(bits_per_key: f64) -> Result<(u32, u32), ForeignError> {
    let millibits = fast_local::millibits(bits_per_key)
        .ok_or_else(|| ForeignError::field("bits per key", bits_per_key, "at least 0.5"))?;
    let bits = (millibits + 500) / 1000;
    Ok((bits, ((f64::from(bits) * 0.69) as u32).clamp(1, 30)))
}

/// The fewest bits a key that keep strangers below this rate, or nearly: 100 are the most.
pub(super) fn bits_per_key_for(fpr: f64) -> f64 {
    // Its one line a key is that of the later filter; two probes may fall together more often.
    fast_local::bits_per_key_for(fpr).ceil() + 1.0
}

/// An empty filter of the size RocksDB gave `keys` keys on an x86 machine.
pub(super) fn empty(keys: u64, bits_per_key: f64) -> Result<Classic<Legacy>, ForeignError> {
    let (bits, probes) = bits_and_probes(bits_per_key)?;
    // Odd, so that a remainder by it uses all bits of the hash.
    let lines = keys.max(1).saturating_mul(bits.into()).div_ceil(8 * LINE_BYTES) | 1;
    let lines = u32::try_from(lines)
        .map_err(|_| ForeignError::field("keys", keys, "few enough for 2^32 lines"))?;
    let scheme = Legacy { lines, line_bits: 8 * LINE_BYTES };
    let bytes = u64::from(lines) * LINE_BYTES;
    let shape = ClassicShape::new(8 * bytes, probes);
    Classic::from_parts(scheme, shape, AlignedBuf::zeroed(bytes)?).ok_or_else(super::misfit)
}

/// The block of these keys, as an x86 machine writes it.
pub(super) fn build(
    hashes: impl Iterator<Item = u32>,
    bits_per_key: f64,
) -> Result<Vec<u8>, ForeignError> {
    let mut counted: Vec<u32> = hashes.collect();
    counted.dedup();
    if counted.is_empty() {
        let (_, probes) = bits_and_probes(bits_per_key)?;
        return Ok(vec![probes as u8, 0, 0, 0, 0]);
    }
    let mut filter = empty(counted.len() as u64, bits_per_key)?;
    filter.insert_batch(&counted);
    Ok([filter.as_bytes(), &filter.scheme().trailer(filter.shape())].concat())
}
