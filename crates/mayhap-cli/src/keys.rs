//! Flags that every verb has that reads keys: where they come from, and what of a line is the key.

use crate::exit::{Hint, refuse};
use crate::globals::Globals;
use clap::{Args, ValueEnum};
use mayhap::format::Notes;
use mayhap_foreign::{Format, KeyType as ForeignKeyType};
use mayhap_store::keys::{
    Column, Csv, FieldRange, Fields, Framing, Input, Normaliser, OnMissing, Part, Pointer, Reading,
    Rules, Spelling,
};
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

    /// A carriage return before the newline is part of the line's end
    #[arg(long, display_order = 101)]
    crlf: bool,

    /// Empty lines are no keys
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

    /// Each key is written in hex; the bytes it stands for are what counts
    #[arg(long, display_order = 107)]
    hex_keys: bool,

    /// What a key is; stored in the filter
    #[arg(long, value_name = "TYPE", display_order = 108)]
    key_type: Option<KeyType>,

    /// What is done to a key before it counts; stored in the filter, and done again by check and
    /// add. Lines are printed as they came
    #[arg(long, value_name = "HOW", display_order = 109)]
    normalize: Option<Normalize>,

    /// What becomes of a line without the field, column, JSON value or number that is the key. By
    /// default it is not a key, and is counted; dedup prints it
    #[arg(long, value_name = "WHAT", display_order = 110)]
    on_missing: Option<OnMissingArg>,

    /// Read input whose first bytes are those of a binary format (Parquet, an archive, a
    /// database, a filter), which is refused otherwise
    #[arg(long, display_order = 111)]
    binary: bool,
}

/// What becomes of a line without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnMissingArg {
    /// It is not a key; how many there were is told at the end. dedup leaves it out
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
pub enum KeyType {
    /// The bytes as they are
    Bytes,
    /// A decimal number of up to 64 bits
    I64,
    /// A decimal number of up to 32 bits
    I32,
    /// Text as UTF-16, as Java's unencodedCharsFunnel hashes it
    Utf16,
    /// Bytes written in hex, as --hex-keys says
    #[value(skip)]
    Hex,
}

/// What another program's keys are, for verbs that read none.
#[derive(Args, Clone, Copy, Debug)]
pub struct ForeignKeyArg {
    /// What its keys are; kept in a file of ours
    #[arg(long, value_name = "TYPE", help_heading = "Other programs", display_order = 83)]
    key_type: Option<KeyType>,
}

impl ForeignKeyArg {
    /// As the formats have it.
    pub fn get(self) -> Option<ForeignKeyType> {
        self.key_type.map(KeyType::foreign)
    }
}

/// What is done to a key before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Normalize {
    /// Nothing
    None,
    /// Small letters
    Lower,
    /// Hex digits: small letters, no `0x`
    Hex,
    /// E-mail addresses: small letters, the domain in ASCII
    Email,
    /// URLs by the WHATWG rules: small host, no default port, no dot segments, no fragment
    Url,
    /// URLs; and no scheme, `www.`, trailing slash or tracking parameters, the query sorted
    UrlLoose,
}

/// The name under which a file keeps what its keys are.
const KEY_TYPE: &str = "mayhap.key-type";

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

    /// The rules of a filter to be made.
    pub fn rules(&self) -> anyhow::Result<Rules> {
        self.rules.rules(None)
    }

    /// The rules of a filter that exists: what its file says about keys, and what the flags say
    /// about lines.
    pub fn rules_of(&self, notes: &Notes) -> anyhow::Result<Rules> {
        self.rules.rules(Some(notes))
    }

    /// The rules of another program's filter: its file says what its keys are, or the flags do.
    pub fn foreign_rules(
        &self,
        format: Format,
        said: Option<ForeignKeyType>,
        notes: Option<&Notes>,
    ) -> anyhow::Result<Rules> {
        let flag = self.rules.key_type()?;
        let keys = match (flag.map(KeyType::foreign), said) {
            (Some(flag), Some(said)) if flag != said => {
                return Err(refuse(
                    format!("--key-type {flag}: the filter's keys are {said}"),
                    "leave it out: keys are read as the file says, and otherwise they would be missed",
                ));
            }
            (Some(flag), _) => flag,
            (None, said) => said.unwrap_or_default(),
        };
        keys.check(format)?;
        let spelling = match keys {
            ForeignKeyType::Bytes if flag == Some(KeyType::Hex) => Spelling::Hex,
            ForeignKeyType::Bytes => Spelling::Bytes,
            ForeignKeyType::I64 => Spelling::I64,
            ForeignKeyType::I32 if matches!(format, Format::Kevburnsjr | Format::NumBase64) => {
                Spelling::I32Be
            }
            ForeignKeyType::I32 => {
                Spelling::I32 { wide: matches!(format, Format::Spark | Format::Orc) }
            }
            ForeignKeyType::Utf16 if format == Format::Guava => Spelling::Utf16,
            // JavaScript's strings: its scheme makes UTF-16 of what it is given.
            ForeignKeyType::Utf16 => Spelling::Bytes,
        };
        // Of a file that is not ours nobody knows what was done to its keys.
        let plain = RuleArgs { key_type: None, hex_keys: false, ..self.rules.clone() };
        Ok(Rules { spelling, normaliser: plain.normaliser(notes)?, ..plain.rules(None)? })
    }

    /// What another program's keys are, as far as the flags say.
    pub fn foreign_key_type(&self) -> Option<ForeignKeyType> {
        let key_type = if self.rules.hex_keys { Some(KeyType::Hex) } else { self.rules.key_type };
        key_type.map(KeyType::foreign)
    }

    /// Take keys for integers unless the flags say otherwise: a bitmap has no others.
    pub fn default_to_integers(&mut self) {
        if self.rules.key_type.is_none() && !self.rules.hex_keys {
            self.rules.key_type = Some(KeyType::I64);
        }
    }
}

/// Inputs to be read on as many threads as asked for.
pub fn reading(inputs: Vec<Input>, rules: &Rules, globals: &Globals) -> Reading {
    Reading::new(inputs, rules.clone()).with_threads(globals.threads().get())
}

/// What a file must say so that the same keys are found again.
pub fn note(notes: Notes, rules: &Rules) -> anyhow::Result<Notes> {
    let notes = notes.with_normaliser(rules.normaliser.note())?;
    match KeyType::of(rules.spelling) {
        KeyType::Bytes => Ok(notes),
        other => Ok(notes.with(KEY_TYPE, other.name())?),
    }
}

/// Whether a name in a file's notes is ours to set.
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("mayhap.")
}

/// What a file says its keys are: bytes, i64, i32 or hex.
pub fn key_type(notes: &Notes) -> &str {
    notes.get(KEY_TYPE).unwrap_or(KeyType::Bytes.name())
}

impl RuleArgs {
    fn rules(&self, notes: Option<&Notes>) -> anyhow::Result<Rules> {
        let (normaliser, spelling) = (self.normaliser(notes)?, self.spelling(notes)?);
        let is_integer = matches!(spelling, Spelling::I64 | Spelling::I32 { .. });
        if is_integer && normaliser != Normaliser::None {
            return Err(refuse(
                format!("--normalize {}: numbers have nothing to normalise", normaliser.name()),
                "leave out --normalize, or --key-type",
            ));
        }
        Ok(Rules {
            framing: Framing {
                delimiter: if self.null { 0 } else { b'\n' },
                crlf: self.crlf,
                skip_empty: self.skip_empty,
                any_bytes: self.binary,
            },
            part: self.part()?,
            normaliser,
            spelling,
            missing: match self.on_missing {
                None | Some(OnMissingArg::Skip) => OnMissing::Skip,
                Some(OnMissingArg::Fail) => OnMissing::Fail,
                Some(OnMissingArg::Line) => OnMissing::Line,
            },
        })
    }

    fn part(&self) -> anyhow::Result<Part> {
        if self.delimiter.is_some() && self.field.is_empty() && self.csv.is_empty() {
            return Err(refuse(
                "--delimiter separates fields, and no fields are asked for",
                "add --field 2, or --csv COLUMN; lines are separated by newlines, or by NUL with -0",
            ));
        }
        if !self.csv.is_empty() {
            let columns = self.csv.iter().flat_map(|columns| columns.0.clone()).collect();
            let csv = Csv::of(columns).with_separator(self.delimiter.unwrap_or(b','));
            return Ok(Part::Csv(csv));
        }
        if let Some(pointer) = &self.json_key {
            let pointer = Pointer::new(pointer).ok_or_else(|| {
                refuse(
                    format!("--json-key {pointer:?} is no JSON pointer"),
                    "a pointer starts with a slash, as in /user/email or /tags/0",
                )
            })?;
            return Ok(Part::Json(pointer));
        }
        if self.field.is_empty() {
            return Ok(Part::Whole);
        }
        let fields = Fields::of(self.delimiter.unwrap_or(b'\t'), self.field.clone());
        Ok(fields.map_or(Part::Whole, Part::Fields))
    }

    /// The file's normaliser; a flag must not say otherwise.
    fn normaliser(&self, notes: Option<&Notes>) -> anyhow::Result<Normaliser> {
        let flag = self.normalize.map(Normalize::normaliser);
        let Some(notes) = notes else { return Ok(flag.unwrap_or_default()) };
        let name = notes.normaliser();
        let stored = Normaliser::from_name(name)
            .ok_or_else(|| {
                anyhow::anyhow!(
                    "its keys are normalised by {name:?}, which this release does not know"
                )
            })
            .hint("upgrade mayhap")?;
        match flag {
            Some(flag) if flag != stored => Err(refuse(
                format!(
                    "--normalize {}: the filter's keys are normalised by {}",
                    flag.name(),
                    stored.name()
                ),
                "leave out --normalize: what the file says is done, and otherwise its keys would be missed",
            )),
            _ => Ok(stored),
        }
    }

    fn key_type(&self) -> anyhow::Result<Option<KeyType>> {
        match self.key_type {
            Some(other) if self.hex_keys && other != KeyType::Bytes => Err(refuse(
                format!(
                    "--hex-keys are bytes written in hex, and --key-type says {}",
                    other.name()
                ),
                "leave out one of them",
            )),
            _ if self.hex_keys => Ok(Some(KeyType::Hex)),
            key_type => Ok(key_type),
        }
    }

    /// The file's key type; a flag must not say otherwise.
    fn spelling(&self, notes: Option<&Notes>) -> anyhow::Result<Spelling> {
        let flag = self.key_type()?;
        let Some(notes) = notes else { return Ok(flag.unwrap_or(KeyType::Bytes).spelling()) };
        let name = key_type(notes);
        let stored = KeyType::from_name(name)
            .ok_or_else(|| {
                anyhow::anyhow!("its keys are of type {name:?}, which this release does not know")
            })
            .hint("upgrade mayhap")?;
        match flag {
            Some(flag) if !flag.is_spelled_like(stored) => Err(refuse(
                format!("{}: the filter's keys are {}", flag.flag(), stored.name()),
                "leave it out: keys are read as the file says, and otherwise they would be missed",
            )),
            Some(flag) => Ok(flag.spelling()),
            None => Ok(stored.spelling()),
        }
    }
}

impl KeyType {
    const ALL: [KeyType; 5] =
        [KeyType::Bytes, KeyType::I64, KeyType::I32, KeyType::Utf16, KeyType::Hex];

    const fn name(self) -> &'static str {
        match self {
            KeyType::Bytes => "bytes",
            KeyType::I64 => "i64",
            KeyType::I32 => "i32",
            KeyType::Utf16 => "utf16",
            KeyType::Hex => "hex",
        }
    }

    fn flag(self) -> String {
        if self == KeyType::Hex {
            "--hex-keys".to_owned()
        } else {
            format!("--key-type {}", self.name())
        }
    }

    fn from_name(name: &str) -> Option<KeyType> {
        KeyType::ALL.into_iter().find(|key_type| key_type.name() == name)
    }

    const fn spelling(self) -> Spelling {
        match self {
            KeyType::Bytes => Spelling::Bytes,
            KeyType::I64 => Spelling::I64,
            // As the engine has integers: one key whatever its width.
            KeyType::I32 => Spelling::I32 { wide: true },
            KeyType::Utf16 => Spelling::Utf16,
            KeyType::Hex => Spelling::Hex,
        }
    }

    fn of(spelling: Spelling) -> KeyType {
        KeyType::ALL
            .into_iter()
            .find(|key_type| key_type.spelling() == spelling)
            .unwrap_or(KeyType::Bytes)
    }

    /// The type as other programs' formats have it.
    const fn foreign(self) -> ForeignKeyType {
        match self {
            KeyType::Bytes | KeyType::Hex => ForeignKeyType::Bytes,
            KeyType::I64 => ForeignKeyType::I64,
            KeyType::I32 => ForeignKeyType::I32,
            KeyType::Utf16 => ForeignKeyType::Utf16,
        }
    }

    /// Integers are one key whatever their width.
    fn is_spelled_like(self, other: KeyType) -> bool {
        let integer = |key_type| matches!(key_type, KeyType::I64 | KeyType::I32);
        self == other || (integer(self) && integer(other))
    }
}

impl Normalize {
    const fn normaliser(self) -> Normaliser {
        match self {
            Normalize::None => Normaliser::None,
            Normalize::Lower => Normaliser::Lower,
            Normalize::Hex => Normaliser::Hex,
            Normalize::Email => Normaliser::Email,
            Normalize::Url => Normaliser::Url,
            Normalize::UrlLoose => Normaliser::UrlLoose,
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
