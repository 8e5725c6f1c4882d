//! An ordered pipeline: batches processed by many threads, delivered in input order.
//!
//! There is no dedicated consumer thread: it would have to be woken for each batch, and would
//! compete with the others for the cores. The thread that finishes the next batch in order delivers
//! it, and with it all that follow and are ready; the others go on reading meanwhile.

use super::source::{BlockStart, Source};
use super::{Batch, KeysError};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A finished batch, or the error in its place.
type Finished<O> = Result<Batch<O>, KeysError>;

/// The state shared by the threads of a reader.
pub(super) struct OrderedPipeline<'a, O, E, H> {
    /// Reading is done by one thread at a time.
    source: Mutex<Numbered<'a>>,
    reorder: Mutex<ReorderBuffer<O, E>>,
    /// A batch is free, or everything is over.
    free: Condvar,
    /// A batch was delivered, or everything is over: for the thread that polls for idleness.
    news: Condvar,
    /// Takes the batches. Held by the thread that has set [`ReorderBuffer::delivering`], so nobody
    /// waits for it.
    sink: Mutex<H>,
    halted: &'a AtomicBool,
}

struct Numbered<'a> {
    source: Source<'a>,
    next: u64,
}

struct ReorderBuffer<O, E> {
    free: Vec<Batch<O>>,
    /// Finished before those ahead of them.
    early: BTreeMap<u64, Finished<O>>,
    /// The number of the batch to be delivered next.
    next: u64,
    /// Whether a thread is delivering.
    delivering: bool,
    /// The result, if it ended before the end of the input.
    end: Option<Result<(), E>>,
    workers: usize,
}

/// Takes batches, and is called when idle.
pub(super) trait Sink<O, E> {
    /// Take the next batch.
    fn take(&mut self, batch: &mut Batch<O>) -> Result<ControlFlow<()>, E>;
    /// No batch has come for a while.
    fn wait(&mut self) -> Result<ControlFlow<()>, E>;
}

impl<'a, O, E: From<KeysError>, H: Sink<O, E>> OrderedPipeline<'a, O, E, H> {
    /// A pipeline with this many workers. They share the batches: there must be at least one more
    /// than workers, so that one is free while all others wait to be delivered.
    pub(super) fn new(
        source: Source<'a>,
        halted: &'a AtomicBool,
        batches: Vec<Batch<O>>,
        workers: usize,
        sink: H,
    ) -> OrderedPipeline<'a, O, E, H> {
        let reorder = ReorderBuffer {
            free: batches,
            early: BTreeMap::new(),
            next: 0,
            delivering: false,
            end: None,
            workers,
        };
        OrderedPipeline {
            source: Mutex::new(Numbered { source, next: 0 }),
            reorder: Mutex::new(reorder),
            free: Condvar::new(),
            news: Condvar::new(),
            sink: Mutex::new(sink),
            halted,
        }
    }

    /// A worker's loop: read in turn, process what was read, deliver it.
    pub(super) fn work(
        &self,
        mut work: impl FnMut(&mut Batch<O>, BlockStart) -> Result<(), KeysError>,
    ) {
        let guard = WorkerGuard(self);
        while let Some(mut batch) = self.free_batch() {
            let Ok(mut source) = self.source.lock() else { break };
            let number = source.next;
            let Some(place) = source.source.next_block(batch.text_mut()).transpose() else { break };
            source.next += 1;
            drop(source);
            let finished = place.and_then(|place| work(&mut batch, place)).map(|()| batch);
            let is_last = finished.is_err();
            self.insert(number, finished);
            if is_last {
                break;
            }
        }
        drop(guard);
    }

    /// Call the sink when idle, until all workers have ended.
    pub(super) fn poll_idle(&self, idle_timeout: Duration) {
        let mut reorder = self.reorder();
        while reorder.workers > 0 && reorder.end.is_none() {
            let before = reorder.next;
            let wait = self.news.wait_timeout(reorder, idle_timeout);
            let timeout;
            (reorder, timeout) = wait.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() && reorder.next == before && !reorder.delivering {
                reorder.delivering = true;
                drop(reorder);
                let waited = self.sink().wait();
                reorder = self.deliver(self.finish_batch(waited));
            }
        }
    }

    /// The result, and the sink.
    pub(super) fn end(self) -> (Result<(), E>, H) {
        let reorder = self.reorder.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sink = self.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
        (reorder.end.unwrap_or(Ok(())), sink)
    }

    /// A batch to read into; `None` when everything is over.
    fn free_batch(&self) -> Option<Batch<O>> {
        let mut reorder = self.reorder();
        loop {
            if reorder.end.is_some() {
                return None;
            }
            if let Some(batch) = reorder.free.pop() {
                return Some(batch);
            }
            reorder = self.free.wait(reorder).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Put a batch into the reorder buffer; deliver it if it is next and no other thread delivers.
    fn insert(&self, number: u64, finished: Finished<O>) {
        let mut reorder = self.reorder();
        reorder.early.insert(number, finished);
        if !reorder.delivering {
            reorder.delivering = true;
            drop(self.deliver(reorder));
        }
    }

    /// Deliver what is ready, in order.
    fn deliver<'l>(
        &'l self,
        mut reorder: MutexGuard<'l, ReorderBuffer<O, E>>,
    ) -> MutexGuard<'l, ReorderBuffer<O, E>> {
        while reorder.end.is_none() {
            let next = reorder.next;
            let Some(finished) = reorder.early.remove(&next) else { break };
            drop(reorder);
            let mut used = None;
            let taken = finished.map_err(E::from).and_then(|mut batch| {
                let taken = self.sink().take(&mut batch);
                used = Some(batch);
                taken
            });
            reorder = self.finish_batch(taken);
            reorder.next += 1;
            reorder.free.extend(used);
            self.free.notify_one();
        }
        reorder.delivering = false;
        self.news.notify_all();
        reorder
    }

    /// Continue, or end everything.
    fn finish_batch(
        &self,
        taken: Result<ControlFlow<()>, E>,
    ) -> MutexGuard<'_, ReorderBuffer<O, E>> {
        let mut reorder = self.reorder();
        match taken {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => self.stop(&mut reorder, Ok(())),
            Err(error) => self.stop(&mut reorder, Err(error)),
        }
        reorder
    }

    /// End everything: wake the others, wherever they wait.
    fn stop(&self, reorder: &mut ReorderBuffer<O, E>, end: Result<(), E>) {
        reorder.end.get_or_insert(end);
        self.halted.store(true, Relaxed);
        self.free.notify_all();
        self.news.notify_all();
    }

    // Nothing that panics is done under these locks except in the sink, whose state then does not
    // matter: the panic is passed on to the caller.
    fn reorder(&self) -> MutexGuard<'_, ReorderBuffer<O, E>> {
        self.reorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sink(&self) -> MutexGuard<'_, H> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker ends: at the end of the input, or by a panic, for whose batch the others would
/// otherwise wait forever.
struct WorkerGuard<'r, 'a, O, E: From<KeysError>, H: Sink<O, E>>(&'r OrderedPipeline<'a, O, E, H>);

impl<O, E: From<KeysError>, H: Sink<O, E>> Drop for WorkerGuard<'_, '_, O, E, H> {
    fn drop(&mut self) {
        let pipeline = self.0;
        let mut reorder = pipeline.reorder();
        reorder.workers -= 1;
        if thread::panicking() {
            pipeline.stop(&mut reorder, Err(KeysError::Worker.into()));
        }
        pipeline.news.notify_all();
    }
}
