//! A file becomes a filter, in one pass: the arrays are read to where they stay.

use super::container::seal_of;
use super::error::FormatError;
use super::header::{Header, MAX_HEADER_BYTES, read_header, stated_header_bytes};
use super::{BLOCK, FOOTER};
use crate::kernel::AlignedBuf;
use std::fmt;
use std::io::{self, ErrorKind, Read};

/// Why no filter could be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The source failed, or ended too early.
    Io(io::Error),
    /// What came is not a filter.
    Format(FormatError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Io(error) if error.kind() == ErrorKind::UnexpectedEof => {
                f.write_str("cut off: the source ended before the file did; copy it again")
            }
            ReadError::Io(error) => error.fmt(f),
            ReadError::Format(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ReadError::Io(error) => Some(error),
            ReadError::Format(error) => Some(error),
        }
    }
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> ReadError {
        ReadError::Io(error)
    }
}

impl From<FormatError> for ReadError {
    fn from(error: FormatError) -> ReadError {
        ReadError::Format(error)
    }
}

/// The arrays of a file whose header passes `accept`, every byte checked. Reads the file and not a byte
/// more.
pub(super) fn read_arrays<T>(
    from: &mut impl Read,
    accept: impl FnOnce(&Header) -> Result<T, FormatError>,
) -> Result<(Header, T, Vec<AlignedBuf>), ReadError> {
    let mut from = ChecksumReader { from, at: 0, sum: 0, sums: Vec::new() };
    let mut bytes = vec![0; 16];
    from.fill(&mut bytes)?;
    let length = match stated_header_bytes(&bytes) {
        Err(FormatError::Truncated { need, .. }) => need as usize,
        stated => stated?,
    };
    bytes.resize(length.min(MAX_HEADER_BYTES), 0);
    from.fill(&mut bytes[16..])?;
    let header = read_header(&bytes)?;
    let accepted = accept(&header)?;
    let mut arrays = Vec::with_capacity(header.arrays.len());
    for stated in &header.arrays {
        // Less than a page: places are where the header's lengths put them.
        let mut padding = vec![0; stated.at.saturating_sub(from.at) as usize];
        from.fill(&mut padding)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(FormatError::field("padding", "not zero", "zero").into());
        }
        // Memory is not there before it is written to: a length that lies costs nothing.
        let memory = |_| FormatError::Memory { bytes: stated.bytes };
        let mut array = AlignedBuf::zeroed(stated.bytes).map_err(memory)?;
        from.fill(array.as_mut())?;
        arrays.push(array);
    }
    let sums = from.finish();
    let mut table = vec![0; 4 * sums.len()];
    from.from.read_exact(&mut table)?;
    let mut footer = [0; FOOTER];
    from.from.read_exact(&mut footer)?;
    seal_of(&footer, &header, &bytes)?;
    if footer[12..16] != crc32c::crc32c(&table).to_le_bytes() {
        return Err(FormatError::TableChecksum.into());
    }
    let (stated, _) = table.as_chunks::<4>();
    let damaged = sums.iter().zip(stated).position(|(sum, stated)| sum.to_le_bytes() != *stated);
    match damaged {
        Some(block) => Err(FormatError::BodyChecksum { block: block as u64 }.into()),
        None => Ok((header, accepted, arrays)),
    }
}

/// Keeps a checksum for every 64 KiB that are read through it.
struct ChecksumReader<'a, R> {
    from: &'a mut R,
    at: u64,
    sum: u32,
    sums: Vec<u32>,
}

impl<R: Read> ChecksumReader<'_, R> {
    fn fill(&mut self, mut to: &mut [u8]) -> io::Result<()> {
        while !to.is_empty() {
            let room = (BLOCK - self.at % BLOCK) as usize;
            let (now, later) = to.split_at_mut(room.min(to.len()));
            self.from.read_exact(now)?;
            self.sum = crc32c::crc32c_append(self.sum, now);
            self.at += now.len() as u64;
            if self.at.is_multiple_of(BLOCK) {
                self.sums.push(std::mem::take(&mut self.sum));
            }
            to = later;
        }
        Ok(())
    }

    /// All checksums.
    fn finish(&mut self) -> Vec<u32> {
        if !self.at.is_multiple_of(BLOCK) {
            self.sums.push(self.sum);
        }
        std::mem::take(&mut self.sums)
    }
}
