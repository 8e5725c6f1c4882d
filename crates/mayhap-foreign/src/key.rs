//! From what people type to what a program hashed.

use crate::{ForeignError, Format};
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

/// What becomes of a number's text.
#[derive(Clone, Copy)]
enum Spelling {
    /// Eight bytes, little-endian.
    Le8,
    /// Four bytes, little-endian.
    Le4,
    /// Four bytes, big-endian.
    Be4,
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
        match self {
            KeyType::Bytes => return Ok(Cow::Borrowed(text)),
            // They know no other, and get their strings as UTF-8 either way.
            KeyType::Utf16
                if matches!(format, Format::BloomfilterJs | Format::BloomfilterJsOld) =>
            {
                return Ok(Cow::Borrowed(text));
            }
            KeyType::Utf16 if format == Format::Guava => return utf16(text),
            _ => {}
        }
        let spelling = self.spelling(format)?;
        match self {
            KeyType::I32 => {
                let number: i32 = number(text, "a 32-bit integer")?;
                Ok(Cow::Owned(match spelling {
                    Spelling::Le8 => i64::from(number).to_le_bytes().to_vec(),
                    Spelling::Le4 => number.to_le_bytes().to_vec(),
                    Spelling::Be4 => number.to_be_bytes().to_vec(),
                }))
            }
            _ => {
                let number: i64 = number(text, "a 64-bit integer")?;
                Ok(Cow::Owned(number.to_le_bytes().to_vec()))
            }
        }
    }

    /// Fails where the format's programs have no such keys.
    pub fn check(self, format: Format) -> Result<(), ForeignError> {
        let sample: &[u8] = if self == KeyType::Utf16 { b"" } else { b"0" };
        self.key(format, sample).map(drop)
    }

    fn spelling(self, format: Format) -> Result<Spelling, ForeignError> {
        match (format, self) {
            (Format::Guava | Format::Parquet | Format::ParquetBitset, KeyType::I64) => {
                Ok(Spelling::Le8)
            }
            (Format::Guava | Format::Parquet | Format::ParquetBitset, KeyType::I32) => {
                Ok(Spelling::Le4)
            }
            (Format::Spark | Format::Orc, KeyType::I64 | KeyType::I32) => Ok(Spelling::Le8),
            (Format::Kevburnsjr | Format::NumBase64, KeyType::I32) => Ok(Spelling::Be4),
            _ => {
                Err(ForeignError::KeyType { format, got: self.name(), need: KeyType::need(format) })
            }
        }
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

/// Each unit in two bytes, little-endian, without a mark of the order.
fn utf16(text: &[u8]) -> Result<Cow<'_, [u8]>, ForeignError> {
    let text = str::from_utf8(text).map_err(|_| bad(text, "UTF-8"))?;
    Ok(Cow::Owned(text.encode_utf16().flat_map(u16::to_le_bytes).collect()))
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
