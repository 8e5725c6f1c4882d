//! Inputs become batches, on as many threads as there are, in the order of the input.

use super::cut::Cutter;
use super::input::Stop;
use super::relay::{Hand, Relay};
use super::source::{Source, Unreadable};
use super::{Batch, Extractor, Input, KeysError, OnMissing, Rules, Task, Watch};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

/// Bytes of a block: some thousands of records, so that nothing is paid once a record, and few
/// enough that a block stays in a core's cache from reading to printing.
const BLOCK_BYTES: usize = 256 << 10;

/// Inputs to be read by rules, on some threads.
///
/// Memory is a few blocks a thread, however long the inputs are; a record longer than a block
/// makes its block as long as itself.
#[derive(Clone, Debug)]
pub struct Reading {
    inputs: Vec<Input>,
    rules: Rules,
    threads: usize,
    block_bytes: usize,
    watch: Arc<Watch>,
    unreadable: Option<Unreadable>,
}

/// What went by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records handed over.
    pub records: u64,
    /// Those of them that are keys as they stand: their part cannot be normalised, or there is
    /// none and lines are taken as a whole then.
    pub unparsed: u64,
    /// Those of them that have no key.
    pub missing: u64,
}

impl std::ops::Add for Tally {
    type Output = Tally;

    fn add(self, other: Tally) -> Tally {
        Tally {
            records: self.records + other.records,
            unparsed: self.unparsed + other.unparsed,
            missing: self.missing + other.missing,
        }
    }
}

impl Reading {
    /// Read these, on one thread. Without inputs nothing is read: whoever wants standard input
    /// says so.
    pub fn new(inputs: Vec<Input>, rules: Rules) -> Reading {
        let watch = Arc::default();
        let (block_bytes, unreadable) = (BLOCK_BYTES, None);
        Reading { inputs, rules, threads: 1, block_bytes, watch, unreadable }
    }

    pub(super) fn with_rules(self, rules: Rules) -> Reading {
        Reading { rules, ..self }
    }

    /// Work on so many threads, the caller's being one of them.
    pub fn with_threads(self, threads: usize) -> Reading {
        Reading { threads: threads.max(1), ..self }
    }

    /// Read in blocks of about so many bytes.
    pub fn with_block_bytes(self, block_bytes: usize) -> Reading {
        Reading { block_bytes: block_bytes.max(1), ..self }
    }

    /// Pass over inputs that cannot be opened or read, and tell of each, instead of ending with
    /// the first of them. What was read of one before is handed over.
    pub fn passing_over(self, tell: impl Fn(KeysError) + Send + Sync + 'static) -> Reading {
        Reading { unreadable: Some(Unreadable(Arc::new(tell))), ..self }
    }

    /// Let it be watched, and stopped, from outside.
    pub fn with_watch(self, watch: Arc<Watch>) -> Reading {
        Reading { watch, ..self }
    }

    /// What is read.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// By what rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// How far it is.
    pub fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    /// Read everything: `task` sees each key on some thread, `each` takes the batches one at a
    /// time, on any of the threads, in the order of the input. It ends all early with a break or
    /// an error.
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

    /// As [`run`](Reading::run); and where no batch has come for so long, `each` is called
    /// without one, again and again: for work that must not wait for a silent pipe. The caller's
    /// thread keeps watch then, besides those that work.
    pub fn run_awake<T: Task, E: From<KeysError> + Send>(
        &self,
        task: &T,
        patience: Duration,
        each: impl FnMut(Option<&mut Batch<T::Out>>) -> Result<ControlFlow<()>, E> + Send,
    ) -> Result<Tally, E> {
        self.run_on_threads(task, self.consumer(each), Some(patience))
    }

    fn consumer<F>(&self, each: F) -> Consumer<'_, F> {
        let total: Option<u64> = self.inputs.iter().map(Input::bytes).sum();
        self.watch.begin(total);
        Consumer { each, tally: Tally::default(), next: (0, 1), reading: self }
    }

    fn source<'a>(&'a self, halted: &'a AtomicBool) -> Source<'a> {
        let stop = Stop { watch: Arc::clone(&self.watch), halted };
        Source::new(&self.inputs, &self.rules, self.block_bytes, stop, self.unreadable.as_ref())
    }

    fn batch<O: Default>(&self) -> Batch<O> {
        Batch::new(O::default(), self.rules.framing.delimiter)
    }

    fn run_here<T: Task, E: From<KeysError>>(
        &self,
        task: &T,
        mut consumer: Consumer<'_, impl Each<T::Out, E>>,
    ) -> Result<Tally, E> {
        let halted = AtomicBool::new(false);
        let mut source = self.source(&halted);
        let (cutter, mut extractor) = (Cutter::new(&self.rules), Extractor::new(&self.rules));
        let mut batch = self.batch();
        while let Some(place) = source.next_block(batch.text_mut())? {
            batch.text_mut().fetch()?;
            batch.set_place(place);
            batch.work(task, &self.rules, &cutter, &mut extractor);
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
        patience: Option<Duration>,
    ) -> Result<Tally, E> {
        let halted = AtomicBool::new(false);
        let batches = (0..2 * self.threads + 1).map(|_| self.batch()).collect();
        let relay = Relay::new(self.source(&halted), &halted, batches, self.threads, consumer);
        let work = || {
            let (cutter, mut extractor) = (Cutter::new(&self.rules), Extractor::new(&self.rules));
            relay.work(|batch, place| {
                batch.text_mut().fetch()?;
                batch.set_place(place);
                batch.work(task, &self.rules, &cutter, &mut extractor);
                Ok(())
            });
        };
        thread::scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(work);
            }
            match patience {
                None => work(),
                Some(patience) => {
                    scope.spawn(work);
                    relay.keep_watch(patience);
                }
            }
        });
        let (end, consumer) = relay.end();
        end.map(|()| consumer.tally)
    }
}

/// What takes the batches, and the time when there is none.
trait Each<O, E>: FnMut(Option<&mut Batch<O>>) -> Result<ControlFlow<()>, E> {}
impl<O, E, F: FnMut(Option<&mut Batch<O>>) -> Result<ControlFlow<()>, E>> Each<O, E> for F {}

struct Consumer<'a, F> {
    each: F,
    tally: Tally,
    /// The input and the number of the next record.
    next: (usize, u64),
    reading: &'a Reading,
}

impl<O, E: From<KeysError>, F: Each<O, E>> Hand<O, E> for Consumer<'_, F> {
    fn take(&mut self, batch: &mut Batch<O>) -> Result<ControlFlow<()>, E> {
        self.next = batch.number_from(self.next);
        let Reading { rules, inputs, watch, .. } = self.reading;
        if rules.missing == OnMissing::Fail
            && let Some(line) = batch.first_missing()
        {
            let path = inputs[batch.input()].path().to_owned();
            return Err(KeysError::NoKey { path, line, what: rules.wanted() }.into());
        }
        let seen = Tally {
            records: batch.counted(),
            unparsed: batch.unparsed(),
            missing: batch.missing(),
        };
        self.tally = self.tally + seen;
        watch.add_records(seen.records);
        (self.each)(Some(batch))
    }

    fn wait(&mut self) -> Result<ControlFlow<()>, E> {
        (self.each)(None)
    }
}
