//! Filters of several arrays or kinds as [`Foreign`]: in memory, or in the file until something is
//! inserted. (Those of one array are [`CowFlat`](crate::flat::CowFlat).)

use crate::{Bytes, Foreign, ForeignError, Format, Parts, Summary};
use mayhap::Classic;
use mayhap::format::Array;
use mayhap::scheme::Scheme;
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::io::Write;

/// What a filter can do wherever its bits are.
pub(crate) trait ReadOnly: fmt::Debug + Send + Sync + 'static {
    fn summary(&self) -> Summary;
    fn contains_key(&self, key: &[u8]) -> bool;
    fn contains_keys(&self, keys: &[&[u8]], answers: &mut Vec<bool>);
    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError>;
    fn parts(&self) -> Parts<'_>;
}

/// What it can do besides in memory of its own.
pub(crate) trait Owned: ReadOnly + Sized {
    /// The same over a file's bytes.
    type Borrowed: ReadOnly;

    fn copy_of(borrowed: &Self::Borrowed) -> Result<Self, ForeignError>;
    fn insert_keys(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError>;
    fn union_owned(&mut self, other: &Self) -> Result<(), ForeignError>;
    fn union_borrowed(&mut self, other: &Self::Borrowed) -> Result<(), ForeignError>;
}

/// Either of them.
#[derive(Debug)]
pub(crate) enum CowFilter<O: Owned> {
    Owned(O),
    Borrowed(O::Borrowed),
}

impl<O: Owned> CowFilter<O> {
    fn body(&self) -> &dyn ReadOnly {
        match self {
            CowFilter::Owned(owned) => owned,
            CowFilter::Borrowed(borrowed) => borrowed,
        }
    }

    fn owned(&mut self) -> Result<&mut O, ForeignError> {
        if let CowFilter::Borrowed(borrowed) = self {
            *self = CowFilter::Owned(O::copy_of(borrowed)?);
        }
        match self {
            CowFilter::Owned(owned) => Ok(owned),
            CowFilter::Borrowed(_) => Err(ForeignError::field("filter", "in a file", "in memory")),
        }
    }
}

impl<O: Owned> Foreign for CowFilter<O> {
    fn summary(&self) -> Summary {
        self.body().summary()
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.body().contains_key(key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        self.body().contains_keys(keys, answers);
    }

    fn insert_batch(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError> {
        self.owned()?.insert_keys(keys, new)
    }

    fn union(&mut self, other: &dyn Foreign) -> Result<(), ForeignError> {
        let Some(other) = (other as &dyn Any).downcast_ref::<CowFilter<O>>() else {
            let (from, to) = (other.summary().format, self.summary().format);
            return Err(ForeignError::Untranslatable { from, to });
        };
        match other {
            CowFilter::Owned(other) => self.owned()?.union_owned(other),
            CowFilter::Borrowed(other) => self.owned()?.union_borrowed(other),
        }
    }

    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError> {
        self.body().write_as(format, to)
    }

    fn parts(&self) -> Parts<'_> {
        self.body().parts()
    }
}

/// A parameter of an array that was kept, by its place.
pub(crate) fn param(params: &[u64], at: usize) -> Result<u64, ForeignError> {
    let missing = || ForeignError::field("parameters of an array", params.len(), "more");
    params.get(at).copied().ok_or_else(missing)
}

/// The parameters every array begins with.
pub(crate) fn array<'a, S: Scheme, B: AsRef<[u8]>>(
    filter: &'a Classic<S, B>,
    more: &[u64],
) -> Array<'a> {
    let shape = filter.shape();
    let mut params = vec![shape.bits, shape.probes.into()];
    params.extend_from_slice(more);
    Array { params, bytes: Cow::Borrowed(filter.as_bytes()) }
}

/// A part of a file that its codec has found to be there.
pub(crate) fn borrow_range(
    file: &Bytes,
    range: std::ops::Range<usize>,
) -> Result<Bytes, ForeignError> {
    let (need, have) = (range.end as u64, file.as_ref().len() as u64);
    file.slice(range).ok_or(ForeignError::Truncated { field: "bits", need, have })
}
