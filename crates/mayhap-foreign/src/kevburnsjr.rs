//! kevburnsjr/bloomfilter (Go), also httpimp/bloomfilter: `ToBytes` is the buckets, `u32` big-endian, and
//! nothing else. Source: `bloomfilter.go` of that package.
//!
//! Not in the bytes: the number of probes. `EstimateParameters(n, p)` gives it to whoever knows the wish.
//! The package claims to be compatible with bloomfilter.js, and is not in general.
//! Golden files: `testdata/foreign/kevburnsjr/`.

use crate::KeyType;
use crate::family::{
    Choices, Family, FormatRow, flat_from_parts, is_text, never, open_flat, owned,
};
use crate::flat::{BitSource, FileContent, FlatFilter, FlatFormat, ParsedLayout};
use crate::hash::{
    KeyLanes, MultiLane, fnv1a_32_mixed_twice, fnv1a_32_mixed_twice_of_rows, side_by_side,
};
use crate::{ForeignError, Format, Modulus, Reader, ids, limits, num_base64};
use mayhap::key::KeyEncoding;
use mayhap::scheme::{Scheme, SchemeId};
use mayhap::sizing::ClassicShape;
use std::f64::consts::LN_2;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::Kevburnsjr,
        name: "kevburnsjr",
        programs: "kevburnsjr/bloomfilter (Go)",
        file: "`ToBytes`",
        detected: "–",
        key_types: &[(KeyType::Bytes, KeyEncoding::Bytes), (KeyType::I32, KeyEncoding::I32Be)],
        needs_probes: true,
        choices: Choices::NONE,
    }],
    is_certain: never,
    is_possible: |_, bytes| !is_text(bytes) && !bytes.is_empty() && bytes.len().is_multiple_of(4),
    open: |format, file, options| open_flat(read(file.as_ref(), options.probes_of(format)?), file),
    create: |_, new| owned(create(new.keys, new.fpr)),
    from_parts: flat_from_parts::<Kevburnsjr>,
};

/// What a file has beside its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kevburnsjr {
    /// Nothing.
    Raw,
    /// A count of keys, to become an element of a [list](crate::num_base64).
    Element,
}

/// The seeds of the two hashes.
pub const SEEDS: [u32; 2] = [0, 1_576_284_489];

/// The scheme: a walk by the second hash, in wrapping `uint32`. Buckets are big-endian in the file and
/// used as they lie: bit `i` is the bit `i ^ 24` of the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FnvDoubleHash(Modulus);

impl FnvDoubleHash {
    /// For so many bits; `None` for none, or more than 32 bits can count.
    pub(crate) fn new(bits: u64) -> Option<FnvDoubleHash> {
        let fits = bits.is_multiple_of(32) && bits <= u32::MAX.into();
        Modulus::new(bits).filter(|_| fits).map(FnvDoubleHash)
    }
}

impl Scheme for FnvDoubleHash {
    type Hash = (u32, u32);
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        ids::KEVBURNSJR
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> (u32, u32) {
        fnv1a_32_mixed_twice(bytes, SEEDS).into()
    }

    #[inline]
    fn positions(&self, (a, b): (u32, u32), _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let modulus = self.0;
        // A sum past 32 bits has lost 2³² before it is reduced.
        let step = modulus.rem(b.into());
        let step_past = modulus.rem_signed(i64::from(b) - (1 << 32));
        let change = step ^ step_past;
        let mut x = modulus.rem(a.into());
        (0..probes).map(move |_| {
            let at = x;
            let is_past = (x + u64::from(b)) >> 32; // 0 or 1, and no jump on what nobody foresees
            x = modulus.add(x, step ^ (change & is_past.wrapping_neg()));
            at ^ 24
        })
    }
}

impl MultiLane<16> for FnvDoubleHash {
    type Word = u32;
    type Hash = (u32, u32);

    #[inline(always)]
    fn hash_lanes(&self, _: &[&[u8]; 16], rows: &KeyLanes<u32, 16>) -> [(u32, u32); 16] {
        fnv1a_32_mixed_twice_of_rows(rows, SEEDS).map(|[a, b]| (a, b))
    }

    fn hash_one(&self, key: &[u8]) -> (u32, u32) {
        self.hash_bytes(key)
    }
}

impl FlatFormat for Kevburnsjr {
    type Scheme = FnvDoubleHash;

    fn format(&self) -> Format {
        match self {
            Kevburnsjr::Raw => Format::Kevburnsjr,
            Kevburnsjr::Element => Format::NumBase64,
        }
    }

    fn scheme(&self, bits: u64) -> Option<FnvDoubleHash> {
        FnvDoubleHash::new(bits)
    }

    fn hash_keys(scheme: &FnvDoubleHash, keys: &[&[u8]], hashes: &mut Vec<(u32, u32)>) {
        side_by_side(scheme, keys, hashes);
    }

    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
        if *self == Kevburnsjr::Raw {
            return Ok(to.write_all(content.bits)?);
        }
        // The bits alone know how many keys there are, nearly.
        let shape = ClassicShape::new(content.bits.len() as u64 * 8, content.probes);
        let ones: u64 = content.bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
        let estimate = shape.keys_at_fill(ones as f64 / shape.bits as f64).round() as u64;
        let keys = if content.keys > 0 { content.keys } else { estimate };
        num_base64::write_element(to, keys, content.bits)?;
        Ok(to.write_all(b"\n")?)
    }

    fn in_format(&self, format: Format) -> Option<Kevburnsjr> {
        match format {
            Format::Kevburnsjr => Some(Kevburnsjr::Raw),
            Format::NumBase64 => Some(Kevburnsjr::Element),
            _ => None,
        }
    }

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn from_data(_: Format, _: &mut Reader<'_>) -> Result<Kevburnsjr, ForeignError> {
        Ok(Kevburnsjr::Raw)
    }
}

/// Find one's way in a file of whole buckets.
pub(crate) fn read(bytes: &[u8], probes: u32) -> Result<ParsedLayout<Kevburnsjr>, ForeignError> {
    let probes = limits::probes(probes.into())?;
    if bytes.is_empty() || !bytes.len().is_multiple_of(4) || bytes.len() as u64 >= 1 << 29 {
        let need = "a multiple of 4, from 4 on and below 2^29";
        return Err(ForeignError::field("number of bytes", bytes.len(), need));
    }
    let bits = BitSource::InFile(0..bytes.len());
    Ok(ParsedLayout { frame: Kevburnsjr::Raw, bits, probes, target: (0, 0.0, 0) })
}

/// Read what `ToBytes` gave, knowing the number of probes.
pub fn decode(bytes: &[u8], probes: u32) -> Result<FlatFilter<Kevburnsjr>, ForeignError> {
    FlatFilter::decode(read(bytes, probes)?, bytes)
}

/// `EstimateParameters`: bits, a multiple of 32, and probes.
///
/// ```
/// assert_eq!(mayhap_foreign::kevburnsjr::estimate_parameters(1_000, 0.001)?, (14_400, 10));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn estimate_parameters(keys: u64, fpr: f64) -> Result<(u64, u32), ForeignError> {
    let n = limits::check_target(keys, fpr)?.max(1) as f64;
    let m = (-n * fpr.ln() / (LN_2 * LN_2)).ceil().max(1.0);
    let probes = limits::probes((LN_2 * m / n).ceil().max(1.0) as u64)?;
    Ok(((m as u64).next_multiple_of(32), probes))
}

/// What `New(EstimateParameters(n, p))` makes.
pub fn create(keys: u64, fpr: f64) -> Result<FlatFilter<Kevburnsjr>, ForeignError> {
    let (bits, probes) = estimate_parameters(keys, fpr)?;
    FlatFilter::empty(Kevburnsjr::Raw, bits / 8, probes, (keys, fpr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_s_own_example() {
        use base64::Engine;
        let mut filter = create(10, 1e-6).unwrap();
        assert_eq!((filter.shape().bits, filter.shape().probes), (288, 20));
        filter.insert("foo");
        filter.insert("bar");
        let text = base64::engine::general_purpose::STANDARD.encode(filter.encode().unwrap());
        assert_eq!(text, "iCCACAiAACAACIgAAAIIAqCAAIgogCAIAIgACAIAigiAAIqA");
    }
}
