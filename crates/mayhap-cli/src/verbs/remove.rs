//! `mayhap remove FILE [INPUT…]`.

use crate::change::Change;
use crate::exit::{Exit, refuse};
use crate::fill::{Integers, insert_in_order};
use crate::globals::Globals;
use crate::keys::KeyArgs;
use crate::{stash, usage};
use clap::Args;
use mayhap::{AnyFilter, Cascade, Hash};
use mayhap_store::keys::Reading;
use std::ops::ControlFlow;

/// Remove keys from a counting filter or a bitmap; other kinds cannot.
///
/// A key that was added twice is removed by removing it twice. Keys that are certainly not in are
/// passed over. Remove only what was added: taking out a key that merely looks as if it were in
/// can make a counting filter miss others.
#[derive(Args)]
pub struct Remove {
    #[command(flatten)]
    change: Change,

    /// For a cascade, which is built from whole lists: record exactly, 8 bytes each, that the keys
    /// are in no more, until it is built anew
    #[arg(long)]
    stash: bool,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Remove {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help("remove")) };
        let (path, stash) = (&self.change.path, self.stash);
        self.change.run("removed from", &self.keys, inputs, false, globals, |filter, reading, memory| {
        let remove = |filter: &mut Cascade, hashes: &[Hash]| filter.stash_remove_batch(hashes);
        let filter = match stash::record(filter, stash, path, reading, memory, remove)? {
            Ok(((filter, tally, ..), removed)) => return Ok((filter, tally, 0, Some(removed))),
            Err(filter) => filter,
        };
        match filter {
            AnyFilter::Counting(mut filter) => {
                let mut removed = 0;
                let tally = insert_in_order(filter.scheme(), reading, |hashes| {
                    removed += filter.remove_batch(hashes);
                    Ok(())
                })?;
                Ok((filter.into(), tally, 0, Some(removed)))
            }
            AnyFilter::Bitmap(mut ids) => {
                let (tally, removed) = remove_ids(&mut ids, reading)?;
                Ok((ids.into(), tally, 0, Some(removed)))
            }
            other => Err(refuse(
                format!("{}: a {} filter cannot give keys up", path.display(), other.kind()),
                "build it with --kind counting to remove keys, or with --kind windowed to forget old ones",
            )),
        }})
    }
}

fn remove_ids(
    ids: &mut mayhap::Bitmap,
    reading: &Reading,
) -> anyhow::Result<(mayhap_store::keys::Tally, u64)> {
    let mut removed = 0;
    let tally = reading.run(&Integers, |batch| {
        for id in batch.out.iter().flatten() {
            removed += u64::from(ids.remove(*id));
        }
        anyhow::Ok(ControlFlow::Continue(()))
    })?;
    Ok((tally, removed))
}
