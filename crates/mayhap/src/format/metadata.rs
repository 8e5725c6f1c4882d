//! A caller's metadata beside the filter.

use std::collections::BTreeMap;
use std::fmt;

/// Maximum bytes of a name, of a normaliser or of a pair.
pub(super) const MAX_NAME: usize = 255;
/// Maximum bytes of a pair's value.
pub(super) const MAX_VALUE: usize = 65_535;
/// Maximum number of pairs.
pub(super) const MAX_PAIRS: usize = 4096;
/// Maximum bytes of all names and values of pairs together.
pub(super) const MAX_PAIR_BYTES: usize = 256 << 10;

/// Metadata stored beside the filter: when it was created, how keys were normalised, and any other
/// names and values. None of it changes an answer.
///
/// ```
/// use mayhap::format::Metadata;
/// let metadata = Metadata::new().with_created(1_760_000_000).with_normalizer("url")?.with("source", "crawl 7")?;
/// assert_eq!(metadata.get("source"), Some("crawl 7"));
/// assert!(Metadata::new().with("", "no name").is_err());
/// # Ok::<(), mayhap::format::MetadataError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    created: u64,
    normalizer: String,
    pairs: BTreeMap<String, String>,
}

impl Metadata {
    /// Empty metadata.
    pub fn new() -> Metadata {
        Metadata::default()
    }

    /// When the filter was created, in seconds since 1970; 0 is unknown.
    pub fn with_created(self, seconds: u64) -> Metadata {
        Metadata { created: seconds, ..self }
    }

    /// The name of the normaliser applied to keys before hashing; "" is none.
    pub fn with_normalizer(self, name: impl Into<String>) -> Result<Metadata, MetadataError> {
        let normalizer = name.into();
        if normalizer.len() > MAX_NAME {
            return Err(MetadataError::Normalizer { got: normalizer.len() });
        }
        Ok(Metadata { normalizer, ..self })
    }

    /// A name and its value; replaces the previous value.
    pub fn with(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Metadata, MetadataError> {
        let (name, value) = (name.into(), value.into());
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(MetadataError::Name { got: name.len() });
        }
        if value.len() > MAX_VALUE {
            return Err(MetadataError::Value { got: value.len(), name });
        }
        self.pairs.insert(name, value);
        if self.pairs.len() > MAX_PAIRS {
            return Err(MetadataError::Pairs { got: self.pairs.len() });
        }
        let bytes = self.pair_bytes();
        if bytes > MAX_PAIR_BYTES {
            return Err(MetadataError::Bytes { got: bytes });
        }
        Ok(self)
    }

    /// When the filter was created, in seconds since 1970; 0 is unknown.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// The normaliser applied to keys before hashing; "" is none.
    pub fn normalizer(&self) -> &str {
        &self.normalizer
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

    /// From a header, whose pairs are sorted and within the limits.
    pub(super) fn from_header(
        created: u64,
        normalizer: String,
        pairs: BTreeMap<String, String>,
    ) -> Metadata {
        Metadata { created, normalizer, pairs }
    }
}

/// Why metadata is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataError {
    /// The name of a normaliser is too long.
    Normalizer {
        /// Its bytes.
        got: usize,
    },
    /// A name is empty or too long.
    Name {
        /// Its bytes.
        got: usize,
    },
    /// A value is too long.
    Value {
        /// Its name.
        name: String,
        /// Its bytes.
        got: usize,
    },
    /// Too many pairs.
    Pairs {
        /// How many.
        got: usize,
    },
    /// The pairs are too long in sum.
    Bytes {
        /// Their bytes.
        got: usize,
    },
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetadataError::Normalizer { got } => {
                write!(f, "normaliser's name of {got} bytes: there may be {MAX_NAME}")
            }
            MetadataError::Name { got } => {
                write!(f, "name of {got} bytes: there must be 1 to {MAX_NAME}")
            }
            MetadataError::Value { name, got } => {
                write!(f, "value of {got} bytes for {name:?}: there may be {MAX_VALUE}")
            }
            MetadataError::Pairs { got } => {
                write!(f, "{got} pairs of name and value: there may be {MAX_PAIRS}")
            }
            MetadataError::Bytes { got } => {
                write!(f, "{got} bytes of names and values: there may be {MAX_PAIR_BYTES}")
            }
        }
    }
}

impl std::error::Error for MetadataError {}
