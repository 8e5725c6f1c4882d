//! `mayhap build --format`.

use crate::budget::MaxMemory;
use crate::exit::{Exit, refuse};
use crate::foreign::{outside, show};
use crate::globals::Globals;
use crate::keys::reading;
use crate::print;
use crate::progress::Progress;
use crate::signals::stop_on_signal;
use mayhap::sizing::ClassicShape;
use mayhap_foreign::{Foreign, Format, KeyType, Making, Options};
use mayhap_store::keys::{Collecting, Input, Reading, Rules, Tally};
use mayhap_store::replace::{self, Over};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

/// What is to be built.
pub struct Wish<'a> {
    pub format: Format,
    pub output: &'a Path,
    pub over: Over,
    pub capacity: Option<u64>,
    pub fpr: f64,
    pub making: Making,
    pub key_type: Option<KeyType>,
    pub memory: MaxMemory,
    pub strict: bool,
}

/// Build another program's filter from lists of keys.
pub fn build(
    wish: &Wish<'_>,
    inputs: Vec<Input>,
    rules: &Rules,
    globals: &Globals,
) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let reading = reading(inputs, rules, globals);
    stop_on_signal(reading.watch());
    let keys = match wish.capacity {
        Some(keys) => keys,
        None if reading.is_rereadable() => {
            let _progress = Progress::of(reading.watch(), "count", false, globals);
            reading.count()?
        }
        None => {
            return Err(refuse(
                "the keys of a pipe cannot be counted, and the filter must know their number",
                "say how many will come with -n",
            ));
        }
    };
    // What any of them takes, nearly: the textbook's bits, and for some half as many again.
    let bits = match wish.making.bits_per_key {
        Some(bits) => (keys as f64 * bits) as u64,
        None => ClassicShape::for_rate(keys.max(1), wish.fpr).bits,
    };
    wish.memory.check(bits / 8 * 3 / 2, keys)?;
    let options =
        Options::new().with_key_type(wish.key_type.unwrap_or_default()).with_making(wish.making);
    let mut filter = mayhap_foreign::create(wish.format, keys, wish.fpr, &options)?;
    let progress = Progress::of(reading.watch(), "build", false, globals);
    let tally = insert(filter.as_mut(), &reading)?;
    drop(progress);

    let write = |to: &mut dyn Write| filter.write_as(wish.format, to).map_err(outside);
    let to_stdout = wish.output == Path::new("-");
    if to_stdout {
        print::out_bytes(write)?;
    } else {
        replace::file(wish.output, wish.over, write)?;
    }
    show::outcome(
        "built",
        wish.output,
        filter.as_ref(),
        tally,
        start.elapsed(),
        to_stdout,
        globals,
    )?;
    print::unparsed(tally, rules, globals);
    let overfull = show::warn_if_overfull(wish.output, filter.as_ref(), globals);
    Ok(if overfull && wish.strict { Exit::Trouble } else { Exit::Yes })
}

/// Put every key of a reading into the filter, in the order of the input.
pub fn insert(filter: &mut dyn Foreign, reading: &Reading) -> anyhow::Result<Tally> {
    let mut new = Vec::new();
    reading.run(&Collecting, |batch| {
        filter.insert_batch(&batch.out.iter().collect::<Vec<_>>(), &mut new)?;
        anyhow::Ok(ControlFlow::Continue(()))
    })
}
