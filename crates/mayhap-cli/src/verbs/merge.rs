//! `mayhap merge -o OUT A B…`.

use crate::budget::MaxMemory;
use crate::exit::{Exit, error_with_hint};
use crate::filter_args::{FormatArgs, KeyFile};
use crate::globals::Globals;
use crate::manual;
use crate::paths;
use crate::show;
use crate::wait::Wait;
use anyhow::Context;
use clap::{Args, ValueEnum};
use mayhap_store::clock::now_ms;
use mayhap_store::replace::{self, Overwrite};
use mayhap_store::{Filter, Merge as Merging, Verify};
use std::path::PathBuf;

const MANUAL: &str = "\
EXAMPLES:
  mayhap merge -o week.may mon.may tue.may wed.may
  mayhap merge -o both.may --op intersect a.may b.may

EXIT STATUS:
  0  the result is written
  2  an error, reported on standard error, and nothing was written; or with --strict, the result is
     overfull (it is written)";

/// Merge filters that were built with the same parameters.
///
/// Their kind, size and hash must agree: build them with the same --kind, -n, -p and --seed or
/// --key-file. A union holds the keys of all of them. An intersection holds the keys they have in common, with somewhat more false positives than a filter built from those keys. The result of
/// keyed filters gets its key file beside it, unless --key-file names one.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::FILTER_FILES))]
pub struct Merge {
    /// Output file; may be one of the inputs
    #[arg(short, long, value_name = "OUT", value_parser = paths::file())]
    output: PathBuf,

    /// The filters
    #[arg(value_name = "FILE", required = true, num_args = 1.., value_parser = paths::file())]
    files: Vec<PathBuf>,

    /// What the result holds
    #[arg(long, value_name = "OP", default_value = "union")]
    op: Op,

    #[command(flatten)]
    key_file: KeyFile,

    #[command(flatten)]
    max_memory: MaxMemory,

    #[command(flatten)]
    wait: Wait,

    /// Replace the output even if it is not a filter
    #[arg(long)]
    force: bool,

    /// Exit with 2 if the result is overfull; it is still written
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// What the result holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Op {
    /// Keys that are in any of them
    Union,
    /// Keys that are in all of them
    Intersect,
}

impl Merge {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let [first, others @ ..] = self.files.as_slice() else { return Ok(Exit::Error) };
        if others.is_empty() {
            return Err(error_with_hint("one filter alone cannot be merged", "name two or more"));
        }
        let over = if self.force { Overwrite::Anything } else { Overwrite::Filters };
        replace::check(&self.output, over)?;
        let lock = self.wait.lock_if_there(&self.output)?;
        let (options, budget) =
            (self.format.options(&self.key_file, Verify::All), self.max_memory.budget());
        let how = match self.op {
            Op::Union => Merging::Union,
            Op::Intersect => Merging::Intersect,
        };
        let mut merged = Filter::open(first, &options)?;
        for path in others {
            let other = Filter::open(path, &options)?;
            let done = merged.merge(&other, how, budget);
            done.with_context(|| format!("{} and {}", first.display(), path.display()))?;
        }
        merged.check_unchanged()?;
        let mut info = merged.info(now_ms());
        let is_keyed = info.native.as_ref().is_some_and(|native| native.keyed);
        if is_keyed && self.key_file.named().is_none() {
            // Beside the result, where whoever asks it looks; before it, as `build` does.
            let source = self.key_file.source();
            source.store(&self.output, source.read(first)?)?;
        }
        merged.save(&self.output, over)?;
        drop(lock);
        info.file = self.output.display().to_string();
        let what = format!("merged {} filters into {}", self.files.len(), info.file);
        show::made(&what, &info, Some(self.files.len()), globals)?;
        let overfull = info.overfull().is_some();
        Ok(if self.strict && overfull { Exit::Error } else { Exit::Yes })
    }
}
