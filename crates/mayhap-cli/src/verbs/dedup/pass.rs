//! Batch by batch: what is new goes out, and is remembered.

use super::seen::Seen;
use super::state::State;
use super::summary::Summary;
use super::{Dedup, is_input};
use crate::ask::Answers;
use crate::exit::refuse;
use crate::filter_file::FilterFile;
use anyhow::Context;
use mayhap_store::keys::{Batch, Input, Task};
use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The work between reading and the end.
pub struct Pass<'a, S> {
    dedup: &'a Dedup,
    seen: S,
    state: Option<State>,
    saved: Instant,
    /// Whether more is known than was saved.
    dirty: bool,
    dupes: Option<File>,
    lines: u64,
    passed: u64,
    /// Kept from batch to batch for their memory.
    new: Vec<bool>,
    text: Vec<u8>,
}

/// What is kept of a block: hashes, and what is known of its keys from elsewhere.
type Kept<S> = (<<S as Seen>::Task as Task>::Out, Answers);

impl<'a, S: Seen> Pass<'a, S> {
    pub fn new(
        dedup: &'a Dedup,
        seen: S,
        state: Option<State>,
        inputs: &[Input],
    ) -> anyhow::Result<Pass<'a, S>> {
        let create = |path: &std::path::PathBuf| {
            if is_input(path, inputs) {
                return Err(refuse(
                    format!("{} is read, and the repeats would be written over it", path.display()),
                    "name another file with --dupes",
                ));
            }
            File::create(path).with_context(|| format!("cannot write {}", path.display()))
        };
        let dupes = dedup.dupes.as_ref().map(create).transpose()?;
        let (saved, new, text) = (Instant::now(), Vec::new(), Vec::new());
        Ok(Pass { dedup, seen, state, saved, dirty: false, dupes, lines: 0, passed: 0, new, text })
    }

    /// What is to be kept of each key.
    pub fn task(&self) -> S::Task {
        self.seen.task()
    }

    /// The next lines.
    pub fn take(&mut self, batch: &mut Batch<Kept<S>>) -> anyhow::Result<ControlFlow<()>> {
        batch.out.1.check()?;
        let (hashes, known) = &batch.out;
        self.seen.insert_times(hashes, self.dedup.max_repeat, &mut self.new)?;
        for (new, known) in self.new.iter_mut().zip(known.any()) {
            *new &= !known;
        }
        self.lines += self.new.len() as u64;
        self.passed += self.new.iter().map(|new| u64::from(*new)).sum::<u64>();
        self.dirty = true;
        self.print(batch)?;
        self.save_if_due()?;
        Ok(ControlFlow::Continue(()))
    }

    /// Save, if that was to be done from time to time and it is time.
    pub fn save_if_due(&mut self) -> anyhow::Result<()> {
        let due = self.dedup.save_every.is_some_and(|every| self.saved.elapsed() >= every);
        if due && self.dirty { self.save() } else { Ok(()) }
    }

    /// One write a batch, not one a line.
    fn print(&mut self, batch: &Batch<Kept<S>>) -> anyhow::Result<()> {
        let Pass { dedup, dupes, new, text, .. } = self;
        text.clear();
        // A table stays one: its head goes with the first rows.
        if let Some(head) = batch.header().filter(|_| batch.input() == 0 && batch.is_first()) {
            text.extend_from_slice(head);
        }
        // A line without a key is no repeat of another.
        let missing = dedup.keys.prints_missing() && !dedup.invert;
        batch.copy_lines(|key| key.map_or(missing, |i| new[i] != dedup.invert), text);
        let mut out = std::io::stdout().lock();
        // Nothing waits: what is remembered as seen has been shown.
        out.write_all(text).and_then(|()| out.flush()).context("writing to standard output")?;
        if let (Some(dupes), Some(path)) = (dupes, &dedup.dupes) {
            text.clear();
            batch.copy_where(|i| !new[i], text);
            dupes.write_all(text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    fn save(&mut self) -> anyhow::Result<()> {
        if let (Some(state), Some(filter)) = (&mut self.state, self.seen.filter()) {
            state.save(filter)?;
        }
        (self.saved, self.dirty) = (Instant::now(), false);
        Ok(())
    }

    /// Everything is out: keep what is to be kept.
    pub fn finish(&mut self) -> anyhow::Result<()> {
        self.save()
    }

    pub fn summary(&self, against: &[FilterFile], took: Duration) -> Summary {
        // The rate these were made for: to count the bits of a large one would take longer than
        // the work.
        let known = against.iter().map(|filter| 1.0 - filter.filter.fpr()).product::<f64>();
        Summary {
            lines: self.lines,
            passed: self.passed,
            rate: 1.0 - (1.0 - self.seen.rate()) * known,
            kind: self.seen.filter().map(mayhap::AnyFilter::kind),
            overfull: self.seen.filter().and_then(crate::outcome::overfull),
            bytes: self.seen.bytes(),
            took,
        }
    }
}
