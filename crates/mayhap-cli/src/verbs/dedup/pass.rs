//! Batch by batch: what is new goes out, and is remembered.

use super::Dedup;
use super::output::{BrokeOff, Output};
use super::set::{Draft, Seen};
use super::state::State;
use super::summary::Summary;
use crate::clock::now_ms;
use crate::show;
use mayhap_store::text::{Batch, Task};
use mayhap_store::{BatchAnswers, Filter, Overfull};
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

/// The work between reading and the end.
pub struct Pass<'a, S> {
    dedup: &'a Dedup,
    seen: S,
    state: Option<State>,
    saved: Instant,
    /// Whether more is known than was saved.
    dirty: bool,
    /// Whether it ended because there was no room for more.
    full: bool,
    output: Option<Output>,
    dupes: Option<Output>,
    delimiter: u8,
    lines: u64,
    passed: u64,
    /// KeptLines from batch to batch for their memory.
    new: Vec<bool>,
    text: Vec<u8>,
}

/// How reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With the last line.
    Whole,
    /// Because somebody had enough: by a signal, or by closing the pipe that lines went to.
    CutShort,
    /// Because it could not go on.
    Failed,
}

/// What is kept of a block: hashes, and what is known of its keys from elsewhere.
type KeptLines<S> = (<<S as Seen>::Task as Task>::Out, BatchAnswers);

impl<'a, S: Seen> Pass<'a, S> {
    pub fn new(
        dedup: &'a Dedup,
        seen: S,
        state: Option<State>,
        output: Output,
        dupes: Option<Output>,
        delimiter: u8,
    ) -> Pass<'a, S> {
        Pass {
            dedup,
            seen,
            state,
            saved: Instant::now(),
            dirty: false,
            full: false,
            output: Some(output),
            dupes,
            delimiter,
            lines: 0,
            passed: 0,
            new: Vec::new(),
            text: Vec::new(),
        }
    }

    /// What is to be kept of each key.
    pub fn task(&self) -> S::Task {
        self.seen.task()
    }

    /// Whether it ended because there was no room for more.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The next lines.
    pub fn take(&mut self, batch: &mut Batch<KeptLines<S>>) -> anyhow::Result<ControlFlow<()>> {
        batch.out.1.check()?;
        let (hashes, known) = &batch.out;
        let (lines, times) = (hashes.len(), self.dedup.max_repeat);
        let most = (lines as u64).saturating_mul(times.into());
        if self.state.is_none() && self.seen.room(most) >= most {
            // Nothing outlasts the run, so what is remembered may be ahead of what was printed.
            self.seen.insert_times(hashes, times, &mut self.new)?;
            hide(&mut self.new, known.any(), 0);
            self.count(lines);
            self.print(batch, 0..lines).map_err(|(_, error)| error)?;
            self.set_aside(batch, 0..lines)?;
            return Ok(ControlFlow::Continue(()));
        }
        let mut at = 0usize;
        loop {
            let end = at.saturating_add(self.seen.stride(times)).min(lines);
            // Also where there are no keys: lines without one may be wanted.
            self.take_some(batch, at..end)?;
            at = end;
            if at == lines {
                break;
            }
        }
        self.save_if_due()?;
        Ok(ControlFlow::Continue(()))
    }

    /// Some lines, of which exactly those are remembered that were printed: whatever breaks off in
    /// between, none is lost and none comes again.
    fn take_some(
        &mut self,
        batch: &Batch<KeptLines<S>>,
        lines: Range<usize>,
    ) -> anyhow::Result<()> {
        let (hashes, known) = (&batch.out.0[lines.clone()], batch.out.1.any());
        let most = (hashes.len() as u64).saturating_mul(self.dedup.max_repeat.into());
        let room = self.seen.room(most);
        let Draft { new, inserts } = self.seen.look(hashes, self.dedup.max_repeat, room)?;
        self.new = new;
        hide(&mut self.new, known, lines.start);
        let told = self.new.len();
        let printed = self.print(batch, lines.start..lines.start + told);
        let shown = printed.as_ref().map_or_else(|(shown, _)| *shown, |()| told);
        let inserts = inserts.iter().take_while(|(i, _)| *i < shown).map(|(_, hash)| *hash);
        let inserts: Vec<_> = inserts.collect();
        self.seen.insert(&inserts)?;
        self.dirty |= !inserts.is_empty();
        self.count(shown);
        self.set_aside(batch, lines.start..lines.start + shown)?;
        printed.map_err(|(_, error)| error)?;
        if told < hashes.len() {
            self.full = true;
            return Err(self.seen.full());
        }
        Ok(())
    }

    fn count(&mut self, shown: usize) {
        self.lines += shown as u64;
        self.passed += self.new[..shown].iter().map(|new| u64::from(*new)).sum::<u64>();
    }

    /// Save, if that was to be done from time to time and it is time.
    pub fn save_if_due(&mut self) -> anyhow::Result<()> {
        let due = self.dedup.save_every.is_some_and(|every| self.saved.elapsed() >= every);
        if due { self.save() } else { Ok(()) }
    }

    /// One write for many lines. If it breaks off: how many lines had gone out before.
    fn print(
        &mut self,
        batch: &Batch<KeptLines<S>>,
        lines: Range<usize>,
    ) -> Result<(), (usize, anyhow::Error)> {
        let Pass { dedup, new, text, output, delimiter, .. } = self;
        let Some(output) = output else { return Ok(()) };
        text.clear();
        // A table stays one: its head goes with the first rows.
        let is_start = lines.start == 0 && batch.is_first();
        let head = batch.header().filter(|_| is_start);
        let head = head.filter(|_| batch.input() == 0 || output.is_in_place()).unwrap_or_default();
        text.extend_from_slice(head);
        // A line without a key is no repeat of another.
        let missing = dedup.keys.prints_missing() && !dedup.invert;
        let keep =
            |key: Option<usize>| key.map_or(missing, |i| new[i - lines.start] != dedup.invert);
        copy(batch, lines.clone(), *delimiter, keep, text);
        output.write(batch.input(), text).map_err(|BrokeOff { written, error }| {
            let mut left = written.saturating_sub(head.len());
            let whole = batch.lines_among(lines.clone()).take_while(|(key, record)| {
                let bytes = if keep(*key) { record.len() + 1 } else { 0 };
                let whole = left >= bytes;
                left = left.saturating_sub(bytes);
                whole && written >= head.len()
            });
            (whole.filter(|(key, _)| key.is_some()).count(), error)
        })
    }

    /// The repeats, where they are wanted.
    fn set_aside(
        &mut self,
        batch: &Batch<KeptLines<S>>,
        lines: Range<usize>,
    ) -> anyhow::Result<()> {
        let Pass { new, text, dupes, delimiter, .. } = self;
        let Some(dupes) = dupes else { return Ok(()) };
        text.clear();
        let keep = |key: Option<usize>| key.is_some_and(|i| !new[i - lines.start]);
        copy(batch, lines.clone(), *delimiter, keep, text);
        dupes.write(batch.input(), text).map_err(|broke_off| broke_off.error)
    }

    fn save(&mut self) -> anyhow::Result<()> {
        if let Some(state) = self.state.as_mut().filter(|_| self.dirty) {
            state.save(&self.seen)?;
        }
        (self.saved, self.dirty) = (Instant::now(), false);
        Ok(())
    }

    /// Keep what is to be kept: files first, then the state. Should the second fail, lines come
    /// again; the other way round they would be lost.
    ///
    /// Where lines went out at once, the state has them however it ended. Where they would have
    /// gone out with the last one only, and that never came, nothing has happened.
    pub fn finish(&mut self, end: End) -> anyhow::Result<()> {
        let is_stream = self.output.as_ref().is_some_and(Output::is_stream);
        if end != End::Whole && (!is_stream || !self.dirty) {
            self.state.as_mut().map_or(Ok(()), State::discard_new)?;
        }
        if end != End::Whole && !is_stream {
            return Ok(());
        }
        if end != End::Failed {
            let outputs = [self.output.take(), self.dupes.take()];
            outputs.into_iter().flatten().try_for_each(Output::commit)?;
        }
        self.save()
    }

    pub fn summary(&self, against: &[Filter], took: Duration) -> Summary {
        // The rate these were made for: to count the bits of a large one would take longer than
        // the work.
        let known = against.iter().map(|filter| 1.0 - filter.fpr()).product::<f64>();
        Summary {
            lines: self.lines,
            passed: self.passed,
            rate: 1.0 - (1.0 - self.seen.rate()) * known,
            kind: self.seen.filter().map(mayhap::AnyFilter::kind),
            overfull: self.seen.filter().and_then(|filter| {
                let overfull = Overfull::of(filter, now_ms())?;
                Some(show::overfull_text(Some(filter.kind()), &overfull))
            }),
            bytes: self.seen.bytes(),
            took,
        }
    }
}

/// Lines that are known from elsewhere are not new; `new` begins at line `from`.
fn hide(new: &mut [bool], known: &[bool], from: usize) {
    new.iter_mut().zip(known.iter().skip(from)).for_each(|(new, known)| *new &= !known);
}

/// Append those of these lines that `keep` wants, and of those without a key among them.
fn copy<O>(
    batch: &Batch<O>,
    lines: Range<usize>,
    delimiter: u8,
    keep: impl Fn(Option<usize>) -> bool,
    text: &mut Vec<u8>,
) {
    if lines == (0..batch.records()) {
        return batch.copy_lines(keep, text);
    }
    for (_, record) in batch.lines_among(lines).filter(|(key, _)| keep(*key)) {
        text.extend_from_slice(record);
        text.push(delimiter);
    }
}
