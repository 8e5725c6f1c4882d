//! The state of one call: which requests are answered, where each goes next, retries with backoff,
//! and when to give up. No I/O here: `router.rs` and `async_router.rs` send and receive.

use crate::address::Node;
use crate::request::Reply;
use crate::topology::Topology;
use crate::{Address, LinkError, Request};
use redis::{ServerError, Value};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const BACKOFF_MIN: Duration = Duration::from_millis(20);
const BACKOFF_MAX: Duration = Duration::from_millis(500);
/// With less time than this left, no further round is started.
const TOO_SHORT: Duration = Duration::from_millis(2);
/// Redirections followed without a pause; after that with backoff.
const MOVES_AT_ONCE: u32 = 5;

/// How many replicas must acknowledge a write before it counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The number of replicas.
    pub replicas: u32,
    /// How long to wait for them; part of the call's time.
    pub within: Duration,
}

/// How a batch is sent.
#[derive(Clone, Copy, Debug)]
pub struct RequestOptions {
    /// Whether it is idempotent: then it is sent again after a lost connection.
    pub(crate) again: bool,
    /// The limit for the whole call.
    pub(crate) within: Duration,
    /// The limit for one node's reply.
    pub(crate) attempt: Duration,
    /// Whether the address sets the limit, which then cannot be extended.
    pub(crate) is_fixed: bool,
    /// Whether to retry until the deadline, or to give up as soon as an immediate retry cannot
    /// help.
    pub(crate) is_patient: bool,
    /// How many replicas must acknowledge.
    pub(crate) wait: Option<Wait>,
    /// The deadline, where the call is part of a larger operation.
    pub(crate) until: Option<Instant>,
}

impl RequestOptions {
    /// Whether it may be executed twice. Reads may. A write that returns the previous state may
    /// not: the second execution would report the result of the first.
    pub fn repeatable(self, again: bool) -> RequestOptions {
        RequestOptions { again, ..self }
    }

    /// Require acknowledgement by replicas.
    pub fn with_wait(self, wait: Option<Wait>) -> RequestOptions {
        let longer = wait.map_or(Duration::ZERO, |wait| wait.within);
        let within = if self.is_fixed { self.within } else { self.within + longer };
        RequestOptions { wait, within, attempt: within.min(self.attempt + longer), ..self }
    }

    /// Several calls under one deadline, which starts now.
    pub fn starting_now(self) -> RequestOptions {
        RequestOptions { until: Some(self.deadline()), ..self }
    }

    /// Allow a long-running command this much time, unless the address sets a limit.
    pub(crate) fn for_work(self, work: Duration) -> RequestOptions {
        let within = if self.is_fixed { self.within } else { self.within.max(work) };
        RequestOptions { within, attempt: within, ..self }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.until.unwrap_or_else(|| Instant::now() + self.within)
    }
}

/// Replies, in the order of the requests.
#[derive(Debug, Default)]
pub struct Replies {
    /// One per request.
    pub replies: Vec<Reply>,
    /// The node with too few acknowledging replicas, if there is one.
    pub unacknowledged: Option<LinkError>,
}

/// A call in progress.
pub(crate) struct Batch<'a> {
    address: &'a Address,
    requests: &'a [Request],
    options: RequestOptions,
    until: Instant,
    items: Vec<Item>,
    unacknowledged: Option<LinkError>,
    backoff: Duration,
    moves: u32,
    /// Whether the one immediate retry of an impatient call is used up.
    had_second: bool,
    /// The error of earlier rounds.
    error: Option<LinkError>,
    round: Round,
}

#[derive(Default)]
struct Item {
    reply: Option<Reply>,
    /// The node it was redirected to, and whether only once (`ASK`).
    moved_to: Option<(Node, bool)>,
    in_full: bool,
}

/// The result of one round.
#[derive(Default)]
struct Round {
    /// An error that no retry can fix.
    failed: Option<LinkError>,
    /// A temporary error of some requests.
    error: Option<LinkError>,
    /// Whether the slot map must be refreshed.
    is_stale: bool,
    uses_second: bool,
    /// Whether a node did not answer in time.
    is_late: bool,
}

/// The requests for one node, sent in one pipeline.
pub(crate) struct NodeRequests {
    pub node: Node,
    /// Which requests, and whether `ASKING` goes before them.
    items: Vec<(usize, bool)>,
    wait: Option<(u32, u64)>,
}

impl NodeRequests {
    /// The number of replies it gets.
    pub(crate) fn replies(&self) -> usize {
        let asking = self.items.iter().filter(|(_, asking)| *asking).count();
        self.items.len() + asking + usize::from(self.wait.is_some())
    }
}

/// What to do next.
pub(crate) enum Step {
    Done(Replies),
    Failed(LinkError),
    /// Another round after this pause.
    Again(Duration),
}

impl<'a> Batch<'a> {
    pub(crate) fn new(
        address: &'a Address,
        requests: &'a [Request],
        options: RequestOptions,
    ) -> Batch<'a> {
        Batch {
            address,
            requests,
            options,
            until: options.deadline(),
            items: requests.iter().map(|_| Item::default()).collect(),
            unacknowledged: None,
            backoff: BACKOFF_MIN,
            moves: 0,
            had_second: false,
            error: None,
            round: Round::default(),
        }
    }

    /// The deadline of the call.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// The deadline for the nodes' replies in this round.
    pub(crate) fn attempt_until(&self) -> Instant {
        self.until.min(Instant::now() + self.options.attempt)
    }

    pub(crate) fn may_repeat(&self) -> bool {
        self.options.again
    }

    #[cfg(feature = "async")]
    pub(crate) fn waits(&self) -> bool {
        self.options.wait.is_some()
    }

    /// The unanswered requests, by node.
    pub(crate) fn node_requests(&mut self, topology: &Topology) -> Vec<NodeRequests> {
        let mut by_node: BTreeMap<Node, Vec<(usize, bool)>> = BTreeMap::new();
        for (at, item) in self.items.iter_mut().enumerate().filter(|(_, item)| item.reply.is_none())
        {
            let moved = item.moved_to.take();
            let asking = moved.as_ref().is_some_and(|(_, asking)| *asking);
            let node = moved.map(|(node, _)| node);
            let node = node.or_else(|| topology.node_of(self.requests[at].slot()).cloned());
            match node {
                Some(node) => by_node.entry(node).or_default().push((at, asking)),
                None => {
                    let (address, what) =
                        (self.address.to_string(), "no node has a slot that is needed".to_owned());
                    self.round.is_stale = true;
                    let error = LinkError::Unready { address, what };
                    note(&mut self.round, error, self.options.is_patient || !self.had_second, true);
                }
            }
        }
        let left = self.until.saturating_duration_since(Instant::now());
        let wait = self.options.wait.map(|wait| {
            // The reply has to come back in time as well.
            let within = wait.within.min(left * 3 / 4);
            (wait.replicas, u64::try_from(within.as_millis()).unwrap_or(u64::MAX).max(1))
        });
        by_node.into_iter().map(|(node, items)| NodeRequests { node, items, wait }).collect()
    }

    /// The requests as bytes (RESP).
    pub(crate) fn write(&self, requests: &NodeRequests) -> Vec<u8> {
        let mut bytes = vec![];
        for (at, asking) in &requests.items {
            if *asking {
                redis::cmd("ASKING").write_packed_command(&mut bytes);
            }
            self.requests[*at].write(self.items[*at].in_full, &mut bytes);
        }
        if let Some((replicas, ms)) = requests.wait {
            redis::cmd("WAIT").arg(replicas).arg(ms).write_packed_command(&mut bytes);
        }
        bytes
    }

    /// The requests as commands of the `redis` crate.
    #[cfg(feature = "async")]
    pub(crate) fn pipeline(&self, requests: &NodeRequests) -> redis::Pipeline {
        let mut pipe = redis::Pipeline::with_capacity(requests.replies());
        for (at, asking) in &requests.items {
            if *asking {
                pipe.add_command(redis::cmd("ASKING"));
            }
            pipe.add_command(self.requests[*at].cmd(self.items[*at].in_full));
        }
        if let Some((replicas, ms)) = requests.wait {
            let mut wait = redis::cmd("WAIT");
            wait.arg(replicas).arg(ms);
            pipe.add_command(wait);
        }
        pipe
    }

    /// No node returned the slot map.
    pub(crate) fn unlearnt(&mut self, error: LinkError, is_reached: bool) {
        self.unsent(error, is_reached);
    }

    /// A node could not be reached; nothing was sent there.
    pub(crate) fn unsent(&mut self, error: LinkError, is_reached: bool) {
        self.round.is_stale = true;
        let again = match self.options.is_patient {
            true => is_reached,
            // The cluster may have replaced the node by now.
            false => self.address.is_cluster() && !self.had_second,
        };
        let again = again && error.is_of_the_moment();
        note(&mut self.round, error, again, true);
    }

    /// A connection was lost after something was sent: it may have been executed.
    pub(crate) fn lost(&mut self, error: LinkError, is_reached: bool) {
        self.round.is_stale = true;
        let again = match self.options.is_patient {
            true => is_reached,
            false => !self.had_second,
        };
        let again = again && self.options.again && error.is_of_the_moment();
        self.round.is_late |= Instant::now() >= self.until;
        note(&mut self.round, error, again, true);
    }

    /// A node's replies to its requests.
    pub(crate) fn received(&mut self, requests: &NodeRequests, values: Vec<Value>) {
        let name = self.address.node_name(&requests.node);
        let mut values = values.into_iter();
        let answers: Vec<(usize, Value)> = requests
            .items
            .iter()
            .filter_map(|(at, asking)| {
                if *asking {
                    values.next();
                }
                Some((*at, values.next()?))
            })
            .collect();
        let acknowledged = match (requests.wait, values.next()) {
            (Some((replicas, _)), Some(Value::Int(got))) => got >= i64::from(replicas),
            (wait, _) => wait.is_none(),
        };
        for (at, value) in answers {
            self.answer(at, &requests.node, &name, value, acknowledged);
        }
    }

    fn answer(&mut self, at: usize, node: &Node, name: &str, value: Value, acknowledged: bool) {
        let Value::ServerError(error) = value else {
            if !acknowledged {
                let replicas = self.options.wait.map_or(0, |wait| wait.replicas);
                let error = LinkError::Unacknowledged { address: name.to_owned(), replicas };
                if self.options.again && self.options.is_patient {
                    return note(&mut self.round, error, true, false);
                }
                self.unacknowledged.get_or_insert(error);
            }
            self.items[at].reply = Some(Ok(value));
            return;
        };
        let what = message(&error);
        let address = name.to_owned();
        let is_cluster = self.address.is_cluster();
        match code(&what) {
            "NOSCRIPT" if !self.items[at].in_full => self.items[at].in_full = true,
            "MOVED" | "ASK" if !is_cluster => {
                note(&mut self.round, LinkError::NotACluster { address }, false, false);
            }
            code @ ("MOVED" | "ASK") => {
                self.round.is_stale |= code == "MOVED";
                self.items[at].moved_to = target(node, &what).map(|node| (node, code == "ASK"));
            }
            "READONLY" if !is_cluster => {
                note(&mut self.round, LinkError::Replica { address }, false, false);
            }
            "READONLY" => {
                // The node was a primary when the slot map was read.
                self.round.is_stale = true;
                let again = self.options.is_patient || !self.had_second;
                note(&mut self.round, LinkError::Unready { address, what }, again, true);
            }
            code if is_passing(&what) => {
                self.round.is_stale |= code == "CLUSTERDOWN";
                let again = self.options.is_patient || code == "TRYAGAIN";
                note(&mut self.round, LinkError::Unready { address, what }, again, false);
            }
            "NOAUTH" | "WRONGPASS" | "DENIED" => {
                let error = LinkError::Refused { what: format!("{address}: {what}") };
                note(&mut self.round, error, false, false);
            }
            // In a cluster the message must say which node is out of memory or permissions.
            "OOM" | "MISCONF" | "NOPERM" if is_cluster => {
                self.items[at].reply = Some(Err(format!("{what} (node {name})")));
            }
            _ => self.items[at].reply = Some(Err(what)),
        }
    }

    /// The end of a round; the flag says whether the slot map must be refreshed.
    pub(crate) fn step(&mut self) -> (Step, bool) {
        let round = std::mem::take(&mut self.round);
        (self.next(&round), round.is_stale)
    }

    fn next(&mut self, round: &Round) -> Step {
        if let Some(error) = &round.failed {
            return Step::Failed(error.clone());
        }
        if self.items.iter().all(|item| item.reply.is_some()) {
            let replies = self.items.drain(..).filter_map(|item| item.reply).collect();
            return Step::Done(Replies { replies, unacknowledged: self.unacknowledged.take() });
        }
        self.had_second |= round.uses_second;
        let left = self.until.saturating_duration_since(Instant::now());
        if left < TOO_SHORT {
            // The server's own message says more than a timeout.
            let message = self.error.take().filter(|_| round.is_late);
            let error = message.or_else(|| round.error.clone());
            let late = || LinkError::too_late(&self.address.to_string(), Some(self.options.within));
            return Step::Failed(error.unwrap_or_else(late));
        }
        if !round.is_late && round.error.is_some() {
            self.error.clone_from(&round.error);
        }
        if round.error.is_none() {
            self.moves += 1;
            if self.moves <= MOVES_AT_ONCE {
                return Step::Again(Duration::ZERO);
            }
        }
        let backoff = self.backoff.min(left);
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
        Step::Again(backoff)
    }
}

/// Record an error: temporary, or final.
fn note(round: &mut Round, error: LinkError, again: bool, is_second: bool) {
    if again {
        round.uses_second |= is_second;
        // Keep the first: the others may be its consequence.
        round.error.get_or_insert(error);
    } else {
        round.failed = Some(crate::topology::worse(round.failed.take(), error));
    }
}

/// The node in `MOVED 3999 127.0.0.1:6381`; without a host it is the node that answered.
fn target(from: &Node, what: &str) -> Option<Node> {
    let (host, port) = what.split_whitespace().nth(2)?.rsplit_once(':')?;
    let host = if host.is_empty() { &from.host } else { host };
    Some(Node { host: host.to_owned(), port: port.parse().ok()? })
}

/// The error code. Servers before 7.0 wrap errors that occur inside a script.
fn code(what: &str) -> &str {
    let first = what.split_whitespace().next().unwrap_or_default();
    let wrapped = |code: &&&str| what.contains(&format!("-{code} "));
    match first {
        "ERR" if what.contains("script") => {
            ["READONLY", "NOREPLICAS"].iter().find(wrapped).copied().unwrap_or(first)
        }
        first => first,
    }
}

/// Whether the error is temporary: the server is up and will answer soon.
pub(crate) fn is_passing(what: &str) -> bool {
    let codes = ["LOADING", "BUSY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS"];
    codes.contains(&code(what)) || what.contains("max number of clients")
}

/// The server's message.
pub(crate) fn message(error: &ServerError) -> String {
    match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().to_owned(),
    }
}

#[cfg(test)]
mod tests;
