//! The slot map, and which nodes answer. No I/O here.

use crate::address::Node;
use crate::{Address, LinkError};
use redis::Value;
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Which node has which slots.
pub(crate) struct Topology {
    ranges: Vec<(RangeInclusive<u16>, Node)>,
    /// The node it was read from.
    told_by: Node,
}

impl Topology {
    /// A single server with all slots.
    pub(crate) fn single(node: &Node) -> Topology {
        Topology { ranges: vec![(0..=u16::MAX, node.clone())], told_by: node.clone() }
    }

    /// Parse the reply to `CLUSTER SLOTS`. A node that does not know its own name is where it was
    /// asked.
    pub(crate) fn read(asked: &Node, name: &str, value: Value) -> Result<Topology, LinkError> {
        let rows = match value {
            Value::Array(rows) => rows,
            Value::ServerError(error) => {
                let (address, what) = (name.to_owned(), crate::batch::message(&error));
                return Err(match what {
                    what if what.contains("cluster support disabled") => {
                        LinkError::Standalone { address }
                    }
                    what if crate::batch::is_passing(&what) => LinkError::Unready { address, what },
                    what => LinkError::Refused { what: format!("{address}: {what}") },
                });
            }
            _ => vec![],
        };
        let ranges: Vec<_> = rows.into_iter().filter_map(|row| range(asked, row)).collect();
        if ranges.is_empty() {
            let (address, what) = (name.to_owned(), "a cluster without slots".to_owned());
            return Err(LinkError::Unready { address, what });
        }
        Ok(Topology { ranges, told_by: asked.clone() })
    }

    /// The node of a slot; for requests without one, a node that answers.
    pub(crate) fn node_of(&self, slot: Option<u16>) -> Option<&Node> {
        let Some(slot) = slot else { return Some(&self.told_by) };
        self.ranges.iter().find(|(range, _)| range.contains(&slot)).map(|(_, node)| node)
    }

    /// All nodes with slots, once each.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = self.ranges.iter().map(|(_, node)| node.clone()).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }
}

/// A row: first slot, last slot, and the address of the primary.
fn range(asked: &Node, row: Value) -> Option<(RangeInclusive<u16>, Node)> {
    let Value::Array(row) = row else { return None };
    let number = |value: &Value| match value {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    };
    let [first, last, Value::Array(primary), ..] = row.as_slice() else { return None };
    let [host, port, ..] = primary.as_slice() else { return None };
    let host: Option<String> = redis::from_redis_value(host.clone()).ok()?;
    let host = host.filter(|host| !host.is_empty() && host != "?");
    let host = host.unwrap_or_else(|| asked.host.clone());
    Some((number(first)?..=number(last)?, Node { host, port: number(port)? }))
}

/// What is known about a server or cluster, shared by all calls.
#[derive(Default)]
pub(crate) struct Known {
    topology: Mutex<Option<Arc<Topology>>>,
    /// The last known addresses of the nodes.
    nodes: Mutex<Vec<Node>>,
    /// Nodes that did not answer lately: tried last.
    suspects: Mutex<HashSet<Node>>,
    reached: AtomicBool,
}

impl Known {
    pub(crate) fn topology(&self) -> Option<Arc<Topology>> {
        locked(&self.topology).clone()
    }

    pub(crate) fn learnt(&self, topology: Topology) -> Arc<Topology> {
        let topology = Arc::new(topology);
        *locked(&self.nodes) = topology.nodes();
        *locked(&self.topology) = Some(Arc::clone(&topology));
        self.reached.store(true, Relaxed);
        topology
    }

    /// A single server has all slots, whether it answers or not.
    pub(crate) fn single(&self, node: &Node) -> Arc<Topology> {
        let topology = Arc::new(Topology::single(node));
        *locked(&self.topology) = Some(Arc::clone(&topology));
        topology
    }

    /// Forget this outdated map. A newer one that others have read stays.
    pub(crate) fn forget(&self, old: &Arc<Topology>) {
        let mut topology = locked(&self.topology);
        if topology.as_ref().is_some_and(|now| Arc::ptr_eq(now, old)) {
            *topology = None;
        }
    }

    /// The nodes to ask for the slot map, in this order: those of the address and those that the
    /// cluster reported, with those that did not answer lately at the end.
    pub(crate) fn candidates(&self, address: &Address) -> Vec<Node> {
        let mut all: Vec<Node> = vec![];
        for node in address.nodes().chain(locked(&self.nodes).iter()) {
            if !all.contains(node) {
                all.push(node.clone());
            }
        }
        let suspects = locked(&self.suspects);
        all.sort_by_key(|node| suspects.contains(node));
        all
    }

    pub(crate) fn answered(&self, node: &Node) {
        self.reached.store(true, Relaxed);
        locked(&self.suspects).remove(node);
    }

    pub(crate) fn silent(&self, node: &Node) {
        locked(&self.suspects).insert(node.clone());
    }

    /// Whether any node has ever answered: before that, patience is pointless.
    pub(crate) fn is_reached(&self) -> bool {
        self.reached.load(Relaxed)
    }
}

/// The deadline for one of `n` nodes, so that the last of them and the call itself have time left.
pub(crate) fn share(until: Instant, left: usize) -> Instant {
    let now = Instant::now();
    let share = until.saturating_duration_since(now) / (left as u32 + 1);
    now + share.max(Duration::from_millis(1))
}

/// Of several errors, the one that somebody can fix.
pub(crate) fn worse(one: Option<LinkError>, other: LinkError) -> LinkError {
    match one {
        Some(one) if !one.is_of_the_moment() || other.is_of_the_moment() => one,
        _ => other,
    }
}

pub(crate) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
