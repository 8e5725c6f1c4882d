//! Batches to all nodes at once, tried again where a cluster changes under them.
//!
//! Each node has a connection of its own. What is for it goes out in one piece, to all nodes
//! before any is waited for. So a `WAIT` goes along with what it is to wait for: on the same
//! connection, behind it.

use crate::pool::{client_at, open, slot_ranges};
use crate::request::Reply;
use crate::{Address, LinkError};
use redis::{Client, Cmd, Connection, ServerError, Value};
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Connections kept for later.
const KEPT: usize = 64;
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// One command, and the slot of the key it is about.
pub(crate) struct Order {
    slot: Option<u16>,
    packed: Vec<u8>,
}

impl Order {
    /// A command about keys of this slot.
    pub(crate) fn at(slot: u16, command: &Cmd) -> Order {
        Order { slot: Some(slot), packed: command.get_packed_command() }
    }

    /// A command that any node can answer.
    pub(crate) fn anywhere(command: &Cmd) -> Order {
        Order { slot: None, packed: command.get_packed_command() }
    }
}

/// How many replicas must have what was written before it counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// So many.
    pub replicas: u32,
    /// Within this time; then it is written again.
    pub within: Duration,
}

/// How a batch is to be asked.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// Whether it may be done twice: then a lost connection is no end.
    pub again: bool,
    /// How long an answer may take.
    pub within: Duration,
    /// Who else must have what is written.
    pub wait: Option<Wait>,
}

/// Where a node is; empty where there is but one.
type Node = (String, u16);

pub(crate) struct Router {
    address: Address,
    name: String,
    patience: Duration,
    /// Whether anybody ever answered: before, there is nothing to be patient for.
    reached: AtomicBool,
    idle: Mutex<Vec<Wires>>,
}

/// One connection a node, as far as they were needed.
#[derive(Default)]
struct Wires {
    slots: Vec<(RangeInclusive<u16>, Node)>,
    open: HashMap<Node, Connection>,
}

/// What became of an order.
enum Heard {
    Done(Reply),
    /// Not now, or not here.
    Later(String),
    /// There, and only this once.
    Ask(Node),
}

impl Router {
    pub(crate) fn new(address: Address, patience: Duration) -> Router {
        let name = address.to_string();
        Router {
            address,
            name,
            patience,
            reached: AtomicBool::new(false),
            idle: Mutex::new(vec![]),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How most batches are asked.
    pub(crate) fn how(&self) -> How {
        How { again: true, within: self.address.answer_within(), wait: None }
    }

    /// Ask all of this; the answers come in the same order.
    pub(crate) fn ask(&self, orders: &[Order], how: How) -> Result<Vec<Reply>, LinkError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut wires = kept.unwrap_or_default();
        let replies = self.drive(&mut wires, orders, how)?;
        let mut idle = idle();
        if idle.len() < KEPT {
            idle.push(wires);
        }
        Ok(replies)
    }

    fn drive(
        &self,
        wires: &mut Wires,
        orders: &[Order],
        how: How,
    ) -> Result<Vec<Reply>, LinkError> {
        let end = Instant::now() + self.patience;
        let mut replies: Vec<Option<Reply>> = orders.iter().map(|_| None).collect();
        let mut pause = FIRST_PAUSE;
        loop {
            let trouble = match self.round(wires, orders, how, &mut replies) {
                Ok(trouble) => trouble,
                Err(error @ LinkError::Away { .. }) if self.reached.load(Relaxed) => Some(error),
                Err(error) => return Err(error),
            };
            let Some(trouble) = trouble else {
                self.reached.store(true, Relaxed);
                return Ok(replies.into_iter().flatten().collect());
            };
            let lost = matches!(&trouble, LinkError::Away { .. });
            if Instant::now() >= end || (lost && !how.again) {
                return Err(trouble);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
            // If nobody can tell, the next round will fail again.
            _ = self.learn_slots(wires);
        }
    }

    /// Send what has no answer yet, and hear the answers. What is in the way of some, if anything.
    fn round(
        &self,
        wires: &mut Wires,
        orders: &[Order],
        how: How,
        replies: &mut [Option<Reply>],
    ) -> Result<Option<LinkError>, LinkError> {
        if wires.slots.is_empty() {
            self.learn_slots(wires)?;
        }
        let mut trouble = None;
        let mut by_node: BTreeMap<Node, Vec<usize>> = BTreeMap::new();
        for at in (0..orders.len()).filter(|at| replies[*at].is_none()) {
            match wires.node_of(orders[at].slot) {
                Some(node) => by_node.entry(node).or_default().push(at),
                None => trouble = Some(self.away("no node has a slot that is needed")),
            }
        }
        for (node, list) in &by_node {
            let sent = self.wire(wires, node, how.within).and_then(|wire| {
                let mut packed = Vec::new();
                list.iter().for_each(|at| packed.extend_from_slice(&orders[*at].packed));
                packed.extend(wait_for(how));
                wire.send_packed_command(&packed).map_err(|error| self.error(&error))
            });
            if let Err(error) = sent {
                wires.open.remove(node);
                self.fatal(&error)?;
                trouble = Some(error);
            }
        }
        let mut asks = Vec::new();
        for (node, list) in by_node {
            let Some(wire) = wires.open.get_mut(&node) else { continue };
            match self.hear(wire, list.len(), how) {
                Ok((heard, acknowledged)) => {
                    for (at, heard) in list.into_iter().zip(heard) {
                        match heard {
                            Heard::Done(reply) if acknowledged => replies[at] = Some(reply),
                            Heard::Done(_) => trouble = Some(self.alone(how)),
                            Heard::Later(why) => trouble = Some(self.unready(&why)?),
                            Heard::Ask(node) => asks.push((at, node)),
                        }
                    }
                }
                Err(error) => {
                    wires.open.remove(&node);
                    trouble = Some(error);
                }
            }
        }
        for (at, node) in asks {
            match self.ask_there(wires, &node, &orders[at], how) {
                Ok(Some(reply)) => replies[at] = Some(reply),
                Ok(None) => trouble = Some(self.alone(how)),
                Err(error) => {
                    wires.open.remove(&node);
                    trouble = Some(error);
                }
            }
        }
        Ok(trouble)
    }

    /// The answers to so many commands, and whether as many replicas have them as must.
    fn hear(
        &self,
        wire: &mut Connection,
        count: usize,
        how: How,
    ) -> Result<(Vec<Heard>, bool), LinkError> {
        let mut heard = Vec::with_capacity(count);
        for _ in 0..count {
            let value = wire.recv_response().map_err(|error| self.error(&error))?;
            heard.push(listen(value));
        }
        let Some(wait) = how.wait else { return Ok((heard, true)) };
        let replicas = wire.recv_response().map_err(|error| self.error(&error))?;
        let enough = matches!(replicas, Value::Int(got) if got >= i64::from(wait.replicas));
        Ok((heard, enough))
    }

    /// A key on its way to another node: asked for there, this once. `None`: not acknowledged.
    fn ask_there(
        &self,
        wires: &mut Wires,
        node: &Node,
        order: &Order,
        how: How,
    ) -> Result<Option<Reply>, LinkError> {
        let wire = self.wire(wires, node, how.within)?;
        let mut packed = redis::cmd("ASKING").get_packed_command();
        packed.extend_from_slice(&order.packed);
        packed.extend(wait_for(how));
        wire.send_packed_command(&packed).map_err(|error| self.error(&error))?;
        wire.recv_response().map_err(|error| self.error(&error))?;
        let (heard, acknowledged) = self.hear(wire, 1, how)?;
        match heard.into_iter().next() {
            Some(Heard::Done(reply)) => Ok(acknowledged.then_some(reply)),
            Some(Heard::Later(why)) => Err(self.away(&why)),
            _ => Err(self.away("a key that is on its way again")),
        }
    }

    fn wire<'w>(
        &self,
        wires: &'w mut Wires,
        node: &Node,
        within: Duration,
    ) -> Result<&'w mut Connection, LinkError> {
        if !wires.open.contains_key(node) {
            let connect = || {
                let seed = Client::open(self.address.nodes()[0].as_str())?;
                let client = match node.0.as_str() {
                    "" => seed,
                    host => client_at(&seed, host, node.1)?,
                };
                open(&client, &self.address)
            };
            let wire = connect().map_err(|error| self.error(&error))?;
            wires.open.insert(node.clone(), wire);
        }
        let wire = wires.open.get_mut(node).ok_or_else(|| self.away("no connection"))?;
        wire.set_read_timeout(Some(within)).map_err(|error| self.error(&error))?;
        Ok(wire)
    }

    /// Who has which slots, as the first node says that answers.
    fn learn_slots(&self, wires: &mut Wires) -> Result<(), LinkError> {
        if !self.address.is_cluster() {
            wires.slots = vec![(0..=u16::MAX, (String::new(), 0))];
            return Ok(());
        }
        let mut last = None;
        let seeds = self.address.nodes().iter().map(|node| Client::open(node.as_str()));
        let known: Vec<Node> = wires.slots.iter().map(|(_, node)| node.clone()).collect();
        let known = known.iter().map(|(host, port)| {
            client_at(&Client::open(self.address.nodes()[0].as_str())?, host, *port)
        });
        for client in seeds.chain(known) {
            let asked = client.and_then(|client| {
                let ranges = slot_ranges(&mut open(&client, &self.address)?, &client)?;
                Ok(ranges)
            });
            match asked {
                Ok(ranges) if !ranges.is_empty() => {
                    wires.slots =
                        ranges.into_iter().map(|(from, to, node)| (from..=to, node)).collect();
                    return Ok(());
                }
                Ok(_) => last = Some(self.away("a cluster without slots")),
                Err(error) => last = Some(self.error(&error)),
            }
        }
        Err(last.unwrap_or_else(|| self.away("a cluster without nodes")))
    }

    /// Who has a slot, for people.
    pub(crate) fn node_names(&self, slots: &[u16]) -> Result<Vec<String>, LinkError> {
        let mut wires = Wires::default();
        self.learn_slots(&mut wires)?;
        let name = |slot: &u16| match wires.node_of(Some(*slot)) {
            Some((host, port)) if !host.is_empty() => format!("{host}:{port}"),
            _ => self.name.clone(),
        };
        Ok(slots.iter().map(name).collect())
    }

    fn error(&self, error: &redis::RedisError) -> LinkError {
        LinkError::new(&self.name, error)
    }

    fn away(&self, what: &str) -> LinkError {
        LinkError::Away { address: self.name.clone(), what: what.to_owned() }
    }

    /// What no patience mends: a login that is refused, or nobody there in the first place.
    fn fatal(&self, error: &LinkError) -> Result<(), LinkError> {
        let patient = matches!(error, LinkError::Away { .. }) && self.reached.load(Relaxed);
        if patient { Ok(()) } else { Err(error.clone()) }
    }

    fn alone(&self, how: How) -> LinkError {
        let replicas = how.wait.map_or(0, |wait| wait.replicas);
        LinkError::Unacknowledged { address: self.name.clone(), replicas }
    }

    /// A node that cannot answer now. One that speaks of others and is not asked as a cluster
    /// never will.
    fn unready(&self, why: &str) -> Result<LinkError, LinkError> {
        if !self.address.is_cluster() && why.starts_with("MOVED") {
            return Err(LinkError::NotACluster { address: self.name.clone() });
        }
        Ok(LinkError::Unready { address: self.name.clone(), what: why.to_owned() })
    }
}

impl Wires {
    fn node_of(&self, slot: Option<u16>) -> Option<Node> {
        let here = |range: &RangeInclusive<u16>| slot.is_none_or(|slot| range.contains(&slot));
        self.slots.iter().find(|(range, _)| here(range)).map(|(_, node)| node.clone())
    }
}

fn wait_for(how: How) -> Vec<u8> {
    let Some(wait) = how.wait else { return Vec::new() };
    let ms = u64::try_from(wait.within.as_millis()).unwrap_or(u64::MAX).max(1);
    redis::cmd("WAIT").arg(wait.replicas).arg(ms).get_packed_command()
}

fn listen(value: Value) -> Heard {
    let Value::ServerError(error) = value else { return Heard::Done(Ok(value)) };
    match error.code() {
        "ASK" => match node_in(&error) {
            Some(node) => Heard::Ask(node),
            None => Heard::Later(said(&error)),
        },
        "MOVED" | "CLUSTERDOWN" | "TRYAGAIN" | "READONLY" | "LOADING" | "MASTERDOWN" => {
            Heard::Later(said(&error))
        }
        _ => Heard::Done(Err(said(&error))),
    }
}

/// The node in `3999 127.0.0.1:6381`.
fn node_in(error: &ServerError) -> Option<Node> {
    let (host, port) = error.details()?.split_whitespace().nth(1)?.rsplit_once(':')?;
    Some((host.to_owned(), port.parse().ok()?))
}

/// As the server put it.
pub(crate) fn said(error: &ServerError) -> String {
    match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().to_owned(),
    }
}
