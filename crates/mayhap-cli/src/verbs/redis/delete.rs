//! `mayhap redis delete URL KEY`.

use super::place::{Place, ShardsArg};
use crate::exit::Exit;
use crate::globals::Globals;
use crate::print;
use clap::Args;
use serde_json::json;

/// Delete a filter on a server, with all its shards.
#[derive(Args)]
pub struct Delete {
    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    shards: ShardsArg,
}

impl Delete {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let filters = self.place.connect()?;
        let keys = self.place.open(&filters, &self.shards)?.delete()?;
        let name = self.place.name();
        if globals.json {
            print::json(&json!({"key": name, "deleted": keys}))?;
        } else if !globals.quiet {
            let noun = if keys == 1 { "key" } else { "keys" };
            print::say(format_args!("deleted {name}: {keys} {noun}"));
        }
        Ok(Exit::Yes)
    }
}
