//! Skip the disk: filters in a log-structured store, by row and by row and column.
//!
//! Why it is built so: such a store keeps many sorted tables, and a key that is in none of them
//! would be searched in each. A filter beside each table says "not here" for ten bits per key.
//! LevelDB gets those bits from a policy, and so takes Mayhap's, byte for byte what its own would
//! be. HBase stores cells under (row, column) and lets a table choose: a filter of *rows* is small
//! and serves lookups of whole rows, but cannot tell that a row lacks a column; a filter of *rows
//! and columns* can, and is larger where rows are wide. Both parts go into one key, lengths before
//! them, so that ("ab", "c") and ("a", "bc") are two keys. Every "maybe" is a block read from disk:
//! those are counted.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example lsm_reads
//! ```

use mayhap_foreign::leveldb::{Policy, Program};
use mayhap_store::text::compound;
use rusty_leveldb::{DB, FilterPolicy, Options, Result};
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

const ROWS: u32 = 3_000;
const BITS_PER_KEY: u32 = 10;

/// Which part of a cell's key is in the filter.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Row,
    RowAndColumn,
}

fn cell(row: &str, column: &str) -> Vec<u8> {
    compound([row, column])
}

/// The row part of a cell's key: a length of eight bytes, and that many more.
fn row_of(key: &[u8]) -> &[u8] {
    let length = key.first_chunk().map(|length| u64::from_le_bytes(*length) as usize);
    length.and_then(|length| key.get(..length.checked_add(8)?)).unwrap_or(key)
}

/// Mayhap's policy under LevelDB's, counting the blocks that are read.
struct Counted {
    policy: Policy,
    by: By,
    reads: Rc<Cell<u64>>,
}

impl Counted {
    fn part<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        if self.by == By::Row { row_of(key) } else { key }
    }
}

impl FilterPolicy for Counted {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn create_filter(&self, keys: &[u8], starts: &[usize]) -> Vec<u8> {
        let ends = starts.iter().skip(1).copied().chain([keys.len()]);
        let keys = starts.iter().zip(ends).map(|(start, end)| self.part(&keys[*start..end]));
        self.policy.create_filter(keys)
    }

    fn key_may_match(&self, key: &[u8], block: &[u8]) -> bool {
        let maybe = self.policy.key_may_match(self.part(key), block);
        self.reads.set(self.reads.get() + u64::from(maybe));
        maybe
    }
}

/// Block reads for as many lookups as there are rows: of existing cells, of absent rows, and of
/// columns that their rows lack.
fn reads(folder: &Path, by: By) -> Result<[u64; 3]> {
    let count = Rc::new(Cell::new(0));
    let policy = Policy::new(Program::Leveldb, BITS_PER_KEY);
    let policy = Counted { policy, by, reads: count.clone() };
    let options = Options {
        filter_policy: Rc::new(Box::new(policy)),
        write_buffer_size: 1 << 18,
        ..Options::default()
    };
    let mut db = DB::open(folder, options)?;
    let row = |i: u32| format!("row-{i:06}");
    for i in 0..ROWS {
        // Every second row exists: absent ones are in the middle of the tables.
        for column in ["name", "mail", "born"] {
            db.put(&cell(&row(2 * i), column), &[i as u8; 60])?;
        }
    }
    db.flush()?;
    db.compact_range(b"", b"\xff")?;
    let mut counted = [0; 3];
    for (reads, (shift, column, there)) in
        counted.iter_mut().zip([(0, "mail", true), (1, "mail", false), (0, "phone", false)])
    {
        let before = count.get();
        for i in 0..ROWS {
            let key = cell(&row(2 * (i * 7919 % ROWS) + shift), column);
            assert_eq!(db.get(&key).is_some(), there, "{column} of {}", row(2 * i + shift));
        }
        *reads = count.get() - before;
    }
    Ok(counted)
}

fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("mayhap-lsm-{}", std::process::id()));
    for by in [By::Row, By::RowAndColumn] {
        let [there, no_row, no_column] = reads(&folder.join(format!("{by:?}")), by)?;
        println!(
            "{ROWS} lookups, filter by {by:?}: {there} reads for cells that are there, {no_row} for absent rows, {no_column} for absent columns"
        );
    }
    _ = std::fs::remove_dir_all(folder);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_save_absent_rows_and_columns_save_absent_columns() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = u64::from(ROWS);
        let [there, no_row, no_column] = reads(&folder.path().join("row"), By::Row)?;
        assert!(there >= rows && no_row < rows / 30, "{there} and {no_row}");
        assert!(no_column >= rows * 9 / 10, "{no_column}: a row filter cannot tell");
        let [there, no_row, no_column] = reads(&folder.path().join("cell"), By::RowAndColumn)?;
        assert!(
            there >= rows && no_row < rows / 30 && no_column < rows / 30,
            "{no_row} {no_column}"
        );
        Ok(())
    }

    #[test]
    fn parts_do_not_run_into_one_another() {
        assert_ne!(cell("ab", "c"), cell("a", "bc"));
        assert_eq!(row_of(&cell("row-000007", "mail")), &compound(["row-000007"])[..]);
    }
}
