//! Fields of headers and arrays that several kinds share.

use super::error::FormatError;
use super::header::{Header, MAX_KEYS};
use super::writer::{Array, FileLayout};
use crate::filter::Kind;
use crate::scheme::{Native, Scheme};
use crate::spec::{Optimize, Spec, SpecError};
use std::borrow::Cow;

/// The only array of a filter, and its `N` parameters.
pub(crate) fn single_array<T, const N: usize>(
    header: &Header,
    sections: Vec<T>,
) -> Result<([u64; N], T), FormatError> {
    expect_no_params(header)?;
    let count = sections.len();
    let (Ok([section]), [entry]) = (<[T; 1]>::try_from(sections), header.arrays.as_slice()) else {
        return Err(FormatError::field("leaves", count, "1"));
    };
    Ok((params(&entry.params)?, section))
}

/// Fails if the header has parameters of its own.
pub(crate) fn expect_no_params(header: &Header) -> Result<(), FormatError> {
    if header.params.is_empty() {
        return Ok(());
    }
    Err(FormatError::field("parameters", header.params.len(), "none for this kind"))
}

/// As many parameters as a kind has.
pub(crate) fn params<const N: usize>(params: &[u64]) -> Result<[u64; N], FormatError> {
    let wrong = |_| FormatError::field("parameters", params.len(), "as many as the kind has");
    params.try_into().map_err(wrong)
}

/// What filters that grow choose the layouts of later layers for, as a parameter: not where layouts
/// are those of the first rule.
pub(crate) fn optimize_param(spec: Spec) -> Option<u64> {
    spec.scheme().id().has_columns().then(|| spec.optimize().id())
}

/// The parameters of a kind that has `N`, and that one where its scheme has it.
pub(crate) fn params_and_optimize<const N: usize>(
    header: &Header,
) -> Result<([u64; N], Optimize), FormatError> {
    if !header.scheme.has_columns() {
        return Ok((params(&header.params)?, Optimize::default()));
    }
    let wrong = || FormatError::field("parameters", header.params.len(), "as many as the kind has");
    let (last, others) = header.params.split_last().ok_or_else(wrong)?;
    let optimize = Optimize::from_id(*last)
        .ok_or_else(|| FormatError::field("preference", last, "0 balanced, 1 speed or 2 memory"))?;
    Ok((params(others)?, optimize))
}

/// A parameter that is a small number.
pub(crate) fn u32_param(name: &'static str, got: u64) -> Result<u32, FormatError> {
    u32::try_from(got).map_err(|_| FormatError::field(name, got, "within its limit"))
}

/// The spec in a header.
pub(crate) fn header_spec(header: &Header, scheme: Native) -> Result<Spec, FormatError> {
    field_spec(header.capacity, header.fpr, scheme)
}

/// The spec in two fields.
pub(crate) fn field_spec(capacity: u64, fpr: f64, scheme: Native) -> Result<Spec, FormatError> {
    let wrong = |error: SpecError| FormatError::field("capacity and rate", error, "a valid spec");
    if capacity == 0 {
        return Err(wrong(SpecError::Capacity { got: 0 }));
    }
    Spec::new(capacity, fpr).map(|spec| spec.with_scheme(scheme)).map_err(wrong)
}

/// An array with its parameters.
pub(crate) fn array<const N: usize>(params: [u64; N], bytes: &[u8]) -> Array<'_> {
    Array { params: params.to_vec(), bytes: Cow::Borrowed(bytes) }
}

/// The layout of a filter with one array.
pub(crate) fn layout(
    kind: Kind,
    (capacity, fpr): (u64, f64),
    scheme: Native,
    keys: u64,
    array: Array<'_>,
) -> FileLayout<'_> {
    FileLayout {
        kind,
        scheme: scheme.id(),
        seed_or_key_check: scheme.seed_or_key_check(),
        scheme_data: &[],
        capacity,
        fpr,
        keys: keys.min(MAX_KEYS),
        params: Vec::new(),
        arrays: vec![array],
    }
}

/// Capacity and false-positive rate, as stored in headers.
pub(crate) fn target_of(spec: Spec) -> (u64, f64) {
    (spec.capacity(), spec.fpr())
}

/// Fails if the key count is impossible.
pub(crate) fn counted(keys: u64) -> Result<u64, FormatError> {
    if keys > MAX_KEYS {
        return Err(FormatError::field("keys", keys, "at most 2^56"));
    }
    Ok(keys)
}
