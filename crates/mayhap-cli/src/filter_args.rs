//! Flags of every verb that opens a filter: whose it is, and what its file does not say.

use crate::clock::{date, now_ms};
use crate::numbers::human_duration;
use crate::print;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use mayhap_foreign::{Format, Options};
use mayhap_store::key_rules::KeyType;
use mayhap_store::secret_file::SecretSource;
use mayhap_store::{ChangeError, Filter, OpenOptions, Verify};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the secret of a keyed filter is.
#[derive(Args, Clone, Debug, Default)]
pub struct KeyFile {
    /// File with the secret of a keyed filter; the default is FILE.key, beside the filter
    #[arg(long, value_name = "KEYFILE", value_parser = crate::paths::file())]
    key_file: Option<PathBuf>,
}

impl KeyFile {
    /// The file that was named.
    pub fn named(&self) -> Option<&PathBuf> {
        self.key_file.as_ref()
    }

    /// Where the secret comes from.
    pub fn source(&self) -> SecretSource {
        self.key_file.clone().map_or(SecretSource::Beside, SecretSource::File)
    }

    /// How a filter of any format is opened with it.
    pub fn options(&self) -> OpenOptions {
        OpenOptions { secret: self.source(), ..OpenOptions::default() }
    }
}

/// Which format.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct FormatArg {
    /// The format of the file, where its bytes do not say
    #[arg(long, value_name = "NAME", value_parser = formats(), hide_possible_values = true)]
    #[arg(help_heading = "Other programs", display_order = 80)]
    #[arg(long_help = long_help())]
    pub format: Option<Format>,
}

/// Which format, and what its files do not say.
#[derive(Args, Clone, Debug, Default)]
pub struct FormatArgs {
    #[command(flatten)]
    format: FormatArg,

    /// Probes per key (kevburnsjr, num-base64, bloomfilter-js keep no count of them)
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
        "Format of the file, if its bytes do not show it; `mayhap help formats` lists all.\n\nOne of {}",
        names.join(", ")
    )
}

impl FormatArgs {
    /// How a filter is opened, verified or not.
    pub fn options(&self, key_file: &KeyFile, verify: Verify) -> OpenOptions {
        let mut hints = Options::new();
        if let Some(probes) = self.probes {
            hints = hints.with_probes(probes);
        }
        if let Some(column) = &self.column {
            hints = hints.with_column(column);
        }
        OpenOptions { verify, format: self.format.format, hints, secret: key_file.source() }
    }
}

/// The same, with keys of this type.
pub fn with_key_type(options: OpenOptions, key_type: Option<KeyType>) -> OpenOptions {
    let hints = options.hints.clone().with_key_type(key_type.unwrap_or_default().foreign());
    OpenOptions { hints, ..options }
}

/// An error of a change, with the filter's name where it is about the filter.
pub fn in_file(path: &Path, error: ChangeError) -> anyhow::Error {
    let elsewhere = matches!(error, ChangeError::Source(_) | ChangeError::Memory { .. });
    let error = anyhow::Error::new(error);
    if elsewhere { error } else { error.context(path.display().to_string()) }
}

/// Every byte, unless told not to.
pub fn verify_unless(no_verify: bool) -> Verify {
    if no_verify { Verify::Header } else { Verify::All }
}

/// A window that was last written so long ago makes the clock suspect. Nothing tells a clock that
/// is ahead from a pause, and pauses of some windows are ordinary (a weekly run with a window of a
/// day).
const NO_PAUSE_MS: u64 = 400 * 86_400_000;

/// Say so where the clock is behind a window of time by more than the window, or ahead by more
/// than a year: it may be wrong, and a key added now would make the difference last.
pub fn warn_of_clock_jump(filter: &Filter) {
    let Some(jump) = filter.clock_jump(now_ms()) else { return };
    if !jump.is_back() && jump.now.saturating_sub(jump.last) < NO_PAUSE_MS {
        return;
    }
    let path = filter.path().display();
    let [last, now] = [jump.last, jump.now].map(|ms| date(ms / 1000));
    let span = human_duration(Duration::from_millis(jump.ticks));
    if jump.is_back() {
        print::warning(
            &format!(
                "{path}: its window was last written at {last}, and the clock says {now}: it was ahead then, or is behind now. The window goes on from now, and what it remembers stays for {span} more"
            ),
            Some("nothing is lost; if the clock is wrong now, set it before adding more keys"),
        );
    } else {
        print::warning(
            &format!(
                "{path}: its window was last written at {last}, and the clock says {now}: all it remembers is more than {span} old, and forgotten"
            ),
            Some("if the clock is wrong, set it and put back a copy of the file"),
        );
    }
}
