//! How the values of a column are stored, which is how its filter hashes them.

use crate::ForeignError;
use crate::options::{bad, number};
use std::borrow::Cow;
use std::fmt;

/// The physical type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Physical {
    /// One bit; has no filters.
    Boolean,
    /// Four bytes.
    Int32,
    /// Eight bytes.
    Int64,
    /// Twelve bytes, of old timestamps.
    Int96,
    /// Four bytes, IEEE 754.
    Float,
    /// Eight bytes, IEEE 754.
    Double,
    /// Strings and byte strings.
    ByteArray,
    /// Byte strings of one length: UUIDs, decimals.
    FixedLenByteArray,
}

impl Physical {
    pub(super) fn from_id(id: i64) -> Result<Physical, ForeignError> {
        Ok(match id {
            0 => Physical::Boolean,
            1 => Physical::Int32,
            2 => Physical::Int64,
            3 => Physical::Int96,
            4 => Physical::Float,
            5 => Physical::Double,
            6 => Physical::ByteArray,
            7 => Physical::FixedLenByteArray,
            _ => return Err(ForeignError::field("type of a column", id, "0 to 7")),
        })
    }

    /// The name Parquet gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Physical::Boolean => "BOOLEAN",
            Physical::Int32 => "INT32",
            Physical::Int64 => "INT64",
            Physical::Int96 => "INT96",
            Physical::Float => "FLOAT",
            Physical::Double => "DOUBLE",
            Physical::ByteArray => "BYTE_ARRAY",
            Physical::FixedLenByteArray => "FIXED_LEN_BYTE_ARRAY",
        }
    }

    /// The bytes a filter of such a column hashes for a value that people write like this: numbers
    /// in decimal, all else as it is.
    ///
    /// A number is the stored one: a decimal, date or timestamp column holds integers.
    ///
    /// ```
    /// use mayhap_foreign::parquet::Physical;
    /// assert_eq!(Physical::Int32.key(b"-2")?.as_ref(), [0xfe, 0xff, 0xff, 0xff]);
    /// assert_eq!(Physical::Double.key(b"0.5")?.as_ref(), 0.5f64.to_le_bytes());
    /// assert_eq!(Physical::ByteArray.key(b"0.5")?.as_ref(), b"0.5");
    /// assert!(Physical::Int64.key(b"0.5").is_err());
    /// # Ok::<(), mayhap_foreign::ForeignError>(())
    /// ```
    pub fn key(self, text: &[u8]) -> Result<Cow<'_, [u8]>, ForeignError> {
        Ok(match self {
            Physical::ByteArray | Physical::FixedLenByteArray => Cow::Borrowed(text),
            Physical::Int32 => {
                Cow::Owned(number::<i32>(text, "a 32-bit integer")?.to_le_bytes().into())
            }
            Physical::Int64 => {
                Cow::Owned(number::<i64>(text, "a 64-bit integer")?.to_le_bytes().into())
            }
            Physical::Float => Cow::Owned(number::<f32>(text, "a number")?.to_le_bytes().into()),
            Physical::Double => Cow::Owned(number::<f64>(text, "a number")?.to_le_bytes().into()),
            Physical::Boolean | Physical::Int96 => {
                let need = "of a column whose values can be written: BOOLEAN and INT96 cannot";
                return Err(bad(text, need));
            }
        })
    }
}

impl fmt::Display for Physical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
