//! Why two filters cannot be merged.

use crate::scheme::{Scheme, SchemeId};
use crate::spec::Spec;
use std::fmt;

/// Two filters differ in something that decides what their bits mean.
///
/// ```
/// use mayhap::Blocked;
/// let mut small = Blocked::with_rate(1_000, 0.01)?;
/// let large = Blocked::with_rate(5_000, 0.01)?;
/// let error = small.union(&large).unwrap_err().to_string();
/// let said = "unlike filters: this one is made for 1000 keys at a rate of 0.01, the other for 5000";
/// assert!(error.starts_with(said), "{error}");
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeError(Difference);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Difference {
    /// A property, its value here and there.
    Property { what: &'static str, have: String, got: String },
    /// What they are made for, as people say it.
    Target { have: [String; 2], got: [String; 2] },
    /// Probe rules and hashes, as releases made them one after another.
    Schemes { have: SchemeId, got: SchemeId },
    /// Seeds, where they may be told.
    Seeds { have: u64, got: u64 },
    /// Secrets are compared and never shown.
    Secrets,
    /// Built from keys, and not to be taken apart.
    Static,
    /// Nothing differs, but there is no memory for the result.
    Memory { bytes: u64 },
}

impl MergeError {
    /// A property that differs: its name in the plural, its value in the filter merged into and in
    /// the other one.
    pub fn new(what: &'static str, have: impl fmt::Display, got: impl fmt::Display) -> MergeError {
        MergeError(Difference::Property { what, have: have.to_string(), got: got.to_string() })
    }

    /// What differs, in the plural: `"seeds"`, `"capacities or rates"`, `"kinds"`, `"lines"` …
    pub fn what(&self) -> &'static str {
        match &self.0 {
            Difference::Property { what, .. } => what,
            Difference::Target { .. } => "capacities or rates",
            Difference::Schemes { .. } => "schemes",
            Difference::Seeds { .. } => "seeds",
            Difference::Secrets => "secrets",
            Difference::Static => "fingerprints",
            Difference::Memory { .. } => "bytes of memory",
        }
    }

    pub(crate) fn of_static_kinds() -> MergeError {
        MergeError(Difference::Static)
    }

    pub(crate) fn memory(bytes: u64) -> MergeError {
        MergeError(Difference::Memory { bytes })
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Difference::Property { what, have, got } => {
                write!(f, "unlike filters: {what} are {have} here and {got} there")
            }
            Difference::Target { have, got } => write!(
                f,
                "unlike filters: this one is made for {} keys at a rate of {}, the other for {} at {}; \
                 make all filters that are to be merged with the same capacity and rate",
                have[0], have[1], got[0], got[1]
            ),
            Difference::Schemes { have, got } => write!(
                f,
                "unlike filters: this one has scheme {} ({}), the other scheme {} ({}): they hash keys or \
                 probe lines by different rules; build the older one anew from its keys",
                have.0,
                have.name(),
                got.0,
                got.name()
            ),
            Difference::Seeds { have, got } => write!(
                f,
                "unlike filters: this one hashes with seed {have}, the other with seed {got}; make \
                 both with the same seed"
            ),
            Difference::Secrets => f.write_str(
                "unlike filters: they are keyed with different secrets; make both with the same secret",
            ),
            Difference::Static => f.write_str(
                "static filters cannot be merged: their fingerprints are placed by all keys together; \
                 build one filter from the keys of both",
            ),
            Difference::Memory { bytes } => {
                write!(f, "{bytes} bytes of memory for the merged filter: the system cannot give them")
            }
        }
    }
}

impl std::error::Error for MergeError {}

/// Fails where a property differs.
pub(crate) fn same<T: PartialEq + fmt::Display>(
    what: &'static str,
    have: T,
    got: T,
) -> Result<(), MergeError> {
    if have == got { Ok(()) } else { Err(MergeError::new(what, have, got)) }
}

/// Where shapes differ, fails with what the filters were made for, if that tells: the caller chose
/// capacities and rates, not lines and probes.
pub(crate) fn same_target(have: Spec, got: Spec, same_shape: bool) -> Result<(), MergeError> {
    let [ours, theirs] = [have, got].map(|spec| (spec.capacity(), spec.fpr()));
    same_made_for(ours, theirs, same_shape)
}

/// The same, where capacity and rate may be unknown: 0.
pub(crate) fn same_made_for(
    have: (u64, f64),
    got: (u64, f64),
    same_shape: bool,
) -> Result<(), MergeError> {
    let known = have.0 != 0 && got.0 != 0;
    if same_shape || have == got || !known {
        return Ok(());
    }
    let told = |(capacity, fpr): (u64, f64)| [capacity.to_string(), fpr.to_string()];
    Err(MergeError(Difference::Target { have: told(have), got: told(got) }))
}

/// Fails where keys are hashed differently. Secrets are compared and never shown.
pub(crate) fn same_scheme<S: Scheme + PartialEq>(have: &S, got: &S) -> Result<(), MergeError> {
    if have == got {
        return Ok(());
    }
    let (ours, theirs) = (have.id(), got.id());
    if ours.has_columns() != theirs.has_columns() {
        return Err(MergeError(Difference::Schemes { have: ours, got: theirs }));
    }
    same("hashes", ours.name(), theirs.name())?;
    Err(MergeError(match (have.seed(), got.seed()) {
        (Some(have), Some(got)) => Difference::Seeds { have, got },
        _ => Difference::Secrets,
    }))
}
