//! `mayhap redis check URL KEY [INPUT…]`.

use super::server_args::ServerFilter;
use super::server_args::{ServerKey, ShardsArg};
use crate::exit::Exit;
use crate::files::Files;
use crate::globals::Globals;
use crate::key_args::{KeyArgs, reading};
use crate::lines::{LineArgs, Printer, Unreadable, allow_list};
use crate::progress::Progress;
use crate::{print, usage};
use clap::Args;
use mayhap_store::clock::now_ms;
use mayhap_store::{Lookup, Query};
use std::path::PathBuf;

/// Print the lines that may be in a filter on a server; the others are certainly not in.
///
/// Works like `mayhap check` with a file: lines are printed as they came and in their order. Exit:
/// 0 if a line was printed (or counted), 1 if none, 2 for errors.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    place: ServerKey,

    #[command(flatten)]
    lines: LineArgs,

    /// Keys of this file, one per line, count as not in: an exact list of known false positives
    #[arg(long, value_name = "ALLOWLIST")]
    except: Option<PathBuf>,

    #[command(flatten)]
    shards: ShardsArg,

    #[command(flatten)]
    keys: KeyArgs,
}

impl Check {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help_of("redis", "check")) };
        self.lines.check_quiet(false, globals)?;
        Files::new().reads(&inputs).writes_stdout().check()?;
        let filters = self.place.connect()?;
        let list = self.place.open(&filters, &self.shards, globals)?;
        let rules = match list.about() {
            Some(about) => self.keys.rules_of(about.metadata())?,
            None => self.keys.new_rules()?,
        };
        let except = self.except.as_ref();
        let except = except.map(|list| allow_list(list, &rules, &inputs)).transpose()?;
        let server = ServerFilter(&list);
        let query = Query::new([&server as &dyn Lookup], except.as_ref(), now_ms());
        let unreadable = Unreadable::default();
        let reading = unreadable.pass_over(reading(inputs, &rules, globals));
        let progress = Progress::of(reading.progress(), "check", true, globals);
        let names = vec![self.place.name()];
        let mut printer = Printer::new(&self.lines, false, &query, names, &reading, globals);
        let tally = reading.run(&query, |batch| printer.take(batch))?;
        drop(progress);
        printer.finish()?;
        print::unparsable(tally, &rules, globals);
        Ok(unreadable.exit(printer.matched > 0, globals))
    }
}
