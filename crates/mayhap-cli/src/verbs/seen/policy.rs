//! The policy of a store: shown, or changed field by field.

use super::store::{Access, StoreArgs};
use crate::exit::Exit;
use crate::globals::Globals;
use crate::manual;
use crate::print;
use clap::Args;
use mayhap_seen::{Policy, PolicyFields};
use serde_json::{Map, Value, json};

const MANUAL: &str = "\
EXAMPLES:
  mayhap seen policy --store seen.redb
  mayhap seen policy --store seen.redb ids=2000 idle=30d

EXIT STATUS:
  0  printed, or changed
  2  an error, reported on standard error";

/// Print the policy of a store, or change some of its fields for all who use it
///
/// Fields that are not named stay unchanged. Nothing is forgotten immediately: a list follows the
/// new policy from its next mark or lookup on, and one with more slices than allowed loses two for
/// each new one. Programs that have the lists open on a server learn of a change within a minute.
#[derive(Args)]
#[command(after_long_help = manual::seen_page(MANUAL))]
pub struct PolicyVerb {
    #[command(flatten)]
    store: StoreArgs,
    /// What changes: slices, ids, rate, idle, every (`none` for slices by count), exact, owner
    #[arg(value_name = "FIELD=VALUE")]
    fields: Vec<String>,
}

impl PolicyVerb {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        if self.fields.is_empty() {
            show(&self.store.open(Access::Read)?.policy()?, globals)?;
            return Ok(Exit::Yes);
        }
        let fields: PolicyFields = self.fields.join(",").parse()?;
        let mut lists = self.store.open(Access::Change)?;
        let policy = lists.set_policy(&fields)?;
        show(&policy, globals)?;
        Ok(Exit::Yes)
    }
}

fn show(policy: &Policy, globals: &Globals) -> anyhow::Result<()> {
    if globals.json {
        let fields = policy.fields().into_iter();
        let fields: Map<String, Value> =
            fields.map(|(name, value)| (name.to_owned(), value.into())).collect();
        return print::json(&json!({"policy": policy.to_string(), "fields": fields}));
    }
    if globals.quiet { Ok(()) } else { print::out(&format!("{policy}\n")) }
}
