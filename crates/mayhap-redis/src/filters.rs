//! The filters of a server or cluster: who keeps them there, and what is under a key.

use crate::router::{How, Order, Router, said};
use crate::slot::{beside, slot_of};
use crate::{Address, Descriptor, FilterError, LinkError, Reply, Wait};
use redis::{Cmd, Value, cmd};
use std::sync::Arc;
use std::time::Duration;

/// How long a cluster may take to mend itself before a call gives up.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a server may work on a large piece.
const WORK_WITHIN: Duration = Duration::from_secs(120);

/// Whose module keeps the filters of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// Ours.
    Mayhap,
    /// RedisBloom, which is part of Redis 8.
    RedisBloom,
    /// valkey-bloom. It can be asked and added to; it has no `BF.SCANDUMP` to save with.
    ValkeyBloom,
}

impl Make {
    /// By the commands there are: `UNSEEN` is ours alone, and valkey-bloom has no `SCANDUMP`.
    fn by(known: &[bool]) -> Option<Make> {
        match known {
            [true, ..] => Some(Make::Mayhap),
            [_, true, _] => Some(Make::RedisBloom),
            [_, _, true] => Some(Make::ValkeyBloom),
            _ => None,
        }
    }

    /// The name shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            Make::Mayhap => "mayhap",
            Make::RedisBloom => "RedisBloom",
            Make::ValkeyBloom => "valkey-bloom",
        }
    }
}

/// What is under a key.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Held {
    /// Nothing.
    Nothing,
    /// A filter, all of it.
    Filter,
    /// What tells of a filter over many keys.
    Shards(Box<Descriptor>),
    /// Something else, by the server's name for it.
    Other(String),
}

/// The filters of a server or cluster.
///
/// ```no_run
/// use mayhap_redis::{Address, Filters, Make};
/// let (address, _) = Address::parse("redis+cluster://10.0.0.7:7000")?;
/// let filters = Filters::connect(address, "BF")?;
/// assert_eq!(filters.make(), Make::Mayhap);
/// # Ok::<(), mayhap_redis::FilterError>(())
/// ```
pub struct Filters {
    pub(crate) router: Router,
    prefix: String,
    make: Make,
    wait: Option<Wait>,
    identities: bool,
    cancelled: Option<Arc<Cancelled>>,
}

/// Whether somebody wants a transfer to end.
type Cancelled = dyn Fn() -> bool + Send + Sync;

impl Filters {
    /// Connect, and find out who keeps filters there under this prefix of commands, `BF` mostly.
    pub fn connect(address: Address, prefix: &str) -> Result<Filters, FilterError> {
        Filters::connect_with(address, prefix, PATIENCE)
    }

    /// The same; a call gives up when a failover or a move of slots takes longer than `patience`. A
    /// `timeout=` in the address counts instead, and for calls that carry much data, too.
    pub fn connect_with(
        address: Address,
        prefix: &str,
        patience: Duration,
    ) -> Result<Filters, FilterError> {
        let router = Router::new(address, patience);
        let names = ["UNSEEN", "SCANDUMP", "INSERT", "SHARDMEXISTS"];
        let names = names.map(|name| format!("{prefix}.{name}"));
        let order = Order::anywhere(cmd("COMMAND").arg("INFO").arg(&names));
        let reply = router.ask(&[order], router.how())?.remove(0);
        let known: Vec<bool> = match reply {
            Ok(Value::Array(rows)) => rows.iter().map(|row| !matches!(row, Value::Nil)).collect(),
            Ok(_) => vec![],
            Err(what) => return Err(LinkError::Refused { what }.into()),
        };
        let Some(make) = Make::by(&known[..known.len().min(3)]) else {
            let (address, prefix) = (router.name().to_owned(), prefix.to_owned());
            return Err(FilterError::NoModule { address, prefix });
        };
        let identities = make == Make::Mayhap && known.get(3) == Some(&true);
        let prefix = prefix.to_owned();
        Ok(Filters { router, prefix, make, wait: None, identities, cancelled: None })
    }

    /// Transfers ask this between their pieces, and end with [`FilterError::Cancelled`] once it says
    /// yes; a load then removes what it has sent.
    pub fn with_cancel(self, cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Filters {
        Filters { cancelled: Some(Arc::new(cancelled)), ..self }
    }

    /// As if the module there were one that keeps no identities of shards.
    #[doc(hidden)]
    pub fn without_identities(self) -> Filters {
        Filters { identities: false, ..self }
    }

    /// Whether the module keeps identities of shards.
    pub(crate) fn keeps_identities(&self) -> bool {
        self.identities
    }

    /// Fails once somebody wants the transfer to end.
    pub(crate) fn check_cancelled(&self) -> Result<(), FilterError> {
        match &self.cancelled {
            Some(cancelled) if cancelled() => Err(FilterError::Cancelled),
            _ => Ok(()),
        }
    }

    /// The name of a command, with its prefix.
    pub(crate) fn command_name(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    /// The node that has this slot, for people.
    pub(crate) fn node_of(&self, slot: u16) -> String {
        let names = self.router.node_names(&[slot]);
        let name = names.ok().and_then(|names| names.into_iter().next());
        name.unwrap_or_else(|| self.router.name().to_owned())
    }

    /// Take nothing for written before so many replicas have it: then it survives a failover.
    pub fn with_wait(self, wait: Wait) -> Filters {
        Filters { wait: (wait.replicas > 0).then_some(wait), ..self }
    }

    /// Whose module it is.
    pub fn make(&self) -> Make {
        self.make
    }

    /// Where they are.
    pub fn address(&self) -> &Address {
        self.router.address()
    }

    /// What is under a key.
    pub fn look(&self, key: &[u8]) -> Result<Held, FilterError> {
        check_key(key)?;
        let slot = slot_of(key);
        let kind = self.one(key, Order::at(slot, cmd("TYPE").arg(key)), self.reading())?;
        Ok(match text(&kind).as_str() {
            "none" => Held::Nothing,
            "mayhap-bf" | "MBbloom--" | "bloomfltr" => Held::Filter,
            "string" => {
                let value = self.one(key, Order::at(slot, cmd("GET").arg(key)), self.reading())?;
                match value {
                    Value::BulkString(bytes) if Descriptor::is_one(&bytes) => {
                        let broken = |what| FilterError::Descriptor { key: shown(key), what };
                        Held::Shards(Box::new(Descriptor::decode(&bytes).map_err(broken)?))
                    }
                    _ => Held::Other("string".to_owned()),
                }
            }
            other => Held::Other(other.to_owned()),
        })
    }

    /// Make an empty filter under one key, which grows as the server has it.
    pub fn reserve(&self, key: &[u8], capacity: u64, fpr: f64) -> Result<(), FilterError> {
        check_key(key)?;
        let mut reserve = self.command("RESERVE", key);
        reserve.arg(fpr.to_string()).arg(capacity);
        match self.one(key, Order::at(slot_of(key), &reserve), self.carrying()) {
            Err(FilterError::Refused { what, .. }) if what == "item exists" => {
                Err(FilterError::Exists { key: shown(key) })
            }
            Err(error) => Err(error),
            Ok(_) => self.settle(std::iter::once(key)),
        }
    }

    /// A command of the module.
    pub(crate) fn command(&self, name: &str, key: &[u8]) -> Cmd {
        let mut command = cmd(&self.command_name(name));
        command.arg(key);
        command
    }

    /// How questions are asked: again where a connection is lost.
    pub(crate) fn reading(&self) -> How {
        self.router.how()
    }

    /// How items are added: again too, for what is in stays in.
    pub(crate) fn writing(&self) -> How {
        self.router.how().with_wait(self.wait)
    }

    /// How a server is told what it must not be told twice. Nobody waits for replicas then:
    /// [`settle`](Filters::settle) does.
    pub(crate) fn carrying(&self) -> How {
        self.router.how().repeatable(false).for_work(WORK_WITHIN)
    }

    /// Wait until replicas have what was written under these keys, if they must.
    pub(crate) fn settle<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<(), FilterError> {
        if self.wait.is_none() {
            return Ok(());
        }
        // What is waited for is all that came before the last write of this connection, so it
        // must write something; after a command that changes nothing Valkey waits for nothing.
        let mut orders = Vec::new();
        for key in keys {
            let (slot, beside) = (slot_of(key), beside(key, "waited"));
            orders.push(Order::at(slot, cmd("SET").arg(&beside).arg("").arg("EX").arg(10)));
            orders.push(Order::at(slot, cmd("UNLINK").arg(&beside)));
        }
        self.router.ask(&orders, self.writing())?;
        Ok(())
    }

    /// How it is asked for large pieces.
    pub(crate) fn fetching(&self) -> How {
        self.reading().for_work(WORK_WITHIN)
    }

    /// One order; what the server has against it is an error about the key.
    pub(crate) fn one(&self, key: &[u8], order: Order, how: How) -> Result<Value, FilterError> {
        let reply = self.router.ask(&[order], how)?.remove(0);
        reply.map_err(|what| refusal(key, what))
    }

    /// Several about one key; the first that the server has something against is an error.
    pub(crate) fn all(
        &self,
        key: &[u8],
        orders: &[Order],
        how: How,
    ) -> Result<Vec<Value>, FilterError> {
        let replies: Vec<Reply> = self.router.ask(orders, how)?;
        replies.into_iter().map(|reply| reply.map_err(|what| refusal(key, what))).collect()
    }
}

/// Servers take an empty name for a key as any other; here it is an unset variable.
pub(crate) fn check_key(key: &[u8]) -> Result<(), FilterError> {
    if key.is_empty() { Err(FilterError::EmptyName) } else { Ok(()) }
}

/// What the server has against a command, sorted.
pub(crate) fn refusal(key: &[u8], what: String) -> FilterError {
    let key = shown(key);
    if what.starts_with("WRONGTYPE") {
        return FilterError::WrongType { key, got: "something else".to_owned() };
    }
    if what.contains("filter is full") {
        return FilterError::Full { key };
    }
    let what = what.strip_prefix("ERR ").unwrap_or(&what).to_owned();
    FilterError::Refused { key, what }
}

/// One answer of many: yes or no, or what the server had against the rest.
pub(crate) fn yes(key: &[u8], value: &Value) -> Result<bool, FilterError> {
    match value {
        Value::Int(number) => Ok(*number != 0),
        Value::Boolean(yes) => Ok(*yes),
        Value::ServerError(error) => Err(refusal(key, said(error))),
        other => Err(unexpected(key, other)),
    }
}

/// An answer of another shape than the command has.
pub(crate) fn unexpected(key: &[u8], value: &Value) -> FilterError {
    let what = format!("the server answered {value:?}, which is not understood");
    FilterError::Refused { key: shown(key), what }
}

pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Okay => "OK".to_owned(),
        _ => String::new(),
    }
}

/// A key for people.
pub(crate) fn shown(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_foreign::redisbloom::{Chain, Scaling};

    /// Of a server that nobody asks, because what it has is known.
    fn on(make: Make) -> Arc<Filters> {
        let (address, _) = Address::parse("redis://127.0.0.1:1").unwrap();
        let router = Router::new(address, Duration::ZERO);
        let prefix = "BF".to_owned();
        Arc::new(Filters { router, prefix, make, wait: None, identities: true, cancelled: None })
    }

    #[test]
    fn modules_are_known_by_their_commands() {
        let make = |known: [bool; 3]| Make::by(&known);
        assert_eq!(make([true, true, true]), Some(Make::Mayhap));
        assert_eq!(make([false, true, true]), Some(Make::RedisBloom));
        assert_eq!(make([false, false, true]), Some(Make::ValkeyBloom));
        assert_eq!(make([false; 3]), None);
        assert_eq!(Make::by(&[]), None);
    }

    #[test]
    fn what_does_not_go_together_is_told_before_anybody_is_asked() {
        let paired = |error: Result<(), FilterError>| match error {
            Err(FilterError::Pairing { what, .. }) => Err(what),
            Err(FilterError::Link(_)) => Ok(()), // it got as far as the server
            other => panic!("{other:?}"),
        };
        let load_ours = |make| paired(on(make).load_file(b"f", b"", None, false, &|_| ()));
        assert!(load_ours(Make::RedisBloom).unwrap_err().contains("RedisBloom"));
        assert!(load_ours(Make::ValkeyBloom).unwrap_err().contains("valkey-bloom"));
        assert_eq!(load_ours(Make::Mayhap), Ok(()));
        let chain = Chain::reserve(100, 0.01, Scaling::Fixed).unwrap();
        let load_theirs = |make| paired(on(make).load_chain(b"f", &chain, false, &|_| ()));
        assert!(load_theirs(Make::ValkeyBloom).is_err());
        assert_eq!([Make::RedisBloom, Make::Mayhap].map(load_theirs), [Ok(()), Ok(())]);
        let save = |make| paired(on(make).save(b"f", &mut Vec::new(), &|_| ()).map(drop));
        assert!(save(Make::ValkeyBloom).is_err());
        assert_eq!([Make::RedisBloom, Make::Mayhap].map(save), [Ok(()), Ok(())]);
    }
}
