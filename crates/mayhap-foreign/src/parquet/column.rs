//! One column of a Parquet file: a filter a row group, asked all together.

use super::{File, Physical, SplitBlock};
use crate::cow::{array, borrow_range};
use crate::{
    Bytes, Foreign, ForeignError, Format, KeyType, Parts, Reader, StoredArray, Summary, chunked,
    ids, layers,
};
use mayhap::Classic;
use mayhap::sizing::ClassicShape;
use std::io::Write;

/// The filters of one column, used where they lie. A key may be in the file where it may be in
/// any row group.
///
/// They were made with the column's data, so nothing can be inserted: copy one out as a bare
/// bitset for that.
#[derive(Debug)]
pub struct Column {
    /// `None` for one that was kept in our own file.
    file: Option<Bytes>,
    name: String,
    physical: Option<Physical>,
    row_groups: u64,
    filters: Vec<Classic<SplitBlock, Bytes>>,
}

impl Column {
    /// The filters of the column of this name.
    pub fn open(file: &Bytes, name: &str) -> Result<Column, ForeignError> {
        let inside = File::read(file.as_ref())?;
        let found = inside.of_column(name)?;
        let physical = found.first().map(|found| found.physical);
        let filter =
            |found: &&super::BloomLocation| found.filter(borrow_range(file, found.bits.clone())?);
        let filters = found.iter().map(filter).collect::<Result<_, _>>()?;
        let row_groups = inside.row_groups() as u64;
        Ok(Column {
            file: Some(file.clone()),
            name: name.to_owned(),
            physical,
            row_groups,
            filters,
        })
    }

    /// How its values are stored; `None` where it was kept in our own file.
    pub fn physical(&self) -> Option<Physical> {
        self.physical
    }

    /// The filters, in the order of row groups.
    pub fn filters(&self) -> &[Classic<SplitBlock, Bytes>] {
        &self.filters
    }

    /// Row groups without a filter of this column may hold any key.
    pub fn is_complete(&self) -> bool {
        self.filters.len() as u64 == self.row_groups
    }

    /// Back from the parts it was kept as.
    pub(crate) fn from_parts(
        data: &mut Reader<'_>,
        arrays: Vec<StoredArray>,
    ) -> Result<Column, ForeignError> {
        let row_groups = data.u64_le("row groups")?;
        let name = String::from_utf8_lossy(data.rest()).into_owned();
        let filter = |StoredArray { bytes: bits, .. }: StoredArray| {
            let shape = ClassicShape::new(8 * bits.as_ref().len() as u64, 8);
            let is_blocks = shape.bits.is_multiple_of(256);
            let filter = is_blocks.then(|| Classic::from_parts(SplitBlock, shape, bits)).flatten();
            let need = "a multiple of 256";
            filter.ok_or_else(|| ForeignError::field("bits of a filter", shape.bits, need))
        };
        let filters: Vec<_> = arrays.into_iter().map(filter).collect::<Result<_, _>>()?;
        Ok(Column { file: None, name, physical: None, row_groups, filters })
    }

    fn refused(&self) -> ForeignError {
        let what = "a column's filters were made with its data: copy one out as \
                    parquet-bitset to change it";
        ForeignError::Refused { format: Format::Parquet, what }
    }
}

impl Foreign for Column {
    fn summary(&self) -> Summary {
        let mut details = vec![("column", self.name.clone())];
        details.extend(self.physical.map(|physical| ("type", physical.to_string())));
        let groups = format!("{} of {}", self.filters.len(), self.row_groups);
        details.push(("row groups with a filter", groups));
        let each = &self.filters;
        Summary {
            format: Format::Parquet,
            scheme: ids::PARQUET,
            details,
            capacity: 0,
            fpr: 0.0,
            keys: None,
            layers: self.filters.len() as u64,
            bits: each.iter().map(|filter| filter.shape().bits).sum(),
            probes: 8,
            fill: layers::fill(each),
            // One that is full tells of any number of keys.
            estimate: each.iter().map(Classic::estimate).fold(0, u64::saturating_add),
            fpr_now: if self.is_complete() { layers::fpr_now(each) } else { 1.0 },
        }
    }

    fn contains(&self, key: &[u8]) -> bool {
        !self.is_complete() || self.filters.iter().any(|filter| filter.contains(key))
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        if !self.is_complete() {
            answers.clear();
            return answers.resize(keys.len(), true);
        }
        chunked::each(keys, answers, chunked::hash_each(&SplitBlock), |hashes, found| {
            layers::any_contains(&self.filters, hashes, found);
        });
    }

    fn insert_batch(&mut self, _: &[&[u8]], _: &mut Vec<bool>) -> Result<(), ForeignError> {
        Err(self.refused())
    }

    fn union(&mut self, _: &dyn Foreign) -> Result<(), ForeignError> {
        Err(self.refused())
    }

    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError> {
        match (format, &self.file, self.filters.as_slice()) {
            (Format::Parquet, Some(file), _) => Ok(to.write_all(file.as_ref())?),
            (Format::ParquetBitset, _, [filter]) => Ok(to.write_all(filter.as_bytes())?),
            (Format::ParquetBitset, _, _) => {
                let what = "the column has a filter for each of several row groups, and a bitset \
                            is one filter";
                Err(ForeignError::Refused { format: Format::Parquet, what })
            }
            _ => Err(ForeignError::Untranslatable { from: Format::Parquet, to: format }),
        }
    }

    fn key_type(&self) -> Option<KeyType> {
        match self.physical? {
            Physical::Int32 => Some(KeyType::I32),
            Physical::Int64 => Some(KeyType::I64),
            Physical::ByteArray | Physical::FixedLenByteArray => Some(KeyType::Bytes),
            _ => None,
        }
    }

    fn parts(&self) -> Parts<'_> {
        let mut data = self.row_groups.to_le_bytes().to_vec();
        data.extend(self.name.bytes().take(4000));
        Parts {
            format: Format::Parquet,
            scheme: ids::PARQUET,
            data,
            capacity: 0,
            fpr: 0.0,
            keys: 0,
            arrays: self.filters.iter().map(|filter| array(filter, &[])).collect(),
        }
    }
}
