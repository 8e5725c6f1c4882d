//! Who has which slots, and who answers at all. No socket here.

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
    /// Who said so: a node that answers.
    told_by: Node,
}

impl Topology {
    /// One server has them all.
    pub(crate) fn single(node: &Node) -> Topology {
        Topology { ranges: vec![(0..=u16::MAX, node.clone())], told_by: node.clone() }
    }

    /// What a node answered to `CLUSTER SLOTS`. One that does not know its own name is where it
    /// was asked.
    pub(crate) fn read(asked: &Node, name: &str, value: Value) -> Result<Topology, LinkError> {
        let rows = match value {
            Value::Array(rows) => rows,
            Value::ServerError(error) => {
                let (address, what) = (name.to_owned(), crate::batch::said(&error));
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

    /// Who has a slot; for what needs none, somebody who answers.
    pub(crate) fn node_of(&self, slot: Option<u16>) -> Option<&Node> {
        let Some(slot) = slot else { return Some(&self.told_by) };
        self.ranges.iter().find(|(range, _)| range.contains(&slot)).map(|(_, node)| node)
    }

    /// All that have slots, once each.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        let mut nodes: Vec<Node> = self.ranges.iter().map(|(_, node)| node.clone()).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }
}

/// A row: first slot, last slot, and where the primary is.
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

/// What has been learnt of a server or cluster, by all calls together.
#[derive(Default)]
pub(crate) struct Known {
    topology: Mutex<Option<Arc<Topology>>>,
    /// Where nodes were when last heard of.
    nodes: Mutex<Vec<Node>>,
    /// Who did not answer lately: asked last.
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

    /// One server has all slots, whether it answers or not.
    pub(crate) fn single(&self, node: &Node) -> Arc<Topology> {
        let topology = Arc::new(Topology::single(node));
        *locked(&self.topology) = Some(Arc::clone(&topology));
        topology
    }

    /// This is not how it is any more. What others have learnt since stays.
    pub(crate) fn forget(&self, old: &Arc<Topology>) {
        let mut topology = locked(&self.topology);
        if topology.as_ref().is_some_and(|now| Arc::ptr_eq(now, old)) {
            *topology = None;
        }
    }

    /// Whom to ask for the slots, in this order: whom the address names and whom the cluster
    /// told of, and those who did not answer lately at the end.
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

    /// Whether anybody ever answered: before, there is nothing to be patient for.
    pub(crate) fn is_reached(&self) -> bool {
        self.reached.load(Relaxed)
    }
}

/// Until when one of so many is asked, so that the last of them has its turn, and the call itself.
pub(crate) fn share(until: Instant, left: usize) -> Instant {
    let now = Instant::now();
    let share = until.saturating_duration_since(now) / (left as u32 + 1);
    now + share.max(Duration::from_millis(1))
}

/// What nobody can be blamed for alone: of all errors the one that somebody can mend.
pub(crate) fn worse(one: Option<LinkError>, other: LinkError) -> LinkError {
    match one {
        Some(one) if !one.is_of_the_moment() || other.is_of_the_moment() => one,
        _ => other,
    }
}

pub(crate) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
