//! Lists in one durable file, on `redb`: many threads, one process.
//!
//! Reads go straight to the file and are never blocked by writes. All changes go through one writer
//! thread (`writer.rs`), which puts all that wait into one transaction (group commit): however many
//! threads mark at once, they share the cost of a sync.

mod damage;
mod file;
mod read_snapshot;
mod record_cache;
mod records;
mod steady_clock;
mod txn_lists;
mod writer;

use crate::SeenError;
use crate::backend::{Backend, Clock, OwnerOperation, Visit, system_clock};
use crate::list::{List, Operation};
use crate::operation::{check_owner, decoded};
use crate::policy::{Policy, PolicyFields, Seconds};
use crate::record::{self, RecordError};
use crate::view::View;
use file::StoreFile;
use mayhap::Hash;
use read_snapshot::{ReadSnapshot, Snapshot};
use record_cache::{Cached, RecordCache};
use redb::{ReadableTable, TableDefinition};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use steady_clock::{Sample, SteadyClock};
use writer::{Job, Reply, Work};

/// Owner → record, or its beginning (`records.rs`).
const LISTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("lists");
/// Owner and number → a chunk of a large record.
const CHUNKS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("chunks");
/// When to check whether an owner's list has expired. At least one entry per list that expires.
const ENDS: TableDefinition<'_, (Seconds, &[u8]), ()> = TableDefinition::new("ends");
/// `policy`: the policy, as text. `clock`: a sample of the clock (`steady_clock.rs`).
const ABOUT: TableDefinition<'_, &str, &str> = TableDefinition::new("about");

/// When a mark is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Before the call returns.
    EveryCall,
    /// At most this long after. A crash may lose that much, never more, and never part of a call.
    Within(Duration),
}

/// Options for opening a file.
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
    /// Durable at every call, the file's own policy, a sweep per minute, 256 MiB of cache, no
    /// waiting.
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
    /// Create a new file with this policy. A file that has another one is rejected
    /// ([`SeenError::Policy`]): only [`Seen::set_policy`](crate::Seen::set_policy) changes it.
    pub fn with_policy(self, policy: Policy) -> Options {
        self.with_policy_fields(policy.into())
    }

    /// The same for some fields: the others are the file's own, or the defaults in a new file.
    pub fn with_policy_fields(self, policy: PolicyFields) -> Options {
        Options { policy, ..self }
    }

    /// When marks are durable.
    pub fn with_durability(self, durability: Durability) -> Options {
        Options { durability, ..self }
    }

    /// How often expired lists are removed. They count as empty before that.
    pub fn with_sweep_every(self, sweep_every: Duration) -> Options {
        Options { sweep_every, ..self }
    }

    /// Memory for pages of the file and, a quarter of it, for recently used records.
    pub fn with_cache_bytes(self, cache_bytes: usize) -> Options {
        Options { cache_bytes, ..self }
    }

    /// How long to wait for another process that has the file open.
    pub fn with_patience(self, patience: Duration) -> Options {
        Options { patience, ..self }
    }

    /// Open it read-only: nothing is created or written, and other readers may have it open at the
    /// same time. (A file whose last writer was killed is repaired first.)
    pub fn read_only(self) -> Options {
        Options { read_only: true, ..self }
    }

    /// A clock other than the system's, which is trusted whatever it returns.
    pub fn with_clock(self, clock: Clock) -> Options {
        Options { clock: Some(clock), ..self }
    }
}

/// Lists in one durable file.
///
/// For one process at a time, or several readers: another gets [`SeenError::InUse`].
pub struct Embedded {
    file: Arc<StoreFile>,
    read_snapshot: Arc<ReadSnapshot>,
    cache: Arc<RecordCache>,
    policy: Policy,
    clock: Clock,
    jobs: Option<mpsc::Sender<Job>>,
    writer: Option<JoinHandle<()>>,
}

impl Embedded {
    /// Open a file, or create it.
    pub fn open(path: impl AsRef<Path>) -> Result<Embedded, SeenError> {
        Embedded::open_with(path, Options::default())
    }

    /// The same with options.
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Embedded, SeenError> {
        let cache = Arc::new(RecordCache::new(options.cache_bytes / 4));
        let (file, policy) = open_patiently(path.as_ref(), &options)?;
        let (file, read_snapshot) = (Arc::new(file), Arc::new(ReadSnapshot::default()));
        let sample = file.catch_damage(|| {
            let db = file.db()?;
            read_snapshot.renew(&db);
            Ok(stored_sample(&db))
        })?;
        let steady_clock = match &options.clock {
            Some(_) => None,
            None => Some(Arc::new(SteadyClock::new(system_clock(), sample))),
        };
        let clock: Clock = match (&steady_clock, options.clock) {
            (_, Some(clock)) => clock,
            (Some(steady_clock), None) => {
                let steady_clock = steady_clock.clone();
                Arc::new(move || steady_clock.now())
            }
            (None, None) => system_clock(),
        };
        if options.read_only {
            return Ok(Embedded {
                file,
                read_snapshot,
                cache,
                policy,
                clock,
                jobs: None,
                writer: None,
            });
        }
        let (jobs, queue) = mpsc::channel();
        let mut writer = writer::Writer {
            file: file.clone(),
            read_snapshot: read_snapshot.clone(),
            cache: cache.clone(),
            policy,
            clock: clock.clone(),
            steady_clock,
            durability: options.durability,
            sweep_every: options.sweep_every,
            unflushed: vec![],
            failure: None,
        };
        let thread = std::thread::Builder::new().name("seen-writer".into());
        let writer = thread
            .spawn(move || writer.run(&queue))
            .map_err(|error| SeenError::Refused { what: format!("no thread to write: {error}") })?;
        let (jobs, writer) = (Some(jobs), Some(writer));
        Ok(Embedded { file, read_snapshot, cache, policy, clock, jobs, writer })
    }

    /// Remove expired lists now, without waiting for the sweeper; returns how many.
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
        let gone =
            || SeenError::Unreachable { what: "the writer of the file has ended".to_owned() };
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
        // The writer finishes its queue and ends when all senders are gone.
        drop(self.jobs.take());
        if let Some(writer) = self.writer.take() {
            _ = writer.join();
        }
        _ = self.file.catch_damage(|| {
            self.read_snapshot.close();
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
            let commits = match self.cache.get(owner) {
                Cached::Record(record) => {
                    views.push(View::List(list(owner, record.bytes(), &self.policy, now)?));
                    continue;
                }
                Cached::Nothing(commits) => commits,
            };
            views.push(self.file.catch_damage(|| {
                let snapshot = match self.read_snapshot.snapshot() {
                    Some(snapshot) => snapshot,
                    None => Arc::new(Snapshot::open(&*self.file.db()?)?),
                };
                let Some(record) = snapshot.read(owner)? else { return Ok(View::default()) };
                let list = list(owner, record.bytes(), &self.policy, now)?;
                self.cache.keep(owner, record.bytes(), commits);
                Ok(View::List(list))
            })?);
        }
        Ok(views)
    }

    fn change(&self, changes: &[OwnerOperation<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
        self.check_owners(changes.iter().map(|change| change.owner))?;
        let own = |change: &OwnerOperation<'_>| OwnedOperation {
            owner: change.owner.to_vec(),
            operation: change.operation.clone(),
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
        let snapshot = self.file.catch_damage(|| Snapshot::open(&*self.file.db()?))?;
        let mut entries = self.file.catch_damage(|| snapshot.lists.iter().map_err(away))?;
        // Panics of the visitor are not ours to catch.
        while let Some(entry) = self.file.catch_damage(|| Ok(entries.next()))? {
            let (owner, first) = entry.map_err(away)?;
            let owner = owner.value();
            let record =
                self.file.catch_damage(|| records::join(first, snapshot.chunks.as_ref(), owner));
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

/// An operation that can be sent to the writer.
struct OwnedOperation {
    owner: Vec<u8>,
    operation: Operation,
    hashes: Vec<Hash>,
}

fn list(owner: &[u8], bytes: &[u8], policy: &Policy, now: Seconds) -> Result<List, SeenError> {
    let decoded = record::decode(bytes, policy, now);
    decoded.map(|(list, _)| list).map_err(|error| {
        let error = match error {
            // There is no other writer.
            RecordError::NotOurs { .. } => RecordError::Damaged { what: "beginning" },
            error => error,
        };
        SeenError::record(owner, error)
    })
}

fn away(error: impl std::fmt::Display) -> SeenError {
    SeenError::Unreachable { what: error.to_string() }
}

/// Wait for another process that has the file open, until `patience` is over.
fn open_patiently(path: &Path, options: &Options) -> Result<(StoreFile, Policy), SeenError> {
    let pages = options.cache_bytes - options.cache_bytes / 4;
    let opened = Instant::now();
    loop {
        match StoreFile::open(path, pages, options.read_only, &options.policy) {
            Err(SeenError::InUse { .. }) if opened.elapsed() < options.patience => {
                // Random, so that waiting processes do not all retry at once.
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
