//! Reads inputs into batches, on all threads, delivered in input order.

use super::input::CancelToken;
use super::pipeline::{OrderedPipeline, Sink};
use super::source::{Source, Unreadable};
use super::split::RecordSplitter;
use super::{
    Batch, ExtractRules, Extractor, Input, KeysError, OnMissing, ProgressAndCancel, Tally, Task,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

/// Bytes per block: some thousands of records, so that nothing is paid per record, and few enough
/// that a block stays in a core's cache from reading to printing.
const BLOCK_BYTES: usize = 256 << 10;

/// Reads keys from inputs by rules, on some threads.
///
/// Memory is a few blocks per thread, however long the inputs are; a record longer than a block
/// makes its block as long as itself.
#[derive(Clone, Debug)]
pub struct KeyReader {
    inputs: Vec<Input>,
    rules: ExtractRules,
    threads: usize,
    block_bytes: usize,
    progress: Arc<ProgressAndCancel>,
    unreadable: Option<Unreadable>,
}

impl KeyReader {
    /// Read these, on one thread. Without inputs nothing is read: standard input must be given
    /// explicitly.
    pub fn new(inputs: Vec<Input>, rules: ExtractRules) -> KeyReader {
        let progress = Arc::default();
        let (block_bytes, unreadable) = (BLOCK_BYTES, None);
        KeyReader { inputs, rules, threads: 1, block_bytes, progress, unreadable }
    }

    pub(super) fn with_rules(self, rules: ExtractRules) -> KeyReader {
        KeyReader { rules, ..self }
    }

    /// Use this many threads, the caller's being one of them.
    pub fn with_threads(self, threads: usize) -> KeyReader {
        KeyReader { threads: threads.max(1), ..self }
    }

    /// Read in blocks of about this many bytes.
    pub fn with_block_bytes(self, block_bytes: usize) -> KeyReader {
        KeyReader { block_bytes: block_bytes.max(1), ..self }
    }

    /// Skip inputs that cannot be opened or read, and report each, instead of ending with the first
    /// of them. What was read of one before is delivered.
    pub fn passing_over(self, tell: impl Fn(KeysError) + Send + Sync + 'static) -> KeyReader {
        KeyReader { unreadable: Some(Unreadable(Arc::new(tell))), ..self }
    }

    /// Share progress and cancellation with this.
    pub fn with_progress(self, progress: Arc<ProgressAndCancel>) -> KeyReader {
        KeyReader { progress, ..self }
    }

    /// The inputs.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The rules.
    pub fn rules(&self) -> &ExtractRules {
        &self.rules
    }

    /// Its progress.
    pub fn progress(&self) -> &Arc<ProgressAndCancel> {
        &self.progress
    }

    /// Read everything: `task` sees each key on some thread, `each` takes the batches one at a
    /// time, on any of the threads, in input order. A break or an error ends everything early.
    pub fn run<T: Task, E: From<KeysError> + Send>(
        &self,
        task: &T,
        mut each: impl FnMut(&mut Batch<T::Out>) -> Result<ControlFlow<()>, E> + Send,
    ) -> Result<Tally, E> {
        let consumer = self.consumer(|batch: Option<&mut Batch<T::Out>>| {
            batch.map_or(Ok(ControlFlow::Continue(())), &mut each)
        });
        if self.threads == 1 {
            self.run_here(task, consumer)
        } else {
            self.run_on_threads(task, consumer, None)
        }
    }

    /// As [`run`](KeyReader::run); and when no batch has come for this long, `each` is called
    /// without one, repeatedly: for work that must not wait for a silent pipe. The caller's thread
    /// then does only that, besides the workers.
    pub fn run_with_idle<T: Task, E: From<KeysError> + Send>(
        &self,
        task: &T,
        idle_timeout: Duration,
        each: impl FnMut(Option<&mut Batch<T::Out>>) -> Result<ControlFlow<()>, E> + Send,
    ) -> Result<Tally, E> {
        self.run_on_threads(task, self.consumer(each), Some(idle_timeout))
    }

    fn consumer<F>(&self, each: F) -> Consumer<'_, F> {
        let total: Option<u64> = self.inputs.iter().map(Input::bytes).sum();
        self.progress.begin(total);
        Consumer { each, tally: Tally::default(), next: (0, 1), reader: self }
    }

    fn source<'a>(&'a self, halted: &'a AtomicBool) -> Source<'a> {
        let stop = CancelToken { progress: Arc::clone(&self.progress), halted };
        Source::new(&self.inputs, &self.rules, self.block_bytes, stop, self.unreadable.as_ref())
    }

    fn batch<O: Default>(&self) -> Batch<O> {
        Batch::new(O::default(), self.rules.format.delimiter)
    }

    fn run_here<T: Task, E: From<KeysError>>(
        &self,
        task: &T,
        mut consumer: Consumer<'_, impl Each<T::Out, E>>,
    ) -> Result<Tally, E> {
        let halted = AtomicBool::new(false);
        let mut source = self.source(&halted);
        let (splitter, mut extractor) =
            (RecordSplitter::new(&self.rules), Extractor::new(&self.rules));
        let mut batch = self.batch();
        while let Some(place) = source.next_block(batch.text_mut())? {
            batch.text_mut().load()?;
            batch.set_place(place);
            batch.work(task, &self.rules, &splitter, &mut extractor);
            if consumer.take(&mut batch)?.is_break() {
                break;
            }
        }
        Ok(consumer.tally)
    }

    fn run_on_threads<T: Task, E: From<KeysError> + Send>(
        &self,
        task: &T,
        consumer: Consumer<'_, impl Each<T::Out, E> + Send>,
        idle_timeout: Option<Duration>,
    ) -> Result<Tally, E> {
        let halted = AtomicBool::new(false);
        let batches = (0..2 * self.threads + 1).map(|_| self.batch()).collect();
        let pipeline =
            OrderedPipeline::new(self.source(&halted), &halted, batches, self.threads, consumer);
        let work = || {
            let (splitter, mut extractor) =
                (RecordSplitter::new(&self.rules), Extractor::new(&self.rules));
            pipeline.work(|batch, place| {
                batch.text_mut().load()?;
                batch.set_place(place);
                batch.work(task, &self.rules, &splitter, &mut extractor);
                Ok(())
            });
        };
        thread::scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(work);
            }
            match idle_timeout {
                None => work(),
                Some(idle_timeout) => {
                    scope.spawn(work);
                    pipeline.poll_idle(idle_timeout);
                }
            }
        });
        let (end, consumer) = pipeline.end();
        end.map(|()| consumer.tally)
    }
}

/// Takes the batches, and is called when idle.
trait Each<O, E>: FnMut(Option<&mut Batch<O>>) -> Result<ControlFlow<()>, E> {}
impl<O, E, F: FnMut(Option<&mut Batch<O>>) -> Result<ControlFlow<()>, E>> Each<O, E> for F {}

struct Consumer<'a, F> {
    each: F,
    tally: Tally,
    /// The input and the number of the next record.
    next: (usize, u64),
    reader: &'a KeyReader,
}

impl<O, E: From<KeysError>, F: Each<O, E>> Sink<O, E> for Consumer<'_, F> {
    fn take(&mut self, batch: &mut Batch<O>) -> Result<ControlFlow<()>, E> {
        self.next = batch.number_from(self.next);
        let KeyReader { rules, inputs, progress, .. } = self.reader;
        if rules.missing == OnMissing::Fail
            && let Some(line) = batch.first_missing()
        {
            let path = inputs[batch.input()].path().to_owned();
            return Err(KeysError::NoKey { path, line, what: rules.wanted() }.into());
        }
        let seen = Tally {
            records: batch.counted(),
            unparsable: batch.unparsable(),
            missing: batch.missing(),
        };
        self.tally = self.tally + seen;
        progress.add_records(seen.records);
        (self.each)(Some(batch))
    }

    fn wait(&mut self) -> Result<ControlFlow<()>, E> {
        (self.each)(None)
    }
}
