//! `mayhap verify FILE…`.

use crate::exit::Exit;
use crate::globals::Globals;
use crate::hints;
use crate::manual;
use crate::numbers::{bytes, plural};
use crate::paths;
use crate::print;
use clap::Args;
use mayhap::format::Header;
use mayhap_store::{Filter, OpenError};
use serde_json::json;
use std::path::PathBuf;

const MANUAL: &str = "\
EXAMPLES:
  mayhap verify *.may
  mayhap verify --column id table.parquet  filters against the values of their column

EXIT STATUS:
  0 all are intact
  1  one is damaged, or not a filter; for Parquet, a filter lacks values of its column
  2  one cannot be read";

/// Check every byte of filters: checksums, lengths, parameters.
///
/// States of `dedup --exact` are checked too. Exit: 0 if all are intact, 1 if one is damaged or
/// not a filter, 2 if one cannot be read. No key file is needed.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, ""))]
pub struct Verify {
    /// The filters to verify
    #[arg(value_name = "FILE", required = true, value_parser = paths::file())]
    files: Vec<PathBuf>,

    /// The files are Parquet: check that the filters of this column contain all its values
    #[arg(long, value_name = "NAME", help_heading = "Other programs")]
    column: Option<String>,
}

impl Verify {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        if let Some(column) = &self.column {
            return values::compare(&self.files, column, globals);
        }
        let mut exit = Exit::Yes;
        for path in &self.files {
            if let Some(verified) = exact::verify(path, globals)? {
                exit = exit.worse(verified);
                continue;
            }
            match Filter::verify(path) {
                Ok(header) => report(path, &header, globals)?,
                Err(error) => {
                    let damaged = matches!(error, OpenError::Format { .. });
                    exit = exit.worse(if damaged { Exit::No } else { Exit::Error });
                    if globals.json {
                        print::out(&format!(
                            "{}\n",
                            json!({"file": path.display().to_string(), "ok": false, "why": error.to_string()})
                        ))?;
                    } else if !globals.quiet {
                        print::error(&error.to_string(), hints::hint_along(&error).as_deref());
                    }
                }
            }
        }
        Ok(exit)
    }
}

fn report(path: &std::path::Path, header: &Header, globals: &Globals) -> anyhow::Result<()> {
    let (kind, keys, size) = (header.kind, header.keys, header.file_bytes);
    let path = path.display();
    if globals.json {
        let value = json!({"file": path.to_string(), "ok": true, "kind": kind.name(), "keys": keys, "bytes": size});
        return print::out(&format!("{value}\n"));
    }
    if globals.quiet {
        return Ok(());
    }
    print::out(&format!("{path}: whole: {kind}, {}, {}\n", plural(keys, "key"), bytes(size)))
}

/// States of `dedup --exact`.
mod exact {
    use super::*;
    use mayhap_store::budget::Budget;
    use mayhap_store::exact::{ExactError, ExactSet};
    use std::fs::File;
    use std::io::Read;
    use std::path::Path;

    /// Verify an exact state; `None` where the file is none, or cannot be opened.
    pub fn verify(path: &Path, globals: &Globals) -> anyhow::Result<Option<Exit>> {
        if !path.is_file() || !is_one(path) {
            return Ok(None);
        }
        let read = File::open(path)
            .map_err(ExactError::from)
            .and_then(|file| Ok((file.metadata()?.len(), file)))
            .and_then(|(bytes, file)| {
                Ok((ExactSet::read_from(&file, Budget::default())?.0, bytes))
            });
        let name = path.display();
        match read {
            Ok((set, size)) => {
                let keys = set.keys() as u64;
                if globals.json {
                    let value = json!({"file": name.to_string(), "ok": true, "kind": "exact", "keys": keys, "bytes": size});
                    print::out(&format!("{value}\n"))?;
                } else if !globals.quiet {
                    print::out(&format!(
                        "{name}: whole: exact, {}, {}\n",
                        plural(keys, "key"),
                        bytes(size)
                    ))?;
                }
                Ok(Some(Exit::Yes))
            }
            Err(error) => {
                let unread = matches!(error, ExactError::Read(_) | ExactError::Memory(_));
                let why = format!("{name}: {error}");
                if globals.json {
                    let value = json!({"file": name.to_string(), "ok": false, "why": why});
                    print::out(&format!("{value}\n"))?;
                } else if !globals.quiet {
                    print::error(&why, None);
                }
                Ok(Some(if unread { Exit::Error } else { Exit::No }))
            }
        }
    }

    fn is_one(path: &Path) -> bool {
        let mut start = Vec::new();
        let read = File::open(path).and_then(|file| file.take(8).read_to_end(&mut start));
        read.is_ok() && ExactSet::is_start_of_file(&start)
    }
}

/// What stands in for it where the reader of Parquet's values was left out of the build.
#[cfg(not(feature = "parquet-values"))]
mod values {
    use super::*;
    use crate::exit::with_hint;

    pub fn compare(_: &[PathBuf], _: &str, _: &Globals) -> anyhow::Result<Exit> {
        Err(with_hint(
            anyhow::anyhow!("--column: this build cannot read the values of Parquet files"),
            "packages can; from source: cargo install --path crates/mayhap-cli --features parquet-values",
        ))
    }
}

/// Filters of Parquet files against the values of their column.
#[cfg(feature = "parquet-values")]
mod values {
    use super::*;
    use crate::numbers::grouped;
    use anyhow::Context;
    use mayhap_foreign::Bytes;
    use mayhap_foreign::parquet::{self, ColumnCheck};
    use std::path::Path;

    /// Yes if every row group's filter has all values of its own, no if one lacks some.
    pub fn compare(files: &[PathBuf], column: &str, globals: &Globals) -> anyhow::Result<Exit> {
        let mut exit = Exit::Yes;
        for path in files {
            let file = Bytes::new(mayhap_store::map::bytes(path)?);
            let compared = parquet::compare_with_values(&file, column)
                .with_context(|| path.display().to_string())?;
            if compared.iter().any(|row_group| row_group.missing > 0) {
                exit = Exit::No;
            }
            report(path, column, &compared, globals)?;
        }
        Ok(exit)
    }

    fn report(
        path: &Path,
        column: &str,
        compared: &[ColumnCheck],
        globals: &Globals,
    ) -> anyhow::Result<()> {
        if globals.json {
            let row_groups: Vec<_> = compared
                .iter()
                .map(
                    |c| json!({"row_group": c.row_group, "values": c.values, "missing": c.missing}),
                )
                .collect();
            let is_whole = compared.iter().all(|row_group| row_group.missing == 0);
            let file = path.display().to_string();
            let value =
                json!({"file": file, "ok": is_whole, "column": column, "row_groups": row_groups});
            return print::out(&format!("{value}\n"));
        }
        if globals.quiet {
            return Ok(());
        }
        for ColumnCheck { row_group, values, missing } in compared {
            let verdict = match missing {
                0 => "all in".to_owned(),
                missing => format!("{} MISSING", grouped(*missing)),
            };
            let values = grouped(*values);
            let path = path.display();
            print::out(&format!(
                "{path}: {column}, row group {row_group}: {values} values, {verdict}\n"
            ))?;
        }
        Ok(())
    }
}
