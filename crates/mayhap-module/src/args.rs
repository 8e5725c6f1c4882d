//! The arguments of a command.

/// A key's name, and its index among the arguments: the server opens keys by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyArg<'a> {
    /// The name.
    pub name: &'a [u8],
    /// Its index; the command itself is at 0.
    pub at: usize,
}

/// The arguments of a command, borrowed from the server: the command's name first.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a>(&'a [&'a [u8]]);

impl<'a> Args<'a> {
    /// From these arguments.
    pub fn new(words: &'a [&'a [u8]]) -> Args<'a> {
        Args(words)
    }

    /// Their number, including the command's name.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The argument at this index; empty past the end, which the arity of the table rules out.
    pub fn word(&self, at: usize) -> &'a [u8] {
        self.0.get(at).copied().unwrap_or_default()
    }

    /// The key at this index.
    pub fn key(&self, at: usize) -> KeyArg<'a> {
        KeyArg { name: self.word(at), at }
    }

    /// Every argument from this index on.
    pub fn from(&self, at: usize) -> &'a [&'a [u8]] {
        self.0.get(at..).unwrap_or_default()
    }

    /// The first index, `start` or later, of this word, ignoring case.
    pub fn find(&self, start: usize, word: &str) -> Option<usize> {
        (start..self.0.len()).find(|at| is(self.0[*at], word))
    }
}

/// Whether these bytes are this word, ignoring case.
pub fn is(bytes: &[u8], word: &str) -> bool {
    bytes.eq_ignore_ascii_case(word.as_bytes())
}

/// A number in decimal digits.
pub fn integer(bytes: &[u8]) -> Option<i64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

/// A decimal number. It may also be infinite or NaN.
pub fn decimal(bytes: &[u8]) -> Option<f64> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_past_the_end_are_empty() {
        let words: [&[u8]; 2] = [b"bf.add", b"k"];
        let args = Args::new(&words);
        assert_eq!((args.word(1), args.word(2)), (&b"k"[..], &b""[..]));
        assert!(args.from(9).is_empty());
        assert_eq!(args.find(0, "K"), Some(1));
        assert_eq!(args.find(2, "K"), None);
    }

    #[test]
    fn numbers_are_whole_words() {
        assert_eq!(integer(b"12"), Some(12));
        for bad in [&b""[..], b"1x", b" 1", b"1.0", b"99999999999999999999", b"\xff"] {
            assert_eq!(integer(bad), None);
        }
        assert_eq!(decimal(b"1e-3"), Some(0.001));
        assert_eq!(decimal(b"0,1"), None);
        assert!(decimal(b"nan").is_some_and(f64::is_nan));
    }
}
