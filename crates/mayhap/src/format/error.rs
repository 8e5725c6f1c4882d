//! Why bytes are rejected.

use crate::filter::Kind;
use crate::scheme::SchemeId;
use std::fmt;

/// Why these bytes cannot be opened as a filter.
///
/// Each variant carries what was found and what is allowed, so the message can be shown as it is.
/// Opening never panics, whatever the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// Not a Mayhap file. A caller may try the foreign codecs next.
    NotOurs {
        /// The first bytes of the file, padded with zeros.
        magic: [u8; 8],
    },
    /// Written by a newer release; only upgrading helps.
    TooNew {
        /// The version of the file.
        version: u16,
        /// The newest version this release reads.
        newest: u16,
    },
    /// Written by a newer release, with a feature this one does not know.
    UnknownFlags {
        /// The flags of the file.
        got: u32,
    },
    /// A kind of filter that this build does not support.
    UnknownKind {
        /// Its number.
        id: u16,
    },
    /// An unknown scheme: another program's filter in a Mayhap file, or one of a newer release.
    UnknownScheme {
        /// The scheme's id.
        id: SchemeId,
    },
    /// Truncated: a partial copy or download.
    Truncated {
        /// Bytes needed to continue.
        need: u64,
        /// Bytes given.
        have: u64,
    },
    /// Longer than the file says.
    Trailing {
        /// Bytes of the file.
        need: u64,
        /// Bytes given.
        have: u64,
    },
    /// The header is damaged.
    HeaderChecksum,
    /// A block of 64 KiB is damaged.
    BodyChecksum {
        /// Its number, from 0 at the start of the file.
        block: u64,
    },
    /// The table of checksums is damaged.
    TableChecksum,
    /// The last bytes are damaged, or belong to another file.
    Footer,
    /// An invalid field, though every checksum is right.
    BadField {
        /// The field.
        name: &'static str,
        /// Its value.
        got: String,
        /// What it may be.
        need: &'static str,
    },
    /// Another kind of filter than expected.
    WrongKind {
        /// The kind in the file.
        got: Kind,
        /// The kind expected.
        need: Kind,
    },
    /// The filter is keyed, and no secret was given.
    SecretNeeded,
    /// The filter is keyed with another secret. With this one every lookup would miss.
    WrongSecret,
    /// A secret was given for a filter that is not keyed: its owner may wrongly believe that it is
    /// safe against chosen keys.
    NotKeyed,
    /// The allocation of a copy failed.
    Memory {
        /// The memory needed.
        bytes: u64,
    },
}

impl FormatError {
    /// An invalid field.
    pub(crate) fn field(
        name: &'static str,
        got: impl fmt::Display,
        need: &'static str,
    ) -> FormatError {
        FormatError::BadField { name, got: got.to_string(), need }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::NotOurs { magic } => {
                write!(f, "not a mayhap file: it starts with \"{}\"", magic.escape_ascii())
            }
            FormatError::TooNew { version, newest } => write!(
                f,
                "written by a newer release: version {version}, this one reads up to {newest}; upgrade to open it"
            ),
            FormatError::UnknownFlags { got } => {
                write!(f, "written by a newer release: flags {got:#x}; upgrade to open it")
            }
            FormatError::UnknownKind { id } => write!(
                f,
                "kind {id} of filter is not part of this build: upgrade, or build with all features"
            ),
            FormatError::UnknownScheme { id } => write!(
                f,
                "hashed by scheme {}, which the engine does not know: open it with the foreign codecs, or upgrade",
                id.0
            ),
            FormatError::Truncated { need, have } => {
                write!(f, "cut off: {have} of {need} bytes; copy it again")
            }
            FormatError::Trailing { need, have } => {
                write!(
                    f,
                    "{} bytes too long: {have} of {need}; copy it again",
                    have.saturating_sub(*need)
                )
            }
            FormatError::HeaderChecksum => {
                write!(f, "damaged: the header does not match its checksum; restore the file")
            }
            FormatError::BodyChecksum { block } => write!(
                f,
                "damaged: block {block} of 64 KiB does not match its checksum; restore the file"
            ),
            FormatError::TableChecksum => {
                write!(
                    f,
                    "damaged: the table of checksums does not match its own; restore the file"
                )
            }
            FormatError::Footer => {
                write!(f, "damaged: the footer does not end this file; restore it")
            }
            FormatError::BadField { name, got, need } => {
                write!(f, "not a valid file: {name} is {got}, it must be {need}; build it again")
            }
            FormatError::WrongKind { got, need } => {
                write!(f, "a {got} filter, not a {need} one: open it as what it is, or as any kind")
            }
            FormatError::SecretNeeded => {
                write!(f, "the filter is keyed: give the secret it was made with")
            }
            FormatError::WrongSecret => {
                write!(f, "the filter is keyed with another secret: give the one it was made with")
            }
            FormatError::NotKeyed => {
                write!(f, "the filter is not keyed: open it without a secret")
            }
            FormatError::Memory { bytes } => {
                write!(
                    f,
                    "{bytes} bytes of memory: the system cannot give so much; map the file instead"
                )
            }
        }
    }
}

impl std::error::Error for FormatError {}
