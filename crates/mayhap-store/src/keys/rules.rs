//! What a record is, and which bytes of it are the key.

use super::{Csv, Normaliser, Pointer, Spelling};

/// How text becomes keys: plain data, all that a command line can say.
///
/// A record is cut off, a part of it taken, the part normalised and encoded as bytes. What becomes
/// of a record without such a part, or whose part is no number where numbers are wanted, `missing`
/// says. A part that cannot be normalised is a key as it is, and counted.
///
/// ```
/// use mayhap_store::keys::{Extracted, Extractor, Normaliser, Rules};
/// let rules = Rules { normaliser: Normaliser::Lower, ..Rules::default() };
/// assert_eq!(Extractor::new(&rules).key(b"Ada"), Extracted::Key(b"ada"));
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
    /// What becomes of records without a key.
    pub missing: OnMissing,
}

/// What becomes of a record without the part that is the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// It is counted, and is no key.
    #[default]
    Skip,
    /// Reading ends with [`NoKey`](super::KeysError::NoKey).
    Fail,
    /// It is a key as a whole, and counted.
    Line,
}

impl Rules {
    /// Whether the key is the record itself, byte for byte (but for a CR).
    pub fn is_plain(&self) -> bool {
        self.part == Part::Whole
            && self.normaliser == Normaliser::None
            && self.spelling == Spelling::Bytes
    }

    /// What a record without a key is without, in messages.
    pub fn wanted(&self) -> &'static str {
        match (&self.part, self.spelling) {
            (_, Spelling::I64 | Spelling::I32 { .. } | Spelling::I32Be)
                if self.part == Part::Whole =>
            {
                "a decimal number"
            }
            (Part::Whole, Spelling::Hex) => "a key in hex",
            (Part::Whole, _) => "valid UTF-8",
            (Part::Fields(fields), _) if fields.one().is_some() => "the field asked for",
            (Part::Fields(_), _) => "the fields asked for",
            (Part::Csv(csv), _) if csv.columns.len() == 1 => "the column asked for",
            (Part::Csv(_), _) => "the columns asked for",
            (Part::Json(_), _) => "the JSON value asked for",
        }
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
    /// Whether input is read whose first bytes are those of a binary format, such as Parquet, an
    /// archive or a filter. It is refused otherwise.
    pub any_bytes: bool,
}

impl Default for Framing {
    fn default() -> Framing {
        Framing { delimiter: b'\n', crlf: false, skip_empty: false, any_bytes: false }
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
    /// Columns of a table.
    Csv(Csv),
    /// A value inside a JSON document.
    Json(Pointer),
}

/// Fields between separators, as `cut` has them. One field is its own bytes; several are joined
/// by [`compound`](super::compound), so that ("ab", "c") is another key than ("a", "bc").
///
/// ```
/// use mayhap_store::keys::{FieldRange, Fields};
/// let fields = Fields::of(b'\t', vec![FieldRange::from_text("2-4").unwrap(), FieldRange::one(7)]);
/// assert_eq!(fields, Fields::new(b'\t', vec![2, 3, 4, 7]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    separator: u8,
    ranges: Vec<FieldRange>,
}

/// Fields from one to another, counted from 1, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldRange {
    first: usize,
    /// `None`: all there are.
    last: Option<usize>,
}

impl FieldRange {
    /// A single field.
    pub fn one(number: usize) -> FieldRange {
        FieldRange { first: number, last: Some(number) }
    }

    /// As `cut` has it: `3`, `2-4`, `5-` and `-3`. `None` for other texts, for a field 0 and for a
    /// range that ends before it starts.
    pub fn from_text(text: &str) -> Option<FieldRange> {
        let number = |text: &str| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| digits && *number > 0)
        };
        let range = match text.split_once('-') {
            None => FieldRange::one(number(text)?),
            Some(("", "")) => return None,
            Some(("", last)) => FieldRange { first: 1, last: Some(number(last)?) },
            Some((first, "")) => FieldRange { first: number(first)?, last: None },
            Some((first, last)) => FieldRange { first: number(first)?, last: Some(number(last)?) },
        };
        (range.last.is_none_or(|last| last >= range.first)).then_some(range)
    }

    /// How many fields are before it, and how many it has.
    pub(super) fn bounds(self) -> (usize, Option<usize>) {
        (self.first - 1, self.last.map(|last| last - self.first + 1))
    }
}

impl Fields {
    /// The fields with these numbers, from 1, in this order. `None` without a field, or with a
    /// field 0.
    pub fn new(separator: u8, numbers: Vec<usize>) -> Option<Fields> {
        Fields::of(separator, numbers.into_iter().map(FieldRange::one).collect())
    }

    /// The fields of these ranges, in this order. `None` without a field, or with a field 0.
    pub fn of(separator: u8, ranges: Vec<FieldRange>) -> Option<Fields> {
        let fit = !ranges.is_empty() && ranges.iter().all(|range| range.first > 0);
        let mut joined: Vec<FieldRange> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                // 2,3,4 is 2-4.
                Some(before) if before.last.is_some_and(|last| last + 1 == range.first) => {
                    before.last = range.last;
                }
                _ => joined.push(range),
            }
        }
        fit.then_some(Fields { separator, ranges: joined })
    }

    /// The byte between fields.
    pub fn separator(&self) -> u8 {
        self.separator
    }

    /// The fields, in the order they are joined.
    pub fn ranges(&self) -> &[FieldRange] {
        &self.ranges
    }

    /// The only field, where there is but one.
    pub(super) fn one(&self) -> Option<usize> {
        match self.ranges[..] {
            [FieldRange { first, last }] if last == Some(first) => Some(first),
            _ => None,
        }
    }
}
