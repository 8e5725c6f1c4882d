//! What numbers may be, said once.

use crate::ForeignError;
use mayhap::{MAX_CAPACITY, SpecError};
use std::fmt::Display;

/// As many probes as the engine makes for other programs. None is no filter: everything passes.
pub(crate) fn probes(got: u64) -> Result<u32, ForeignError> {
    let probes = u32::try_from(got).ok().filter(|probes| (1..=2048).contains(probes));
    probes.ok_or_else(|| ForeignError::field("probes", got, "from 1 to 2048"))
}

/// A count that Java keeps in an `int`, where nothing is no count.
pub(crate) fn positive_i32(field: &'static str, got: i32) -> Result<u32, ForeignError> {
    let count = u32::try_from(got).ok().filter(|count| *count > 0);
    count.ok_or_else(|| ForeignError::field(field, got, "from 1 to 2147483647"))
}

/// A count that must fit into an `int`.
pub(crate) fn i32_of(
    field: &'static str,
    got: impl TryInto<i32> + Copy + Display,
) -> Result<i32, ForeignError> {
    got.try_into().map_err(|_| ForeignError::field(field, got, "at most 2147483647 in this format"))
}

/// A count that must fit into a byte.
pub(crate) fn u8_of(
    field: &'static str,
    got: impl TryInto<u8> + Copy + Display,
) -> Result<u8, ForeignError> {
    got.try_into().map_err(|_| ForeignError::field(field, got, "at most 255 in this format"))
}

/// A wish that a filter can be made to: so many keys, which are given back, at a rate between.
pub(crate) fn wish(keys: u64, fpr: f64) -> Result<u64, ForeignError> {
    if keys > MAX_CAPACITY {
        return Err(SpecError::Capacity { got: keys }.into());
    }
    // Their formulas would make something of any rate, and nothing useful past these.
    if !(mayhap::MIN_FPR..1.0).contains(&fpr) {
        return Err(SpecError::Rate { got: fpr }.into());
    }
    Ok(keys)
}

/// Java's `Math.round` of what is not negative.
pub(crate) fn round(x: f64) -> u64 {
    (x + 0.5).floor() as u64
}
