//! Fields off the front of somebody else's bytes, none believed before it is seen.

use crate::ForeignError;
use std::ops::Range;

/// Takes fields off the front of bytes. A length is compared with what is left before anything is
/// taken, so that no field can ask for memory that the bytes do not pay for.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// `u16_le("field")` and so on.
macro_rules! numbers {
    ($($name:ident $int:ty, $from:ident;)*) => {$(
        #[doc = concat!("The next ", stringify!($int), ", by `", stringify!($from), "`.")]
        pub fn $name(&mut self, field: &'static str) -> Result<$int, ForeignError> {
            self.array(field).map(<$int>::$from)
        }
    )*};
}

impl<'a> Reader<'a> {
    /// At the start of these bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// How many bytes were taken.
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `bytes` bytes.
    pub fn take(&mut self, field: &'static str, bytes: u64) -> Result<&'a [u8], ForeignError> {
        let range = self.skip(field, bytes)?;
        Ok(&self.bytes[range])
    }

    /// Step over the next `bytes` bytes; where they lie.
    pub fn skip(&mut self, field: &'static str, bytes: u64) -> Result<Range<usize>, ForeignError> {
        let have = self.left();
        let Some(taken) = usize::try_from(bytes).ok().filter(|bytes| *bytes <= have) else {
            return Err(ForeignError::Truncated { field, need: bytes, have: have as u64 });
        };
        let start = self.at;
        self.at += taken;
        Ok(start..self.at)
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], ForeignError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(field, N as u64)?);
        Ok(array)
    }

    numbers! {
        u8 u8, from_le_bytes;
        u16_le u16, from_le_bytes;
        u32_le u32, from_le_bytes;
        u64_le u64, from_le_bytes;
        i64_le i64, from_le_bytes;
        f64_le f64, from_le_bytes;
        i32_be i32, from_be_bytes;
        u32_be u32, from_be_bytes;
        u64_be u64, from_be_bytes;
    }

    /// The next number in the varint spelling of Protocol Buffers: seven bits a byte, the lowest
    /// first, the top bit where more follow.
    pub fn varint(&mut self, field: &'static str) -> Result<u64, ForeignError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(field)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(ForeignError::field(field, "a longer number", "a number below 2^64"))
    }

    /// Fails where bytes are left: they mean that something was misread.
    pub fn end(&self) -> Result<(), ForeignError> {
        match self.left() {
            0 => Ok(()),
            bytes => Err(ForeignError::Trailing { bytes: bytes as u64 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_in_order_and_never_past_the_end() {
        let mut reader = Reader::new(&[1, 0, 2, 0, 0, 0, 3, 9, 9]);
        assert_eq!(reader.u8("a").unwrap(), 1);
        assert_eq!(reader.u16_le("b").unwrap(), 0x0200);
        assert_eq!(reader.u32_be("c").unwrap(), 3);
        let error = reader.u64_le("d").unwrap_err();
        assert!(matches!(error, ForeignError::Truncated { field: "d", need: 8, have: 2 }));
        assert!(matches!(reader.end(), Err(ForeignError::Trailing { bytes: 2 })));
        assert!(reader.take("e", u64::MAX).is_err());
        assert_eq!(reader.rest(), [9, 9]);
        assert!(reader.end().is_ok());
    }

    #[test]
    fn varints_end_at_64_bits() {
        let of = |bytes: &[u8]| Reader::new(bytes).varint("n").ok();
        assert_eq!(of(&[0]), Some(0));
        assert_eq!(of(&[0xac, 2]), Some(300));
        assert_eq!(of(&[0x80, 0x80]), None);
        let mut most = [0xff; 10];
        most[9] = 1;
        assert_eq!(of(&most), Some(u64::MAX));
        most[9] = 2;
        assert_eq!(of(&most), None);
        assert_eq!(of(&[0x80; 11]), None);
    }
}
