//! The bytes that are hashed.

/// How a key is spelled in bytes.
///
/// Text is its own bytes; the others read the text first. Integers are decimal, with spaces
/// around them allowed.
///
/// ```
/// use mayhap_store::keys::Spelling;
/// let mut bytes = Vec::new();
/// assert!(Spelling::I64.spell(b"-2", &mut bytes));
/// assert_eq!(bytes, (-2i64).to_le_bytes());
/// assert!(!Spelling::I64.spell(b"two", &mut bytes));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spelling {
    /// The bytes of the text.
    #[default]
    Bytes,
    /// The bytes that the text gives in hexadecimal, two digits each.
    Hex,
    /// A 64-bit integer: eight bytes, little-endian, as the engine spells all integers.
    I64,
    /// A 32-bit integer.
    I32 {
        /// Whether it is widened to the engine's eight bytes; four otherwise, as other programs
        /// have it.
        wide: bool,
    },
    /// A 32-bit integer in four bytes, big-endian, as kevburnsjr/bloomfilter's `AddInt` has it.
    I32Be,
    /// UTF-16 code units, little-endian, as Java's strings are hashed.
    Utf16,
}

impl Spelling {
    /// Replace `bytes` by the spelling of a text. `false` where the text has none.
    pub fn spell(self, text: &[u8], bytes: &mut Vec<u8>) -> bool {
        bytes.clear();
        match self {
            Spelling::Bytes => bytes.extend_from_slice(text),
            Spelling::Hex => return from_hex(text.trim_ascii(), bytes),
            Spelling::I64 => match integer(text) {
                Some(number) => bytes.extend(number.to_le_bytes()),
                None => return false,
            },
            Spelling::I32 { wide } => match integer(text).map(i32::try_from) {
                Some(Ok(number)) if wide => bytes.extend(i64::from(number).to_le_bytes()),
                Some(Ok(number)) => bytes.extend(number.to_le_bytes()),
                _ => return false,
            },
            Spelling::I32Be => match integer(text).map(i32::try_from) {
                Some(Ok(number)) => bytes.extend(number.to_be_bytes()),
                _ => return false,
            },
            Spelling::Utf16 => match str::from_utf8(text) {
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

fn from_hex(digits: &[u8], bytes: &mut Vec<u8>) -> bool {
    let (pairs, odd) = digits.as_chunks::<2>();
    for pair in pairs {
        let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
        match (high, low) {
            (Some(high), Some(low)) => bytes.push((high << 4 | low) as u8),
            _ => return false,
        }
    }
    odd.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(spelling: Spelling, text: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = vec![1, 2, 3];
        spelling.spell(text, &mut bytes).then_some(bytes)
    }

    #[test]
    fn each_spelling_has_its_bytes() {
        assert_eq!(spelled(Spelling::Bytes, b"\xff"), Some(vec![0xff]));
        assert_eq!(spelled(Spelling::Hex, b"00fF10"), Some(vec![0, 255, 16]));
        assert_eq!(spelled(Spelling::Hex, b""), Some(vec![]));
        assert_eq!(spelled(Spelling::I64, b" 7 "), Some(7i64.to_le_bytes().to_vec()));
        assert_eq!(spelled(Spelling::I32 { wide: false }, b"-1"), Some(vec![255; 4]));
        assert_eq!(spelled(Spelling::I32 { wide: true }, b"-1"), Some(vec![255; 8]));
        assert_eq!(spelled(Spelling::Utf16, "aé".as_bytes()), Some(vec![0x61, 0, 0xe9, 0]));
    }

    #[test]
    fn what_cannot_be_spelled_is_refused() {
        let wrong = [
            (Spelling::Hex, b"abc".as_slice()),
            (Spelling::Hex, b"zz"),
            (Spelling::I64, b"9223372036854775808"),
            (Spelling::I64, b"1.0"),
            (Spelling::I64, b""),
            (Spelling::I32 { wide: true }, b"2147483648"),
            (Spelling::Utf16, b"\xff"),
        ];
        for (spelling, text) in wrong {
            assert_eq!(spelled(spelling, text), None, "{spelling:?} of {text:?}");
        }
    }

    #[test]
    fn widened_integers_are_the_engines() {
        use mayhap::Key;
        let bytes = spelled(Spelling::I32 { wide: true }, b"-77").unwrap();
        assert_eq!(bytes, (-77i32).key_bytes().as_ref());
        assert_eq!(spelled(Spelling::I64, b"-77").unwrap(), bytes);
    }
}
