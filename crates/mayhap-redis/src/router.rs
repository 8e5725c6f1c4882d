//! The blocking client: batches to a server, or to all nodes of a cluster at once.
//!
//! The requests for one node are pipelined, and sent to all nodes before any reply is awaited. A
//! `WAIT` goes on the same connection, behind the writes it waits for. Every call has one deadline
//! for everything: name lookups, connections, the slot map, replies, retries and backoff.

use crate::address::Node;
pub(crate) use crate::batch::RequestOptions;
pub(crate) use crate::batch::message;
use crate::batch::{Batch, NodeRequests, Replies, Step};
use crate::connection::Connection;
use crate::request::Reply;
pub(crate) use crate::request::Request;
use crate::topology::{Known, Topology, locked, share, worse};
use crate::{Address, LinkError};
use redis::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Idle connections kept per node.
const KEPT: usize = 64;
/// The limit of a call, and the limit for one node's reply in a patient one.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Replies that arrived while others were awaited are still read.
const GRACE: Duration = Duration::from_millis(50);

/// A blocking client, for one server or a cluster. Any number of threads share it.
///
/// Connections are opened as needed and kept. A call ends at its deadline: `timeout=` of the
/// address, or five seconds.
pub struct Router {
    address: Address,
    name: String,
    patience: Duration,
    known: Known,
    idle: Mutex<HashMap<Node, Vec<Connection>>>,
}

impl Router {
    /// Connects when the first request is sent.
    ///
    /// A call is retried for `patience` while a server starts or a cluster fails over; with zero it
    /// gives up as soon as a server is unreachable or not ready.
    pub fn new(address: Address, patience: Duration) -> Router {
        let name = address.to_string();
        Router { address, name, patience, known: Known::default(), idle: Mutex::default() }
    }

    /// The address of the server or cluster.
    pub fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The default options: the address's timeout, and a retry after a lost connection.
    pub fn options(&self) -> RequestOptions {
        options(&self.address, self.patience)
    }

    /// Send a batch; the replies come in the same order.
    ///
    /// After [`LinkError::Unreachable`] it is not known whether the requests were executed.
    pub fn send(
        &self,
        requests: &[Request],
        options: RequestOptions,
    ) -> Result<Vec<Reply>, LinkError> {
        let Replies { replies, unacknowledged } = self.call(requests, options)?;
        unacknowledged.map_or(Ok(replies), Err)
    }

    /// Like `send`, but returns the replies even if too few replicas have acknowledged.
    pub fn call(
        &self,
        requests: &[Request],
        options: RequestOptions,
    ) -> Result<Replies, LinkError> {
        if requests.is_empty() {
            return Ok(Replies::default());
        }
        let mut batch = Batch::new(&self.address, requests, options);
        loop {
            let topology = match self.topology(batch.until()) {
                Ok(topology) => {
                    self.round(&topology, &mut batch);
                    Some(topology)
                }
                Err(error) => {
                    batch.unlearnt(error, self.known.is_reached());
                    None
                }
            };
            let (step, is_stale) = batch.step();
            if let (true, Some(topology)) = (is_stale, &topology) {
                self.known.forget(topology);
            }
            match step {
                Step::Done(replies) => return Ok(replies),
                Step::Failed(error) => return Err(error),
                Step::Again(backoff) => std::thread::sleep(backoff),
            }
        }
    }

    /// `SCAN` for all keys that match a glob, some thousands at a time, on every node, until
    /// `visit` returns false. Each page has the time limit of a call.
    pub fn scan(
        &self,
        glob: &[u8],
        visit: &mut dyn FnMut(Vec<Vec<u8>>) -> bool,
    ) -> Result<(), LinkError> {
        let topology = self.topology(self.options().deadline())?;
        for node in topology.nodes() {
            let mut cursor = 0u64;
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(cursor).arg("MATCH").arg(glob).arg("COUNT").arg(2000);
                let page = self.send_to_node(&node, &scan.get_packed_command())?;
                let page: Result<(u64, Vec<Vec<u8>>), _> = redis::from_redis_value(page);
                let (next, keys) = page.map_err(|error| LinkError::Refused {
                    what: format!("{}: {error}", self.address.node_name(&node)),
                })?;
                if !visit(keys) {
                    return Ok(());
                }
                if next == 0 {
                    break;
                }
                cursor = next;
            }
        }
        Ok(())
    }

    /// One idempotent command, to this node only.
    fn send_to_node(&self, node: &Node, command: &[u8]) -> Result<Value, LinkError> {
        let until = self.options().deadline();
        let once = || {
            let mut connection = self.connection(node, until, true)?;
            let sent = connection.send(command, until).and_then(|()| connection.receive(until));
            let value = sent.map_err(|error| self.without(node, error))?;
            self.keep(node, connection);
            Ok(value)
        };
        let value = match once() {
            Err(LinkError::Unreachable { .. }) if Instant::now() < until => once()?,
            answer => answer?,
        };
        let Value::ServerError(error) = value else { return Ok(value) };
        let (address, what) = (self.address.node_name(node), message(&error));
        Err(match crate::batch::is_passing(&what) {
            true => LinkError::Unready { address, what },
            false => LinkError::Refused { what: format!("{address}: {what}") },
        })
    }

    /// Send the unanswered requests and read the replies.
    fn round(&self, topology: &Topology, batch: &mut Batch<'_>) {
        let until = batch.attempt_until();
        let mut sent: Vec<(NodeRequests, Connection)> = vec![];
        for requests in batch.node_requests(topology) {
            match self.connection(&requests.node, until, !batch.may_repeat()) {
                Ok(mut connection) => match connection.send(&batch.write(&requests), until) {
                    Ok(()) => sent.push((requests, connection)),
                    Err(error) => {
                        let error = self.without(&requests.node, error);
                        batch.lost(error, self.known.is_reached());
                    }
                },
                Err(error) => batch.unsent(error, self.known.is_reached()),
            }
        }
        for (requests, mut connection) in sent {
            let until = until.max(Instant::now() + GRACE);
            let values: Result<Vec<Value>, LinkError> =
                (0..requests.replies()).map(|_| connection.receive(until)).collect();
            match values {
                Ok(values) => {
                    self.keep(&requests.node, connection);
                    batch.received(&requests, values);
                }
                Err(error) => {
                    let error = connection.explained(error, &self.address, &requests.node, until);
                    let error = self.without(&requests.node, error);
                    batch.lost(error, self.known.is_reached());
                }
            }
        }
    }

    /// A connection to a node: an idle one, or a new one.
    fn connection(
        &self,
        node: &Node,
        until: Instant,
        checked: bool,
    ) -> Result<Connection, LinkError> {
        loop {
            let kept = locked(&self.idle).get_mut(node).and_then(Vec::pop);
            let Some(mut connection) = kept else { break };
            if !checked || connection.is_open() {
                return Ok(connection);
            }
        }
        Connection::open(&self.address, node, until).map_err(|error| self.without(node, error))
    }

    fn keep(&self, node: &Node, connection: Connection) {
        self.known.answered(node);
        let mut idle = locked(&self.idle);
        let kept = idle.entry(node.clone()).or_default();
        if kept.len() < KEPT {
            kept.push(connection);
        }
    }

    /// A node is lost: its idle connections probably are, too.
    fn without(&self, node: &Node, error: LinkError) -> LinkError {
        locked(&self.idle).remove(node);
        self.known.silent(node);
        error
    }

    /// The slot map, from the first node that answers.
    fn topology(&self, until: Instant) -> Result<Arc<Topology>, LinkError> {
        if let Some(topology) = self.known.topology() {
            return Ok(topology);
        }
        let candidates = self.known.candidates(&self.address);
        if !self.address.is_cluster() {
            return Ok(self.known.single(&candidates[0]));
        }
        let (mut failed, count) = (None, candidates.len());
        for (at, node) in candidates.iter().enumerate() {
            let until = share(until, count - at);
            let slots = redis::cmd("CLUSTER").arg("SLOTS").get_packed_command();
            let asked = self.connection(node, until, true).and_then(|mut connection| {
                let sent = connection.send(&slots, until).and_then(|()| connection.receive(until));
                let explained = |error| connection.explained(error, &self.address, node, until);
                let value = sent.map_err(explained).map_err(|error| self.without(node, error))?;
                let topology = Topology::read(node, &self.address.node_name(node), value)?;
                self.keep(node, connection);
                Ok(topology)
            });
            match asked {
                Ok(topology) => return Ok(self.known.learnt(topology)),
                Err(error @ LinkError::Standalone { .. }) => return Err(error),
                Err(error) => failed = Some(worse(failed, error)),
            }
        }
        Err(failed.unwrap_or(LinkError::Refused { what: format!("{}: no nodes", self.name) }))
    }

    /// The node of a slot, as shown in messages.
    pub(crate) fn node_names(&self, slots: &[u16]) -> Result<Vec<String>, LinkError> {
        let topology = self.topology(self.options().deadline())?;
        let name = |slot: &u16| match topology.node_of(Some(*slot)) {
            Some(node) => self.address.node_name(node),
            None => self.name.clone(),
        };
        Ok(slots.iter().map(name).collect())
    }
}

/// The options of a client with this patience.
pub(crate) fn options(address: &Address, patience: Duration) -> RequestOptions {
    let usual = if patience.is_zero() { ANSWER_WITHIN } else { patience };
    let within = address.timeout().unwrap_or(usual);
    RequestOptions {
        again: true,
        within,
        // A patient client retries: a replica may have taken over, or the server have restarted.
        attempt: match patience.is_zero() {
            true => within,
            false => within.min(ANSWER_WITHIN.max(within / 4)),
        },
        is_fixed: address.timeout().is_some(),
        is_patient: !patience.is_zero(),
        wait: None,
        until: None,
    }
}
