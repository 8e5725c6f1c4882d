//! Filters inside an SST file (block-based tables, format versions 1 to 6).
//!
//! The footer, 53 bytes, ends with the magic number and says how blocks are checked and where the
//! index of meta blocks is; that is an ordinary block of entries whose keys share prefixes, and
//! its entry `fullfilter.<policy>` says where the filter lies. Every block is followed by five
//! bytes: its compression and its checksum. From version 6 on the footer has a checksum of its
//! own and each block's depends on where it lies, so that no block can stand in for another.

use super::checksum::Checksum;
use crate::{ForeignError, Reader};
use std::ops::Range;

const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
/// The tables of LevelDB, which RocksDB's version 0 shares.
const LEVELDB_MAGIC: u64 = 0xdb47_7524_8b80_fb57;
const FOOTER_BYTES: usize = 53;
/// Compression and checksum behind each block.
const BLOCK_TRAILER_BYTES: usize = 5;

/// Whether these bytes end as an SST file does.
pub fn is_sst(bytes: &[u8]) -> bool {
    bytes.len() > FOOTER_BYTES && bytes.last_chunk() == Some(&MAGIC.to_le_bytes())
}

/// Where the filter block of an SST file lies, its checksum verified. Give those bytes to
/// [`Filter::open`](super::Filter::open).
pub fn filter_in_sst(bytes: &[u8]) -> Result<Range<usize>, ForeignError> {
    let footer = Footer::read(bytes)?;
    let metaindex = footer.block("index of meta blocks", bytes, footer.metaindex.clone())?;
    let mut partitioned = false;
    let mut entries = Entries::new(&bytes[metaindex])?;
    while let Some(value) = entries.next()? {
        if entries.key.starts_with(b"fullfilter.") {
            let handle = handle(&mut Reader::new(value))?;
            return footer.block("filter block", bytes, handle);
        }
        partitioned |= entries.key.starts_with(b"partitionedfilter.");
    }
    if partitioned {
        return Err(ForeignError::field("filter", "partitioned", "one filter for the whole file"));
    }
    let need = "a full filter; this file was written without one";
    Err(ForeignError::field("filter", "missing", need))
}

struct Footer {
    checksum: Checksum,
    metaindex: Range<u64>,
    /// What block checksums start from; 0 before version 6.
    base_context: u32,
}

impl Footer {
    fn read(bytes: &[u8]) -> Result<Footer, ForeignError> {
        let (_, footer) =
            bytes.split_last_chunk::<FOOTER_BYTES>().ok_or(ForeignError::Truncated {
                field: "footer",
                need: FOOTER_BYTES as u64,
                have: bytes.len() as u64,
            })?;
        let footer_at = (bytes.len() - FOOTER_BYTES) as u64;
        let mut tail = Reader::new(&footer[41..]);
        let (version, magic) = (tail.u32_le("format version")?, tail.u64_le("magic")?);
        if magic == LEVELDB_MAGIC {
            let need = "RocksDB's; for one LevelDB filter use the leveldb formats";
            return Err(ForeignError::field("magic", "that of a LevelDB table", need));
        }
        if magic != MAGIC {
            return Err(ForeignError::field("magic", format!("{magic:#x}"), "0x88e241b785f4cff7"));
        }
        let checksum = Checksum::from_id(footer[0])?;
        let mut fields = Reader::new(&footer[1..41]);
        match version {
            1..=5 => {
                let metaindex = handle(&mut fields)?;
                Ok(Footer { checksum, metaindex, base_context: 0 })
            }
            6 => {
                if fields.array("extended magic")? != [0x3e, 0, 0x7a, 0] {
                    return Err(ForeignError::field("extended magic", "other", "3e 00 7a 00"));
                }
                let footer_checksum = fields.u32_le("footer checksum")?;
                let base_context = fields.u32_le("base context checksum")?;
                let mut blanked = *footer;
                blanked[5..9].fill(0);
                let computed = checksum.of_footer(&blanked);
                let want = computed.map(|sum| sum.wrapping_add(modifier(base_context, footer_at)));
                if want.is_some_and(|want| want != footer_checksum) {
                    return Err(wrong_checksum("footer"));
                }
                let size = u64::from(fields.u32_le("bytes of the index of meta blocks")?);
                let end = footer_at.checked_sub(BLOCK_TRAILER_BYTES as u64);
                let range = end.and_then(|end| Some(end.checked_sub(size)?..end));
                let metaindex = range.ok_or_else(|| {
                    ForeignError::field("bytes of the index of meta blocks", size, "in the file")
                })?;
                Ok(Footer { checksum, metaindex, base_context })
            }
            _ => Err(ForeignError::field("format version", version, "1 to 6")),
        }
    }

    /// A block by its handle, once its compression and checksum are as they must be.
    fn block(
        &self,
        field: &'static str,
        bytes: &[u8],
        handle: Range<u64>,
    ) -> Result<Range<usize>, ForeignError> {
        let have = bytes.len() as u64;
        let end = handle.end.checked_add(BLOCK_TRAILER_BYTES as u64);
        if end.is_none_or(|end| end > have) {
            return Err(ForeignError::Truncated { field, need: handle.end, have });
        }
        let range = handle.start as usize..handle.end as usize;
        let compression = bytes[range.end];
        let stored = &bytes[range.end + 1..][..4];
        let computed = self.checksum.of(&bytes[range.start..=range.end]);
        let want = computed
            .map(|sum| sum.wrapping_add(modifier(self.base_context, handle.start)).to_le_bytes());
        if want.is_some_and(|want| want != *stored) {
            return Err(wrong_checksum(field));
        }
        if compression != 0 {
            return Err(ForeignError::field("compression of the block", compression, "0, none"));
        }
        Ok(range)
    }
}

impl Checksum {
    /// The footer is checked whole; the byte behind it counts as 0.
    fn of_footer(self, footer: &[u8; FOOTER_BYTES]) -> Option<u32> {
        self.of(footer)
    }
}

/// What a block's place adds to its checksum.
fn modifier(base_context: u32, at: u64) -> u32 {
    if base_context == 0 {
        return 0;
    }
    base_context ^ (at as u32).wrapping_add((at >> 32) as u32)
}

fn wrong_checksum(field: &'static str) -> ForeignError {
    ForeignError::field(field, "damaged", "as its checksum says; copy the file again")
}

/// Offset and size as varints: a range of the file.
fn handle(fields: &mut Reader<'_>) -> Result<Range<u64>, ForeignError> {
    let (at, size) = (fields.varint("block offset")?, fields.varint("block size")?);
    let end = at.checked_add(size).ok_or(ForeignError::Truncated {
        field: "block",
        need: u64::MAX,
        have: at,
    })?;
    Ok(at..end)
}

/// The entries of a block: each key keeps so many bytes of the one before.
struct Entries<'a> {
    fields: Reader<'a>,
    key: Vec<u8>,
}

impl<'a> Entries<'a> {
    fn new(block: &'a [u8]) -> Result<Entries<'a>, ForeignError> {
        let truncated = |need| ForeignError::Truncated {
            field: "restart points",
            need,
            have: block.len() as u64,
        };
        let (_, count) = block.split_last_chunk::<4>().ok_or_else(|| truncated(4))?;
        // Restart points are for searching; we read from the start. The top bit marks a hash index.
        let restarts = u64::from(u32::from_le_bytes(*count) & 0x7fff_ffff);
        let tail = 4 * restarts + 4;
        let entries = (block.len() as u64).checked_sub(tail).ok_or_else(|| truncated(tail))?;
        Ok(Entries { fields: Reader::new(&block[..entries as usize]), key: Vec::new() })
    }

    /// The next value; its key is in `key`. Not an iterator: keys would have to be copied, and
    /// entries that share all of a long key would cost its length each.
    fn next(&mut self) -> Result<Option<&'a [u8]>, ForeignError> {
        if self.fields.left() == 0 {
            return Ok(None);
        }
        let shared = self.fields.varint("shared bytes")?;
        let unshared = self.fields.varint("unshared bytes")?;
        let value = self.fields.varint("value bytes")?;
        if shared > self.key.len() as u64 {
            let need = "no more than the key before has";
            return Err(ForeignError::field("shared bytes", shared, need));
        }
        self.key.truncate(shared as usize);
        self.key.extend_from_slice(self.fields.take("key", unshared)?);
        self.fields.take("value", value).map(Some)
    }
}
