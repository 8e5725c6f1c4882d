//! `mayhap add FILE [INPUT…]`.

use crate::change::Change;
use crate::exit::{Exit, refuse};
use crate::fill::{Filled, fill};
use crate::foreign::{self, FormatArgs};
use crate::globals::Globals;
use crate::keys::KeyArgs;
use crate::{stash, usage};
use clap::Args;
use mayhap::{Cascade, Hash, Kind};

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

    /// For a cascade, which is built from whole lists: record the keys exactly, 8 bytes each, until
    /// it is built anew
    #[arg(long)]
    stash: bool,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Add {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help("add")) };
        let (strict, path) = (self.strict, &self.change.path);
        let mut lock = self.change.lock()?;
        let mapped = self.change.map(&lock)?;
        let foreign = (&self.format, &self.keys, inputs.as_slice());
        if let Some(exit) = foreign::add(&mut lock, mapped, foreign, strict, globals)? {
            return Ok(exit);
        }
        self.change.run_locked(
            lock,
            "added to",
            &self.keys,
            inputs,
            strict,
            globals,
            |filter, reading, memory| {
                let add = |filter: &mut Cascade, hashes: &[Hash]| filter.stash_add_batch(hashes);
                let filter = match stash::record(filter, self.stash, path, reading, memory, add)? {
                    Ok((changed, _)) => return Ok(changed),
                    Err(filter) => filter,
                };
                // What cannot be added to says so before anything is read.
                if filter.kind() == Kind::Fuse {
                    return Err(refuse(
                        format!("{}: a fuse filter is made once, of all its keys", path.display()),
                        "build it anew from all lists, or with --kind blocked to add to it",
                    ));
                }
                let Filled { filter, tally, no_integers } = fill(filter, reading, memory)?;
                Ok((filter, tally, no_integers, None))
            },
        )
    }
}
