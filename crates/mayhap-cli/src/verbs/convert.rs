//! `mayhap convert IN -o OUT --to FORMAT`.

use crate::clock::now_s;
use crate::exit::{Exit, refuse};
use crate::foreign::{ForeignFile, FormatArgs, VariantArg, formats, outside, show_done};
use crate::globals::Globals;
use crate::keys::ForeignKeyArg;
use crate::paths;
use crate::print;
use clap::Args;
use mayhap::format::Notes;
use mayhap_foreign::{ForeignError, Format, wrap};
use mayhap_store::map::{self, Check};
use mayhap_store::replace::{self, Over};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Turn another program's filter into a relative's format, or keep it in a file of ours.
///
/// Formats that hash alike are one family, and their bits move freely: leveldb, goleveldb and
/// badger; redisbloom and redisbloom-dump; kevburnsjr and num-base64; dcso and poppy's first
/// version; parquet and parquet-bitset; and `--variant` of bits-and-blooms and dcso. `--to mayhap` keeps any of them in our own file, checked
/// and quick to open: it answers as before, and `--to` its format gives it back byte for byte.
/// Between families bits cannot be translated: build from the keys with `build --format`.
#[derive(Args)]
pub struct Convert {
    /// The filter
    #[arg(value_name = "IN", value_parser = paths::file())]
    input: PathBuf,

    /// Where the result goes; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,

    /// The format it becomes
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
        let over = if self.force { Over::Anything } else { Over::Filters };
        let to_stdout = self.output == Path::new("-");
        if to_stdout && std::io::stdout().is_terminal() {
            return Err(refuse(
                "a filter is binary, and standard output is a terminal",
                "name a file with -o, or send it on with a pipe",
            ));
        }
        if !to_stdout {
            replace::check(&self.output, over)?;
        }
        let mapped = map::bytes(&self.input)?;
        let key_type = self.keys.get();
        let file =
            ForeignFile::open(&self.input, &mapped, &self.format, key_type, Check::Everything)?;
        let Some(mut file) = file else {
            return Err(refuse(
                format!("{} is a filter of ours already", self.input.display()),
                "bits cannot be translated: build one from the keys with `build --format`",
            ));
        };
        let key_type = key_type.or(file.key_type).unwrap_or_default();
        key_type.check(file.format)?;
        let notes = match file.notes() {
            Some(notes) => notes.clone(),
            None => Notes::new().with_created(now_s()),
        };
        if let Some(variant) = self.variant.get() {
            file.filter.respell(variant).map_err(|error| self.explain(error))?;
        }
        // Found before anything is written, or an output that is a pipe would get half of it.
        if self.to != Format::Mayhap {
            let tried = file.filter.write_as(self.to, &mut std::io::sink());
            tried.map_err(|error| self.explain(error))?;
        }
        let write = |to: &mut dyn Write| {
            let filter = file.filter.as_ref();
            match self.to {
                Format::Mayhap => wrap::write(filter, key_type, &notes, to),
                format => filter.write_as(format, to),
            }
            .map_err(outside)
        };
        if to_stdout {
            print::out_bytes(write)?;
            return Ok(Exit::Yes);
        }
        file.mapped.check_unchanged()?;
        replace::file(&self.output, over, write)?;
        let what = format!("converted {} to {}", self.input.display(), self.output.display());
        show_done(&what, &self.output, file.filter.as_ref(), globals)?;
        Ok(Exit::Yes)
    }

    fn explain(&self, error: ForeignError) -> anyhow::Error {
        match error {
            ForeignError::Untranslatable { from, to } => refuse(
                format!("{from} and {to} hash differently, so bits cannot be translated"),
                format!(
                    "build it from the keys: `mayhap build --format {to} -o {} LIST`",
                    self.output.display()
                ),
            ),
            other => anyhow::Error::new(other).context(self.input.display().to_string()),
        }
    }
}
