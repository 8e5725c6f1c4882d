//! Lists on a stock Redis or Valkey, single or cluster; no module needed.
//!
//! Requests and the meaning of replies are decided in `protocol.rs` and the layouts (`compact.rs`,
//! `go_lists.rs`), without I/O; here, and in `async_seen.rs` for async programs, they are sent.

#[cfg(feature = "async")]
mod async_seen;
mod compact;
mod compaction;
mod go_lists;
mod learned;
mod mark_script;
mod operation_state;
mod protocol;

use crate::SeenError;
use crate::backend::{Backend, Clock, OwnerOperation, Visit};
use crate::operation::decoded;
use crate::policy::{Policy, PolicyFields, Seconds};
use crate::view::View;
#[cfg(feature = "async")]
pub use async_seen::AsyncSeen;
use compaction::PendingCompactions;
use learned::{FRESH, Learned};
pub use mayhap_redis::Wait;
use mayhap_redis::{Address, LinkError, RequestOptions, Router};
use operation_state::OperationState;
use protocol::Protocol;
use std::sync::Arc;
use std::time::Duration;

/// Maximum time of a call, if the address does not say.
const CALL_WITHIN: Duration = Duration::from_secs(5);

/// The layout of lists on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One string per owner, Mayhap's own record: the smallest, and one round trip for everything.
    #[default]
    Compact,
    /// A list of `count::base64` filters per owner, newest first, as programs with the Go package
    /// `kevburnsjr/bloomfilter` keep it: both can read and write the same lists.
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
    /// Parse a URL: `redis://host:port/db?layout=compact|list&prefix=…`, with `redis+cluster://`
    /// for a cluster and `timeout=SECONDS`.
    pub fn parse(url: &str) -> Result<Options, SeenError> {
        let (address, others) = Address::parse(url).map_err(error)?;
        let (mut layout, mut prefix) = (Layout::Compact, vec![]);
        for (name, value) in others {
            match (name.as_str(), value.as_str()) {
                ("layout", "compact") => layout = Layout::Compact,
                ("layout", "list") => layout = Layout::List,
                ("prefix", _) => prefix = value.into_bytes(),
                _ => {
                    // Not its value: that may be a password.
                    let allowed = "layout=compact, layout=list, prefix=…, timeout=…, cluster=true, and for TLS cacert=…, cert=…, key=…";
                    let what = format!("{name}=…: allowed is {allowed}");
                    return Err(SeenError::Refused { what });
                }
            }
        }
        let policy = PolicyFields::default();
        Ok(Options { address, layout, prefix, policy, clock: None, wait: None, fresh: FRESH })
    }

    /// Require this policy. The first writer stores it with the lists; if another is stored, calls
    /// are rejected ([`SeenError::Policy`]). Without it the stored one is used.
    pub fn with_policy(self, policy: Policy) -> Options {
        self.with_policy_fields(policy.into())
    }

    /// The same for some fields: the others are the stored ones, or the defaults.
    pub fn with_policy_fields(self, policy: PolicyFields) -> Options {
        Options { policy, ..self }
    }

    /// A clock other than the server's. Clocks of programs that share lists should agree.
    pub fn with_clock(self, clock: Clock) -> Options {
        Options { clock: Some(clock), ..self }
    }

    /// Have this many replicas acknowledge every change, for lists that must survive a failover. If
    /// they do not in time, it is [`SeenError::Unacknowledged`], with the result all the same.
    pub fn with_wait(self, wait: Wait) -> Options {
        Options { wait: (wait.replicas > 0).then_some(wait), ..self }
    }

    /// So long a policy that was learned is believed, instead of a minute; then a call asks for it
    /// anew. Where the server does not answer that, the one that is known counts on.
    pub fn with_policy_fresh_for(self, fresh: Duration) -> Options {
        Options { fresh, ..self }
    }

    /// The limit for a whole call, instead of the URL's or five seconds.
    pub fn with_timeout(self, timeout: Duration) -> Options {
        Options { address: self.address.with_timeout(timeout), ..self }
    }

    /// The address of the server or cluster, without any password.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The layout of lists on the server.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The prefix of the owners' keys.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    fn learned(&self) -> Learned {
        let (layout, prefix) = (self.layout, self.prefix.clone());
        let is_cluster = self.address.is_cluster();
        let protocol = Protocol { policy: Policy::default(), layout, prefix, is_cluster };
        Learned::new(protocol, self.policy, self.clock.clone(), self.fresh)
    }

    /// Options for requests that can be done without: a part of a call's time.
    fn hasty(&self) -> RequestOptions {
        let whole = self.address.timeout().unwrap_or(CALL_WITHIN);
        let address = self.address.clone().with_timeout(whole / 4);
        Router::new(address, Duration::ZERO).options()
    }
}

/// Lists on a server, for threads. Connections are opened as needed.
///
/// A call takes as long as the address says (`timeout=`), or five seconds, and no longer: retries,
/// backoff and all nodes of a cluster together. Reads are repeated once after a lost connection. A
/// change is not: it returns what was there before, and a second execution would report what the
/// first has done; ids would be lost that nobody was ever given.
pub struct Redis {
    router: Router,
    learned: Learned,
    compactions: PendingCompactions,
    wait: Option<Wait>,
    hasty: RequestOptions,
}

impl Redis {
    /// Lists at this URL, by the policy stored there. Connects at the first call.
    pub fn open(url: &str) -> Result<Redis, SeenError> {
        Redis::open_with(Options::parse(url)?)
    }

    /// The same with options.
    pub fn open_with(options: Options) -> Result<Redis, SeenError> {
        let (learned, wait, hasty) = (options.learned(), options.wait, options.hasty());
        let router = Router::new(options.address, Duration::ZERO);
        Ok(Redis { router, learned, compactions: PendingCompactions::default(), wait, hasty })
    }

    /// Options for reads, starting now.
    fn reading(&self) -> RequestOptions {
        self.router.options().starting_now()
    }

    /// Options for changes, starting now.
    fn writing(&self) -> RequestOptions {
        self.router.options().repeatable(false).with_wait(self.wait).starting_now()
    }

    /// The protocol with the stored policy. Reading it twice does no harm, also before a write, and
    /// it is part of the call: `options` has its deadline.
    fn protocol(&self, writes: bool, options: RequestOptions) -> Result<Arc<Protocol>, SeenError> {
        if let Some(protocol) = self.learned.protocol(writes) {
            return Ok(protocol);
        }
        let old = self.learned.old_protocol(writes);
        let options = match old {
            // A call that can go on without an answer does not wait for it long.
            Some(_) => self.hasty.starting_now(),
            None => options.repeatable(true).with_wait(None),
        };
        match (self.learn(writes, options), old) {
            (Err(SeenError::Unreachable { .. }), Some(old)) => {
                self.learned.defer();
                Ok(old)
            }
            (learned, _) => learned,
        }
    }

    fn learn(&self, writes: bool, options: RequestOptions) -> Result<Arc<Protocol>, SeenError> {
        let asked = self.router.send(&[self.learned.question(writes)?], options).map_err(error);
        let reply = match asked.map(|replies| replies.into_iter().next()) {
            Ok(Some(Err(_))) | Err(SeenError::Refused { .. }) if !writes => {
                let plain = self.learned.plain_question();
                let asked = self.router.send(&[plain], options).map_err(error);
                asked.map_err(|error| self.learned.explained(error))?.into_iter().next()
            }
            reply => reply.map_err(|error| self.learned.explained(error))?,
        };
        self.learned.answer(reply)
    }
}

impl Backend for Redis {
    fn policy(&self) -> Result<Policy, SeenError> {
        Ok(self.protocol(false, self.reading())?.policy)
    }

    fn set_policy(&mut self, fields: &PolicyFields) -> Result<Policy, SeenError> {
        let (reading, writing) = (self.reading(), self.writing());
        for failures in 0..protocol::MAX_RETRIES {
            if failures > 0 {
                std::thread::sleep(protocol::backoff(failures));
            }
            let asked = self.router.send(&[self.learned.plain_question()], reading);
            let asked = asked.map_err(error).map_err(|error| self.learned.explained(error));
            let reply = asked?.into_iter().next();
            let (request, policy) = self.learned.changing(reply, fields)?;
            let answer = self.router.call(&[request], writing).map_err(error)?;
            if self.learned.changed(&answer.replies)? {
                acknowledged(vec![], answer.unacknowledged)?;
                return Ok(policy);
            }
        }
        Err(SeenError::Contended { owner: learned::POLICY.to_vec(), tries: protocol::MAX_RETRIES })
    }

    fn now(&self) -> Seconds {
        self.learned.now()
    }

    fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError> {
        let options = self.reading();
        let protocol = self.protocol(false, options)?;
        protocol.check_owners(owners.iter().copied())?;
        let replies = self.router.send(&protocol.reading(owners), options).map_err(error)?;
        protocol.views(owners, replies, self.now())
    }

    fn change(&self, changes: &[OwnerOperation<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
        let options = self.writing();
        let protocol = self.protocol(true, options)?;
        protocol.check_owners(changes.iter().map(|change| change.owner))?;
        let mut state = OperationState::new(&protocol, changes, self.now());
        let (mut piggybacked, mut unacknowledged) = (self.compactions.take(), None);
        loop {
            let mut wanted = state.requests()?;
            if wanted.is_empty() {
                break;
            }
            let mut requests = std::mem::take(&mut piggybacked);
            let ridden = requests.len();
            requests.append(&mut wanted);
            let mut answer = self.router.call(&requests, options).map_err(error)?;
            if let Err(error) = state.replies(answer.replies.split_off(ridden)) {
                _ = self.router.send(&state.undo(), options.with_wait(None));
                return Err(error);
            }
            unacknowledged = unacknowledged.or(answer.unacknowledged);
            state.backoff().into_iter().for_each(std::thread::sleep);
        }
        let (known, compactions) = state.end();
        // Everything is done but the compaction, which may fail.
        _ = self
            .router
            .send(&self.compactions.queue_or_send(&protocol, compactions), options.with_wait(None));
        acknowledged(known, unacknowledged)
    }

    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        let options = self.writing();
        let protocol = self.protocol(false, options)?;
        protocol.check_owners([owner])?;
        let answer =
            self.router.call(&[protocol.forget_requests(owner)], options).map_err(error)?;
        let forgotten = protocol.forgotten(&answer.replies)?;
        acknowledged(vec![vec![forgotten]], answer.unacknowledged)?;
        Ok(forgotten)
    }

    fn merge(&self, exported: &[(&[u8], &[u8])]) -> Result<(), SeenError> {
        let (reading, writing) = (self.reading(), self.writing());
        let protocol = self.protocol(true, writing)?;
        let mut lists = decoded(&protocol.policy, exported, self.now())?;
        if lists.is_empty() {
            return Ok(());
        }
        protocol.check_owners(lists.iter().map(|(owner, _)| *owner))?;
        let mut unacknowledged = None;
        for failures in 0..protocol::MAX_RETRIES {
            if failures > 0 {
                std::thread::sleep(protocol::backoff(failures));
            }
            let owners: Vec<&[u8]> = lists.iter().map(|(owner, _)| *owner).collect();
            let replies = self.router.send(&protocol.reading(&owners), reading).map_err(error)?;
            let requests = protocol.merge_requests(&lists, replies, self.now())?;
            let answer = self.router.call(&requests, writing).map_err(error)?;
            unacknowledged = unacknowledged.or(answer.unacknowledged);
            let merged = protocol.merged(&answer.replies)?;
            let mut merged = merged.into_iter();
            lists.retain(|_| !merged.next().unwrap_or(false));
            if lists.is_empty() {
                return acknowledged(vec![], unacknowledged).map(drop);
            }
        }
        Err(SeenError::Contended { owner: lists[0].0.to_vec(), tries: protocol::MAX_RETRIES })
    }

    fn each(&self, visit: &mut Visit<'_>) -> Result<(), SeenError> {
        let mut failed = None;
        let protocol = self.protocol(false, self.reading())?;
        let scanned = self.router.scan(&protocol.glob(), &mut |keys| {
            failed = self.visit(&protocol, &keys, visit).err();
            failed.is_none()
        });
        scanned.map_err(error)?;
        failed.map_or(Ok(()), Err)
    }
}

impl Redis {
    fn visit(
        &self,
        protocol: &Protocol,
        keys: &[Vec<u8>],
        visit: &mut Visit<'_>,
    ) -> Result<(), SeenError> {
        let now = self.now();
        let owners: Vec<&[u8]> = keys.iter().filter_map(|key| protocol.owner(key)).collect();
        if owners.is_empty() {
            return Ok(());
        }
        let replies =
            self.router.send(&protocol.reading(&owners), self.reading()).map_err(error)?;
        for (owner, view, bytes) in protocol.found(&owners, replies, now)? {
            visit(owner, view, bytes)?;
        }
        Ok(())
    }
}

fn error(error: LinkError) -> SeenError {
    match error {
        error if error.is_of_the_moment() => SeenError::Unreachable { what: error.to_string() },
        error => SeenError::Refused { what: error.to_string() },
    }
}

/// The result; as an error if fewer replicas than required have acknowledged it.
fn acknowledged(
    known: Vec<Vec<bool>>,
    unacknowledged: Option<LinkError>,
) -> Result<Vec<Vec<bool>>, SeenError> {
    match unacknowledged {
        None => Ok(known),
        Some(error) => Err(SeenError::Unacknowledged { what: error.to_string(), known }),
    }
}
