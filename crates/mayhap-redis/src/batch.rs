//! One call on its way: what has an answer, what goes where next, and when to give up. No socket
//! here: `router.rs` and `async_router.rs` send and receive.

use crate::address::Node;
use crate::request::Reply;
use crate::topology::Topology;
use crate::{Address, LinkError, Request};
use redis::{ServerError, Value};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Less time than this is no time for another round.
const TOO_SHORT: Duration = Duration::from_millis(2);
/// Slots that have moved are followed so often at once; then there is a pause.
const MOVES_AT_ONCE: u32 = 5;

/// How many replicas must have what was written before it counts as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// So many.
    pub replicas: u32,
    /// Within this time, which is a part of the call's.
    pub within: Duration,
}

/// How a batch is to be asked.
#[derive(Clone, Copy, Debug)]
pub struct RequestOptions {
    /// Whether it may be done twice: then a lost connection is no end.
    pub(crate) again: bool,
    /// How long all of it may take.
    pub(crate) within: Duration,
    /// How long one node may take to answer.
    pub(crate) attempt: Duration,
    /// Whether the address says how long, and nobody may take longer.
    pub(crate) is_fixed: bool,
    /// Whether to go on trying until the time is over, or to give up as soon as it is known that
    /// trying again at once would not help.
    pub(crate) is_patient: bool,
    /// Who else must have what is written.
    pub(crate) wait: Option<Wait>,
    /// When it must be over, where it is a part of something larger.
    pub(crate) until: Option<Instant>,
}

impl RequestOptions {
    /// Whether it may be done twice. What only asks may; what changes something and tells how it
    /// was before may not: the second time it tells what the first has done.
    pub fn repeatable(self, again: bool) -> RequestOptions {
        RequestOptions { again, ..self }
    }

    /// Have so many replicas acknowledge it.
    pub fn with_wait(self, wait: Option<Wait>) -> RequestOptions {
        let longer = wait.map_or(Duration::ZERO, |wait| wait.within);
        let within = if self.is_fixed { self.within } else { self.within + longer };
        RequestOptions { wait, within, attempt: within.min(self.attempt + longer), ..self }
    }

    /// Several calls under one deadline: the time of all of them begins now.
    pub fn starting_now(self) -> RequestOptions {
        RequestOptions { until: Some(self.deadline()), ..self }
    }

    /// What keeps a server busy for long may take so long, unless the address says otherwise.
    pub(crate) fn for_work(self, work: Duration) -> RequestOptions {
        let within = if self.is_fixed { self.within } else { self.within.max(work) };
        RequestOptions { within, attempt: within, ..self }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.until.unwrap_or_else(|| Instant::now() + self.within)
    }
}

/// Answers, in the order of the requests.
#[derive(Debug, Default)]
pub struct Replies {
    /// One each.
    pub replies: Vec<Reply>,
    /// Which node has too few replicas that acknowledged it, if one has.
    pub unacknowledged: Option<LinkError>,
}

/// A call on its way.
pub(crate) struct Batch<'a> {
    address: &'a Address,
    requests: &'a [Request],
    options: RequestOptions,
    until: Instant,
    items: Vec<Item>,
    unacknowledged: Option<LinkError>,
    pause: Duration,
    moves: u32,
    /// Whether a hasty call has had its second chance.
    had_second: bool,
    /// What was in the way of earlier rounds.
    trouble: Option<LinkError>,
    round: Round,
}

#[derive(Default)]
struct Item {
    reply: Option<Reply>,
    /// Where it is to go other than by its slot, and whether only this once.
    moved_to: Option<(Node, bool)>,
    in_full: bool,
}

/// What one round came to.
#[derive(Default)]
struct Round {
    /// What no other try mends.
    failed: Option<LinkError>,
    /// What is in the way of some.
    trouble: Option<LinkError>,
    /// Whether the slots should be learnt anew.
    is_stale: bool,
    uses_second: bool,
    /// Whether a node did not answer in the time there was.
    is_late: bool,
}

/// What goes to one node in one go.
pub(crate) struct Parcel {
    pub node: Node,
    /// Which requests, and whether the node must be told that it is asked out of turn.
    items: Vec<(usize, bool)>,
    wait: Option<(u32, u64)>,
}

impl Parcel {
    /// How many answers it gets.
    pub(crate) fn replies(&self) -> usize {
        let asking = self.items.iter().filter(|(_, asking)| *asking).count();
        self.items.len() + asking + usize::from(self.wait.is_some())
    }
}

/// What comes next.
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
            pause: FIRST_PAUSE,
            moves: 0,
            had_second: false,
            trouble: None,
            round: Round::default(),
        }
    }

    /// When all of it must be over.
    pub(crate) fn until(&self) -> Instant {
        self.until
    }

    /// Until when nodes may answer in this round.
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

    /// What has no answer yet, by node.
    pub(crate) fn parcels(&mut self, topology: &Topology) -> Vec<Parcel> {
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
            // The answer has to come back in time as well.
            let within = wait.within.min(left * 3 / 4);
            (wait.replicas, u64::try_from(within.as_millis()).unwrap_or(u64::MAX).max(1))
        });
        by_node.into_iter().map(|(node, items)| Parcel { node, items, wait }).collect()
    }

    /// A parcel as bytes.
    pub(crate) fn write(&self, parcel: &Parcel) -> Vec<u8> {
        let mut bytes = vec![];
        for (at, asking) in &parcel.items {
            if *asking {
                redis::cmd("ASKING").write_packed_command(&mut bytes);
            }
            self.requests[*at].write(self.items[*at].in_full, &mut bytes);
        }
        if let Some((replicas, ms)) = parcel.wait {
            redis::cmd("WAIT").arg(replicas).arg(ms).write_packed_command(&mut bytes);
        }
        bytes
    }

    /// The same as commands.
    #[cfg(feature = "async")]
    pub(crate) fn pipeline(&self, parcel: &Parcel) -> redis::Pipeline {
        let mut pipe = redis::Pipeline::with_capacity(parcel.replies());
        for (at, asking) in &parcel.items {
            if *asking {
                pipe.add_command(redis::cmd("ASKING"));
            }
            pipe.add_command(self.requests[*at].cmd(self.items[*at].in_full));
        }
        if let Some((replicas, ms)) = parcel.wait {
            let mut wait = redis::cmd("WAIT");
            wait.arg(replicas).arg(ms);
            pipe.add_command(wait);
        }
        pipe
    }

    /// Nobody could tell the slots.
    pub(crate) fn unlearnt(&mut self, error: LinkError, is_reached: bool) {
        self.unsent(error, is_reached);
    }

    /// A node could not be reached; nothing was sent there.
    pub(crate) fn unsent(&mut self, error: LinkError, is_reached: bool) {
        self.round.is_stale = true;
        let again = match self.options.is_patient {
            true => is_reached,
            // The cluster may have another in its place by now.
            false => self.address.is_cluster() && !self.had_second,
        };
        let again = again && error.is_of_the_moment();
        note(&mut self.round, error, again, true);
    }

    /// A connection was lost after something was sent: it may have been done.
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

    /// What a node answered to a parcel.
    pub(crate) fn heard(&mut self, parcel: &Parcel, values: Vec<Value>) {
        let name = self.address.node_name(&parcel.node);
        let mut values = values.into_iter();
        let answers: Vec<(usize, Value)> = parcel
            .items
            .iter()
            .filter_map(|(at, asking)| {
                if *asking {
                    values.next();
                }
                Some((*at, values.next()?))
            })
            .collect();
        let acknowledged = match (parcel.wait, values.next()) {
            (Some((replicas, _)), Some(Value::Int(got))) => got >= i64::from(replicas),
            (wait, _) => wait.is_none(),
        };
        for (at, value) in answers {
            self.answer(at, &parcel.node, &name, value, acknowledged);
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
        let what = said(&error);
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
                // It was a primary when the slots were learnt.
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
            // Of a cluster's nodes one has no room or rights: which?
            "OOM" | "MISCONF" | "NOPERM" if is_cluster => {
                self.items[at].reply = Some(Err(format!("{what} (node {name})")));
            }
            _ => self.items[at].reply = Some(Err(what)),
        }
    }

    /// The end of a round. True with it if the slots should be learnt anew.
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
            // What a server said tells more than that there was no time for it to say it again.
            let said = self.trouble.take().filter(|_| round.is_late);
            let trouble = said.or_else(|| round.trouble.clone());
            let late = || LinkError::too_late(&self.address.to_string(), Some(self.options.within));
            return Step::Failed(trouble.unwrap_or_else(late));
        }
        if !round.is_late && round.trouble.is_some() {
            self.trouble.clone_from(&round.trouble);
        }
        if round.trouble.is_none() {
            self.moves += 1;
            if self.moves <= MOVES_AT_ONCE {
                return Step::Again(Duration::ZERO);
            }
        }
        let pause = self.pause.min(left);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Step::Again(pause)
    }
}

/// Something is in the way: of this try, or for good.
fn note(round: &mut Round, error: LinkError, again: bool, is_second: bool) {
    if again {
        round.uses_second |= is_second;
        // The first: others may only have been kept waiting by it.
        round.trouble.get_or_insert(error);
    } else {
        round.failed = Some(crate::topology::worse(round.failed.take(), error));
    }
}

/// The node in `MOVED 3999 127.0.0.1:6381`; without a host it is where the answer came from.
fn target(from: &Node, what: &str) -> Option<Node> {
    let (host, port) = what.split_whitespace().nth(2)?.rsplit_once(':')?;
    let host = if host.is_empty() { &from.host } else { host };
    Some(Node { host: host.to_owned(), port: port.parse().ok()? })
}

/// What the server has against it, in one word. Servers before 7.0 wrap what a script meets.
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

/// Whether it is of the moment: the server is there and will answer before long.
pub(crate) fn is_passing(what: &str) -> bool {
    let codes = ["LOADING", "BUSY", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS"];
    codes.contains(&code(what)) || what.contains("max number of clients")
}

/// As the server put it.
pub(crate) fn said(error: &ServerError) -> String {
    match error.details() {
        Some(details) => format!("{} {details}", error.code()),
        None => error.code().to_owned(),
    }
}

#[cfg(test)]
mod tests;
