//! FastLocalBloom: RocksDB's filter since format version 5.
//!
//! Lines of 64 bytes; the low half of a key's XXPH3 picks one, the high half its bits. Trailer:
//! `ff`, sub-implementation 0, probes (1 to 30; above them three bits for larger lines, all 0 so
//! far), two zero bytes.

use super::{TRAILER_BYTES, rate_by_block};
use crate::{ForeignError, hash::xxph3, ids};
use mayhap::Classic;
use mayhap::mem::AlignedBuf;
use mayhap::scheme::{Scheme, SchemeId};
use mayhap::sizing::{BlockedShape, ClassicShape};

const LINE_BITS: u64 = 512;
/// The largest array RocksDB makes.
const MAX_BYTES: u64 = 0xffff_ffc0;

/// XXPH3, one line a key, and its bits by repeated multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastLocal;

impl Scheme for FastLocal {
    type Hash = u64;
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        ids::ROCKSDB_FAST_LOCAL
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        xxph3(bytes)
    }

    #[inline]
    fn positions(&self, hash: u64, bits: u64, probes: u32) -> impl Iterator<Item = u64> {
        let line = ((hash & 0xffff_ffff) * (bits / LINE_BITS)) >> 32;
        let mut rest = (hash >> 32) as u32;
        (0..probes).map(move |_| {
            let at = line * LINE_BITS + u64::from(rest >> 23);
            rest = rest.wrapping_mul(0x9e37_79b9);
            at
        })
    }

    fn fpr_now(&self, bytes: &[u8], _: u64, probes: u32) -> f64 {
        rate_by_block(bytes, LINE_BITS as usize / 8, probes)
    }
}

/// The probes, if the trailer and so many bits make sense together.
pub(super) fn probes(bits: u64, trailer: &[u8; TRAILER_BYTES]) -> Result<u32, ForeignError> {
    let [_, sub_implementation, packed, reserved @ ..] = *trailer;
    if sub_implementation != 0 {
        return Err(ForeignError::field("sub-implementation", sub_implementation, "0"));
    }
    if reserved != [0, 0] {
        return Err(ForeignError::field("reserved bytes", format!("{reserved:?}"), "[0, 0]"));
    }
    let larger_lines = packed >> 5;
    if larger_lines != 0 {
        return Err(ForeignError::field("log2 of line bytes", 6 + larger_lines, "6"));
    }
    if !(1..=30).contains(&packed) {
        return Err(ForeignError::field("probes", packed, "1 to 30"));
    }
    let bytes = bits / 8;
    if !bits.is_multiple_of(LINE_BITS) || bytes > MAX_BYTES {
        let need = "a multiple of 64 up to 4294967232";
        return Err(ForeignError::field("bytes of the array", bytes, need));
    }
    Ok(packed.into())
}

pub(super) fn trailer(shape: ClassicShape) -> [u8; TRAILER_BYTES] {
    [0xff, 0, shape.probes as u8, 0, 0]
}

/// Thousandths of a bit a key, as RocksDB rounds what it is asked for; `None` below half a bit,
/// where it makes no filter.
pub fn millibits(bits_per_key: f64) -> Option<u32> {
    if bits_per_key < 0.5 {
        return None;
    }
    // Not `>=`: RocksDB takes what is no number for a hundred.
    let bits = if bits_per_key < 100.0 { bits_per_key.max(1.0) } else { 100.0 };
    Some((bits * 1000.0 + 0.500_001) as u32)
}

/// The probes RocksDB finds fastest for so many thousandths of a bit a key.
pub fn probes_of_millibits(millibits: u32) -> u32 {
    const UP_TO: [u32; 12] =
        [2080, 3580, 5100, 6640, 8300, 10070, 11720, 14001, 16050, 18300, 22001, 25501];
    match UP_TO.iter().position(|most| millibits <= *most) {
        Some(fewer) => fewer as u32 + 1,
        None if millibits > 50_000 => 24,
        None => (millibits - 1) / 2000 - 1,
    }
}

/// The fewest bits a key that keep strangers below this rate: what to ask RocksDB for. 100, the
/// most it gives, where that is not enough.
pub fn bits_per_key_for(fpr: f64) -> f64 {
    const LINES: u64 = 1 << 20;
    let rate = |millibits: u32| {
        let keys = LINES * LINE_BITS * 1000 / u64::from(millibits);
        let probes_per_line = probes_of_millibits(millibits);
        BlockedShape::new(LINES, 1, probes_per_line).fpr_at(keys)
    };
    // Tenths of a bit: the probes change with the bits, so the rate falls with a few bumps.
    let tenths = (10..1000).find(|tenths| rate(100 * tenths) <= fpr);
    f64::from(tenths.unwrap_or(1000)) / 10.0
}

/// The shape of a filter for so many keys.
pub(super) fn shape(keys: u64, millibits: u32) -> ClassicShape {
    let bytes = (u128::from(keys) * u128::from(millibits)).div_ceil(8000);
    let lines = bytes.div_ceil(64).min(u128::from(MAX_BYTES / 64)) as u64;
    ClassicShape::new(lines * LINE_BITS, probes_of_millibits(millibits))
}

/// An empty filter of the size RocksDB gives `keys` keys.
pub(super) fn empty(keys: u64, bits_per_key: f64) -> Result<Classic<FastLocal>, ForeignError> {
    let millibits = millibits(bits_per_key)
        .ok_or_else(|| ForeignError::field("bits per key", bits_per_key, "at least 0.5"))?;
    let shape = shape(keys.max(1), millibits);
    let bits = AlignedBuf::zeroed(shape.bits / 8)?;
    Classic::from_parts(FastLocal, shape, bits).ok_or_else(super::misfit)
}

/// The filter of these keys; `None` without keys.
pub(super) fn build(
    hashes: impl Iterator<Item = u64>,
    bits_per_key: f64,
) -> Result<Option<Classic<FastLocal>>, ForeignError> {
    let mut counted: Vec<u64> = hashes.collect();
    counted.dedup();
    let mut filter = empty(counted.len() as u64, bits_per_key)?;
    filter.insert_batch(&counted);
    Ok((!counted.is_empty()).then_some(filter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_per_key_are_rounded_as_rocksdb_does() {
        let cases = [
            (-1.0, None),
            (0.499, None),
            (0.5, Some(1000)),
            (0.99, Some(1000)),
            (4.5, Some(4500)),
            (9.9, Some(9900)),
            (10.0004, Some(10_000)),
            (10.0005, Some(10_001)),
            (99.9999, Some(100_000)),
            (1e9, Some(100_000)),
            (f64::NAN, Some(100_000)),
        ];
        for (bits, want) in cases {
            assert_eq!(millibits(bits), want, "{bits} bits a key");
        }
    }

    #[test]
    fn probes_follow_the_table() {
        let cases = [(1000, 1), (2080, 1), (2081, 2), (10_000, 6), (25_501, 12), (25_502, 11)];
        for (millibits, probes) in cases.into_iter().chain([(50_000, 23), (50_001, 24)]) {
            assert_eq!(probes_of_millibits(millibits), probes, "{millibits}");
        }
    }

    #[test]
    fn a_wished_rate_is_met() {
        for fpr in [0.3, 0.05, 0.01, 1e-3, 1e-4] {
            let bits = bits_per_key_for(fpr);
            let mut filter = empty(20_000, bits).unwrap();
            (0..20_000u64).for_each(|key| _ = filter.insert(key.to_le_bytes()));
            assert!(filter.fpr_now() < 1.1 * fpr, "{fpr}: {bits} bits, {}", filter.fpr_now());
            assert!(filter.fpr_now() > 0.5 * fpr, "{fpr}: {bits} bits, {}", filter.fpr_now());
        }
        assert_eq!(bits_per_key_for(0.0), 100.0);
    }
}
