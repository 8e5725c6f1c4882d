//! Filters inside a Parquet file.

use super::Physical;
use super::split_block::{BLOCK_BYTES, PROBES, SplitBlock};
use super::thrift::{Cursor, Kind};
use crate::ForeignError;
use mayhap::Classic;
use mayhap::sizing::ClassicShape;
use std::ops::Range;

const MAGIC: &[u8; 4] = b"PAR1";
/// The header of a filter is about 16 bytes; writers may add fields.
const MAX_HEADER_BYTES: usize = 1024;

const MAGIC_ENCRYPTED: &[u8; 4] = b"PARE";

/// The filters of a Parquet file: what there are, of which column and row group, and where.
///
/// Reads the footer and the filters' headers; data pages are not looked at.
#[derive(Clone, Debug)]
pub struct File {
    row_groups: usize,
    columns: Vec<(String, Physical)>,
    found: Vec<BloomLocation>,
}

/// A filter in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomLocation {
    /// The row group, from 0.
    pub row_group: usize,
    /// The column, by its path in the schema, with dots between.
    pub column: String,
    /// How its values are stored.
    pub physical: Physical,
    /// Values in the row group, nulls included.
    pub values: u64,
    /// Where in the file the bits are.
    pub bits: Range<usize>,
}

impl BloomLocation {
    /// The filter over bits of the file it was found in, or of a copy of them.
    pub fn filter<B: AsRef<[u8]>>(&self, bits: B) -> Result<Classic<SplitBlock, B>, ForeignError> {
        let shape = ClassicShape::new(8 * bits.as_ref().len() as u64, PROBES);
        let need = "the bits that were found";
        Classic::from_parts(SplitBlock, shape, bits)
            .filter(|filter| filter.as_bytes().len() == self.bits.len())
            .ok_or_else(|| ForeignError::field("bits of a filter", "others", need))
    }
}

/// Whether these bytes begin and end as a Parquet file does.
pub fn is_parquet(bytes: &[u8]) -> bool {
    let ends = |magic| bytes.ends_with(magic) && bytes.len() >= 12;
    bytes.starts_with(MAGIC) && ends(MAGIC) || ends(MAGIC_ENCRYPTED)
}

impl File {
    /// Find the filters of a file.
    pub fn read(file: &[u8]) -> Result<File, ForeignError> {
        let mut here = File { row_groups: 0, columns: Vec::new(), found: Vec::new() };
        let mut walk = Cursor::new(footer(file)?);
        walk.fields(|walk, id, kind| match (id, kind) {
            (4, Kind::List) => {
                walk.list(|walk, _| here.row_group(file, walk))?;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        here.check_disjoint()?;
        Ok(here)
    }

    /// Filters that overlap were made up: a small file could then have any amount of bits to be
    /// looked at.
    fn check_disjoint(&self) -> Result<(), ForeignError> {
        let mut places: Vec<_> = self.found.iter().map(|found| &found.bits).collect();
        places.sort_unstable_by_key(|bits| bits.start);
        match places.windows(2).find(|pair| pair[0].end > pair[1].start) {
            None => Ok(()),
            Some(pair) => {
                let got = format!("at {} inside of the one at {}", pair[1].start, pair[0].start);
                Err(ForeignError::field("offset of a filter", got, "behind the one before"))
            }
        }
    }

    fn row_group(&mut self, file: &[u8], walk: &mut Cursor<'_>) -> Result<(), ForeignError> {
        let row_group = self.row_groups;
        self.row_groups += 1;
        walk.fields(|walk, id, kind| match (id, kind) {
            (1, Kind::List) => {
                walk.list(|walk, _| self.column(file, row_group, walk))?;
                Ok(true)
            }
            _ => Ok(false),
        })
    }

    fn column(
        &mut self,
        file: &[u8],
        row_group: usize,
        walk: &mut Cursor<'_>,
    ) -> Result<(), ForeignError> {
        let mut column = Column::default();
        let mut is_elsewhere = false;
        walk.fields(|walk, id, kind| match (id, kind) {
            (1, Kind::Binary) => {
                is_elsewhere = !walk.binary()?.is_empty();
                Ok(true)
            }
            (3, Kind::Struct) => {
                column = Column::read(walk)?;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        // Of an encrypted column nothing is told but where its key is.
        let Some(physical) = column.physical else { return Ok(()) };
        let name = column.path.join(".");
        if row_group == 0 {
            self.columns.push((name.clone(), physical));
        }
        let Some(at) = column.filter_at else { return Ok(()) };
        if is_elsewhere {
            let need = "in this file: ask the file that holds the column";
            return Err(ForeignError::field("data of a column", "in another file", need));
        }
        let bits = bits_of_filter(file, at, column.filter_bytes)?;
        let values = u64::try_from(column.values).unwrap_or(0);
        self.found.push(BloomLocation { row_group, column: name, physical, values, bits });
        Ok(())
    }

    /// How many row groups there are.
    pub fn row_groups(&self) -> usize {
        self.row_groups
    }

    /// The columns of the file, with or without filters.
    pub fn columns(&self) -> &[(String, Physical)] {
        &self.columns
    }

    /// All filters, in the order of row groups and columns.
    pub fn filters(&self) -> &[BloomLocation] {
        &self.found
    }

    /// The filters of one column, one a row group at most; an error that says what there is where
    /// the column is unknown or has none.
    pub fn of_column(&self, name: &str) -> Result<Vec<&BloomLocation>, ForeignError> {
        let found: Vec<_> = self.found.iter().filter(|found| found.column == name).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let mut with: Vec<_> = self.found.iter().map(|found| found.column.as_str()).collect();
        with.dedup();
        with.sort_unstable();
        with.dedup();
        let known = self.columns.iter().any(|(column, _)| column == name);
        let has = if known { "without a filter" } else { "not in the file" };
        let got = match with.len() {
            0 => format!("{name:?}, {has}; no column has one"),
            _ => format!("{name:?}, {has}; there are {}", with.join(", ")),
        };
        Err(ForeignError::field("column", got, "one that has a filter"))
    }
}

/// What the metadata of a column chunk says that matters here.
#[derive(Default)]
struct Column {
    physical: Option<Physical>,
    path: Vec<String>,
    values: i64,
    filter_at: Option<i64>,
    filter_bytes: Option<i64>,
}

impl Column {
    fn read(walk: &mut Cursor<'_>) -> Result<Column, ForeignError> {
        let mut column = Column::default();
        walk.fields(|walk, id, kind| {
            match (id, kind) {
                (1, Kind::I32) => column.physical = Some(Physical::from_id(walk.number()?)?),
                (3, Kind::List) => walk.list(|walk, _| {
                    let name = String::from_utf8_lossy(walk.binary()?).into_owned();
                    column.path.push(name);
                    Ok(())
                })?,
                (5, Kind::I64) => column.values = walk.number()?,
                (14, Kind::I64) => column.filter_at = Some(walk.number()?),
                (15, Kind::I32) => column.filter_bytes = Some(walk.number()?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(column)
    }
}

/// The metadata at the end of the file.
fn footer(file: &[u8]) -> Result<&[u8], ForeignError> {
    if file.ends_with(MAGIC_ENCRYPTED) {
        return Err(ForeignError::field("footer", "encrypted", "readable"));
    }
    let ends = file.strip_prefix(MAGIC).and_then(|file| file.strip_suffix(MAGIC));
    let Some((body, length)) = ends.and_then(|body| body.split_last_chunk::<4>()) else {
        let need = "one that begins and ends with PAR1";
        return Err(ForeignError::field("file", format!("{} other bytes", file.len()), need));
    };
    let (need, have) = (u64::from(u32::from_le_bytes(*length)), body.len() as u64);
    let start = have.checked_sub(need);
    let start = start.ok_or(ForeignError::Truncated { field: "footer", need, have })?;
    Ok(&body[start as usize..])
}

/// Where the bits behind a filter's header are.
fn bits_of_filter(file: &[u8], at: i64, length: Option<i64>) -> Result<Range<usize>, ForeignError> {
    let have = file.len() as u64;
    let start = usize::try_from(at).ok().filter(|start| *start < file.len());
    let Some(start) = start else {
        return Err(ForeignError::field("offset of a filter", at, "inside of the file"));
    };
    // Each of many filters may point to the same long header, which must not be walked for each.
    let header = &file[start..file.len().min(start + MAX_HEADER_BYTES)];
    let mut walk = Cursor::new(header);
    let mut bytes = None;
    walk.fields(|walk, id, kind| match (id, kind) {
        (1, Kind::I32) => {
            bytes = Some(walk.number()?);
            Ok(true)
        }
        (2..=4, Kind::Struct) => {
            only_variant_1(walk, id)?;
            Ok(true)
        }
        _ => Ok(false),
    })?;
    let bytes = bytes.unwrap_or(0);
    let count = u64::try_from(bytes).ok().filter(|b| *b > 0 && b.is_multiple_of(BLOCK_BYTES));
    let count = count.ok_or_else(|| {
        ForeignError::field("bytes of a filter", bytes, "a positive multiple of 32")
    })?;
    let header = walk.reader.at();
    let whole = (header as u64).saturating_add(count);
    if length.is_some_and(|length| u64::try_from(length) != Ok(whole)) {
        let got = format!("{} where header and bits have {whole}", length.unwrap_or(0));
        return Err(ForeignError::field("length of a filter", got, "equal"));
    }
    let end = usize::try_from(whole).ok().and_then(|whole| start.checked_add(whole));
    let end = end.filter(|end| *end <= file.len()).ok_or(ForeignError::Truncated {
        field: "bits of a filter",
        need: (start as u64).saturating_add(whole),
        have,
    })?;
    Ok(start + header..end)
}

/// Algorithm, hash and compression are unions; of each only the first variant is known.
fn only_variant_1(walk: &mut Cursor<'_>, id: i16) -> Result<(), ForeignError> {
    let what = match id {
        2 => "algorithm of a filter",
        3 => "hash of a filter",
        _ => "compression of a filter",
    };
    let mut variant = 0;
    walk.fields(|_, id, _| {
        variant = id;
        Ok(false)
    })?;
    match variant {
        1 => Ok(()),
        other => Err(ForeignError::field(what, other, "1: split blocks, XXH64, uncompressed")),
    }
}
