//! Flags that every verb has that reads keys: where they come from, and what of a line is the key.

use crate::exit::error_with_hint;
use crate::globals::Globals;
use clap::{Args, ValueEnum};
use mayhap::format::Metadata;
use mayhap_store::key_rules::{KeyRulesError, KeyType};
use mayhap_store::text::{
    Column, Csv, ExtractRules, FieldRange, Fields, Input, KeyField, KeyReader, Normalizer,
    OnMissing, Pointer, RecordFormat,
};
use mayhap_store::{Filter, KeyRequest, KeyRules};
use std::io::IsTerminal;
use std::path::PathBuf;

/// Where keys come from, and what of a line is the key.
///
/// To be flattened last, or its heading would be that of the flags after it.
#[derive(Args, Clone, Debug)]
pub struct KeyArgs {
    /// Files of keys, one per line; `-` or none is standard input. Compressed ones (gz, zst, xz,
    /// bz2, lz4) are read as they are
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    rules: RuleArgs,
}

/// What of a line is the key.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Keys")]
pub struct RuleArgs {
    /// Lines end in NUL instead of a newline
    #[arg(short = '0', long = "null", display_order = 100)]
    null: bool,

    /// Lines end in CRLF: a carriage return before the newline is not part of the line
    #[arg(long, display_order = 101)]
    crlf: bool,

    /// Ignore empty lines
    #[arg(long, display_order = 102)]
    skip_empty: bool,

    /// The key is these fields of the line, counted from 1: `2`, `1,3`, `2-4,7` or `3-`. Several
    /// are one key, in the order given
    #[arg(long, value_name = "N,...", value_delimiter = ',', display_order = 103)]
    #[arg(value_parser = field_range, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["csv", "json_key"])]
    field: Vec<FieldRange>,

    /// What separates fields: one character, `\t` for a tab (the default; a comma with --csv)
    #[arg(long, value_name = "CHAR", value_parser = delimiter, display_order = 104)]
    delimiter: Option<u8>,

    /// Input is CSV; the key is this column, by its name in the first row, or by number from 1.
    /// Several (`a,b`, or the flag again) are one key; a name with a comma in it is written in
    /// quotes, '"a,b"'
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["json_key", "null"])]
    #[arg(display_order = 105, value_parser = columns)]
    csv: Vec<Columns>,

    /// Lines are JSON; the key is what this pointer points to, as in /user/email
    #[arg(long, value_name = "POINTER", display_order = 106)]
    json_key: Option<String>,

    /// Keys are written in hex; the decoded bytes are the key
    #[arg(long, display_order = 107)]
    hex_keys: bool,

    /// Type of the keys; stored in the filter
    #[arg(long, value_name = "TYPE", display_order = 108)]
    key_type: Option<KeyTypeArg>,

    /// How keys are normalised before they are hashed; stored in the filter, and applied by check
    /// and add. Lines are printed unchanged
    #[arg(long, value_name = "HOW", display_order = 109)]
    normalize: Option<Normalize>,

    /// What to do with a line that has no such field, column, JSON value or number. By default it
    /// is skipped and counted; dedup prints it
    #[arg(long, value_name = "WHAT", display_order = 110)]
    on_missing: Option<OnMissingArg>,

    /// Also read input whose first bytes are those of a binary format (Parquet, an archive, a
    /// database, a filter), which is rejected otherwise
    #[arg(long, display_order = 111)]
    binary: bool,
}

/// What becomes of a line without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnMissingArg {
    /// Skip it; the number is reported at the end. dedup leaves it out
    Skip,
    /// Stop with exit code 2 at the first one
    Fail,
    /// The whole line is the key
    Line,
}

/// Columns of a table, as one flag names them.
#[derive(Clone, Debug)]
struct Columns(Vec<Column>);

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyTypeArg {
    /// The bytes as they are
    Bytes,
    /// A decimal number of up to 64 bits
    I64,
    /// A decimal number of up to 32 bits
    I32,
    /// Text as UTF-16, as Java's unencodedCharsFunnel hashes it
    Utf16,
}

/// What another program's keys are, for verbs that read none.
#[derive(Args, Clone, Copy, Debug)]
pub struct ForeignKeyArg {
    /// Type of its keys; stored in the Mayhap file
    #[arg(long, value_name = "TYPE", help_heading = "Other programs", display_order = 83)]
    key_type: Option<KeyTypeArg>,
}

impl ForeignKeyArg {
    /// As the service has it.
    pub fn get(self) -> Option<KeyType> {
        self.key_type.map(KeyType::from)
    }
}

impl From<KeyTypeArg> for KeyType {
    fn from(key_type: KeyTypeArg) -> KeyType {
        match key_type {
            KeyTypeArg::Bytes => KeyType::Bytes,
            KeyTypeArg::I64 => KeyType::I64,
            KeyTypeArg::I32 => KeyType::I32,
            KeyTypeArg::Utf16 => KeyType::Utf16,
        }
    }
}

/// What is done to a key before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Normalize {
    /// Nothing
    None,
    /// Lowercase
    Lower,
    /// Hex digits: lowercase, no `0x`
    Hex,
    /// E-mail addresses: lowercase, the domain in ASCII
    Email,
    /// URLs by the WHATWG rules: lowercase host, no default port, no dot segments, no fragment
    Url,
    /// As url, and without scheme, `www.`, trailing slash and tracking parameters; the query is
    /// sorted
    UrlLoose,
}

impl KeyArgs {
    /// What is read. `None`: nothing was named, and standard input is a terminal, where somebody
    /// more likely wants help than to type keys.
    pub fn inputs(&self) -> Option<Vec<Input>> {
        if !self.inputs.is_empty() {
            return Some(self.inputs.iter().cloned().map(Input::from).collect());
        }
        (!std::io::stdin().is_terminal()).then(|| vec![Input::Stdin])
    }

    /// Whether lines without a key are printed by a verb that prints lines: unless told what else
    /// to do with them, for what is dropped is lost.
    pub fn prints_missing(&self) -> bool {
        self.rules.on_missing.is_none()
    }

    /// Whether lines without a key were asked to be left out.
    pub fn drops_missing(&self) -> bool {
        matches!(self.rules.on_missing, Some(OnMissingArg::Skip))
    }

    /// Whether inputs were named.
    pub fn has_inputs(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// What the flags say about keys.
    pub fn request(&self) -> anyhow::Result<KeyRequest> {
        let key_type = match self.rules.key_type {
            Some(other) if self.rules.hex_keys && other != KeyTypeArg::Bytes => {
                return Err(error_with_hint(
                    format!(
                        "--hex-keys are bytes written in hex, and --key-type says {}",
                        KeyType::from(other)
                    ),
                    "leave out one of them",
                ));
            }
            _ if self.rules.hex_keys => Some(KeyType::Hex),
            key_type => key_type.map(KeyType::from),
        };
        Ok(KeyRequest { key_type, normalizer: self.rules.normalize.map(Normalize::normalizer) })
    }

    /// What becomes of lines, with keys by these rules.
    pub fn rules(&self, keys: KeyRules) -> anyhow::Result<ExtractRules> {
        self.rules.rules(keys)
    }

    /// The rules of a filter to be made.
    pub fn new_rules(&self) -> anyhow::Result<ExtractRules> {
        self.rules(KeyRules::new(&self.request()?)?)
    }

    /// The rules of what has such metadata.
    pub fn rules_of(&self, metadata: &Metadata) -> anyhow::Result<ExtractRules> {
        self.rules(KeyRules::of_metadata(metadata, &self.request()?)?)
    }

    /// The rules of a filter that exists: what its file says about keys, and what the flags say
    /// about lines.
    pub fn rules_for(&self, filter: &Filter) -> anyhow::Result<ExtractRules> {
        let keys = filter.key_rules(&self.request()?);
        let path = || filter.path().display().to_string();
        self.rules(keys.map_err(|error| anyhow::Error::new(error).context(path()))?)
    }

    /// Take keys for integers unless the flags say otherwise: a bitmap has no others.
    pub fn default_to_integers(&mut self) {
        if self.rules.key_type.is_none() && !self.rules.hex_keys {
            self.rules.key_type = Some(KeyTypeArg::I64);
        }
    }
}

/// Inputs to be read on as many threads as asked for.
pub fn reading(inputs: Vec<Input>, rules: &ExtractRules, globals: &Globals) -> KeyReader {
    KeyReader::new(inputs, rules.clone()).with_threads(globals.threads().get())
}

/// How the rules of lines make keys.
pub fn key_rules(rules: &ExtractRules) -> KeyRules {
    KeyRules { normalizer: rules.normalizer, encoding: rules.encoding }
}

/// The way out where a file and the flags disagree about keys.
pub fn hint(error: &KeyRulesError) -> Option<String> {
    let hint = match error {
        KeyRulesError::Normalizer { .. } => {
            "leave out --normalize: what the file says is done, and otherwise its keys would be missed"
        }
        KeyRulesError::KeyType { got: KeyType::Hex, .. } => {
            "leave out --hex-keys: keys are read as the file says, and otherwise they would be missed"
        }
        KeyRulesError::KeyType { .. } => {
            "leave out --key-type: keys are read as the file says, and otherwise they would be missed"
        }
        KeyRulesError::UnknownNormalizer { .. } | KeyRulesError::UnknownKeyType { .. } => {
            "upgrade mayhap"
        }
        KeyRulesError::NormalizedInteger { .. } => "leave out --normalize, or --key-type",
        _ => return None,
    };
    Some(hint.to_owned())
}

impl RuleArgs {
    fn rules(&self, keys: KeyRules) -> anyhow::Result<ExtractRules> {
        Ok(ExtractRules {
            format: RecordFormat {
                delimiter: if self.null { 0 } else { b'\n' },
                crlf: self.crlf,
                skip_empty: self.skip_empty,
                any_bytes: self.binary,
            },
            part: self.part()?,
            normalizer: keys.normalizer,
            encoding: keys.encoding,
            missing: match self.on_missing {
                None | Some(OnMissingArg::Skip) => OnMissing::Skip,
                Some(OnMissingArg::Fail) => OnMissing::Fail,
                Some(OnMissingArg::Line) => OnMissing::Line,
            },
        })
    }

    fn part(&self) -> anyhow::Result<KeyField> {
        if self.delimiter.is_some() && self.field.is_empty() && self.csv.is_empty() {
            return Err(error_with_hint(
                "--delimiter separates fields, and no fields are asked for",
                "add --field 2, or --csv COLUMN; lines are separated by newlines, or by NUL with -0",
            ));
        }
        if !self.csv.is_empty() {
            let columns = self.csv.iter().flat_map(|columns| columns.0.clone()).collect();
            let csv = Csv::of(columns).with_separator(self.delimiter.unwrap_or(b','));
            return Ok(KeyField::Csv(csv));
        }
        if let Some(pointer) = &self.json_key {
            let pointer = Pointer::new(pointer).ok_or_else(|| {
                error_with_hint(
                    format!("--json-key {pointer:?} is no JSON pointer"),
                    "a pointer starts with a slash, as in /user/email or /tags/0",
                )
            })?;
            return Ok(KeyField::Json(pointer));
        }
        if self.field.is_empty() {
            return Ok(KeyField::Whole);
        }
        let fields = Fields::of(self.delimiter.unwrap_or(b'\t'), self.field.clone());
        Ok(fields.map_or(KeyField::Whole, KeyField::Fields))
    }
}

impl Normalize {
    const fn normalizer(self) -> Normalizer {
        match self {
            Normalize::None => Normalizer::None,
            Normalize::Lower => Normalizer::Lower,
            Normalize::Hex => Normalizer::Hex,
            Normalize::Email => Normalizer::Email,
            Normalize::Url => Normalizer::Url,
            Normalize::UrlLoose => Normalizer::UrlLoose,
        }
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        b"\\0" => Ok(0),
        [byte] => Ok(*byte),
        _ => Err(format!("{text:?} is not one character: write one, or \\t for a tab")),
    }
}

fn field_range(text: &str) -> Result<FieldRange, String> {
    FieldRange::from_text(text).ok_or_else(|| {
        format!("{text:?} is no field: they are counted from 1, as in 2, 2-4, 3- or -4")
    })
}

/// Columns with commas between, quoted as in the table itself.
fn columns(text: &str) -> Result<Columns, String> {
    let mut rest = text;
    let mut names = Vec::new();
    loop {
        let end;
        if let Some(quoted) = rest.strip_prefix('"') {
            let wrong = || format!("{text:?}: the quote is not closed");
            let mut name = String::new();
            let mut from = quoted;
            loop {
                let at = from.find('"').ok_or_else(wrong)?;
                name.push_str(&from[..at]);
                from = &from[at + 1..];
                match from.strip_prefix('"') {
                    Some(more) => {
                        name.push('"');
                        from = more;
                    }
                    None => break,
                }
            }
            names.push(Column::Name(name));
            end = from;
        } else {
            let at = rest.find(',').unwrap_or(rest.len());
            names.push(Column::from(&rest[..at]));
            end = &rest[at..];
        }
        match end.strip_prefix(',') {
            Some(more) => rest = more,
            None if end.is_empty() => return Ok(Columns(names)),
            None => return Err(format!("{text:?}: a comma is wanted behind a name in quotes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_separated_by_commas_and_may_be_quoted() {
        let name = |name: &str| Column::Name(name.to_owned());
        for (text, want) in [
            ("url", vec![name("url")]),
            ("2", vec![Column::Number(2)]),
            ("a,3", vec![name("a"), Column::Number(3)]),
            ("\"last, first\",\"2\"", vec![name("last, first"), name("2")]),
            ("\"say \"\"hi\"\"\"", vec![name("say \"hi\"")]),
        ] {
            assert_eq!(columns(text).unwrap().0, want, "{text}");
        }
        assert!(columns("\"a").is_err() && columns("\"a\"b").is_err());
    }
}
