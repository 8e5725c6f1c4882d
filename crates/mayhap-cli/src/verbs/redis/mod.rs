//! `mayhap redis …`: filters on servers and clusters.

mod add;
mod check;
mod delete;
mod info;
mod load;
mod save;
mod server_args;

use crate::exit::Exit;
use crate::globals::Globals;
use crate::manual;
use clap::{Args, Subcommand};

const MANUAL: &str = "\
EXAMPLES:
  mayhap redis load redis://localhost seen seen.may
  mayhap redis check redis://localhost seen urls.txt
  mayhap build --shards 64 -o big.may urls.txt && mayhap redis load redis+cluster://node:7000 seen big.may

EXIT STATUS:
  0    yes, or done
  1    no
  2    an error, reported on standard error
  130  interrupted by a signal";

/// Filters inside Redis and Valkey: load, save, add to, check, and spread over a cluster.
///
/// A filter is one key, or many that are one filter: --shards S spreads it over a cluster, in
/// which no node could hold all of it. Servers need the module of mayhap, or RedisBloom for
/// filters in its format.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, ""))]
pub struct Redis {
    #[command(subcommand)]
    what: RedisCommand,
}

const LOAD: &str = "\
EXAMPLES:
  mayhap redis load redis://localhost seen seen.may
  mayhap redis load redis+cluster://node:7000 seen sharded.may

EXIT STATUS:
  0    the filter is on the server
  2    an error, reported on standard error
  130  interrupted by a signal";

const SAVE: &str = "\
EXAMPLES:
  mayhap redis save redis://localhost seen seen.may

EXIT STATUS:
  0    the file is written
  2    an error, reported on standard error
  130  interrupted by a signal";

const ADD: &str = "\
EXAMPLES:
  mayhap redis add redis://localhost seen urls.txt
  mayhap redis add redis://localhost seen -n 10M --wait-replicas 1 -

EXIT STATUS:
  0    all keys are in
  2    an error, reported on standard error
  130  interrupted by a signal; adding again does no harm";

const CHECK: &str = "\
EXAMPLES:
  mayhap redis check redis://localhost seen urls.txt
  mayhap redis check -v redis+cluster://node:7000 seen urls.txt

EXIT STATUS:
  0    a line was printed or counted
  1    no line was
  2    an error, reported on standard error
  130  interrupted by a signal";

const INFO: &str = "\
EXAMPLES:
  mayhap redis info redis://localhost seen

EXIT STATUS:
  0    the filter is shown
  2    an error, reported on standard error
  130  interrupted by a signal";

const DELETE: &str = "\
EXAMPLES:
  mayhap redis delete redis://localhost seen
  mayhap redis delete --orphans --dry-run redis://localhost seen

EXIT STATUS:
  0    deleted
  2    an error, reported on standard error
  130  interrupted by a signal";

#[derive(Subcommand)]
enum RedisCommand {
    #[command(after_long_help = manual::page(LOAD, manual::KEY_FILES))]
    Load(load::Load),
    #[command(after_long_help = manual::page(SAVE, manual::KEY_FILES))]
    Save(save::Save),
    #[command(after_long_help = manual::page(ADD, ""))]
    Add(add::Add),
    #[command(after_long_help = manual::page(CHECK, ""))]
    Check(check::Check),
    #[command(after_long_help = manual::page(INFO, ""))]
    Info(info::Info),
    #[command(after_long_help = manual::page(DELETE, ""))]
    Delete(delete::Delete),
}

impl Redis {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        match self.what {
            RedisCommand::Load(verb) => verb.run(globals),
            RedisCommand::Save(verb) => verb.run(globals),
            RedisCommand::Add(verb) => verb.run(globals),
            RedisCommand::Check(verb) => verb.run(globals),
            RedisCommand::Info(verb) => verb.run(globals),
            RedisCommand::Delete(verb) => verb.run(globals),
        }
    }
}
