//! Inputs become batches, on as many threads as there are, in the order of the input.

use super::cut::Cutter;
use super::input::Stop;
use super::source::{Place, Source};
use super::{Batch, Extractor, Input, KeysError, Rules, Task, Watch};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
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
}

/// What went by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records handed over.
    pub records: u64,
    /// Those of them without the part asked for, or that did not parse.
    pub unparsed: u64,
}

impl Reading {
    /// Read these, on one thread. Without inputs nothing is read: whoever wants standard input
    /// says so.
    pub fn new(inputs: Vec<Input>, rules: Rules) -> Reading {
        let watch = Arc::default();
        Reading { inputs, rules, threads: 1, block_bytes: BLOCK_BYTES, watch }
    }

    pub(super) fn with_rules(self, rules: Rules) -> Reading {
        Reading { rules, ..self }
    }

    /// Hash on so many threads besides the caller's. With one, the caller's does everything.
    pub fn with_threads(self, threads: usize) -> Reading {
        Reading { threads: threads.max(1), ..self }
    }

    /// Read in blocks of about so many bytes.
    pub fn with_block_bytes(self, block_bytes: usize) -> Reading {
        Reading { block_bytes: block_bytes.max(1), ..self }
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

    /// Read everything: `task` sees each key on some thread, `each` takes the batches on the
    /// caller's, in the order of the input. `each` ends it early with a break or an error.
    pub fn run<T: Task, E: From<KeysError>>(
        &self,
        task: &T,
        mut each: impl FnMut(&mut Batch<T::Out>) -> Result<ControlFlow<()>, E>,
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
    /// without one, again and again: for work that must not wait for a silent pipe. Reading has a
    /// thread of its own then.
    pub fn run_awake<T: Task, E: From<KeysError>>(
        &self,
        task: &T,
        patience: Duration,
        each: impl FnMut(Option<&mut Batch<T::Out>>) -> Result<ControlFlow<()>, E>,
    ) -> Result<Tally, E> {
        self.run_on_threads(task, self.consumer(each), Some(patience))
    }

    fn consumer<F>(&self, each: F) -> Consumer<'_, F> {
        let total: Option<u64> = self.inputs.iter().map(Input::bytes).sum();
        self.watch.begin(total);
        Consumer { each, tally: Tally::default(), next: (0, 1), watch: &self.watch }
    }

    fn source<'a>(&'a self, halted: &'a AtomicBool) -> Source<'a> {
        let stop = Stop { watch: Arc::clone(&self.watch), halted };
        Source::new(&self.inputs, &self.rules, self.block_bytes, stop)
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

    fn run_on_threads<T: Task, E: From<KeysError>>(
        &self,
        task: &T,
        mut consumer: Consumer<'_, impl Each<T::Out, E>>,
        patience: Option<Duration>,
    ) -> Result<Tally, E> {
        let halted = AtomicBool::new(false);
        let (free, free_batches) = channel();
        // Whoever reads holds a batch already, so the first in line never waits for one.
        for _ in 0..2 * self.threads + 1 {
            _ = free.send(self.batch());
        }
        let turns = Mutex::new(Turns { source: self.source(&halted), free: free_batches, next: 0 });
        let (done, batches) = channel();
        thread::scope(|scope| {
            for _ in 0..self.threads {
                let (done, turns) = (done.clone(), &turns);
                scope.spawn(move || self.work(task, turns, &done));
            }
            drop(done);
            let result = consumer.in_order(&batches, &free, patience);
            // Nobody takes batches any more: let the workers see it, wherever they wait.
            halted.store(true, Relaxed);
            drop(free);
            result
        })
    }

    /// A worker's life: take turns at reading, work on what was read, pass it on.
    fn work<T: Task>(&self, task: &T, turns: &Mutex<Turns<'_, T::Out>>, done: &Done<T::Out>) {
        let (cutter, mut extractor) = (Cutter::new(&self.rules), Extractor::new(&self.rules));
        let alarm = Alarm(done);
        loop {
            let Ok(mut turn) = turns.lock() else { return };
            let read = turn.read();
            drop(turn);
            let (number, result) = match read {
                None => break,
                Some((number, Ok((mut batch, place)))) => {
                    let fetched = batch.text_mut().fetch();
                    batch.set_place(place);
                    batch.work(task, &self.rules, &cutter, &mut extractor);
                    (number, fetched.map(|()| batch))
                }
                Some((number, Err(error))) => (number, Err(error)),
            };
            let ended = result.is_err();
            if done.send((number, result)).is_err() || ended {
                break;
            }
        }
        drop(alarm);
    }
}

/// Numbered batches on their way back.
type Done<O> = Sender<(u64, Result<Batch<O>, KeysError>)>;

/// A batch whose text is there, and where it came from.
type Read<O> = Result<(Batch<O>, Place), KeysError>;

/// Reading is done by one thread at a time.
struct Turns<'a, O> {
    source: Source<'a>,
    free: Receiver<Batch<O>>,
    next: u64,
}

impl<O> Turns<'_, O> {
    /// The next batch, numbered, or the error in its place. `None` at the end.
    fn read(&mut self) -> Option<(u64, Read<O>)> {
        // Nobody gives batches back any more: the consumer is gone.
        let mut batch = self.free.recv().ok()?;
        let place = self.source.next_block(batch.text_mut()).transpose()?;
        let number = self.next;
        self.next += 1;
        Some((number, place.map(|place| (batch, place))))
    }
}

/// Tells the consumer of a worker that panics, which would else wait for its batch for ever.
struct Alarm<'a, O>(&'a Done<O>);

impl<O> Drop for Alarm<'_, O> {
    fn drop(&mut self) {
        if thread::panicking() {
            _ = self.0.send((u64::MAX, Err(KeysError::Worker)));
        }
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
    watch: &'a Watch,
}

impl<F> Consumer<'_, F> {
    fn take<O, E>(&mut self, batch: &mut Batch<O>) -> Result<ControlFlow<()>, E>
    where
        F: Each<O, E>,
    {
        self.next = batch.number_from(self.next);
        self.tally.records += batch.counted();
        self.tally.unparsed += batch.unparsed();
        self.watch.add_records(batch.counted());
        (self.each)(Some(batch))
    }

    /// Take batches by their numbers, however they come, and give them back empty.
    fn in_order<O, E: From<KeysError>>(
        &mut self,
        batches: &Receiver<(u64, Result<Batch<O>, KeysError>)>,
        free: &Sender<Batch<O>>,
        patience: Option<Duration>,
    ) -> Result<Tally, E>
    where
        F: Each<O, E>,
    {
        let mut early = BTreeMap::new();
        let mut next = 0;
        loop {
            let received = match patience {
                Some(patience) => batches.recv_timeout(patience),
                None => batches.recv().map_err(RecvTimeoutError::from),
            };
            let (number, result) = match received {
                Ok(received) => received,
                Err(RecvTimeoutError::Timeout) if (self.each)(None)?.is_continue() => continue,
                Err(_) => break,
            };
            if number == u64::MAX {
                return Err(KeysError::Worker.into());
            }
            early.insert(number, result);
            while let Some(result) = early.remove(&next) {
                let mut batch = result?;
                if self.take(&mut batch)?.is_break() {
                    return Ok(self.tally);
                }
                next += 1;
                _ = free.send(batch);
            }
        }
        Ok(self.tally)
    }
}
