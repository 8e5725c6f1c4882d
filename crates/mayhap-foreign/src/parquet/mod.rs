//! Apache Parquet's split-block filters: the bits of one, and those inside a Parquet file.
//!
//! The array is blocks of 32 bytes, eight little-endian `u32` words each; a key has one bit in each
//! word of one block ([`SplitBlock`]). A file has such an array for each row group and column whose
//! writer made one, behind a small Thrift header, at the offset that the column's metadata in the
//! footer names ([`File`]).
//! Source: `BloomFilter.md` and `parquet.thrift` of apache/parquet-format. Golden files, and what
//! wrote them: `testdata/foreign/parquet/`.
//!
//! Keys are hashed as Parquet's PLAIN encoding spells them, without a length: bytes as they are,
//! numbers little-endian in the width of the column ([`Physical::key`]). Nulls are not in.
//!
//! ```
//! use mayhap_foreign::parquet;
//! let mut filter = parquet::create(1_000, 0.01)?;
//! filter.insert("ada");
//! filter.insert(&42i64.to_le_bytes()); // of an INT64 column
//! let bitset = filter.encode()?;
//! assert!(parquet::decode(&bitset)?.contains("ada"));
//! # Ok::<(), mayhap_foreign::ForeignError>(())
//! ```

mod column;
mod file;
mod physical;
mod split_block;
mod thrift;

pub use column::Column;
pub use file::{File, Found, is_parquet};
pub use physical::Physical;
pub use split_block::{SplitBlock, bitset_bytes};

use crate::frame::{Content, Frame, Framed, Laid, Place};
use crate::{ForeignError, Format, Reader, limits};
use split_block::{BLOCK_BYTES, PROBES};
use std::io::Write;

/// The bits of one filter and nothing around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bitset;

impl Frame for Bitset {
    type Scheme = SplitBlock;

    fn format(&self) -> Format {
        Format::ParquetBitset
    }

    fn scheme(&self, bits: u64) -> Option<SplitBlock> {
        let is_blocks = bits > 0 && bits.is_multiple_of(8 * BLOCK_BYTES);
        is_blocks.then_some(SplitBlock)
    }

    fn write(&self, content: &Content<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
        Ok(to.write_all(content.bits)?)
    }

    fn in_format(&self, format: Format) -> Option<Bitset> {
        (format == Format::ParquetBitset).then_some(Bitset)
    }

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn from_data(_: Format, data: &mut Reader<'_>) -> Result<Bitset, ForeignError> {
        data.end().map(|()| Bitset)
    }
}

/// Where the bits of a bare bitset are: everywhere.
pub fn lay(bitset: &[u8]) -> Result<Laid<Bitset>, ForeignError> {
    let bytes = bitset.len() as u64;
    if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES) {
        return Err(ForeignError::field("bytes of the bitset", bytes, "a multiple of 32"));
    }
    let bits = Place::At(0..bitset.len());
    Ok(Laid { frame: Bitset, bits, probes: PROBES, made_for: (0, 0.0, 0) })
}

/// Read a bare bitset into memory of its own.
pub fn decode(bitset: &[u8]) -> Result<Framed<Bitset>, ForeignError> {
    Framed::decode(lay(bitset)?, bitset)
}

/// Query a bare bitset where it lies.
pub fn open(bitset: &[u8]) -> Result<Framed<Bitset, &[u8]>, ForeignError> {
    let laid = lay(bitset)?;
    Framed::assemble(laid.frame, bitset, laid.probes, laid.made_for)
}

/// An empty filter for so many distinct keys at this rate, of the size that parquet-java and
/// parquet-rs give it: a power of two from 32 bytes to 128 MiB.
pub fn create(keys: u64, fpr: f64) -> Result<Framed<Bitset>, ForeignError> {
    let keys = limits::wish(keys, fpr)?;
    Framed::empty(Bitset, bitset_bytes(keys, fpr), PROBES, (keys, fpr))
}
