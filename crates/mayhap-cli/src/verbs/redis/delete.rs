//! `mayhap redis delete URL KEY`, `mayhap redis delete --orphans URL [KEY]`.

use super::server_args::{ServerKey, ShardsArg};
use crate::exit::Exit;
use crate::globals::Globals;
use crate::numbers::{self, grouped, human_duration};
use crate::print;
use clap::Args;
use mayhap_redis::Orphan;
use serde_json::json;
use std::ffi::OsString;
use std::time::Duration;

/// Delete a filter on a server with all its shards, or the remains of interrupted loads.
///
/// With --orphans all nodes are searched for shards that belong to no filter and for half-loaded
/// filters. What a running load has sent is not an orphan. Shards made by an earlier version of
/// mayhap, or on a server with another module, do not identify their filter: they are found if KEY
/// names it and does not exist.
#[derive(Args)]
pub struct Delete {
    /// The server, as for `mayhap redis load`
    #[arg(value_name = "URL")]
    url: String,

    /// The filter's key on the server
    #[arg(value_name = "KEY", required_unless_present = "orphans")]
    key: Option<OsString>,

    #[command(flatten)]
    shards: ShardsArg,

    /// Delete the remains of interrupted loads, of the filter KEY or of all
    #[arg(long, conflicts_with = "shards")]
    orphans: bool,

    /// Only print the keys of the orphans, one per line
    #[arg(long, requires = "orphans")]
    dry_run: bool,

    /// Only orphans that were not written to for this long: 0s, 10m, 1h, 7d
    #[arg(long, value_name = "TIME", default_value = "10m", requires = "orphans", value_parser = age)]
    older_than: Duration,
}

impl Delete {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        if self.orphans {
            return self.delete_orphans(globals);
        }
        let place = ServerKey::new(self.url, self.key.unwrap_or_default());
        let filters = place.connect()?;
        let keys = place.open(&filters, &self.shards, globals)?.delete()?;
        let name = place.name();
        if globals.json {
            print::json(&json!({"key": name, "deleted": keys}))?;
        } else if !globals.quiet {
            print::line(format_args!("deleted {name}: {}", counted(keys)));
        }
        Ok(Exit::Yes)
    }

    fn delete_orphans(self, globals: &Globals) -> anyhow::Result<Exit> {
        let name = self.key.as_ref().map(|key| key.as_encoded_bytes());
        let place = ServerKey::new(self.url, self.key.clone().unwrap_or_else(|| "*".into()));
        let filters = place.connect()?;
        let orphans = filters.orphans(name, self.older_than)?;
        let deleted = if self.dry_run { 0 } else { filters.delete_orphans(&orphans)? };
        if globals.json {
            let rows: Vec<_> = orphans.iter().map(row).collect();
            print::json(&json!({"orphans": rows, "deleted": deleted}))?;
            return Ok(Exit::Yes);
        }
        if self.dry_run {
            print::out(&orphans.iter().map(|orphan| format!("{orphan}\n")).collect::<String>())?;
        }
        if !globals.quiet {
            let oldest = orphans.iter().map(Orphan::age).max();
            let oldest =
                oldest.map_or(String::new(), |age| format!(", the oldest {}", human_duration(age)));
            let what = if self.dry_run { "would delete" } else { "deleted" };
            let count = if self.dry_run { orphans.len() as u64 } else { deleted };
            print::line(format_args!("{what} orphans: {}{oldest}", counted(count)));
        }
        Ok(Exit::Yes)
    }
}

fn row(orphan: &Orphan) -> serde_json::Value {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    json!({
        "key": text(orphan.key()), "filter": text(orphan.filter()),
        "age_seconds": orphan.age().as_secs(),
    })
}

/// A time, or none at all.
fn age(text: &str) -> Result<Duration, String> {
    if matches!(text, "0" | "0s") { Ok(Duration::ZERO) } else { numbers::duration(text) }
}

fn counted(keys: u64) -> String {
    format!("{} {}", grouped(keys), if keys == 1 { "key" } else { "keys" })
}
