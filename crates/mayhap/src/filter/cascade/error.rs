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
        /// The first thousand of their hashes, in order. Two different keys may share a hash: then
        /// rebuild with another seed. At a hundred million against a billion keys that happens once in
        /// two hundred builds.
        first: Vec<Hash>,
        /// The bytes of the first few of them, where the keys were at hand and not only their hashes.
        names: Vec<Vec<u8>>,
    },
    /// The keys cannot be told apart: numbers contrived to collide, hashes of keys never do.
    Contrived {
        /// In a part of so many keys.
        keys: u64,
    },
    /// The parameters, memory, or lists that changed between passes.
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
            CascadeError::InBoth { keys: 1, names, .. } => write!(
                f,
                "1 key is in both lists{}: take it from one of them, or say which list is preferred",
                Names(names, 1)
            ),
            CascadeError::InBoth { keys, names, .. } => write!(
                f,
                "{keys} keys are in both lists{}: take them from one, or say which list is preferred",
                Names(names, *keys)
            ),
            CascadeError::Contrived { keys } => write!(
                f,
                "hashes contrived to collide among {keys} keys: build with another seed, or under a secret"
            ),
            CascadeError::Spec(error) => error.fmt(f),
        }
    }
}

/// Some keys in brackets, of how many.
struct Names<'a>(&'a [Vec<u8>], u64);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        for (i, name) in self.0.iter().take(SHOWN).enumerate() {
            f.write_str(if i == 0 { " (" } else { ", " })?;
            match (str::from_utf8(name), <[u8; 8]>::try_from(name.as_slice())) {
                (Ok(text), _) if !text.chars().any(char::is_control) => write!(f, "{text:?}")?,
                // Eight bytes that are no text are an integer.
                (_, Ok(bytes)) => write!(f, "{}", u64::from_le_bytes(bytes))?,
                _ => write!(f, "\"{}\"", name.escape_ascii())?,
            }
        }
        match self.0.len() {
            0 => Ok(()),
            _ if self.1 > SHOWN as u64 => f.write_str(", …)"),
            _ => f.write_str(")"),
        }
    }
}

impl std::error::Error for CascadeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            CascadeError::Spec(error) => Some(error),
            _ => None,
        }
    }
}
