#![doc = include_str!("../../docs/FORMAT.md")]
// The file above is a link to the one text, `docs/FORMAT.md` of the repository, so that packing
// the crate takes it along.

mod codec;
mod container;
pub mod dump;
mod error;
pub(crate) mod fields;
mod header;
mod metadata;
pub(crate) mod parts;
mod reader;
#[cfg(feature = "serde")]
mod serde;
mod writer;

#[cfg(test)]
mod tests;

pub use crate::filter::{layout_of_shards, shards_of};
pub(crate) use codec::Codec;
pub use codec::verify;
pub use container::{ArcBytes, Container, Opened, Section};
pub use error::FormatError;
pub(crate) use header::MAX_KEYS;
pub use header::{ArrayHeader, Header, MAX_HEADER_BYTES, read_header};
pub use metadata::{Metadata, MetadataError};
pub use reader::ReadError;
pub use writer::{Array, FileLayout, file_bytes, write, write_range};
pub(crate) use writer::{file_bytes_of, write_from};

/// A high bit, a name, and every line end there is: what mangles text mangles this first.
const MAGIC: [u8; 8] = *b"\x89MAY\r\n\x1a\n";
const END_MAGIC: [u8; 4] = *b"YAM\x89";
/// The newest version there is.
const NEWEST: u16 = GROWN_WINDOWS;
/// The version of windows in which a generation has several layers. All else is written as version
/// 1, so that older readers open it.
pub(crate) const GROWN_WINDOWS: u16 = 2;
/// Arrays start at multiples of this: pages of a mapped file.
const ALIGN: u64 = 4096;
/// Bytes under one checksum.
const BLOCK: u64 = 64 << 10;
/// Bytes of the footer.
const FOOTER: usize = 24;
