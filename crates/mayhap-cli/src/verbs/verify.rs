//! `mayhap verify FILE…`.

use crate::exit::Exit;
use crate::filter_file;
use crate::globals::Globals;
use crate::hints;
use crate::numbers::{bytes, plural};
use crate::paths;
use crate::print;
use clap::Args;
use mayhap::format::Header;
use mayhap_store::map::MapError;
use serde_json::json;
use std::path::PathBuf;

/// Check every byte of filters: checksums, lengths, parameters.
///
/// Exit: 0 if all are whole, 1 if one is damaged or no filter, 2 if one cannot be read. No key
/// file is needed.
#[derive(Args)]
pub struct Verify {
    /// The filters to verify
    #[arg(value_name = "FILE", required = true, value_parser = paths::file())]
    files: Vec<PathBuf>,

    /// Files are Parquet: read this column's values and see that its filters have them all
    #[cfg(feature = "parquet-values")]
    #[arg(long, value_name = "NAME", help_heading = "Other programs")]
    column: Option<String>,
}

impl Verify {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        #[cfg(feature = "parquet-values")]
        if let Some(column) = &self.column {
            return crate::foreign::compare_with_values(&self.files, column, globals);
        }
        let mut exit = Exit::Yes;
        for path in &self.files {
            match filter_file::verify(path) {
                Ok(header) => say(path, &header, globals)?,
                Err(error) => {
                    let damaged = matches!(error, MapError::Format { .. });
                    exit = if damaged && exit != Exit::Trouble { Exit::No } else { Exit::Trouble };
                    if globals.json {
                        print::out(&format!(
                            "{}\n",
                            json!({"file": path.display().to_string(), "ok": false, "why": error.to_string()})
                        ))?;
                    } else if !globals.quiet {
                        print::error(&error.to_string(), hints::hint_for(&error).as_deref());
                    }
                }
            }
        }
        Ok(exit)
    }
}

fn say(path: &std::path::Path, header: &Header, globals: &Globals) -> anyhow::Result<()> {
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
