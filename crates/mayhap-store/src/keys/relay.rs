//! Batches worked on by many threads, handed on in the order of the input.
//!
//! There is no thread that only takes batches: it would have to be woken for each of them, and
//! would compete with the others for the cores. Whoever finishes the batch that is next in line
//! hands it on, and with it all that follow and are ready; the others go on reading meanwhile.

use super::source::{Place, Source};
use super::{Batch, KeysError};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A batch in its place in line, or the error that is there instead.
type Finished<O> = Result<Batch<O>, KeysError>;

/// What the threads of a reading share.
pub(super) struct Relay<'a, O, E, H> {
    /// Reading is done by one thread at a time.
    source: Mutex<Numbered<'a>>,
    line: Mutex<Line<O, E>>,
    /// A batch is free, or all is over.
    free: Condvar,
    /// A batch was handed on, or all is over: for the one who keeps watch.
    news: Condvar,
    /// Takes the batches. Whoever has set [`Line::handing`] holds it, so nobody waits for it.
    hand: Mutex<H>,
    halted: &'a AtomicBool,
}

struct Numbered<'a> {
    source: Source<'a>,
    next: u64,
}

struct Line<O, E> {
    free: Vec<Batch<O>>,
    /// Finished before those ahead of them.
    early: BTreeMap<u64, Finished<O>>,
    /// The number of the batch to be handed on next.
    next: u64,
    /// Somebody is handing on.
    handing: bool,
    /// How it ended before the end of the input.
    end: Option<Result<(), E>>,
    workers: usize,
}

/// Takes batches, and the time when there is none.
pub(super) trait Hand<O, E> {
    /// Take the next batch.
    fn take(&mut self, batch: &mut Batch<O>) -> Result<ControlFlow<()>, E>;
    /// No batch has come for a while.
    fn wait(&mut self) -> Result<ControlFlow<()>, E>;
}

impl<'a, O, E: From<KeysError>, H: Hand<O, E>> Relay<'a, O, E, H> {
    /// A relay of so many workers. They share the batches: there must be one more than workers
    /// at the least, so that one is ready while all others wait for the next in line.
    pub(super) fn new(
        source: Source<'a>,
        halted: &'a AtomicBool,
        batches: Vec<Batch<O>>,
        workers: usize,
        hand: H,
    ) -> Relay<'a, O, E, H> {
        let line = Line {
            free: batches,
            early: BTreeMap::new(),
            next: 0,
            handing: false,
            end: None,
            workers,
        };
        Relay {
            source: Mutex::new(Numbered { source, next: 0 }),
            line: Mutex::new(line),
            free: Condvar::new(),
            news: Condvar::new(),
            hand: Mutex::new(hand),
            halted,
        }
    }

    /// A worker's life: take turns at reading, work on what was read, hand it on.
    pub(super) fn work(&self, mut work: impl FnMut(&mut Batch<O>, Place) -> Result<(), KeysError>) {
        let leaving = Leaving(self);
        while let Some(mut batch) = self.free_batch() {
            let Ok(mut source) = self.source.lock() else { break };
            let number = source.next;
            let Some(place) = source.source.next_block(batch.text_mut()).transpose() else { break };
            source.next += 1;
            drop(source);
            let finished = place.and_then(|place| work(&mut batch, place)).map(|()| batch);
            let is_last = finished.is_err();
            self.put(number, finished);
            if is_last {
                break;
            }
        }
        drop(leaving);
    }

    /// Tell the hand of the time, until all workers have left.
    pub(super) fn keep_watch(&self, patience: Duration) {
        let mut line = self.line();
        while line.workers > 0 && line.end.is_none() {
            let before = line.next;
            let wait = self.news.wait_timeout(line, patience);
            let timeout;
            (line, timeout) = wait.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() && line.next == before && !line.handing {
                line.handing = true;
                drop(line);
                let waited = self.hand().wait();
                line = self.hand_on(self.conclude(waited));
            }
        }
    }

    /// How it ended, and the hand that took the batches.
    pub(super) fn end(self) -> (Result<(), E>, H) {
        let line = self.line.into_inner().unwrap_or_else(PoisonError::into_inner);
        let hand = self.hand.into_inner().unwrap_or_else(PoisonError::into_inner);
        (line.end.unwrap_or(Ok(())), hand)
    }

    /// A batch to read into; `None` when it is all over.
    fn free_batch(&self) -> Option<Batch<O>> {
        let mut line = self.line();
        loop {
            if line.end.is_some() {
                return None;
            }
            if let Some(batch) = line.free.pop() {
                return Some(batch);
            }
            line = self.free.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Put a batch in its place in line; hand it on if it is next, and nobody else does.
    fn put(&self, number: u64, finished: Finished<O>) {
        let mut line = self.line();
        line.early.insert(number, finished);
        if !line.handing {
            line.handing = true;
            drop(self.hand_on(line));
        }
    }

    /// Hand on what is ready, in order.
    fn hand_on<'l>(&'l self, mut line: MutexGuard<'l, Line<O, E>>) -> MutexGuard<'l, Line<O, E>> {
        while line.end.is_none() {
            let next = line.next;
            let Some(finished) = line.early.remove(&next) else { break };
            drop(line);
            let mut used = None;
            let taken = finished.map_err(E::from).and_then(|mut batch| {
                let taken = self.hand().take(&mut batch);
                used = Some(batch);
                taken
            });
            line = self.conclude(taken);
            line.next += 1;
            line.free.extend(used);
            self.free.notify_one();
        }
        line.handing = false;
        self.news.notify_all();
        line
    }

    /// Go on, or end it all.
    fn conclude(&self, taken: Result<ControlFlow<()>, E>) -> MutexGuard<'_, Line<O, E>> {
        let mut line = self.line();
        match taken {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => self.stop(&mut line, Ok(())),
            Err(error) => self.stop(&mut line, Err(error)),
        }
        line
    }

    /// End it all: let the others see it, wherever they wait.
    fn stop(&self, line: &mut Line<O, E>, end: Result<(), E>) {
        line.end.get_or_insert(end);
        self.halted.store(true, Relaxed);
        self.free.notify_all();
        self.news.notify_all();
    }

    // Nothing that panics is done under these locks but in the hand, whose state then counts for
    // nothing: the panic is passed on to the caller.
    fn line(&self) -> MutexGuard<'_, Line<O, E>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand(&self) -> MutexGuard<'_, H> {
        self.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker goes: at the end of the input, or in a panic, for whose batch the others would else
/// wait for ever.
struct Leaving<'r, 'a, O, E: From<KeysError>, H: Hand<O, E>>(&'r Relay<'a, O, E, H>);

impl<O, E: From<KeysError>, H: Hand<O, E>> Drop for Leaving<'_, '_, O, E, H> {
    fn drop(&mut self) {
        let relay = self.0;
        let mut line = relay.line();
        line.workers -= 1;
        if thread::panicking() {
            relay.stop(&mut line, Err(KeysError::Worker.into()));
        }
        relay.news.notify_all();
    }
}
