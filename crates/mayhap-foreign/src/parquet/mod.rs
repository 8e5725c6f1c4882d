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
#[cfg(feature = "parquet-values")]
mod values;

pub use column::Column;
pub use file::{BloomLocation, File, is_parquet};
pub use physical::Physical;
pub use split_block::{SplitBlock, bitset_bytes};
#[cfg(feature = "parquet-values")]
pub use values::{ColumnCheck, compare_with_values};

use crate::family::{Choices, Family, FormatRow, flat_from_parts, is_text, open_flat, owned};
use crate::flat::{BitSource, FileContent, FlatFilter, FlatFormat, ParsedLayout};
use crate::{Bytes, KeyType, Missing, Options};
use crate::{ForeignError, Format, Reader, limits};
use mayhap::key::KeyEncoding;
use split_block::{BLOCK_BYTES, PROBES};
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[
        FormatRow {
            format: Format::Parquet,
            name: "parquet",
            programs: "parquet-java, Arrow, parquet-rs, DuckDB",
            file: "a Parquet file; read only",
            detected: "yes",
            key_types: &[
                (KeyType::Bytes, KeyEncoding::Bytes),
                (KeyType::I64, KeyEncoding::I64),
                (KeyType::I32, KeyEncoding::I32),
            ],
            needs_probes: false,
            choices: Choices::NONE,
        },
        FormatRow {
            format: Format::ParquetBitset,
            name: "parquet-bitset",
            programs: "the same",
            file: "the bits of one filter",
            detected: "–",
            key_types: &[
                (KeyType::Bytes, KeyEncoding::Bytes),
                (KeyType::I64, KeyEncoding::I64),
                (KeyType::I32, KeyEncoding::I32),
            ],
            needs_probes: false,
            choices: Choices::NONE,
        },
    ],
    is_certain: |format, bytes| format == Format::Parquet && is_parquet(bytes),
    is_possible: |format, bytes| {
        format == Format::ParquetBitset && !is_text(bytes) && lay(bytes).is_ok()
    },
    open: |format, file, options| match format {
        Format::Parquet => Ok(Box::new(Column::open(file, &column_of(file, options)?)?)),
        _ => open_flat(lay(file.as_ref()), file),
    },
    create: |format, new| match format {
        Format::Parquet => {
            let what = "a file is made with its data, by a writer of Parquet: make the bits alone, \
                        as parquet-bitset";
            Err(ForeignError::Refused { format, what })
        }
        _ => owned(create(new.keys, new.fpr)),
    },
    from_parts: |format, data, arrays, target| match format {
        Format::Parquet => Ok(Box::new(Column::from_parts(data, arrays)?)),
        _ => flat_from_parts::<Bitset>(format, data, arrays, target),
    },
};

/// The column asked for, or the only one that has filters.
fn column_of(file: &Bytes, options: &Options) -> Result<String, ForeignError> {
    if let Some(column) = &options.column {
        return Ok(column.clone());
    }
    let inside = File::read(file.as_ref())?;
    let mut names: Vec<&str> = inside.filters().iter().map(|found| found.column.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if let [only] = names[..] {
        return Ok(only.to_owned());
    }
    let names = names.into_iter().map(str::to_owned).collect();
    Err(ForeignError::Missing { format: Format::Parquet, what: Missing::Column(names) })
}

/// The bits of one filter and nothing around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bitset;

impl FlatFormat for Bitset {
    type Scheme = SplitBlock;

    fn format(&self) -> Format {
        Format::ParquetBitset
    }

    fn scheme(&self, bits: u64) -> Option<SplitBlock> {
        let is_blocks = bits > 0 && bits.is_multiple_of(8 * BLOCK_BYTES);
        is_blocks.then_some(SplitBlock)
    }

    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
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
pub fn lay(bitset: &[u8]) -> Result<ParsedLayout<Bitset>, ForeignError> {
    let bytes = bitset.len() as u64;
    if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES) {
        return Err(ForeignError::field("bytes of the bitset", bytes, "a multiple of 32"));
    }
    let bits = BitSource::InFile(0..bitset.len());
    Ok(ParsedLayout { frame: Bitset, bits, probes: PROBES, target: (0, 0.0, 0) })
}

/// Read a bare bitset into memory of its own.
pub fn decode(bitset: &[u8]) -> Result<FlatFilter<Bitset>, ForeignError> {
    FlatFilter::decode(lay(bitset)?, bitset)
}

/// Query a bare bitset where it lies.
pub fn open(bitset: &[u8]) -> Result<FlatFilter<Bitset, &[u8]>, ForeignError> {
    let laid = lay(bitset)?;
    FlatFilter::assemble(laid.frame, bitset, laid.probes, laid.target)
}

/// An empty filter for so many distinct keys at this rate, of the size that parquet-java and
/// parquet-rs give it: a power of two from 32 bytes to 128 MiB.
pub fn create(keys: u64, fpr: f64) -> Result<FlatFilter<Bitset>, ForeignError> {
    let keys = limits::check_target(keys, fpr)?;
    FlatFilter::empty(Bitset, bitset_bytes(keys, fpr), PROBES, (keys, fpr))
}
