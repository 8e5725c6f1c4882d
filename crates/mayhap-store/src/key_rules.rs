//! How text becomes the bytes of a key: what a filter's file says against what its caller says.

use crate::keys::{Normalizer, TextEncoding};
use mayhap::format::{Metadata, MetadataError};
use mayhap_foreign::{ForeignError, Format, KeyType as ForeignKeyType};
use std::fmt;

/// The name under which a file's metadata says what its keys are.
const KEY_TYPE: &str = "mayhap.key-type";

/// Whether a name in a file's metadata is set by Mayhap alone.
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("mayhap.")
}

/// What a key is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyType {
    /// The bytes as they are.
    #[default]
    Bytes,
    /// A decimal number of up to 64 bits.
    I64,
    /// A decimal number of up to 32 bits.
    I32,
    /// Text as UTF-16, as Java's `unencodedCharsFunnel` hashes it.
    Utf16,
    /// Bytes written in hex.
    Hex,
}

impl KeyType {
    /// All of them.
    pub const ALL: [KeyType; 5] =
        [KeyType::Bytes, KeyType::I64, KeyType::I32, KeyType::Utf16, KeyType::Hex];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            KeyType::Bytes => "bytes",
            KeyType::I64 => "i64",
            KeyType::I32 => "i32",
            KeyType::Utf16 => "utf16",
            KeyType::Hex => "hex",
        }
    }

    /// The type with this name.
    pub fn from_name(name: &str) -> Option<KeyType> {
        KeyType::ALL.into_iter().find(|key_type| key_type.name() == name)
    }

    /// The type as other programs' formats have it.
    pub const fn foreign(self) -> ForeignKeyType {
        match self {
            KeyType::Bytes | KeyType::Hex => ForeignKeyType::Bytes,
            KeyType::I64 => ForeignKeyType::I64,
            KeyType::I32 => ForeignKeyType::I32,
            KeyType::Utf16 => ForeignKeyType::Utf16,
        }
    }

    /// How Mayhap's own filters encode it: integers are one key whatever their width.
    const fn encoding(self) -> TextEncoding {
        match self {
            KeyType::Bytes => TextEncoding::Bytes,
            KeyType::I64 => TextEncoding::I64,
            KeyType::I32 => TextEncoding::I32 { wide: true },
            KeyType::Utf16 => TextEncoding::Utf16,
            KeyType::Hex => TextEncoding::Hex,
        }
    }

    /// How a format's programs encode it.
    fn foreign_encoding(self, format: Format) -> TextEncoding {
        match self {
            KeyType::I32 if matches!(format, Format::Kevburnsjr | Format::NumBase64) => {
                TextEncoding::I32Be
            }
            KeyType::I32 => {
                TextEncoding::I32 { wide: matches!(format, Format::Spark | Format::Orc) }
            }
            // JavaScript's strings: its scheme makes UTF-16 of the UTF-8 it is given.
            KeyType::Utf16 if format != Format::Guava => TextEncoding::Bytes,
            other => other.encoding(),
        }
    }

    const fn is_integer(self) -> bool {
        matches!(self, KeyType::I64 | KeyType::I32)
    }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the caller says about keys: a flag, a query string, an argument. Nothing: as the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRequest {
    /// What a key is.
    pub key_type: Option<KeyType>,
    /// What is done to it first.
    pub normalizer: Option<Normalizer>,
}

/// What a file says about keys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stored<'a> {
    /// A Mayhap file's metadata; `None` for other programs' files, which have none.
    pub metadata: Option<&'a Metadata>,
    /// Another program's format, and its keys where that is known.
    pub foreign: Option<(Format, Option<ForeignKeyType>)>,
}

/// How text becomes a key, resolved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRules {
    /// What is done to the text first.
    pub normalizer: Normalizer,
    /// The bytes that are hashed.
    pub encoding: TextEncoding,
}

impl KeyRules {
    /// The rules of a new filter of Mayhap's own.
    pub fn new(asked: &KeyRequest) -> Result<KeyRules, KeyRulesError> {
        KeyRules::resolve(Stored::default(), asked)
    }

    /// The rules of a new filter of another program's.
    pub fn of_format(format: Format, asked: &KeyRequest) -> Result<KeyRules, KeyRulesError> {
        KeyRules::resolve(Stored { metadata: None, foreign: Some((format, None)) }, asked)
    }

    /// The rules of a file with this metadata, where a filter is somewhere else.
    pub fn of_metadata(metadata: &Metadata, asked: &KeyRequest) -> Result<KeyRules, KeyRulesError> {
        KeyRules::resolve(Stored { metadata: Some(metadata), foreign: None }, asked)
    }

    /// What the file says; a caller who says otherwise would miss its keys, which is an error.
    pub(crate) fn resolve(
        stored: Stored<'_>,
        asked: &KeyRequest,
    ) -> Result<KeyRules, KeyRulesError> {
        let normalizer = match stored.metadata {
            Some(metadata) => stored_normalizer(metadata, asked.normalizer)?,
            None => asked.normalizer.unwrap_or_default(),
        };
        let (encoding, key_type) = match (stored.foreign, stored.metadata) {
            (Some((format, stored)), _) => foreign_key_type(format, stored, asked.key_type)?,
            (None, Some(metadata)) => stored_key_type(metadata, asked.key_type)?,
            (None, None) => {
                let key_type = asked.key_type.unwrap_or_default();
                (key_type.encoding(), key_type)
            }
        };
        if key_type.is_integer() && normalizer != Normalizer::None {
            return Err(KeyRulesError::NormalizedInteger { normalizer: normalizer.name() });
        }
        Ok(KeyRules { normalizer, encoding })
    }

    /// Metadata that says so, for the same keys to be found again.
    pub fn note(&self, metadata: Metadata) -> Result<Metadata, MetadataError> {
        let metadata = metadata.with_normalizer(self.normalizer.note())?;
        let key_type = KeyType::ALL.into_iter().find(|known| known.encoding() == self.encoding);
        match key_type.unwrap_or_default() {
            KeyType::Bytes => Ok(metadata),
            other => metadata.with(KEY_TYPE, other.name()),
        }
    }
}

/// What metadata says the keys are.
pub fn key_type_of(metadata: &Metadata) -> &str {
    metadata.get(KEY_TYPE).unwrap_or(KeyType::Bytes.name())
}

/// What metadata says is done to keys first.
pub fn normalizer_of(metadata: &Metadata) -> &str {
    match metadata.normalizer() {
        "" => "none",
        name => name,
    }
}

fn stored_normalizer(
    metadata: &Metadata,
    asked: Option<Normalizer>,
) -> Result<Normalizer, KeyRulesError> {
    let name = metadata.normalizer();
    let stored = Normalizer::from_name(name)
        .ok_or_else(|| KeyRulesError::UnknownNormalizer { name: name.to_owned() })?;
    match asked {
        Some(asked) if asked != stored => {
            Err(KeyRulesError::Normalizer { got: asked.name(), need: stored.name() })
        }
        _ => Ok(stored),
    }
}

fn stored_key_type(
    metadata: &Metadata,
    asked: Option<KeyType>,
) -> Result<(TextEncoding, KeyType), KeyRulesError> {
    let name = key_type_of(metadata);
    let stored = KeyType::from_name(name)
        .ok_or_else(|| KeyRulesError::UnknownKeyType { name: name.to_owned() })?;
    match asked {
        // Integers are one key whatever their width.
        Some(asked) if asked != stored && !(asked.is_integer() && stored.is_integer()) => {
            Err(KeyRulesError::KeyType { got: asked, need: stored.name() })
        }
        asked => {
            let key_type = asked.unwrap_or(stored);
            Ok((key_type.encoding(), key_type))
        }
    }
}

fn foreign_key_type(
    format: Format,
    stored: Option<ForeignKeyType>,
    asked: Option<KeyType>,
) -> Result<(TextEncoding, KeyType), KeyRulesError> {
    if let (Some(asked), Some(stored)) = (asked, stored)
        && asked.foreign() != stored
    {
        return Err(KeyRulesError::KeyType { got: asked, need: stored.name() });
    }
    let key_type = asked.unwrap_or_else(|| {
        let known = KeyType::ALL.into_iter().find(|known| Some(known.foreign()) == stored);
        known.unwrap_or_default()
    });
    key_type.foreign().check(format).map_err(KeyRulesError::Foreign)?;
    Ok((key_type.foreign_encoding(format), key_type))
}

/// Why text cannot be made into a filter's keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyRulesError {
    /// Keys were stored normalized in another way.
    #[error("the filter's keys are normalized by {need}, not by {got}")]
    Normalizer {
        /// What was asked for.
        got: &'static str,
        /// What the file says.
        need: &'static str,
    },
    /// Keys are of another type.
    #[error("the filter's keys are {need}, not {got}")]
    KeyType {
        /// What was asked for.
        got: KeyType,
        /// What the file says.
        need: &'static str,
    },
    /// A later release has a normalizer that this one does not know.
    #[error("its keys are normalized by {name:?}, which this release does not know")]
    UnknownNormalizer {
        /// What the file says.
        name: String,
    },
    /// A later release has a type of keys that this one does not know.
    #[error("its keys are of type {name:?}, which this release does not know")]
    UnknownKeyType {
        /// What the file says.
        name: String,
    },
    /// Numbers have no letters.
    #[error("keys are integers, which cannot be normalized by {normalizer}")]
    NormalizedInteger {
        /// What was asked for.
        normalizer: &'static str,
    },
    /// The format's programs have no such keys.
    #[error("{0}")]
    Foreign(#[source] ForeignError),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(key_type: Option<KeyType>, normalizer: Option<Normalizer>) -> KeyRequest {
        KeyRequest { key_type, normalizer }
    }

    #[test]
    fn what_is_noted_is_found_again_and_nothing_else() {
        for key_type in KeyType::ALL {
            let asked = request(Some(key_type), None);
            let rules = KeyRules::new(&asked).unwrap();
            let metadata = rules.note(Metadata::new()).unwrap();
            assert_eq!(key_type_of(&metadata), key_type.name());
            let again = KeyRules::of_metadata(&metadata, &KeyRequest::default()).unwrap();
            assert_eq!(again, rules);
            for other in KeyType::ALL {
                let alike = other == key_type || (other.is_integer() && key_type.is_integer());
                let asked = request(Some(other), None);
                assert_eq!(KeyRules::of_metadata(&metadata, &asked).is_ok(), alike);
            }
        }
    }

    #[test]
    fn a_contradiction_is_an_error() {
        let metadata = Metadata::new().with_normalizer("lower").unwrap();
        let wrong = KeyRules::of_metadata(&metadata, &request(None, Some(Normalizer::Url)));
        assert!(matches!(wrong, Err(KeyRulesError::Normalizer { need: "lower", .. })));
        let unknown = Metadata::new().with_normalizer("later").unwrap();
        assert!(KeyRules::of_metadata(&unknown, &KeyRequest::default()).is_err());
        let number = request(Some(KeyType::I64), Some(Normalizer::Lower));
        assert!(matches!(KeyRules::new(&number), Err(KeyRulesError::NormalizedInteger { .. })));
    }

    #[test]
    fn a_formats_integers_are_encoded_as_its_programs_do() {
        let encoding = |format, key_type| {
            let rules = KeyRules::of_format(format, &request(Some(key_type), None));
            rules.map(|rules| rules.encoding).ok()
        };
        assert_eq!(encoding(Format::Guava, KeyType::I32), Some(TextEncoding::I32 { wide: false }));
        assert_eq!(encoding(Format::Spark, KeyType::I32), Some(TextEncoding::I32 { wide: true }));
        assert_eq!(encoding(Format::Kevburnsjr, KeyType::I32), Some(TextEncoding::I32Be));
        assert_eq!(encoding(Format::Guava, KeyType::Utf16), Some(TextEncoding::Utf16));
        assert_eq!(encoding(Format::BloomfilterJs, KeyType::Utf16), Some(TextEncoding::Bytes));
        assert_eq!(encoding(Format::Leveldb, KeyType::I64), None);
        assert_eq!(encoding(Format::Leveldb, KeyType::Hex), Some(TextEncoding::Hex));
    }
}
