//! Shards, built one after another, put together: a directory, their bytes, padding.

use super::shard::BuiltShard;
use crate::kernel::AlignedBuf;
use crate::sizing::{RIBBON_PADDING, RIBBON_RECORD};
use crate::spec::SpecError;

/// The bytes of a filter so far.
pub(super) struct Assembly {
    shards: u64,
    wide: u32,
    records: Vec<[u8; RIBBON_RECORD as usize]>,
    keys: u64,
    body: AlignedBuf,
    /// Bytes of the body that are written.
    end: u64,
}

impl Assembly {
    /// For this many shards, of this many bytes in all, about.
    pub fn new(shards: u64, wide: u32, expected_bytes: u64) -> Result<Assembly, SpecError> {
        Ok(Assembly {
            shards,
            wide,
            records: Vec::new(),
            keys: 0,
            body: AlignedBuf::zeroed(expected_bytes + expected_bytes / 256)?,
            end: shards * RIBBON_RECORD,
        })
    }

    /// Keys of the shards so far.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Take the next shard.
    pub fn append(&mut self, shard: BuiltShard) -> Result<(), SpecError> {
        let BuiltShard { record, bytes, keys } = shard;
        self.records.push(record.bytes(self.end, self.wide));
        self.keys += keys;
        let end = self.end + bytes.len() as u64;
        let have = self.body.as_ref();
        if end + RIBBON_PADDING > have.len() as u64 {
            let mut larger = AlignedBuf::zeroed(end + end / 8 + RIBBON_PADDING)?;
            larger.as_mut()[..have.len()].copy_from_slice(have);
            self.body = larger;
        }
        self.body.as_mut()[self.end as usize..end as usize].copy_from_slice(&bytes);
        self.end = end;
        Ok(())
    }

    /// All bytes, when all shards are there.
    ///
    /// # Panics
    ///
    /// Where there are fewer or more.
    pub fn finish(self) -> Result<AlignedBuf, SpecError> {
        let Assembly { shards, records, mut body, end: written, .. } = self;
        assert_eq!(records.len() as u64, shards, "a ribbon filter of {shards} shards");
        let end = written + RIBBON_PADDING;
        if (body.as_ref().len() as u64) < end || end < body.as_ref().len() as u64 / 8 * 7 {
            let mut fitting = AlignedBuf::zeroed(end)?;
            fitting.as_mut()[..written as usize]
                .copy_from_slice(&body.as_ref()[..written as usize]);
            body = fitting;
        }
        body.truncate(end);
        let (places, _) = body.as_mut().as_chunks_mut();
        for (place, record) in places.iter_mut().zip(&records) {
            *place = *record;
        }
        Ok(body)
    }
}
