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
pub use mayhap_redis::Wait;
use mayhap_redis::{Address, LinkError, RequestOptions, Router};
use plan::Plan;
use std::time::Duration;
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
    wait: Option<Wait>,
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
                    // Not what it was set to: that may be a password.
                    let allowed = "layout=compact, layout=list, prefix=…, timeout=…, cluster=true, and for TLS cacert=…, cert=…, key=…";
                    let what = format!("{name}=…: allowed is {allowed}");
                    return Err(SeenError::Refused { what });
                }
            }
        }
        let (policy, clock) = (Policy::default(), system_clock());
        Ok(Options { address, layout, prefix, policy, clock, wait: None })
    }

    /// Live by this policy. All programs that share lists should use the same.
    pub fn with_policy(self, policy: Policy) -> Options {
        Options { policy, ..self }
    }

    /// Another clock than the system's. Clocks of programs that share lists should agree.
    pub fn with_clock(self, clock: Clock) -> Options {
        Options { clock, ..self }
    }

    /// Have so many replicas acknowledge every change, for lists that must outlive a failover. If
    /// they do not in time it is [`SeenError::Unacknowledged`], with the answer all the same.
    pub fn with_wait(self, wait: Wait) -> Options {
        Options { wait: (wait.replicas > 0).then_some(wait), ..self }
    }

    /// So long may a call take in all, instead of what the URL says or five seconds.
    pub fn with_timeout(self, timeout: Duration) -> Options {
        Options { address: self.address.with_timeout(timeout), ..self }
    }

    /// Where the server or cluster is, without any password.
    pub fn address(&self) -> &Address {
        &self.address
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
///
/// A call takes as long as the address says (`timeout=`), or five seconds, and no longer: tries,
/// pauses and all nodes of a cluster together. What only reads is asked again once where a
/// connection was lost. A change is not: it tells what was there before, and the second time it
/// would tell of what the first has done; ids would be lost that nobody was ever given.
pub struct Redis {
    router: Router,
    plan: Plan,
    clock: Clock,
    folds: Folds,
    wait: Option<Wait>,
}

impl Redis {
    /// Lists at this URL, by the default policy. Nothing is connected before the first question.
    pub fn open(url: &str) -> Result<Redis, SeenError> {
        Redis::open_with(Options::parse(url)?)
    }

    /// The same with a say in how.
    pub fn open_with(options: Options) -> Result<Redis, SeenError> {
        let plan = options.plan();
        let router = Router::new(options.address, Duration::ZERO);
        let (clock, wait) = (options.clock, options.wait);
        Ok(Redis { router, plan, clock, folds: Folds::default(), wait })
    }

    /// How questions are asked from now on.
    fn reading(&self) -> RequestOptions {
        self.router.how().starting_now()
    }

    /// How changes are made from now on.
    fn writing(&self) -> RequestOptions {
        self.router.how().repeatable(false).with_wait(self.wait).starting_now()
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
        let replies = self.router.ask(&self.plan.reading(owners), self.reading()).map_err(error)?;
        self.plan.views(owners, replies, self.now())
    }

    fn change(&self, changes: &[Change<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
        let mut changing = Changing::new(&self.plan, changes, self.now());
        let (mut riders, how) = (self.folds.take(), self.writing());
        let mut unacknowledged = None;
        loop {
            let mut wanted = changing.requests()?;
            if wanted.is_empty() {
                break;
            }
            let mut requests = std::mem::take(&mut riders);
            let ridden = requests.len();
            requests.append(&mut wanted);
            let mut answer = self.router.call(&requests, how).map_err(error)?;
            changing.replies(answer.replies.split_off(ridden))?;
            unacknowledged = answer.unacknowledged;
            changing.pause().into_iter().for_each(std::thread::sleep);
        }
        let (known, folds) = changing.end();
        // All is done but the tidying, which may fail.
        _ = self.router.ask(&self.folds.leave(&self.plan, folds), how.with_wait(None));
        acknowledged(known, unacknowledged)
    }

    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        let forgetting = [self.plan.forgetting(owner)];
        let answer = self.router.call(&forgetting, self.writing()).map_err(error)?;
        let forgotten = self.plan.forgotten(&answer.replies)?;
        acknowledged(vec![vec![forgotten]], answer.unacknowledged)?;
        Ok(forgotten)
    }

    fn merge(&self, mut lists: Vec<(&[u8], List)>) -> Result<(), SeenError> {
        let (reading, writing) = (self.reading(), self.writing());
        let mut unacknowledged = None;
        for failures in 0..plan::TRIES {
            if failures > 0 {
                std::thread::sleep(plan::pause(failures));
            }
            let owners: Vec<&[u8]> = lists.iter().map(|(owner, _)| *owner).collect();
            let replies = self.router.ask(&self.plan.reading(&owners), reading).map_err(error)?;
            let requests = self.plan.merging(&lists, replies, self.now())?;
            let answer = self.router.call(&requests, writing).map_err(error)?;
            unacknowledged = unacknowledged.or(answer.unacknowledged);
            let merged = self.plan.merged(&answer.replies)?;
            let mut merged = merged.into_iter();
            lists.retain(|_| !merged.next().unwrap_or(false));
            if lists.is_empty() {
                return acknowledged(vec![], unacknowledged).map(drop);
            }
        }
        Err(SeenError::Contended { owner: lists[0].0.to_vec(), tries: plan::TRIES })
    }

    fn each(&self, visit: &mut Visit<'_>) -> Result<(), SeenError> {
        let mut failed = None;
        let glob = self.plan.glob();
        let scanned = self.router.scan(&glob, &mut |keys| {
            failed = self.visit(&keys, visit).err();
            failed.is_none()
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
        let replies =
            self.router.ask(&self.plan.reading(&owners), self.reading()).map_err(error)?;
        for (owner, view, bytes) in self.plan.found(&owners, replies, now)? {
            visit(owner, view, bytes)?;
        }
        Ok(())
    }
}

fn error(error: LinkError) -> SeenError {
    match error {
        error if error.is_of_the_moment() => SeenError::Away { what: error.to_string() },
        error => SeenError::Refused { what: error.to_string() },
    }
}

/// The answer; in an error where fewer replicas have what it tells of than must.
fn acknowledged(
    known: Vec<Vec<bool>>,
    unacknowledged: Option<LinkError>,
) -> Result<Vec<Vec<bool>>, SeenError> {
    match unacknowledged {
        None => Ok(known),
        Some(error) => Err(SeenError::Unacknowledged { what: error.to_string(), known }),
    }
}
