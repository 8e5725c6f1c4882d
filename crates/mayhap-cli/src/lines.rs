//! Printing the lines that may be in, or are not: check, redis check.

use crate::exit::{Exit, error_with_hint};
use crate::globals::Globals;
use crate::print;
use clap::Args;
use mayhap_store::exact::{ExactSet, HashKeys128};
use mayhap_store::text::{Batch, ExtractRules, Input, KeyField, KeyReader, Line};
use mayhap_store::{BatchAnswers, Query};
use serde_json::json;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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

    /// Print each line's number in its input before it, as in `12:line`; with several inputs
    /// also its input, as in `list.txt:12:line`
    #[arg(short = 'n', long)]
    pub line_number: bool,

    /// Print the input's name before each line, as in `list.txt:line`; before the count with -c
    #[arg(short = 'H', long, conflicts_with = "no_filename")]
    pub with_filename: bool,

    /// Never print the input's name
    #[arg(long)]
    pub no_filename: bool,
}

impl LineArgs {
    /// Fails where nothing is to be printed and something is.
    pub fn check_quiet(&self, more: bool, globals: &Globals) -> anyhow::Result<()> {
        let prints = self.count || self.mark || more || self.line_number || self.with_filename;
        if globals.quiet && (prints || globals.json) {
            return Err(error_with_hint(
                "-q prints nothing, so there is nothing to count, mark or number",
                "leave out -q, or all of -c, -n, -H, --mark, --which, --count-copies and --json",
            ));
        }
        Ok(())
    }
}

/// Inputs that cannot be read: each is told, and the others are read all the same.
#[derive(Clone, Debug, Default)]
pub struct Unreadable(Arc<AtomicBool>);

impl Unreadable {
    /// Read on behind inputs that cannot be read.
    pub fn pass_over(&self, reading: KeyReader) -> KeyReader {
        let any = Arc::clone(&self.0);
        reading.passing_over(move |error| {
            any.store(true, Relaxed);
            crate::exit::report(&error.into());
        })
    }

    /// As grep ends: trouble with an input outweighs what was found in others, unless only that
    /// was to be known.
    pub fn exit(&self, found: bool, globals: &Globals) -> Exit {
        if self.0.load(Relaxed) && !(globals.quiet && found) {
            return Exit::Error;
        }
        Exit::of(found)
    }
}

/// The keys of a plain list, made as the filters' keys are.
pub fn allow_list(path: &Path, rules: &ExtractRules, inputs: &[Input]) -> anyhow::Result<ExactSet> {
    let list = Input::from(path.to_owned());
    if list == Input::Stdin && inputs.contains(&Input::Stdin) {
        return Err(error_with_hint(
            "--except - and the lines to check are both on standard input",
            "name a file for one of them",
        ));
    }
    let rules = ExtractRules { part: KeyField::Whole, ..rules.clone() };
    let reading = KeyReader::new(vec![list], rules);
    let (mut list, mut new) = (ExactSet::new(), Vec::new());
    reading.run(&HashKeys128, |batch| {
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
    /// Whether the number of copies is.
    pub copies: bool,
    pub query: &'a Query<'a>,
    /// What the filters are called.
    pub names: Vec<String>,
    pub globals: &'a Globals,
    inputs: &'a [Input],
    delimiter: u8,
    /// Whether the head of a table is printed already.
    has_head: bool,
    /// Lines so far, those of them without a key, and those that were wanted, by input.
    lines: u64,
    missing: u64,
    pub matched: u64,
    matched_in: Vec<u64>,
    text: Vec<u8>,
}

impl<'a> Printer<'a> {
    pub fn new(
        args: &'a LineArgs,
        which: bool,
        query: &'a Query<'a>,
        names: Vec<String>,
        reading: &'a KeyReader,
        globals: &'a Globals,
    ) -> Printer<'a> {
        let inputs = reading.inputs();
        Printer {
            args,
            which,
            copies: false,
            query,
            names,
            globals,
            inputs,
            delimiter: reading.rules().format.delimiter,
            has_head: false,
            lines: 0,
            missing: 0,
            matched: 0,
            matched_in: vec![0; inputs.len()],
            text: Vec::new(),
        }
    }

    /// Whether lines have their input's name before them.
    fn has_names(&self) -> bool {
        let LineArgs { line_number, with_filename, no_filename, .. } = self.args;
        *with_filename || (*line_number && self.inputs.len() > 1 && !no_filename)
    }

    /// What an input is called in front of its lines.
    fn input_name(&self, input: usize) -> Vec<u8> {
        match &self.inputs[input] {
            Input::Stdin => b"(standard input)".to_vec(),
            Input::File(path) => path.as_os_str().as_encoded_bytes().to_vec(),
        }
    }

    /// The next lines with their answers.
    pub fn take(&mut self, batch: &mut Batch<BatchAnswers>) -> anyhow::Result<ControlFlow<()>> {
        batch.out.check()?;
        let wanted = !self.args.invert;
        let any = batch.out.any();
        let matched = any.iter().filter(|yes| **yes == wanted).count() as u64;
        self.lines += any.len() as u64 + batch.missing();
        self.missing += batch.missing();
        self.matched += matched;
        self.matched_in[batch.input()] += matched;
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
    fn lay_out(&mut self, batch: &Batch<BatchAnswers>, wanted: bool) {
        let LineArgs { mark, line_number, .. } = self.args;
        let (which, copies) = (&self.which, self.copies);
        let any = batch.out.any();
        if self.globals.json {
            for line in batch.lines() {
                if *mark || line.key.is_some_and(|i| any[i] == wanted) {
                    let value = self.line_json(batch, line);
                    self.text.extend_from_slice(value.to_string().as_bytes());
                    self.text.push(b'\n');
                }
            }
            return;
        }
        let plain = !(*mark || *which || copies || *line_number || self.has_names());
        if plain {
            // A table stays one: its head goes with the first rows.
            if let Some(head) = batch.header().filter(|_| !self.has_head) {
                self.text.extend_from_slice(head);
                self.has_head = true;
            }
            return batch.copy_where(|i| any[i] == wanted, &mut self.text);
        }
        let input = self.has_names().then(|| self.input_name(batch.input()));
        for line in batch.lines() {
            if !*mark && line.key.is_none_or(|i| any[i] != wanted) {
                continue;
            }
            if *mark {
                let mark = line.key.map_or(b"?\t", |i| if any[i] { b"+\t" } else { b"-\t" });
                self.text.extend_from_slice(mark);
            }
            if copies {
                let copies = line.key.map_or(0, |i| self.query.copies(&batch.out, i));
                self.text.extend_from_slice(format!("{copies}\t").as_bytes());
            }
            if *which {
                let names = line.key.map_or_else(Vec::new, |i| self.which(&batch.out, i));
                self.text.extend_from_slice(names.join(",").as_bytes());
                self.text.push(b'\t');
            }
            if let Some(input) = &input {
                self.text.extend_from_slice(input);
                self.text.push(b':');
            }
            if *line_number {
                self.text.extend_from_slice(format!("{}:", line.number).as_bytes());
            }
            self.text.extend_from_slice(line.text);
            self.text.push(self.delimiter);
        }
    }

    fn name(&self, filter: usize) -> String {
        self.names[filter].clone()
    }

    /// The filters that key `i` may be in, and the cascades that say no; behind each cascade
    /// what it rests its answer on.
    fn which(&self, answers: &BatchAnswers, i: usize) -> Vec<String> {
        let says_yes: Vec<usize> = answers.which(i).collect();
        let names = (0..self.names.len()).filter_map(|filter| {
            match self.query.evidence(answers, filter, i) {
                Some(by) => Some(format!("{}:{by}", self.name(filter))),
                None => says_yes.contains(&filter).then(|| self.name(filter)),
            }
        });
        names.collect()
    }

    fn line_json(&self, batch: &Batch<BatchAnswers>, line: Line<'_>) -> serde_json::Value {
        let maybe = line.key.map(|i| batch.out.any()[i]);
        let file = self.inputs[batch.input()].path().display().to_string();
        let mut value = json!({"file": file, "line": line.number, "maybe": maybe});
        print::put_text(&mut value, "text", line.text);
        let Some(i) = line.key else { return value };
        if self.names.len() > 1 {
            value["filters"] = batch.out.which(i).map(|filter| self.name(filter)).collect();
        }
        if self.which {
            value["which"] = self.which(&batch.out, i).into();
        }
        if self.copies {
            value["copies"] = self.query.copies(&batch.out, i).into();
        }
        value
    }

    /// The end: counts, if they were asked for.
    pub fn finish(&self) -> anyhow::Result<()> {
        if self.args.count && !self.globals.quiet {
            if self.globals.json {
                let mut value = json!({"lines": self.lines, "matched": self.matched});
                value["missing"] = self.missing.into();
                if self.args.with_filename {
                    let each = self.inputs.iter().zip(&self.matched_in).map(|(input, matched)| {
                        json!({"file": input.path().display().to_string(), "matched": matched})
                    });
                    value["files"] = each.collect();
                }
                return print::json(&value);
            }
            if self.args.with_filename {
                let mut text = Vec::new();
                for (input, matched) in self.matched_in.iter().enumerate() {
                    text.extend(self.input_name(input));
                    text.extend(format!(":{matched}\n").as_bytes());
                }
                return print::out_bytes(|out| out.write_all(&text));
            }
            return print::out(&format!("{}\n", self.matched));
        }
        std::io::stdout().flush().map_err(print::stdout_error)
    }
}
