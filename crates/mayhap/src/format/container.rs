//! A parsed file: its header, and its arrays in place.

use super::error::FormatError;
use super::header::{Header, read_header};
use super::{BLOCK, END_MAGIC, FOOTER};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The file around a filter, whatever the filter: header, arrays, checksums.
///
/// Most callers want [`AnyFilter`](crate::AnyFilter) or a kind's own `open`. This is for codecs
/// that store other programs' filters in a Mayhap file under scheme ids of their own: they read the
/// header and the arrays here, and make their [`Classic`](crate::Classic) with `from_parts`.
///
/// ```
/// use mayhap::format::{Container, Metadata};
/// use mayhap::{Classic, Spec};
/// let filter = Classic::new(Spec::new(1_000, 0.01)?)?;
/// let file = filter.encode(&Metadata::new());
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
    /// Check header, lengths and footer. The arrays are not read, so that this takes no longer for
    /// gigabytes in a mapped file than for a few bytes; [`verify`](Self::verify) reads them.
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
        seal_of(footer, &header, bytes)?;
        Ok(Container { header, store })
    }

    /// Verify every byte: all that [`open`](Self::open) left out.
    pub fn verify(&self) -> Result<(), FormatError> {
        self.verify_each(|_| ())
    }

    /// As [`verify`](Self::verify), calling back with the number of bytes verified so far: for a
    /// progress bar, or to release pages that are no longer needed.
    pub fn verify_each(&self, mut checked: impl FnMut(usize)) -> Result<(), FormatError> {
        let bytes = self.store.as_ref();
        // `open` has checked the length of the file.
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
        for array in 0..self.header.arrays.len() {
            let range = self.range(array).ok_or(FormatError::Footer)?;
            let padding = covered.get(end..range.start).ok_or(FormatError::Footer)?;
            if padding.iter().any(|byte| *byte != 0) {
                return Err(FormatError::field("padding", "not zero", "zero"));
            }
            end = range.end;
        }
        Ok(())
    }

    /// The bytes of the whole file.
    pub fn store(&self) -> &B {
        &self.store
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The bytes of an array.
    pub fn bytes(&self, array: usize) -> Option<&[u8]> {
        self.store.as_ref().get(self.range(array)?)
    }

    /// An array that shares ownership of the store.
    pub fn section(&self, array: usize) -> Option<Section<B>>
    where
        B: Clone,
    {
        let range = self.range(array)?;
        self.store.as_ref().get(range.clone())?;
        Some(Section { store: self.store.clone(), range })
    }

    fn range(&self, array: usize) -> Option<Range<usize>> {
        let array = self.header.arrays.get(array)?;
        let start = usize::try_from(array.at).ok()?;
        Some(start..start.checked_add(usize::try_from(array.bytes).ok()?)?)
    }
}

/// Fails unless the footer ends the file that starts with these bytes.
pub(super) fn seal_of(
    footer: &[u8; FOOTER],
    header: &Header,
    start: &[u8],
) -> Result<(), FormatError> {
    let header_crc = header_crc(start, header).ok_or(FormatError::Footer)?;
    let sealed = footer[..8] == header.file_bytes.to_le_bytes()
        && footer[8..12] == *header_crc
        && footer[16..20] == crc32c::crc32c(&footer[..16]).to_le_bytes()
        && footer[20..] == END_MAGIC;
    if sealed { Ok(()) } else { Err(FormatError::Footer) }
}

/// The header's checksum: its last four bytes.
fn header_crc<'a>(bytes: &'a [u8], header: &Header) -> Option<&'a [u8; 4]> {
    bytes.get(..header.header_bytes as usize)?.last_chunk()
}

/// A range of bytes inside a store: a slice, a shared vector, a mapped file.
///
/// The store must always return the same bytes, as these all do.
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

/// Bytes that several own: whatever [`Arc`] holds, a mapped file for example, as what filters are
/// opened over. (An `Arc<Mmap>` by itself is no bytes to the compiler, only a way to a `Mmap`.)
///
/// ```
/// use mayhap::format::{ArcBytes, Metadata, Opened};
/// use mayhap::{AnyFilter, Blocked};
/// let mut seen = Blocked::with_rate(1_000, 0.01)?;
/// seen.insert("ada");
/// let file = seen.encode(&Metadata::new()); // or a `Mmap` of it
///
/// let filter: Opened<ArcBytes<Vec<u8>>> = AnyFilter::open(ArcBytes::new(file), None)?;
/// let other = filter.clone(); // of the handle, not of the bits
/// std::thread::spawn(move || assert!(other.contains("ada"))).join().unwrap();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ArcBytes<T: ?Sized>(Arc<T>);

/// A filter of any kind over the bytes of a file, in place: over a mapped file it is
/// `Opened<ArcBytes<Mmap>>`, over an embedded one `Opened<&'static [u8]>`.
pub type Opened<B> = crate::AnyFilter<Section<B>>;

impl<T> ArcBytes<T> {
    /// Bytes to be shared.
    pub fn new(bytes: T) -> ArcBytes<T> {
        ArcBytes(Arc::new(bytes))
    }
}

impl<T: ?Sized> From<Arc<T>> for ArcBytes<T> {
    fn from(bytes: Arc<T>) -> ArcBytes<T> {
        ArcBytes(bytes)
    }
}

impl<T: ?Sized> Clone for ArcBytes<T> {
    fn clone(&self) -> ArcBytes<T> {
        ArcBytes(Arc::clone(&self.0))
    }
}

impl<T: AsRef<[u8]> + ?Sized> AsRef<[u8]> for ArcBytes<T> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl<T: AsRef<[u8]> + ?Sized> fmt::Debug for ArcBytes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArcBytes({} bytes)", self.as_ref().len())
    }
}
