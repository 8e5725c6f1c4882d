//! Why keys cannot be read.

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
        /// What the system said.
        error: io::Error,
    },
    /// A directory, where a file of keys is wanted.
    #[error("{} is a directory: give the files in it", path.display())]
    Directory {
        /// Which input.
        path: PathBuf,
    },
    /// One of our own filters, where the keys themselves are wanted.
    #[error("{} is a filter, not a list of keys: keys cannot be read back from it", path.display())]
    Filter {
        /// Which input.
        path: PathBuf,
    },
    /// A set of exact hashes, where the keys themselves are wanted.
    #[error("{} is an exact state, not a list of keys: keys cannot be read back from it", path.display())]
    ExactState {
        /// Which input.
        path: PathBuf,
    },
    /// A file that is no list of keys, by its first bytes.
    #[error("{} is {what}{}, not a list of keys", path.display(), Inside(*inside))]
    Binary {
        /// Which input.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// How the file is compressed in which it is.
        inside: Option<Codec>,
    },
    /// Compressed with a window that takes more memory than may be used.
    #[error("{} needs a zstd window of more than {allowed} bytes to decompress", path.display())]
    Window {
        /// Which input.
        path: PathBuf,
        /// The largest window that may be used.
        allowed: u64,
    },
    /// A record without a key, where there must be none.
    #[error("{} has no key in line {line}: it is without {what}", path.display())]
    NoKey {
        /// Which input.
        path: PathBuf,
        /// The number of the record, from 1.
        line: u64,
        /// What the key is made of.
        what: &'static str,
    },
    /// Reading broke off.
    #[error("cannot read {} past byte {at}: {error}", path.display())]
    Read {
        /// Which input.
        path: PathBuf,
        /// How many bytes were read before.
        at: u64,
        /// What the system said.
        error: io::Error,
    },
    /// Compressed, but damaged or cut off.
    #[error("{} is damaged {codec}: {error}", path.display())]
    Damaged {
        /// Which input.
        path: PathBuf,
        /// How it is compressed.
        codec: Codec,
        /// What the decompressor said.
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
    /// A table that ends within quotes: all behind the opening one would be one value.
    #[error("{} has a quote in line {line} that is never closed", path.display())]
    OpenQuote {
        /// Which input.
        path: PathBuf,
        /// The line in which the quote is opened, from 1. Line ends within quotes count too.
        line: u64,
    },
    /// Somebody asked for it to stop.
    #[error("interrupted")]
    Cancelled,
    /// Memory for a record of this size cannot be had.
    #[error("{}: no memory for a record of more than {bytes} bytes", path.display())]
    Memory {
        /// Which input.
        path: PathBuf,
        /// The bytes that were asked for.
        bytes: usize,
    },
    /// A thread that worked on keys is gone: a bug of ours.
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
    /// Whether somebody asked for it to stop.
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
