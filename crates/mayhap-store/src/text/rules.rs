//! What a record is, and which bytes of it are the key.

use super::{Csv, Normalizer, Pointer, TextEncoding};
use std::fmt;

/// How text becomes keys: plain data, all that a command line can say.
///
/// A record is cut off, a part of it taken, the part normalised and encoded as bytes. What becomes
/// of a record without such a part, or whose part is no number where numbers are wanted, `missing`
/// says. A part that cannot be normalised is a key as it is, and counted.
///
/// ```
/// use mayhap_store::text::{Extracted, Extractor, Normalizer, ExtractRules};
/// let rules = ExtractRules { normalizer: Normalizer::Lower, ..ExtractRules::default() };
/// assert_eq!(Extractor::new(&rules).key(b"Ada"), Extracted::Key(b"ada"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtractRules {
    /// Where records end.
    pub format: RecordFormat,
    /// Which part of a record is the key.
    pub part: KeyField,
    /// The normaliser applied before encoding.
    pub normalizer: Normalizer,
    /// The encoding of the bytes that are hashed.
    pub encoding: TextEncoding,
    /// What happens to records without a key.
    pub missing: OnMissing,
}

/// What happens to a record without the part that is the key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnMissing {
    /// It is counted, and skipped.
    #[default]
    Skip,
    /// Reading ends with [`NoKey`](super::KeysError::NoKey).
    Fail,
    /// The whole record is the key, and is counted.
    Line,
}

impl ExtractRules {
    /// Whether the key is the record itself, byte for byte (except for a CR).
    pub fn is_plain(&self) -> bool {
        self.part == KeyField::Whole
            && self.normalizer == Normalizer::None
            && self.encoding == TextEncoding::Bytes
    }

    /// What a record without a key lacks, in messages.
    pub fn wanted(&self) -> &'static str {
        match (&self.part, self.encoding) {
            (_, TextEncoding::I64 | TextEncoding::I32 { .. } | TextEncoding::I32Be)
                if self.part == KeyField::Whole =>
            {
                "a decimal number"
            }
            (KeyField::Whole, TextEncoding::Hex) => "a key in hex",
            (KeyField::Whole, _) => "valid UTF-8",
            (KeyField::Fields(fields), _) if fields.one().is_some() => "the field asked for",
            (KeyField::Fields(_), _) => "the fields asked for",
            (KeyField::Csv(csv), _) if csv.columns.len() == 1 => "the column asked for",
            (KeyField::Csv(_), _) => "the columns asked for",
            (KeyField::Json(_), _) => "the JSON value asked for",
        }
    }
}

/// Where records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordFormat {
    /// The byte after each record; the last record may lack it.
    pub delimiter: u8,
    /// Whether a CR before the delimiter is excluded from the key. It is printed all the same.
    pub crlf: bool,
    /// Whether empty records are skipped.
    pub skip_empty: bool,
    /// Whether input is read whose first bytes are those of a binary format, such as Parquet, an
    /// archive or a filter. Otherwise it is rejected.
    pub any_bytes: bool,
}

impl Default for RecordFormat {
    fn default() -> RecordFormat {
        RecordFormat { delimiter: b'\n', crlf: false, skip_empty: false, any_bytes: false }
    }
}

/// Which part of a record is the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyField {
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

/// As people name it: `lines`, `field 2-4,7`, `column url`, `JSON value /user/email`. What separates
/// fields is not told.
impl fmt::Display for KeyField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |f: &mut fmt::Formatter<'_>, things: &[&dyn fmt::Display]| {
            things
                .iter()
                .enumerate()
                .try_for_each(|(at, thing)| write!(f, "{}{thing}", if at == 0 { "" } else { "," }))
        };
        match self {
            KeyField::Whole => f.write_str("lines"),
            KeyField::Fields(fields) => {
                f.write_str("field ")?;
                let ranges: Vec<_> = fields.ranges.iter().map(|range| range as _).collect();
                listed(f, &ranges)?;
                match fields.separator {
                    b'\t' => Ok(()),
                    other => write!(f, " between '{}'", other.escape_ascii()),
                }
            }
            KeyField::Csv(csv) => {
                f.write_str("column ")?;
                let columns: Vec<_> = csv.columns.iter().map(|column| column as _).collect();
                listed(f, &columns)
            }
            KeyField::Json(pointer) => write!(f, "JSON value {pointer}"),
        }
    }
}

impl fmt::Display for FieldRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FieldRange { first, last: Some(last) } if first == last => write!(f, "{first}"),
            FieldRange { first, last: Some(last) } => write!(f, "{first}-{last}"),
            FieldRange { first, last: None } => write!(f, "{first}-"),
        }
    }
}

/// Fields between separators, as in `cut`. A single field is its own bytes; several are joined by
/// [`compound`](super::compound), so that ("ab", "c") and ("a", "bc") are different keys.
///
/// ```
/// use mayhap_store::text::{FieldRange, Fields};
/// let fields = Fields::of(b'\t', vec![FieldRange::from_text("2-4").unwrap(), FieldRange::one(7)]);
/// assert_eq!(fields, Fields::new(b'\t', vec![2, 3, 4, 7]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    separator: u8,
    ranges: Vec<FieldRange>,
}

/// A range of fields, counted from 1, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldRange {
    first: usize,
    /// `None`: up to the last.
    last: Option<usize>,
}

impl FieldRange {
    /// A single field.
    pub fn one(number: usize) -> FieldRange {
        FieldRange { first: number, last: Some(number) }
    }

    /// As in `cut`: `3`, `2-4`, `5-` and `-3`. `None` for other texts, for a field 0 and for a
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

    /// The field, if there is only one.
    pub(super) fn one(&self) -> Option<usize> {
        match self.ranges[..] {
            [FieldRange { first, last }] if last == Some(first) => Some(first),
            _ => None,
        }
    }
}
