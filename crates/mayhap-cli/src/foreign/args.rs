//! Flags for other programs' filters.

use crate::exit::refuse;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mayhap::format::{FormatError, read_header};
use mayhap_foreign::{Detection, Format, KeyType, Options, detect, wrap};
use mayhap_store::map::{MapError, Mapped};
use std::path::Path;

/// Which format.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct FormatArg {
    /// The format of the file, where its bytes do not say; `mayhap` is our own
    #[arg(long, value_name = "NAME", value_parser = formats(), hide_possible_values = true)]
    #[arg(help_heading = "Other programs", display_order = 80)]
    #[arg(long_help = long_help())]
    format: Option<Format>,
}

/// Which format, and what its files do not say.
#[derive(Args, Clone, Debug, Default)]
pub struct FormatArgs {
    #[command(flatten)]
    format: FormatArg,

    /// Probes a key (kevburnsjr, num-base64, bloomfilter-js keep no count of them)
    #[arg(long, value_name = "K", help_heading = "Other programs", display_order = 81)]
    probes: Option<u32>,

    /// The column of a Parquet file
    #[arg(long, value_name = "NAME", help_heading = "Other programs", display_order = 82)]
    column: Option<String>,
}

/// One of the names there are.
pub fn formats() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::ALL.map(Format::name));
    names.try_map(|name| name.parse::<Format>())
}

fn long_help() -> String {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    format!(
        "The format of the file, where its bytes do not say; `mayhap` is our own.\n\nOne of {}",
        names.join(", ")
    )
}

impl FormatArg {
    /// Another program's format, if one was named.
    pub fn foreign(self) -> Option<Format> {
        self.format.filter(|format| *format != Format::Mayhap)
    }
}

impl From<FormatArg> for FormatArgs {
    fn from(format: FormatArg) -> FormatArgs {
        FormatArgs { format, ..FormatArgs::default() }
    }
}

impl FormatArgs {
    /// The format that was named.
    pub fn named(&self) -> Option<Format> {
        self.format.format
    }

    /// What to open a file with.
    pub fn options(&self, key_type: Option<KeyType>) -> Options {
        let mut options = Options::new().with_key_type(key_type.unwrap_or_default());
        if let Some(probes) = self.probes {
            options = options.with_probes(probes);
        }
        if let Some(column) = &self.column {
            options = options.with_column(column);
        }
        options
    }

    /// The format of a file: the one that was named, or the one its bytes say. `Mayhap` is another
    /// program's filter in our file, `None` a filter that is all ours.
    pub fn format_of(&self, path: &Path, mapped: &Mapped) -> anyhow::Result<Option<Format>> {
        let bytes = mapped.as_ref();
        let format = match self.named() {
            Some(format) => format,
            None => match detect(bytes) {
                Detection::Certain(format) => format,
                Detection::OneOf(candidates) if candidates.is_empty() => Format::Mayhap,
                Detection::OneOf(candidates) => return Err(undecided(path, &candidates)),
            },
        };
        if format != Format::Mayhap {
            return Ok(Some(format));
        }
        match read_header(bytes) {
            Ok(header) => Ok(wrap::is_foreign(&header).then_some(Format::Mayhap)),
            Err(error @ FormatError::NotOurs { .. }) => {
                Err(MapError::Format { path: path.to_owned(), error }.into())
            }
            // The engine says it better.
            Err(_) => Ok(None),
        }
    }
}

/// Nothing in the bytes tells which it is, if it is a filter at all.
fn undecided(path: &Path, candidates: &[Format]) -> anyhow::Error {
    let names: Vec<&str> = candidates.iter().map(|format| format.name()).collect();
    refuse(
        format!("{}: not a filter of ours, and its bytes do not say whose", path.display()),
        format!("if it is one, name its format: --format {}", names.join(" | ")),
    )
}
