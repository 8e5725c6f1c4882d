//! Any filter, whoever made it: opened, asked, built, changed, merged, described.
//!
//! A [`Filter`] is one of Mayhap's own kinds or another program's, in a file of its own or wrapped in
//! a Mayhap file. Which it is gets decided here, once, with one map of the file, one parse of its
//! header and one verification; whoever uses it need not ask again.

mod build;
mod edit;
mod error;
mod fill;
mod gathered;
mod info;
mod measure;
mod memory;
mod merge;
mod open;
mod query;
mod source;
mod typed;

pub use build::{BuildError, BuildSpec, Built, DEFAULT_FPR, Target};
pub use edit::Edit;
pub use error::ChangeError;
pub use fill::{Filled, Removed, check_growth};
pub use gathered::Gathered;
pub use info::{
    BitStats, CascadeInfo, CascadeLayer, Info, NativeInfo, Overfull, QuotientInfo, WindowInfo,
};
pub use measure::{Measured, RandomKeys};
pub use memory::Sizes;
pub use merge::Merge;
pub use open::{OpenError, OpenOptions, Verify};
pub use query::{BatchAnswers, Lookup, Needs, Prepared, Query};
pub(crate) use source::integer;
pub use source::{Each, HostError, KeySource, Slice, Tally};
pub use typed::{EachBatch, TypedBatch, TypedKeys, TypedSource, ValueError, ValueRules};

use crate::budget::Budget;
use crate::key_rules::{KeyRequest, KeyRules, KeyRulesError, Stored, key_type_of, normalizer_of};
use crate::map::{MapError, Mapped};
use crate::replace::{self, Overwrite, ReplaceError};
use mayhap::format::{Container, Metadata, Section};
use mayhap::window::Moment;
use mayhap::{AnyFilter, Kind, Secret};
use mayhap_foreign::{Bytes, Foreign, ForeignError, Format, KeyType, wrap};
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A filter of any make.
///
/// Opened, it is used where it is in its file, which opens at once whatever its size; the first
/// change copies it into memory.
///
/// ```
/// use mayhap_store::replace::Overwrite;
/// use mayhap_store::{BuildSpec, Filter, OpenOptions, Slice};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("seen.may");
/// let built = Filter::build(&BuildSpec::default(), &Slice(&["ada", "eve"]))?;
/// built.filter.save(&path, Overwrite::Filters)?;
///
/// let filter = Filter::open(&path, &OpenOptions::default())?;
/// let mut answers = Vec::new();
/// filter.contains_all(&[b"ada".as_slice(), b"bob"], &mut answers);
/// assert_eq!(answers, [true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Filter {
    body: Body,
    /// Whose filter it is.
    format: Format,
    /// The format of its file: `Mayhap` also for another program's filter that is wrapped.
    written_as: Format,
    /// The Mayhap file it was opened from.
    container: Option<Container<Bytes>>,
    metadata: Metadata,
    /// What another program's keys are, where that is known.
    key_type: Option<KeyType>,
    secret: Option<Secret>,
    /// Whether every byte was verified.
    verified: bool,
    path: PathBuf,
    mapped: Option<Mapped>,
}

/// The only place that tells Mayhap's own filters from others.
#[derive(Debug)]
enum Body {
    Mapped(AnyFilter<Section<Bytes>>),
    Owned(AnyFilter),
    Foreign(Box<dyn Foreign>),
}

impl Filter {
    /// One of Mayhap's own kinds, in memory.
    pub fn from_native(filter: impl Into<AnyFilter>, metadata: Metadata) -> Filter {
        Filter::in_memory(Body::Owned(filter.into()), Format::Mayhap, metadata)
    }

    fn in_memory(body: Body, format: Format, metadata: Metadata) -> Filter {
        Filter {
            body,
            format,
            written_as: format,
            container: None,
            metadata,
            key_type: None,
            secret: None,
            verified: true,
            path: PathBuf::new(),
            mapped: None,
        }
    }

    /// The file it was opened from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whose filter it is: [`Format::Mayhap`], or another program's.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What its file says beside the filter.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// How text becomes its keys, where the caller has something to say about it, too.
    pub fn key_rules(&self, asked: &KeyRequest) -> Result<KeyRules, KeyRulesError> {
        let wrapped = self.written_as == Format::Mayhap;
        let foreign = (self.format != Format::Mayhap).then_some((self.format, self.key_type));
        KeyRules::resolve(Stored { metadata: wrapped.then_some(&self.metadata), foreign }, asked)
    }

    /// What its keys are, in messages: how they are normalized, and their type.
    pub fn keys_text(&self) -> String {
        let key_type = match self.format {
            Format::Mayhap => key_type_of(&self.metadata),
            _ => self.key_type.unwrap_or_default().name(),
        };
        format!("{}, {key_type}", normalizer_of(&self.metadata))
    }

    /// The engine's filter of an opened file, for what only Mayhap's own kinds can do.
    pub fn native(&self) -> Option<&AnyFilter<Section<Bytes>>> {
        match &self.body {
            Body::Mapped(filter) => Some(filter),
            _ => None,
        }
    }

    /// Whether another program's filter is wrapped in a Mayhap file.
    pub fn is_wrapped(&self) -> bool {
        self.format != self.written_as && self.written_as == Format::Mayhap
    }

    /// The false-positive rate it was made for; 0 where nobody said, and in an exact set.
    pub fn fpr(&self) -> f64 {
        match &self.body {
            Body::Mapped(filter) => filter.fpr(),
            Body::Owned(filter) => filter.fpr(),
            Body::Foreign(filter) => filter.parts().fpr,
        }
    }

    /// The bytes of its file, as they were opened; none of a filter in memory.
    pub fn file_bytes(&self) -> &[u8] {
        self.mapped.as_ref().map_or(&[], AsRef::as_ref)
    }

    /// Fails where the file was written to in place since it was opened: what the filter answered
    /// then must not be used. Costs one system call.
    pub fn check_unchanged(&self) -> Result<(), MapError> {
        self.mapped.as_ref().map_or(Ok(()), Mapped::check_unchanged)
    }

    /// Ask for all of these keys, which are the bytes that are hashed: `answers` is cleared and
    /// filled, one answer per key. A window of time answers as of its last insert.
    pub fn contains_all(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        match &self.body {
            Body::Mapped(filter) => contains_all(filter, keys, answers),
            Body::Owned(filter) => contains_all(filter, keys, answers),
            Body::Foreign(filter) => filter.contains_batch(keys, answers),
        }
    }

    /// Where the clock and a window of time are further apart than the window spans: one of them may
    /// be wrong, and a key added now would make the difference last.
    pub fn clock_jump(&self, now_ms: u64) -> Option<mayhap::window::ClockJump> {
        let now = Moment::ticks(now_ms);
        match &self.body {
            Body::Mapped(AnyFilter::Windowed(window)) => window.check_clock(now).err(),
            Body::Owned(AnyFilter::Windowed(window)) => window.check_clock(now).err(),
            _ => None,
        }
    }

    /// Copy it into memory, if it is not there yet. Other programs' filters do so by themselves.
    fn make_owned(&mut self, budget: Budget) -> Result<(), ChangeError> {
        let Some(container) = self.container.as_ref().filter(|_| self.is_mapped()) else {
            return Ok(());
        };
        let need = container.header().body_bytes();
        budget.check(need).map_err(|over| ChangeError::Copy { over })?;
        let format = |error| ChangeError::Format { error };
        if !self.verified {
            container.verify().map_err(format)?;
        }
        let copy = AnyFilter::copy_from(container, self.secret).map_err(format)?;
        self.check_unchanged()?;
        (self.body, self.container, self.mapped) = (Body::Owned(copy), None, None);
        Ok(())
    }

    fn is_mapped(&self) -> bool {
        matches!(self.body, Body::Mapped(_))
    }

    /// The engine's filter, in memory, and what its file said beside it.
    pub fn into_native(mut self, budget: Budget) -> Result<(AnyFilter, Metadata), ChangeError> {
        self.make_owned(budget)?;
        match self.body {
            Body::Owned(filter) => Ok((filter, self.metadata)),
            _ => Err(ChangeError::NotNative { name: self.format.name() }),
        }
    }

    /// What kind it is, in messages: `blocked`, `guava`.
    pub fn name(&self) -> &'static str {
        match &self.body {
            Body::Mapped(filter) => filter.kind().name(),
            Body::Owned(filter) => filter.kind().name(),
            Body::Foreign(_) => self.format.name(),
        }
    }

    /// Whether it counts how often each key was inserted.
    pub fn counts_copies(&self) -> bool {
        let counts = |kind| matches!(kind, Kind::Quotient | Kind::Counting);
        match &self.body {
            Body::Mapped(filter) => counts(filter.kind()),
            Body::Owned(filter) => counts(filter.kind()),
            Body::Foreign(_) => false,
        }
    }

    /// Write its file.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        self.write_with(to, &self.metadata)
    }

    /// Write its file, with other metadata.
    pub(crate) fn write_with(&self, to: &mut dyn Write, metadata: &Metadata) -> io::Result<()> {
        match &self.body {
            Body::Mapped(filter) => filter.write_to(to, metadata),
            Body::Owned(filter) => filter.write_to(to, metadata),
            Body::Foreign(filter) if self.written_as == Format::Mayhap => {
                let key_type = self.key_type.unwrap_or_default();
                wrap::write(filter.as_ref(), key_type, metadata, to).map_err(io_error)
            }
            Body::Foreign(filter) => filter.write_as(self.written_as, to).map_err(io_error),
        }
    }

    /// Write its file, whole or not at all.
    pub fn save(&self, path: &Path, over: Overwrite) -> Result<(), ReplaceError> {
        replace::file(path, over, |to| self.write_to(to))
    }
}

/// Keys that are hashed at once.
const CHUNK: usize = 1024;

fn contains_all<B: AsRef<[u8]>>(filter: &AnyFilter<B>, keys: &[&[u8]], answers: &mut Vec<bool>) {
    answers.clear();
    let (mut hashes, mut found) = (Vec::new(), Vec::new());
    for chunk in keys.chunks(CHUNK) {
        match (filter, filter.scheme()) {
            (AnyFilter::Bitmap(bitmap), _) => {
                let is_in = |key: &&[u8]| integer(key).is_some_and(|id| bitmap.contains(id));
                answers.extend(chunk.iter().map(is_in));
            }
            (filter, scheme) => {
                scheme.unwrap_or_default().hash_batch(chunk, &mut hashes);
                // Only exact sets refuse hashes.
                _ = filter.contains_batch(&hashes, &mut found);
                answers.append(&mut found);
            }
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.body {
            Body::Mapped(filter) => filter.fmt(f),
            Body::Owned(filter) => filter.fmt(f),
            Body::Foreign(_) => write!(f, "a {} filter", self.format),
        }
    }
}

/// As an error of the disk, where that is what it is.
fn io_error(error: ForeignError) -> io::Error {
    match error {
        ForeignError::Io(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidInput, other),
    }
}
