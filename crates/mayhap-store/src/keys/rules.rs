//! What a record is, and which bytes of it are the key.

use super::{Csv, Normaliser, Pointer, Spelling};

/// How text becomes keys: plain data, all that a command line can say.
///
/// A record is cut off, a part of it taken, the part normalised and spelled as bytes. A record
/// that has no such part, or does not parse, is counted and is its own key as it stands: nothing
/// is ever dropped.
///
/// ```
/// use mayhap_store::keys::{Extractor, Normaliser, Rules};
/// let rules = Rules { normaliser: Normaliser::Lower, ..Rules::default() };
/// assert_eq!(Extractor::new(&rules).key(b"Ada"), Some(b"ada".as_slice()));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Where records end.
    pub framing: Framing,
    /// Which part of a record is the key.
    pub part: Part,
    /// What is done to the part before it is spelled.
    pub normaliser: Normaliser,
    /// The bytes that are hashed.
    pub spelling: Spelling,
}

impl Rules {
    /// Whether the key is the record itself, byte for byte (but for a CR).
    pub fn is_plain(&self) -> bool {
        self.part == Part::Whole
            && self.normaliser == Normaliser::None
            && self.spelling == Spelling::Bytes
    }
}

/// Where records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// The byte after each record; the last record may lack it.
    pub delimiter: u8,
    /// Whether a CR before the delimiter is left out of the key. It is printed all the same.
    pub crlf: bool,
    /// Whether empty records are passed over.
    pub skip_empty: bool,
}

impl Default for Framing {
    fn default() -> Framing {
        Framing { delimiter: b'\n', crlf: false, skip_empty: false }
    }
}

/// Which part of a record is the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    #[default]
    Whole,
    /// Some of the fields between separators.
    Fields(Fields),
    /// A column of a table.
    Csv(Csv),
    /// A value inside a JSON document.
    Json(Pointer),
}

/// Fields between separators, as `cut` has them. One field is its own bytes; several are joined
/// by [`compound`](super::compound), so that ("ab", "c") is another key than ("a", "bc").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    separator: u8,
    numbers: Vec<usize>,
}

impl Fields {
    /// The fields with these numbers, from 1, in this order. `None` without a field, or with a
    /// field 0.
    pub fn new(separator: u8, numbers: Vec<usize>) -> Option<Fields> {
        let fit = !numbers.is_empty() && !numbers.contains(&0);
        fit.then_some(Fields { separator, numbers })
    }

    /// The byte between fields.
    pub fn separator(&self) -> u8 {
        self.separator
    }

    /// The fields, from 1, in the order they are joined.
    pub fn numbers(&self) -> &[usize] {
        &self.numbers
    }
}
