//! A record becomes a key.

use super::csv::Row;
use super::{Fields, Normaliser, Part, Rules, Spelling};

/// Takes the key out of records, one after another, without asking for memory each time.
///
/// ```
/// use mayhap_store::keys::{Extractor, Fields, Part, Rules};
/// let part = Part::Fields(Fields::new(b'\t', vec![2]).unwrap());
/// let rules = Rules { part, ..Rules::default() };
/// let mut extractor = Extractor::new(&rules);
/// assert_eq!(extractor.key(b"1\tada\tx"), Some(b"ada".as_slice()));
/// assert_eq!(extractor.key(b"no such field"), None);
/// ```
#[derive(Debug)]
pub struct Extractor<'r> {
    rules: &'r Rules,
    row: Row,
    column: usize,
    // One for each step that makes new bytes.
    part: Vec<u8>,
    normal: Vec<u8>,
    spelled: Vec<u8>,
    joined: Vec<u8>,
}

impl<'r> Extractor<'r> {
    /// By these rules. The column of a table is the one of the rules' number; a name is looked up
    /// by [`Reading`](super::Reading).
    pub fn new(rules: &'r Rules) -> Extractor<'r> {
        let empty = Vec::new;
        let (row, column) = match &rules.part {
            Part::Csv(csv) => (Row::new(csv.separator), csv.column.index().unwrap_or(0)),
            _ => (Row::new(b','), 0),
        };
        Extractor {
            rules,
            row,
            column,
            part: empty(),
            normal: empty(),
            spelled: empty(),
            joined: empty(),
        }
    }

    pub(super) fn set_column(&mut self, column: usize) {
        self.column = column;
    }

    /// The key of a record, given without its delimiter. `None` where it has none by these rules.
    pub fn key<'a>(&'a mut self, record: &'a [u8]) -> Option<&'a [u8]> {
        let Extractor { rules, row, column, part, normal, spelled, joined } = self;
        let Rules { normaliser, spelling, .. } = **rules;
        match &rules.part {
            Part::Whole => finish(record, normaliser, spelling, normal, spelled),
            Part::Fields(fields) => {
                if let [number] = fields.numbers() {
                    let field = record.split(|byte| *byte == fields.separator()).nth(number - 1)?;
                    return finish(field, normaliser, spelling, normal, spelled);
                }
                joined.clear();
                several(record, fields, |field| {
                    let field = finish(field, normaliser, spelling, normal, spelled)?;
                    push_field(field, joined);
                    Some(())
                })?;
                Some(joined)
            }
            Part::Csv(_) => {
                let field = row.field(record, *column, part)?;
                finish(field, normaliser, spelling, normal, spelled)
            }
            Part::Json(pointer) => {
                let value = pointer.find(record, part)?;
                finish(value, normaliser, spelling, normal, spelled)
            }
        }
    }
}

/// Each of the fields in the order asked for.
fn several(
    record: &[u8],
    fields: &Fields,
    mut each: impl FnMut(&[u8]) -> Option<()>,
) -> Option<()> {
    for number in fields.numbers() {
        each(record.split(|byte| *byte == fields.separator()).nth(number - 1)?)?;
    }
    Some(())
}

/// Normalised and spelled.
fn finish<'a>(
    part: &'a [u8],
    normaliser: Normaliser,
    spelling: Spelling,
    normal: &'a mut Vec<u8>,
    spelled: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    let part = if normaliser == Normaliser::None {
        part
    } else {
        normaliser.apply(part, normal).then_some(normal)?
    };
    if spelling == Spelling::Bytes {
        return Some(part);
    }
    spelling.spell(part, spelled).then_some(spelled)
}

/// Several fields as one key: before each its length, eight bytes, little-endian. So no two
/// lists of fields make the same key.
///
/// ```
/// use mayhap_store::keys::compound;
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
