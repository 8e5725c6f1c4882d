//! Opening: one map of the file, one parse of its header, one verification.

use super::{Body, Filter, Info};
use crate::exact::ExactSet;
use crate::map::{self, MapError, Mapped};
use crate::replace::{LockError, ReplaceError};
use crate::secret_file::{SecretFileError, SecretSource};
use mayhap::format::{Container, FormatError, Header, Metadata};
use mayhap::{AnyFilter, Secret};
use mayhap_foreign::{Bytes, Detection, ForeignError, Format, Options, detect, wrap};
use std::path::{Path, PathBuf};

/// How to open a filter. The default is what its bytes say it is, every byte verified, a secret from
/// the key file beside it.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// How much of the file is verified first.
    pub verify: Verify,
    /// The format, where the bytes do not say.
    pub format: Option<Format>,
    /// What another program's file does not say.
    pub hints: Options,
    /// Where the secret of a keyed filter comes from.
    pub secret: SecretSource,
}

/// How much of a file is verified before it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Every byte.
    #[default]
    All,
    /// Header, lengths and footer: instant, whatever the size.
    Header,
}

/// How many bytes are released at once while a file is verified from end to end, so that memory
/// stays small whatever the size.
const RELEASE_BYTES: usize = 4 << 20;

/// A file of which it is known whose it is.
enum Parsed {
    Native(Container<Bytes>),
    Wrapped(Container<Bytes>),
    Foreign(Format),
}

/// A file on its way to become a filter.
struct File<'a> {
    path: &'a Path,
    bytes: Bytes,
    mapped: Option<Mapped>,
    options: &'a OpenOptions,
}

impl Filter {
    /// Open the filter in a file.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Filter, OpenError> {
        Filter::from_mapped(path, map::bytes(path)?, options)
    }

    /// Open the filter in a file that is mapped already.
    pub fn from_mapped(
        path: &Path,
        mapped: Mapped,
        options: &OpenOptions,
    ) -> Result<Filter, OpenError> {
        let bytes = Bytes::new(mapped.clone());
        File { path, bytes, mapped: Some(mapped), options }.open()
    }

    /// Open the filter in bytes that came from elsewhere; `name` stands for them in messages.
    pub fn from_bytes(
        name: &Path,
        bytes: Bytes,
        options: &OpenOptions,
    ) -> Result<Filter, OpenError> {
        File { path: name, bytes, mapped: None, options }.open()
    }

    /// Verify every byte of a Mayhap file, whoever has its secret.
    pub fn verify(path: &Path) -> Result<Header, OpenError> {
        let mapped = map::bytes(path)?;
        let bytes = Bytes::new(mapped.clone());
        let options = OpenOptions { format: Some(Format::Mayhap), ..OpenOptions::default() };
        let file = File { path, bytes, mapped: Some(mapped), options: &options };
        match file.parse()? {
            Parsed::Native(container) | Parsed::Wrapped(container) => {
                file.verify(&container)?;
                Ok(container.header().clone())
            }
            Parsed::Foreign(_) => Err(file.format_error(FormatError::Footer)),
        }
    }

    /// Describe the filter in a file. A keyed one without its secret is described as far as its
    /// header goes, and so is every one whose bytes are not to be verified; `measure` random keys are
    /// asked about where the rate is to be measured.
    pub fn describe(
        path: &Path,
        options: &OpenOptions,
        measure: Option<u64>,
    ) -> Result<Info, OpenError> {
        let mapped = map::bytes(path)?;
        let bytes = Bytes::new(mapped.clone());
        let file = File { path, bytes, mapped: Some(mapped), options };
        let parsed = file.parse()?;
        if let Parsed::Native(container) = &parsed {
            let sealed = container.header().is_keyed()
                && !options.secret.is_given()
                && options.secret.read(path).is_err()
                && measure.is_none();
            if sealed && options.verify == Verify::All {
                file.verify(container)?;
            }
            if sealed || options.verify == Verify::Header {
                let verified = options.verify == Verify::All;
                return Ok(Info::of_header(path, container.header(), verified));
            }
        }
        let filter = file.finish(parsed)?;
        let mut info = filter.info(crate::clock::now_ms());
        info.measured = measure.and_then(|keys| filter.measure(keys));
        filter.check_unchanged()?;
        Ok(info)
    }
}

impl File<'_> {
    fn format_error(&self, error: FormatError) -> OpenError {
        OpenError::Format { path: self.path.to_owned(), error }
    }

    fn foreign_error(&self, format: Format, error: ForeignError) -> OpenError {
        OpenError::Foreign { path: self.path.into(), format, error }
    }

    fn open(self) -> Result<Filter, OpenError> {
        let parsed = self.parse()?;
        self.finish(parsed)
    }

    /// Whose it is, and its header if it is a Mayhap file.
    fn parse(&self) -> Result<Parsed, OpenError> {
        let format = match self.options.format {
            Some(format) => format,
            // Its last byte could be anything, also what ends a LevelDB filter: the engine refuses it by its magic.
            None if ExactSet::is_start_of_file(self.bytes.as_ref()) => Format::Mayhap,
            None => match detect(self.bytes.as_ref()) {
                Detection::Certain(format) => format,
                // The engine says best what it is not.
                Detection::OneOf(candidates) if candidates.is_empty() => Format::Mayhap,
                Detection::OneOf(candidates) => {
                    return Err(OpenError::Ambiguous { path: self.path.to_owned(), candidates });
                }
            },
        };
        if format != Format::Mayhap {
            return Ok(Parsed::Foreign(format));
        }
        let container =
            Container::open(self.bytes.clone()).map_err(|error| self.format_error(error))?;
        Ok(match wrap::is_foreign(container.header()) {
            true => Parsed::Wrapped(container),
            false => Parsed::Native(container),
        })
    }

    /// Verify every byte, and release the pages as they are read.
    fn verify(&self, container: &Container<Bytes>) -> Result<(), OpenError> {
        let mut released = 0;
        let release = |checked: usize| {
            if let Some(mapped) =
                self.mapped.as_ref().filter(|_| checked - released >= RELEASE_BYTES)
            {
                mapped.release_pages(released..checked);
                released = checked;
            }
        };
        container
            .verify_each(release)
            .and_then(|()| container.check_parameters())
            .map_err(|error| self.format_error(error))
    }

    /// The secret of a keyed filter.
    fn secret(&self, header: &Header) -> Result<Option<Secret>, OpenError> {
        let secret = &self.options.secret;
        if !header.is_keyed() && !secret.is_given() {
            return Ok(None);
        }
        let path = self.path.to_owned();
        secret.read(self.path).map(Some).map_err(|error| OpenError::Secret { path, error })
    }

    fn finish(self, parsed: Parsed) -> Result<Filter, OpenError> {
        let verify = self.options.verify == Verify::All;
        let mut filter = match parsed {
            Parsed::Foreign(format) => {
                let opened = mayhap_foreign::open(format, &self.bytes, &self.options.hints)
                    .map_err(|error| self.foreign_error(format, error))?;
                let key_type = opened.key_type();
                let filter = Filter::in_memory(Body::Foreign(opened), format, Metadata::new());
                Filter { key_type, verified: false, ..filter }
            }
            Parsed::Wrapped(container) => {
                if verify {
                    self.verify(&container)?;
                }
                let wrapped = wrap::from_container(&container)
                    .map_err(|error| self.foreign_error(Format::Mayhap, error))?;
                let (format, key_type) = (wrapped.format, Some(wrapped.key_type));
                let metadata = container.header().metadata.clone();
                let filter = Filter::in_memory(Body::Foreign(wrapped.filter), format, metadata);
                let written_as = Format::Mayhap;
                Filter { written_as, key_type, verified: verify, ..filter }
            }
            Parsed::Native(container) => {
                let secret = self.secret(container.header())?;
                if verify {
                    self.verify(&container)?;
                }
                let opened = AnyFilter::from_container(&container, secret)
                    .map_err(|error| self.format_error(error))?;
                let metadata = container.header().metadata.clone();
                let filter = Filter::in_memory(Body::Mapped(opened), Format::Mayhap, metadata);
                Filter { container: Some(container), secret, verified: verify, ..filter }
            }
        };
        filter.path = self.path.to_owned();
        filter.mapped = self.mapped;
        Ok(filter)
    }
}

/// Why a filter cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file cannot be mapped, or was written to in place.
    #[error("{0}")]
    Map(#[from] MapError),
    /// It is no Mayhap file, or a damaged one.
    #[error("{}: {error}", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        error: FormatError,
    },
    /// It is no file of this format, or a damaged one.
    #[error("{}{}: {error}", path.display(), As(*format))]
    Foreign {
        /// Which file.
        path: Box<Path>,
        /// The format it was read as.
        format: Format,
        /// What is wrong with it.
        #[source]
        error: ForeignError,
    },
    /// Nothing in the bytes tells which format it is, if it is a filter at all.
    #[error("{}: not a Mayhap file, and its bytes do not say whose", path.display())]
    Ambiguous {
        /// Which file.
        path: PathBuf,
        /// What it could be.
        candidates: Vec<Format>,
    },
    /// A keyed filter, and no secret.
    #[error("{} is keyed, and its {error}", path.display())]
    Secret {
        /// Which file.
        path: PathBuf,
        /// Why there is none.
        #[source]
        error: SecretFileError,
    },
    /// It cannot be locked.
    #[error("{0}")]
    Lock(#[from] LockError),
    /// It could not be replaced after a change.
    #[error("{0}")]
    Replace(#[from] ReplaceError),
}

/// ` as guava`, where another program's file is meant.
struct As(Format);

impl std::fmt::Display for As {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Format::Mayhap => Ok(()),
            format => write!(f, " as {format}"),
        }
    }
}
