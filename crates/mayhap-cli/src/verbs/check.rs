//! `mayhap check FILE [INPUT…]`.

use crate::exit::{Exit, error_with_hint};
use crate::files::Files;
use crate::filter_args::{FormatArgs, KeyFile, verify_unless, with_key_type};
use crate::globals::Globals;
use crate::key_args::{KeyArgs, reading};
use crate::lines::{LineArgs, Printer, Unreadable, allow_list};
use crate::manual;
use crate::paths;
use crate::print;
use crate::progress::Progress;
use crate::usage;
use clap::Args;
use mayhap_store::clock::now_ms;
use mayhap_store::text::ExtractRules;
use mayhap_store::{Filter, Lookup, Query};
use std::path::PathBuf;

const MANUAL: &str = "\
EXAMPLES:
  mayhap check seen.may urls.txt           lines that may be in
  mayhap check -v seen.may urls.txt        lines that are certainly not in
  mayhap check -q seen.may - <<< \"$url\"    only the exit code
  mayhap check -c -F more.may seen.may urls.txt
  mayhap check --count-copies jobs.may ids.txt
                                           how often each may be in, before its line
  mayhap check dump.bin --format leveldb keys.txt

EXIT STATUS:
  0    a line was printed or counted
  1    no line was
  2    an error, reported on standard error; other inputs were still read
  141  the reader of standard output has exited, as in `| head`";

/// Print the lines that may be in a filter; the others are certainly not in.
///
/// Lines are printed unchanged and in input order. A line without a key (--field, --csv,
/// --json-key) is neither in nor certainly not in: it is counted, and printed only with --mark. Exit:
/// 0 if a line was printed (or counted), 1 if none, 2 for errors: an input that cannot be read is reported, and the others are still read. Every byte of the filter is verified first, which reads the whole file; --no-verify answers immediately, whatever its size.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::KEY_FILES))]
pub struct Check {
    /// The filter to query
    #[arg(value_name = "FILE", value_parser = paths::file())]
    filter: PathBuf,

    #[command(flatten)]
    lines: LineArgs,

    /// Query this filter too: a line may be in if it may be in any of them. Can be repeated
    #[arg(short = 'F', long = "filter", value_name = "OTHER", value_parser = paths::file())]
    others: Vec<PathBuf>,

    /// Print the filters a line may be in before it, with a tab between. The name of a cascade is
    /// followed by the evidence: `:lists` (exact for keys of both lists), `:stash` (recorded
    /// later), `:rate` (rejected like most other keys; shown with --mark)
    #[arg(long, conflicts_with_all = ["invert", "count"])]
    which: bool,

    /// Print how many copies of its key may be in before each line, with a tab between: never too
    /// few. For quotient and counting filters; for several filters, the sum
    #[arg(long, conflicts_with_all = ["invert", "count"])]
    count_copies: bool,

    /// Keys of this file, one per line, count as not in: an exact list of known false positives
    #[arg(long, value_name = "ALLOWLIST")]
    except: Option<PathBuf>,

    /// Do not verify the filter first: answers immediately, but damage goes unnoticed
    #[arg(long)]
    no_verify: bool,

    #[command(flatten)]
    key_file: KeyFile,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Check {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help("check")) };
        self.lines.check_quiet(self.which || self.count_copies, globals)?;
        let files = Files::new().reads(&inputs).reads_path(&self.filter);
        files.writes_stdout().check()?;
        let options = self.format.options(&self.key_file, verify_unless(self.no_verify));
        let options = with_key_type(options, self.keys.request()?.key_type);
        let paths = std::iter::once(&self.filter).chain(&self.others);
        let filters =
            paths.map(|path| Filter::open(path, &options)).collect::<Result<Vec<_>, _>>()?;
        if self.count_copies {
            filters.iter().try_for_each(check_counts)?;
        }
        let rules = rules(&self.keys, &filters)?;
        let except = self.except.as_ref();
        let except = except.map(|list| allow_list(list, &rules, &inputs)).transpose()?;

        let lookups = filters.iter().map(|filter| filter as &dyn Lookup);
        let query = Query::new(lookups, except.as_ref(), now_ms());
        let unreadable = Unreadable::default();
        let reading = unreadable.pass_over(reading(inputs, &rules, globals));
        let progress = Progress::of(reading.progress(), "check", true, globals);
        let names = filters.iter().map(|filter| filter.path().display().to_string()).collect();
        let mut printer = Printer::new(&self.lines, self.which, &query, names, &reading, globals);
        printer.copies = self.count_copies;
        let tally = reading.run(&query, |batch| printer.take(batch))?;
        drop(progress);
        printer.finish()?;
        print::unparsable(tally, &rules, globals);
        Ok(unreadable.exit(printer.matched > 0, globals))
    }
}

/// Fails for a filter that does not count copies.
fn check_counts(filter: &Filter) -> anyhow::Result<()> {
    match filter.counts_copies() {
        true => Ok(()),
        false => Err(error_with_hint(
            format!(
                "{}: a {} filter does not count copies",
                filter.path().display(),
                filter.name()
            ),
            "--kind quotient does: build it again, or leave out --count-copies",
        )),
    }
}

/// How the keys of all these filters are made of lines: it must be the same for all.
fn rules(keys: &KeyArgs, filters: &[Filter]) -> anyhow::Result<ExtractRules> {
    let [first, others @ ..] = filters else { return keys.new_rules() };
    let rules = keys.rules_for(first)?;
    for other in others {
        if keys.rules_for(other)? != rules {
            return Err(error_with_hint(
                format!("the filters read keys differently: {} and {}", says(first), says(other)),
                "check them one after another",
            ));
        }
    }
    Ok(rules)
}

/// What a filter's keys are, in a few words.
fn says(filter: &Filter) -> String {
    format!("{} ({})", filter.path().display(), filter.keys_text())
}
