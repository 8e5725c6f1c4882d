//! Extracts the key of a record.

use super::csv::Row;
use super::{ExtractRules, Fields, KeyField, Normalizer, TextEncoding};

/// The key of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extracted<'a> {
    /// The key.
    Key(&'a [u8]),
    /// The key unchanged: the normaliser rejects it.
    Unnormalised(&'a [u8]),
    /// The record has no such part, or it is not a valid key.
    Missing,
}

/// Extracts the keys of records, reusing its buffers.
///
/// ```
/// use mayhap_store::text::{Extracted, Extractor, Fields, KeyField, ExtractRules};
/// let part = KeyField::Fields(Fields::new(b'\t', vec![2]).unwrap());
/// let rules = ExtractRules { part, ..ExtractRules::default() };
/// let mut extractor = Extractor::new(&rules);
/// assert_eq!(extractor.key(b"1\tada\tx"), Extracted::Key(b"ada"));
/// assert_eq!(extractor.key(b"no such field"), Extracted::Missing);
/// ```
#[derive(Debug)]
pub struct Extractor<'r> {
    rules: &'r ExtractRules,
    row: Row,
    columns: Vec<usize>,
    // One for each step that makes new bytes.
    part: Vec<u8>,
    joined: Vec<u8>,
    encoder: Encoder,
}

impl<'r> Extractor<'r> {
    /// By these rules. The columns of a table are those of the rules' numbers; names are looked up
    /// by [`KeyReader`](super::KeyReader).
    pub fn new(rules: &'r ExtractRules) -> Extractor<'r> {
        let (row, columns) = match &rules.part {
            KeyField::Csv(csv) => {
                let numbers = csv.columns.iter().map(|column| column.index().unwrap_or(0));
                (Row::new(csv.separator), numbers.collect())
            }
            _ => (Row::new(b','), Vec::new()),
        };
        let encoder = Encoder {
            normalizer: rules.normalizer,
            encoding: rules.encoding,
            normal: Vec::new(),
            spelled: Vec::new(),
            is_normal: true,
        };
        Extractor { rules, row, columns, part: Vec::new(), joined: Vec::new(), encoder }
    }

    /// The columns of the keys, from 0, in the current table.
    pub(super) fn set_columns(&mut self, columns: &[usize]) {
        self.columns.clear();
        self.columns.extend_from_slice(columns);
    }

    /// The key of a record.
    pub fn key<'a>(&'a mut self, record: &'a [u8]) -> Extracted<'a> {
        let Extractor { rules, row, columns, part, joined, encoder } = self;
        encoder.is_normal = true;
        joined.clear();
        let is_normal;
        let key = match &rules.part {
            KeyField::Whole => return encoder.finish(record),
            KeyField::Fields(fields) => {
                let mut split = record.split(|byte| *byte == fields.separator());
                if let Some(number) = fields.one() {
                    let Some(field) = split.nth(number - 1) else { return Extracted::Missing };
                    return encoder.finish(field);
                }
                let joined_all = several(record, fields, |field| encoder.push(field, joined));
                is_normal = encoder.is_normal;
                joined_all.map(|()| &**joined)
            }
            KeyField::Csv(_) => {
                if let [column] = columns[..] {
                    let Some(field) = row.field(record, column, part) else {
                        return Extracted::Missing;
                    };
                    return encoder.finish(field);
                }
                let mut each = columns.iter().map(|column| {
                    let field = row.field(record, *column, part)?;
                    encoder.push(field, joined)
                });
                let joined_all = each.by_ref().collect::<Option<()>>();
                drop(each);
                is_normal = encoder.is_normal;
                joined_all.map(|()| &**joined)
            }
            KeyField::Json(pointer) => {
                let Some(value) = pointer.find(record, part) else { return Extracted::Missing };
                return encoder.finish(value);
            }
        };
        match key {
            None => Extracted::Missing,
            Some(key) if is_normal => Extracted::Key(key),
            Some(key) => Extracted::Unnormalised(key),
        }
    }
}

/// Each of the fields in the given order.
fn several(
    record: &[u8],
    fields: &Fields,
    mut each: impl FnMut(&[u8]) -> Option<()>,
) -> Option<()> {
    for range in fields.ranges() {
        let (before, count) = range.bounds();
        let mut found = 0;
        let split = record.split(|byte| *byte == fields.separator()).skip(before);
        for field in split.take(count.unwrap_or(usize::MAX)) {
            each(field)?;
            found += 1;
        }
        if found < count.unwrap_or(1) {
            return None;
        }
    }
    Some(())
}

/// Normalises parts and encodes them.
#[derive(Debug)]
struct Encoder {
    normalizer: Normalizer,
    encoding: TextEncoding,
    normal: Vec<u8>,
    spelled: Vec<u8>,
    /// Whether all parts of the record could be normalised.
    is_normal: bool,
}

impl Encoder {
    fn finish<'a>(&'a mut self, part: &'a [u8]) -> Extracted<'a> {
        let Encoder { normalizer, encoding, normal, spelled, is_normal } = self;
        match encode(part, (*normalizer, *encoding), normal, spelled, is_normal) {
            None => Extracted::Missing,
            Some(key) if *is_normal => Extracted::Key(key),
            Some(key) => Extracted::Unnormalised(key),
        }
    }

    fn push(&mut self, part: &[u8], joined: &mut Vec<u8>) -> Option<()> {
        let Encoder { normalizer, encoding, normal, spelled, is_normal } = self;
        let field = encode(part, (*normalizer, *encoding), normal, spelled, is_normal)?;
        push_field(field, joined);
        Some(())
    }
}

/// Normalised and encoded.
fn encode<'a>(
    part: &'a [u8],
    (normalizer, encoding): (Normalizer, TextEncoding),
    normal: &'a mut Vec<u8>,
    spelled: &'a mut Vec<u8>,
    is_normal: &mut bool,
) -> Option<&'a [u8]> {
    let part = if normalizer == Normalizer::None {
        part
    } else if normalizer.apply(part, normal) {
        normal
    } else {
        *is_normal = false;
        part
    };
    if encoding == TextEncoding::Bytes {
        return Some(part);
    }
    encoding.encode(part, spelled).then_some(spelled)
}

/// Several fields as one key: each prefixed by its length, eight bytes, little-endian. So no two
/// lists of fields make the same key.
///
/// ```
/// use mayhap_store::text::compound;
/// let [one, other] = [["ab", "c"], ["a", "bc"]];
/// assert_ne!(compound(one), compound(other));
/// assert_eq!(compound([b"x"]), b"\x01\0\0\0\0\0\0\0x");
/// ```
pub fn compound<F: AsRef<[u8]>>(fields: impl IntoIterator<Item = F>) -> Vec<u8> {
    let mut key = Vec::new();
    fields.into_iter().for_each(|field| push_field(field.as_ref(), &mut key));
    key
}

fn push_field(field: &[u8], key: &mut Vec<u8>) {
    key.extend((field.len() as u64).to_le_bytes());
    key.extend_from_slice(field);
}
