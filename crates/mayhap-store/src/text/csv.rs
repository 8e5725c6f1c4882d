//! CSV: RFC 4180, with quotes that may contain separators and line ends.

use csv_core::{ReadFieldResult, Reader, ReaderBuilder, Terminator};
use std::fmt;

/// Columns of a table. A single column is its own bytes; several are joined by
/// [`compound`](super::compound).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csv {
    /// Which columns, in the order they are joined.
    pub columns: Vec<Column>,
    /// The byte between fields.
    pub separator: u8,
    /// Whether the first row of each input is a header. A column given by name always needs one.
    pub has_header: bool,
}

impl Csv {
    /// A column by its name in the header row, or by its number. With a number, the first row is an
    /// ordinary row.
    pub fn new(column: &str) -> Csv {
        Csv::of(vec![Column::from(column)])
    }

    /// Several columns. If all are numbers, no header row is needed.
    pub fn of(columns: Vec<Column>) -> Csv {
        Csv { has_header: has_names(&columns), columns, separator: b',' }
    }

    /// A separator other than a comma.
    pub fn with_separator(self, separator: u8) -> Csv {
        Csv { separator, ..self }
    }

    /// Whether there is a header row, for columns given by number.
    pub fn with_header(self, has_header: bool) -> Csv {
        Csv { has_header: has_header || has_names(&self.columns), ..self }
    }
}

fn has_names(columns: &[Column]) -> bool {
    columns.iter().any(|column| matches!(column, Column::Name(_)))
}

/// Which column of a table.
///
/// ```
/// use mayhap_store::text::Column;
/// assert_eq!(Column::from("2"), Column::Number(2));
/// assert_eq!(Column::from("url"), Column::Name("url".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its name in the header row.
    Name(String),
    /// By its number, from 1.
    Number(usize),
}

impl From<&str> for Column {
    fn from(text: &str) -> Column {
        match text.parse() {
            Ok(number) if number > 0 => Column::Number(number),
            _ => Column::Name(text.to_owned()),
        }
    }
}

impl Column {
    /// Its index, from 0, if no header row is needed for it.
    pub(super) fn index(&self) -> Option<usize> {
        match self {
            Column::Name(_) => None,
            Column::Number(number) => Some(number - 1),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::Name(name) => name.fmt(f),
            Column::Number(number) => number.fmt(f),
        }
    }
}

/// The indices of the columns, from 0; or a missing one, and those that exist.
pub(super) fn find_columns(csv: &Csv, header: &[u8]) -> Result<Vec<usize>, (String, Vec<String>)> {
    let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
    let header = header.strip_suffix(b"\r").unwrap_or(header);
    let (mut row, mut field) = (Row::new(csv.separator), Vec::new());
    let mut titles = Vec::new();
    while let Some(title) = row.field(header, titles.len(), &mut field) {
        titles.push(title.to_vec());
    }
    let find = |column: &Column| {
        let place = match column {
            Column::Number(number) => Some(number - 1),
            Column::Name(name) => titles.iter().position(|title| title == name.as_bytes()),
        };
        let have = || titles.iter().map(|title| String::from_utf8_lossy(title).into_owned());
        place.ok_or_else(|| (column.to_string(), have().collect()))
    };
    csv.columns.iter().map(find).collect()
}

/// Extracts fields of complete rows.
#[derive(Debug)]
pub(super) struct Row(Reader);

impl Row {
    pub(super) fn new(separator: u8) -> Row {
        let mut builder = ReaderBuilder::new();
        // Rows are split before: any other line end is an ordinary character here.
        Row(builder.delimiter(separator).terminator(Terminator::Any(b'\n')).build())
    }

    /// Field number `column`, from 0, without its quotes.
    pub(super) fn field<'a>(
        &mut self,
        row: &[u8],
        column: usize,
        field: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        self.0.reset();
        // No field is longer than its row.
        field.resize(row.len().max(1), 0);
        let mut rest = row;
        let mut at = 0;
        let mut written = 0;
        loop {
            let (result, read, wrote) = self.0.read_field(rest, &mut field[written..]);
            rest = &rest[read..];
            written += wrote;
            match result {
                // The end of the row is signalled by reading nothing.
                ReadFieldResult::InputEmpty if rest.is_empty() && read == 0 => return None,
                ReadFieldResult::InputEmpty => {}
                ReadFieldResult::OutputFull | ReadFieldResult::End => return None,
                ReadFieldResult::Field { .. } if at == column => return field.get(..written),
                ReadFieldResult::Field { record_end: true } => return None,
                ReadFieldResult::Field { record_end: false } => {
                    at += 1;
                    written = 0;
                }
            }
        }
    }
}
