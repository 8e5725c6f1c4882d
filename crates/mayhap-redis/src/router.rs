//! The client for threads: batches to a server, or to all nodes of a cluster at once.
//!
//! What is for one node goes out in one piece, to all nodes before any is waited for. So a `WAIT`
//! goes along with what it is to wait for: on the same connection, behind it. Every call has one
//! deadline, whatever it takes: names looked up, connections made, slots learnt, answers waited
//! for, tries and pauses.

use crate::address::Node;
pub(crate) use crate::batch::RequestOptions as How;
pub(crate) use crate::batch::said;
use crate::batch::{Batch, Parcel, Replies, Step};
use crate::request::Reply;
pub(crate) use crate::request::Request as Order;
use crate::topology::{Known, Topology, locked, share, worse};
use crate::wire::Wire;
use crate::{Address, LinkError};
use redis::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Connections kept for later, of each node.
const KEPT: usize = 64;
/// How long a call may take, and how long a node may take to answer a patient one.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// What came while others were waited for is still taken.
const GRACE: Duration = Duration::from_millis(50);

/// A client for threads: of one server, or of a cluster.
///
/// Connections are made as they are needed and kept. A call ends when its time is over: what the
/// address says (`timeout=`), or five seconds.
pub struct Router {
    address: Address,
    name: String,
    patience: Duration,
    known: Known,
    idle: Mutex<HashMap<Node, Vec<Wire>>>,
}

impl Router {
    /// Nothing is connected before the first question.
    ///
    /// With `patience` a call goes on trying so long while a server starts or a cluster mends
    /// itself; without, it gives up as soon as it knows that one is away or not ready.
    pub fn new(address: Address, patience: Duration) -> Router {
        let name = address.to_string();
        Router { address, name, patience, known: Known::default(), idle: Mutex::default() }
    }

    /// Where it asks.
    pub fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How most batches are asked: in the time there is, and again where a connection is lost.
    pub fn how(&self) -> How {
        options(&self.address, self.patience)
    }

    /// Ask all of this; the answers come in the same order.
    ///
    /// After [`LinkError::Away`] it is not known what was done.
    pub fn ask(&self, requests: &[Order], how: How) -> Result<Vec<Reply>, LinkError> {
        let Replies { replies, unacknowledged } = self.call(requests, how)?;
        unacknowledged.map_or(Ok(replies), Err)
    }

    /// The same, where an answer is of use also if too few replicas have acknowledged it.
    pub fn call(&self, requests: &[Order], how: How) -> Result<Replies, LinkError> {
        if requests.is_empty() {
            return Ok(Replies::default());
        }
        let mut batch = Batch::new(&self.address, requests, how);
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
                Step::Again(pause) => std::thread::sleep(pause),
            }
        }
    }

    /// All keys that match a glob, some thousands at a time, from every node; until `visit` says
    /// false. Each page has a call's time.
    pub fn scan(
        &self,
        glob: &[u8],
        visit: &mut dyn FnMut(Vec<Vec<u8>>) -> bool,
    ) -> Result<(), LinkError> {
        let topology = self.topology(self.how().deadline())?;
        for node in topology.nodes() {
            let mut cursor = 0u64;
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(cursor).arg("MATCH").arg(glob).arg("COUNT").arg(2000);
                let page = self.ask_node(&node, &scan.get_packed_command())?;
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

    /// One command that may be done twice, to this node and no other.
    fn ask_node(&self, node: &Node, command: &[u8]) -> Result<Value, LinkError> {
        let until = self.how().deadline();
        let once = || {
            let mut wire = self.wire(node, until, true)?;
            let sent = wire.send(command, until).and_then(|()| wire.receive(until));
            let value = sent.map_err(|error| self.without(node, error))?;
            self.keep(node, wire);
            Ok(value)
        };
        let value = match once() {
            Err(LinkError::Away { .. }) if Instant::now() < until => once()?,
            answer => answer?,
        };
        let Value::ServerError(error) = value else { return Ok(value) };
        let (address, what) = (self.address.node_name(node), said(&error));
        Err(match crate::batch::is_passing(&what) {
            true => LinkError::Unready { address, what },
            false => LinkError::Refused { what: format!("{address}: {what}") },
        })
    }

    /// Send what has no answer yet, and hear the answers.
    fn round(&self, topology: &Topology, batch: &mut Batch<'_>) {
        let until = batch.attempt_until();
        let mut sent: Vec<(Parcel, Wire)> = vec![];
        for parcel in batch.parcels(topology) {
            match self.wire(&parcel.node, until, !batch.may_repeat()) {
                Ok(mut wire) => match wire.send(&batch.write(&parcel), until) {
                    Ok(()) => sent.push((parcel, wire)),
                    Err(error) => {
                        let error = self.without(&parcel.node, error);
                        batch.lost(error, self.known.is_reached());
                    }
                },
                Err(error) => batch.unsent(error, self.known.is_reached()),
            }
        }
        for (parcel, mut wire) in sent {
            let until = until.max(Instant::now() + GRACE);
            let values: Result<Vec<Value>, LinkError> =
                (0..parcel.replies()).map(|_| wire.receive(until)).collect();
            match values {
                Ok(values) => {
                    self.keep(&parcel.node, wire);
                    batch.heard(&parcel, values);
                }
                Err(error) => {
                    let error = wire.explained(error, &self.address, &parcel.node, until);
                    let error = self.without(&parcel.node, error);
                    batch.lost(error, self.known.is_reached());
                }
            }
        }
    }

    /// A connection to a node: one that is kept, or a new one.
    fn wire(&self, node: &Node, until: Instant, checked: bool) -> Result<Wire, LinkError> {
        loop {
            let kept = locked(&self.idle).get_mut(node).and_then(Vec::pop);
            let Some(mut wire) = kept else { break };
            if !checked || wire.is_open() {
                return Ok(wire);
            }
        }
        Wire::open(&self.address, node, until).map_err(|error| self.without(node, error))
    }

    fn keep(&self, node: &Node, wire: Wire) {
        self.known.answered(node);
        let mut idle = locked(&self.idle);
        let kept = idle.entry(node.clone()).or_default();
        if kept.len() < KEPT {
            kept.push(wire);
        }
    }

    /// A node is lost: its idle connections most likely were lost with it.
    fn without(&self, node: &Node, error: LinkError) -> LinkError {
        locked(&self.idle).remove(node);
        self.known.silent(node);
        error
    }

    /// Who has which slots, as the first node says that answers.
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
            let asked = self.wire(node, until, true).and_then(|mut wire| {
                let sent = wire.send(&slots, until).and_then(|()| wire.receive(until));
                let explained = |error| wire.explained(error, &self.address, node, until);
                let value = sent.map_err(explained).map_err(|error| self.without(node, error))?;
                let topology = Topology::read(node, &self.address.node_name(node), value)?;
                self.keep(node, wire);
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

    /// Who has a slot, for people.
    pub(crate) fn node_names(&self, slots: &[u16]) -> Result<Vec<String>, LinkError> {
        let topology = self.topology(self.how().deadline())?;
        let name = |slot: &u16| match topology.node_of(Some(*slot)) {
            Some(node) => self.address.node_name(node),
            None => self.name.clone(),
        };
        Ok(slots.iter().map(name).collect())
    }
}

/// How a client with this patience asks.
pub(crate) fn options(address: &Address, patience: Duration) -> How {
    let usual = if patience.is_zero() { ANSWER_WITHIN } else { patience };
    let within = address.timeout().unwrap_or(usual);
    How {
        again: true,
        within,
        // Who is patient asks again: somebody else may have taken over, or a server been revived.
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
