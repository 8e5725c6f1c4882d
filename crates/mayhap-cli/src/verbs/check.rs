//! `mayhap check FILE [INPUT…]`.

use crate::ask::{Asked, Asking};
use crate::clock::now_ms;
use crate::exit::{Exit, refuse};
use crate::files::Files;
use crate::filter_file::FilterFile;
use crate::foreign::{ForeignFile, FormatArgs};
use crate::globals::Globals;
use crate::keys::{KeyArgs, key_type, reading};
use crate::lines::{LineArgs, Printer, Unreadable, allow_list};
use crate::paths;
use crate::print;
use crate::progress::Progress;
use crate::secret::KeyFile;
use crate::usage;
use anyhow::Context;
use clap::Args;
use mayhap_store::keys::Rules;
use mayhap_store::map::{self, Check as Verification};
use std::path::{Path, PathBuf};

/// Print the lines that may be in a filter; the others are certainly not in.
///
/// Lines are printed as they came and in their order. A line without a key (--field, --csv,
/// --json-key) is neither in nor certainly not in: it is counted, and printed only by --mark. Exit:
/// 0 if a line was printed (or counted), 1 if none, 2 for trouble: an input that cannot be read is
/// told and the others are read all the same. Every byte of the filter is verified first, which reads it all;
/// --no-verify answers at once, whatever the size.
#[derive(Args)]
pub struct Check {
    /// The filter to ask
    #[arg(value_name = "FILE", value_parser = paths::file())]
    filter: PathBuf,

    #[command(flatten)]
    lines: LineArgs,

    /// Ask this filter too: a line may be in if it may be in any. Can be given again
    #[arg(short = 'F', long = "filter", value_name = "OTHER", value_parser = paths::file())]
    others: Vec<PathBuf>,

    /// Print before each line the filters it may be in, with a tab between. Behind a cascade's name
    /// stands what its answer rests on: `:lists`, right for keys of both; `:stash`, recorded since;
    /// `:rate`, turned away as most others are (seen with --mark)
    #[arg(long, conflicts_with_all = ["invert", "count"])]
    which: bool,

    /// Keys of this list, one a line, are certainly not in: exact, for false positives you know
    #[arg(long, value_name = "ALLOWLIST")]
    except: Option<PathBuf>,

    /// Do not verify the filter first: answers at once, and as well as the file is
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    key_file: KeyFile,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    keys: KeyArgs,
}

/// A filter to be asked, whoever made it.
#[expect(clippy::large_enum_variant, reason = "there is a handful of them")]
enum Target {
    Ours(FilterFile),
    Foreign(ForeignFile),
}

impl Target {
    fn path(&self) -> &PathBuf {
        match self {
            Target::Ours(file) => &file.path,
            Target::Foreign(file) => &file.path,
        }
    }

    /// How keys are made of lines.
    fn rules(&self, keys: &KeyArgs) -> anyhow::Result<Rules> {
        match self {
            Target::Ours(file) => {
                keys.rules_of(&file.header.notes).with_context(|| file.path.display().to_string())
            }
            Target::Foreign(file) => file.rules(keys),
        }
    }

    /// What its keys are, in a few words.
    fn says(&self) -> String {
        let (normaliser, keys) = match self {
            Target::Ours(file) => (file.header.notes.normaliser(), key_type(&file.header.notes)),
            Target::Foreign(file) => (
                file.notes().map_or("", |notes| notes.normaliser()),
                file.key_type.unwrap_or_default().name(),
            ),
        };
        let normaliser = if normaliser.is_empty() { "none" } else { normaliser };
        format!("{} ({normaliser}, {keys})", self.path().display())
    }
}

impl<'f> From<&'f Target> for Asked<'f> {
    fn from(target: &'f Target) -> Asked<'f> {
        match target {
            Target::Ours(file) => file.into(),
            Target::Foreign(file) => Asked::Foreign(file),
        }
    }
}

impl Check {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help("check")) };
        self.lines.check_quiet(self.which, globals)?;
        let files = Files::new().reads(&inputs).reads_path(&self.filter);
        files.writes_stdout().check()?;
        let check = if self.no_verify { Verification::Header } else { Verification::Everything };
        let paths = std::iter::once(&self.filter).chain(&self.others);
        let filters =
            paths.map(|path| self.open(path, check)).collect::<anyhow::Result<Vec<_>>>()?;
        let rules = rules(&self.keys, &filters)?;
        let except = self.except.as_ref();
        let except = except.map(|list| allow_list(list, &rules, &inputs)).transpose()?;

        let asking = Asking::new(&filters, except.as_ref(), now_ms());
        let unreadable = Unreadable::default();
        let reading = unreadable.pass_over(reading(inputs, &rules, globals));
        let progress = Progress::of(reading.watch(), "check", true, globals);
        let names = filters.iter().map(|filter| filter.path().display().to_string()).collect();
        let mut printer = Printer::new(&self.lines, self.which, &asking, names, &reading, globals);
        let tally = reading.run(&asking, |batch| printer.take(batch))?;
        drop(progress);
        printer.finish()?;
        print::unparsed(tally, &rules, globals);
        Ok(unreadable.exit(printer.matched > 0, globals))
    }

    fn open(&self, path: &Path, check: Verification) -> anyhow::Result<Target> {
        let key_type = self.keys.foreign_key_type();
        let mapped = map::bytes(path)?;
        match ForeignFile::open(path, &mapped, &self.format, key_type, check)? {
            Some(file) => Ok(Target::Foreign(file)),
            None => Ok(Target::Ours(FilterFile::open(path, &self.key_file, check)?)),
        }
    }
}

/// How the keys of all these filters are made of lines: it must be the same for all.
fn rules(keys: &KeyArgs, filters: &[Target]) -> anyhow::Result<Rules> {
    let [first, others @ ..] = filters else { return keys.rules() };
    let rules = first.rules(keys)?;
    for other in others {
        if other.rules(keys)? != rules {
            return Err(refuse(
                format!("the filters read keys differently: {} and {}", first.says(), other.says()),
                "check them one after another",
            ));
        }
    }
    Ok(rules)
}
