//! `mayhap convert IN -o OUT --to FORMAT`.

use crate::create_args::VariantArg;
use crate::exit::{Exit, error_with_hint};
use crate::filter_args::{FormatArgs, KeyFile, formats, with_key_type};
use crate::globals::Globals;
use crate::key_args::ForeignKeyArg;
use crate::manual;
use crate::paths;
use crate::print;
use crate::show;
use clap::Args;
use mayhap_foreign::{ForeignError, Format};
use mayhap_store::clock::now_ms;
use mayhap_store::key_rules::KeyType;
use mayhap_store::replace::{self, Overwrite};
use mayhap_store::{ChangeError, Filter, Verify};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

const MANUAL: &str = "\
EXAMPLES:
  mayhap convert guava.bin -o guava.may --to mayhap        checksums around it
  mayhap convert dump.bin -o chunks.bin --to redisbloom    another format of the same family
  mayhap convert b.bin -o b.json --to bits-and-blooms --variant json

EXIT STATUS:
  0  the result is written
  2  an error, reported on standard error, and nothing was written";

/// Convert another program's filter to another format of its family, or wrap it in a Mayhap file.
///
/// Formats with the same hash and layout form a family and can be converted into each other:
/// leveldb, goleveldb and badger; redisbloom and redisbloom-dump; kevburnsjr and num-base64; dcso
/// and poppy's first version; parquet and parquet-bitset; and `--variant` of bits-and-blooms and
/// dcso. `--to mayhap` wraps any of them in a Mayhap file, with checksums and memory-mapped: its
/// answers stay the same, and converting it back gives the same bytes. A filter cannot be
/// converted to another family: build it from the keys with `build --format`.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::FILTER_FILES))]
pub struct Convert {
    /// The filter
    #[arg(value_name = "IN", value_parser = paths::file())]
    input: PathBuf,

    /// Output file; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// Target format
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    to: Format,

    /// Replace the output even if it is not a filter
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    variant: VariantArg,

    #[command(flatten)]
    keys: ForeignKeyArg,
}

impl Convert {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let over = if self.force { Overwrite::Anything } else { Overwrite::Filters };
        let to_stdout = self.output == Path::new("-");
        if to_stdout && std::io::stdout().is_terminal() {
            return Err(error_with_hint(
                "a filter is binary, and standard output is a terminal",
                "name a file with -o, or send it on with a pipe",
            ));
        }
        if !to_stdout {
            replace::check(&self.output, over)?;
        }
        let key_type = self.keys.get();
        let options = self.format.options(&KeyFile::default(), Verify::All);
        let mut filter = Filter::open(&self.input, &with_key_type(options, key_type))?;
        let converted =
            filter.convert(self.to, self.variant.variant, key_type.map(KeyType::foreign));
        converted.map_err(|error| self.explain(error))?;
        filter.check_unchanged()?;
        if to_stdout {
            print::out_bytes(|to| filter.write_to(to))?;
            return Ok(Exit::Yes);
        }
        filter.save(&self.output, over)?;
        let what = format!("converted {} to {}", self.input.display(), self.output.display());
        let mut info = filter.info(now_ms());
        info.file = self.output.display().to_string();
        show::made(&what, &info, None, globals)?;
        Ok(Exit::Yes)
    }

    fn explain(&self, error: ChangeError) -> anyhow::Error {
        match error {
            ChangeError::Foreign(ForeignError::Untranslatable { from, to }) => error_with_hint(
                format!("{from} and {to} hash differently, so bits cannot be translated"),
                format!(
                    "build it from the keys: `mayhap build --format {to} -o {} LIST`",
                    self.output.display()
                ),
            ),
            ChangeError::Native => error_with_hint(
                format!("{} is a Mayhap filter already", self.input.display()),
                "bits cannot be translated: build one from the keys with `build --format`",
            ),
            other => anyhow::Error::new(other).context(self.input.display().to_string()),
        }
    }
}
