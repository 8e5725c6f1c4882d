//! `mayhap redis …`: filters on servers and clusters.

mod add;
mod check;
mod delete;
mod info;
mod load;
mod place;
mod save;

use crate::exit::Exit;
use crate::globals::Globals;
use clap::{Args, Subcommand};

/// Filters inside Redis and Valkey: load, save, add to, check, and spread over a cluster.
///
/// A filter is one key, or many that are one filter: --shards S spreads it over a cluster, in
/// which no node could hold all of it. Servers need the module of mayhap, or RedisBloom for filters
/// in its format.
#[derive(Args)]
pub struct Redis {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Load(load::Load),
    Save(save::Save),
    Add(add::Add),
    Check(check::Check),
    Info(info::Info),
    Delete(delete::Delete),
}

impl Redis {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        match self.what {
            What::Load(verb) => verb.run(globals),
            What::Save(verb) => verb.run(globals),
            What::Add(verb) => verb.run(globals),
            What::Check(verb) => verb.run(globals),
            What::Info(verb) => verb.run(globals),
            What::Delete(verb) => verb.run(globals),
        }
    }
}
