//! The verbs, one file each: flags, help and action.

mod completions;
mod man;
mod plan;

use crate::exit::Exit;
use crate::globals::Globals;
use clap::Subcommand;

/// What there is to do.
#[derive(Subcommand)]
pub enum Verb {
    Plan(plan::Plan),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Verb {
    /// Do it.
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        match self {
            Verb::Plan(verb) => verb.run(globals),
            Verb::Completions(verb) => verb.run(),
            Verb::Man(verb) => verb.run(),
        }
    }
}
