//! Lists in one durable file, on `redb`: many threads, one process.
//!
//! Reads go straight to the file and are never blocked by writes. All changes go through one
//! writer thread (`writer.rs`), which puts those that wait into one transaction: however many
//! threads mark at once, they share the cost of a sync.

mod damage;
mod file;
mod held;
mod latest;
mod recent;
mod records;
mod steady;
mod writer;

use crate::SeenError;
use crate::backend::{Backend, Change, Clock, Visit, system_clock};
use crate::call::{check_owner, decoded};
use crate::list::{Deed, List};
use crate::policy::{Policy, PolicyFields, Seconds};
use crate::record::{self, RecordError};
use crate::view::View;
use file::StoreFile;
use latest::{Latest, Snapshot};
use mayhap::Hash;
use recent::{Found, Recent};
use redb::{ReadableTable, TableDefinition};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use steady::{Sample, Steady};
use writer::{Job, Reply, Work};

/// Owner → record, or its beginning (`records.rs`).
const LISTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("lists");
/// Owner and number → a chunk of a large record.
const CHUNKS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("chunks");
/// When to look whether an owner's list is over. At least one entry for each list that ends.
const ENDS: TableDefinition<'_, (Seconds, &[u8]), ()> = TableDefinition::new("ends");
/// `policy`: the policy, as text. `clock`: a moment of the clock (`steady.rs`).
const ABOUT: TableDefinition<'_, &str, &str> = TableDefinition::new("about");

/// When a mark is safe from a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the call returns.
    EveryCall,
    /// At most so long after. A crash may lose that much, never more, and never a part of a call.
    Within(Duration),
}

/// How a file is opened.
#[derive(Clone)]
pub struct Options {
    policy: PolicyFields,
    durability: Durability,
    sweep_every: Duration,
    cache_bytes: usize,
    patience: Duration,
    read_only: bool,
    clock: Option<Clock>,
}

impl Default for Options {
    /// Safe at every call, the file's own policy, a sweep a minute, 256 MiB of cache, no waiting.
    fn default() -> Options {
        Options {
            policy: PolicyFields::default(),
            durability: Durability::EveryCall,
            sweep_every: Duration::from_secs(60),
            cache_bytes: 256 << 20,
            patience: Duration::ZERO,
            read_only: false,
            clock: None,
        }
    }
}

impl Options {
    /// Make a new file with this policy. A file that has another one is refused
    /// ([`SeenError::Policy`]): only [`Seen::set_policy`](crate::Seen::set_policy) changes it.
    pub fn with_policy(self, policy: Policy) -> Options {
        self.with_policy_fields(policy.into())
    }

    /// The same for some fields: the others are the file's own, or the defaults in a new file.
    pub fn with_policy_fields(self, policy: PolicyFields) -> Options {
        Options { policy, ..self }
    }

    /// When marks are safe.
    pub fn with_durability(self, durability: Durability) -> Options {
        Options { durability, ..self }
    }

    /// How often lists that are over are removed. They count as empty before that.
    pub fn with_sweep_every(self, sweep_every: Duration) -> Options {
        Options { sweep_every, ..self }
    }

    /// Memory for pages of the file and, a quarter of it, for records asked for or written lately.
    pub fn with_cache_bytes(self, cache_bytes: usize) -> Options {
        Options { cache_bytes, ..self }
    }

    /// Wait so long for another process that has the file open.
    pub fn with_patience(self, patience: Duration) -> Options {
        Options { patience, ..self }
    }

    /// Open it for reading only: nothing is made or written, and other readers may have it open
    /// at the same time. (A file whose last writer was killed is repaired first.)
    pub fn read_only(self) -> Options {
        Options { read_only: true, ..self }
    }

    /// Another clock than the system's, which is believed whatever it says.
    pub fn with_clock(self, clock: Clock) -> Options {
        Options { clock: Some(clock), ..self }
    }
}

/// Lists in one durable file.
///
/// One process at a time, or several that only read: another gets [`SeenError::InUse`].
pub struct Embedded {
    file: Arc<StoreFile>,
    latest: Arc<Latest>,
    recent: Arc<Recent>,
    policy: Policy,
    clock: Clock,
    jobs: Option<mpsc::Sender<Job>>,
    writer: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Open a file, or make it.
    pub fn open(path: impl AsRef<Path>) -> Result<Embedded, SeenError> {
        Embedded::open_with(path, Options::default())
    }

    /// The same with a say in how.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Embedded, SeenError> {
        let recent = Arc::new(Recent::new(options.cache_bytes / 4));
        let (file, policy) = open_patiently(path.as_ref(), &options)?;
        let (file, latest) = (Arc::new(file), Arc::new(Latest::default()));
        let sample = file.told(|| {
            let db = file.db()?;
            latest.renew(&db);
            Ok(stored_sample(&db))
        })?;
        let steady = match &options.clock {
            Some(_) => None,
            None => Some(Arc::new(Steady::new(system_clock(), sample))),
        };
        let clock: Clock = match (&steady, options.clock) {
            (_, Some(clock)) => clock,
            (Some(steady), None) => {
                let steady = steady.clone();
                Arc::new(move || steady.now())
            }
            (None, None) => system_clock(),
        };
        if options.read_only {
            return Ok(Embedded { file, latest, recent, policy, clock, jobs: None, writer: None });
        }
        let (jobs, queue) = mpsc::channel();
        let mut writer = writer::Writer {
            file: file.clone(),
            latest: latest.clone(),
            recent: recent.clone(),
            policy,
            clock: clock.clone(),
            steady,
            durability: options.durability,
            sweep_every: options.sweep_every,
            unflushed: vec![],
            trouble: None,
        };
        let thread = std::thread::Builder::new().name("seen-writer".into());
        let writer = thread
            .spawn(move || writer.run(&queue))
            .map_err(|error| SeenError::Refused { what: format!("no thread to write: {error}") })?;
        let (jobs, writer) = (Some(jobs), Some(writer));
        Ok(Embedded { file, latest, recent, policy, clock, jobs, writer })
    }

    /// Remove what is over now, without waiting for the sweeper; how many lists went.
    pub fn sweep(&self) -> Result<u64, SeenError> {
        Ok(self.submit(Work::Sweep)?.count)
    }

    fn check_owners<'a>(
        &self,
        owners: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), SeenError> {
        owners.into_iter().try_for_each(|owner| check_owner(&self.policy, owner))
    }

    fn submit(&self, work: Work) -> Result<Reply, SeenError> {
        let gone = || SeenError::Away { what: "the writer of the file has ended".to_owned() };
        let read_only =
            || SeenError::Refused { what: "the store is open for reading only".to_owned() };
        let (reply, answer) = mpsc::sync_channel(1);
        let jobs = self.jobs.as_ref().ok_or_else(read_only)?;
        jobs.send(Job { work, reply }).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // The writer ends, all done, when nobody can send to it any more.
        drop(self.jobs.take());
        if let Some(writer) = self.writer.take() {
            _ = writer.join();
        }
        _ = self.file.told(|| {
            self.latest.close();
            Ok(())
        });
    }
}

impl Backend for Embedded {
    fn policy(&self) -> Result<Policy, SeenError> {
        Ok(self.policy)
    }

    fn set_policy(&mut self, fields: &PolicyFields) -> Result<Policy, SeenError> {
        let reply = self.submit(Work::Policy(*fields))?;
        self.policy = reply.policy.unwrap_or(self.policy);
        Ok(self.policy)
    }

    fn now(&self) -> Seconds {
        (self.clock)()
    }

    fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError> {
        let now = self.now();
        self.check_owners(owners.iter().copied())?;
        self.file.check_gone()?;
        let mut views = Vec::with_capacity(owners.len());
        for owner in owners {
            let commits = match self.recent.get(owner) {
                Found::Record(record) => {
                    views.push(View::List(list(owner, record.bytes(), &self.policy, now)?));
                    continue;
                }
                Found::Nothing(commits) => commits,
            };
            views.push(self.file.told(|| {
                let snapshot = match self.latest.snapshot() {
                    Some(snapshot) => snapshot,
                    None => Arc::new(Snapshot::open(&*self.file.db()?)?),
                };
                let Some(record) = snapshot.read(owner)? else { return Ok(View::default()) };
                let list = list(owner, record.bytes(), &self.policy, now)?;
                self.recent.keep(owner, record.bytes(), commits);
                Ok(View::List(list))
            })?);
        }
        Ok(views)
    }

    fn change(&self, changes: &[Change<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
        self.check_owners(changes.iter().map(|change| change.owner))?;
        let own = |change: &Change<'_>| OwnedChange {
            owner: change.owner.to_vec(),
            deed: change.deed.clone(),
            hashes: change.hashes.to_vec(),
        };
        Ok(self.submit(Work::Change(changes.iter().map(own).collect()))?.known)
    }

    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        self.check_owners([owner])?;
        Ok(self.submit(Work::Forget(owner.to_vec()))?.count > 0)
    }

    fn merge(&self, exported: &[(&[u8], &[u8])]) -> Result<(), SeenError> {
        let lists = decoded(&self.policy, exported, self.now())?;
        if lists.is_empty() {
            return Ok(());
        }
        let lists = lists.into_iter().map(|(owner, list)| (owner.to_vec(), list)).collect();
        self.submit(Work::Merge(lists)).map(drop)
    }

    fn each(&self, visit: &mut Visit<'_>) -> Result<(), SeenError> {
        let now = self.now();
        // A snapshot of its own: this may take a while.
        let snapshot = self.file.told(|| Snapshot::open(&*self.file.db()?))?;
        let mut entries = self.file.told(|| snapshot.lists.iter().map_err(away))?;
        // The visitor's own panics are its own affair.
        while let Some(entry) = self.file.told(|| Ok(entries.next()))? {
            let (owner, first) = entry.map_err(away)?;
            let owner = owner.value();
            let record = self.file.told(|| records::join(first, snapshot.chunks.as_ref(), owner));
            let (list, bytes) = match record {
                Ok(record) => {
                    let bytes = record.bytes();
                    (list(owner, bytes, &self.policy, now), bytes.len() as u64)
                }
                Err(error @ SeenError::Record { .. }) => (Err(error), 0),
                Err(error) => return Err(error),
            };
            match list {
                Ok(list) if list.is_empty() => {}
                list => visit(owner, list.map(View::List), bytes)?,
            }
        }
        Ok(())
    }

    fn flush(&self) -> Result<(), SeenError> {
        self.submit(Work::Flush).map(drop)
    }
}

/// A change that can be sent to the writer.
struct OwnedChange {
    owner: Vec<u8>,
    deed: Deed,
    hashes: Vec<Hash>,
}

fn list(owner: &[u8], bytes: &[u8], policy: &Policy, now: Seconds) -> Result<List, SeenError> {
    let decoded = record::decode(bytes, policy, now);
    decoded.map(|(list, _)| list).map_err(|error| {
        let error = match error {
            // Nobody else writes here.
            RecordError::NotOurs { .. } => RecordError::Damaged { what: "beginning" },
            error => error,
        };
        SeenError::record(owner, error)
    })
}

fn away(error: impl std::fmt::Display) -> SeenError {
    SeenError::Away { what: error.to_string() }
}

/// Another process that has the file open is waited for, as long as there is patience.
fn open_patiently(path: &Path, options: &Options) -> Result<(StoreFile, Policy), SeenError> {
    let pages = options.cache_bytes - options.cache_bytes / 4;
    let opened = Instant::now();
    loop {
        match StoreFile::open(path, pages, options.read_only, &options.policy) {
            Err(SeenError::InUse { .. }) if opened.elapsed() < options.patience => {
                // At random, so that those who wait do not all come at once.
                let dice = RandomState::new().hash_one(());
                std::thread::sleep(Duration::from_millis(1 + dice % 8));
            }
            opened => return opened,
        }
    }
}

fn stored_sample(db: &file::Db) -> Option<Sample> {
    let about = db.begin_read().ok()?.open_table(ABOUT).ok()?;
    about.get("clock").ok()??.value().parse().ok()
}
