//! Printing the lines that may be in, or are not: check, redis check.

use crate::ask::{Answers, Asking};
use crate::exit::refuse;
use crate::globals::Globals;
use crate::print;
use clap::Args;
use mayhap_store::exact::{ExactSet, Hashing128};
use mayhap_store::keys::{Batch, Input, Part, Reading, Rules};
use serde_json::json;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// Which lines are printed, and how.
#[derive(Args, Clone, Debug)]
pub struct LineArgs {
    /// Print the lines that are certainly not in
    #[arg(short = 'v', long, conflicts_with = "mark")]
    pub invert: bool,

    /// Print every line: `+`, a tab and the line if it may be in, `-` if not
    #[arg(long, conflicts_with = "count")]
    pub mark: bool,

    /// Print how many lines there were instead of the lines
    #[arg(short, long, conflicts_with = "line_number")]
    pub count: bool,

    /// Print each line's number in its input before it, as in `12:line`
    #[arg(short = 'n', long)]
    pub line_number: bool,
}

impl LineArgs {
    /// Fails where nothing is to be printed and something is.
    pub fn check_quiet(&self, which: bool, globals: &Globals) -> anyhow::Result<()> {
        let prints = self.count || self.mark || which || self.line_number || globals.json;
        if globals.quiet && prints {
            return Err(refuse(
                "-q prints nothing, so there is nothing to count, mark or number",
                "leave out -q, or all of -c, -n, --mark, --which and --json",
            ));
        }
        Ok(())
    }
}

/// The keys of a plain list, made as the filters' keys are.
pub fn allow_list(path: &Path, rules: &Rules, inputs: &[Input]) -> anyhow::Result<ExactSet> {
    let list = Input::from(path.to_owned());
    if list == Input::Stdin && inputs.contains(&Input::Stdin) {
        return Err(refuse(
            "--except - and the lines to check are both on standard input",
            "name a file for one of them",
        ));
    }
    let rules = Rules { part: Part::Whole, ..rules.clone() };
    let reading = Reading::new(vec![list], rules);
    let (mut list, mut new) = (ExactSet::new(), Vec::new());
    reading.run(&Hashing128, |batch| {
        list.insert_batch_new(&batch.out, &mut new);
        anyhow::Ok(ControlFlow::Continue(()))
    })?;
    Ok(list)
}

/// What becomes of the answers.
pub struct Printer<'a> {
    pub args: &'a LineArgs,
    /// Whether the filters are told before each line.
    pub which: bool,
    pub asking: &'a Asking<'a>,
    /// What the filters are called.
    pub names: Vec<String>,
    pub globals: &'a Globals,
    pub delimiter: u8,
    /// Lines so far, and those of them that were wanted.
    pub lines: u64,
    pub matched: u64,
    pub text: Vec<u8>,
}

impl<'a> Printer<'a> {
    pub fn new(
        args: &'a LineArgs,
        which: bool,
        asking: &'a Asking<'a>,
        names: Vec<String>,
        rules: &Rules,
        globals: &'a Globals,
    ) -> Printer<'a> {
        let delimiter = rules.framing.delimiter;
        let text = Vec::new();
        Printer { args, which, asking, names, globals, delimiter, lines: 0, matched: 0, text }
    }

    /// The next lines with their answers.
    pub fn take(&mut self, batch: &mut Batch<Answers>) -> anyhow::Result<ControlFlow<()>> {
        batch.out.check()?;
        let wanted = !self.args.invert;
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
        if self.args.count {
            return Ok(ControlFlow::Continue(()));
        }
        self.text.clear();
        self.lay_out(batch, wanted);
        if !self.text.is_empty() {
            print::check_stdout()?;
        }
        let mut out = std::io::stdout().lock();
        out.write_all(&self.text)
            .and_then(|()| if self.globals.line_buffered { out.flush() } else { Ok(()) })
            .map_err(print::stdout_error)?;
        Ok(ControlFlow::Continue(()))
    }

    /// The text of a batch.
    fn lay_out(&mut self, batch: &Batch<Answers>, wanted: bool) {
        let LineArgs { mark, line_number, .. } = self.args;
        let which = &self.which;
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
                let names = self.which(&batch.out, i);
                self.text.extend_from_slice(names.join(",").as_bytes());
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
        self.names[filter].clone()
    }

    /// The filters that key `i` may be in, and the cascades that say no; behind each cascade
    /// what it rests its answer on.
    fn which(&self, answers: &Answers, i: usize) -> Vec<String> {
        let says_yes: Vec<usize> = answers.which(i).collect();
        let names = (0..self.names.len()).filter_map(|filter| {
            match self.asking.decided_by(answers, filter, i) {
                Some(by) => Some(format!("{}:{by}", self.name(filter))),
                None => says_yes.contains(&filter).then(|| self.name(filter)),
            }
        });
        names.collect()
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
        if self.names.len() > 1 {
            value["filters"] = batch.out.which(i).map(|filter| self.name(filter)).collect();
        }
        if self.which {
            value["which"] = self.which(&batch.out, i).into();
        }
        value
    }

    /// The end: counts, if they were asked for.
    pub fn finish(&self) -> anyhow::Result<()> {
        if self.args.count && !self.globals.quiet {
            if self.globals.json {
                return print::json(&json!({"lines": self.lines, "matched": self.matched}));
            }
            return print::out(&format!("{}\n", self.matched));
        }
        std::io::stdout().flush().map_err(print::stdout_error)
    }
}
