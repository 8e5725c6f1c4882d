//! `mayhap redis check URL KEY [INPUT…]`.

use super::place::{Place, ShardsArg};
use crate::ask::{Asked, Asking};
use crate::clock::now_ms;
use crate::exit::Exit;
use crate::files::Files;
use crate::globals::Globals;
use crate::keys::{KeyArgs, reading};
use crate::lines::{LineArgs, Printer, Unreadable, allow_list};
use crate::progress::Progress;
use crate::{print, usage};
use clap::Args;
use std::path::PathBuf;

/// Print the lines that may be in a filter on a server; the others are certainly not in.
///
/// As `mayhap check` does with a file: lines are printed as they came and in their order. Exit: 0
/// if a line was printed (or counted), 1 if none, 2 for trouble.
#[derive(Args)]
pub struct Check {
    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    lines: LineArgs,

    /// Keys of this list, one a line, are certainly not in: exact, for false positives you know
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
            Some(about) => self.keys.rules_of(about.notes())?,
            None => self.keys.rules()?,
        };
        let except = self.except.as_ref();
        let except = except.map(|list| allow_list(list, &rules, &inputs)).transpose()?;
        let asking = Asking::new([Asked::Server(&list)], except.as_ref(), now_ms());
        let unreadable = Unreadable::default();
        let reading = unreadable.pass_over(reading(inputs, &rules, globals));
        let progress = Progress::of(reading.watch(), "check", true, globals);
        let names = vec![self.place.name()];
        let mut printer = Printer::new(&self.lines, false, &asking, names, &reading, globals);
        let tally = reading.run(&asking, |batch| printer.take(batch))?;
        drop(progress);
        printer.finish()?;
        print::unparsed(tally, &rules, globals);
        Ok(unreadable.exit(printer.matched > 0, globals))
    }
}
