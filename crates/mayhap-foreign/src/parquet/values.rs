//! A column's filters compared with its values, read by the `parquet` crate.

use super::{BloomLocation, File, SplitBlock};
use crate::{Bytes, ForeignError};
use mayhap::Classic;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Values read at a time.
const BATCH: usize = 4096;

/// What a row group's filter says of the values it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnCheck {
    /// The row group, from 0.
    pub row_group: usize,
    /// Values that are not null, each time they occur.
    pub values: u64,
    /// Those the filter does not have: a reader that trusts it loses their rows.
    pub missing: u64,
}

/// Read all values of a column and ask each row group's filter for its own.
///
/// ```
/// # use mayhap_foreign::{Bytes, parquet};
/// # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/parquet/file_rs_i64.parquet");
/// let file = Bytes::new(std::fs::read(file).unwrap());
/// let compared = parquet::compare_with_values(&file, "c")?;
/// assert!(compared.iter().all(|row_group| row_group.missing == 0));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn compare_with_values(file: &Bytes, column: &str) -> Result<Vec<ColumnCheck>, ForeignError> {
    let inside = File::read(file.as_ref())?;
    let found = inside.of_column(column)?;
    // A damaged file must not end the program, whatever its reader thinks of it.
    let compared = catch_unwind(AssertUnwindSafe(|| compare(file, &found)));
    compared.unwrap_or_else(|_| {
        let need = "readable by the parquet crate, which gave up on it";
        Err(ForeignError::field("data of the column", "damaged", need))
    })
}

fn compare(file: &Bytes, found: &[&BloomLocation]) -> Result<Vec<ColumnCheck>, ForeignError> {
    let reader =
        SerializedFileReader::new(bytes::Bytes::from_owner(file.clone())).map_err(parquet_error)?;
    let mut all = Vec::new();
    for found in found {
        let filter = found.filter(file.as_ref().get(found.bits.clone()).unwrap_or_default())?;
        let row_group = reader.get_row_group(found.row_group).map_err(parquet_error)?;
        let columns = row_group.metadata().columns();
        let at = columns.iter().position(|c| c.column_path().string() == found.column);
        let at = at.ok_or_else(|| ForeignError::field("column", &found.column, "in the file"))?;
        let values = row_group.get_column_reader(at).map_err(parquet_error)?;
        let (values, missing) = count(values, &filter).map_err(parquet_error)?;
        all.push(ColumnCheck { row_group: found.row_group, values, missing });
    }
    Ok(all)
}

/// How many values there are, and how many the filter does not have.
fn count(
    column: ColumnReader,
    filter: &Classic<SplitBlock, &[u8]>,
) -> Result<(u64, u64), ParquetError> {
    match column {
        ColumnReader::BoolColumnReader(column) => count_typed(column, filter),
        ColumnReader::Int32ColumnReader(column) => count_typed(column, filter),
        ColumnReader::Int64ColumnReader(column) => count_typed(column, filter),
        ColumnReader::Int96ColumnReader(column) => count_typed(column, filter),
        ColumnReader::FloatColumnReader(column) => count_typed(column, filter),
        ColumnReader::DoubleColumnReader(column) => count_typed(column, filter),
        ColumnReader::ByteArrayColumnReader(column) => count_typed(column, filter),
        ColumnReader::FixedLenByteArrayColumnReader(column) => count_typed(column, filter),
    }
}

fn count_typed<T: DataType<T: AsBytes>>(
    mut column: ColumnReaderImpl<T>,
    filter: &Classic<SplitBlock, &[u8]>,
) -> Result<(u64, u64), ParquetError> {
    let (mut count, mut missing) = (0, 0);
    let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let (mut hashes, mut answers) = (Vec::new(), Vec::new());
    loop {
        definitions.clear();
        repetitions.clear();
        values.clear();
        let levels = (Some(&mut definitions), Some(&mut repetitions));
        let (records, _, levels) = column.read_records(BATCH, levels.0, levels.1, &mut values)?;
        if records == 0 && levels == 0 {
            return Ok((count, missing));
        }
        hashes.clear();
        hashes.extend(values.iter().map(|value| filter.hash(value.as_bytes())));
        filter.contains_batch(&hashes, &mut answers);
        count += answers.len() as u64;
        missing += answers.iter().filter(|answer| !**answer).count() as u64;
    }
}

fn parquet_error(error: ParquetError) -> ForeignError {
    ForeignError::field("data of the column", error, "readable by the parquet crate")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> Vec<(String, Vec<u8>)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/parquet");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = paths.filter(|path| path.extension().is_some_and(|ext| ext == "parquet"));
        files.map(|path| (path.display().to_string(), std::fs::read(path).unwrap())).collect()
    }

    #[test]
    fn golden_files_have_all_of_their_values() {
        let files = golden();
        assert_eq!(files.len(), 5);
        for (name, file) in files {
            let compared = compare_with_values(&Bytes::new(file), "c").unwrap();
            assert_eq!(compared.len(), 1, "{name}");
            assert!(compared[0].values >= 200, "{name}: {compared:?}");
            assert_eq!(compared[0].missing, 0, "{name}");
        }
    }

    #[test]
    fn a_cleared_filter_misses_all_and_damage_is_an_error() {
        for (name, mut file) in golden() {
            let bits = File::read(&file).unwrap().filters()[0].bits.clone();
            file[bits].fill(0);
            let compared = compare_with_values(&Bytes::new(file.clone()), "c").unwrap();
            assert_eq!(compared[0].missing, compared[0].values, "{name}");
            // The first page's header: whatever happens, it is no panic.
            file[4..40].fill(0xff);
            _ = compare_with_values(&Bytes::new(file), "c");
        }
        let (_, file) = golden().remove(0);
        assert!(compare_with_values(&Bytes::new(file), "d").is_err());
    }
}
