//! Writes a filter to a file, in one pass.

use super::header::{
    ArrayHeader, Header, MAX_ARRAY_PARAMS, MAX_ARRAYS, MAX_KEYS, MAX_PARAMS, MAX_SCHEME_DATA,
    array_offsets, header_bytes,
};
use super::metadata::Metadata;
use super::{BLOCK, END_MAGIC, FOOTER, GROWN_WINDOWS};
use crate::filter::Kind;
use crate::scheme::SchemeId;
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

/// What is to be written: the header's fields, and the arrays.
///
/// Every kind makes its own; codecs for other programs' filters fill one in to keep them in our
/// file.
#[derive(Clone, Debug)]
pub struct FileLayout<'a> {
    /// The kind of filter.
    pub kind: Kind,
    /// How keys are hashed.
    pub scheme: SchemeId,
    /// The seed, or the check value of the secret.
    pub seed_or_key_check: u64,
    /// Data of a foreign scheme, at most 4096 bytes; empty in Mayhap's own.
    pub scheme_data: &'a [u8],
    /// The capacity; 0 if unknown.
    pub capacity: u64,
    /// The target false-positive rate; 0 if unknown.
    pub fpr: f64,
    /// The keys counted in, at most 2⁵⁶.
    pub keys: u64,
    /// The kind's parameters, at most 64.
    pub params: Vec<u64>,
    /// Its arrays, at most 4096.
    pub arrays: Vec<Array<'a>>,
}

/// One array to be written.
#[derive(Clone, Debug)]
pub struct Array<'a> {
    /// Its parameters, at most 16.
    pub params: Vec<u64>,
    /// Its bytes.
    pub bytes: Cow<'a, [u8]>,
}

/// Write a whole file. The same layout and metadata always give the same bytes.
///
/// The arrays are written in pieces of at most 64 KiB whose checksums are computed on the way: no
/// copy is made. A layout past its limits is rejected as invalid input, before anything is written.
pub fn write(to: impl Write, layout: &FileLayout<'_>, metadata: &Metadata) -> io::Result<()> {
    let arrays = &layout.arrays;
    write_from(to, layout, &lengths(layout), metadata, |i, put| put(&arrays[i].bytes))
}

/// The same with arrays of these lengths from elsewhere: `fill` gives the bytes of each, piece by
/// piece.
pub(crate) fn write_from(
    mut to: impl Write,
    layout: &FileLayout<'_>,
    lengths: &[u64],
    metadata: &Metadata,
    fill: impl Fn(usize, &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>,
) -> io::Result<()> {
    let (header, array_offsets) = lay_out(layout, lengths, metadata)?;
    let mut out = ChecksumWriter { to: &mut to, at: 0, sum: 0, table: Vec::new() };
    out.put(&header)?;
    for (i, place) in array_offsets.into_iter().enumerate() {
        out.pad(place)?;
        fill(i, &mut |bytes| out.put(bytes))?;
    }
    let (at, table) = out.finish();
    let mut footer = Vec::with_capacity(FOOTER);
    footer.extend((at + (table.len() + FOOTER) as u64).to_le_bytes());
    footer.extend(&header[header.len() - 4..]);
    footer.extend(crc32c::crc32c(&table).to_le_bytes());
    footer.extend(crc32c::crc32c(&footer).to_le_bytes());
    footer.extend(END_MAGIC);
    to.write_all(&table)?;
    to.write_all(&footer)
}

/// The lengths of an outline's arrays.
pub(super) fn lengths(layout: &FileLayout<'_>) -> Vec<u64> {
    layout.arrays.iter().map(|array| array.bytes.len() as u64).collect()
}

/// The length of the file, without writing it.
pub fn file_bytes(layout: &FileLayout<'_>, metadata: &Metadata) -> io::Result<u64> {
    file_bytes_of(layout, &lengths(layout), metadata)
}

/// The same with arrays of these lengths from elsewhere.
pub(crate) fn file_bytes_of(
    layout: &FileLayout<'_>,
    lengths: &[u64],
    metadata: &Metadata,
) -> io::Result<u64> {
    let (header, _) = lay_out(layout, lengths, metadata)?;
    let (_, bytes) = array_offsets(header.len() as u64, lengths)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "more than 2^64 bytes"))?;
    Ok(bytes)
}

/// Write only these bytes of the file. Nothing before them is read, except for the checksums at the
/// end: so writing a file in pieces costs little more than writing it whole.
pub fn write_range(
    mut to: impl Write,
    layout: &FileLayout<'_>,
    metadata: &Metadata,
    range: Range<u64>,
) -> io::Result<()> {
    let (header, array_offsets) = lay_out(layout, &lengths(layout), metadata)?;
    let mut out = RangeWriter { to: &mut to, at: 0, range };
    out.put(&header)?;
    for (array, place) in layout.arrays.iter().zip(array_offsets) {
        out.put(&[0; super::ALIGN as usize][..place.saturating_sub(out.at) as usize])?;
        out.put(&array.bytes)?;
    }
    let RangeWriter { at: table_at, range, .. } = out;
    if range.end <= table_at {
        return Ok(());
    }
    let rest = range.start.max(table_at)..range.end;
    write(RangeWriter { to: &mut to, at: 0, range: rest }, layout, metadata)
}

/// Passes on the bytes of a range.
struct RangeWriter<'a, W> {
    to: &'a mut W,
    at: u64,
    range: Range<u64>,
}

impl<W: Write> RangeWriter<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let place = |at: u64| at.saturating_sub(self.at).min(bytes.len() as u64) as usize;
        let (start, end) = (place(self.range.start), place(self.range.end));
        self.at += bytes.len() as u64;
        self.to.write_all(bytes.get(start..end).unwrap_or_default())
    }
}

impl<W: Write> Write for RangeWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The oldest version that supports what is to be written.
fn version_of(layout: &FileLayout<'_>) -> u16 {
    let of_a_generation = |array: &Array<'_>| array.params.len() > 6;
    let grown = layout.kind == Kind::Windowed && layout.arrays.iter().any(of_a_generation);
    if grown { GROWN_WINDOWS } else { 1 }
}

/// The header, and the offset of each array.
pub(super) fn lay_out(
    layout: &FileLayout<'_>,
    lengths: &[u64],
    metadata: &Metadata,
) -> io::Result<(Vec<u8>, Vec<u64>)> {
    let refused = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    if !(0.0..1.0).contains(&layout.fpr) {
        return refused("the rate must be from 0 to below 1");
    }
    if layout.keys > MAX_KEYS {
        return refused("more than 2^56 keys");
    }
    if layout.scheme_data.len() > MAX_SCHEME_DATA {
        return refused("more than 4096 bytes of scheme data");
    }
    let too_many_params = layout.arrays.iter().any(|array| array.params.len() > MAX_ARRAY_PARAMS);
    if layout.params.len() > MAX_PARAMS || too_many_params {
        return refused("more parameters than 64, or than 16 of an array");
    }
    if layout.arrays.len() > MAX_ARRAYS {
        return refused("more than 4096 arrays");
    }
    let arrays = layout.arrays.iter().zip(lengths).map(|(array, bytes)| ArrayHeader {
        params: array.params.clone(),
        at: 0,
        bytes: *bytes,
    });
    let header = Header {
        version: version_of(layout),
        kind: layout.kind,
        scheme: layout.scheme,
        seed_or_key_check: layout.seed_or_key_check,
        scheme_data: layout.scheme_data.to_vec(),
        capacity: layout.capacity,
        fpr: layout.fpr,
        keys: layout.keys,
        metadata: metadata.clone(),
        params: layout.params.clone(),
        arrays: arrays.collect(),
        header_bytes: 0,
        file_bytes: 0,
    };
    header_bytes(&header).map_or_else(|| refused("more than 2^64 bytes"), Ok)
}

/// Passes bytes on and computes a checksum for every 64 KiB of them.
struct ChecksumWriter<'a, W> {
    to: &'a mut W,
    at: u64,
    sum: u32,
    table: Vec<u8>,
}

impl<W: Write> ChecksumWriter<'_, W> {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = (BLOCK - self.at % BLOCK) as usize;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.sum = crc32c::crc32c_append(self.sum, now);
            self.to.write_all(now)?;
            self.at += now.len() as u64;
            if self.at.is_multiple_of(BLOCK) {
                self.end_block();
            }
            bytes = later;
        }
        Ok(())
    }

    /// Zeros up to an offset that is less than a page away.
    fn pad(&mut self, place: u64) -> io::Result<()> {
        let zeros = [0; super::ALIGN as usize];
        let count = place.saturating_sub(self.at).min(super::ALIGN) as usize;
        self.put(&zeros[..count])
    }

    fn end_block(&mut self) {
        self.table.extend(self.sum.to_le_bytes());
        self.sum = 0;
    }

    /// The number of bytes written, and the checksums.
    fn finish(mut self) -> (u64, Vec<u8>) {
        if !self.at.is_multiple_of(BLOCK) {
            self.end_block();
        }
        (self.at, self.table)
    }
}
