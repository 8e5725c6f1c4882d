//! A dump of ours that comes chunk by chunk.

use super::Part;
use super::dump::{move_head, reserve_for, take};
use crate::CommandError;
use mayhap::format::dump::{DumpError, DumpHead};
use mayhap::mem::Relocate;

/// A filter that is being loaded: its head, and as much of its bodies as has come.
///
/// Nothing is answered from it, and no memory is taken for what has not come. When the last byte
/// is here, all of them are checked.
#[derive(Clone, Debug)]
pub struct LoadingFilter {
    head: DumpHead,
    bytes: Vec<u8>,
}

impl LoadingFilter {
    /// From the head, for a filter of at most `room_bytes`.
    pub fn begin(head: &[u8], room_bytes: u64) -> Result<LoadingFilter, CommandError> {
        let head = DumpHead::decode(head).map_err(bad_data)?;
        let need = head.body_bytes();
        if need > room_bytes {
            return Err(CommandError::NO_MEMORY);
        }
        Ok(LoadingFilter { head, bytes: Vec::new() })
    }

    /// As it was saved in the middle.
    pub fn resume(head: DumpHead, bytes: Vec<u8>) -> Option<LoadingFilter> {
        ((bytes.len() as u64) < head.body_bytes()).then_some(LoadingFilter { head, bytes })
    }

    /// The next chunk, with the iterator it was dumped with: 1 and the bytes so far, its own
    /// included. The parts of the filter if it was the last. Where it does not follow, or is no
    /// part of a filter, nothing changes.
    pub fn push(&mut self, iterator: u64, chunk: &[u8]) -> Result<Option<Vec<Part>>, CommandError> {
        let have = self.bytes.len() as u64;
        let end = have.saturating_add(chunk.len() as u64);
        if iterator != end.saturating_add(1) {
            return Err(CommandError::text("ERR invalid offset - no link found"));
        }
        let need = self.head.body_bytes();
        if end > need {
            return Err(CommandError::text("ERR invalid chunk - Too big for current filter"));
        }
        reserve_for(&mut self.bytes, chunk.len(), need).map_err(|_| CommandError::NO_MEMORY)?;
        self.bytes.extend_from_slice(chunk);
        if end < need {
            return Ok(None);
        }
        match take(&self.head, &mut self.bytes) {
            Ok(parts) => Ok(Some(parts)),
            Err(error) => {
                self.bytes.truncate(have as usize);
                Err(bad_data(error))
            }
        }
    }

    /// Let the server's active defragmentation move its memory.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        memory.relocate(&mut self.bytes);
        move_head(&mut self.head, memory);
    }

    /// What it begins with.
    pub fn head(&self) -> &DumpHead {
        &self.head
    }

    /// What has come of the bodies.
    pub fn body(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes that have come.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

fn bad_data(error: DumpError) -> CommandError {
    CommandError::said(format_args!("received bad data: {error}"))
}
