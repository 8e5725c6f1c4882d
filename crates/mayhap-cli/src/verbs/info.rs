//! `mayhap info FILE`.

use crate::exit::{Exit, error_with_hint};
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
  2  it is damaged, not a filter, or cannot be read; reported on standard error";

/// Show a filter's kind, parameters, fill and current false-positive rate.
///
/// Every byte is verified first. --no-verify reads only the header and answers immediately.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::KEY_FILES))]
pub struct Info {
    /// The filter
    #[arg(value_name = "FILE", value_parser = paths::file())]
    file: PathBuf,

    /// Measure the false-positive rate with random keys, none of which was added [default: 1M]
    #[arg(long, value_name = "PROBES", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "1M", value_parser = numbers::count, conflicts_with = "no_verify")]
    measure: Option<u64>,

    /// Show only what the header says
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
            return Err(error_with_hint(
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
