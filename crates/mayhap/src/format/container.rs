//! A file taken apart: its header, and its arrays where they lie.

use super::error::FormatError;
use super::header::{Header, read_header};
use super::{BLOCK, END_MAGIC, FOOTER};
use std::fmt;
use std::ops::Range;

/// The file around a filter, whatever the filter: header, arrays, checksums.
///
/// Most callers want [`AnyFilter`](crate::AnyFilter) or a kind's own `open`. This is the door
/// for codecs that keep other programs' filters in our file under scheme ids of their own: they
/// read the header and the arrays here, and make their [`Classic`](crate::Classic) with
/// `from_parts`.
///
/// ```
/// use mayhap::format::{Container, Notes};
/// use mayhap::{Classic, Spec};
/// let filter = Classic::new(Spec::new(1_000, 0.01)?)?;
/// let file = filter.encode(&Notes::new());
/// let container = Container::open(&file).unwrap();
/// container.verify().unwrap();
/// assert_eq!(container.bytes(0), Some(filter.as_bytes()));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Container<B> {
    header: Header,
    store: B,
}

impl<B: AsRef<[u8]>> Container<B> {
    /// Check header, lengths and footer. The arrays are not looked at, so that this takes no
    /// longer for gigabytes in a mapped file than for a few bytes; [`verify`](Self::verify) does.
    pub fn open(store: B) -> Result<Container<B>, FormatError> {
        let bytes = store.as_ref();
        let header = read_header(bytes)?;
        let (need, have) = (header.file_bytes, bytes.len() as u64);
        if have < need {
            return Err(FormatError::Truncated { need, have });
        }
        if have > need {
            return Err(FormatError::Trailing { need, have });
        }
        let footer = bytes.last_chunk::<FOOTER>().ok_or(FormatError::Footer)?;
        let header_crc = header_crc(bytes, &header).ok_or(FormatError::Footer)?;
        let sealed = footer[..8] == need.to_le_bytes()
            && footer[8..12] == *header_crc
            && footer[16..20] == crc32c::crc32c(&footer[..16]).to_le_bytes()
            && footer[20..] == END_MAGIC;
        if !sealed {
            return Err(FormatError::Footer);
        }
        Ok(Container { header, store })
    }

    /// Check every byte: all that [`open`](Self::open) left out.
    pub fn verify(&self) -> Result<(), FormatError> {
        self.verify_each(|_| ())
    }

    /// As [`verify`](Self::verify), telling again and again how many bytes from the start have
    /// been read: for a progress bar, or to let go of pages that are not needed any more.
    pub fn verify_each(&self, mut checked: impl FnMut(usize)) -> Result<(), FormatError> {
        let bytes = self.store.as_ref();
        // `open` has found the file to be as long as all of its parts.
        let (covered, rest) =
            bytes.split_at_checked(self.header.table_at() as usize).ok_or(FormatError::Footer)?;
        let (table, footer) = rest.split_last_chunk::<FOOTER>().ok_or(FormatError::Footer)?;
        if footer[12..16] != crc32c::crc32c(table).to_le_bytes() {
            return Err(FormatError::TableChecksum);
        }
        let (sums, _) = table.as_chunks::<4>();
        let blocks = covered.chunks(BLOCK as usize);
        for (block, (bytes, sum)) in blocks.zip(sums).enumerate() {
            if crc32c::crc32c(bytes).to_le_bytes() != *sum {
                return Err(FormatError::BodyChecksum { block: block as u64 });
            }
            checked(block * BLOCK as usize + bytes.len());
        }
        let mut end = self.header.header_bytes as usize;
        for leaf in 0..self.header.leaves.len() {
            let range = self.range(leaf).ok_or(FormatError::Footer)?;
            let padding = covered.get(end..range.start).ok_or(FormatError::Footer)?;
            if padding.iter().any(|byte| *byte != 0) {
                return Err(FormatError::field("padding", "not zero", "zero"));
            }
            end = range.end;
        }
        Ok(())
    }

    /// What the file says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The bytes of an array.
    pub fn bytes(&self, leaf: usize) -> Option<&[u8]> {
        self.store.as_ref().get(self.range(leaf)?)
    }

    /// An array that keeps the store it lies in.
    pub fn section(&self, leaf: usize) -> Option<Section<B>>
    where
        B: Clone,
    {
        let range = self.range(leaf)?;
        self.store.as_ref().get(range.clone())?;
        Some(Section { store: self.store.clone(), range })
    }

    fn range(&self, leaf: usize) -> Option<Range<usize>> {
        let leaf = self.header.leaves.get(leaf)?;
        let start = usize::try_from(leaf.at).ok()?;
        Some(start..start.checked_add(usize::try_from(leaf.bytes).ok()?)?)
    }
}

impl<'a> Container<&'a [u8]> {
    /// The bytes of an array, for as long as the file's.
    pub(super) fn slice(&self, leaf: usize) -> Option<&'a [u8]> {
        self.store.get(self.range(leaf)?)
    }
}

/// The header's checksum: its last four bytes.
fn header_crc<'a>(bytes: &'a [u8], header: &Header) -> Option<&'a [u8; 4]> {
    bytes.get(..header.header_bytes as usize)?.last_chunk()
}

/// A stretch of bytes inside a store: a slice, a shared vector, a mapped file.
///
/// The store must give the same bytes whenever asked, as these all do.
#[derive(Clone)]
pub struct Section<B> {
    store: B,
    range: Range<usize>,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Section<B> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.store.as_ref()[self.range.clone()]
    }
}

impl<B> fmt::Debug for Section<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Section({:?})", self.range)
    }
}
