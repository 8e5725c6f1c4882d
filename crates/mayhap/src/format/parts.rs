//! Kinds that consist of several `Blocked` filters: one array for each.

use super::error::FormatError;
use super::fields::{counted, field_spec, params, target_of};
use super::header::{Header, MAX_KEYS};
use super::writer::{Array, FileLayout};
use crate::filter::blocked::kind::{line_params, lines};
use crate::filter::{Blocked, Kind};
use crate::scheme::{Native, Scheme};
use crate::spec::Spec;
use std::borrow::Cow;

/// The layout of such a filter.
pub(crate) fn layout_of_parts<'a>(
    kind: Kind,
    whole: Spec,
    keys: u64,
    params: Vec<u64>,
    arrays: impl Iterator<Item = Array<'a>>,
) -> FileLayout<'a> {
    let (capacity, fpr) = target_of(whole);
    FileLayout {
        kind,
        scheme: whole.scheme().id(),
        seed_or_key_check: whole.scheme().seed_or_key_check(),
        scheme_data: &[],
        capacity,
        fpr,
        keys: keys.min(MAX_KEYS),
        params,
        arrays: arrays.collect(),
    }
}

/// A part as an array.
pub(crate) fn part_array<B: AsRef<[u8]>>(part: &Blocked<B>) -> Array<'_> {
    let (capacity, fpr) = target_of(part.spec());
    let mut params = vec![capacity, fpr.to_bits(), part.keys().min(MAX_KEYS)];
    params.extend(line_params(part.shape()));
    Array { params, bytes: Cow::Borrowed(part.as_bytes()) }
}

/// All parts, in the order of the file.
pub(crate) fn parts<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    arrays: Vec<T>,
) -> Result<Vec<Blocked<T>>, FormatError> {
    let arrays = header.arrays.iter().zip(arrays);
    arrays.map(|(entry, array)| part(&entry.params, scheme, array)).collect()
}

/// One part, by the parameters of its array.
pub(crate) fn part<T: AsRef<[u8]>>(
    own: &[u64],
    scheme: Native,
    array: T,
) -> Result<Blocked<T>, FormatError> {
    let [capacity, fpr, keys, shape @ ..] = params::<6>(own)?;
    let spec = field_spec(capacity, f64::from_bits(fpr), scheme)?;
    lines(spec, counted(keys)?, shape, array)
}

/// Fails unless the header's key count is the sum of the parts'.
pub(crate) fn check_keys(header: &Header, keys: u64) -> Result<(), FormatError> {
    if header.keys == keys.min(MAX_KEYS) {
        return Ok(());
    }
    Err(FormatError::field("keys", header.keys, "the sum over its parts"))
}
