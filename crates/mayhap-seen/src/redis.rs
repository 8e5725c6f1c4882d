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
use crate::list::List;
use crate::policy::{Policy, PolicyFields, Seconds};
use crate::view::View;
use changing::Changing;
use folds::Folds;
use learned::Learned;
use mayhap_redis::{Address, LinkError, Pool};
use plan::Plan;
use std::sync::Arc;
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
    policy: PolicyFields,
    clock: Option<Clock>,
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
                    // Not its value, which may be a password.
                    let what = format!("{name}=…: allowed is {allowed}");
                    return Err(SeenError::Refused { what });
                }
            }
        }
        let policy = PolicyFields::default();
        Ok(Options { address, layout, prefix, policy, clock: None })
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
        Learned::new(plan, self.policy, self.clock.clone())
    }
}

/// Lists on a server, for threads. Connections are made as they are needed.
pub struct Redis {
    pool: Pool,
    learned: Learned,
    folds: Folds,
}

impl Redis {
    /// Lists at this URL, by the policy stored there. Nothing is connected before the first question.
    pub fn open(url: &str) -> Result<Redis, SeenError> {
        Redis::open_with(Options::parse(url)?)
    }

    /// The same with a say in how.
    pub fn open_with(options: Options) -> Result<Redis, SeenError> {
        let learned = options.learned();
        let pool = Pool::new(options.address).map_err(error)?;
        Ok(Redis { pool, learned, folds: Folds::default() })
    }

    /// How lists are kept, by the stored policy.
    fn plan(&self, writes: bool) -> Result<Arc<Plan>, SeenError> {
        if let Some(plan) = self.learned.plan(writes) {
            return Ok(plan);
        }
        let asked = self.pool.ask_again(&[self.learned.question(writes)?]).map_err(error);
        let reply = match asked.map(|replies| replies.into_iter().next()) {
            Ok(Some(Err(_))) | Err(SeenError::Refused { .. }) if !writes => {
                let plain = self.learned.plain_question();
                self.pool.ask_again(&[plain]).map_err(error)?.into_iter().next()
            }
            reply => reply?,
        };
        self.learned.answer(reply)
    }
}

impl Backend for Redis {
    fn policy(&self) -> Result<Policy, SeenError> {
        Ok(self.plan(false)?.policy)
    }

    fn set_policy(&mut self, fields: &PolicyFields) -> Result<Policy, SeenError> {
        for failures in 0..plan::TRIES {
            if failures > 0 {
                std::thread::sleep(plan::pause(failures));
            }
            let replies = self.pool.ask_again(&[self.learned.plain_question()]).map_err(error)?;
            let (request, policy) = self.learned.changing(replies.into_iter().next(), fields)?;
            let replies = self.pool.ask(&[request]).map_err(error)?;
            if self.learned.changed(&replies)? {
                return Ok(policy);
            }
        }
        Err(SeenError::Contended { owner: learned::POLICY.to_vec(), tries: plan::TRIES })
    }

    fn now(&self) -> Seconds {
        self.learned.now()
    }

    fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError> {
        let plan = self.plan(false)?;
        plan.check_owners(owners.iter().copied())?;
        let replies = self.pool.ask_again(&plan.reading(owners)).map_err(error)?;
        plan.views(owners, replies, self.now())
    }

    fn change(&self, changes: &[Change<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
        let plan = self.plan(true)?;
        plan.check_owners(changes.iter().map(|change| change.owner))?;
        let mut changing = Changing::new(&plan, changes, self.now());
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
            if let Err(error) = changing.replies(replies.map_err(error)?.split_off(ridden)) {
                _ = self.pool.ask(&changing.undo());
                return Err(error);
            }
            changing.pause().into_iter().for_each(std::thread::sleep);
        }
        let (known, folds) = changing.end();
        // All is done but the tidying, which may fail.
        _ = self.pool.ask(&self.folds.leave(&plan, folds));
        Ok(known)
    }

    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        let plan = self.plan(false)?;
        plan.check_owners([owner])?;
        let replies = self.pool.ask(&[plan.forgetting(owner)]).map_err(error)?;
        plan.forgotten(&replies)
    }

    fn merge(&self, mut lists: Vec<(&[u8], List)>) -> Result<(), SeenError> {
        let plan = self.plan(true)?;
        plan.check_owners(lists.iter().map(|(owner, _)| *owner))?;
        for failures in 0..plan::TRIES {
            if failures > 0 {
                std::thread::sleep(plan::pause(failures));
            }
            let owners: Vec<&[u8]> = lists.iter().map(|(owner, _)| *owner).collect();
            let replies = self.pool.ask_again(&plan.reading(&owners)).map_err(error)?;
            let requests = plan.merging(&lists, replies, self.now())?;
            let replies = self.pool.ask(&requests).map_err(error)?;
            let merged = plan.merged(&replies)?;
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
        let plan = self.plan(false)?;
        let scanned = self.pool.scan(&plan.glob(), &mut |keys| {
            if failed.is_none() {
                failed = self.visit(&plan, &keys, visit).err();
            }
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
        let replies = self.pool.ask_again(&plan.reading(&owners)).map_err(error)?;
        for (owner, view, bytes) in plan.found(&owners, replies, now)? {
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
