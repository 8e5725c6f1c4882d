//! `mayhap build --include LIST --exclude LIST`: a filter that is exact on both lists.

use super::{Build, wish};
use crate::budget::MaxMemory;
use crate::exit::refuse;
use crate::fill::{Filled, insert_in_order};
use crate::globals::Globals;
use crate::keys::reading;
use crate::signals::stop_on_signal;
use clap::{Args, ValueEnum};
use mayhap::{Cascade, CascadeError, Hash, Making, Native, Prefer, Scheme, Spec};
use mayhap_store::keys::{Collecting, Input, Reading, Rules, Tally};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// What building takes beside the hashes and the filter.
const ASIDE_BYTES: u64 = 64 << 20;
/// The fewest hashes that are held at a time.
const FEWEST_HASHES: u64 = 4_000_000;

/// The two lists of a cascade.
#[derive(Args)]
#[command(next_help_heading = "Exact on two lists (--kind cascade)")]
pub struct Lists {
    /// Keys that are in: never missed. Can be given again
    #[arg(long, value_name = "LIST")]
    include: Vec<PathBuf>,

    /// Keys that are not in: never mistaken. Can be given again
    #[arg(long, value_name = "LIST")]
    exclude: Vec<PathBuf>,

    /// Which list counts for keys in both; without it they are an error
    #[arg(long, value_name = "LIST")]
    prefer: Option<PreferArg>,

    /// What the first layer is made of: smallest, or fastest to ask
    #[arg(long, value_name = "KIND", default_value = "fuse")]
    first_layer: FirstLayer,
}

/// A list that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PreferArg {
    /// Keys in both lists are in
    Include,
    /// Keys in both lists are not in
    Exclude,
}

/// A first layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FirstLayer {
    /// Fingerprints, the smallest
    Fuse,
    /// Cache lines, the fastest
    Blocked,
}

impl Lists {
    /// The files of all lists.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.include.iter().chain(&self.exclude)
    }

    /// Whether lists were named at all.
    pub fn are_named(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty() || self.prefer.is_some()
    }

    fn making(&self, max_hashes: usize) -> Making {
        let making = Making::default().with_max_hashes(max_hashes);
        let making = match self.first_layer {
            FirstLayer::Fuse => making,
            FirstLayer::Blocked => making.with_blocked(),
        };
        match self.prefer {
            None => making,
            Some(PreferArg::Include) => making.with_prefer(Prefer::Include),
            Some(PreferArg::Exclude) => making.with_prefer(Prefer::Exclude),
        }
    }
}

/// Build a cascade of the lists that were named.
pub fn build(
    build: &Build,
    rules: &Rules,
    scheme: Native,
    globals: &Globals,
) -> anyhow::Result<Filled> {
    refuse_what_cannot_be(build)?;
    let list = |paths: &[PathBuf]| {
        let inputs = paths.iter().cloned().map(Input::from).collect();
        let reading = reading(inputs, rules, globals);
        stop_on_signal(reading.watch());
        List { reading, held: None, read: Ok(Tally::default()) }
    };
    let (mut include, mut exclude) = (list(&build.lists.include), list(&build.lists.exclude));
    include.hold_if_pipe(scheme, build.max_memory)?;
    exclude.hold_if_pipe(scheme, build.max_memory)?;
    let room = build.max_memory.budget().bytes().saturating_sub(ASIDE_BYTES) / 2 / 8;
    let making = build.lists.making(room.max(FEWEST_HASHES).try_into().unwrap_or(usize::MAX));
    let capacity = include.count()?.max(1);
    let spec = Spec::new(capacity, build.rate.unwrap_or(wish::RATE))?.with_scheme(scheme);

    let built = Cascade::build(
        spec,
        making,
        |each| include.pass(scheme, each),
        |each| exclude.pass(scheme, each),
    );
    // What broke the reading off is the cause; the filter's complaint would be its effect.
    let (these, those) = (include.tally()?, exclude.tally()?);
    let tally = these + those;
    match built {
        Ok(filter) => Ok(Filled { filter: filter.into(), tally, no_integers: 0 }),
        Err(CascadeError::InBoth { keys, first }) => {
            Err(in_both(keys, &first, &include, &exclude, scheme)?)
        }
        Err(CascadeError::Spec(error)) => Err(error.into()),
        Err(error) => Err(error.into()),
    }
}

fn refuse_what_cannot_be(build: &Build) -> anyhow::Result<()> {
    if build.lists.include.is_empty() {
        return Err(refuse(
            "a cascade needs a list of what is in",
            "name it with --include, and what must never be mistaken for it with --exclude",
        ));
    }
    if build.keys.has_inputs() {
        return Err(refuse(
            "a cascade has two lists, and it is not said which of them this input belongs to",
            "name it with --include or --exclude",
        ));
    }
    if build.capacity.is_some() || build.memory.is_some() {
        return Err(refuse(
            "a cascade is as large as its lists make it: -n and --memory do not apply",
            "leave them out; -p is the rate for keys in neither list",
        ));
    }
    if build.window.is_some() || build.generations.is_some() {
        return Err(refuse("a cascade forgets nothing", "--kind windowed does"));
    }
    Ok(())
}

/// A list in files, which can be gone through again, or once and for all in memory.
struct List {
    reading: Reading,
    held: Option<Vec<Hash>>,
    /// How the last pass ended.
    read: anyhow::Result<Tally>,
}

impl List {
    /// A pipe comes by once: all hashes are kept.
    fn hold_if_pipe(&mut self, scheme: Native, memory: MaxMemory) -> anyhow::Result<()> {
        if self.reading.is_rereadable() {
            return Ok(());
        }
        let mut hashes: Vec<Hash> = Vec::new();
        self.read = Ok(insert_in_order(scheme, &self.reading, |more| {
            let keys = (hashes.len() + more.len()) as u64;
            // A growing vector is copied into one twice its size.
            memory.check(keys.saturating_mul(3 * 8).saturating_add(ASIDE_BYTES), keys)?;
            hashes.extend_from_slice(more);
            Ok(())
        })?);
        self.held = Some(hashes);
        Ok(())
    }

    fn count(&self) -> anyhow::Result<u64> {
        match &self.held {
            Some(held) => Ok(held.len() as u64),
            None => Ok(self.reading.count()?),
        }
    }

    fn pass(&mut self, scheme: Native, each: &mut (dyn FnMut(&[Hash]) + Send)) {
        if let Some(held) = &self.held {
            return held.chunks(1 << 16).for_each(each);
        }
        if self.read.is_ok() {
            self.read = insert_in_order(scheme, &self.reading, |hashes| {
                each(hashes);
                Ok(())
            });
        }
    }

    /// What the last pass read, or what broke it off.
    fn tally(&mut self) -> anyhow::Result<Tally> {
        std::mem::replace(&mut self.read, Ok(Tally::default()))
    }

    /// Keys with these hashes, which rise, in the order of the list; as far as it can be read once
    /// more.
    fn keys_of(&self, wanted: &[Hash], scheme: Native) -> anyhow::Result<Vec<(Hash, Vec<u8>)>> {
        let (mut found, mut new) = (Vec::new(), HashSet::new());
        if self.held.is_some() {
            return Ok(found);
        }
        self.reading.run(&Collecting, |batch| {
            for key in batch.out.iter() {
                let hash = scheme.hash_bytes(key);
                if wanted.binary_search(&hash).is_ok() && new.insert(hash) {
                    found.push((hash, key.to_vec()));
                }
            }
            let all = found.len() == wanted.len();
            anyhow::Ok(if all { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(found)
    }
}

/// Keys in both lists that an error names.
const NAMED: usize = 10;

/// The error that names keys in both lists, the first ten of them.
fn in_both(
    keys: u64,
    first: &[Hash],
    include: &List,
    exclude: &List,
    scheme: Native,
) -> anyhow::Result<anyhow::Error> {
    let shown = |key: &[u8]| format!("{:?}", String::from_utf8_lossy(key));
    let these = include.keys_of(first, scheme)?;
    let those: HashMap<Hash, Vec<u8>> = exclude.keys_of(first, scheme)?.into_iter().collect();
    for (hash, this) in &these {
        if let Some(that) = those.get(hash).filter(|that| *that != this) {
            return Ok(refuse(
                format!("two different keys share a hash: {} and {}", shown(this), shown(that)),
                "build with another --seed: that parts them",
            ));
        }
    }
    let names: Vec<String> = match these.is_empty() {
        false => these.iter().take(NAMED).map(|(_, key)| shown(key)).collect(),
        true => those.values().take(NAMED).map(|key| shown(key)).collect(), // the list was a pipe
    };
    let mut what = match keys {
        1 => "1 key is in both lists".to_owned(),
        keys => format!("{keys} keys are in both lists"),
    };
    if !names.is_empty() {
        let more = if keys > names.len() as u64 { ", …" } else { "" };
        what += &format!(": {}{more}", names.join(", "));
    }
    Ok(refuse(
        what,
        "take them out of one list, or let one count with --prefer include or --prefer exclude",
    ))
}
