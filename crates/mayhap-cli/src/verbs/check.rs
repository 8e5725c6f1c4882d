//! `mayhap check FILE [INPUT…]`.

use crate::ask::{Answers, Asked, Asking};
use crate::clock::now_ms;
use crate::exit::{Exit, refuse};
use crate::filter_file::FilterFile;
use crate::foreign::{ForeignFile, FormatArgs};
use crate::globals::Globals;
use crate::keys::{KeyArgs, key_type, reading};
use crate::print;
use crate::progress::Progress;
use crate::secret::KeyFile;
use crate::usage;
use anyhow::Context;
use clap::Args;
use mayhap_store::exact::{ExactSet, Hashing128};
use mayhap_store::keys::{Batch, Input, Part, Reading, Rules};
use mayhap_store::map::{self, Check as Verification};
use serde_json::json;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Print the lines that may be in a filter; the others are certainly not in.
///
/// Lines are printed as they came and in their order. Exit: 0 if a line was printed (or counted),
/// 1 if none, 2 for trouble. Every byte of the filter is verified first, which reads it all;
/// --no-verify answers at once, whatever the size.
#[derive(Args)]
pub struct Check {
    /// The filter to ask
    #[arg(value_name = "FILE")]
    filter: PathBuf,

    /// Print the lines that are certainly not in
    #[arg(short = 'v', long, conflicts_with_all = ["mark", "which"])]
    invert: bool,

    /// Print every line: `+`, a tab and the line if it may be in, `-` if not
    #[arg(long, conflicts_with_all = ["count", "which"])]
    mark: bool,

    /// Print how many lines there were instead of the lines
    #[arg(short, long, conflicts_with_all = ["line_number", "which"])]
    count: bool,

    /// Print each line's number in its input before it, as in `12:line`
    #[arg(short = 'n', long)]
    line_number: bool,

    /// Ask this filter too: a line may be in if it may be in any. Can be given again
    #[arg(short = 'F', long = "filter", value_name = "OTHER")]
    others: Vec<PathBuf>,

    /// Print before each line the filters it may be in, with a tab between
    #[arg(long)]
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
        self.refuse_what_cannot_be(&inputs, globals)?;
        let check = if self.no_verify { Verification::Header } else { Verification::Everything };
        let paths = std::iter::once(&self.filter).chain(&self.others);
        let filters =
            paths.map(|path| self.open(path, check)).collect::<anyhow::Result<Vec<_>>>()?;
        let rules = rules(&self.keys, &filters)?;
        let except = self.except.as_ref().map(|list| allow_list(list, &rules)).transpose()?;

        let asking = Asking::new(&filters, except.as_ref(), now_ms());
        let reading = reading(inputs, &rules, globals);
        let progress = Progress::of(reading.watch(), "check", true, globals);
        let mut printer = Printer {
            check: &self,
            filters: &filters,
            globals,
            delimiter: rules.framing.delimiter,
            lines: 0,
            matched: 0,
            text: Vec::new(),
        };
        let tally = reading.run(&asking, |batch| printer.take(batch))?;
        drop(progress);
        printer.finish()?;
        print::unparsed(tally.unparsed, &rules, globals);
        Ok(Exit::of(printer.matched > 0))
    }

    fn open(&self, path: &Path, check: Verification) -> anyhow::Result<Target> {
        let key_type = self.keys.foreign_key_type();
        let mapped = map::bytes(path)?;
        match ForeignFile::open(path, &mapped, &self.format, key_type, check)? {
            Some(file) => Ok(Target::Foreign(file)),
            None => FilterFile::open(path, &self.key_file, check).map(Target::Ours),
        }
    }

    fn refuse_what_cannot_be(&self, inputs: &[Input], globals: &Globals) -> anyhow::Result<()> {
        let list = self.except.clone().map(Input::from);
        if list == Some(Input::Stdin) && inputs.contains(&Input::Stdin) {
            return Err(refuse(
                "--except - and the lines to check are both on standard input",
                "name a file for one of them",
            ));
        }
        if globals.quiet
            && (self.count || self.mark || self.which || self.line_number || globals.json)
        {
            return Err(refuse(
                "-q prints nothing, so there is nothing to count, mark or number",
                "leave out -q, or all of -c, -n, --mark, --which and --json",
            ));
        }
        Ok(())
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

/// The keys of a plain list, made as the filters' keys are.
fn allow_list(path: &Path, rules: &Rules) -> anyhow::Result<ExactSet> {
    let rules = Rules { part: Part::Whole, ..rules.clone() };
    let reading = Reading::new(vec![Input::from(path.to_owned())], rules);
    let (mut list, mut new) = (ExactSet::new(), Vec::new());
    reading.run(&Hashing128, |batch| {
        list.insert_batch_new(&batch.out, &mut new);
        anyhow::Ok(ControlFlow::Continue(()))
    })?;
    Ok(list)
}

/// What becomes of the answers.
struct Printer<'a> {
    check: &'a Check,
    filters: &'a [Target],
    globals: &'a Globals,
    delimiter: u8,
    lines: u64,
    matched: u64,
    text: Vec<u8>,
}

impl Printer<'_> {
    fn take(&mut self, batch: &mut Batch<Answers>) -> anyhow::Result<ControlFlow<()>> {
        let wanted = !self.check.invert;
        let any = batch.out.any();
        let matched = any.iter().filter(|yes| **yes == wanted).count() as u64;
        self.lines += any.len() as u64;
        self.matched += matched;
        if self.globals.quiet {
            // One is enough to know.
            return Ok(if matched > 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            });
        }
        if self.check.count {
            return Ok(ControlFlow::Continue(()));
        }
        self.text.clear();
        self.lay_out(batch, wanted);
        let mut out = std::io::stdout().lock();
        out.write_all(&self.text)
            .and_then(|()| if self.globals.line_buffered { out.flush() } else { Ok(()) })
            .context("writing to standard output")?;
        Ok(ControlFlow::Continue(()))
    }

    /// The text of a batch.
    fn lay_out(&mut self, batch: &Batch<Answers>, wanted: bool) {
        let Check { mark, which, line_number, .. } = self.check;
        let any = batch.out.any();
        if self.globals.json {
            for (i, (number, line)) in batch.numbered().enumerate() {
                if *mark || any[i] == wanted {
                    let value = self.line_json(batch, i, number, line);
                    self.text.extend_from_slice(value.to_string().as_bytes());
                    self.text.push(b'\n');
                }
            }
            return;
        }
        let plain = !(*mark || *which || *line_number);
        if plain {
            // A table stays one: its head goes with the first rows.
            if let Some(head) = batch.header().filter(|_| batch.input() == 0 && batch.is_first()) {
                self.text.extend_from_slice(head);
            }
            return batch.copy_where(|i| any[i] == wanted, &mut self.text);
        }
        for (i, (number, line)) in batch.numbered().enumerate() {
            if !*mark && any[i] != wanted {
                continue;
            }
            if *mark {
                self.text.extend_from_slice(if any[i] { b"+\t" } else { b"-\t" });
            }
            if *which {
                let names = batch.out.which(i).map(|filter| self.name(filter));
                self.text.extend_from_slice(names.collect::<Vec<_>>().join(",").as_bytes());
                self.text.push(b'\t');
            }
            if *line_number {
                self.text.extend_from_slice(format!("{number}:").as_bytes());
            }
            self.text.extend_from_slice(line);
            self.text.push(self.delimiter);
        }
    }

    fn name(&self, filter: usize) -> String {
        self.filters[filter].path().display().to_string()
    }

    fn line_json(
        &self,
        batch: &Batch<Answers>,
        i: usize,
        number: u64,
        line: &[u8],
    ) -> serde_json::Value {
        let mut value = json!({"line": number, "maybe": batch.out.any()[i]});
        print::put_text(&mut value, "text", line);
        if self.filters.len() > 1 {
            value["filters"] = batch.out.which(i).map(|filter| self.name(filter)).collect();
        }
        value
    }

    fn finish(&self) -> anyhow::Result<()> {
        if self.check.count && !self.globals.quiet {
            if self.globals.json {
                return print::json(&json!({"lines": self.lines, "matched": self.matched}));
            }
            return print::out(&format!("{}\n", self.matched));
        }
        std::io::stdout().flush().context("writing to standard output")
    }
}
