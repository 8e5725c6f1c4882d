//! RocksDB's full filters, bare or inside an SST file.
//!
//! A filter block is an array and a trailer of five bytes whose first, read as signed, tells what
//! the array is: −1 [`FastLocal`] (format version 5 and later, the default), −2 [`Ribbon`],
//! 1 to 127 the [`Legacy`] filter with so many probes; 0 and all else are reserved, and RocksDB
//! takes them to hold every key. Blocks of five bytes or fewer hold none.
//! Source: RocksDB `table/block_based/filter_policy.cc` and `util/bloom_impl.h`; for SST files
//! `table/format.cc`. Golden files, and what wrote them: `testdata/foreign/rocksdb/`.
//!
//! The block does not tell how many keys went in. Keys are user keys (or prefixes, where the
//! database was told so), as bytes.
//!
//! ```
//! use mayhap_foreign::rocksdb;
//! let block = rocksdb::create_filter(["ada", "eve"], 10.0).unwrap();
//! assert!(rocksdb::key_may_match("ada", &block));
//! assert!(!rocksdb::key_may_match("bob", &block));
//! # let filter = rocksdb::Filter::decode(&block).unwrap();
//! # assert_eq!(filter.encode(), block);
//! ```

mod checksum;
mod fast_local;
mod foreign;
mod legacy;
mod ribbon;
mod sst;

pub use fast_local::{FastLocal, bits_per_key_for, millibits, probes_of_millibits};
pub(crate) use foreign::FAMILY;
pub use legacy::Legacy;
pub use ribbon::Ribbon;
pub use sst::{filter_in_sst, is_sst};

use crate::{ForeignError, Format, chunked};
use mayhap::key::{ByteKeys, KeyOf};
use mayhap::mem::AlignedBuf;
use mayhap::scheme::Scheme;
use mayhap::sizing::ClassicShape;
use mayhap::{Classic, MergeError};
use std::ops::Range;

/// Bytes of the trailer.
pub const TRAILER_BYTES: usize = 5;

/// The filters of RocksDB, whichever it is.
#[derive(Clone, Debug)]
pub enum Filter<B = AlignedBuf> {
    /// Since format version 5: one line of 512 bits a key.
    FastLocal(Classic<FastLocal, B>),
    /// Before it: likewise, by another hash.
    Legacy(Classic<Legacy, B>),
    /// `NewRibbonFilterPolicy`: smaller, and not to be added to.
    Ribbon(Ribbon<B>),
}

impl Filter {
    /// Read a filter block into memory of its own.
    pub fn decode(block: &[u8]) -> Result<Filter, ForeignError> {
        Filter::read(block, |range| Ok(AlignedBuf::copy_of(&block[range])?))
    }

    /// Insert a key. `true`: it was certainly new. A ribbon filter is made once and for all.
    pub fn insert(&mut self, key: impl KeyOf<ByteKeys>) -> Result<bool, ForeignError> {
        match self {
            Filter::FastLocal(filter) => Ok(filter.insert(key)),
            Filter::Legacy(filter) => Ok(filter.insert(key)),
            Filter::Ribbon(_) => Err(no_more_keys()),
        }
    }

    /// Take in everything the other filter holds.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Filter<C>) -> Result<(), ForeignError> {
        match (self, other) {
            (Filter::FastLocal(ours), Filter::FastLocal(theirs)) => Ok(ours.union(theirs)?),
            (Filter::Legacy(ours), Filter::Legacy(theirs)) => Ok(ours.union(theirs)?),
            (Filter::Ribbon(_), Filter::Ribbon(_)) => {
                Err(refused("ribbon filters cannot be merged: build one from the keys"))
            }
            (ours, theirs) => {
                let (have, got) = (ours.kind().to_owned(), theirs.kind().to_owned());
                Err(MergeError::new("kinds", have, got).into())
            }
        }
    }
}

impl<'a> Filter<&'a [u8]> {
    /// Query a filter block where it lies.
    pub fn open(block: &'a [u8]) -> Result<Filter<&'a [u8]>, ForeignError> {
        Filter::read(block, |range| Ok(&block[range]))
    }
}

impl<B: AsRef<[u8]>> Filter<B> {
    /// Take a filter block apart; `part` makes what holds the bytes of a range of it.
    pub fn read(
        block: &[u8],
        part: impl FnOnce(Range<usize>) -> Result<B, ForeignError>,
    ) -> Result<Filter<B>, ForeignError> {
        let Some((body, trailer)) = block.split_last_chunk::<TRAILER_BYTES>() else {
            let (need, have) = (TRAILER_BYTES as u64, block.len() as u64);
            return Err(ForeignError::Truncated { field: "trailer", need, have });
        };
        if body.is_empty() {
            return Err(ForeignError::field("array", "empty", "bits: this filter holds no keys"));
        }
        Filter::read_parts(0..body.len(), trailer, part)
    }

    /// The same, where array and trailer are apart.
    fn read_parts(
        body: Range<usize>,
        trailer: &[u8; TRAILER_BYTES],
        part: impl FnOnce(Range<usize>) -> Result<B, ForeignError>,
    ) -> Result<Filter<B>, ForeignError> {
        let bits = 8 * body.len() as u64;
        match trailer[0] as i8 {
            -1 => {
                let shape = ClassicShape::new(bits, fast_local::probes(bits, trailer)?);
                let filter = Classic::from_parts(FastLocal, shape, part(body)?);
                filter.map(Filter::FastLocal).ok_or_else(misfit)
            }
            -2 => Ok(Filter::Ribbon(Ribbon::new(trailer, part(body)?)?)),
            probes @ 1.. => {
                let scheme = Legacy::read(bits, trailer)?;
                let shape = ClassicShape::new(bits, probes.unsigned_abs().into());
                let filter = Classic::from_parts(scheme, shape, part(body)?);
                filter.map(Filter::Legacy).ok_or_else(misfit)
            }
            other => {
                let need = "-1 (Bloom), -2 (ribbon) or 1 to 127 (probes of an old filter); \
                            RocksDB would answer maybe to every key";
                Err(ForeignError::field("marker of the filter", other, need))
            }
        }
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl KeyOf<ByteKeys>) -> bool {
        match self {
            Filter::FastLocal(filter) => filter.contains(key),
            Filter::Legacy(filter) => filter.contains(key),
            Filter::Ribbon(filter) => filter.contains(key),
        }
    }

    /// Ask for many keys at once: `answers` is cleared and filled, one answer a key.
    pub fn contains_batch<K: KeyOf<ByteKeys>>(&self, keys: &[K], answers: &mut Vec<bool>) {
        fn ask<S: Scheme<Keys = ByteKeys>, B: AsRef<[u8]>, K: KeyOf<ByteKeys>>(
            filter: &Classic<S, B>,
            keys: &[K],
            answers: &mut Vec<bool>,
        ) {
            let hash = |keys: &[K], hashes: &mut Vec<_>| {
                hashes.clear();
                hashes.extend(keys.iter().map(|key| filter.hash(key)));
            };
            chunked::each(keys, answers, hash, |hashes, found| {
                filter.contains_batch(hashes, found);
            });
        }
        match self {
            Filter::FastLocal(filter) => ask(filter, keys, answers),
            Filter::Legacy(filter) => ask(filter, keys, answers),
            Filter::Ribbon(f) => {
                answers.clear();
                answers.extend(keys.iter().map(|key| f.contains(key)));
            }
        }
    }

    /// The share of bits that are set. A ribbon filter's says nothing about its keys.
    pub fn fill(&self) -> f64 {
        match self {
            Filter::FastLocal(filter) => filter.fill(),
            Filter::Legacy(filter) => filter.fill(),
            Filter::Ribbon(filter) => filter.fill(),
        }
    }

    /// The false-positive rate as the bits stand now.
    pub fn fpr_now(&self) -> f64 {
        match self {
            Filter::FastLocal(filter) => filter.fpr_now(),
            Filter::Legacy(filter) => filter.fpr_now(),
            Filter::Ribbon(filter) => filter.fpr(),
        }
    }

    /// The array, without the trailer.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Filter::FastLocal(filter) => filter.as_bytes(),
            Filter::Legacy(filter) => filter.as_bytes(),
            Filter::Ribbon(filter) => filter.as_bytes(),
        }
    }

    /// The last five bytes of the block.
    pub fn trailer(&self) -> [u8; TRAILER_BYTES] {
        match self {
            Filter::FastLocal(filter) => fast_local::trailer(filter.shape()),
            Filter::Legacy(filter) => filter.scheme().trailer(filter.shape()),
            Filter::Ribbon(filter) => filter.trailer(),
        }
    }

    /// The filter block, as RocksDB writes it.
    pub fn encode(&self) -> Vec<u8> {
        [self.as_bytes(), &self.trailer()].concat()
    }

    /// The name people know it by.
    pub fn kind(&self) -> &'static str {
        match self {
            Filter::FastLocal(_) => "RocksDB FastLocalBloom",
            Filter::Legacy(_) => "RocksDB legacy Bloom",
            Filter::Ribbon(_) => "RocksDB ribbon",
        }
    }
}

/// The filter block of these keys at `bits_per_key`, byte for byte as RocksDB makes it: empty where
/// there are no keys, and an error below half a bit a key, where RocksDB makes no filter.
///
/// RocksDB counts a key that comes twice in a row once, so keys are best given in order.
pub fn create_filter<K: KeyOf<ByteKeys>>(
    keys: impl IntoIterator<Item = K>,
    bits_per_key: f64,
) -> Result<Vec<u8>, ForeignError> {
    let keys = keys.into_iter();
    Ok(match fast_local::build(keys.map(|key| FastLocal.hash(key)), bits_per_key)? {
        Some(filter) => Filter::FastLocal(filter).encode(),
        None => Vec::new(),
    })
}

/// The same as RocksDB before format version 5 made it.
pub fn create_legacy_filter<K: KeyOf<ByteKeys>>(
    keys: impl IntoIterator<Item = K>,
    bits_per_key: f64,
) -> Result<Vec<u8>, ForeignError> {
    legacy::build(keys.into_iter().map(|key| legacy::hash(key)), bits_per_key)
}

/// RocksDB's own answer, for those who stand in its place: where [`Filter::open`] refuses, this is
/// `true`, because a filter that cannot be read must not hide a key; a block of five bytes or fewer
/// holds none.
pub fn key_may_match(key: impl KeyOf<ByteKeys>, block: &[u8]) -> bool {
    match Filter::open(block) {
        Ok(filter) => filter.contains(key),
        Err(_) => block.len() > TRAILER_BYTES,
    }
}

/// How often a stranger passes where each key has all its probes in one block of the array.
fn rate_by_block(bytes: &[u8], block_bytes: usize, probes: u32) -> f64 {
    let blocks = bytes.chunks_exact(block_bytes.max(1));
    let count = blocks.len().max(1) as f64;
    let rate = |block: &[u8]| {
        let ones: u32 = block.iter().map(|byte| byte.count_ones()).sum();
        (f64::from(ones) / (8.0 * block.len() as f64)).powi(probes as i32)
    };
    blocks.map(rate).sum::<f64>() / count
}

fn no_more_keys() -> ForeignError {
    refused("a ribbon filter accepts no more keys: build it again")
}

fn refused(what: &'static str) -> ForeignError {
    ForeignError::Refused { format: Format::Rocksdb, what }
}

/// For what has been checked before.
fn misfit() -> ForeignError {
    ForeignError::field("shape", "impossible", "bits and 1 to 127 probes")
}
