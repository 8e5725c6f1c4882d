//! A filter as bytes: the one form for RDB files, `DUMP`, `BF.SCANDUMP` and the append-only file.
//!
//! The head, little-endian: the magic `89 "MHDUMP" 0a`, `u16` version, `u16` parts, in version 2
//! the 24 bytes of a [`ShardId`], then for each part `u8` make (1 ours, 2 RedisBloom's), `u8` whether keyed, 16 bytes of secret (zeros
//! where there is none), `u64` bytes of its body; then CRC-32C of all before it. After the head
//! the bodies: a file as `docs/FORMAT.md` has it, every byte of it under a checksum, or the
//! chunks of a RedisBloom dump one after another.
//!
//! Version 1 is written for every filter that is not a shard, so that earlier releases read it.
//!
//! Unlike a file, a dump holds the secret: a replica must hash alike. Whoever may dump keys may
//! read it.

use super::{Filter, Part, ShardId};
use mayhap::format::Notes;
use mayhap::{AnyFilter, Mover, Secret};
use mayhap_foreign::redisbloom::Chain;
use std::collections::TryReserveError;
use std::fmt;
use std::io::{self, Write};

const MAGIC: [u8; 8] = *b"\x89MHDUMP\n";
const VERSION: u16 = 1;
/// With the identity of a shard.
const SHARD_VERSION: u16 = 2;
const PART_BYTES: usize = 26;
const FRONT_BYTES: usize = 12;
/// The most parts.
const MAX_PARTS: u16 = 256;
/// The most bytes in one chunk, as in RedisBloom.
pub const MAX_CHUNK_BYTES: usize = 16 << 20;

/// Why bytes are no dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpError(pub String);

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DumpError {}

/// What a dump begins with: how many parts, and how each is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    shard: Option<ShardId>,
    parts: Vec<PartHead>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PartHead {
    make: Make,
    secret: Option<Secret>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Make {
    Native,
    Compat,
}

impl Head {
    /// Offer its memory to a server that tidies its heap.
    pub fn move_arrays(&mut self, mover: &mut Mover<'_>) {
        mover.relocate(&mut self.parts);
    }

    /// Of a filter that is not loading.
    pub fn of(filter: &Filter) -> Head {
        let part = |part: &Part| {
            let (make, secret) = match part {
                Part::Native(filter) => {
                    (Make::Native, filter.scheme().and_then(|scheme| scheme.secret()))
                }
                Part::Compat(_) => (Make::Compat, None),
            };
            PartHead { make, secret, bytes: part_bytes(part) }
        };
        Head { shard: filter.shard(), parts: filter.parts().map(part).collect() }
    }

    /// Of a file of ours as it lies on a disk, so that one built elsewhere can be loaded.
    pub fn of_file(bytes: u64, secret: Option<Secret>) -> Head {
        Head { shard: None, parts: vec![PartHead { make: Make::Native, secret, bytes }] }
    }

    /// The same as this shard of a larger filter.
    pub fn with_shard(self, shard: ShardId) -> Head {
        Head { shard: Some(shard), ..self }
    }

    /// Which shard it is of, if it is one.
    pub fn shard(&self) -> Option<ShardId> {
        self.shard
    }

    /// Whether these bytes begin as a head does.
    pub fn is_head(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Bytes of all bodies.
    pub fn body_bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// The bytes of the head.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FRONT_BYTES + PART_BYTES * self.parts.len() + 4);
        bytes.extend(MAGIC);
        let version = if self.shard.is_some() { SHARD_VERSION } else { VERSION };
        bytes.extend(version.to_le_bytes());
        bytes.extend((self.parts.len() as u16).to_le_bytes());
        bytes.extend(self.shard.iter().flat_map(ShardId::encode));
        for part in &self.parts {
            bytes.push(if part.make == Make::Native { 1 } else { 2 });
            bytes.push(part.secret.is_some().into());
            bytes.extend(part.secret.map_or([0; 16], Secret::to_bytes));
            bytes.extend(part.bytes.to_le_bytes());
        }
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Read a head, and nothing after it.
    pub fn decode(bytes: &[u8]) -> Result<Head, DumpError> {
        let wrong = |what: &str| DumpError(what.to_owned());
        let Some((front, crc)) = bytes.split_last_chunk::<4>() else {
            return Err(wrong("head of a dump: cut off"));
        };
        let Some((start, parts)) = front.split_at_checked(FRONT_BYTES) else {
            return Err(wrong("head of a dump: cut off"));
        };
        if start[..8] != MAGIC {
            return Err(wrong("not the head of a dump"));
        }
        if crc32c::crc32c(front).to_le_bytes() != *crc {
            return Err(wrong("head of a dump: its checksum does not fit"));
        }
        let version = u16::from_le_bytes([start[8], start[9]]);
        let (shard, parts) = match version {
            VERSION => (None, parts),
            SHARD_VERSION => {
                let split = parts.split_first_chunk();
                let (shard, parts) = split.ok_or_else(|| wrong("head of a dump: cut off"))?;
                let shard = ShardId::decode(shard);
                (Some(shard.ok_or_else(|| wrong("head of a dump: no identity"))?), parts)
            }
            _ => {
                return Err(DumpError(format!(
                    "dump of version {version}: written by a newer release"
                )));
            }
        };
        let count = u16::from_le_bytes([start[10], start[11]]);
        if !(1..=MAX_PARTS).contains(&count) || parts.len() != usize::from(count) * PART_BYTES {
            return Err(DumpError(format!("{count} parts in {} bytes of head", parts.len())));
        }
        let parts = parts.chunks_exact(PART_BYTES).map(PartHead::decode);
        let head = Head { shard, parts: parts.collect::<Result<_, _>>()? };
        let sum = head.parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.bytes));
        sum.filter(|sum| *sum < 1 << 62).ok_or_else(|| wrong("bodies of more than 2^62 bytes"))?;
        Ok(head)
    }

    /// Take the bodies, all of them and nothing else. Every byte is checked; this is the one
    /// door for filters from RDB files, `RESTORE`, `BF.LOADCHUNK` and the append-only file.
    ///
    /// The bytes are gone afterwards, given back while the filter is filled with them: both
    /// together never take much more than one. Where there is an error they stay.
    pub fn take(&self, bodies: &mut Vec<u8>) -> Result<Vec<Part>, DumpError> {
        let (need, have) = (self.body_bytes(), bodies.len() as u64);
        if have < need {
            return Err(DumpError(format!("cut off: {have} of {need} bytes")));
        }
        if have > need {
            return Err(DumpError(format!("{} bytes after the last part", have - need)));
        }
        // One part is checked when it is taken. Of several none is taken before all are checked.
        if self.parts.len() > 1 {
            let mut rest = bodies.as_slice();
            for part in &self.parts {
                let (body, next) = rest.split_at(part.bytes as usize);
                part.check(body)?;
                rest = next;
            }
        }
        let mut parts = Vec::with_capacity(self.parts.len());
        for part in self.parts.iter().rev() {
            parts.push(part.take(bodies)?);
        }
        parts.reverse();
        Ok(parts)
    }

    /// As [`take`](Head::take), and the bytes stay.
    pub fn read(&self, bodies: &[u8]) -> Result<Vec<Part>, DumpError> {
        self.take(&mut bodies.to_vec())
    }
}

impl PartHead {
    fn decode(bytes: &[u8]) -> Result<PartHead, DumpError> {
        let wrong = || DumpError("head of a dump: no such part".to_owned());
        let (front, length) = bytes.split_last_chunk::<8>().ok_or_else(wrong)?;
        let (Some((make, keyed)), Some(secret)) =
            (front.first().zip(front.get(1)), front.get(2..).and_then(|s| s.try_into().ok()))
        else {
            return Err(wrong());
        };
        let secret: [u8; 16] = secret;
        let (make, secret) = match (make, keyed, secret) {
            (1, 1, secret) => (Make::Native, Some(Secret::from_bytes(secret))),
            (1, 0, [0, ..]) if secret == [0; 16] => (Make::Native, None),
            (2, 0, [0, ..]) if secret == [0; 16] => (Make::Compat, None),
            _ => return Err(wrong()),
        };
        Ok(PartHead { make, secret, bytes: u64::from_le_bytes(*length) })
    }

    fn check(&self, body: &[u8]) -> Result<(), DumpError> {
        match self.make {
            Make::Native => AnyFilter::check(body, self.secret).map_err(wrong),
            Make::Compat => Chain::decode(body).map(drop).map_err(wrong),
        }
    }

    /// Take the last of the bodies.
    fn take(&self, bodies: &mut Vec<u8>) -> Result<Part, DumpError> {
        let from = bodies.len().saturating_sub(self.bytes as usize);
        match self.make {
            Make::Native => {
                AnyFilter::take(bodies, from, self.secret).map(Part::Native).map_err(wrong)
            }
            Make::Compat => {
                let chain = Chain::decode(&bodies[from..]).map_err(wrong)?;
                bodies.truncate(from);
                Ok(Part::Compat(chain))
            }
        }
    }
}

fn wrong(error: impl fmt::Display) -> DumpError {
    DumpError(error.to_string())
}

/// Room for `more` bytes of bodies that are announced to be `need`. Announcing is cheap, so it is
/// four times what has come at most; and then not the doubling of a vector, which would copy while
/// both copies are full: untouched memory takes nothing.
pub fn make_room(bodies: &mut Vec<u8>, more: usize, need: u64) -> Result<(), TryReserveError> {
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
        Part::Native(filter) => filter.file_bytes(&Notes::new()),
        Part::Compat(chain) => chain.header().encode().len() as u64 + part.bytes(),
    }
}

/// The bodies of a filter, in one pass and without a copy.
pub fn write_bodies(filter: &Filter, mut to: impl Write) -> io::Result<()> {
    filter.parts().try_for_each(|part| write_part(part, &mut to))
}

fn write_part(part: &Part, to: &mut impl Write) -> io::Result<()> {
    match part {
        Part::Native(filter) => filter.write_to(to, &Notes::new()),
        Part::Compat(chain) => chain.write_to(to),
    }
}

/// The head to iterator 0, then bodies in pieces; nothing at the end.
pub(super) fn chunk_after(filter: &Filter, iterator: u64) -> Option<(u64, Vec<u8>)> {
    if iterator == 0 {
        return Some((1, Head::of(filter).encode()));
    }
    let mut piece = Piece { skip: iterator - 1, bytes: Vec::new() };
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
                        filter.write_range_to(&mut piece.bytes, &Notes::new(), range)
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
struct Piece {
    skip: u64,
    bytes: Vec<u8>,
}

impl Write for Piece {
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
