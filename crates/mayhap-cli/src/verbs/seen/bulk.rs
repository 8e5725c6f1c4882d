//! Marks for many owners: lines of `owner TAB id`.

use super::store::{Access, Lists, StoreArgs};
use crate::exit::{HintExt, error_with_hint};
use crate::globals::Globals;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mayhap_seen::{Policy, SeenError};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::Path;
use std::sync::mpsc::SyncSender;
use std::thread::ScopedJoinHandle;

/// Lines that are grouped by owner and then marked.
const AT_ONCE: usize = 100_000;
/// Owners whose lists a file is given in one transaction: they are all in memory until it is over.
const OWNERS_OF_A_FILE: usize = 4096;
/// Owners that a server is asked for in one go: its answers hold their lists.
const OWNERS_OF_A_SERVER: usize = 512;
/// So many of these are on their way to a server at a time.
const TRIPS_AT_ONCE: usize = 4;

/// What was loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Lines that are marked.
    pub lines: u64,
    pub new: u64,
    /// Ids that are gone again: more than the policy keeps.
    pub expired: u64,
    pub policy: Policy,
}

/// Mark everything in a file; `-` is standard input.
///
/// One thread reads and groups the lines while another marks those before.
pub fn load(store: &StoreArgs, file: &Path, globals: &Globals) -> anyhow::Result<Totals> {
    let name = file.display();
    let (input, bytes): (Box<dyn BufRead + Send>, u64) = if file == Path::new("-") {
        (Box::new(BufReader::with_capacity(1 << 20, std::io::stdin())), 0)
    } else {
        let opened = File::open(file).with_context(|| name.to_string())?;
        let bytes = opened.metadata().map_or(0, |about| about.len());
        (Box::new(BufReader::with_capacity(1 << 20, opened)), bytes)
    };
    let lists = store.open(Access::Create)?;
    let bar = bar(bytes, globals);
    let mut totals = Totals::default();
    std::thread::scope(|scope| {
        let (sender, batches) = std::sync::mpsc::sync_channel(1);
        let reader = scope.spawn(move || read(input, &sender));
        let mut last = 0;
        for batch in batches {
            bar.inc(batch.bytes);
            let (first, until) = (last + 1, batch.last_line);
            last = until;
            let marked = batch.mark(&lists, store.is_server(), &mut totals);
            let is_gone = |error: &anyhow::Error| {
                matches!(error.downcast_ref(), Some(SeenError::Gone { .. }))
            };
            if marked.as_ref().is_err_and(is_gone) {
                return marked
                    .hint("what was marked went with the file: mark all of it again")
                    .map(|()| totals);
            }
            marked.hint(format!(
                "all lines before line {first} of {name} are marked, and of lines {first} to {until} some may be; marking them again does no harm"
            ))?;
        }
        bar.finish_and_clear();
        // What came before the line that is none, or before the error, is marked by now.
        match reader.join() {
            Ok(Ok(())) => Ok(totals),
            Ok(Err(Unreadable::NoTab { line })) => Err(error_with_hint(
                format!("{name}:{line}: no tab between owner and id"),
                "a line is an owner, a tab and an id; the lines before it are marked",
            )),
            Ok(Err(Unreadable::Read { line, error })) => Err(error)
                .with_context(|| format!("reading {name}, behind line {line}"))
                .hint("the lines before it are marked"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Why no more lines come.
enum Unreadable {
    NoTab { line: u64 },
    Read { line: u64, error: std::io::Error },
}

/// Send all lines in batches, also those before one that cannot be read.
fn read(mut input: impl BufRead, batches: &SyncSender<Batch>) -> Result<(), Unreadable> {
    let (mut batch, mut text, mut line) = (Batch::default(), vec![], 0);
    let end = loop {
        text.clear();
        match input.read_until(b'\n', &mut text) {
            Ok(0) => break Ok(()),
            Ok(_) => line += 1,
            Err(error) => break Err(Unreadable::Read { line, error }),
        }
        batch.bytes += text.len() as u64;
        batch.last_line = line;
        let bare = text.strip_suffix(b"\n").unwrap_or(&text);
        let bare = bare.strip_suffix(b"\r").unwrap_or(bare);
        if bare.is_empty() {
            continue;
        }
        let Some(tab) = bare.iter().position(|byte| *byte == b'\t') else {
            break Err(Unreadable::NoTab { line });
        };
        batch.push(&bare[..tab], &bare[tab + 1..]);
        if batch.lines == AT_ONCE && batches.send(std::mem::take(&mut batch)).is_err() {
            return Ok(()); // the marks have failed, which is told there
        }
    };
    _ = batches.send(batch);
    end
}

/// Lines by owner, in the order owners came first.
#[derive(Default)]
struct Batch {
    owners: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
    place: HashMap<Vec<u8>, usize>,
    lines: usize,
    bytes: u64,
    last_line: u64,
}

impl Batch {
    fn push(&mut self, owner: &[u8], id: &[u8]) {
        let at = match self.place.get(owner) {
            Some(at) => *at,
            None => {
                self.place.insert(owner.to_vec(), self.owners.len());
                self.owners.push((owner.to_vec(), vec![]));
                self.owners.len() - 1
            }
        };
        self.owners[at].1.push(id.to_vec());
        self.lines += 1;
    }

    fn mark(self, lists: &Lists, is_server: bool, totals: &mut Totals) -> anyhow::Result<()> {
        let shown: Vec<(&[u8], &[Vec<u8>])> =
            self.owners.iter().map(|(owner, ids)| (owner.as_slice(), ids.as_slice())).collect();
        let mark = |shown: &[(&[u8], &[Vec<u8>])]| -> anyhow::Result<u64> {
            Ok(lists.mark_many(shown)?.iter().sum())
        };
        if is_server {
            // Each owner is in one of the parts only, so their order does not matter.
            for parts in shown.chunks(OWNERS_OF_A_SERVER * TRIPS_AT_ONCE) {
                totals.new += std::thread::scope(|scope| {
                    let parts = parts.chunks(OWNERS_OF_A_SERVER);
                    let trips: Vec<_> = parts.map(|part| scope.spawn(move || mark(part))).collect();
                    trips.into_iter().map(joined).sum::<anyhow::Result<u64>>()
                })?;
            }
        } else {
            for shown in shown.chunks(OWNERS_OF_A_FILE) {
                totals.new += mark(shown)?;
            }
        }
        totals.expired += super::expired(lists, &shown)?;
        if totals.expired > 0 {
            totals.policy = lists.policy()?;
        }
        totals.lines += self.lines as u64;
        Ok(())
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
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
