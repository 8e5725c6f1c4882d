//! Why two lists make no filter.

use crate::hash::Hash;
use crate::spec::SpecError;
use std::fmt;

/// Why no [`Cascade`](crate::Cascade) can be made of these lists.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CascadeError {
    /// Keys are in both lists, and nobody said which counts.
    InBoth {
        /// How many.
        keys: u64,
        /// The first thousand of their hashes, in order. Where two different keys share one, another seed
        /// parts them: at a hundred million against a billion keys once in two hundred builds.
        first: Vec<Hash>,
    },
    /// The keys cannot be told apart: numbers contrived to collide, hashes of keys never do.
    Contrived {
        /// In a part of so many keys.
        keys: u64,
    },
    /// The wish itself, memory, or lists that changed between passes.
    Spec(SpecError),
}

impl From<SpecError> for CascadeError {
    fn from(error: SpecError) -> CascadeError {
        CascadeError::Spec(error)
    }
}

impl fmt::Display for CascadeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CascadeError::InBoth { keys: 1, .. } => write!(
                f,
                "1 key is in both lists: take it from one of them, or say which list is preferred"
            ),
            CascadeError::InBoth { keys, .. } => write!(
                f,
                "{keys} keys are in both lists: take them from one, or say which list is preferred"
            ),
            CascadeError::Contrived { keys } => write!(
                f,
                "hashes contrived to collide among {keys} keys: build with another seed, or under a secret"
            ),
            CascadeError::Spec(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CascadeError {}
