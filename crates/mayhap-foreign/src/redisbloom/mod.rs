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

mod any;
mod chunks;
mod crc64;
pub mod dump;
mod header;
mod link;
mod lzf;
mod scheme;

pub(crate) use any::{create_any, from_kept, open_any};
pub use chunks::{Chunk, Incoming, MAX_CHUNK_BYTES};
pub use header::{Header, Layout};
pub use link::{Link, LinkInfo};
pub use scheme::{Murmur, Pair};

use crate::layers::{self, Layered};
use crate::{ForeignError, Format};
use mayhap::{Classic, Key, MergeError, Mover, Pages};
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
/// (or the reverse) goes on as if it had never moved.
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
#[derive(Clone, Debug)]
pub struct Chain<B = Pages> {
    options: u32,
    growth: u32,
    layout: Layout,
    /// One at least.
    links: Vec<Link<B>>,
}

impl Chain {
    /// Offer the memory of its arrays to whoever tidies the heap: no answer changes.
    pub fn move_arrays(&mut self, mover: &mut Mover<'_>) {
        self.links.iter_mut().for_each(|link| link.filter.move_arrays(mover));
    }

    /// An empty chain, as `BF.RESERVE` makes it. One that may grow halves the rate of its first
    /// link, so that all links together stay below it.
    pub fn reserve(capacity: u64, error: f64, scaling: Scaling) -> Result<Chain, ForeignError> {
        let (growth, mut options) = (DEFAULT_GROWTH, options::FORCE64 | options::NOROUND);
        let (growth, tightening) = match scaling {
            Scaling::By(0) => {
                return Err(ForeignError::field("expansion", 0, "1 or more, or nonscaling"));
            }
            Scaling::By(growth) => (growth, TIGHTENING),
            Scaling::Fixed => {
                options |= options::NO_SCALING;
                (growth, 1.0)
            }
        };
        let first = LinkInfo::sized(capacity, error * tightening, options)?;
        let links = vec![Link::empty(first, options)?];
        Ok(Chain { options, growth, layout: Layout::default(), links })
    }

    /// Read the chunks of a dump, one after another, into memory of their own.
    pub fn decode(bytes: &[u8]) -> Result<Chain, ForeignError> {
        Chain::read(bytes, |range| Ok(Pages::copy_of(&bytes[range])?))
    }

    /// Insert a key. `true`: it was certainly new. An error where the chain is full and may not
    /// grow, and where no memory is left to grow into.
    pub fn insert(&mut self, key: impl Key) -> Result<bool, ForeignError> {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key, likewise.
    pub fn insert_hash(&mut self, hash: Pair) -> Result<bool, ForeignError> {
        if self.contains_hash(hash) {
            return Ok(false);
        }
        if self.room() == 0 {
            self.grow()?;
        }
        let newest = self.newest_mut();
        newest.filter.insert_hash(hash);
        newest.count(1);
        Ok(true)
    }

    /// Insert them all; returns how many were certainly new. After an error those before the first
    /// that did not fit are in.
    pub fn insert_batch(&mut self, hashes: &[Pair]) -> Result<u64, ForeignError> {
        let mut new = Vec::new();
        self.insert_batch_new(hashes, &mut new)?;
        Ok(new.iter().map(|new| u64::from(*new)).sum())
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new. After
    /// an error it ends before the first that did not fit.
    pub fn insert_batch_new(
        &mut self,
        hashes: &[Pair],
        new: &mut Vec<bool>,
    ) -> Result<(), ForeignError> {
        layers::insert_batch_new(self, hashes, new)
    }

    /// Take in everything the other chain holds. Links of both must be alike as far as both have
    /// them, as those of chains made by the same command are; what the other has more is appended.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Chain<C>) -> Result<(), ForeignError> {
        let unlike = |what, have: &dyn ToString, got: &dyn ToString| {
            Err(MergeError { what, have: have.to_string(), got: got.to_string() }.into())
        };
        if self.options != other.options {
            return unlike("options", &self.options, &other.options);
        }
        for (ours, theirs) in self.links.iter().zip(&other.links) {
            let (ours, theirs) = (ours.info(), theirs.info());
            if (ours.bytes, ours.bits, ours.n2) != (theirs.bytes, theirs.bits, theirs.n2) {
                return unlike("bits of a link", &ours.bits, &theirs.bits);
            }
            if ours.hashes != theirs.hashes {
                return unlike("hashes of a link", &ours.hashes, &theirs.hashes);
            }
        }
        // Memory first: a refusal must leave everything as it was.
        let mut more = Vec::new();
        for link in other.links.iter().skip(self.links.len()) {
            let bits = Pages::copy_of(link.filter().as_bytes())?;
            more.push(Link::new(link.info(), self.options, bits)?);
        }
        for (ours, theirs) in self.links.iter_mut().zip(&other.links) {
            ours.union(theirs)?;
        }
        self.links.extend(more);
        Ok(())
    }

    fn newest_mut(&mut self) -> &mut Link {
        let last = self.links.len() - 1;
        &mut self.links[last]
    }

    fn links_mut(&mut self) -> &mut [Link] {
        &mut self.links
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
        let mut links = Vec::with_capacity(header.links.len());
        for info in &header.links {
            let end = at + info.bytes as usize; // the header was found to fit the bytes
            links.push(Link::new(*info, header.options, part(at..end)?)?);
            at = end;
        }
        Ok(Chain::from_links(&header, links))
    }

    /// Links that are those of the header.
    fn from_links(header: &Header, links: Vec<Link<B>>) -> Self {
        Chain { options: header.options, growth: header.growth, layout: header.layout, links }
    }

    /// Whether the key may be in; `false` is certain.
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    pub fn contains_hash(&self, hash: Pair) -> bool {
        self.links.iter().rev().any(|link| link.filter().contains_hash(hash))
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a hash.
    pub fn contains_batch(&self, hashes: &[Pair], answers: &mut Vec<bool>) {
        layers::any_contains(&self.newest_first(), hashes, answers);
    }

    fn newest_first(&self) -> Vec<&Classic<Murmur, B>> {
        self.links.iter().rev().map(Link::filter).collect()
    }

    /// Hash a key once, to ask or insert it (in this and every chain of the same options) later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Pair {
        scheme::hash(self.options & options::FORCE64 != 0, key.key_bytes().as_ref())
    }

    fn newest_link(&self) -> &Link<B> {
        &self.links[self.links.len() - 1]
    }

    /// What it says about itself.
    pub fn header(&self) -> Header {
        let (Chain { options, growth, layout, .. }, links) = (self, &self.links);
        let links = links.iter().map(Link::info).collect();
        Header { options: *options, growth: *growth, layout: *layout, links }
    }

    /// The links, oldest first.
    pub fn links(&self) -> &[Link<B>] {
        &self.links
    }

    /// The link that the next new key makes when the newest is full: for hosts with a limit of
    /// memory, which must ask before they insert. An error where it may not grow.
    pub fn next_link(&self) -> Result<LinkInfo, ForeignError> {
        if self.options & options::NO_SCALING != 0 {
            let what = "the filter is full and made not to grow: reserve a larger one";
            return Err(ForeignError::Refused { format: Format::Redisbloom, what });
        }
        let newest = self.newest_link().info();
        let entries = newest.entries.checked_mul(self.growth.into()).ok_or_else(|| {
            ForeignError::field("capacity of the next link", "2^64 or more", "below")
        })?;
        LinkInfo::sized(entries, newest.error * TIGHTENING, self.options)
    }

    /// Keys that were added.
    pub fn items(&self) -> u64 {
        self.links.iter().fold(0, |sum, link| sum.saturating_add(link.info().items))
    }

    /// Keys the links were made for, all together.
    pub fn capacity(&self) -> u64 {
        self.links.iter().fold(0, |sum, link| sum.saturating_add(link.info().entries))
    }

    /// What happens when it is full.
    pub fn scaling(&self) -> Scaling {
        match self.options & options::NO_SCALING {
            0 => Scaling::By(self.growth),
            _ => Scaling::Fixed,
        }
    }

    /// The same chain, to be written in this layout. An old dump must be given the new one before
    /// a RedisBloom of today loads it.
    pub fn with_layout(self, layout: Layout) -> Self {
        let links = self.links.into_iter().map(Link::renewed).collect();
        Chain { layout, links, ..self }
    }

    /// The share of bits that are set, over all links.
    pub fn fill(&self) -> f64 {
        layers::fill(&self.newest_first())
    }

    /// The false-positive rate as the bits stand now: that any link is wrong.
    pub fn fpr_now(&self) -> f64 {
        layers::fpr_now(&self.newest_first())
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

impl Layered for Chain {
    type Scheme = Murmur;

    fn older(&self) -> Vec<&Classic<Murmur>> {
        self.links.iter().rev().skip(1).map(Link::filter).collect()
    }

    fn newest(&self) -> &Classic<Murmur> {
        self.newest_link().filter()
    }

    fn room(&self) -> u64 {
        self.newest_link().room()
    }

    fn grow(&mut self) -> Result<(), ForeignError> {
        let info = self.next_link()?;
        self.links.push(Link::empty(info, self.options)?);
        Ok(())
    }

    fn insert_newest(&mut self, hashes: &[Pair], new: &mut Vec<bool>) {
        let newest = self.newest_mut();
        newest.filter.insert_batch_new(hashes, new);
        newest.count(new.iter().map(|new| u64::from(*new)).sum());
    }
}
