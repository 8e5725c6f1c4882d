//! The bytes that are hashed.

use mayhap::key::decode_hex;

/// How the text of a key is encoded as bytes.
///
/// `Bytes` is the text itself; the others parse it first. Integers are decimal, with spaces around
/// them allowed.
///
/// ```
/// use mayhap_store::keys::TextEncoding;
/// let mut bytes = Vec::new();
/// assert!(TextEncoding::I64.encode(b"-2", &mut bytes));
/// assert_eq!(bytes, (-2i64).to_le_bytes());
/// assert!(!TextEncoding::I64.encode(b"two", &mut bytes));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextEncoding {
    /// The bytes of the text.
    #[default]
    Bytes,
    /// The bytes given by hexadecimal text, two digits each.
    Hex,
    /// A 64-bit integer: eight bytes, little-endian, as the engine encodes all integers.
    I64,
    /// A 32-bit integer.
    I32 {
        /// Whether it is widened to the engine's eight bytes; four otherwise, as other programs do.
        wide: bool,
    },
    /// A 32-bit integer in four bytes, big-endian, like kevburnsjr/bloomfilter's `AddInt`.
    I32Be,
    /// UTF-16 code units, little-endian, as Java's strings are hashed.
    Utf16,
}

impl TextEncoding {
    /// Replace `bytes` by the encoding of a text. `false` if the text cannot be parsed.
    pub fn encode(self, text: &[u8], bytes: &mut Vec<u8>) -> bool {
        bytes.clear();
        match self {
            TextEncoding::Bytes => bytes.extend_from_slice(text),
            TextEncoding::Hex => {
                let (digits, start) = (text.trim_ascii(), bytes.len());
                bytes.resize(start + digits.len() / 2, 0);
                return decode_hex(digits, &mut bytes[start..]);
            }
            TextEncoding::I64 => match integer(text) {
                Some(number) => bytes.extend(number.to_le_bytes()),
                None => return false,
            },
            TextEncoding::I32 { wide } => match integer(text).map(i32::try_from) {
                Some(Ok(number)) if wide => bytes.extend(i64::from(number).to_le_bytes()),
                Some(Ok(number)) => bytes.extend(number.to_le_bytes()),
                _ => return false,
            },
            TextEncoding::I32Be => match integer(text).map(i32::try_from) {
                Some(Ok(number)) => bytes.extend(number.to_be_bytes()),
                _ => return false,
            },
            TextEncoding::Utf16 => match str::from_utf8(text) {
                Ok(text) => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
                Err(_) => return false,
            },
        }
        true
    }
}

fn integer(text: &[u8]) -> Option<i64> {
    str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(encoding: TextEncoding, text: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![1, 2, 3];
        encoding.encode(text, &mut bytes).then_some(bytes)
    }

    #[test]
    fn each_spelling_has_its_bytes() {
        assert_eq!(spelled(TextEncoding::Bytes, b"\xff"), Some(vec![0xff]));
        assert_eq!(spelled(TextEncoding::Hex, b"00fF10"), Some(vec![0, 255, 16]));
        assert_eq!(spelled(TextEncoding::Hex, b""), Some(vec![]));
        assert_eq!(spelled(TextEncoding::I64, b" 7 "), Some(7i64.to_le_bytes().to_vec()));
        assert_eq!(spelled(TextEncoding::I32 { wide: false }, b"-1"), Some(vec![255; 4]));
        assert_eq!(spelled(TextEncoding::I32 { wide: true }, b"-1"), Some(vec![255; 8]));
        assert_eq!(spelled(TextEncoding::Utf16, "aé".as_bytes()), Some(vec![0x61, 0, 0xe9, 0]));
    }

    #[test]
    fn what_cannot_be_spelled_is_refused() {
        let wrong = [
            (TextEncoding::Hex, b"abc".as_slice()),
            (TextEncoding::Hex, b"zz"),
            (TextEncoding::I64, b"9223372036854775808"),
            (TextEncoding::I64, b"1.0"),
            (TextEncoding::I64, b""),
            (TextEncoding::I32 { wide: true }, b"2147483648"),
            (TextEncoding::Utf16, b"\xff"),
        ];
        for (encoding, text) in wrong {
            assert_eq!(spelled(encoding, text), None, "{encoding:?} of {text:?}");
        }
    }

    #[test]
    fn widened_integers_are_the_engines() {
        use mayhap::Key;
        let bytes = spelled(TextEncoding::I32 { wide: true }, b"-77").unwrap();
        assert_eq!(bytes, (-77i32).key_bytes().as_ref());
        assert_eq!(spelled(TextEncoding::I64, b"-77").unwrap(), bytes);
    }
}
