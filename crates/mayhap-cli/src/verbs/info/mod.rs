//! `mayhap info FILE`.

mod facts;
mod layers;

use crate::exit::{Exit, refuse};
use crate::filter_file::FilterFile;
use crate::foreign::{self, ForeignFile, FormatArgs};
use crate::globals::Globals;
use crate::measure::{self, Measured};
use crate::numbers;
use crate::paths;
use crate::print;
use crate::secret::KeyFile;
use clap::Args;
use facts::Facts;
use mayhap::format::Header;
use mayhap_store::map::{self, Check, MapError};
use std::path::PathBuf;

/// Show what a filter is, how full, and how often it errs now.
///
/// Every byte is verified first. --no-verify looks at the header only and answers at once.
#[derive(Args)]
pub struct Info {
    /// The filter
    #[arg(value_name = "FILE", value_parser = paths::file())]
    file: PathBuf,

    /// Measure the rate: ask about random keys, of which none was added [default: 1M]
    #[arg(long, value_name = "PROBES", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "1M", value_parser = numbers::count, conflicts_with = "no_verify")]
    measure: Option<u64>,

    /// Show what the header says and no more
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    key_file: KeyFile,

    #[command(flatten)]
    format: FormatArgs,
}

impl Info {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        if let Some(exit) = self.foreign(globals)? {
            return Ok(exit);
        }
        if self.measure == Some(0) {
            return Err(refuse(
                "--measure=0 measures nothing",
                "ask for a million or more: --measure=1M",
            ));
        }
        let facts =
            if self.no_verify { self.header_only(Check::Header)? } else { self.everything()? };
        if globals.json {
            print::json(&facts.json())?;
        } else {
            print::out(&facts.text())?;
        }
        Ok(Exit::Yes)
    }

    /// Show another program's filter. `None`: it is ours.
    fn foreign(&self, globals: &Globals) -> anyhow::Result<Option<Exit>> {
        let check = if self.no_verify { Check::Header } else { Check::Everything };
        let mapped = map::bytes(&self.file)?;
        let opened = ForeignFile::open(&self.file, &mapped, &self.format, None, check)?;
        let Some(file) = opened else { return Ok(None) };
        if self.measure.is_some() {
            return Err(refuse(
                format!(
                    "{}: rates of other programs' filters are not measured",
                    file.path.display()
                ),
                "leave out --measure: the rate now is told from the bits",
            ));
        }
        let bytes = mapped.as_ref().len() as u64;
        if globals.json {
            print::json(&foreign::json(&file, bytes))?;
        } else {
            print::out(&foreign::text(&file, bytes))?;
        }
        Ok(Some(Exit::Yes))
    }

    fn everything(&self) -> anyhow::Result<Facts> {
        match FilterFile::open(&self.file, &self.key_file, Check::Everything) {
            Ok(file) => {
                let measured = self.measure.map(|probes| measure::rate(&file.filter, probes));
                let facts = Facts::of(&file.path, &file.header, Some(&file.filter), measured, true);
                file.mapped.check_unchanged()?;
                Ok(facts)
            }
            // Without the secret the bits cannot be asked, but the file can be looked at.
            Err(error) if self.lacks_secret() => match self.measure {
                Some(_) => Err(error),
                None => self.header_only(Check::Everything),
            },
            Err(error) => Err(error),
        }
    }

    /// Whether a secret is needed and none is there.
    fn lacks_secret(&self) -> bool {
        let keyed = self.header().is_ok_and(|header| header.is_keyed());
        keyed && !self.key_file.is_named() && self.key_file.read(&self.file).is_err()
    }

    fn header(&self) -> Result<Header, MapError> {
        let mapped = map::bytes(&self.file)?;
        let container = mayhap::format::Container::open(mapped)
            .map_err(|error| MapError::Format { path: self.file.clone(), error })?;
        Ok(container.header().clone())
    }

    fn header_only(&self, check: Check) -> anyhow::Result<Facts> {
        let verified = check == Check::Everything;
        let header =
            if verified { crate::filter_file::verify(&self.file)? } else { self.header()? };
        let nothing: Option<Measured> = None;
        Ok(Facts::of::<&[u8]>(&self.file, &header, None, nothing, verified))
    }
}
