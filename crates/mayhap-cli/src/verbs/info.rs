//! `mayhap info FILE`.

use crate::exit::{Exit, refuse};
use crate::filter_args::{FormatArgs, KeyFile, verify_unless};
use crate::globals::Globals;
use crate::manual;
use crate::numbers;
use crate::paths;
use crate::print;
use crate::show;
use clap::Args;
use mayhap_store::Filter;
use std::path::PathBuf;

const MANUAL: &str = "\
EXAMPLES:
  mayhap info seen.may
  mayhap info --measure=10M seen.may          the rate, measured
  mayhap info --no-verify huge.may            at once, whatever the size
  mayhap info --json seen.may | jq .rate_now

EXIT STATUS:
  0  the filter is shown
  2  it is damaged, no filter, or cannot be read; told on standard error";

/// Show what a filter is, how full, and how often it errs now.
///
/// Every byte is verified first. --no-verify looks at the header only and answers at once.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::KEY_FILES))]
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
        if self.measure == Some(0) {
            return Err(refuse(
                "--measure=0 measures nothing",
                "ask for a million or more: --measure=1M",
            ));
        }
        let options = self.format.options(&self.key_file, verify_unless(self.no_verify));
        let info = Filter::describe(&self.file, &options, self.measure)?;
        if globals.json {
            print::json(&info.to_json())?;
        } else {
            print::out(&show::info(&info))?;
        }
        Ok(Exit::Yes)
    }
}
