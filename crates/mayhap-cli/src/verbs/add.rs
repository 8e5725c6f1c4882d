//! `mayhap add FILE [INPUT…]`.

use crate::change::Change;
use crate::exit::Exit;
use crate::fill::{Filled, fill};
use crate::globals::Globals;
use crate::keys::KeyArgs;
use crate::usage;
use clap::Args;

/// Add keys to a filter.
///
/// The file is replaced whole when all keys are in; until then, and if anything fails, it stays
/// as it was. One writer at a time: a second one is told who writes, or waits with --wait. If
/// more keys come than there is room for, all are kept, the rate climbs, and a warning says so.
#[derive(Args)]
pub struct Add {
    #[command(flatten)]
    change: Change,

    /// Exit with 2 if the filter is overfull; the keys are added all the same
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Add {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help("add")) };
        let strict = self.strict;
        self.change.run(
            "added to",
            &self.keys,
            inputs,
            strict,
            globals,
            |filter, reading, memory| {
                // What cannot be added to says so before anything is read.
                let mut filter = filter;
                filter.insert_batch_at(&[], 0).or_else(|refused| match filter.kind() {
                    mayhap::Kind::Bitmap => Ok(0),
                    _ => Err(refused),
                })?;
                let Filled { filter, tally, no_integers } = fill(filter, reading, memory)?;
                Ok((filter, tally, no_integers, None))
            },
        )
    }
}
