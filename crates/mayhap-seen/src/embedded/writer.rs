//! The writer thread (group commit): takes all waiting jobs, applies them in one transaction,
//! replies to all.
//!
//! When a commit fails, its callers get the error, and redb rejects everything from then on. The
//! file is reopened, with exponential backoff while that fails too; calls in between get the error
//! at once. What was acknowledged before it was on disk ([`Durability::Within`]) is kept until it
//! is, and applied again after the file was reopened.

use super::file::StoreFile;
use super::read_snapshot::ReadSnapshot;
use super::record_cache::RecordCache;
use super::steady_clock::SteadyClock;
use super::txn_lists::{self, TxnLists};
use super::{ABOUT, CHUNKS, Durability, ENDS, LISTS, OwnedOperation, away, records};
use crate::SeenError;
use crate::backend::Clock;
use crate::list::List;
use crate::policy::{Policy, PolicyFields, Seconds};
use redb::{ReadableTable, Table};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// Lists checked in one sweep, so that marks wait only briefly.
const EXPIRE_BATCH: usize = 512;
/// Maximum jobs in one transaction.
const JOBS_AT_ONCE: usize = 4096;
/// Backoff after the first failure, and its maximum.
const BACKOFF: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(5)];

/// A job, and where its reply goes.
pub(super) struct Job {
    pub work: Work,
    pub reply: SyncSender<Result<Reply, SeenError>>,
}

pub(super) enum Work {
    Change(Vec<OwnedOperation>),
    Forget(Vec<u8>),
    Merge(Vec<(Vec<u8>, List)>),
    Policy(PolicyFields),
    Sweep,
    Flush,
}

impl Work {
    /// The owners of the lists it changes.
    fn owners(&self) -> Vec<&[u8]> {
        match self {
            Work::Change(changes) => changes.iter().map(|change| &*change.owner).collect(),
            Work::Merge(lists) => lists.iter().map(|(owner, _)| &**owner).collect(),
            Work::Forget(owner) => vec![owner],
            Work::Policy(_) | Work::Sweep | Work::Flush => vec![],
        }
    }
}

#[derive(Default)]
pub(super) struct Reply {
    /// What each operation found, as [`Backend::change`](crate::Backend::change) returns it.
    pub known: Vec<Vec<bool>>,
    /// Lists that were deleted or expired.
    pub count: u64,
    /// The new policy, if it was changed.
    pub policy: Option<Policy>,
}

pub(super) struct Writer {
    pub file: Arc<StoreFile>,
    pub read_snapshot: Arc<ReadSnapshot>,
    pub cache: Arc<RecordCache>,
    pub policy: Policy,
    pub clock: Clock,
    /// Set if the clock is the system's.
    pub steady_clock: Option<Arc<SteadyClock>>,
    pub durability: Durability,
    pub sweep_every: Duration,
    /// Acknowledged and committed, but not yet on disk.
    pub unflushed: Vec<Work>,
    /// Set since the last transaction failed.
    pub failure: Option<WriteFailure>,
}

/// A transaction has failed.
pub(super) struct WriteFailure {
    error: SeenError,
    backoff: Duration,
    try_again: Instant,
}

/// The tables of a transaction.
pub(super) struct Tables<'t> {
    pub lists: Table<'t, &'static [u8], &'static [u8]>,
    pub chunks: Table<'t, &'static [u8], &'static [u8]>,
    pub ends: Table<'t, (Seconds, &'static [u8]), ()>,
}

impl Writer {
    /// Runs until all senders are gone.
    pub fn run(&mut self, queue: &Receiver<Job>) {
        let mut next_sweep = Instant::now() + self.sweep_every;
        let mut next_flush = None; // set while something is not yet on disk
        loop {
            let again = self.failure.as_ref().map(|failure| failure.try_again);
            let due = [Some(next_sweep), next_flush, again].into_iter().flatten().min();
            let due = due.unwrap_or(next_sweep);
            match queue.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(job) => {
                    let mut jobs = vec![job];
                    jobs.extend(queue.try_iter().take(JOBS_AT_ONCE - 1));
                    self.group(jobs);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    _ = self.recovered().and_then(|()| self.flush());
                    return;
                }
            }
            let now = Instant::now();
            if self.failure.as_ref().is_some_and(|failure| failure.try_again <= now) {
                _ = self.recovered();
            }
            next_flush = match (self.durability, self.unflushed.is_empty()) {
                (Durability::Within(time), false) => next_flush.or(Some(now + time)),
                _ => None,
            };
            if next_flush.is_some_and(|flush| flush <= now) {
                next_flush = None;
                // A failure is recorded, and retried after its backoff.
                if self.failure.is_none() {
                    _ = self.flush();
                }
            }
            if next_sweep <= now {
                // Nobody has to mark anything to notice that the file is gone.
                let is_there = self.file.check().is_ok() && self.failure.is_none();
                let more = is_there && self.expire(true).is_ok_and(|(_, more)| more);
                // More to do: after the jobs that came meanwhile.
                next_sweep = if more { now } else { now + self.sweep_every };
            }
        }
    }

    /// All jobs in one transaction, and the replies once it is committed.
    fn group(&mut self, jobs: Vec<Job>) {
        if let Err(error) = self.recovered() {
            jobs.into_iter().for_each(|job| _ = job.reply.send(Err(error.clone())));
            return;
        }
        let sync = |job: &Job| matches!(job.work, Work::Flush | Work::Sweep);
        let durable = self.durability == Durability::EveryCall || jobs.iter().any(sync);
        let mut swept = Ok(0);
        if jobs.iter().any(|job| matches!(job.work, Work::Sweep)) {
            swept = self.expire_all();
        }
        let now = (self.clock)();
        let policy = self.policy;
        let answers = self.transaction(durable, |tables| {
            let mut lists = TxnLists::new(tables, &policy, now);
            let answers: Vec<_> = jobs.iter().map(|job| lists.work(&job.work)).collect();
            Ok((answers, lists.write()?))
        });
        // Committed or not: after a failed commit only the file knows.
        jobs.iter().flat_map(|job| job.work.owners()).for_each(|owner| self.cache.forget(owner));
        match answers {
            Ok((answers, written)) => {
                for (owner, record) in &written {
                    self.cache.replace(owner, record);
                }
                for (Job { work, reply }, answer) in jobs.into_iter().zip(answers) {
                    let answer = match (&work, &swept) {
                        (Work::Sweep, Ok(count)) => Ok(Reply { count: *count, ..Reply::default() }),
                        (Work::Sweep, Err(error)) => Err(error.clone()),
                        (Work::Policy(fields), _) => self.change_policy(fields),
                        _ => answer,
                    };
                    if !durable && answer.is_ok() {
                        self.unflushed.push(work);
                    }
                    _ = reply.send(answer); // the caller may be gone
                }
            }
            Err(error) => {
                jobs.into_iter().for_each(|job| _ = job.reply.send(Err(error.clone())));
            }
        }
    }

    fn flush(&mut self) -> Result<(), SeenError> {
        self.transaction(true, |_| Ok(()))
    }

    /// Be ready to write: after a failure, reopen the file.
    fn recovered(&mut self) -> Result<(), SeenError> {
        let Some(failure) = &self.failure else { return Ok(()) };
        if Instant::now() < failure.try_again {
            return Err(failure.error.clone());
        }
        let backoff = failure.backoff;
        // If redb still works, nothing has to be reopened.
        let ready = self.file.catch_damage(|| self.file.db()?.begin_write().map(drop));
        if ready.is_err() {
            _ = self.file.catch_damage(|| {
                self.read_snapshot.close();
                Ok(())
            });
            if let Err(error) = self.file.reopen() {
                self.fail(error.clone(), backoff * 2);
                return Err(error);
            }
            self.cache.clear();
        }
        let (now, policy) = ((self.clock)(), self.policy);
        let again = std::mem::take(&mut self.unflushed);
        let done = self.transaction(true, |tables| {
            let mut lists = TxnLists::new(tables, &policy, now);
            for work in &again {
                match lists.work(work) {
                    Ok(_) | Err(SeenError::Record { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            lists.write()
        });
        again.iter().flat_map(Work::owners).for_each(|owner| self.cache.forget(owner));
        match done {
            Ok(_) => {
                self.failure = None;
                Ok(())
            }
            Err(error) => {
                self.unflushed = again;
                self.fail(error.clone(), backoff * 2);
                Err(error)
            }
        }
    }

    fn fail(&mut self, error: SeenError, backoff: Duration) {
        let backoff = backoff.clamp(BACKOFF[0], BACKOFF[1]);
        self.failure = Some(WriteFailure { error, backoff, try_again: Instant::now() + backoff });
    }

    /// A transaction, after which the file is checked to be there; a failure is recorded.
    fn transaction<T>(
        &mut self,
        durable: bool,
        work: impl for<'t> FnOnce(&mut Tables<'t>) -> Result<T, SeenError>,
    ) -> Result<T, SeenError> {
        let commit = || self.file.catch_damage(|| self.commit(durable, work));
        let done = self.file.check().and_then(|()| commit());
        let done = done.and_then(|done| self.file.committed().map(|()| done));
        match &done {
            Ok(_) if durable => self.unflushed.clear(),
            Ok(_) => {}
            Err(error) => self.fail(error.clone(), BACKOFF[0]),
        }
        done
    }

    fn commit<T>(
        &self,
        durable: bool,
        work: impl for<'t> FnOnce(&mut Tables<'t>) -> Result<T, SeenError>,
    ) -> Result<T, SeenError> {
        let db = self.file.db()?;
        let mut txn = db.begin_write()?;
        let durability = if durable { redb::Durability::Immediate } else { redb::Durability::None };
        txn.set_durability(durability).map_err(away)?;
        let result = {
            let mut tables = Tables {
                lists: txn.open_table(LISTS).map_err(away)?,
                chunks: txn.open_table(CHUNKS).map_err(away)?,
                ends: txn.open_table(ENDS).map_err(away)?,
            };
            work(&mut tables)?
        };
        if let Some(sample) = self.steady_clock.as_deref().and_then(SteadyClock::sample) {
            let mut about = txn.open_table(ABOUT).map_err(away)?;
            about.insert("clock", sample.to_string().as_str()).map_err(away)?;
        }
        let committed = txn.commit().map_err(away);
        self.read_snapshot.renew(&db);
        committed.map(|()| result)
    }

    /// Lists without expiry may get one now: all of them are checked once.
    fn change_policy(&mut self, fields: &PolicyFields) -> Result<Reply, SeenError> {
        let refused = |error: crate::PolicyError| SeenError::Refused { what: error.to_string() };
        let policy = fields.apply(&self.policy).map_err(refused)?;
        self.file.catch_damage(|| self.write_policy(&policy))?;
        self.policy = policy;
        Ok(Reply { policy: Some(policy), ..Reply::default() })
    }

    fn write_policy(&self, policy: &Policy) -> Result<(), SeenError> {
        let db = self.file.db()?;
        let txn = db.begin_write()?;
        {
            let mut about = txn.open_table(ABOUT).map_err(away)?;
            about.insert("policy", policy.to_string().as_str()).map_err(away)?;
            let lists = txn.open_table(LISTS).map_err(away)?;
            let mut ends = txn.open_table(ENDS).map_err(away)?;
            for entry in lists.iter().map_err(away)? {
                ends.insert((0, entry.map_err(away)?.0.value()), ()).map_err(away)?;
            }
        }
        txn.commit().map_err(away)?;
        self.read_snapshot.renew(&db);
        self.file.committed()
    }

    fn expire_all(&mut self) -> Result<u64, SeenError> {
        let mut all = 0;
        loop {
            let (count, more) = self.expire(false)?;
            all += count;
            if !more {
                return Ok(all);
            }
        }
    }

    /// Check lists that may have expired: how many were removed, and whether there are more.
    fn expire(&mut self, durable: bool) -> Result<(u64, bool), SeenError> {
        let now = (self.clock)();
        if self.file.catch_damage(|| self.is_nothing_due(now))? {
            return Ok((0, false));
        }
        let mut due: Vec<(Seconds, Vec<u8>)> = vec![];
        let policy = self.policy;
        let swept = self.transaction(durable, |tables| {
            for entry in tables
                .ends
                .range(..(now.saturating_add(1), [].as_slice()))
                .map_err(away)?
                .take(EXPIRE_BATCH)
            {
                let entry = entry.map_err(away)?.0;
                let (end, owner) = entry.value();
                due.push((end, owner.to_vec()));
            }
            let mut removed = 0;
            for (end, owner) in &due {
                tables.ends.remove((*end, owner.as_slice())).map_err(away)?;
                match txn_lists::read(tables, owner, &policy, now) {
                    Ok(Some(list)) if list.is_empty() => {
                        records::remove(tables, owner)?;
                        removed += 1;
                    }
                    Ok(Some(list)) => {
                        if let Some(end) = list.expires(&policy) {
                            let later = end.max(now.saturating_add(1));
                            tables.ends.insert((later, owner.as_slice()), ()).map_err(away)?;
                        }
                    }
                    // Deleted meanwhile; or unreadable, which a reader will report.
                    Ok(None) | Err(SeenError::Record { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok((removed, due.len() == EXPIRE_BATCH))
        });
        due.iter().for_each(|(_, owner)| self.cache.forget(owner));
        swept
    }

    /// Checked in a snapshot first: usually there is nothing to write.
    fn is_nothing_due(&self, now: Seconds) -> Result<bool, SeenError> {
        let ends = self.file.db()?.begin_read()?.open_table(ENDS).map_err(away)?;
        let first = ends.first().map_err(away)?;
        Ok(first.is_none_or(|(entry, _)| entry.value().0 > now))
    }
}
