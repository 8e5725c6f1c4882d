//! From what people type to what a program hashed.

use crate::{ForeignError, Format};
use mayhap::{KeyEncoding, KeyValue};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// What the keys of a filter are, in the program that made it. No format's file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// Strings and byte strings: the bytes as they are.
    #[default]
    Bytes,
    /// 64-bit integers (Java's `long`), written as decimal numbers.
    I64,
    /// 32-bit integers (Java's `int`), written as decimal numbers.
    I32,
    /// Strings hashed as UTF-16 (Java's `unencodedCharsFunnel`), written as UTF-8.
    Utf16,
}

impl KeyType {
    /// All of them.
    pub const ALL: [KeyType; 4] = [KeyType::Bytes, KeyType::I64, KeyType::I32, KeyType::Utf16];

    /// The name people type.
    pub const fn name(self) -> &'static str {
        match self {
            KeyType::Bytes => "bytes",
            KeyType::I64 => "i64",
            KeyType::I32 => "i32",
            KeyType::Utf16 => "utf16",
        }
    }

    /// The bytes that a format hashes for a key written like this.
    ///
    /// Guava and Parquet take integers little-endian, in their own width; Spark and ORC widen them
    /// to 64 bits; kevburnsjr's `AddInt` takes 4 bytes big-endian. Formats without integers refuse
    /// them: where a program adds `42` as text, the type is `bytes`.
    ///
    /// ```
    /// use mayhap_foreign::{Format, KeyType};
    /// assert_eq!(KeyType::I32.key(Format::Guava, b"-2")?.as_ref(), [0xfe, 0xff, 0xff, 0xff]);
    /// assert_eq!(KeyType::Utf16.key(Format::Guava, "é".as_bytes())?.as_ref(), [0xe9, 0]);
    /// assert!(KeyType::I64.key(Format::Guava, b"forty-two").is_err());
    /// assert!(KeyType::I64.key(Format::Leveldb, b"42").is_err());
    /// # Ok::<(), mayhap_foreign::ForeignError>(())
    /// ```
    pub fn key(self, format: Format, text: &[u8]) -> Result<Cow<'_, [u8]>, ForeignError> {
        let encoding = self.encoding(format)?;
        let value = match (encoding, self) {
            (KeyEncoding::Bytes, _) => return Ok(Cow::Borrowed(text)),
            (KeyEncoding::Utf16, _) => {
                KeyValue::Text(str::from_utf8(text).map_err(|_| bad(text, "UTF-8"))?)
            }
            (_, KeyType::I32) => number::<i32>(text, "a 32-bit integer")?.into(),
            _ => number::<i64>(text, "a 64-bit integer")?.into(),
        };
        let encoded = encoding.encode(value).map_err(|_| bad(text, encoding_name(encoding)))?;
        Ok(Cow::Owned(encoded.as_ref().to_vec()))
    }

    /// How the format's programs make bytes of such keys; an error where they have none.
    ///
    /// ```
    /// use mayhap::KeyEncoding;
    /// use mayhap_foreign::{Format, KeyType, guava};
    /// let encoding = KeyType::I32.encoding(Format::Guava)?;
    /// assert_eq!(encoding, KeyEncoding::I32);
    /// let mut filter = guava::create(100, 0.01, guava::Release::default())?;
    /// filter.insert(encoding.encode(7)?);
    /// assert!(filter.contains(encoding.encode(7i64)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A typed value by itself does not compile, since it would be hashed as other bytes:
    ///
    /// ```compile_fail
    /// # use mayhap_foreign::guava;
    /// # let filter = guava::create(100, 0.01, guava::Release::default())?;
    /// filter.contains(7i32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encoding(self, format: Format) -> Result<KeyEncoding, ForeignError> {
        use Format::{BloomfilterJs, BloomfilterJsOld, Guava, Kevburnsjr, NumBase64, Orc};
        use Format::{Parquet, ParquetBitset, Spark};
        match (self, format) {
            (KeyType::Bytes, _) => Ok(KeyEncoding::Bytes),
            (KeyType::Utf16, Guava) => Ok(KeyEncoding::Utf16),
            // They know no other, and get their strings as UTF-8 either way.
            (KeyType::Utf16, BloomfilterJs | BloomfilterJsOld) => Ok(KeyEncoding::Bytes),
            (KeyType::I64, Guava | Parquet | ParquetBitset | Spark | Orc) => Ok(KeyEncoding::I64),
            (KeyType::I32, Guava | Parquet | ParquetBitset) => Ok(KeyEncoding::I32),
            // Widened before they are hashed.
            (KeyType::I32, Spark | Orc) => Ok(KeyEncoding::I64),
            (KeyType::I32, Kevburnsjr | NumBase64) => Ok(KeyEncoding::I32Be),
            _ => {
                Err(ForeignError::KeyType { format, got: self.name(), need: KeyType::need(format) })
            }
        }
    }

    /// Fails where the format's programs have no such keys.
    pub fn check(self, format: Format) -> Result<(), ForeignError> {
        self.encoding(format).map(drop)
    }

    const fn need(format: Format) -> &'static str {
        match format {
            Format::Guava => "bytes, i64, i32 or utf16",
            Format::Parquet | Format::ParquetBitset | Format::Spark | Format::Orc => {
                "bytes, i64 or i32"
            }
            Format::Kevburnsjr | Format::NumBase64 => "bytes or i32",
            Format::BloomfilterJs | Format::BloomfilterJsOld => "bytes or utf16",
            _ => "bytes",
        }
    }
}

const fn encoding_name(encoding: KeyEncoding) -> &'static str {
    match encoding {
        KeyEncoding::I32 | KeyEncoding::I32Be => "a 32-bit integer",
        KeyEncoding::I64 => "a 64-bit integer",
        _ => "text",
    }
}

/// The number that this text is.
pub(crate) fn number<T: FromStr>(text: &[u8], need: &'static str) -> Result<T, ForeignError> {
    let number = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| bad(text, need))
}

/// This text is no key of the sort.
pub(crate) fn bad(text: &[u8], need: &'static str) -> ForeignError {
    let shown = &text[..text.len().min(80)];
    ForeignError::Key { got: String::from_utf8_lossy(shown).into_owned(), need }
}

impl fmt::Display for KeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no type of keys has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKeyType(String);

impl fmt::Display for UnknownKeyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no type of keys {:?}: there are bytes, i64, i32, utf16", self.0)
    }
}

impl std::error::Error for UnknownKeyType {}

impl FromStr for KeyType {
    type Err = UnknownKeyType;

    fn from_str(name: &str) -> Result<KeyType, UnknownKeyType> {
        let found = KeyType::ALL.into_iter().find(|key_type| key_type.name() == name);
        found.ok_or_else(|| UnknownKeyType(name.to_owned()))
    }
}
