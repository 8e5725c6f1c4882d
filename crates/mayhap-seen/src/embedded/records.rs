//! How a record is stored in the tables: whole if it is small, in chunks if it is large.
//!
//! redb gives a pair that is larger than a page (4 KiB) its own pages, a power of two of them: the
//! 8.7 KB of a full list would take 16. So large records are split into chunks that fill one page
//! each, and the rest is stored among the small records, where pages are shared:
//!
//! ```text
//! lists    owner           → the record, or: B7 02, number of chunks (u32 LE), the rest of the record
//! chunks   owner, u32 BE   → a part of the record, from its beginning on
//! ```
//!
//! Both are written in one transaction, and the record's own checksum covers all of it. Stores of
//! the first release have only whole records, which are still read.

use super::away;
use super::writer::Tables;
use crate::SeenError;
use crate::record::{MAGIC, RecordError};
use redb::{AccessGuard, ReadableTable};

/// The start of the first part of a chunked record. Releases without chunks take it for a record of
/// a later version, and say so.
const CHUNKED: [u8; 2] = [MAGIC[0], 2];
/// A page, less redb's overhead for one pair.
const PAGE: usize = 4096 - 16;
/// The bytes of a chunk's number.
const NUMBER: usize = size_of::<u32>();

type Key = &'static [u8];

/// A record as found in the table.
pub(super) enum Stored<'a> {
    Whole(AccessGuard<'a, Key>),
    Joined(Vec<u8>),
}

impl Stored<'_> {
    pub fn bytes(&self) -> &[u8] {
        match self {
            Stored::Whole(guard) => guard.value(),
            Stored::Joined(bytes) => bytes,
        }
    }
}

/// The record of an owner, if there is one.
pub(super) fn read<'a>(
    lists: &'a impl ReadableTable<Key, Key>,
    chunks: Option<&impl ReadableTable<Key, Key>>,
    owner: &[u8],
) -> Result<Option<Stored<'a>>, SeenError> {
    lists.get(owner).map_err(away)?.map(|first| join(first, chunks, owner)).transpose()
}

/// The whole record, given the value of the first table.
pub(super) fn join<'a>(
    first: AccessGuard<'a, Key>,
    chunks: Option<&impl ReadableTable<Key, Key>>,
    owner: &[u8],
) -> Result<Stored<'a>, SeenError> {
    let Some((count, rest)) = chunked(first.value()) else { return Ok(Stored::Whole(first)) };
    let missing = || SeenError::record(owner, RecordError::Damaged { what: "chunk" });
    let chunks = chunks.ok_or_else(missing)?;
    let mut record = vec![];
    for at in 0..count {
        let chunk = chunks.get(key(owner, at).as_slice()).map_err(away)?.ok_or_else(missing)?;
        record.extend_from_slice(chunk.value());
    }
    record.extend_from_slice(rest);
    Ok(Stored::Joined(record))
}

/// Replace the record of an owner.
pub(super) fn write(tables: &mut Tables<'_>, owner: &[u8], record: &[u8]) -> Result<(), SeenError> {
    let chunk_bytes = PAGE.saturating_sub(owner.len() + NUMBER).max(PAGE / 2);
    let mut parts = record.chunks_exact(chunk_bytes);
    let before = match parts.len() {
        0 => tables.lists.insert(owner, record).map_err(away)?,
        count => {
            let mut first = CHUNKED.to_vec();
            first.extend_from_slice(&(count as u32).to_le_bytes());
            first.extend_from_slice(parts.remainder());
            tables.lists.insert(owner, first.as_slice()).map_err(away)?
        }
    };
    let before = before.map_or(0, |first| chunked(first.value()).map_or(0, |(count, _)| count));
    let count = parts.len() as u32;
    for (at, part) in parts.by_ref().enumerate() {
        tables.chunks.insert(key(owner, at as u32).as_slice(), part).map_err(away)?;
    }
    remove_chunks(tables, owner, count..before)
}

/// Returns whether there was one.
pub(super) fn remove(tables: &mut Tables<'_>, owner: &[u8]) -> Result<bool, SeenError> {
    let before = tables.lists.remove(owner).map_err(away)?;
    let was_there = before.is_some();
    let count = before.map_or(0, |first| chunked(first.value()).map_or(0, |(count, _)| count));
    remove_chunks(tables, owner, 0..count)?;
    Ok(was_there)
}

fn remove_chunks(
    tables: &mut Tables<'_>,
    owner: &[u8],
    numbers: std::ops::Range<u32>,
) -> Result<(), SeenError> {
    for at in numbers {
        tables.chunks.remove(key(owner, at).as_slice()).map_err(away)?;
    }
    Ok(())
}

/// The number of chunks and the rest of the record, if it is chunked.
fn chunked(first: &[u8]) -> Option<(u32, &[u8])> {
    let (count, rest) = first.strip_prefix(&CHUNKED)?.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*count), rest))
}

fn key(owner: &[u8], at: u32) -> Vec<u8> {
    [owner, &at.to_be_bytes()].concat()
}
