//! A filter as bytes: the one form for RDB files, `DUMP`, `BF.SCANDUMP` and the append-only file.
//!
//! The head is [`mayhap::format::dump`]'s; after it come the bodies: a file as `docs/FORMAT.md` has it,
//! every byte of it under a checksum, or the chunks of a RedisBloom dump one after another.

use super::{Filter, Part};
use mayhap::AnyFilter;
use mayhap::Kind;
use mayhap::format::Metadata;
use mayhap::format::dump::{DumpCodec, DumpError, DumpHead, DumpPart};
use mayhap::mem::Relocate;
use mayhap_foreign::redisbloom::Chain;
use std::collections::TryReserveError;
use std::fmt;
use std::io::{self, Write};

/// The most bytes in one chunk, as in RedisBloom.
pub const MAX_CHUNK_BYTES: usize = 16 << 20;

/// Lets a defragmenting allocator relocate a head.
pub fn move_head(head: &mut DumpHead, memory: &mut Relocate<'_>) {
    memory.relocate(&mut head.parts);
}

/// The head of a filter that is not loading.
pub fn head_of(filter: &Filter) -> DumpHead {
    let part = |part: &Part| {
        let (codec, secret) = match part {
            Part::Native(filter) => {
                (DumpCodec::Native, filter.scheme().and_then(|scheme| scheme.secret()))
            }
            Part::Compat(_) => (DumpCodec::RedisBloom, None),
        };
        DumpPart { codec, secret, bytes: part_bytes(part) }
    };
    DumpHead {
        shard: filter.shard(),
        cuckoo: filter.cuckoo(),
        parts: filter.parts().map(part).collect(),
    }
}

/// Take the bodies, all of them and nothing else. Every byte is checked; this is the one
/// door for filters from RDB files, `RESTORE`, `BF.LOADCHUNK` and the append-only file.
///
/// The bytes are gone afterwards, given back while the filter is filled with them: both
/// together never take much more than one. Where there is an error they stay.
pub fn take(head: &DumpHead, bodies: &mut Vec<u8>) -> Result<Vec<Part>, DumpError> {
    let (need, have) = (head.body_bytes(), bodies.len() as u64);
    if have < need {
        return Err(DumpError(format!("cut off: {have} of {need} bytes")));
    }
    if have > need {
        return Err(DumpError(format!("{} bytes after the last part", have - need)));
    }
    // One part is checked when it is taken. Of several none is taken before all are checked.
    if head.parts.len() > 1 {
        let mut rest = bodies.as_slice();
        for part in &head.parts {
            let (body, next) = rest.split_at(part.bytes as usize);
            check_part(part, body)?;
            rest = next;
        }
    }
    // Of a filter of `CF.*` it is known what the one part must be.
    if head.cuckoo.is_some() {
        let header = mayhap::format::read_header(bodies).map_err(wrong)?;
        if head.parts.len() != 1 || header.kind != Kind::Quotient {
            return Err(DumpError("CF.*: not one quotient filter".to_owned()));
        }
    }
    let mut parts = Vec::with_capacity(head.parts.len());
    for part in head.parts.iter().rev() {
        parts.push(take_part(part, bodies)?);
    }
    parts.reverse();
    Ok(parts)
}

/// As [`take`], and the bytes stay.
#[cfg(test)]
pub fn read(head: &DumpHead, bodies: &[u8]) -> Result<Vec<Part>, DumpError> {
    take(head, &mut bodies.to_vec())
}

fn check_part(part: &DumpPart, body: &[u8]) -> Result<(), DumpError> {
    match part.codec {
        DumpCodec::Native => AnyFilter::check(body, part.secret).map_err(wrong),
        DumpCodec::RedisBloom => Chain::decode(body).map(drop).map_err(wrong),
    }
}

/// Take the last of the bodies.
fn take_part(part: &DumpPart, bodies: &mut Vec<u8>) -> Result<Part, DumpError> {
    let from = bodies.len().saturating_sub(part.bytes as usize);
    match part.codec {
        DumpCodec::Native => {
            AnyFilter::decode_draining(bodies, from, part.secret).map(Part::Native).map_err(wrong)
        }
        DumpCodec::RedisBloom => {
            let chain = Chain::decode(&bodies[from..]).map_err(wrong)?;
            bodies.truncate(from);
            Ok(Part::Compat(chain))
        }
    }
}

fn wrong(error: impl fmt::Display) -> DumpError {
    DumpError(error.to_string())
}

/// Room for `more` bytes of bodies that are announced to be `need`. Announcing is cheap, so it is
/// four times what has come at most; and then not the doubling of a vector, which would copy while
/// both copies are full: untouched memory takes nothing.
pub fn reserve_for(bodies: &mut Vec<u8>, more: usize, need: u64) -> Result<(), TryReserveError> {
    const LEAST: usize = 64 << 10;
    let have = bodies.len().saturating_add(more);
    if have <= bodies.capacity() {
        return Ok(());
    }
    let whole = usize::try_from(need).unwrap_or(usize::MAX);
    let room = have.saturating_mul(4).max(LEAST).min(whole).max(have);
    bodies.try_reserve_exact(room - bodies.len())
}

/// How long a body is.
fn part_bytes(part: &Part) -> u64 {
    match part {
        Part::Native(filter) => filter.file_bytes(&Metadata::new()),
        Part::Compat(chain) => chain.header().encode().len() as u64 + part.bytes(),
    }
}

/// The bodies of a filter, in one pass and without a copy.
pub fn write_bodies(filter: &Filter, mut to: impl Write) -> io::Result<()> {
    filter.parts().try_for_each(|part| write_part(part, &mut to))
}

fn write_part(part: &Part, to: &mut impl Write) -> io::Result<()> {
    match part {
        Part::Native(filter) => filter.write_to(to, &Metadata::new()),
        Part::Compat(chain) => chain.write_to(to),
    }
}

/// The head to iterator 0, then bodies in pieces; nothing at the end.
pub(super) fn chunk_after(filter: &Filter, iterator: u64) -> Option<(u64, Vec<u8>)> {
    if iterator == 0 {
        return Some((1, head_of(filter).encode()));
    }
    let mut piece = ChunkWriter { skip: iterator - 1, bytes: Vec::new() };
    for part in filter.parts() {
        let room = (MAX_CHUNK_BYTES - piece.bytes.len()) as u64;
        match part_bytes(part) {
            _ if room == 0 => break,
            before if before <= piece.skip => piece.skip -= before,
            _ => {
                let from = std::mem::take(&mut piece.skip);
                // A piece takes all it is given, and stops the writing when it is full.
                _ = match part {
                    Part::Native(filter) => {
                        let range = from..from.saturating_add(room);
                        filter.write_range_to(&mut piece.bytes, &Metadata::new(), range)
                    }
                    Part::Compat(chain) => {
                        piece.skip = from;
                        chain.write_to(&mut piece)
                    }
                };
            }
        }
    }
    let next = iterator.checked_add(piece.bytes.len() as u64)?;
    (!piece.bytes.is_empty()).then_some((next, piece.bytes))
}

/// Keeps one chunk of what goes by.
struct ChunkWriter {
    skip: u64,
    bytes: Vec<u8>,
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let passed = self.skip.min(bytes.len() as u64) as usize;
        self.skip -= passed as u64;
        let wanted = &bytes[passed..];
        let room = MAX_CHUNK_BYTES - self.bytes.len();
        if room == 0 && !wanted.is_empty() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = wanted.len().min(room);
        self.bytes.extend_from_slice(&wanted[..taken]);
        Ok(passed + taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Cuts what goes by into pieces of one length (the last may be shorter), in one pass.
pub struct Chunker<F: FnMut(&[u8])> {
    piece: Vec<u8>,
    bytes: usize,
    each: F,
}

impl<F: FnMut(&[u8])> Chunker<F> {
    /// Pieces of so many bytes, each given to `each`.
    pub fn new(bytes: usize, each: F) -> Chunker<F> {
        Chunker { piece: Vec::new(), bytes: bytes.max(1), each }
    }

    /// All bodies of a filter.
    pub fn bodies(mut self, filter: &Filter) {
        // It takes everything.
        _ = write_bodies(filter, &mut self);
        self.end();
    }

    fn end(&mut self) {
        if !self.piece.is_empty() {
            (self.each)(&self.piece);
            self.piece.clear();
        }
    }
}

impl<F: FnMut(&[u8])> Write for Chunker<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.bytes - self.piece.len();
        let taken = bytes.len().min(room);
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == self.bytes {
            self.end();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
