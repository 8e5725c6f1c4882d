//! The verbs, one file each: flags, help and action.

mod add;
mod bench;
mod build;
mod check;
mod completions;
mod convert;
mod dedup;
mod info;
mod man;
mod merge;
pub mod plan;
mod redis;
mod remove;
mod seen;
mod topics;
mod verify;

use crate::exit::Exit;
use crate::globals::Globals;
use clap::Subcommand;

/// What there is to do.
#[derive(Subcommand)]
pub enum Verb {
    Plan(plan::Plan),
    Build(build::Build),
    Add(add::Add),
    Remove(remove::Remove),
    Check(check::Check),
    Dedup(dedup::Dedup),
    Info(info::Info),
    Merge(merge::Merge),
    Verify(verify::Verify),
    Convert(convert::Convert),
    Bench(bench::Bench),
    Seen(seen::Seen),
    Redis(redis::Redis),
    Completions(completions::Completions),
    Man(man::Man),
    Kinds(topics::Kinds),
    Formats(topics::Formats),
}

impl Verb {
    /// Do it.
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        match self {
            Verb::Plan(verb) => verb.run(globals),
            Verb::Build(verb) => verb.run(globals),
            Verb::Add(verb) => verb.run(globals),
            Verb::Remove(verb) => verb.run(globals),
            Verb::Check(verb) => verb.run(globals),
            Verb::Dedup(verb) => verb.run(globals),
            Verb::Info(verb) => verb.run(globals),
            Verb::Merge(verb) => verb.run(globals),
            Verb::Verify(verb) => verb.run(globals),
            Verb::Convert(verb) => verb.run(globals),
            Verb::Bench(verb) => verb.run(globals),
            Verb::Seen(verb) => verb.run(globals),
            Verb::Redis(verb) => verb.run(globals),
            Verb::Completions(verb) => verb.run(),
            Verb::Man(verb) => verb.run(),
            Verb::Kinds(topic) => topic.run(),
            Verb::Formats(topic) => topic.run(),
        }
    }
}
