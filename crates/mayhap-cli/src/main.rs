//! The `mayhap` command: *have I seen this before?*
//!
//! `verbs/` has one file per verb, with its flags, its help and what it does. The other modules serve
//! them: `globals` (flags of every verb), `key_args` (of every verb that reads keys), `filter_args` (of
//! every verb that opens a filter), `create_args` (of every verb that makes one), `numbers` (as people
//! write them), `show` and `print` (what is shown), `hints` and `exit` (how it ends). What is done to a
//! filter is `mayhap_store::Filter`'s business.

mod budget;
mod clock;
mod closed;
mod create_args;
mod exit;
mod files;
mod filter_args;
mod globals;
mod hints;
mod key_args;
mod lines;
mod manual;
mod numbers;
mod paths;
mod print;
mod progress;
mod show;
mod signals;
mod usage;
mod verbs;
mod wait;

use clap::Parser;
use std::process::ExitCode;

const MANUAL: &str = "\
EXAMPLES:
  mayhap plan -n 10M -p 1%              what would it cost?
  mayhap build -o seen.may urls.txt     one key per line
  mayhap check -v seen.may new.txt      lines that are certainly new
  mayhap dedup new.txt                  each line once
  mayhap help build                     a verb's manual; also `man mayhap-build` after `mayhap man`
  mayhap help kinds                     what each kind of filter can do
  mayhap help formats                   other programs' formats

EXIT STATUS:
  0    yes, or done
  1    no
  2    an error, reported on standard error with a hint
  130  interrupted by a signal
  141  the reader of standard output has exited, as in `| head`";

/// Have I seen this before? No, for certain, or maybe.
///
/// Bloom filters and their family: plan one, build it from lists of keys, check lists against it,
/// drop the lines that were seen before.
#[derive(Parser)]
#[command(name = "mayhap", version, max_term_width = 100)]
#[command(
    after_help = "Exit: 0 yes or done, 1 no, 2 error, 130 interrupted, 141 the reader of standard output has gone. `mayhap help VERB` tells more, `mayhap help kinds` and `mayhap help formats` print tables.",
    after_long_help = manual::page(MANUAL, manual::FILTER_FILES)
)]
struct Cli {
    #[command(subcommand)]
    verb: verbs::Verb,
    #[command(flatten)]
    globals: globals::Globals,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::report(&error).into(),
    };
    cli.globals.color.write_global();
    exit::on_truncated_filter();
    signals::survive_file_size_limit();
    cli.verb.run(&cli.globals).unwrap_or_else(|error| exit::report(&error)).into()
}
