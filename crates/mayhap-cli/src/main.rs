//! The `mayhap` command: *have I seen this before?*
//!
//! `verbs/` has one file a verb, with its flags, its help and what it does. The other rooms serve
//! them: `globals` (flags of every verb), `keys` (flags of every verb that reads keys),
//! `foreign` (other programs' filters), `numbers` (as people write them), `print` (what is shown), `exit` (how it ends).

mod ask;
mod budget;
mod change;
mod clock;
mod closed;
mod exit;
mod files;
mod fill;
mod filter_file;
mod foreign;
mod globals;
mod hints;
mod keys;
mod kind;
mod lines;
mod measure;
mod numbers;
mod outcome;
mod paths;
mod print;
mod progress;
mod secret;
mod signals;
mod stash;
mod usage;
mod verbs;
mod wait;

use clap::Parser;
use std::process::ExitCode;

/// Have I seen this before? No, for certain, or mayhap.
///
/// Bloom filters and their family: plan one, build it from lists of keys, check lists against it,
/// drop the lines that were seen before.
#[derive(Parser)]
#[command(name = "mayhap", version, max_term_width = 100)]
#[command(
    after_help = "Exit: 0 yes or done, 1 no, 2 error, 130 interrupted, 141 the reader of standard output has gone. `mayhap help VERB` tells more."
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
    cli.verb.run(&cli.globals).unwrap_or_else(|error| exit::report(&error)).into()
}
