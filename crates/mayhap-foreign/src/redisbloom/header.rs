//! The first chunk of a dump: what the chain is and how its links are laid out.

use super::{LinkInfo, options};
use crate::{ForeignError, Reader};

/// Bytes before the first link.
const FRONT_BYTES: usize = 20;

/// How wide a link's `entries` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// 53 bytes a link, as RedisBloom 2.4 and later read and write.
    #[default]
    Entries64,
    /// 49 bytes a link: RedisBloom 2.2 and earlier. Later ones refuse it.
    Entries32,
}

impl Layout {
    /// Bytes a link takes in the header.
    pub fn link_bytes(self) -> usize {
        match self {
            Layout::Entries64 => 53,
            Layout::Entries32 => 49,
        }
    }
}

/// What a chain says about itself, checked as strictly as RedisBloom does it and a little more.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// See [`options`].
    pub options: u32,
    /// By how much each link is larger than the one before.
    pub growth: u32,
    /// How it was written.
    pub layout: Layout,
    /// The links, oldest first.
    pub links: Vec<LinkInfo>,
}

impl Header {
    /// The header chunk: the bytes that go with iterator 1, and no more.
    pub fn decode(chunk: &[u8]) -> Result<Header, ForeignError> {
        let count = Header::count(chunk)?;
        for layout in [Layout::Entries64, Layout::Entries32] {
            if Some(chunk.len()) == Header::bytes_of(count, layout) {
                return Header::decode_as(layout, chunk);
            }
        }
        let got = format!("{} for {count} links", chunk.len());
        Err(ForeignError::field("bytes of the header", got, "20 and 53 (or 49) a link"))
    }

    /// The header of chunks written one after another, and the bytes it takes.
    pub(super) fn decode_front(bytes: &[u8]) -> Result<(Header, usize), ForeignError> {
        let count = Header::count(bytes)?;
        let whole = |layout| {
            let end = Header::bytes_of(count, layout).unwrap_or(usize::MAX);
            let Some(chunk) = bytes.get(..end) else {
                let (need, have) = (end as u64, bytes.len() as u64);
                return Err(ForeignError::Truncated { field: "header", need, have });
            };
            let header = Header::decode_as(layout, chunk)?;
            let (need, have) = (header.data_bytes()?, (bytes.len() - end) as u64);
            match have.checked_sub(need) {
                Some(0) => Ok((header, end)),
                Some(bytes) => Err(ForeignError::Trailing { bytes }),
                None => Err(ForeignError::Truncated { field: "bits", need, have }),
            }
        };
        // Nothing says which it is, but the lengths add up for one of them only.
        whole(Layout::Entries64).or_else(|error| whole(Layout::Entries32).map_err(|_| error))
    }

    fn count(bytes: &[u8]) -> Result<u32, ForeignError> {
        let mut fields = Reader::new(bytes);
        fields.u64_le("items")?;
        let count = fields.u32_le("number of links")?;
        if count == 0 {
            return Err(ForeignError::field("number of links", count, "1 or more"));
        }
        Ok(count)
    }

    fn bytes_of(count: u32, layout: Layout) -> Option<usize> {
        (count as usize).checked_mul(layout.link_bytes())?.checked_add(FRONT_BYTES)
    }

    /// `chunk` is as long as its number of links says.
    fn decode_as(layout: Layout, chunk: &[u8]) -> Result<Header, ForeignError> {
        let mut fields = Reader::new(chunk);
        let items = fields.u64_le("items")?;
        let count = fields.u32_le("number of links")?;
        let (options, growth) = (fields.u32_le("options")?, fields.u32_le("growth")?);
        let mut links = Vec::with_capacity(count as usize); // paid for by the bytes of the chunk
        for _ in 0..count {
            links.push(LinkInfo {
                bytes: fields.u64_le("bytes of a link")?,
                bits: fields.u64_le("bits of a link")?,
                items: fields.u64_le("items of a link")?,
                error: fields.f64_le("error rate")?,
                bits_per_entry: fields.f64_le("bits an entry")?,
                hashes: fields.u32_le("hashes")?,
                entries: match layout {
                    Layout::Entries64 => fields.u64_le("entries")?,
                    Layout::Entries32 => fields.u32_le("entries")?.into(),
                },
                n2: fields.u8("n2")?,
            });
        }
        fields.end()?;
        let header = Header { options, growth, layout, links };
        header.check(items)?;
        Ok(header)
    }

    /// Whether the parts make a whole; the one check for every way a chain comes in.
    pub(super) fn check(&self, items: u64) -> Result<(), ForeignError> {
        if self.options & !options::KNOWN != 0 {
            return Err(ForeignError::field("options", self.options, "bits 1, 2, 4 and 8 only"));
        }
        if self.links.is_empty() {
            return Err(ForeignError::field("number of links", 0, "1 or more"));
        }
        for link in &self.links {
            link.check()?;
        }
        let sum = self.links.iter().try_fold(0u64, |sum, link| sum.checked_add(link.items));
        if sum != Some(items) {
            return Err(ForeignError::field("items", items, "the sum of the links' items"));
        }
        self.data_bytes().map(drop)
    }

    /// Bytes of all links together.
    pub fn data_bytes(&self) -> Result<u64, ForeignError> {
        let sum = self.links.iter().try_fold(0u64, |sum, link| sum.checked_add(link.bytes));
        sum.ok_or_else(|| ForeignError::field("bytes of all links", "more", "below 2^64"))
    }

    /// The header chunk. In the old layout entries end at 2³² − 1.
    pub fn encode(&self) -> Vec<u8> {
        let items = self.links.iter().fold(0u64, |sum, link| sum.saturating_add(link.items));
        let mut chunk = Vec::with_capacity(FRONT_BYTES + 53 * self.links.len());
        chunk.extend(items.to_le_bytes());
        chunk.extend((self.links.len() as u32).to_le_bytes());
        chunk.extend(self.options.to_le_bytes());
        chunk.extend(self.growth.to_le_bytes());
        for link in &self.links {
            chunk.extend(link.bytes.to_le_bytes());
            chunk.extend(link.bits.to_le_bytes());
            chunk.extend(link.items.to_le_bytes());
            chunk.extend(link.error.to_le_bytes());
            chunk.extend(link.bits_per_entry.to_le_bytes());
            chunk.extend(link.hashes.to_le_bytes());
            match self.layout {
                Layout::Entries64 => chunk.extend(link.entries.to_le_bytes()),
                Layout::Entries32 => {
                    let entries = u32::try_from(link.entries).unwrap_or(u32::MAX);
                    chunk.extend(entries.to_le_bytes());
                }
            }
            chunk.push(link.n2);
        }
        chunk
    }
}
