//! Other programs' filters: which format a file has, and how it is opened, built and changed.

mod args;
mod build;
mod change;
mod making;
mod merge;
mod show;
#[cfg(feature = "parquet-values")]
mod values;

pub use args::{FormatArg, FormatArgs, formats};
pub use build::{Wish, build};
pub use change::add;
pub use making::{MakingArgs, SeedArg, VariantArg, seed};
pub use merge::merge;
pub use show::{done as show_done, json, text};
#[cfg(feature = "parquet-values")]
pub use values::compare_with_values;

use crate::keys::KeyArgs;
use anyhow::Context;
use mayhap::format::{Header, Notes};
use mayhap_foreign::{Bytes, Foreign, ForeignError, Format, KeyType, wrap};
use mayhap_store::keys::{KeyBytes, Rules};
use mayhap_store::map::{Check, MapError, Mapped};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Another program's filter, in a file of its own or kept in one of ours.
#[derive(Debug)]
pub struct ForeignFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is.
    pub format: Format,
    /// What its keys are, where that is known.
    pub key_type: Option<KeyType>,
    /// What our file around it says, if there is one.
    pub header: Option<Header>,
    /// The filter itself, where it lies.
    pub filter: Box<dyn Foreign>,
    /// Its file.
    pub mapped: Mapped,
}

impl ForeignFile {
    /// Open a file that is another program's. `None`: it is ours through and through, and the
    /// engine opens it.
    pub fn open(
        path: &Path,
        mapped: &Mapped,
        args: &FormatArgs,
        key_type: Option<KeyType>,
        check: Check,
    ) -> anyhow::Result<Option<ForeignFile>> {
        let Some(format) = args.format_of(path, mapped)? else { return Ok(None) };
        let file = Bytes::new(mapped.clone());
        let opened = if format == Format::Mayhap {
            if check == Check::Everything {
                mayhap::format::verify(mapped.as_ref())
                    .map_err(|error| MapError::Format { path: path.to_owned(), error })?;
            }
            let wrapped = wrap::open(&file).with_context(|| path.display().to_string())?;
            ForeignFile {
                path: path.to_owned(),
                format: wrapped.format,
                key_type: Some(wrapped.key_type),
                header: Some(wrapped.header),
                filter: wrapped.filter,
                mapped: mapped.clone(),
            }
        } else {
            let options = args.options(key_type);
            let filter = mayhap_foreign::open(format, &file, &options)
                .with_context(|| format!("{} as {format}", path.display()))?;
            let key_type = filter.key_type();
            let (path, mapped) = (path.to_owned(), mapped.clone());
            ForeignFile { path, format, key_type, header: None, filter, mapped }
        };
        Ok(Some(opened))
    }

    /// What our file notes of it, if it is in one.
    pub fn notes(&self) -> Option<&Notes> {
        self.header.as_ref().map(|header| &header.notes)
    }

    /// How its keys are made of lines.
    pub fn rules(&self, keys: &KeyArgs) -> anyhow::Result<Rules> {
        keys.foreign_rules(self.format, self.key_type, self.notes())
            .with_context(|| self.path.display().to_string())
    }

    /// Ask for all keys of a batch at once.
    pub fn contains_batch(&self, keys: &KeyBytes, answers: &mut Vec<bool>) {
        self.filter.contains_all(keys.iter(), answers);
    }

    /// Write it as it came: in its own format, or in our file.
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let written = match &self.header {
            Some(header) => {
                let key_type = self.key_type.unwrap_or_default();
                wrap::write(self.filter.as_ref(), key_type, &header.notes, to)
            }
            None => self.filter.write_as(self.format, to),
        };
        written.map_err(outside)
    }
}

/// As an error of the disk, where that is what it is.
pub fn outside(error: ForeignError) -> io::Error {
    match error {
        ForeignError::Io(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    }
}
