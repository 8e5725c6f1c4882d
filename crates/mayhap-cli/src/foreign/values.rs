//! Filters of Parquet files against the values of their column.

use crate::exit::Exit;
use crate::globals::Globals;
use crate::numbers::grouped;
use crate::print;
use anyhow::Context;
use mayhap_foreign::Bytes;
use mayhap_foreign::parquet::{self, Compared};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Yes if every row group's filter has all values of its own, no if one lacks some.
pub fn compare_with_values(
    files: &[PathBuf],
    column: &str,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let mut exit = Exit::Yes;
    for path in files {
        let file = Bytes::new(mayhap_store::map::bytes(path)?);
        let compared = parquet::compare_with_values(&file, column)
            .with_context(|| path.display().to_string())?;
        if compared.iter().any(|row_group| row_group.missing > 0) {
            exit = Exit::No;
        }
        say(path, column, &compared, globals)?;
    }
    Ok(exit)
}

fn say(path: &Path, column: &str, compared: &[Compared], globals: &Globals) -> anyhow::Result<()> {
    if globals.json {
        let row_groups: Vec<_> = compared
            .iter()
            .map(|c| json!({"row_group": c.row_group, "values": c.values, "missing": c.missing}))
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
    for Compared { row_group, values, missing } in compared {
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
