//! Why bytes are refused.

use crate::filter::Kind;
use crate::scheme::SchemeId;
use std::fmt;

/// Why these bytes are not a filter we can open.
///
/// Each variant carries what was found and what would have been accepted, so the message needs
/// no editing on its way to a terminal. Opening never panics, whatever the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FormatError {
    /// Another program's file. A caller may try the foreign codecs next.
    NotOurs {
        /// What the file starts with, zeros where it is shorter.
        magic: [u8; 8],
    },
    /// Written by a newer release; upgrading is the only remedy.
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
    /// A kind of filter that this build does not know.
    UnknownKind {
        /// Its number.
        id: u16,
    },
    /// Hashed in a way that this crate does not know: another program's filter in our file, or
    /// one of a newer release.
    UnknownScheme {
        /// The scheme's id.
        id: SchemeId,
    },
    /// Less is here than the file says: a cut-off copy or download, or only its first part.
    Truncated {
        /// Bytes needed to go on reading.
        need: u64,
        /// Bytes given.
        have: u64,
    },
    /// More is here than the file says.
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
    /// A field that no writer writes, though every checksum is right.
    BadField {
        /// The field.
        name: &'static str,
        /// Its value.
        got: String,
        /// What it may be.
        need: &'static str,
    },
    /// Another kind of filter than the one asked for.
    WrongKind {
        /// The kind in the file.
        got: Kind,
        /// The kind asked for.
        need: Kind,
    },
    /// The filter is keyed, and no secret was given.
    SecretNeeded,
    /// The filter is keyed with another secret. With this one it would miss every key.
    WrongSecret,
    /// A secret was given for a filter that is not keyed: whoever believes it to be safe against
    /// chosen keys should know.
    NotKeyed,
    /// The system has no memory for a copy.
    Memory {
        /// The memory needed.
        bytes: u64,
    },
}

impl FormatError {
    /// A field that no writer writes.
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
                write!(f, "not a valid file: {name} is {got}, it must be {need}; make it anew")
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
