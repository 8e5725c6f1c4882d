//! Marks for many owners: lines of `owner TAB id`.

use super::store::Lists;
use crate::exit::refuse;
use crate::globals::Globals;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::Path;

/// Lines that go to the store together.
const AT_ONCE: usize = 20_000;

/// What was loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    pub lines: u64,
    pub new: u64,
}

/// Mark everything in a file; `-` is standard input.
pub fn load(lists: &Lists, file: &Path, globals: &Globals) -> anyhow::Result<Totals> {
    let name = file.display();
    let (input, bytes): (Box<dyn BufRead>, u64) = if file == Path::new("-") {
        (Box::new(std::io::stdin().lock()), 0)
    } else {
        let opened = File::open(file).with_context(|| name.to_string())?;
        let bytes = opened.metadata().map_or(0, |about| about.len());
        (Box::new(BufReader::with_capacity(1 << 20, opened)), bytes)
    };
    let bar = bar(bytes, globals);
    let mut totals = Totals::default();
    let mut batch = Batch::default();
    for line in input.split(b'\n') {
        let line = line.with_context(|| format!("reading {name}"))?;
        totals.lines += 1;
        if line.is_empty() {
            continue;
        }
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
            return Err(refuse(
                format!("{name}:{}: no tab between owner and id", totals.lines),
                "a line is an owner, a tab and an id; the lines before it are marked",
            ));
        };
        bar.inc(line.len() as u64 + 1);
        batch.push(&line[..tab], &line[tab + 1..]);
        if batch.lines == AT_ONCE {
            totals.new += batch.mark(lists)?;
        }
    }
    totals.new += batch.mark(lists)?;
    bar.finish_and_clear();
    Ok(totals)
}

/// Lines by owner, in the order owners came first.
#[derive(Default)]
struct Batch {
    owners: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
    place: HashMap<Vec<u8>, usize>,
    lines: usize,
}

impl Batch {
    fn push(&mut self, owner: &[u8], id: &[u8]) {
        let at = *self.place.entry(owner.to_vec()).or_insert_with(|| {
            self.owners.push((owner.to_vec(), vec![]));
            self.owners.len() - 1
        });
        self.owners[at].1.push(id.to_vec());
        self.lines += 1;
    }

    /// Mark all, and be empty again.
    fn mark(&mut self, lists: &Lists) -> anyhow::Result<u64> {
        let batch = std::mem::take(self);
        let shown: Vec<(&[u8], &[Vec<u8>])> =
            batch.owners.iter().map(|(owner, ids)| (owner.as_slice(), ids.as_slice())).collect();
        let mut new = 0;
        // A server is asked for some hundred owners at a time: answers hold their lists.
        for shown in shown.chunks(512) {
            new += lists.mark_many(shown)?.iter().sum::<u64>();
        }
        Ok(new)
    }
}

fn bar(bytes: u64, globals: &Globals) -> ProgressBar {
    let shown = std::io::stderr().is_terminal() && !globals.no_progress && !globals.quiet;
    let bar = if bytes > 0 { ProgressBar::new(bytes) } else { ProgressBar::new_spinner() };
    bar.set_draw_target(if shown {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    });
    let template = match bytes {
        0 => "mark {spinner} {decimal_bytes} read, {decimal_bytes_per_sec}",
        _ => "mark {wide_bar} {percent:>3}%  {decimal_bytes_per_sec}, {eta} left",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
