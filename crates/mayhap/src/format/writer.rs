//! A filter becomes a file, in one pass.

use super::header::{
    Header, Leaf, MAX_KEYS, MAX_LEAF_PARAMS, MAX_LEAVES, MAX_PARAMS, MAX_SCHEME_DATA, header_bytes,
    places,
};
use super::notes::Notes;
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
pub struct Outline<'a> {
    /// The kind of filter.
    pub kind: Kind,
    /// How keys are hashed.
    pub scheme: SchemeId,
    /// The seed, or the check of the secret.
    pub fingerprint: u64,
    /// What else a foreign scheme needs to know, at most 4096 bytes; empty in our own.
    pub scheme_data: &'a [u8],
    /// The keys it was made for; 0 where nobody said.
    pub capacity: u64,
    /// The rate it was made for; 0 where nobody said.
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

/// Write a whole file. The same outline and notes give the same bytes, always.
///
/// The arrays go out as they are, in pieces of at most 64 KiB that are summed on their way: no
/// second copy is made. An outline past its limits is refused as invalid input, before anything
/// is written.
pub fn write(mut to: impl Write, outline: &Outline<'_>, notes: &Notes) -> io::Result<()> {
    let (header, places) = lay_out(outline, notes)?;
    let mut out = Summed { to: &mut to, at: 0, sum: 0, table: Vec::new() };
    out.put(&header)?;
    for (array, place) in outline.arrays.iter().zip(places) {
        out.pad(place)?;
        out.put(&array.bytes)?;
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

/// How long the file would be, without writing it.
pub fn file_bytes(outline: &Outline<'_>, notes: &Notes) -> io::Result<u64> {
    let (header, _) = lay_out(outline, notes)?;
    let lengths: Vec<u64> = outline.arrays.iter().map(|array| array.bytes.len() as u64).collect();
    let (_, bytes) = places(header.len() as u64, &lengths)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "more than 2^64 bytes"))?;
    Ok(bytes)
}

/// Write only these bytes of the file. Nothing before them is looked at, but for the checksums at
/// the end: so a file written piece by piece costs little more than one written whole.
pub fn write_range(
    mut to: impl Write,
    outline: &Outline<'_>,
    notes: &Notes,
    range: Range<u64>,
) -> io::Result<()> {
    let (header, places) = lay_out(outline, notes)?;
    let mut out = Cut { to: &mut to, at: 0, range };
    out.put(&header)?;
    for (array, place) in outline.arrays.iter().zip(places) {
        out.put(&[0; super::ALIGN as usize][..place.saturating_sub(out.at) as usize])?;
        out.put(&array.bytes)?;
    }
    let Cut { at: table_at, range, .. } = out;
    if range.end <= table_at {
        return Ok(());
    }
    let rest = range.start.max(table_at)..range.end;
    write(Cut { to: &mut to, at: 0, range: rest }, outline, notes)
}

/// Passes on the bytes of a range.
struct Cut<'a, W> {
    to: &'a mut W,
    at: u64,
    range: Range<u64>,
}

impl<W: Write> Cut<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let place = |at: u64| at.saturating_sub(self.at).min(bytes.len() as u64) as usize;
        let (start, end) = (place(self.range.start), place(self.range.end));
        self.at += bytes.len() as u64;
        self.to.write_all(bytes.get(start..end).unwrap_or_default())
    }
}

impl<W: Write> Write for Cut<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The oldest version that has what is to be written.
fn version_of(outline: &Outline<'_>) -> u16 {
    let of_a_generation = |array: &Array<'_>| array.params.len() > 6;
    let grown = outline.kind == Kind::Windowed && outline.arrays.iter().any(of_a_generation);
    if grown { GROWN_WINDOWS } else { 1 }
}

/// The header, and where each array goes.
fn lay_out(outline: &Outline<'_>, notes: &Notes) -> io::Result<(Vec<u8>, Vec<u64>)> {
    let refused = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    if !(0.0..1.0).contains(&outline.fpr) {
        return refused("the rate must be from 0 to below 1");
    }
    if outline.keys > MAX_KEYS {
        return refused("more than 2^56 keys");
    }
    if outline.scheme_data.len() > MAX_SCHEME_DATA {
        return refused("more than 4096 bytes of scheme data");
    }
    let too_many_params = outline.arrays.iter().any(|array| array.params.len() > MAX_LEAF_PARAMS);
    if outline.params.len() > MAX_PARAMS || too_many_params {
        return refused("more parameters than 64, or than 16 of an array");
    }
    if outline.arrays.len() > MAX_LEAVES {
        return refused("more than 4096 arrays");
    }
    let leaves = outline.arrays.iter().map(|array| Leaf {
        params: array.params.clone(),
        at: 0,
        bytes: array.bytes.len() as u64,
    });
    let header = Header {
        version: version_of(outline),
        kind: outline.kind,
        scheme: outline.scheme,
        fingerprint: outline.fingerprint,
        scheme_data: outline.scheme_data.to_vec(),
        capacity: outline.capacity,
        fpr: outline.fpr,
        keys: outline.keys,
        notes: notes.clone(),
        params: outline.params.clone(),
        leaves: leaves.collect(),
        header_bytes: 0,
        file_bytes: 0,
    };
    header_bytes(&header).map_or_else(|| refused("more than 2^64 bytes"), Ok)
}

/// Passes bytes on, keeping a checksum for every 64 KiB of them.
struct Summed<'a, W> {
    to: &'a mut W,
    at: u64,
    sum: u32,
    table: Vec<u8>,
}

impl<W: Write> Summed<'_, W> {
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

    /// Zeros up to a place that is less than a page away.
    fn pad(&mut self, place: u64) -> io::Result<()> {
        let zeros = [0; super::ALIGN as usize];
        let count = place.saturating_sub(self.at).min(super::ALIGN) as usize;
        self.put(&zeros[..count])
    }

    fn end_block(&mut self) {
        self.table.extend(self.sum.to_le_bytes());
        self.sum = 0;
    }

    /// How much went out, and the table.
    fn finish(mut self) -> (u64, Vec<u8>) {
        if !self.at.is_multiple_of(BLOCK) {
            self.end_block();
        }
        (self.at, self.table)
    }
}
