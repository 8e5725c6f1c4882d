//! RedisBloom: its chain of filters, in the chunks of `BF.SCANDUMP` and in the payload of `DUMP`.
//!
//! A chain is links, oldest first; when the newest is full, a larger one with half its rate is
//! appended. Every number is little-endian and nothing is aligned:
//!
//! * header: `u64` items, `u32` links, `u32` options, `u32` growth, then for each link `u64` bytes,
//!   `u64` bits, `u64` items, `f64` error, `f64` bits an entry, `u32` hashes, `u64` entries (`u32` in
//!   RedisBloom 2.2.0 and earlier), `u8` n2;
//! * then the bits of each link, the first in the lowest place of the first byte.
//!
//! Source: RedisBloom `src/sb.c`, `deps/bloom/bloom.c`, `src/rebloom.c`. Golden files, and what
//! wrote them: `testdata/foreign/redisbloom/`. A file of this format is the chunks one after
//! another; [`Chain::chunks`] gives them back apart. For `DUMP` and `RESTORE` see [`dump`].
//!
//! RedisBloom hashes by Murmur without a secret, so whoever chooses keys can choose bad ones.

mod chunks;
pub mod dump;
mod foreign;
mod header;
mod link;
mod lzf;
mod scheme;

pub use chunks::{Chunk, ChunkLoader, MAX_CHUNK_BYTES};
pub(crate) use foreign::FAMILY;
pub use header::{Header, Layout};
pub use link::LinkInfo;
pub use scheme::{Murmur, Pair};

use crate::{ForeignError, Format, chain, limits};
use mayhap::mem::AlignedBuf;
use mayhap::{Classic, MergeError};
use std::io::{self, Write};
use std::ops::Range;

/// The bits of a chain's options.
pub mod options {
    /// Links have as many bits as they need, not a power of two.
    pub const NOROUND: u32 = 1;
    /// A link's entries are the power of two of its bits. No command sets it.
    pub const ENTS_IS_BITS: u32 = 2;
    /// Keys are hashed to 64 bits.
    pub const FORCE64: u32 = 4;
    /// No links are appended: a full chain takes no more keys.
    pub const NO_SCALING: u32 = 8;
    /// All there are.
    pub const KNOWN: u32 = 15;
}

/// A link's rate over that of the link before it.
const TIGHTENING: f64 = 0.5;
/// What RedisBloom writes where no growth was asked for, even where nothing may grow.
const DEFAULT_GROWTH: u32 = 2;

/// What happens when a chain is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// A link so many times as large is appended: `EXPANSION`.
    By(u32),
    /// No more keys are taken: `NONSCALING`.
    Fixed,
}

/// RedisBloom's filter: links of growing size, asked newest first.
///
/// It answers, counts and grows exactly as RedisBloom does, so that one built here and loaded there
/// (or the reverse) goes on as if it had never moved. One exception: a link of more than 64 MiB has at most
/// 64 times the bytes of the link before it; a larger growth factor is then followed in several steps.
///
/// ```
/// use mayhap_foreign::redisbloom::{Chain, Scaling};
/// let mut chain = Chain::reserve(1_000, 0.01, Scaling::By(2))?; // BF.RESERVE key 0.01 1000
/// assert!(chain.insert("ada")?);
/// assert!(!chain.insert("ada")?);
/// let file = chain.encode(); // the chunks of BF.SCANDUMP, one after another
/// assert!(Chain::open(&file)?.contains("ada"));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub type Chain<B = AlignedBuf> = chain::Chain<RedisBloom, B>;

/// One filter of a chain.
pub type Link<B = AlignedBuf> = chain::Layer<RedisBloom, B>;

/// What is said of a chain as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedisBloom {
    /// See [`options`].
    pub options: u32,
    /// By how much each link is larger than the one before.
    pub growth: u32,
    /// How its header is written.
    pub layout: Layout,
}

impl RedisBloom {
    fn is_64(&self) -> bool {
        self.options & options::FORCE64 != 0
    }

    /// What happens when a chain is full.
    pub fn scaling(&self) -> Scaling {
        match self.options & options::NO_SCALING {
            0 => Scaling::By(self.growth),
            _ => Scaling::Fixed,
        }
    }
}

impl chain::GrowthRule for RedisBloom {
    type Scheme = Murmur;
    type Info = LinkInfo;

    #[inline]
    fn hash_bytes(&self, key: &[u8]) -> Pair {
        scheme::hash(self.is_64(), key)
    }

    fn filter<B: AsRef<[u8]>>(
        &self,
        info: &LinkInfo,
        bits: B,
    ) -> Result<Classic<Murmur, B>, ForeignError> {
        info.filter(self.is_64(), bits)
    }

    fn bytes(info: &LinkInfo) -> u64 {
        info.bytes
    }

    fn items(info: &LinkInfo) -> u64 {
        info.items
    }

    fn capacity(info: &LinkInfo) -> u64 {
        info.entries
    }

    fn with_items(info: &LinkInfo, items: u64) -> LinkInfo {
        LinkInfo { items, ..*info }
    }

    fn next(&self, newest: &LinkInfo, _: usize) -> Result<LinkInfo, ForeignError> {
        let Scaling::By(growth) = self.scaling() else {
            let what = "the filter is full and made not to grow: reserve a larger one";
            return Err(ForeignError::Refused { format: Format::Redisbloom, what });
        };
        if self.options & options::ENTS_IS_BITS != 0 {
            // RedisBloom would take the next capacity for a power of two: 40 keys, 128 GiB.
            let what = "the filter is full, and its size is a power of two that was asked for: \
                        no command makes such a filter, so there is no rule for the next layer";
            return Err(ForeignError::Refused { format: Format::Redisbloom, what });
        }
        let sized = |growth: u32| {
            let entries = newest.entries.checked_mul(growth.into()).ok_or_else(|| {
                ForeignError::field("capacity of the next link", "2^64 or more", "below")
            })?;
            LinkInfo::sized(entries, newest.error * TIGHTENING, self.options)
        };
        limits::next_layer(newest.bytes, growth, sized, |next| next.bytes)
    }

    fn check_hashes_as(&self, other: &RedisBloom) -> Result<(), ForeignError> {
        same("options", self.options, other.options)
    }

    fn check_laid_out_as(ours: &LinkInfo, theirs: &LinkInfo) -> Result<(), ForeignError> {
        same("bytes of a link", ours.bytes, theirs.bytes)?;
        same("bits of a link", ours.bits, theirs.bits)?;
        same("n2 of a link", ours.n2, theirs.n2)?;
        same("hashes of a link", ours.hashes, theirs.hashes)
    }
}

/// Fails where two chains differ in a number.
fn same<T: PartialEq + ToString>(what: &'static str, have: T, got: T) -> Result<(), ForeignError> {
    if have == got {
        return Ok(());
    }
    Err(MergeError::new(what, have.to_string(), got.to_string()).into())
}

impl Chain {
    /// An empty chain, as `BF.RESERVE` makes it. One that may grow halves the rate of its first
    /// link, so that all links together stay below it.
    pub fn reserve(capacity: u64, error: f64, scaling: Scaling) -> Result<Chain, ForeignError> {
        let options = options::FORCE64 | options::NOROUND;
        let (growth, options, tightening) = match scaling {
            Scaling::By(growth) if limits::growth(growth).is_err() => {
                return Err(ForeignError::field("expansion", growth, "1 to 32768, or nonscaling"));
            }
            Scaling::By(growth) => (growth, options, TIGHTENING),
            Scaling::Fixed => (DEFAULT_GROWTH, options | options::NO_SCALING, 1.0),
        };
        let rule = RedisBloom { options, growth, layout: Layout::default() };
        let first = LinkInfo::sized(capacity, error * tightening, options)?;
        let first = Link::empty(&rule, first)?;
        Chain::of_layers(rule, vec![first])
    }

    /// Read the chunks of a dump, one after another, into memory of their own.
    pub fn decode(bytes: &[u8]) -> Result<Chain, ForeignError> {
        Chain::read(bytes, |range| Ok(AlignedBuf::copy_of(&bytes[range])?))
    }
}

impl<'a> Chain<&'a [u8]> {
    /// Query the chunks of a dump, one after another, where they lie.
    pub fn open(bytes: &'a [u8]) -> Result<Chain<&'a [u8]>, ForeignError> {
        Chain::read(bytes, |range| Ok(&bytes[range]))
    }
}

impl<B: AsRef<[u8]>> Chain<B> {
    /// Take the chunks of a dump apart; `part` makes what holds the bytes of a range of them.
    pub fn read(
        bytes: &[u8],
        mut part: impl FnMut(Range<usize>) -> Result<B, ForeignError>,
    ) -> Result<Self, ForeignError> {
        let (header, mut at) = Header::decode_front(bytes)?;
        Chain::of_header(&header, |info| {
            let end = at + info.bytes as usize; // the header was found to fit the bytes
            let bits = part(at..end)?;
            at = end;
            Ok(bits)
        })
    }

    /// The chain that a header describes, which was found to be sound; `bits` makes those of a link.
    fn of_header(
        header: &Header,
        mut bits: impl FnMut(&LinkInfo) -> Result<B, ForeignError>,
    ) -> Result<Self, ForeignError> {
        let Header { options, growth, layout, ref links } = *header;
        let rule = RedisBloom { options, growth, layout };
        let links = links.iter().map(|info| Link::new(&rule, *info, bits(info)?));
        let links = links.collect::<Result<_, _>>()?;
        Chain::of_layers(rule, links)
    }

    /// What it says about itself.
    pub fn header(&self) -> Header {
        let RedisBloom { options, growth, layout } = *self.rule();
        Header { options, growth, layout, links: self.links().iter().map(Link::info).collect() }
    }

    /// The links, oldest first.
    pub fn links(&self) -> &[Link<B>] {
        self.layers()
    }

    /// What happens when it is full.
    pub fn scaling(&self) -> Scaling {
        self.rule().scaling()
    }

    /// The same chain, to be written in this layout. An old dump must be given the new one before
    /// a RedisBloom of today loads it.
    pub fn with_layout(self, layout: Layout) -> Self {
        self.with_info(|rule| RedisBloom { layout, ..rule }, LinkInfo::renewed)
    }

    /// The chunks, one after another.
    pub fn encode(&self) -> Vec<u8> {
        let bytes = self.chunks().map(|chunk| chunk.bytes);
        bytes.fold(Vec::new(), |mut file, bytes| {
            file.extend_from_slice(&bytes);
            file
        })
    }

    /// Write the chunks, one after another.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        self.chunks().try_for_each(|chunk| out.write_all(&chunk.bytes))
    }
}
