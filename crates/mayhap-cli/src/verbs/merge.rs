//! `mayhap merge -o OUT A B…`.

use crate::budget::MaxMemory;
use crate::clock::now_s;
use crate::exit::{Exit, refuse};
use crate::filter_file::{FilterFile, load};
use crate::foreign::{self, FormatArgs};
use crate::globals::Globals;
use crate::keys::key_type;
use crate::numbers::{bytes, known_estimate, percent, plural};
use crate::outcome::{overfull, rate_now};
use crate::paths;
use crate::print;
use crate::secret::KeyFile;
use crate::wait::Wait;
use anyhow::Context;
use clap::{Args, ValueEnum};
use mayhap::Kind;
use mayhap::format::Notes;
use mayhap_store::map::{self, Check};
use mayhap_store::replace::{self, Over};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Make one filter of several that were built alike.
///
/// Their kind, size and hash must agree: build them with the same --kind, -n, -p and --seed or
/// --key-file. A union holds what any of them holds. An intersection holds what all of them hold,
/// and lets strangers pass somewhat more often than one built from the common keys would.
#[derive(Args)]
pub struct Merge {
    /// Where the result goes; may be one of the filters
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

    /// Exit with 2 if the result is overfull; it is written all the same
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    format: FormatArgs,
}

/// What the result holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Op {
    /// What any of them holds
    Union,
    /// What all of them hold
    Intersect,
}

impl Merge {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let [first, others @ ..] = self.files.as_slice() else { return Ok(Exit::Trouble) };
        if others.is_empty() {
            return Err(refuse("one filter alone cannot be merged", "name two or more"));
        }
        let over = if self.force { Over::Anything } else { Over::Filters };
        replace::check(&self.output, over)?;
        let lock = self.wait.lock_if_there(&self.output)?;
        let union = self.op == Op::Union;
        let merged = foreign::merge(&self.files, &self.output, over, union, &self.format, globals)?;
        if let Some(exit) = merged {
            return Ok(exit);
        }
        let (mut merged, header) =
            load(&map::bytes(first)?, first, &self.key_file, self.max_memory.budget())?;
        let mut notes = header.notes.with_created(now_s());
        for path in others {
            let other = FilterFile::open(path, &self.key_file, Check::Everything)?;
            same_keys(first, &notes, path, &other.header.notes)?;
            let done = match self.op {
                Op::Union => merged.union(&other.filter),
                Op::Intersect => merged.intersect(&other.filter),
            };
            let done = done.with_context(|| format!("{} and {}", first.display(), path.display()));
            if matches!(merged.kind(), Kind::Fuse | Kind::Cascade) {
                let hint = format!("build one {} filter from all lists of keys", merged.kind());
                return done
                    .map(|()| Exit::Trouble)
                    .map_err(|error| crate::exit::hinted(error, hint));
            }
            done?;
            other.mapped.check_unchanged()?;
            for (name, value) in other.header.notes.pairs() {
                if notes.get(name).is_none() {
                    notes = notes.with(name, value)?;
                }
            }
        }
        replace::file(&self.output, over, |to| merged.write_to(to, &notes))?;
        drop(lock);

        let path = self.output.display();
        let full = overfull(&merged);
        if globals.json {
            print::json(&json!({
                "file": path.to_string(), "kind": merged.kind().name(), "merged": self.files.len(),
                "keys": merged.keys(), "estimate": known_estimate(merged.estimate()), "bytes": merged.bytes(),
                "rate_now": rate_now(&merged), "overfull": full.is_some(),
            }))?;
        } else if !globals.quiet {
            print::say(format_args!(
                "merged {} filters into {path}: {}, {} {}, rate {}",
                self.files.len(),
                known_estimate(merged.estimate()).map_or("any number of keys".to_owned(), |keys| {
                    format!("about {}", plural(keys, "key"))
                }),
                merged.kind(),
                bytes(merged.bytes()),
                percent(rate_now(&merged))
            ));
        }
        if let Some((what, hint)) = full.as_ref().filter(|_| !globals.quiet) {
            print::warning(&format!("{path}: {what}"), Some(hint));
        }
        Ok(if self.strict && full.is_some() { Exit::Trouble } else { Exit::Yes })
    }
}

/// Fails where two filters mean different things by a key.
fn same_keys(first: &Path, ours: &Notes, path: &Path, theirs: &Notes) -> anyhow::Result<()> {
    let says = |notes: &Notes| {
        let normaliser = if notes.normaliser().is_empty() { "none" } else { notes.normaliser() };
        format!("normaliser {normaliser}, key type {}", key_type(notes))
    };
    let (ours, theirs) = (says(ours), says(theirs));
    if ours == theirs {
        return Ok(());
    }
    Err(refuse(
        format!(
            "{} and {} read keys differently: {ours} and {theirs}",
            first.display(),
            path.display()
        ),
        "build both with the same --normalize and --key-type",
    ))
}
