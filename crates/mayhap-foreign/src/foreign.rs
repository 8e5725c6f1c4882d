//! What every foreign filter can do, whatever its format.

use crate::{Bytes, ForeignError, Format, KeyType, Variant, chunked};
use mayhap::format::Array;
use mayhap::scheme::SchemeId;
use std::any::Any;
use std::fmt;
use std::io::Write;

/// A filter in another program's format, for code that learns the format when it runs.
///
/// Keys are the bytes the format hashes; [`KeyType`](crate::KeyType) makes them of text. Code that
/// knows its format finds the engine's [`Classic`](mayhap::Classic) in the family's own module.
pub trait Foreign: Any + fmt::Debug + Send + Sync {
    /// What it is and how it stands. Reads all bits.
    fn summary(&self) -> Summary;

    /// Whether the key may be in; `false` is certain.
    fn contains(&self, key: &[u8]) -> bool;

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a key.
    fn contains_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>);

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    /// Bits that are used in place are copied into memory first.
    fn insert_batch(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError>;

    /// Take in everything the other filter holds. They must be of one family and shape.
    fn union(&mut self, other: &dyn Foreign) -> Result<(), ForeignError>;

    /// Write it in a format of its own family; unchanged filters give the bytes they came from.
    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError>;

    /// Write it, from now on, in another form of its format. The bits stay as they are, so that only
    /// forms of writing can be chosen.
    fn set_variant(&mut self, variant: Variant) -> Result<(), ForeignError> {
        Err(no_such_variant(self.parts().format, variant))
    }

    /// What its keys are, where the file says.
    fn key_type(&self) -> Option<KeyType> {
        None
    }

    /// Its arrays, and all else that is needed to put it together again.
    fn parts(&self) -> Parts<'_>;
}

impl dyn Foreign {
    /// The same as [`contains_batch`](Foreign::contains_batch) for keys that are in no slice yet: they are
    /// put into one a piece at a time.
    pub fn contains_all<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k [u8]>,
        answers: &mut Vec<bool>,
    ) {
        chunked::of_slices(keys, answers, |keys, found| self.contains_batch(keys, found));
    }
}

/// Either the format has no such form, or its bits cannot be brought into it.
pub(crate) fn no_such_variant(format: Format, variant: Variant) -> ForeignError {
    if !Variant::of(format).contains(&variant) {
        return variant.unknown_to(format);
    }
    let what = "these variants differ in their bits, not in how they are written: build one from the \
                keys";
    ForeignError::Refused { format, what }
}

/// What a foreign filter is and how it stands.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Its format.
    pub format: Format,
    /// How it hashes and probes.
    pub scheme: SchemeId,
    /// What only this format knows, as name and value: strategy, version, seed.
    pub details: Vec<(&'static str, String)>,
    /// The keys it was made for; 0 where the file does not say.
    pub capacity: u64,
    /// The rate it was made for; 0 where the file does not say.
    pub fpr: f64,
    /// The keys counted in; `None` where the file does not count.
    pub keys: Option<u64>,
    /// Its arrays: layers, links, slices; 1 in most formats.
    pub layers: u64,
    /// Bits in all arrays.
    pub bits: u64,
    /// Probes a key, in the newest array.
    pub probes: u32,
    /// The share of bits that are set.
    pub fill: f64,
    /// How many distinct keys are in, told from the bits alone.
    pub estimate: u64,
    /// The false-positive rate as the bits stand now.
    pub fpr_now: f64,
}

/// A filter taken apart, to be kept in our own file.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    /// Its format.
    pub format: Format,
    /// How it hashes and probes.
    pub scheme: SchemeId,
    /// What the format keeps beside its arrays, in an order of its own; at most 4 KB.
    pub data: Vec<u8>,
    /// The keys it was made for; 0 where nobody said.
    pub capacity: u64,
    /// The rate it was made for; 0 where nobody said.
    pub fpr: f64,
    /// The keys counted in; 0 where nobody did.
    pub keys: u64,
    /// Its arrays. The first two parameters of each are its bits (eight a byte) and its probes.
    pub arrays: Vec<Array<'a>>,
}

/// An array of a filter in our own file, where it lies.
#[derive(Clone, Debug)]
pub struct StoredArray {
    /// Its parameters, as [`Parts`] had them.
    pub params: Vec<u64>,
    /// Its bytes.
    pub bytes: Bytes,
}
