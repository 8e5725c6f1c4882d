//! Filters of several arrays or kinds as [`Foreign`]: in memory, or in the file until something is
//! inserted. (Those of one array are [`Flat`](crate::frame::Flat).)

use crate::{Bytes, Foreign, ForeignError, Format, Parts, Summary};
use mayhap::format::Array;
use mayhap::{Classic, Scheme};
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::io::Write;

/// What a filter can do wherever its bits are.
pub(crate) trait Body: fmt::Debug + Send + Sync + 'static {
    fn summary(&self) -> Summary;
    fn contains_key(&self, key: &[u8]) -> bool;
    fn contains_keys(&self, keys: &[&[u8]], answers: &mut Vec<bool>);
    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError>;
    fn parts(&self) -> Parts<'_>;
}

/// What it can do besides in memory of its own.
pub(crate) trait Own: Body + Sized {
    /// The same over a file's bytes.
    type Lent: Body;

    fn copy_of(lent: &Self::Lent) -> Result<Self, ForeignError>;
    fn insert_keys(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError>;
    fn union_own(&mut self, other: &Self) -> Result<(), ForeignError>;
    fn union_lent(&mut self, other: &Self::Lent) -> Result<(), ForeignError>;
}

/// Either of them.
#[derive(Debug)]
pub(crate) enum Adapter<O: Own> {
    Own(O),
    Lent(O::Lent),
}

impl<O: Own> Adapter<O> {
    fn body(&self) -> &dyn Body {
        match self {
            Adapter::Own(own) => own,
            Adapter::Lent(lent) => lent,
        }
    }

    fn owned(&mut self) -> Result<&mut O, ForeignError> {
        if let Adapter::Lent(lent) = self {
            *self = Adapter::Own(O::copy_of(lent)?);
        }
        match self {
            Adapter::Own(own) => Ok(own),
            Adapter::Lent(_) => Err(ForeignError::field("filter", "in a file", "in memory")),
        }
    }
}

impl<O: Own> Foreign for Adapter<O> {
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
        let Some(other) = (other as &dyn Any).downcast_ref::<Adapter<O>>() else {
            let (from, to) = (other.summary().format, self.summary().format);
            return Err(ForeignError::Untranslatable { from, to });
        };
        match other {
            Adapter::Own(other) => self.owned()?.union_own(other),
            Adapter::Lent(other) => self.owned()?.union_lent(other),
        }
    }

    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError> {
        self.body().write_as(format, to)
    }

    fn parts(&self) -> Parts<'_> {
        self.body().parts()
    }
}

/// An array of our own file that came out of a filter's parts: its parameters and its bytes.
pub(crate) type Kept = (Vec<u64>, Bytes);

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
pub(crate) fn lend(file: &Bytes, range: std::ops::Range<usize>) -> Result<Bytes, ForeignError> {
    let (need, have) = (range.end as u64, file.as_ref().len() as u64);
    file.slice(range).ok_or(ForeignError::Truncated { field: "bits", need, have })
}
