//! Lists on a stock Redis or Valkey, single or cluster; no module needed.
//!
//! Which bytes are asked for and what the answers mean is decided in `plan.rs` and the layouts
//! (`compact.rs`, `lists.rs`), which know no socket; here, and in `tasks.rs` for async programs,
//! they are sent.

mod changing;
mod compact;
mod folds;
mod lists;
mod marking;
mod plan;
#[cfg(feature = "async")]
mod tasks;

use crate::SeenError;
use crate::backend::{Backend, Change, Clock, Visit, system_clock};
use crate::list::List;
use crate::policy::{Policy, Seconds};
use crate::view::View;
use changing::Changing;
use folds::Folds;
use mayhap_redis::{Address, LinkError, Pool};
use plan::Plan;
#[cfg(feature = "async")]
pub use tasks::AsyncSeen;

/// How lists lie on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One string an owner, our own record: the smallest, and one round trip for everything.
    #[default]
    Compact,
    /// A list of `count::base64` filters an owner, newest first, as programs with the Go package
    /// `kevburnsjr/bloomfilter` keep it: they read ours, we read theirs.
    List,
}

/// Where lists are, and how they are kept there.
///
/// ```
/// use mayhap_seen::redis::{Layout, Options};
/// let options = Options::parse("redis://127.0.0.1:6379/0?layout=list&prefix=seen:")?;
/// assert_eq!((options.layout(), options.prefix()), (Layout::List, &b"seen:"[..]));
/// assert!(Options::parse("redis://127.0.0.1?layuot=list").is_err());
/// # Ok::<(), mayhap_seen::SeenError>(())
/// ```
#[derive(Clone)]
pub struct Options {
    address: Address,
    layout: Layout,
    prefix: Vec<u8>,
    policy: Policy,
    clock: Clock,
}

impl Options {
    /// Read a URL: `redis://host:port/db?layout=compact|list&prefix=…`, with `redis+cluster://` for
    /// a cluster and `timeout=SECONDS`.
    pub fn parse(url: &str) -> Result<Options, SeenError> {
        let (address, others) = Address::parse(url).map_err(error)?;
        let (mut layout, mut prefix) = (Layout::Compact, vec![]);
        for (name, value) in others {
            match (name.as_str(), value.as_str()) {
                ("layout", "compact") => layout = Layout::Compact,
                ("layout", "list") => layout = Layout::List,
                ("prefix", _) => prefix = value.into_bytes(),
                _ => {
                    let allowed = "layout=compact, layout=list, prefix=…, timeout=…, cluster=true";
                    let what = format!("{name}={value}: allowed is {allowed}");
                    return Err(SeenError::Refused { what });
                }
            }
        }
        let (policy, clock) = (Policy::default(), system_clock());
        Ok(Options { address, layout, prefix, policy, clock })
    }

    /// Live by this policy. All programs that share lists should use the same.
    pub fn with_policy(self, policy: Policy) -> Options {
        Options { policy, ..self }
    }

    /// Another clock than the system's. Clocks of programs that share lists should agree.
    pub fn with_clock(self, clock: Clock) -> Options {
        Options { clock, ..self }
    }

    /// How lists lie on the server.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// What an owner's key begins with.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    fn plan(&self) -> Plan {
        let (layout, prefix) = (self.layout, self.prefix.clone());
        Plan { policy: self.policy, layout, prefix, is_cluster: self.address.is_cluster() }
    }
}

/// Lists on a server, for threads. Connections are made as they are needed.
pub struct Redis {
    pool: Pool,
    plan: Plan,
    clock: Clock,
    folds: Folds,
}

impl Redis {
    /// Lists at this URL, by the default policy. Nothing is connected before the first question.
    pub fn open(url: &str) -> Result<Redis, SeenError> {
        Redis::open_with(Options::parse(url)?)
    }

    /// The same with a say in how.
    pub fn open_with(options: Options) -> Result<Redis, SeenError> {
        let plan = options.plan();
        let (pool, clock) = (Pool::new(options.address).map_err(error)?, options.clock);
        Ok(Redis { pool, plan, clock, folds: Folds::default() })
    }
}

impl Backend for Redis {
    fn policy(&self) -> &Policy {
        &self.plan.policy
    }

    fn now(&self) -> Seconds {
        (self.clock)()
    }

    fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError> {
        let replies = self.pool.ask_again(&self.plan.reading(owners)).map_err(error)?;
        self.plan.views(owners, replies, self.now())
    }

    fn change(&self, changes: &[Change<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
        let mut changing = Changing::new(&self.plan, changes, self.now());
        let mut riders = self.folds.take();
        loop {
            let mut wanted = changing.requests()?;
            if wanted.is_empty() {
                break;
            }
            let mut requests = std::mem::take(&mut riders);
            let ridden = requests.len();
            requests.append(&mut wanted);
            let replies = match changing.may_repeat() {
                true => self.pool.ask_again(&requests),
                false => self.pool.ask(&requests),
            };
            changing.replies(replies.map_err(error)?.split_off(ridden))?;
            changing.pause().into_iter().for_each(std::thread::sleep);
        }
        let (known, folds) = changing.end();
        // All is done but the tidying, which may fail.
        _ = self.pool.ask(&self.folds.leave(&self.plan, folds));
        Ok(known)
    }

    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        let replies = self.pool.ask(&[self.plan.forgetting(owner)]).map_err(error)?;
        self.plan.forgotten(&replies)
    }

    fn merge(&self, mut lists: Vec<(&[u8], List)>) -> Result<(), SeenError> {
        for failures in 0..plan::TRIES {
            if failures > 0 {
                std::thread::sleep(plan::pause(failures));
            }
            let owners: Vec<&[u8]> = lists.iter().map(|(owner, _)| *owner).collect();
            let replies = self.pool.ask_again(&self.plan.reading(&owners)).map_err(error)?;
            let requests = self.plan.merging(&lists, replies, self.now())?;
            let replies = self.pool.ask(&requests).map_err(error)?;
            let merged = self.plan.merged(&replies)?;
            let mut merged = merged.into_iter();
            lists.retain(|_| !merged.next().unwrap_or(false));
            if lists.is_empty() {
                return Ok(());
            }
        }
        Err(SeenError::Contended { owner: lists[0].0.to_vec(), tries: plan::TRIES })
    }

    fn each(&self, visit: &mut Visit<'_>) -> Result<(), SeenError> {
        let mut failed = None;
        let glob = self.plan.glob();
        let scanned = self.pool.scan(&glob, &mut |keys| {
            if failed.is_none() {
                failed = self.visit(&keys, visit).err();
            }
        });
        scanned.map_err(error)?;
        failed.map_or(Ok(()), Err)
    }
}

impl Redis {
    fn visit(&self, keys: &[Vec<u8>], visit: &mut Visit<'_>) -> Result<(), SeenError> {
        let now = self.now();
        let owners: Vec<&[u8]> = keys.iter().filter_map(|key| self.plan.owner(key)).collect();
        if owners.is_empty() {
            return Ok(());
        }
        let replies = self.pool.ask_again(&self.plan.reading(&owners)).map_err(error)?;
        for (owner, view, bytes) in self.plan.found(&owners, replies, now)? {
            visit(owner, view, bytes)?;
        }
        Ok(())
    }
}

fn error(error: LinkError) -> SeenError {
    match error {
        LinkError::Away { .. } => SeenError::Away { what: error.to_string() },
        error => SeenError::Refused { what: error.to_string() },
    }
}
