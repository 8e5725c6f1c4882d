//! Lists in one durable file, on `redb`: many threads, one process.
//!
//! Reads go straight to the file and are never blocked by writes. All changes go through one
//! writer thread (`writer.rs`), which puts those that wait into one transaction: however many
//! threads mark at once, they share the cost of a sync.

mod held;
mod latest;
mod recent;
mod writer;

use crate::SeenError;
use crate::backend::{Backend, Change, Clock, Visit, system_clock};
use crate::list::{Deed, List};
use crate::policy::{Policy, Seconds};
use crate::record;
use crate::view::View;
use latest::Latest;
use mayhap::Hash;
use recent::{Found, Recent};
use redb::{Database, DatabaseError, ReadableTable, TableDefinition};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use writer::{Job, Reply, Work};

/// Owner → record.
const LISTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("lists");
/// When to look whether an owner's list is over. At least one entry for each list that ends.
const ENDS: TableDefinition<'_, (Seconds, &[u8]), ()> = TableDefinition::new("ends");
/// The policy, as text.
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
    policy: Option<Policy>,
    durability: Durability,
    sweep_every: Duration,
    cache_bytes: usize,
    clock: Clock,
}

impl Default for Options {
    /// Safe at every call, the file's own policy, a sweep a minute, 256 MiB of cache.
    fn default() -> Options {
        Options {
            policy: None,
            durability: Durability::EveryCall,
            sweep_every: Duration::from_secs(60),
            cache_bytes: 256 << 20,
            clock: system_clock(),
        }
    }
}

impl Options {
    /// Live by this policy from now on. Without it a file keeps the one it has.
    pub fn with_policy(self, policy: Policy) -> Options {
        Options { policy: Some(policy), ..self }
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

    /// Another clock than the system's.
    pub fn with_clock(self, clock: Clock) -> Options {
        Options { clock, ..self }
    }
}

/// Lists in one durable file.
///
/// One process at a time: a second one gets [`SeenError::InUse`].
pub struct Embedded {
    db: Arc<Database>,
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
        let path = path.as_ref();
        let recent = Arc::new(Recent::new(options.cache_bytes / 4));
        let pages = options.cache_bytes - options.cache_bytes / 4;
        let db = Database::builder().set_cache_size(pages).create(path);
        let db = db.map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => SeenError::InUse { path: path.to_owned() },
            error => SeenError::Refused { what: format!("{}: {error}", path.display()) },
        })?;
        let policy = settle(&db, options.policy)
            .map_err(|what| SeenError::Refused { what: format!("{}: {what}", path.display()) })?;
        let (db, latest) = (Arc::new(db), Arc::new(Latest::default()));
        latest.renew(&db);
        let (jobs, queue) = mpsc::channel();
        let mut writer = writer::Writer {
            db: db.clone(),
            latest: latest.clone(),
            recent: recent.clone(),
            policy,
            clock: options.clock.clone(),
            durability: options.durability,
            sweep_every: options.sweep_every,
        };
        let thread = std::thread::Builder::new().name("seen-writer".into());
        let writer = thread
            .spawn(move || writer.run(&queue))
            .map_err(|error| SeenError::Refused { what: format!("no thread to write: {error}") })?;
        let (clock, jobs, writer) = (options.clock, Some(jobs), Some(writer));
        Ok(Embedded { db, latest, recent, policy, clock, jobs, writer })
    }

    /// Remove what is over now, without waiting for the sweeper; how many lists went.
    pub fn sweep(&self) -> Result<u64, SeenError> {
        Ok(self.submit(Work::Sweep)?.count)
    }

    fn submit(&self, work: Work) -> Result<Reply, SeenError> {
        let gone = || SeenError::Away { what: "the writer of the file has ended".to_owned() };
        let (reply, answer) = mpsc::sync_channel(1);
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
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
        self.latest.close();
    }
}

impl Backend for Embedded {
    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn now(&self) -> Seconds {
        (self.clock)()
    }

    fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError> {
        let now = self.now();
        let mut views = Vec::with_capacity(owners.len());
        for owner in owners {
            let commits = match self.recent.get(owner) {
                Found::Record(record) => {
                    views.push(View::List(list(owner, record.bytes(), &self.policy, now)?));
                    continue;
                }
                Found::Nothing(commits) => commits,
            };
            let table = self.latest.lists(&self.db)?;
            views.push(match table.get(owner).map_err(away)? {
                Some(bytes) => {
                    let list = list(owner, bytes.value(), &self.policy, now)?;
                    self.recent.keep(owner, bytes.value(), commits);
                    View::List(list)
                }
                None => View::default(),
            });
        }
        Ok(views)
    }

    fn change(&self, changes: &[Change<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
        let own = |change: &Change<'_>| OwnedChange {
            owner: change.owner.to_vec(),
            deed: change.deed.clone(),
            hashes: change.hashes.to_vec(),
        };
        Ok(self.submit(Work::Change(changes.iter().map(own).collect()))?.known)
    }

    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        Ok(self.submit(Work::Forget(owner.to_vec()))?.count > 0)
    }

    fn merge(&self, lists: Vec<(&[u8], List)>) -> Result<(), SeenError> {
        let lists = lists.into_iter().map(|(owner, list)| (owner.to_vec(), list)).collect();
        self.submit(Work::Merge(lists)).map(drop)
    }

    fn each(&self, visit: &mut Visit<'_>) -> Result<(), SeenError> {
        let now = self.now();
        // A snapshot of its own: this may take a while.
        let table = latest::open(&self.db)?;
        for entry in table.iter().map_err(away)? {
            let (owner, bytes) = entry.map_err(away)?;
            let (owner, bytes) = (owner.value(), bytes.value());
            let list = list(owner, bytes, &self.policy, now)?;
            if !list.is_empty() {
                visit(owner, View::List(list), bytes.len() as u64)?;
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
    decoded.map(|(list, _)| list).map_err(|error| SeenError::record(owner, error))
}

fn away(error: impl std::fmt::Display) -> SeenError {
    SeenError::Away { what: error.to_string() }
}

/// Make the tables, and agree on a policy: the one asked for, or the file's own, or the default.
fn settle(db: &Database, asked: Option<Policy>) -> Result<Policy, Box<dyn std::error::Error>> {
    let txn = db.begin_write()?;
    let policy;
    {
        let mut about = txn.open_table(ABOUT)?;
        let lists = txn.open_table(LISTS)?;
        let mut ends = txn.open_table(ENDS)?;
        let stored = about.get("policy")?.map(|text| text.value().parse::<Policy>()).transpose()?;
        policy = asked.or(stored).unwrap_or_default();
        if stored != Some(policy) {
            about.insert("policy", policy.to_string().as_str())?;
            // Lists that lived for ever may end now; have all of them looked at once.
            for entry in lists.iter()? {
                ends.insert((0, entry?.0.value()), ())?;
            }
        }
    }
    txn.commit()?;
    Ok(policy)
}
