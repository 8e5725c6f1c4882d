//! How another program makes bytes of its keys.

use super::{ByteKeys, Key, KeyOf};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// How a program makes bytes of its keys before it hashes them. Said once for a filter; a value
/// that does not fit it is an error, never a "no".
///
/// ```
/// use mayhap::key::KeyEncoding;
/// assert_eq!(KeyEncoding::I32.encode(-2)?.as_ref(), [0xfe, 0xff, 0xff, 0xff]);
/// assert_eq!(KeyEncoding::I64.encode(7u8)?.as_ref(), [7, 0, 0, 0, 0, 0, 0, 0]);
/// assert_eq!(KeyEncoding::Utf16.encode("é")?.as_ref(), [0xe9, 0]);
/// assert!(KeyEncoding::I32.encode(5_000_000_000i64).is_err());
/// assert!(KeyEncoding::Bytes.encode(7).is_err() && KeyEncoding::I64.encode("7").is_err());
/// # Ok::<(), mayhap::key::KeyMismatch>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyEncoding {
    /// Strings and byte strings, as they are.
    #[default]
    Bytes,
    /// Text as UTF-16, each unit little-endian.
    Utf16,
    /// 32-bit integers: four bytes, little-endian.
    I32,
    /// 32-bit integers: four bytes, big-endian.
    I32Be,
    /// 64-bit integers: eight bytes, little-endian.
    I64,
}

impl KeyEncoding {
    /// The bytes that are hashed for a value.
    pub fn encode<'a>(self, value: impl Into<KeyValue<'a>>) -> Result<EncodedKey<'a>, KeyMismatch> {
        let value = value.into();
        let mismatch = KeyMismatch { encoding: self, got: value.kind() };
        let small = |bytes: &[u8]| {
            let mut inline = [0; 8];
            inline[..bytes.len()].copy_from_slice(bytes);
            EncodedKey(Bytes::Inline(inline, bytes.len()))
        };
        Ok(match (self, value) {
            (KeyEncoding::Bytes, KeyValue::Bytes(bytes)) => EncodedKey(Bytes::Borrowed(bytes)),
            (KeyEncoding::Bytes, KeyValue::Text(text)) => {
                EncodedKey(Bytes::Borrowed(text.as_bytes()))
            }
            (KeyEncoding::Utf16, KeyValue::Text(text)) => {
                let units = text.encode_utf16().flat_map(u16::to_le_bytes);
                EncodedKey(Bytes::Owned(units.collect()))
            }
            (KeyEncoding::I32, KeyValue::Integer(number)) => {
                small(&i32::try_from(number).map_err(|_| mismatch)?.to_le_bytes())
            }
            (KeyEncoding::I32Be, KeyValue::Integer(number)) => {
                small(&i32::try_from(number).map_err(|_| mismatch)?.to_be_bytes())
            }
            (KeyEncoding::I64, KeyValue::Integer(number)) => {
                small(&i64::try_from(number).map_err(|_| mismatch)?.to_le_bytes())
            }
            _ => return Err(mismatch),
        })
    }

    /// What it takes, in messages.
    const fn takes(self) -> &'static str {
        match self {
            KeyEncoding::Bytes => "strings and byte strings",
            KeyEncoding::Utf16 => "text",
            KeyEncoding::I32 | KeyEncoding::I32Be => "integers of 32 bits",
            KeyEncoding::I64 => "integers of 64 bits",
        }
    }
}

/// A value to be encoded: anything that a string, a byte string or an integer makes with
/// `into()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyValue<'a> {
    /// A byte string.
    Bytes(&'a [u8]),
    /// Text.
    Text(&'a str),
    /// An integer of any width.
    Integer(i128),
}

impl KeyValue<'_> {
    const fn kind(self) -> Got {
        match self {
            KeyValue::Bytes(_) => Got::Bytes,
            KeyValue::Text(_) => Got::Text,
            KeyValue::Integer(number) => Got::Integer(number),
        }
    }
}

impl<'a> From<&'a [u8]> for KeyValue<'a> {
    fn from(bytes: &'a [u8]) -> KeyValue<'a> {
        KeyValue::Bytes(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for KeyValue<'a> {
    fn from(bytes: &'a [u8; N]) -> KeyValue<'a> {
        KeyValue::Bytes(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for KeyValue<'a> {
    fn from(bytes: &'a Vec<u8>) -> KeyValue<'a> {
        KeyValue::Bytes(bytes)
    }
}

impl<'a> From<&'a str> for KeyValue<'a> {
    fn from(text: &'a str) -> KeyValue<'a> {
        KeyValue::Text(text)
    }
}

impl<'a> From<&'a String> for KeyValue<'a> {
    fn from(text: &'a String) -> KeyValue<'a> {
        KeyValue::Text(text)
    }
}

macro_rules! integers {
    ($($int:ty),*) => {$(
        impl From<$int> for KeyValue<'_> {
            fn from(number: $int) -> Self {
                // Lossless: none is wider than 64 bits.
                KeyValue::Integer(number as i128)
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

/// The bytes of a value, as its encoding has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodedKey<'a>(Bytes<'a>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Inline([u8; 8], usize),
    Owned(Vec<u8>),
}

impl AsRef<[u8]> for EncodedKey<'_> {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Inline(bytes, used) => &bytes[..*used],
            Bytes::Owned(bytes) => bytes,
        }
    }
}

impl Key for EncodedKey<'_> {
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.as_ref()
    }
}

impl KeyOf<ByteKeys> for EncodedKey<'_> {}

/// A value that does not fit the key encoding of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyMismatch {
    encoding: KeyEncoding,
    got: Got,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    Bytes,
    Text,
    Integer(i128),
}

impl fmt::Display for KeyMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.got {
            Got::Bytes => f.write_str("a byte string")?,
            Got::Text => f.write_str("text")?,
            Got::Integer(number) => write!(f, "the integer {number}")?,
        }
        write!(f, " is not a key of this filter: its keys are {}", self.encoding.takes())
    }
}

impl core::error::Error for KeyMismatch {}
