//! `mayhap add` to another program's filter.

use super::{ForeignFile, FormatArgs, build::insert, show};
use crate::exit::Exit;
use crate::globals::Globals;
use crate::keys::{KeyArgs, reading};
use crate::progress::Progress;
use crate::signals::stop_on_signal;
use mayhap_store::keys::Input;
use mayhap_store::map::{Check, Mapped};
use mayhap_store::replace::{self, Lock, Over};
use std::time::Instant;

/// Add keys to a locked file, if it is another program's. `None`: it is ours.
pub fn add(
    lock: &mut Lock,
    mapped: Mapped,
    (args, keys, inputs): (&FormatArgs, &KeyArgs, &[Input]),
    strict: bool,
    globals: &Globals,
) -> anyhow::Result<Option<Exit>> {
    let start = Instant::now();
    let path = lock.path().to_owned();
    let key_type = keys.foreign_key_type();
    let file = ForeignFile::open(&path, &mapped, args, key_type, Check::Everything)?;
    let Some(mut file) = file else { return Ok(None) };
    // A table, a Parquet file: before anything is read.
    replace::check(&path, Over::Anything)?;
    let rules = file.rules(keys)?;
    let reading = reading(inputs.to_vec(), &rules, globals);
    stop_on_signal(reading.watch());
    let progress = Progress::of(reading.watch(), "add", false, globals);
    let tally = insert(file.filter.as_mut(), &reading)?;
    drop(progress);
    file.mapped.check_unchanged()?;
    lock.replace_foreign(|to| file.write(to))?;

    let filter = file.filter.as_ref();
    show::outcome("added to", &path, filter, tally, start.elapsed(), false, globals)?;
    crate::print::unparsed(tally, &rules, globals);
    let overfull = show::warn_if_overfull(&path, filter, globals);
    Ok(Some(if overfull && strict { Exit::Trouble } else { Exit::Yes }))
}
