//! The one place where a filter's file is opened: to be asked, or to be changed.

use crate::clock::{date, now};
use crate::numbers::spoken;
use crate::print;
use crate::secret::KeyFile;
use mayhap::format::{Header, Section, read_header};
use mayhap::{AnyFilter, SchemeId, Secret};
use mayhap_store::map::{self, Check, MapError, Mapped};
use mayhap_store::memory::Budget;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A filter where it lies: mapped, so that it opens at once and takes little memory.
pub struct FilterFile {
    /// Where it is.
    pub path: PathBuf,
    /// What its file says.
    pub header: Header,
    /// The filter itself.
    pub filter: AnyFilter<Section<Mapped>>,
    /// Its file.
    pub mapped: Mapped,
}

impl FilterFile {
    /// Open a filter to ask it.
    pub fn open(path: &Path, key_file: &KeyFile, check: Check) -> anyhow::Result<FilterFile> {
        let mapped = map::bytes(path)?;
        let format = |error| MapError::Format { path: path.to_owned(), error };
        let header = read_header(mapped.as_ref()).map_err(format)?;
        let secret = secret(&header, path, key_file)?;
        let opened = map::open_mapped(mapped.clone(), secret, check).map_err(format)?;
        let (path, header, filter) = (path.to_owned(), opened.header, opened.filter);
        Ok(FilterFile { path, header, filter, mapped })
    }
}

/// Copy a filter into memory, to change it.
pub fn load(
    mapped: &Mapped,
    path: &Path,
    key_file: &KeyFile,
    budget: Budget,
) -> anyhow::Result<(AnyFilter, Header)> {
    let format = |error| MapError::Format { path: path.to_owned(), error };
    let header = read_header(mapped.as_ref()).map_err(format)?;
    let secret =
        if header.is_keyed() || key_file.is_named() { Some(key_file.read(path)?) } else { None };
    let (filter, header) = map::load_mapped(mapped, path, secret, budget)?;
    mapped.check_unchanged()?;
    warn_of_jump(&filter, path);
    Ok((filter, header))
}

/// Say so where a window of time and the clock are more than the window apart: one of them may be
/// wrong, and a key added now would make the difference last.
fn warn_of_jump(filter: &AnyFilter, path: &Path) {
    let AnyFilter::Windowed(window) = filter else { return };
    let Err(jump) = window.check_clock(now()) else { return };
    let path = path.display();
    let [last, now] = [jump.last, jump.now].map(|ms| date(ms / 1000));
    let span = spoken(Duration::from_millis(jump.ticks));
    if jump.is_back() {
        print::warning(
            &format!(
                "{path}: its window was last written at {last}, and the clock says {now}: it was ahead then, or is behind now. The window goes on from now, and what it remembers stays for {span} more"
            ),
            Some("nothing is lost; if the clock is wrong now, set it before adding more keys"),
        );
    } else {
        print::warning(
            &format!(
                "{path}: its window was last written at {last}, and the clock says {now}: all it remembers is more than {span} old, and forgotten"
            ),
            Some("if the clock is wrong, set it and put back a copy of the file"),
        );
    }
}

/// Check every byte of a file, whoever has its secret.
pub fn verify(path: &Path) -> Result<Header, MapError> {
    let format = |error| MapError::Format { path: path.to_owned(), error };
    let mapped = map::bytes(path)?;
    let header = read_header(mapped.as_ref()).map_err(format)?;
    if header.scheme == SchemeId::XXH3 {
        // Lets go of what it has read: memory stays small, whatever the size.
        map::open_mapped(mapped, None, Check::Everything).map_err(format)?;
        return Ok(header);
    }
    mayhap::format::verify(mapped.as_ref()).map_err(format)
}

/// The secret of a keyed filter. One that was named is read in any case: whoever believes a filter
/// to be keyed shall be told if it is not.
fn secret(header: &Header, path: &Path, key_file: &KeyFile) -> anyhow::Result<Option<Secret>> {
    let needed = header.is_keyed() || key_file.is_named();
    needed.then(|| key_file.read(path)).transpose()
}
