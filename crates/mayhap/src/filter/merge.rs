//! Why two filters cannot become one.

use crate::scheme::Scheme;
use std::fmt;

/// Two filters differ in something that decides what their bits mean.
///
/// ```
/// use mayhap::{Blocked, Spec};
/// let mut small = Blocked::new(Spec::new(100, 0.01)?)?;
/// let large = Blocked::new(Spec::new(100_000, 0.01)?)?;
/// let error = small.union(&large).unwrap_err();
/// assert_eq!(error.to_string(), "unlike filters: lines are 2 here and 1938 there");
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeError {
    /// The property that differs.
    pub what: &'static str,
    /// Its value in the filter merged into.
    pub have: String,
    /// Its value in the other one.
    pub got: String,
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MergeError { what, have, got } = self;
        write!(f, "unlike filters: {what} are {have} here and {got} there")
    }
}

impl std::error::Error for MergeError {}

/// Fails where a property differs.
pub(crate) fn same<T: PartialEq + fmt::Display>(
    what: &'static str,
    have: T,
    got: T,
) -> Result<(), MergeError> {
    if have == got {
        return Ok(());
    }
    Err(MergeError { what, have: have.to_string(), got: got.to_string() })
}

/// Fails where keys are hashed differently. Secrets are compared and never shown.
pub(crate) fn same_scheme<S: Scheme + PartialEq>(have: &S, got: &S) -> Result<(), MergeError> {
    if have == got {
        return Ok(());
    }
    same("hashes", have.id().name(), got.id().name())?;
    let differ = |text: &str| text.to_owned();
    Err(MergeError { what: "seeds or secrets", have: differ("one"), got: differ("another") })
}
