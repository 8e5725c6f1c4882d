//! The one thread that writes: takes all that wait, does them in one transaction, answers all.

use super::held::{self, Held};
use super::latest::Latest;
use super::recent::Recent;
use super::{Durability, ENDS, LISTS, OwnedChange, away};
use crate::SeenError;
use crate::backend::Clock;
use crate::list::List;
use crate::policy::{Policy, Seconds};
use redb::{Database, ReadableTable, Table, WriteTransaction};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

/// Lists looked at in one sweep, so that marks wait a moment at most.
const SWEPT_AT_ONCE: usize = 512;
/// Jobs put into one transaction.
const JOBS_AT_ONCE: usize = 4096;

/// What is to be done, and who waits for it.
pub(super) struct Job {
    pub work: Work,
    pub reply: SyncSender<Result<Reply, SeenError>>,
}

pub(super) enum Work {
    Change(Vec<OwnedChange>),
    Forget(Vec<u8>),
    Merge(Vec<(Vec<u8>, List)>),
    Sweep,
    Flush,
}

impl Work {
    /// Whose lists it changes.
    fn owners(&self) -> Vec<&[u8]> {
        match self {
            Work::Change(changes) => changes.iter().map(|change| &*change.owner).collect(),
            Work::Merge(lists) => lists.iter().map(|(owner, _)| &**owner).collect(),
            Work::Forget(owner) => vec![owner],
            Work::Sweep | Work::Flush => vec![],
        }
    }
}

#[derive(Default)]
pub(super) struct Reply {
    /// What the changes found, as [`Backend::change`](crate::Backend::change) tells it.
    pub known: Vec<Vec<bool>>,
    /// Lists that were forgotten or swept.
    pub count: u64,
}

pub(super) struct Writer {
    pub db: Arc<Database>,
    pub latest: Arc<Latest>,
    pub recent: Arc<Recent>,
    pub policy: Policy,
    pub clock: Clock,
    pub durability: Durability,
    pub sweep_every: Duration,
}

pub(super) type Lists<'a> = Table<'a, &'static [u8], &'static [u8]>;
pub(super) type Ends<'a> = Table<'a, (Seconds, &'static [u8]), ()>;

impl Writer {
    /// Until nobody is left who could send.
    pub fn run(&mut self, queue: &Receiver<Job>) {
        let mut next_sweep = Instant::now() + self.sweep_every;
        let mut next_flush = None; // set while something is not yet on disk
        loop {
            let due = next_flush.map_or(next_sweep, |flush: Instant| flush.min(next_sweep));
            match queue.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(job) => {
                    let mut jobs = vec![job];
                    jobs.extend(queue.try_iter().take(JOBS_AT_ONCE - 1));
                    let durable = self.group(jobs);
                    if let (false, Durability::Within(time)) = (durable, self.durability) {
                        next_flush.get_or_insert(Instant::now() + time);
                    } else {
                        next_flush = None;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    _ = self.transaction(true, |_, _| Ok(()));
                    return;
                }
            }
            let now = Instant::now();
            // A flush that fails is tried again: its moment stays in the past.
            if next_flush.is_some_and(|flush| flush <= now)
                && self.transaction(true, |_, _| Ok(())).is_ok()
            {
                next_flush = None;
            }
            if next_sweep <= now {
                let more = self.sweep(true).is_ok_and(|(_, more)| more);
                // More to do: after those who came meanwhile.
                next_sweep = if more { now } else { now + self.sweep_every };
            }
        }
    }

    /// All jobs in one transaction, and the answers when it is committed; true if it is on disk.
    fn group(&self, jobs: Vec<Job>) -> bool {
        let sync = |job: &Job| matches!(job.work, Work::Flush | Work::Sweep);
        let durable = self.durability == Durability::EveryCall || jobs.iter().any(sync);
        let mut swept = Ok(0);
        if jobs.iter().any(|job| matches!(job.work, Work::Sweep)) {
            swept = self.sweep_all();
        }
        let answers = self.transaction(durable, |lists, ends| {
            let mut held = Held::new(lists, ends, &self.policy, (self.clock)());
            let answers: Vec<_> = jobs.iter().map(|job| held.work(&job.work)).collect();
            Ok((answers, held.write()?))
        });
        // Committed or not: what became of a commit that failed only the file knows.
        jobs.iter().flat_map(|job| job.work.owners()).for_each(|owner| self.recent.forget(owner));
        match answers {
            Ok((answers, written)) => {
                for (owner, record) in &written {
                    self.recent.replace(owner, record);
                }
                for (job, answer) in jobs.into_iter().zip(answers) {
                    let answer = match (&job.work, &swept) {
                        (Work::Sweep, Ok(count)) => Ok(Reply { count: *count, ..Reply::default() }),
                        (Work::Sweep, Err(error)) => Err(error.clone()),
                        _ => answer,
                    };
                    _ = job.reply.send(answer); // whoever asked may be gone
                }
                durable
            }
            Err(error) => {
                jobs.into_iter().for_each(|job| _ = job.reply.send(Err(error.clone())));
                false
            }
        }
    }

    fn transaction<T>(
        &self,
        durable: bool,
        work: impl for<'t> FnOnce(&mut Lists<'t>, &mut Ends<'t>) -> Result<T, SeenError>,
    ) -> Result<T, SeenError> {
        let mut txn: WriteTransaction = self.db.begin_write().map_err(away)?;
        let durability = if durable { redb::Durability::Immediate } else { redb::Durability::None };
        txn.set_durability(durability).map_err(away)?;
        let result = {
            let mut lists = txn.open_table(LISTS).map_err(away)?;
            let mut ends = txn.open_table(ENDS).map_err(away)?;
            work(&mut lists, &mut ends)?
        };
        let committed = txn.commit().map_err(away);
        self.latest.renew(&self.db);
        committed.map(|()| result)
    }

    fn sweep_all(&self) -> Result<u64, SeenError> {
        let mut all = 0;
        loop {
            let (count, more) = self.sweep(false)?;
            all += count;
            if !more {
                return Ok(all);
            }
        }
    }

    /// Look at lists whose time may be over: how many were removed, and whether there are more.
    fn sweep(&self, durable: bool) -> Result<(u64, bool), SeenError> {
        let now = (self.clock)();
        if self.is_nothing_due(now)? {
            return Ok((0, false));
        }
        let mut due: Vec<(Seconds, Vec<u8>)> = vec![];
        let swept = self.transaction(durable, |lists, ends| {
            for entry in ends
                .range(..(now.saturating_add(1), [].as_slice()))
                .map_err(away)?
                .take(SWEPT_AT_ONCE)
            {
                let entry = entry.map_err(away)?.0;
                let (end, owner) = entry.value();
                due.push((end, owner.to_vec()));
            }
            let mut removed = 0;
            for (end, owner) in &due {
                ends.remove((*end, owner.as_slice())).map_err(away)?;
                match held::read(lists, owner, &self.policy, now) {
                    Ok(Some(list)) if list.is_empty() => {
                        lists.remove(owner.as_slice()).map_err(away)?;
                        removed += 1;
                    }
                    Ok(Some(list)) => {
                        if let Some(end) = list.expires(&self.policy) {
                            let later = end.max(now.saturating_add(1));
                            ends.insert((later, owner.as_slice()), ()).map_err(away)?;
                        }
                    }
                    // Forgotten meanwhile; or unreadable, which is for a reader to say.
                    Ok(None) | Err(SeenError::Record { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok((removed, due.len() == SWEPT_AT_ONCE))
        });
        due.iter().for_each(|(_, owner)| self.recent.forget(owner));
        swept
    }

    /// Asked of a snapshot first: most of the time there is nothing to write.
    fn is_nothing_due(&self, now: Seconds) -> Result<bool, SeenError> {
        use redb::ReadableDatabase;
        let ends = self.db.begin_read().map_err(away)?.open_table(ENDS).map_err(away)?;
        let first = ends.first().map_err(away)?;
        Ok(first.is_none_or(|(entry, _)| entry.value().0 > now))
    }
}
