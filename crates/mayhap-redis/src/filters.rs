//! The filters of a server or cluster: which module keeps them, and what a key holds.

use crate::router::{Request, RequestOptions, Router, message};
use crate::slot::{sibling_key, slot_of};
use crate::{Address, Descriptor, FilterError, LinkError, Reply, Wait};
use redis::{Cmd, Value, cmd};
use std::sync::Arc;
use std::time::Duration;

/// How long a call is retried while a cluster fails over.
const RETRY_FOR: Duration = Duration::from_secs(30);
/// The time limit for one large chunk.
const WORK_WITHIN: Duration = Duration::from_secs(120);

/// The module that keeps the filters of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerModule {
    /// The Mayhap module.
    Mayhap,
    /// RedisBloom, which is part of Redis 8.
    RedisBloom,
    /// valkey-bloom. It supports lookups and adding; it has no `BF.SCANDUMP` to save with.
    ValkeyBloom,
}

impl ServerModule {
    /// By the commands that exist: only Mayhap has `UNSEEN`, and valkey-bloom has no `SCANDUMP`.
    fn by(known: &[bool]) -> Option<ServerModule> {
        match known {
            [true, ..] => Some(ServerModule::Mayhap),
            [_, true, _] => Some(ServerModule::RedisBloom),
            [_, _, true] => Some(ServerModule::ValkeyBloom),
            _ => None,
        }
    }

    /// The name shown to users.
    pub const fn name(self) -> &'static str {
        match self {
            ServerModule::Mayhap => "mayhap",
            ServerModule::RedisBloom => "RedisBloom",
            ServerModule::ValkeyBloom => "valkey-bloom",
        }
    }
}

/// What a key holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum KeyContent {
    /// Nothing.
    Nothing,
    /// A whole filter.
    Filter,
    /// The descriptor of a sharded filter.
    Shards(Box<Descriptor>),
    /// Another type, by the server's name for it.
    Other(String),
}

/// The filters of a server or cluster.
///
/// ```no_run
/// use mayhap_redis::{Address, Filters, ServerModule};
/// let (address, _) = Address::parse("redis+cluster://10.0.0.7:7000")?;
/// let filters = Filters::connect(address, "BF")?;
/// assert_eq!(filters.server_module(), ServerModule::Mayhap);
/// # Ok::<(), mayhap_redis::FilterError>(())
/// ```
pub struct Filters {
    pub(crate) router: Router,
    prefix: String,
    server_module: ServerModule,
    wait: Option<Wait>,
    identities: bool,
    cancelled: Option<Arc<Cancelled>>,
}

/// Whether the transfer is cancelled.
type Cancelled = dyn Fn() -> bool + Send + Sync;

impl Filters {
    /// Connect, and detect the module with this command prefix, usually `BF`.
    pub fn connect(address: Address, prefix: &str) -> Result<Filters, FilterError> {
        Filters::connect_with(address, prefix, RETRY_FOR)
    }

    /// The same; calls are retried for `patience` during a failover or a slot migration. A
    /// `timeout=` in the address takes precedence, also for calls that carry much data.
    pub fn connect_with(
        address: Address,
        prefix: &str,
        patience: Duration,
    ) -> Result<Filters, FilterError> {
        let router = Router::new(address, patience);
        let names = ["UNSEEN", "SCANDUMP", "INSERT", "SHARDMEXISTS"];
        let names = names.map(|name| format!("{prefix}.{name}"));
        let request = Request::anywhere(cmd("COMMAND").arg("INFO").arg(&names));
        let reply = router.send(&[request], router.options())?.remove(0);
        let known: Vec<bool> = match reply {
            Ok(Value::Array(rows)) => rows.iter().map(|row| !matches!(row, Value::Nil)).collect(),
            Ok(_) => vec![],
            Err(what) => return Err(LinkError::Refused { what }.into()),
        };
        let Some(server_module) = ServerModule::by(&known[..known.len().min(3)]) else {
            let (address, prefix) = (router.name().to_owned(), prefix.to_owned());
            return Err(FilterError::NoModule { address, prefix });
        };
        let identities = server_module == ServerModule::Mayhap && known.get(3) == Some(&true);
        let prefix = prefix.to_owned();
        Ok(Filters { router, prefix, server_module, wait: None, identities, cancelled: None })
    }

    /// Transfers call this between chunks, and end with [`FilterError::Cancelled`] once it returns
    /// true; a load then removes what it has sent.
    pub fn with_cancel(self, cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Filters {
        Filters { cancelled: Some(Arc::new(cancelled)), ..self }
    }

    /// Treat the module as one without shard identities.
    #[doc(hidden)]
    pub fn without_identities(self) -> Filters {
        Filters { identities: false, ..self }
    }

    /// Whether the module stores shard identities.
    pub(crate) fn keeps_identities(&self) -> bool {
        self.identities
    }

    /// Fails once the transfer is cancelled.
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

    /// The node that has this slot, as shown in messages.
    pub(crate) fn node_of(&self, slot: u16) -> String {
        let names = self.router.node_names(&[slot]);
        let name = names.ok().and_then(|names| names.into_iter().next());
        name.unwrap_or_else(|| self.router.name().to_owned())
    }

    /// Wait for this many replicas to acknowledge each write: then it survives a failover.
    pub fn with_wait(self, wait: Wait) -> Filters {
        Filters { wait: (wait.replicas > 0).then_some(wait), ..self }
    }

    /// The server's module.
    pub fn server_module(&self) -> ServerModule {
        self.server_module
    }

    /// The address.
    pub fn address(&self) -> &Address {
        self.router.address()
    }

    /// What a key holds.
    pub fn key_content(&self, key: &[u8]) -> Result<KeyContent, FilterError> {
        check_key(key)?;
        let slot = slot_of(key);
        let kind = self.one(key, Request::at(slot, cmd("TYPE").arg(key)), self.reading())?;
        Ok(match text(&kind).as_str() {
            "none" => KeyContent::Nothing,
            "mayhap-bf" | "MBbloom--" | "bloomfltr" => KeyContent::Filter,
            "string" => {
                let value =
                    self.one(key, Request::at(slot, cmd("GET").arg(key)), self.reading())?;
                match value {
                    Value::BulkString(bytes) if Descriptor::is_one(&bytes) => {
                        let broken = |what| FilterError::Descriptor { key: shown(key), what };
                        KeyContent::Shards(Box::new(Descriptor::decode(&bytes).map_err(broken)?))
                    }
                    _ => KeyContent::Other("string".to_owned()),
                }
            }
            other => KeyContent::Other(other.to_owned()),
        })
    }

    /// Create an empty filter under one key, which grows by the server's rules.
    pub fn reserve(&self, key: &[u8], capacity: u64, fpr: f64) -> Result<(), FilterError> {
        check_key(key)?;
        let mut reserve = self.command("RESERVE", key);
        reserve.arg(fpr.to_string()).arg(capacity);
        match self.one(key, Request::at(slot_of(key), &reserve), self.upload_options()) {
            Err(FilterError::Refused { what, .. }) if what == "item exists" => {
                Err(FilterError::Exists { key: shown(key) })
            }
            Err(error) => Err(error),
            Ok(_) => self.wait_for_replicas(std::iter::once(key)),
        }
    }

    /// A command of the module.
    pub(crate) fn command(&self, name: &str, key: &[u8]) -> Cmd {
        let mut command = cmd(&self.command_name(name));
        command.arg(key);
        command
    }

    /// Options for reads: repeated after a lost connection.
    pub(crate) fn reading(&self) -> RequestOptions {
        self.router.options()
    }

    /// Options for adding items: repeated too, because adding is idempotent.
    pub(crate) fn writing(&self) -> RequestOptions {
        self.router.options().with_wait(self.wait)
    }

    /// Options for writes that must not be repeated. They do not wait for replicas:
    /// [`wait_for_replicas`](Filters::wait_for_replicas) does.
    pub(crate) fn upload_options(&self) -> RequestOptions {
        self.router.options().repeatable(false).for_work(WORK_WITHIN)
    }

    /// Wait until replicas have what was written under these keys, if required.
    pub(crate) fn wait_for_replicas<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<(), FilterError> {
        if self.wait.is_none() {
            return Ok(());
        }
        // `WAIT` covers everything before the last write of this connection, so it must write
        // something; after a command that changes nothing Valkey does not wait.
        let mut requests = Vec::new();
        for key in keys {
            let (slot, sibling_key) = (slot_of(key), sibling_key(key, "waited"));
            requests
                .push(Request::at(slot, cmd("SET").arg(&sibling_key).arg("").arg("EX").arg(10)));
            requests.push(Request::at(slot, cmd("UNLINK").arg(&sibling_key)));
        }
        self.router.send(&requests, self.writing())?;
        Ok(())
    }

    /// Options for downloading large chunks.
    pub(crate) fn download_options(&self) -> RequestOptions {
        self.reading().for_work(WORK_WITHIN)
    }

    /// One request; an error reply becomes an error about the key.
    pub(crate) fn one(
        &self,
        key: &[u8],
        request: Request,
        options: RequestOptions,
    ) -> Result<Value, FilterError> {
        let reply = self.router.send(&[request], options)?.remove(0);
        reply.map_err(|what| refusal(key, what))
    }

    /// Several requests about one key; the first error reply becomes an error.
    pub(crate) fn all(
        &self,
        key: &[u8],
        requests: &[Request],
        options: RequestOptions,
    ) -> Result<Vec<Value>, FilterError> {
        let replies: Vec<Reply> = self.router.send(requests, options)?;
        replies.into_iter().map(|reply| reply.map_err(|what| refusal(key, what))).collect()
    }
}

/// Servers accept an empty key; here it is most likely an unset variable.
pub(crate) fn check_key(key: &[u8]) -> Result<(), FilterError> {
    if key.is_empty() { Err(FilterError::EmptyName) } else { Ok(()) }
}

/// An error reply of the server, by its meaning.
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

/// One answer of many: yes or no, or the server's error.
pub(crate) fn yes(key: &[u8], value: &Value) -> Result<bool, FilterError> {
    match value {
        Value::Int(number) => Ok(*number != 0),
        Value::Boolean(yes) => Ok(*yes),
        Value::ServerError(error) => Err(refusal(key, message(error))),
        other => Err(unexpected(key, other)),
    }
}

/// A reply of an unexpected type.
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

/// A key, as shown in messages.
pub(crate) fn shown(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_foreign::redisbloom::{Chain, Scaling};

    /// Of a server that is never contacted.
    fn on(server_module: ServerModule) -> Arc<Filters> {
        let (address, _) = Address::parse("redis://127.0.0.1:1").unwrap();
        let router = Router::new(address, Duration::ZERO);
        let prefix = "BF".to_owned();
        Arc::new(Filters {
            router,
            prefix,
            server_module,
            wait: None,
            identities: true,
            cancelled: None,
        })
    }

    #[test]
    fn modules_are_known_by_their_commands() {
        let server_module = |known: [bool; 3]| ServerModule::by(&known);
        assert_eq!(server_module([true, true, true]), Some(ServerModule::Mayhap));
        assert_eq!(server_module([false, true, true]), Some(ServerModule::RedisBloom));
        assert_eq!(server_module([false, false, true]), Some(ServerModule::ValkeyBloom));
        assert_eq!(server_module([false; 3]), None);
        assert_eq!(ServerModule::by(&[]), None);
    }

    #[test]
    fn what_does_not_go_together_is_told_before_anybody_is_asked() {
        let paired = |error: Result<(), FilterError>| match error {
            Err(FilterError::Pairing { what, .. }) => Err(what),
            Err(error @ (FilterError::NotNative { .. } | FilterError::NoSave { .. })) => {
                Err(error.to_string())
            }
            Err(FilterError::Link(_)) => Ok(()), // it got as far as the server
            other => panic!("{other:?}"),
        };
        let load_ours =
            |server_module| paired(on(server_module).load_file(b"f", b"", None, false, &|_| ()));
        assert!(load_ours(ServerModule::RedisBloom).unwrap_err().contains("RedisBloom"));
        assert!(load_ours(ServerModule::ValkeyBloom).unwrap_err().contains("valkey-bloom"));
        assert_eq!(load_ours(ServerModule::Mayhap), Ok(()));
        let chain = Chain::reserve(100, 0.01, Scaling::Fixed).unwrap();
        let load_theirs =
            |server_module| paired(on(server_module).load_chain(b"f", &chain, false, &|_| ()));
        assert!(load_theirs(ServerModule::ValkeyBloom).is_err());
        assert_eq!(
            [ServerModule::RedisBloom, ServerModule::Mayhap].map(load_theirs),
            [Ok(()), Ok(())]
        );
        let save = |server_module| {
            paired(on(server_module).save(b"f", &mut Vec::new(), &|_| ()).map(drop))
        };
        assert!(save(ServerModule::ValkeyBloom).is_err());
        assert_eq!([ServerModule::RedisBloom, ServerModule::Mayhap].map(save), [Ok(()), Ok(())]);
    }
}
