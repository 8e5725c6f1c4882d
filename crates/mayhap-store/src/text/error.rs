//! Errors of reading keys.

use super::Codec;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why keys cannot be read. Each variant names the input; `-` is standard input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// It cannot be opened.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// Which input.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A directory instead of a file of keys.
    #[error("{} is a directory: give the files in it", path.display())]
    Directory {
        /// Which input.
        path: PathBuf,
    },
    /// A Mayhap filter instead of the keys themselves.
    #[error("{} is a filter, not a list of keys: keys cannot be read back from it", path.display())]
    Filter {
        /// Which input.
        path: PathBuf,
    },
    /// A set of exact hashes instead of the keys themselves.
    #[error("{} is an exact state, not a list of keys: keys cannot be read back from it", path.display())]
    ExactState {
        /// Which input.
        path: PathBuf,
    },
    /// Not a list of keys, by its first bytes.
    #[error("{} is {what}{}, not a list of keys", path.display(), Inside(*inside))]
    Binary {
        /// Which input.
        path: PathBuf,
        /// Its type.
        what: &'static str,
        /// The compression of the file it is in.
        inside: Option<Codec>,
    },
    /// Compressed with a window that takes more memory than allowed.
    #[error("{} needs a zstd window of more than {allowed} bytes to decompress", path.display())]
    Window {
        /// Which input.
        path: PathBuf,
        /// The largest window allowed.
        allowed: u64,
    },
    /// A record without a key, where that is an error.
    #[error("{} has no key in line {line}: it is without {what}", path.display())]
    NoKey {
        /// Which input.
        path: PathBuf,
        /// The number of the record, from 1.
        line: u64,
        /// What the key would be.
        what: &'static str,
    },
    /// A read failed.
    #[error("cannot read {} past byte {at}: {error}", path.display())]
    Read {
        /// Which input.
        path: PathBuf,
        /// The bytes read before.
        at: u64,
        /// The system's error.
        error: io::Error,
    },
    /// Compressed, but damaged or truncated.
    #[error("{} is damaged {codec}: {error}", path.display())]
    Damaged {
        /// Which input.
        path: PathBuf,
        /// The compression.
        codec: Codec,
        /// The decompressor's error.
        error: io::Error,
    },
    /// A table without the column.
    #[error("{} has no column {column:?}: there are {}", path.display(), have.join(", "))]
    NoColumn {
        /// Which input.
        path: PathBuf,
        /// The column asked for.
        column: String,
        /// Those in its first row.
        have: Vec<String>,
    },
    /// A table that ends within quotes: everything after the opening quote would be one value.
    #[error("{} has a quote in line {line} that is never closed", path.display())]
    OpenQuote {
        /// Which input.
        path: PathBuf,
        /// The line of the opening quote, from 1. Line ends within quotes count too.
        line: u64,
    },
    /// Cancelled.
    #[error("interrupted")]
    Cancelled,
    /// Not enough memory for a record of this size.
    #[error("{}: no memory for a record of more than {bytes} bytes", path.display())]
    Memory {
        /// Which input.
        path: PathBuf,
        /// The bytes needed.
        bytes: usize,
    },
    /// A worker thread has panicked: a bug.
    #[error("a worker thread ended too soon")]
    Worker,
}

struct Inside(Option<Codec>);

impl fmt::Display for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |codec| write!(f, " inside {codec}"))
    }
}

impl KeysError {
    /// Whether reading was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, KeysError::Cancelled)
    }

    /// The input it is about.
    pub fn path(&self) -> Option<&Path> {
        match self {
            KeysError::Open { path, .. }
            | KeysError::Directory { path }
            | KeysError::Filter { path }
            | KeysError::ExactState { path }
            | KeysError::Binary { path, .. }
            | KeysError::Window { path, .. }
            | KeysError::NoKey { path, .. }
            | KeysError::Read { path, .. }
            | KeysError::Damaged { path, .. }
            | KeysError::NoColumn { path, .. }
            | KeysError::OpenQuote { path, .. }
            | KeysError::Memory { path, .. } => Some(path),
            KeysError::Cancelled | KeysError::Worker => None,
        }
    }
}
