//! Filters opened where they lie: mapped, not read. The only `unsafe` of this crate.
//!
//! A mapped filter answers at once whatever its size, and takes only the memory of the pages it
//! is asked about. Files are replaced whole by [`replace`](crate::replace), so a mapped one stays
//! as it was. What no reader can defend against is another program that cuts the file short while
//! it is mapped: the system then ends the process with SIGBUS. Copy the filter with [`load`] where
//! files are handled by strangers.

use crate::memory::{Budget, OverBudget};
use crate::replace::open_regular;
use mayhap::format::{Container, FormatError, Header, Section};
use mayhap::{AnyFilter, Secret};
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file in memory, shared by all who look at it.
#[derive(Clone)]
pub struct Mapped(Arc<memmap2::Mmap>);

impl Mapped {
    /// Map an open file as it is now.
    pub fn new(file: &File) -> io::Result<Mapped> {
        // SAFETY: the bytes must not change under us. Our own writers never touch a file that has
        // its name, they replace it. A stranger who writes into it changes answers, which are
        // bytes to us and nothing more: no reference is made to anything but `[u8]`, every length
        // is checked against the mapping, and every index against every length.
        unsafe { memmap2::Mmap::map(file) }.map(|map| Mapped(Arc::new(map)))
    }

    /// Let these pages go: they come back by themselves when they are asked for.
    #[cfg(unix)]
    fn let_go(&self, bytes: Range<usize>) {
        let advice = memmap2::UncheckedAdvice::DontNeed;
        // SAFETY: the mapping is of a file, shared and never written to, so pages let go are read
        // from the file again.
        _ = unsafe { self.0.unchecked_advise_range(advice, bytes.start, bytes.len()) };
    }

    #[cfg(not(unix))]
    fn let_go(&self, _: Range<usize>) {}
}

/// How many bytes are let go at once, while a file is checked from end to end.
const LET_GO: usize = 4 << 20;

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({} bytes)", self.0.len())
    }
}

/// How much of a file is checked before it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// Every byte.
    #[default]
    Everything,
    /// Header, lengths and footer: instant, whatever the size.
    Header,
}

/// A filter where it lies, and what its file says of it.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The filter.
    pub filter: AnyFilter<Section<Mapped>>,
    /// What the file says.
    pub header: Header,
}

/// Map a file of whatever format.
pub fn bytes(path: &Path) -> Result<Mapped, MapError> {
    let trouble = |error| MapError::Open { path: path.to_owned(), error };
    let file = open_regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => MapError::Directory { path: path.to_owned() },
        _ => trouble(error),
    })?;
    Mapped::new(&file).map_err(trouble)
}

/// Open a filter in place.
pub fn open(path: &Path, secret: Option<Secret>, check: Check) -> Result<Opened, MapError> {
    open_mapped(bytes(path)?, secret, check)
        .map_err(|error| MapError::Format { path: path.to_owned(), error })
}

/// Open a filter in a file that is mapped already.
pub fn open_mapped(
    mapped: Mapped,
    secret: Option<Secret>,
    check: Check,
) -> Result<Opened, FormatError> {
    let container = Container::open(mapped.clone())?;
    if check == Check::Everything {
        let mut gone = 0;
        container.verify_each(|checked| {
            if checked - gone >= LET_GO {
                mapped.let_go(gone..checked);
                gone = checked;
            }
        })?;
    }
    let header = container.header().clone();
    Ok(Opened { filter: AnyFilter::open(mapped, secret)?, header })
}

/// Copy a filter out of its file, to be written to. Every byte is checked first.
pub fn load(
    path: &Path,
    secret: Option<Secret>,
    budget: Budget,
) -> Result<(AnyFilter, Header), MapError> {
    load_mapped(&bytes(path)?, path, secret, budget)
}

/// Copy a filter out of a file that is mapped already.
pub fn load_mapped(
    mapped: &Mapped,
    path: &Path,
    secret: Option<Secret>,
    budget: Budget,
) -> Result<(AnyFilter, Header), MapError> {
    let format = |error| MapError::Format { path: path.to_owned(), error };
    let container = Container::open(mapped.clone()).map_err(format)?;
    let header = container.header().clone();
    let memory = |over| MapError::Memory { path: path.to_owned(), over };
    budget.check(header.body_bytes()).map_err(memory)?;
    let filter = AnyFilter::decode(mapped.as_ref(), secret).map_err(format)?;
    Ok((filter, header))
}

/// Why a filter cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The file cannot be opened or mapped.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A directory.
    #[error("{} is a directory, not a filter", path.display())]
    Directory {
        /// Which one.
        path: PathBuf,
    },
    /// It is no filter we can open.
    #[error("{}: {error}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        error: FormatError,
    },
    /// A copy would take more memory than allowed.
    #[error("{}: {over}", path.display())]
    Memory {
        /// Which file.
        path: PathBuf,
        /// How much more.
        over: OverBudget,
    },
}
