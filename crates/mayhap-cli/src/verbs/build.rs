//! `mayhap build -o FILE [INPUT…]`.

mod cascade;

use crate::budget::MaxMemory;
use crate::create_args::{self, ForeignCreateArgs, KindArg, RemovalArgs, SeedArg, WindowSpan};
use crate::exit::{Exit, error_with_hint};
use crate::files::Files;
use crate::filter_args::{FormatArg, KeyFile};
use crate::globals::Globals;
use crate::key_args::{KeyArgs, key_rules, reading};
use crate::manual;
use crate::numbers;
use crate::print;
use crate::progress::Progress;
use crate::show::Change;
use crate::signals::stop_on_signal;
use crate::usage;
use crate::wait::Wait;
use anyhow::Context;
use clap::Args;
use mayhap::format::Metadata;
use mayhap::scheme::Native;
use mayhap::{Kind, KindSpec, Window};
use mayhap_foreign::{Format, Options};
use mayhap_store::clock::now_s;
use mayhap_store::key_rules::is_reserved;
use mayhap_store::replace::{self, Overwrite};
use mayhap_store::text::{ExtractRules, Input};
use mayhap_store::{BuildSpec, Filter, KeyRules, Target};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

const MANUAL: &str = "\
EXAMPLES:
  mayhap build -o seen.may urls.txt                one key per line, 1%
  zcat *.gz | mayhap build -o seen.may -p 0.001 -  from a pipe: grows as keys come
  mayhap build -o small.may --kind ribbon urls.txt the smallest; static
  mayhap build -o jobs.may --deletes --growth 16 -n 100k ids.txt
                                                   keys can be removed; 1% up to 1.6M keys
  mayhap build -o day.may --window 24h -n 10M -    forgets what is older than a day
  mayhap build -o block.may --include bad.txt --exclude good.txt
                                                   exact on both lists
  mayhap build -o guava.bin --format guava --key-type i64 ids.txt

EXIT STATUS:
  0    the filter is written
  2    an error, reported on standard error, and nothing was written; or with --strict, there were
       more keys than planned (the filter is written)
  130  interrupted by a signal: nothing was written";

/// Build a filter from lists of keys.
///
/// Without -n the keys of files are counted first; keys of standard input cannot be counted, so
/// the filter grows as they arrive (--kind scalable). The file is replaced atomically.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::FILTER_FILES))]
pub struct Build {
    /// Output file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Number of distinct keys to size the filter for: 5000, 10M, 2G
    #[arg(short = 'n', long = "keys", value_name = "KEYS", value_parser = numbers::count)]
    capacity: Option<u64>,

    /// False-positive rate, e.g. 1% or 0.001 [default: 1%]
    #[arg(short = 'p', long, alias = "rate", value_name = "RATE", value_parser = numbers::rate)]
    fpr: Option<f64>,

    /// Memory to use: determines the rate for the keys or, with -p, the number of keys for the
    /// rate
    #[arg(long, value_name = "SIZE", value_parser = numbers::size)]
    memory: Option<u64>,

    /// The kind of filter
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = create_args::kind())]
    kind: KindArg,

    #[command(flatten)]
    removal: RemovalArgs,

    /// Build the filter in this many shards, which `mayhap redis load` spreads over a cluster
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=4096))]
    shards: Option<u32>,

    /// What a windowed filter remembers: a number of keys (10M) or a time (24h)
    #[arg(long, value_name = "KEYS|TIME", value_parser = create_args::window_span)]
    window: Option<WindowSpan>,

    /// Number of parts that a window is divided into: more parts forget more precisely, and cost
    /// more [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    generations: Option<u32>,

    /// Hash with a random secret, so that people who choose the keys cannot attack the filter. The
    /// secret is written to the key file, and every verb needs it to use the filter
    #[arg(long, conflicts_with = "seed")]
    keyed: bool,

    #[command(flatten)]
    key_file: KeyFile,

    /// Hash with this seed; filters to be merged need the same one [default: 0]. For valkey-bloom:
    /// 64 hexadecimal digits, or `random`
    #[arg(long, value_name = "NUMBER", conflicts_with = "key_file", value_parser = create_args::seed)]
    #[arg(allow_hyphen_values = true)]
    seed: Option<SeedArg>,

    /// Store metadata in the file, which `info` shows. Can be repeated
    #[arg(long = "meta", value_name = "NAME=VALUE", value_parser = pair)]
    meta: Vec<(String, String)>,

    #[command(flatten)]
    max_memory: MaxMemory,

    #[command(flatten)]
    wait: Wait,

    /// Replace the output even if it is not a filter
    #[arg(long)]
    force: bool,

    /// Exit with 2 if there were more keys than planned; the filter is still written
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    lists: cascade::Lists,

    #[command(flatten)]
    format: FormatArg,

    #[command(flatten)]
    foreign: ForeignCreateArgs,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Build {
    pub fn run(mut self, globals: &Globals) -> anyhow::Result<Exit> {
        let is_cascade = self.is_cascade()?;
        let inputs = if is_cascade { Some(Vec::new()) } else { self.keys.inputs() };
        let Some(inputs) = inputs else { return Ok(usage::help("build")) };
        self.check_files(&inputs)?;
        if self.kind.0 == Some(Kind::Bitmap) {
            self.keys.default_to_integers();
        }
        let over = if self.force { Overwrite::Anything } else { Overwrite::Filters };
        let (rules, target) = self.target(is_cascade)?;
        self.check_output(over)?;
        self.removal.warn(self.kind, self.fpr, globals);
        let metadata = key_rules(&rules).note(self.metadata()?)?;
        let lock = self.wait.lock_if_there(&self.output)?;
        let start = Instant::now();
        let spec = BuildSpec {
            target,
            capacity: match self.window {
                Some(WindowSpan::Keys(keys)) => Some(keys),
                _ => self.capacity,
            },
            fpr: self.fpr,
            memory: self.memory,
            scheme: self.scheme()?,
            metadata,
            budget: self.max_memory.budget(),
            pass_keys: None,
        };
        let reading = reading(inputs, &rules, globals);
        stop_on_signal(reading.progress());
        let progress = Progress::of(reading.progress(), "build", false, globals);
        let built = match is_cascade {
            true => self.lists.build(&spec, &rules, globals)?,
            false => Filter::build(&spec, &reading)?,
        };
        drop(progress);
        let (filter, to_stdout) = (&built.filter, self.is_stdout());
        match to_stdout {
            true => print::out_bytes(|to| filter.write_to(to))?,
            false => filter.save(&self.output, over)?,
        }
        drop(lock);
        let change = Change {
            verb: "built",
            path: &self.output,
            filter,
            filled: built.filled,
            removed: None,
            start,
            to_stdout,
        };
        change.report(&rules, self.strict, globals)
    }

    /// What is built, and what of a line is its key.
    fn target(&self, is_cascade: bool) -> anyhow::Result<(ExtractRules, Target)> {
        let request = self.keys.request()?;
        if let Some(format) = self.format.format.filter(|format| *format != Format::Mayhap) {
            self.check_foreign(format)?;
            let choices = self.foreign.choices(self.seed.as_ref())?;
            choices.check(format)?;
            let rules = self.keys.rules(KeyRules::of_format(format, &request)?)?;
            let options = Options::new()
                .with_key_type(request.key_type.unwrap_or_default().foreign())
                .with_create_options(choices);
            return Ok((rules, Target::Foreign(format, options)));
        }
        if self.foreign.are_given() {
            return Err(error_with_hint(
                "--bits-per-key, --expansion, --nonscaling, --variant: for other programs' filters",
                "name one with --format, or leave them out",
            ));
        }
        match is_cascade {
            true => cascade::check_conflicts(self)?,
            false => self.check_conflicts()?,
        }
        Ok((self.keys.new_rules()?, self.kind().map_or(Target::Auto, Target::Native)))
    }

    /// The kind that the flags name or mean.
    fn kind(&self) -> Option<KindSpec> {
        let generations = self.generations.unwrap_or(KindSpec::GENERATIONS);
        let windowed = self.window.is_some() || self.generations.is_some();
        if let Some(shards) = self.shards {
            return Some(KindSpec::Sharded { shards });
        }
        Some(match self.kind.0 {
            None | Some(Kind::Quotient) if self.removal.is_quotient(self.kind) => {
                self.removal.spec()
            }
            None if windowed => KindSpec::Windowed(self.window(generations)),
            Some(Kind::Windowed) => KindSpec::Windowed(self.window(generations)),
            Some(kind) => kind.into(),
            None => return None,
        })
    }

    fn window(&self, generations: u32) -> Window {
        match self.window {
            Some(WindowSpan::Time(time)) => {
                Window::span(time.as_millis().try_into().unwrap_or(u64::MAX), generations)
            }
            _ => Window::last_keys(generations),
        }
    }

    /// Whether two lists are to be told apart.
    fn is_cascade(&self) -> anyhow::Result<bool> {
        let (kind, given) = (self.kind.0, self.lists.are_given());
        if self.shards.is_some() && self.removal.are_given() {
            return Err(error_with_hint(
                "--shards with --deletes or --growth: pieces are blocked filters",
                "leave out one of them",
            ));
        }
        if self.shards.is_some() && (!matches!(kind, None | Some(Kind::Blocked)) || given) {
            let kind = if given { "cascade" } else { self.kind.name() };
            return Err(error_with_hint(
                format!("--shards: a {kind} filter does not come in pieces"),
                "leave out --kind: pieces are blocked filters; or leave out --shards",
            ));
        }
        match kind {
            Some(Kind::Cascade) => Ok(true),
            None => Ok(given),
            Some(kind) if given => Err(error_with_hint(
                format!("--include, --exclude and --prefer: a {kind} filter has one list"),
                "--kind cascade has two",
            )),
            _ => Ok(false),
        }
    }

    /// Other programs' filters know nothing of our kinds and secrets.
    fn check_foreign(&self, format: Format) -> anyhow::Result<()> {
        let ours = self.kind.0.is_some()
            || self.lists.are_given()
            || self.window.is_some()
            || self.generations.is_some()
            || self.memory.is_some()
            || self.keyed
            || self.key_file.named().is_some()
            || self.shards.is_some()
            || self.removal.are_given()
            || !self.meta.is_empty();
        if !ours {
            return Ok(());
        }
        Err(error_with_hint(
            format!("--format {format} is another program's filter: it has keys and a rate"),
            "leave out --kind, --deletes, --growth, --shards, --window, --generations, --memory, --keyed, --key-file and --meta",
        ))
    }

    /// Flags that contradict each other.
    fn check_conflicts(&self) -> anyhow::Result<()> {
        let (kind, sized) =
            (self.kind.0, self.fpr.is_some() || self.capacity.is_some() || self.memory.is_some());
        if self.capacity.is_some() && self.fpr.is_some() && self.memory.is_some() {
            return Err(error_with_hint(
                "keys, rate and memory were all given: any two decide the third",
                "leave out -n, -p or --memory",
            ));
        }
        self.removal.check(self.kind)?;
        if self.removal.are_given() && (self.window.is_some() || self.generations.is_some()) {
            return Err(error_with_hint(
                "--deletes and --growth: a windowed filter forgets by itself",
                "leave them out, or --window and --generations",
            ));
        }
        let windowed = matches!(kind, None | Some(Kind::Windowed));
        if !windowed && (self.window.is_some() || self.generations.is_some()) {
            let flag = if self.window.is_some() { "--window" } else { "--generations" };
            return Err(error_with_hint(
                format!("{flag}: a {} filter forgets nothing", self.kind.name()),
                "--kind windowed does",
            ));
        }
        match (self.window, self.capacity) {
            (Some(WindowSpan::Keys(_)), Some(_)) => Err(error_with_hint(
                "-n and a --window of keys say the same thing twice",
                "leave out -n, or give the window as a time, as in --window 24h",
            )),
            (None, None) if kind == Some(Kind::Windowed) || self.generations.is_some() => {
                Err(error_with_hint(
                    "a windowed filter must know what to remember",
                    "say --window 10M for the last ten million keys, or --window 24h with -n for the keys of a day",
                ))
            }
            _ if kind == Some(Kind::Bitmap) && sized => Err(error_with_hint(
                "a bitmap is exact and as large as its ids make it: -n, -p and --memory do not apply",
                "leave them out",
            )),
            _ if kind == Some(Kind::Bitmap)
                && (self.keyed || self.key_file.named().is_some() || self.seed.is_some()) =>
            {
                Err(error_with_hint(
                    "a bitmap hashes nothing: --keyed, --key-file and --seed do not apply",
                    "leave them out",
                ))
            }
            _ => Ok(()),
        }
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
    fn check_output(&self, over: Overwrite) -> anyhow::Result<()> {
        if !self.is_stdout() {
            return Ok(replace::check(&self.output, over)?);
        }
        if std::io::stdout().is_terminal() {
            return Err(error_with_hint(
                "a filter is binary, and standard output is a terminal",
                "name a file with -o, or send it on with a pipe",
            ));
        }
        if self.keyed && self.key_file.named().is_none() {
            return Err(error_with_hint(
                "--keyed with -o -: there is no file to put the key file beside",
                "name one with --key-file",
            ));
        }
        Ok(())
    }

    fn scheme(&self) -> anyhow::Result<Native> {
        if self.keyed || self.key_file.named().is_some() {
            return Ok(Native::keyed(self.key_file.source().read_or_create(&self.output)?));
        }
        let foreign = self.format.format.is_some_and(|format| format != Format::Mayhap);
        let seed = self.seed.as_ref().filter(|_| !foreign);
        Ok(Native::seeded(seed.map_or(Ok(0), SeedArg::native)?))
    }

    fn metadata(&self) -> anyhow::Result<Metadata> {
        let mut metadata = Metadata::new().with_created(now_s());
        for (name, value) in &self.meta {
            if is_reserved(name) {
                return Err(error_with_hint(
                    format!("--meta {name}: names that start with \"mayhap.\" are set by mayhap"),
                    "choose another name",
                ));
            }
            metadata = metadata.with(name, value).with_context(|| format!("--meta {name}"))?;
        }
        Ok(metadata)
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is not NAME=VALUE")),
    }
}
