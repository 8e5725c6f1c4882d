//! What a caller writes beside the filter.

use std::collections::BTreeMap;
use std::fmt;

/// The longest name, of a normaliser or of a pair, in bytes.
pub(super) const MAX_NAME: usize = 255;
/// The longest value of a pair, in bytes.
pub(super) const MAX_VALUE: usize = 65_535;
/// The most pairs.
pub(super) const MAX_PAIRS: usize = 4096;
/// The most bytes in all names and values of pairs together.
pub(super) const MAX_PAIR_BYTES: usize = 256 << 10;

/// What a caller wants remembered beside the filter: when it was made, how keys were normalised,
/// and anything else as name and value. None of it changes an answer.
///
/// ```
/// use mayhap::format::Notes;
/// let notes = Notes::new().with_created(1_760_000_000).with_normaliser("url")?.with("source", "crawl 7")?;
/// assert_eq!(notes.get("source"), Some("crawl 7"));
/// assert!(Notes::new().with("", "no name").is_err());
/// # Ok::<(), mayhap::format::NoteError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    created: u64,
    normaliser: String,
    pairs: BTreeMap<String, String>,
}

impl Notes {
    /// Nothing noted.
    pub fn new() -> Notes {
        Notes::default()
    }

    /// When the filter was made, in seconds since 1970; 0 is unknown.
    pub fn with_created(self, seconds: u64) -> Notes {
        Notes { created: seconds, ..self }
    }

    /// The name of what was done to keys before they were hashed; "" is nothing.
    pub fn with_normaliser(self, name: impl Into<String>) -> Result<Notes, NoteError> {
        let normaliser = name.into();
        if normaliser.len() > MAX_NAME {
            return Err(NoteError::Normaliser { got: normaliser.len() });
        }
        Ok(Notes { normaliser, ..self })
    }

    /// A name and its value; the value before it, if there was one, is forgotten.
    pub fn with(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Notes, NoteError> {
        let (name, value) = (name.into(), value.into());
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(NoteError::Name { got: name.len() });
        }
        if value.len() > MAX_VALUE {
            return Err(NoteError::Value { got: value.len(), name });
        }
        self.pairs.insert(name, value);
        if self.pairs.len() > MAX_PAIRS {
            return Err(NoteError::Pairs { got: self.pairs.len() });
        }
        let bytes = self.pair_bytes();
        if bytes > MAX_PAIR_BYTES {
            return Err(NoteError::Bytes { got: bytes });
        }
        Ok(self)
    }

    /// When the filter was made, in seconds since 1970; 0 is unknown.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// What was done to keys before they were hashed; "" is nothing.
    pub fn normaliser(&self) -> &str {
        &self.normaliser
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.get(name).map(String::as_str)
    }

    /// All names with their values, in the order of the names' bytes.
    pub fn pairs(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn pair_bytes(&self) -> usize {
        self.pairs.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// From a header, whose pairs are in order and already below the limits.
    pub(super) fn from_header(
        created: u64,
        normaliser: String,
        pairs: BTreeMap<String, String>,
    ) -> Notes {
        Notes { created, normaliser, pairs }
    }
}

/// Why something cannot be noted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoteError {
    /// A normaliser's name that is too long.
    Normaliser {
        /// Its bytes.
        got: usize,
    },
    /// A name that is empty or too long.
    Name {
        /// Its bytes.
        got: usize,
    },
    /// A value that is too long.
    Value {
        /// Whose value.
        name: String,
        /// Its bytes.
        got: usize,
    },
    /// Too many pairs.
    Pairs {
        /// How many.
        got: usize,
    },
    /// Pairs too long in sum.
    Bytes {
        /// Their bytes.
        got: usize,
    },
}

impl fmt::Display for NoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoteError::Normaliser { got } => {
                write!(f, "normaliser's name of {got} bytes: there may be {MAX_NAME}")
            }
            NoteError::Name { got } => {
                write!(f, "name of {got} bytes: there must be 1 to {MAX_NAME}")
            }
            NoteError::Value { name, got } => {
                write!(f, "value of {got} bytes for {name:?}: there may be {MAX_VALUE}")
            }
            NoteError::Pairs { got } => {
                write!(f, "{got} pairs of name and value: there may be {MAX_PAIRS}")
            }
            NoteError::Bytes { got } => {
                write!(f, "{got} bytes of names and values: there may be {MAX_PAIR_BYTES}")
            }
        }
    }
}

impl std::error::Error for NoteError {}
