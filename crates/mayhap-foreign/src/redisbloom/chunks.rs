//! A chain in pieces, as `BF.SCANDUMP` gives and `BF.LOADCHUNK` takes them.
//!
//! Each chunk goes with an iterator. The header's is 1; that of data is 1 plus the bytes of data
//! given so far, the chunk's own included, and `BF.LOADCHUNK` wants that very number back. A
//! chunk never spans two links.

use super::{Chain, Header};
use crate::ForeignError;
use mayhap::mem::AlignedBuf;
use std::borrow::Cow;

/// The most bytes of data in one chunk, as RedisBloom has it.
pub const MAX_CHUNK_BYTES: usize = 16 << 20;

/// A piece of a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// What `BF.SCANDUMP` answers it with and `BF.LOADCHUNK` wants with it.
    pub iterator: u64,
    /// The header, or bits of one link.
    pub bytes: Cow<'a, [u8]>,
}

impl<B: AsRef<[u8]>> Chain<B> {
    /// All chunks in order: what to give `BF.LOADCHUNK`, for a key that does not exist yet.
    ///
    /// ```
    /// use mayhap_foreign::redisbloom::{Chain, Scaling};
    /// let mut chain = Chain::reserve(1_000, 0.01, Scaling::By(2))?;
    /// chain.insert("ada")?;
    /// for chunk in chain.chunks() {
    ///     // BF.LOADCHUNK seen <iterator> <bytes>
    ///     assert!(chunk.iterator >= 1 && chunk.bytes.len() <= 16 << 20);
    /// }
    /// # assert_eq!(chain.chunks().count(), 2);
    /// # Ok::<(), mayhap_foreign::ForeignError>(())
    /// ```
    pub fn chunks(&self) -> impl Iterator<Item = Chunk<'_>> {
        self.chunks_of(MAX_CHUNK_BYTES)
    }

    /// The same in chunks of at most `max_bytes` of data (1 at least), for servers that take less
    /// at a time.
    pub fn chunks_of(&self, max_bytes: usize) -> impl Iterator<Item = Chunk<'_>> {
        let next = move |chunk: &Chunk<'_>| self.chunk_after(chunk.iterator, max_bytes);
        std::iter::successors(self.chunk_after(0, max_bytes), next)
    }

    /// What `BF.SCANDUMP` answers to an iterator: the header to 0, then data, and `None` (there:
    /// iterator 0 and no bytes) at the end.
    pub fn chunk_after(&self, iterator: u64, max_bytes: usize) -> Option<Chunk<'_>> {
        if iterator == 0 {
            return Some(Chunk { iterator: 1, bytes: self.header().encode().into() });
        }
        let mut at = iterator - 1;
        for link in self.links() {
            let bytes = link.filter().as_bytes();
            match usize::try_from(at).ok().and_then(|at| bytes.get(at..)) {
                Some(rest) if !rest.is_empty() => {
                    let bytes = &rest[..rest.len().min(max_bytes.max(1))];
                    let iterator = iterator.checked_add(bytes.len() as u64)?;
                    return Some(Chunk { iterator, bytes: bytes.into() });
                }
                _ => at = at.checked_sub(bytes.len() as u64)?,
            }
        }
        None
    }
}

impl Chain {
    /// What `BF.LOADCHUNK` does with iterator 1: an empty chain of the header's shape.
    ///
    /// A header of a hundred bytes may ask for any amount of memory; `max_bytes` is the most it is
    /// given.
    pub fn load_header(chunk: &[u8], max_bytes: u64) -> Result<Chain, ForeignError> {
        let header = Header::decode(chunk)?;
        let bytes = header.data_bytes()?;
        if bytes > max_bytes {
            let got = format!("{bytes}, with at most {max_bytes} allowed");
            return Err(ForeignError::field("bytes of all links", got, "within the limit"));
        }
        Chain::of_header(&header, |info| Ok(AlignedBuf::zeroed(info.bytes)?))
    }

    /// What `BF.LOADCHUNK` does with any other iterator: bits of one link, put where the iterator
    /// says. Chunks may come in any order and twice; none may reach into the next link.
    pub fn load_chunk(&mut self, iterator: u64, chunk: &[u8]) -> Result<(), ForeignError> {
        let end = iterator.checked_sub(1);
        let Some(mut at) = end.and_then(|end| end.checked_sub(chunk.len() as u64)) else {
            let got = format!("{iterator} for {} bytes", chunk.len());
            let need = "1 more than the bytes of data up to the chunk's end";
            return Err(ForeignError::field("iterator", got, need));
        };
        for link in self.layers_mut() {
            let bytes = link.as_bytes_mut();
            if let Some(next) = at.checked_sub(bytes.len() as u64) {
                at = next;
                continue;
            }
            let (at, have) = (at as usize, bytes.len());
            let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..chunk.len()))
            else {
                let got = format!("{} at {at} of a link of {have}", chunk.len());
                return Err(ForeignError::field("bytes of the chunk", got, "inside of one link"));
            };
            place.copy_from_slice(chunk);
            return Ok(());
        }
        let got = format!("{iterator}, past the last link");
        Err(ForeignError::field("iterator", got, "one that lies in a link"))
    }
}

/// A chain that is being read chunk by chunk, all of it, in order.
///
/// ```
/// use mayhap_foreign::redisbloom::{Chain, ChunkLoader, Scaling};
/// let mut there = Chain::reserve(1_000, 0.01, Scaling::By(2))?;
/// there.insert("ada")?;
/// let mut chunks = there.chunks(); // stands for BF.SCANDUMP seen 0, then the iterator got
/// let mut incoming = ChunkLoader::begin(&chunks.next().unwrap().bytes, 1 << 30)?;
/// for chunk in chunks {
///     incoming.push(chunk.iterator, &chunk.bytes)?;
/// }
/// assert!(incoming.finish()?.contains("ada"));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
#[derive(Debug)]
pub struct ChunkLoader {
    chain: Chain,
    /// Bytes of data that came.
    have: u64,
    need: u64,
}

impl ChunkLoader {
    /// From the header chunk; the chain may take `max_bytes` bytes.
    pub fn begin(header: &[u8], max_bytes: u64) -> Result<ChunkLoader, ForeignError> {
        let chain = Chain::load_header(header, max_bytes)?;
        let need = chain.header().data_bytes()?;
        Ok(ChunkLoader { chain, have: 0, need })
    }

    /// The next chunk of data and the iterator that came with it.
    pub fn push(&mut self, iterator: u64, chunk: &[u8]) -> Result<(), ForeignError> {
        let want = self.have.saturating_add(chunk.len() as u64).saturating_add(1);
        if iterator != want {
            let got = format!("{iterator} where {want} follows");
            return Err(ForeignError::field("iterator", got, "the next: no chunk may be missed"));
        }
        self.chain.load_chunk(iterator, chunk)?;
        self.have += chunk.len() as u64;
        Ok(())
    }

    /// How much of the data has come, and how much there is.
    pub fn progress(&self) -> (u64, u64) {
        (self.have, self.need)
    }

    /// The chain, if all of it has come.
    pub fn finish(self) -> Result<Chain, ForeignError> {
        let ChunkLoader { chain, have, need } = self;
        if have < need {
            return Err(ForeignError::Truncated { field: "bits", need, have });
        }
        Ok(chain)
    }
}
