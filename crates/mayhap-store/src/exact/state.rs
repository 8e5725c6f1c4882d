//! The file of an exact set. The layout is in docs/FORMAT.md.

use super::ExactSet;
use crate::budget::{Budget, OverBudget};
use mayhap::format::Metadata;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use xxhash_rust::xxh3::Xxh3;

/// The magic bytes of an exact set's file: "MAX" and what text tools mangle first.
const MAGIC: &[u8; 8] = b"\x89MAX\r\n\x1a\n";
/// The magic bytes of a filter's file.
const FILTER: &[u8; 8] = b"\x89MAY\r\n\x1a\n";
const VERSION: u16 = 1;
const HEADER_BYTES: u64 = 32;
const CHECKSUM_BYTES: u64 = 16;
const HASH_BYTES: u64 = 16;
/// Maximum bytes of metadata.
const MAX_METADATA: u32 = 1 << 20;
/// Hashes read or written at a time.
const AT_ONCE: usize = 4096;

/// Metadata as encoded in the file.
#[derive(Serialize, Deserialize)]
struct MetadataText {
    created: u64,
    normaliser: String,
    pairs: BTreeMap<String, String>,
}

impl ExactSet {
    /// Write the set with its metadata, as [`read_from`](ExactSet::read_from) reads it.
    pub fn write_to(&self, to: &mut dyn Write, metadata: &Metadata) -> io::Result<()> {
        let text = serde_json::to_vec(&MetadataText {
            created: metadata.created(),
            normaliser: metadata.normalizer().to_owned(),
            pairs: metadata.pairs().map(|(name, value)| (name.into(), value.into())).collect(),
        })?;
        let too_long = || io::Error::new(io::ErrorKind::InvalidInput, "notes of more than 1 MiB");
        let text_bytes = u32::try_from(text.len()).ok().filter(|bytes| *bytes <= MAX_METADATA);
        let mut out = Checksummed { inner: to, sum: Xxh3::new() };
        out.write_all(MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        out.write_all(&0u16.to_le_bytes())?;
        out.write_all(&text_bytes.ok_or_else(too_long)?.to_le_bytes())?;
        out.write_all(&(self.keys() as u64).to_le_bytes())?;
        out.write_all(&0u64.to_le_bytes())?;
        out.write_all(&text)?;
        let mut block = Vec::with_capacity(AT_ONCE * HASH_BYTES as usize);
        for hash in self.iter() {
            block.extend_from_slice(&hash.to_le_bytes());
            if block.len() == block.capacity() {
                out.write_all(&block)?;
                block.clear();
            }
        }
        out.write_all(&block)?;
        let sum = out.sum.digest128();
        out.inner.write_all(&sum.to_le_bytes())
    }

    /// Read a set and its metadata from the start of a file, every byte verified.
    pub fn read_from(file: &File, budget: Budget) -> Result<(ExactSet, Metadata), ExactError> {
        let file_bytes = file.metadata()?.len();
        ExactSet::read_bytes(BufReader::with_capacity(1 << 20, file), file_bytes, budget)
    }

    /// Read a set and its metadata from this many bytes, every one verified. No memory is allocated
    /// for more hashes than there are bytes.
    pub fn read_bytes(
        from: impl Read,
        file_bytes: u64,
        budget: Budget,
    ) -> Result<(ExactSet, Metadata), ExactError> {
        let mut from = Checksummed { inner: from, sum: Xxh3::new() };
        let mut magic = Vec::new();
        (&mut from).take(MAGIC.len() as u64).read_to_end(&mut magic)?;
        match magic.as_slice() {
            start if start == MAGIC => {}
            start if start == FILTER => return Err(ExactError::Filter),
            start => return Err(ExactError::NotOne { start: start.to_vec() }),
        }
        let mut header = [0; HEADER_BYTES as usize - MAGIC.len()];
        from.read_exact(&mut header).map_err(cut_off)?;
        let version = u16::from_le_bytes(field(&header, 0));
        let flags = u16::from_le_bytes(field(&header, 2));
        if version != VERSION || flags != 0 {
            return Err(ExactError::TooNew { version, flags });
        }
        let text_bytes = u32::from_le_bytes(field(&header, 4));
        let keys = u64::from_le_bytes(field(&header, 8));
        let reserved = u64::from_le_bytes(field(&header, 16));
        let need = u128::from(keys) * u128::from(HASH_BYTES)
            + u128::from(HEADER_BYTES + CHECKSUM_BYTES)
            + u128::from(text_bytes);
        if text_bytes > MAX_METADATA || reserved != 0 {
            return Err(ExactError::Damaged { what: "its header is not one" });
        }
        if need != u128::from(file_bytes) {
            return Err(ExactError::Length { need, have: file_bytes });
        }
        budget.check(keys.saturating_mul(20))?;
        let mut text = vec![0; text_bytes as usize];
        from.read_exact(&mut text).map_err(cut_off)?;
        let set = read_hashes(&mut from, keys)?;
        let want = from.sum.digest128();
        let mut sum = [0; CHECKSUM_BYTES as usize];
        from.inner.read_exact(&mut sum).map_err(cut_off)?;
        if u128::from_le_bytes(sum) != want {
            return Err(ExactError::Damaged { what: "its checksum does not fit" });
        }
        let metadata =
            metadata_of(&text).ok_or(ExactError::Damaged { what: "its notes are not ones" })?;
        Ok((set, metadata))
    }

    /// Whether a file with this start is meant to be an exact set.
    pub fn is_start_of_file(start: &[u8]) -> bool {
        start.starts_with(MAGIC)
    }
}

fn read_hashes(from: &mut impl Read, keys: u64) -> Result<ExactSet, ExactError> {
    let keys = usize::try_from(keys).map_err(|_| ExactError::Damaged { what: "too many keys" })?;
    let mut set =
        ExactSet::try_with_capacity(keys).ok_or(OverBudget { need: keys as u64 * 20, have: 0 })?;
    let mut bytes = vec![0; AT_ONCE * HASH_BYTES as usize];
    let (mut hashes, mut new, mut left) = (Vec::new(), Vec::new(), keys);
    while left > 0 {
        let count = left.min(AT_ONCE);
        let block = &mut bytes[..count * HASH_BYTES as usize];
        from.read_exact(block).map_err(cut_off)?;
        hashes.clear();
        hashes.extend(block.chunks_exact(16).map(|hash| u128::from_le_bytes(field(hash, 0))));
        set.insert_batch_new(&hashes, &mut new);
        left -= count;
    }
    if set.keys() != keys {
        return Err(ExactError::Damaged { what: "a hash is in it twice" });
    }
    Ok(set)
}

fn metadata_of(text: &[u8]) -> Option<Metadata> {
    let text: MetadataText = serde_json::from_slice(text).ok()?;
    let metadata =
        Metadata::new().with_created(text.created).with_normalizer(text.normaliser).ok()?;
    text.pairs
        .into_iter()
        .try_fold(metadata, |metadata, (name, value)| metadata.with(name, value).ok())
}

/// The bytes of a number; zeros if there are too few, which the length check rules out.
fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
}

fn cut_off(error: io::Error) -> ExactError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ExactError::Damaged { what: "it is cut off" },
        _ => ExactError::Read(error),
    }
}

/// A reader or writer that updates a checksum.
struct Checksummed<T> {
    inner: T,
    sum: Xxh3,
}

impl<T: Write> Write for Checksummed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Checksummed<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.sum.update(&bytes[..read]);
        Ok(read)
    }
}

/// Why a file cannot be read as an exact set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExactError {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It is a filter.
    #[error("it is a filter, not a set of exact hashes")]
    Filter,
    /// It is another kind of file.
    #[error("not a set of exact hashes: it starts with \"{}\"", start.escape_ascii())]
    NotOne {
        /// Its first bytes.
        start: Vec<u8>,
    },
    /// Written by a newer release.
    #[error("written by a newer release: version {version}, flags {flags:#x}")]
    TooNew {
        /// Its version.
        version: u16,
        /// Its flags.
        flags: u16,
    },
    /// Shorter or longer than it says.
    #[error("damaged: {need} bytes by its header, {have} in the file")]
    Length {
        /// The expected length in bytes.
        need: u128,
        /// The actual length in bytes.
        have: u64,
    },
    /// The checksum does not match, or a field is invalid.
    #[error("damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: &'static str,
    },
    /// More memory than allowed.
    #[error("{0}")]
    Memory(#[from] OverBudget),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Seek;

    fn set_of(keys: u64) -> ExactSet {
        let (mut set, mut new) = (ExactSet::new(), Vec::new());
        let hash = |i: u64| xxhash_rust::xxh3::xxh3_128(&i.to_le_bytes());
        set.insert_batch_new(&(0..keys).map(hash).collect::<Vec<_>>(), &mut new);
        set.insert_batch_new(&[0], &mut new);
        set
    }

    fn written(bytes: &[u8]) -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytes)?;
        file.rewind()?;
        Ok(file)
    }

    fn read(bytes: &[u8]) -> Result<(ExactSet, Metadata), ExactError> {
        ExactSet::read_from(&written(bytes)?, Budget::of_bytes(1 << 30))
    }

    #[test]
    fn what_is_written_is_read() {
        let metadata = Metadata::new().with_created(7).with_normalizer("url").unwrap();
        let metadata = metadata.with("mayhap.keys", "hex").unwrap();
        for keys in [0, 1, 1_000, 10_000] {
            let (set, mut bytes) = (set_of(keys), Vec::new());
            set.write_to(&mut bytes, &metadata).unwrap();
            let (back, noted) = read(&bytes).unwrap();
            assert_eq!(noted, metadata);
            assert_eq!(back.keys(), set.keys());
            assert!(set.iter().all(|hash| back.contains(hash)));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_wrong_length_is_noticed() {
        let mut bytes = Vec::new();
        set_of(20).write_to(&mut bytes, &Metadata::new()).unwrap();
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&bytes).is_err(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end]).is_err(), "{end} bytes");
        }
        bytes.push(0);
        assert!(read(&bytes).is_err());
    }

    #[test]
    fn a_header_takes_no_memory_that_the_file_does_not_have() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend_from_slice(&u64::MAX.to_le_bytes());
        bytes.extend_from_slice(&[0; 24]);
        assert!(matches!(read(&bytes), Err(ExactError::Length { .. })));
        let mut set = Vec::new();
        set_of(1_000).write_to(&mut set, &Metadata::new()).unwrap();
        let few = Budget::of_bytes(1_000);
        let refused = ExactSet::read_from(&written(&set).unwrap(), few);
        assert!(matches!(refused, Err(ExactError::Memory(_))));
    }
}
