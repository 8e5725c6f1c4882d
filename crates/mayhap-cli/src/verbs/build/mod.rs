//! `mayhap build -o FILE [INPUT…]`.

mod cascade;
mod fuse;
pub(super) mod wish;

use crate::budget::MaxMemory;
use crate::clock::now_s;
use crate::exit::{Exit, refuse};
use crate::files::Files;
use crate::fill::{Filled, fill};
use crate::foreign::{self, FormatArg, MakingArgs, SeedArg};
use crate::globals::Globals;
use crate::keys::{KeyArgs, is_reserved, note, reading};
use crate::kind::{GENERATIONS, KindArg};
use crate::numbers;
use crate::outcome::Outcome;
use crate::print;
use crate::progress::Progress;
use crate::secret::KeyFile;
use crate::signals::stop_on_signal;
use crate::usage;
use crate::wait::Wait;
use anyhow::Context;
use clap::Args;
use mayhap::format::Notes;
use mayhap::{AnyFilter, Native};
use mayhap_foreign::Format;
use mayhap_store::keys::{Input, Reading};
use mayhap_store::replace::{self, Over};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;
use wish::Wish;

/// Build a filter from lists of keys.
///
/// Without -n the keys of files are counted first; on standard input, where they cannot be, the
/// filter grows as they come (--kind scalable). The file is replaced whole or not at all.
#[derive(Args)]
pub struct Build {
    /// Where the filter goes; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Distinct keys to make room for: 5000, 10M, 2G
    #[arg(short = 'n', long = "keys", value_name = "KEYS", value_parser = numbers::count)]
    capacity: Option<u64>,

    /// How often a stranger may pass for a member: 1%, 0.01, 1/1000, 1e-6 [default: 1%]
    #[arg(short = 'p', long, value_name = "RATE", value_parser = numbers::rate)]
    rate: Option<f64>,

    /// Memory to spend: decides the rate for the keys, or with -p the keys for the rate
    #[arg(long, value_name = "SIZE", value_parser = numbers::size)]
    memory: Option<u64>,

    /// The kind of filter
    #[arg(long, value_name = "KIND", default_value = "auto")]
    kind: KindArg,

    /// Build it in so many pieces, for `mayhap redis load` to spread over a cluster
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=4096))]
    shards: Option<u32>,

    /// What a windowed filter remembers: so many keys (10M) or so long (24h)
    #[arg(long, value_name = "KEYS|TIME", value_parser = wish::span)]
    window: Option<wish::Span>,

    /// Parts that a window is cut into: more forget more exactly, and cost more [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    generations: Option<u32>,

    /// Hash under a random secret, safe against people who choose the keys. The secret is
    /// written to the key file, and every verb needs it to use the filter
    #[arg(long, conflicts_with = "seed")]
    keyed: bool,

    #[command(flatten)]
    key_file: KeyFile,

    /// Hash with this seed: filters that shall merge need the same [default: 0]. For valkey-bloom
    /// 64 hexadecimal digits, or `random`
    #[arg(long, value_name = "NUMBER", conflicts_with = "key_file", value_parser = foreign::seed)]
    #[arg(allow_hyphen_values = true)]
    seed: Option<SeedArg>,

    /// Note something in the file, for `info` to show. Can be given again
    #[arg(long = "meta", value_name = "NAME=VALUE", value_parser = pair)]
    meta: Vec<(String, String)>,

    #[command(flatten)]
    max_memory: MaxMemory,

    #[command(flatten)]
    wait: Wait,

    /// Replace the output even if it is not a filter
    #[arg(long)]
    force: bool,

    /// Exit with 2 if more keys came than there was room for; the filter is written all the same
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    lists: cascade::Lists,

    #[command(flatten)]
    format: FormatArg,

    #[command(flatten)]
    making: MakingArgs,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Build {
    pub fn run(mut self, globals: &Globals) -> anyhow::Result<Exit> {
        let is_cascade = self.is_cascade()?;
        let inputs = if is_cascade { Some(Vec::new()) } else { self.keys.inputs() };
        let Some(inputs) = inputs else { return Ok(usage::help("build")) };
        self.check_files(&inputs)?;
        if self.kind == KindArg::Bitmap {
            self.keys.default_to_integers();
        }
        if let Some(format) = self.format.foreign() {
            return self.foreign(format, inputs, globals);
        }
        if self.making.are_named() {
            return Err(refuse(
                "--bits-per-key, --expansion, --nonscaling, --variant: for other programs' filters",
                "name one with --format, or leave them out",
            ));
        }
        let rules = self.keys.rules()?;
        let over = if self.force { Over::Anything } else { Over::Filters };
        self.check_output(over)?;
        let notes = note(self.notes()?, &rules)?;
        let lock = self.wait.lock_if_there(&self.output)?;
        let reading = reading(inputs, &rules, globals);
        stop_on_signal(reading.watch());

        let start = Instant::now();
        let filled = if is_cascade {
            cascade::build(&self, &rules, self.scheme()?, globals)?
        } else {
            self.fill(&reading, globals)?
        };
        let Filled { filter, tally, no_integers } = filled;
        write(&self.output, over, &filter, &notes)?;
        drop(lock);

        let outcome = Outcome {
            verb: "built",
            path: &self.output,
            filter: &filter,
            tally,
            no_integers,
            removed: None,
            took: start.elapsed(),
            to_stdout: self.is_stdout(),
        };
        outcome.say(&rules, globals)?;
        Ok(outcome.exit(self.strict))
    }

    /// Whether two lists are to be told apart.
    fn is_cascade(&self) -> anyhow::Result<bool> {
        let blocked = matches!(self.kind, KindArg::Auto | KindArg::Blocked);
        if self.shards.is_some() && (!blocked || self.lists.are_named()) {
            let kind = if self.lists.are_named() { "cascade".to_owned() } else { self.kind.name() };
            return Err(refuse(
                format!("--shards: a {kind} filter does not come in pieces"),
                "leave out --kind: pieces are blocked filters; or leave out --shards",
            ));
        }
        match self.kind {
            KindArg::Cascade => Ok(true),
            KindArg::Auto => Ok(self.lists.are_named()),
            kind if self.lists.are_named() => Err(refuse(
                format!("--include, --exclude and --prefer: a {} filter has one list", kind.name()),
                "--kind cascade has two",
            )),
            _ => Ok(false),
        }
    }

    /// A filter of one list.
    fn fill(&self, reading: &Reading, globals: &Globals) -> anyhow::Result<Filled> {
        let wish = Wish::of(self, reading, globals)?;
        wish.check_memory(self.max_memory)?;
        let scheme = self.scheme()?;
        let _progress = Progress::of(reading.watch(), "build", false, globals);
        if wish.kind == KindArg::Fuse {
            return fuse::build(&wish, scheme, reading, self.max_memory);
        }
        fill(wish.empty(scheme)?, reading, self.max_memory)
    }

    /// Build another program's filter, which knows nothing of our kinds and secrets.
    fn foreign(
        &self,
        format: Format,
        inputs: Vec<Input>,
        globals: &Globals,
    ) -> anyhow::Result<Exit> {
        let ours = self.kind != KindArg::Auto
            || self.lists.are_named()
            || self.window.is_some()
            || self.generations.is_some()
            || self.memory.is_some()
            || self.keyed
            || self.key_file.is_named()
            || self.shards.is_some()
            || !self.meta.is_empty();
        if ours {
            return Err(refuse(
                format!("--format {format} is another program's filter: it has keys and a rate"),
                "leave out --kind, --shards, --window, --generations, --memory, --keyed, --key-file and --meta",
            ));
        }
        let making = self.making.making(self.seed.as_ref())?;
        making.check(format)?;
        let over = if self.force { Over::Anything } else { Over::Filters };
        self.check_output(over)?;
        let rules = self.keys.foreign_rules(format, None, None)?;
        let _lock = self.wait.lock_if_there(&self.output)?;
        let wish = foreign::Wish {
            format,
            output: &self.output,
            over,
            capacity: self.capacity,
            fpr: self.rate.unwrap_or(wish::RATE),
            making,
            key_type: self.keys.foreign_key_type(),
            memory: self.max_memory,
            strict: self.strict,
        };
        foreign::build(&wish, inputs, &rules, globals)
    }

    /// A list is never replaced by the filter that is made of it.
    fn check_files(&self, inputs: &[Input]) -> anyhow::Result<()> {
        let lists: Vec<Input> = self.lists.paths().cloned().map(Input::from).collect();
        let files = Files::new().reads(inputs).reads(&lists);
        let files =
            if self.is_stdout() { files.writes_stdout() } else { files.writes("-o", &self.output) };
        files.check()
    }

    fn is_stdout(&self) -> bool {
        self.output == Path::new("-")
    }

    /// What can be refused before any work is done.
    fn check_output(&self, over: Over) -> anyhow::Result<()> {
        if !self.is_stdout() {
            return Ok(replace::check(&self.output, over)?);
        }
        if std::io::stdout().is_terminal() {
            return Err(refuse(
                "a filter is binary, and standard output is a terminal",
                "name a file with -o, or send it on with a pipe",
            ));
        }
        if self.keyed && !self.key_file.is_named() {
            return Err(refuse(
                "--keyed with -o -: there is no file to put the key file beside",
                "name one with --key-file",
            ));
        }
        Ok(())
    }

    fn scheme(&self) -> anyhow::Result<Native> {
        if self.keyed || self.key_file.is_named() {
            return Ok(Native::keyed(self.key_file.read_or_make(&self.output)?));
        }
        Ok(Native::seeded(self.seed.as_ref().map_or(Ok(0), SeedArg::native)?))
    }

    fn notes(&self) -> anyhow::Result<Notes> {
        let mut notes = Notes::new().with_created(now_s());
        for (name, value) in &self.meta {
            if is_reserved(name) {
                return Err(refuse(
                    format!("--meta {name}: names that start with \"mayhap.\" are set by mayhap"),
                    "choose another name",
                ));
            }
            notes = notes.with(name, value).with_context(|| format!("--meta {name}"))?;
        }
        Ok(notes)
    }

    fn generations(&self) -> u32 {
        self.generations.unwrap_or(GENERATIONS)
    }
}

/// The filter into its file, or out.
fn write(path: &Path, over: Over, filter: &AnyFilter, notes: &Notes) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return print::out_bytes(|to| filter.write_to(to, notes));
    }
    Ok(replace::file(path, over, |to| filter.write_to(to, notes))?)
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not NAME=VALUE")),
    }
}
