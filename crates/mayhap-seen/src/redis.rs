//! Lists on a stock Redis or Valkey, single or cluster; no module needed.
//!
//! Which bytes are asked for and what the answers mean is decided in `plan.rs` and the layouts
//! (`compact.rs`, `lists.rs`), which know no socket; here, and in `tasks.rs` for async programs,
//! they are sent.

mod changing;
mod compact;
mod folds;
mod learned;
mod lists;
mod marking;
mod plan;
#[cfg(feature = "async")]
mod tasks;

use crate::SeenError;
use crate::backend::{Backend, Change, Clock, Visit};
use crate::call::decoded;
use crate::policy::{Policy, PolicyFields, Seconds};
use crate::view::View;
use changing::Changing;
use folds::Folds;
use learned::{FRESH, Learned};
pub use mayhap_redis::Wait;
use mayhap_redis::{Address, LinkError, RequestOptions, Router};
use plan::Plan;
use std::sync::Arc;
use std::time::Duration;
#[cfg(feature = "async")]
pub use tasks::AsyncSeen;

/// How long a call takes at most where the address does not say.
const CALL_WITHIN: Duration = Duration::from_secs(5);

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
    policy: PolicyFields,
    clock: Option<Clock>,
    wait: Option<Wait>,
    fresh: Duration,
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
        let policy = PolicyFields::default();
        Ok(Options { address, layout, prefix, policy, clock: None, wait: None, fresh: FRESH })
    }

    /// Live by this policy. The first who writes stores it beside the lists; where another is
    /// stored, calls are refused ([`SeenError::Policy`]). Without it the stored one counts.
    pub fn with_policy(self, policy: Policy) -> Options {
        self.with_policy_fields(policy.into())
    }

    /// The same for some fields: the others are the stored ones, or the defaults.
    pub fn with_policy_fields(self, policy: PolicyFields) -> Options {
        Options { policy, ..self }
    }

    /// Another clock than the server's. Clocks of programs that share lists should agree.
    pub fn with_clock(self, clock: Clock) -> Options {
        Options { clock: Some(clock), ..self }
    }

    /// Have so many replicas acknowledge every change, for lists that must outlive a failover. If
    /// they do not in time it is [`SeenError::Unacknowledged`], with the answer all the same.
    pub fn with_wait(self, wait: Wait) -> Options {
        Options { wait: (wait.replicas > 0).then_some(wait), ..self }
    }

    /// So long a policy that was learned is believed, instead of a minute; then a call asks for it
    /// anew. Where the server does not answer that, the one that is known counts on.
    pub fn with_policy_fresh_for(self, fresh: Duration) -> Options {
        Options { fresh, ..self }
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

    fn learned(&self) -> Learned {
        let (layout, prefix) = (self.layout, self.prefix.clone());
        let is_cluster = self.address.is_cluster();
        let plan = Plan { policy: Policy::default(), layout, prefix, is_cluster };
        Learned::new(plan, self.policy, self.clock.clone(), self.fresh)
    }

    /// How to ask for what can be done without: within a part of a call's time.
    fn hasty(&self) -> RequestOptions {
        let whole = self.address.timeout().unwrap_or(CALL_WITHIN);
        let address = self.address.clone().with_timeout(whole / 4);
        Router::new(address, Duration::ZERO).how()
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
    learned: Learned,
    folds: Folds,
    wait: Option<Wait>,
    hasty: RequestOptions,
}

impl Redis {
    /// Lists at this URL, by the policy stored there. Nothing is connected before the first question.
    pub fn open(url: &str) -> Result<Redis, SeenError> {
        Redis::open_with(Options::parse(url)?)
    }

    /// The same with a say in how.
    pub fn open_with(options: Options) -> Result<Redis, SeenError> {
        let (learned, wait, hasty) = (options.learned(), options.wait, options.hasty());
        let router = Router::new(options.address, Duration::ZERO);
        Ok(Redis { router, learned, folds: Folds::default(), wait, hasty })
    }

    /// How questions are asked from now on.
    fn reading(&self) -> RequestOptions {
        self.router.how().starting_now()
    }

    /// How changes are made from now on.
    fn writing(&self) -> RequestOptions {
        self.router.how().repeatable(false).with_wait(self.wait).starting_now()
    }

    /// How lists are kept, by the stored policy. Asking for it twice does no harm, also for who
    /// writes, and it is part of the call: `how` has its deadline.
    fn plan(&self, writes: bool, how: RequestOptions) -> Result<Arc<Plan>, SeenError> {
        if let Some(plan) = self.learned.plan(writes) {
            return Ok(plan);
        }
        let old = self.learned.old_plan(writes);
        let how = match old {
            // Whoever can go on without an answer does not wait for it long.
            Some(_) => self.hasty.starting_now(),
            None => how.repeatable(true).with_wait(None),
        };
        match (self.learn(writes, how), old) {
            (Err(SeenError::Away { .. }), Some(old)) => {
                self.learned.put_off();
                Ok(old)
            }
            (learned, _) => learned,
        }
    }

    fn learn(&self, writes: bool, how: RequestOptions) -> Result<Arc<Plan>, SeenError> {
        let asked = self.router.ask(&[self.learned.question(writes)?], how).map_err(error);
        let reply = match asked.map(|replies| replies.into_iter().next()) {
            Ok(Some(Err(_))) | Err(SeenError::Refused { .. }) if !writes => {
                let plain = self.learned.plain_question();
                let asked = self.router.ask(&[plain], how).map_err(error);
                asked.map_err(|error| self.learned.explained(error))?.into_iter().next()
            }
            reply => reply.map_err(|error| self.learned.explained(error))?,
        };
        self.learned.answer(reply)
    }
}

impl Backend for Redis {
    fn policy(&self) -> Result<Policy, SeenError> {
        Ok(self.plan(false, self.reading())?.policy)
    }

    fn set_policy(&mut self, fields: &PolicyFields) -> Result<Policy, SeenError> {
        let (reading, writing) = (self.reading(), self.writing());
        for failures in 0..plan::TRIES {
            if failures > 0 {
                std::thread::sleep(plan::pause(failures));
            }
            let asked = self.router.ask(&[self.learned.plain_question()], reading);
            let asked = asked.map_err(error).map_err(|error| self.learned.explained(error));
            let reply = asked?.into_iter().next();
            let (request, policy) = self.learned.changing(reply, fields)?;
            let answer = self.router.call(&[request], writing).map_err(error)?;
            if self.learned.changed(&answer.replies)? {
                acknowledged(vec![], answer.unacknowledged)?;
                return Ok(policy);
            }
        }
        Err(SeenError::Contended { owner: learned::POLICY.to_vec(), tries: plan::TRIES })
    }

    fn now(&self) -> Seconds {
        self.learned.now()
    }

    fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError> {
        let how = self.reading();
        let plan = self.plan(false, how)?;
        plan.check_owners(owners.iter().copied())?;
        let replies = self.router.ask(&plan.reading(owners), how).map_err(error)?;
        plan.views(owners, replies, self.now())
    }

    fn change(&self, changes: &[Change<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
        let how = self.writing();
        let plan = self.plan(true, how)?;
        plan.check_owners(changes.iter().map(|change| change.owner))?;
        let mut changing = Changing::new(&plan, changes, self.now());
        let (mut riders, mut unacknowledged) = (self.folds.take(), None);
        loop {
            let mut wanted = changing.requests()?;
            if wanted.is_empty() {
                break;
            }
            let mut requests = std::mem::take(&mut riders);
            let ridden = requests.len();
            requests.append(&mut wanted);
            let mut answer = self.router.call(&requests, how).map_err(error)?;
            if let Err(error) = changing.replies(answer.replies.split_off(ridden)) {
                _ = self.router.ask(&changing.undo(), how.with_wait(None));
                return Err(error);
            }
            unacknowledged = unacknowledged.or(answer.unacknowledged);
            changing.pause().into_iter().for_each(std::thread::sleep);
        }
        let (known, folds) = changing.end();
        // All is done but the compaction, which may fail.
        _ = self.router.ask(&self.folds.leave(&plan, folds), how.with_wait(None));
        acknowledged(known, unacknowledged)
    }

    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        let how = self.writing();
        let plan = self.plan(false, how)?;
        plan.check_owners([owner])?;
        let answer = self.router.call(&[plan.forgetting(owner)], how).map_err(error)?;
        let forgotten = plan.forgotten(&answer.replies)?;
        acknowledged(vec![vec![forgotten]], answer.unacknowledged)?;
        Ok(forgotten)
    }

    fn merge(&self, exported: &[(&[u8], &[u8])]) -> Result<(), SeenError> {
        let (reading, writing) = (self.reading(), self.writing());
        let plan = self.plan(true, writing)?;
        let mut lists = decoded(&plan.policy, exported, self.now())?;
        if lists.is_empty() {
            return Ok(());
        }
        plan.check_owners(lists.iter().map(|(owner, _)| *owner))?;
        let mut unacknowledged = None;
        for failures in 0..plan::TRIES {
            if failures > 0 {
                std::thread::sleep(plan::pause(failures));
            }
            let owners: Vec<&[u8]> = lists.iter().map(|(owner, _)| *owner).collect();
            let replies = self.router.ask(&plan.reading(&owners), reading).map_err(error)?;
            let requests = plan.merging(&lists, replies, self.now())?;
            let answer = self.router.call(&requests, writing).map_err(error)?;
            unacknowledged = unacknowledged.or(answer.unacknowledged);
            let merged = plan.merged(&answer.replies)?;
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
        let plan = self.plan(false, self.reading())?;
        let scanned = self.router.scan(&plan.glob(), &mut |keys| {
            failed = self.visit(&plan, &keys, visit).err();
            failed.is_none()
        });
        scanned.map_err(error)?;
        failed.map_or(Ok(()), Err)
    }
}

impl Redis {
    fn visit(&self, plan: &Plan, keys: &[Vec<u8>], visit: &mut Visit<'_>) -> Result<(), SeenError> {
        let now = self.now();
        let owners: Vec<&[u8]> = keys.iter().filter_map(|key| plan.owner(key)).collect();
        if owners.is_empty() {
            return Ok(());
        }
        let replies = self.router.ask(&plan.reading(&owners), self.reading()).map_err(error)?;
        for (owner, view, bytes) in plan.found(&owners, replies, now)? {
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
