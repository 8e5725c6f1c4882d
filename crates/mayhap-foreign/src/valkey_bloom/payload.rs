//! The bytes of a chain: read, and written again.

use super::{Chain, Layer, LayerInfo, Seed, ValkeyBloom};
use crate::{ForeignError, Reader, limits};
use mayhap::mem::AlignedBuf;
use std::io::{self, Write};
use std::ops::Range;

/// The version of the payload, and that of the blobs in it.
const VERSION: u8 = 1;
const BLOB_VERSION: u8 = 1;
/// A blob's bytes before its bits.
const BLOB_FRONT_BYTES: u64 = 1 + 8 + 4 + 32;

impl Chain {
    /// Read a payload into memory of its own.
    pub fn decode(payload: &[u8]) -> Result<Chain, ForeignError> {
        Chain::read(payload, |range| Ok(AlignedBuf::copy_of(&payload[range])?))
    }
}

impl<'a> Chain<&'a [u8]> {
    /// Query a payload where it lies.
    pub fn open(payload: &'a [u8]) -> Result<Chain<&'a [u8]>, ForeignError> {
        Chain::read(payload, |range| Ok(&payload[range]))
    }
}

impl<B: AsRef<[u8]>> Chain<B> {
    /// Take a payload apart; `part` makes what holds the bytes of a range of it.
    pub fn read(
        payload: &[u8],
        mut part: impl FnMut(Range<usize>) -> Result<B, ForeignError>,
    ) -> Result<Self, ForeignError> {
        let mut fields = Reader::new(payload);
        let version = fields.u8("version")?;
        if version != VERSION {
            return Err(ForeignError::field("version", version, "1"));
        }
        let expansion = fields.u32_le("expansion")?;
        let (fpr, tightening) = (fields.f64_le("rate")?, fields.f64_le("tightening ratio")?);
        let is_random = match fields.u8("random seed")? {
            0 => false,
            1 => true,
            other => return Err(ForeignError::field("random seed", other, "0 or 1")),
        };
        // The blobs have the seed, each of them all of it.
        let seed = Seed { bytes: [0; 32], is_random };
        let mut rule = ValkeyBloom::new(expansion, fpr, tightening, seed)?;
        let mut layers = Vec::new();
        for i in 0..fields.u64_le("number of filters")? {
            let (seed, probes, bits) = blob(&mut fields)?;
            if i == 0 {
                rule.seed.bytes = seed;
            } else if rule.seed.bytes != seed {
                return Err(ForeignError::field("seed", "another", "that of the first filter"));
            }
            let (items, capacity) = (fields.i64_le("items")?, fields.i64_le("capacity")?);
            let info = LayerInfo::new(bits.len() as u64, probes, items, capacity)?;
            layers.push(Layer::new(&rule, info, part(bits)?)?);
        }
        fields.end()?;
        Chain::of_layers(rule, layers)
    }

    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        match self.write_to(&mut payload) {
            Ok(()) => payload,
            Err(_) => unreachable!("a vector takes all bytes"),
        }
    }

    /// Write the payload.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let ValkeyBloom { expansion, fpr, tightening, seed } = self.rule();
        out.write_all(&[VERSION])?;
        out.write_all(&expansion.to_le_bytes())?;
        out.write_all(&fpr.to_le_bytes())?;
        out.write_all(&tightening.to_le_bytes())?;
        out.write_all(&[seed.is_random.into()])?;
        out.write_all(&(self.layers().len() as u64).to_le_bytes())?;
        for layer in self.layers() {
            let (bytes, info) = (layer.filter().as_bytes(), layer.info());
            out.write_all(&(BLOB_FRONT_BYTES + bytes.len() as u64).to_le_bytes())?;
            out.write_all(&[BLOB_VERSION])?;
            out.write_all(&(bytes.len() as u64).to_le_bytes())?;
            out.write_all(&info.probes.to_le_bytes())?;
            out.write_all(&seed.bytes)?;
            out.write_all(bytes)?;
            out.write_all(&info.items.to_le_bytes())?;
            out.write_all(&info.capacity.to_le_bytes())?;
        }
        Ok(())
    }
}

/// Seed, probes and bits of one filter.
fn blob(fields: &mut Reader<'_>) -> Result<([u8; 32], u32, Range<usize>), ForeignError> {
    let declared = fields.u64_le("bytes of a blob")?;
    let version = fields.u8("version of a blob")?;
    if version != BLOB_VERSION {
        return Err(ForeignError::field("version of a blob", version, "1"));
    }
    let bytes = fields.u64_le("bytes of a filter")?;
    if bytes.checked_add(BLOB_FRONT_BYTES) != Some(declared) {
        let got = format!("{declared} around {bytes}");
        return Err(ForeignError::field("bytes of a blob", got, "45 more than its bits have"));
    }
    let probes = limits::probes(fields.u32_le("probes")?.into())?;
    let seed = fields.array("seed")?;
    Ok((seed, probes, fields.skip("bits", bytes)?))
}
