//! Why bytes, keys or wishes are refused.

use crate::{Choice, Format, Missing};
use mayhap::format::FormatError;
use mayhap::{MergeError, SpecError};
use std::{fmt, io};

/// Why a foreign filter cannot be opened, made, changed or written.
///
/// Each variant names the thing, says what was found and what would have been accepted.
/// Opening never panics, whatever the bytes, and never takes memory the bytes do not pay for.
#[derive(Debug)]
#[non_exhaustive]
pub enum ForeignError {
    /// Less is here than a field needs: a cut-off copy, or another format.
    Truncated {
        /// The field.
        field: &'static str,
        /// Its bytes.
        need: u64,
        /// The bytes that are left.
        have: u64,
    },
    /// More is here than the format knows of.
    Trailing {
        /// The bytes past the end.
        bytes: u64,
    },
    /// A field holds what the format does not allow.
    Field {
        /// The field.
        field: &'static str,
        /// What it holds.
        got: String,
        /// What it may hold.
        need: &'static str,
    },
    /// The bytes do not say what they are.
    Unrecognised {
        /// What they could be.
        candidates: Vec<Format>,
    },
    /// What the file does not say must be given.
    Missing {
        /// The format.
        format: Format,
        /// What it is.
        what: Missing,
    },
    /// A text that is no key of the wanted type.
    Key {
        /// The text.
        got: String,
        /// What it should have been.
        need: &'static str,
    },
    /// A type of keys that the format's programs do not have.
    KeyType {
        /// The format.
        format: Format,
        /// The type asked for.
        got: &'static str,
        /// Those it has.
        need: String,
    },
    /// A choice that the format does not leave.
    Choice {
        /// The format.
        format: Format,
        /// What was chosen.
        choice: Choice,
        /// What it has instead, or who has it.
        has: String,
    },
    /// Something this format cannot do.
    Refused {
        /// The format.
        format: Format,
        /// What, why, and the way out.
        what: &'static str,
    },
    /// Formats that hash differently: bits of one mean nothing in the other.
    Untranslatable {
        /// The format there is.
        from: Format,
        /// The format asked for.
        to: Format,
    },
    /// Our own file around a foreign filter is damaged, or none.
    Wrapper(FormatError),
    /// Two filters that cannot become one.
    Unlike(MergeError),
    /// A size, rate or amount of memory that cannot be.
    Spec(SpecError),
    /// Reading or writing failed outside.
    Io(io::Error),
}

impl ForeignError {
    /// A field that holds what it must not.
    pub(crate) fn field(
        field: &'static str,
        got: impl fmt::Display,
        need: &'static str,
    ) -> ForeignError {
        ForeignError::Field { field, got: got.to_string(), need }
    }
}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForeignError::Truncated { field, need, have } => {
                write!(
                    f,
                    "cut off in {field}: {have} of {need} bytes; copy it again, or name its true format"
                )
            }
            ForeignError::Trailing { bytes } => {
                write!(f, "{bytes} bytes behind the end; copy it again, or name its true format")
            }
            ForeignError::Field { field, got, need } => {
                write!(f, "{field} is {got}, it must be {need}")
            }
            ForeignError::Unrecognised { candidates } if candidates.is_empty() => {
                write!(f, "not a format known here")
            }
            ForeignError::Unrecognised { candidates } => {
                let names: Vec<_> = candidates.iter().map(|format| format.name()).collect();
                write!(f, "the bytes do not say what they are: it could be {}", names.join(", "))
            }
            ForeignError::Missing { format, what } => {
                write!(f, "a {format} file does not hold all that is needed: it lacks {what}")
            }
            ForeignError::Key { got, need } => write!(f, "key {got:?} is not {need}"),
            ForeignError::KeyType { format, got, need } => {
                write!(f, "{format} has no keys of type {got}: use {need}")
            }
            ForeignError::Choice { format, choice, has } => {
                write!(f, "{format} has no {choice}: {has}")
            }
            ForeignError::Refused { format, what } => write!(f, "{format}: {what}"),
            ForeignError::Untranslatable { from, to } => write!(
                f,
                "{from} and {to} hash differently, so bits cannot be translated: build a new one from the keys"
            ),
            ForeignError::Wrapper(error) => error.fmt(f),
            ForeignError::Unlike(error) => error.fmt(f),
            ForeignError::Spec(error) => error.fmt(f),
            ForeignError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ForeignError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ForeignError::Wrapper(error) => Some(error),
            ForeignError::Unlike(error) => Some(error),
            ForeignError::Spec(error) => Some(error),
            ForeignError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<FormatError> for ForeignError {
    fn from(error: FormatError) -> ForeignError {
        ForeignError::Wrapper(error)
    }
}

impl From<MergeError> for ForeignError {
    fn from(error: MergeError) -> ForeignError {
        ForeignError::Unlike(error)
    }
}

impl From<SpecError> for ForeignError {
    fn from(error: SpecError) -> ForeignError {
        ForeignError::Spec(error)
    }
}

impl From<io::Error> for ForeignError {
    fn from(error: io::Error) -> ForeignError {
        ForeignError::Io(error)
    }
}
