//! `mayhap merge` of other programs' filters.

use super::{ForeignFile, FormatArgs, show};
use crate::exit::{Exit, refuse};
use crate::globals::Globals;
use anyhow::Context;
use mayhap_store::map::{self, Check};
use mayhap_store::replace::{self, Over};
use std::path::{Path, PathBuf};

/// Make one filter of several, if the first is another program's. `None`: it is ours.
pub fn merge(
    files: &[PathBuf],
    output: &Path,
    over: Over,
    is_union: bool,
    args: &FormatArgs,
    globals: &Globals,
) -> anyhow::Result<Option<Exit>> {
    let open =
        |path: &PathBuf| ForeignFile::open(path, &map::bytes(path)?, args, None, Check::Everything);
    let [first, others @ ..] = files else { return Ok(None) };
    let Some(mut merged) = open(first)? else { return Ok(None) };
    if !is_union {
        return Err(refuse(
            format!("{}: other programs' filters are united, not intersected", first.display()),
            "leave out --op intersect",
        ));
    }
    for path in others {
        let Some(other) = open(path)? else {
            return Err(refuse(
                format!(
                    "{} is a {} filter, and {} one of ours",
                    first.display(),
                    merged.format,
                    path.display()
                ),
                "only filters that hash alike can be merged: build both in one format",
            ));
        };
        merged
            .filter
            .union(other.filter.as_ref())
            .with_context(|| format!("{} and {}", first.display(), path.display()))?;
    }
    merged.mapped.check_unchanged()?;
    replace::file(output, over, |to| merged.write(to))?;
    let what = format!("merged {} filters into {}", files.len(), output.display());
    show::done(&what, output, merged.filter.as_ref(), globals)?;
    Ok(Some(Exit::Yes))
}
