//! Whole filters over the wire, in pieces.
//!
//! A filter is loaded under another name in the same slot and takes its own when it is whole, so
//! that nobody ever finds half of one. The other name expires an hour after the last piece, in
//! case nobody comes to clear it away.

use crate::dump::{Head, is_ours};
use crate::filters::{check_key, refusal, shown, text, unexpected};
use crate::identity::ShardId;
use crate::router::{How, Order};
use crate::slot::{beside, slot_of};
use crate::{FilterError, Filters, Held, LinkError, Make, Reply, Sharded, Wait};
use mayhap::Secret;
use mayhap_foreign::redisbloom::Chain;
use redis::{Value, cmd};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes in one piece.
const CHUNK_BYTES: usize = 4 << 20;
/// When a filter that nobody goes on loading is forgotten, in seconds.
pub(crate) const ABANDONED_S: u64 = 3600;
/// How often a load begins anew because a connection was lost.
pub(crate) const TRIES: u32 = 3;
/// How long it can be seen that a filter was given its name, in seconds.
const NAMED_S: u64 = 600;
/// How long a replica may take that nobody asked for.
const REPLICA_WITHIN: Duration = Duration::from_secs(5);

/// `RENAME`, which can be asked for twice, because it leaves word that it was done: what a failover
/// forgets, it forgets from the end, so where the word is, the name is.
const GIVE_NAME: &str = "\
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then return -1 end
if kind ~= 'string' then
  if ARGV[1] ~= 'over' and redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
  redis.call('RENAME', KEYS[1], KEYS[2])
  redis.call('PERSIST', KEYS[2])
end
redis.call('SET', KEYS[1], 'named', 'EX', ARGV[2])
return 1";

/// Told how many bytes more have gone over the wire.
pub type Moved<'a> = dyn Fn(u64) + Sync + 'a;

/// What was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Saved {
    /// A file of ours. Without its secret a keyed one answers nobody.
    Mayhap {
        /// What it is hashed under.
        secret: Option<Secret>,
    },
    /// RedisBloom's chunks, one after another.
    RedisBloom,
}

impl Filters {
    /// Load a file of ours under a key; `over` what is there.
    pub fn load_file(
        self: &Arc<Self>,
        key: &[u8],
        file: &[u8],
        secret: Option<Secret>,
        over: bool,
        moved: &Moved<'_>,
    ) -> Result<(), FilterError> {
        self.check_native()?;
        self.replace(key, over, &|temp| {
            self.send_native(temp, key, (secret, None), moved, &|to| to.write_all(file))
        })
    }

    /// Load a filter of RedisBloom's under a key: ours keeps it as RedisBloom would.
    pub fn load_chain<B: AsRef<[u8]> + Sync>(
        self: &Arc<Self>,
        key: &[u8],
        chain: &Chain<B>,
        over: bool,
        moved: &Moved<'_>,
    ) -> Result<(), FilterError> {
        if self.make() == Make::ValkeyBloom {
            return Err(FilterError::Pairing {
                what: "valkey-bloom loads no dumps of RedisBloom".to_owned(),
                hint: "load it into a server with RedisBloom or with the module of mayhap",
            });
        }
        self.replace(key, over, &|temp| {
            chain.chunks_of(CHUNK_BYTES).try_for_each(|chunk| {
                self.send_chunk(temp, key, chunk.iterator, &chunk.bytes)?;
                moved(chunk.bytes.len() as u64);
                Ok(())
            })
        })
    }

    /// Write the filter under a key as a file: ours, or RedisBloom's chunks one after another.
    ///
    /// Where the server can copy, a copy is saved, so that what is added meanwhile does no harm.
    pub fn save(
        &self,
        key: &[u8],
        to: &mut dyn Write,
        moved: &Moved<'_>,
    ) -> Result<Saved, FilterError> {
        if self.make() == Make::ValkeyBloom {
            return Err(FilterError::Pairing {
                what: "valkey-bloom has no command to save a filter with".to_owned(),
                hint: "DUMP it and read the payload: `mayhap info --format valkey-bloom`",
            });
        }
        self.save_with_identity(key, to, moved).map(|(saved, _)| saved)
    }

    /// The same, and which shard it is, if it is one.
    pub(crate) fn save_with_identity(
        &self,
        key: &[u8],
        to: &mut dyn Write,
        moved: &Moved<'_>,
    ) -> Result<(Saved, Option<ShardId>), FilterError> {
        check_key(key)?;
        let copy = self.copy_of(key)?;
        let saved = self.fetch(key, copy.as_deref().unwrap_or(key), to, moved);
        if let Some(copy) = copy {
            self.discard(&copy);
        }
        saved
    }

    /// Fails where the server cannot hold filters of ours.
    pub(crate) fn check_native(&self) -> Result<(), FilterError> {
        if self.make() == Make::Mayhap {
            return Ok(());
        }
        Err(FilterError::Pairing {
            what: format!(
                "the server has {}, which cannot hold filters of mayhap's own format",
                self.make().name()
            ),
            hint: "load the module of mayhap there, or build the filter with --format redisbloom",
        })
    }

    /// Load under another name, then give it its own. What is told to be there in the end is.
    fn replace(
        self: &Arc<Self>,
        key: &[u8],
        over: bool,
        feed: &dyn Fn(&[u8]) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        let there = self.look(key)?;
        if there != Held::Nothing && !over {
            return Err(FilterError::Exists { key: shown(key) });
        }
        for attempt in 0..TRIES {
            let temp = self.upload(key, feed)?;
            let named = self.check_cancelled().and_then(|()| {
                if let (Held::Shards(_), 0) = (&there, attempt) {
                    Sharded::open(self, key)?.delete()?;
                }
                let names = [(temp.as_slice(), key)];
                let named = self.give_names(&names, over)?;
                // A failover since then may have taken it away again.
                Ok(named[0] && self.is_named(&temp)?)
            });
            self.discard(&temp);
            if named? {
                return Ok(());
            }
        }
        let what = "a server that failed over had not told its replica of it".to_owned();
        Err(FilterError::NotKept { key: shown(key), what })
    }

    /// Load under another name in the slot of `key`; which name that is.
    fn upload(
        &self,
        key: &[u8],
        feed: &dyn Fn(&[u8]) -> Result<(), FilterError>,
    ) -> Result<Vec<u8>, FilterError> {
        let mut tries = 0;
        loop {
            let temp = beside(key, &unique("loading"));
            tries += 1;
            match self.upload_as(&temp, feed) {
                Ok(()) => return Ok(temp),
                // Nobody knows how far it came: begin anew when the slot answers again.
                Err(error) if is_cut(&error) && tries < TRIES => drop(self.look(key)?),
                Err(error) => return Err(forgotten(key, error)),
            }
        }
    }

    /// Load under this other name. Where that fails, nothing is left under it.
    pub(crate) fn upload_as(
        &self,
        temp: &[u8],
        feed: &dyn Fn(&[u8]) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        let fed = feed(temp);
        if fed.is_err() {
            self.discard(temp);
        }
        fed
    }

    /// A file of ours, as `write` writes it.
    pub(crate) fn send_native(
        &self,
        temp: &[u8],
        key: &[u8],
        (secret, shard): (Option<Secret>, Option<ShardId>),
        moved: &Moved<'_>,
        write: &dyn Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FilterError> {
        let mut counted = Counted(0);
        write(&mut counted).map_err(|error| io_error(&error))?;
        let head = Head { shard, secret, bytes: counted.0 };
        self.send_chunk(temp, key, 1, &head.encode())?;
        let mut sender =
            Sender { filters: self, temp, key, moved, piece: vec![], sent: 0, failed: None };
        let written = write(&mut sender).and_then(|()| sender.flush());
        match (sender.failed, written) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(io_error(&error)),
            (None, Ok(())) => Ok(()),
        }
    }

    /// A piece of what is to be `key`: that is the name in errors, which others know nothing of.
    fn send_chunk(
        &self,
        temp: &[u8],
        key: &[u8],
        iterator: u64,
        bytes: &[u8],
    ) -> Result<(), FilterError> {
        self.check_cancelled()?;
        let slot = slot_of(temp);
        let load = Order::at(slot, self.command("LOADCHUNK", temp).arg(iterator).arg(bytes));
        let expire = Order::at(slot, cmd("EXPIRE").arg(temp).arg(ABANDONED_S));
        self.all(key, &[load, expire], self.carrying()).map(drop)
    }

    /// Give filters that are whole the names they are for, and wait until replicas know of it.
    /// Whether each was there to be named: what a failover lost was not.
    pub(crate) fn give_names(
        &self,
        names: &[(&[u8], &[u8])],
        over: bool,
    ) -> Result<Vec<bool>, FilterError> {
        let order = |(temp, key): &(&[u8], &[u8])| {
            let mut eval = cmd("EVAL");
            eval.arg(GIVE_NAME).arg(2).arg(*temp).arg(*key);
            eval.arg(if over { "over" } else { "new" }).arg(NAMED_S);
            Order::at(slot_of(key), &eval)
        };
        let orders: Vec<Order> = names.iter().map(order).collect();
        let must = self.writing();
        let may = How { wait: must.wait.or_else(|| self.replica_of(names)), ..must };
        let replies = match self.router.ask(&orders, may) {
            // Nobody asked for a replica, so one that lags is no reason to fail.
            Err(LinkError::Unacknowledged { .. }) if must.wait.is_none() => {
                self.router.ask(&orders, must)?
            }
            replies => replies?,
        };
        let mut named = Vec::with_capacity(names.len());
        for ((_, key), reply) in names.iter().zip(replies) {
            named.push(match reply {
                Ok(Value::Int(1)) => true,
                Ok(Value::Int(0)) => return Err(FilterError::Exists { key: shown(key) }),
                Ok(_) => false,
                Err(what) => return Err(refusal(key, what)),
            });
        }
        Ok(named)
    }

    /// Whether the server, as it is now, has given this filter its name.
    fn is_named(&self, temp: &[u8]) -> Result<bool, FilterError> {
        let get = Order::at(slot_of(temp), cmd("GET").arg(temp));
        match self.one(temp, get, self.reading()) {
            Ok(value) => Ok(value != Value::Nil),
            Err(FilterError::WrongType { .. }) => Ok(false), // the filter itself
            Err(error) => Err(error),
        }
    }

    /// One replica to wait for, if every node concerned has one.
    fn replica_of(&self, names: &[(&[u8], &[u8])]) -> Option<Wait> {
        let roles = names.iter().map(|(_, key)| Order::at(slot_of(key), &cmd("ROLE")));
        let roles: Vec<Order> = roles.collect();
        let replies = self.router.ask(&roles, self.reading()).ok()?;
        let has_one = |reply: &Reply| match reply {
            Ok(Value::Array(role)) => {
                matches!(role.get(2), Some(Value::Array(replicas)) if !replicas.is_empty())
            }
            _ => false,
        };
        replies.iter().all(has_one).then_some(Wait { replicas: 1, within: REPLICA_WITHIN })
    }

    /// Clear away what is of no use. If that fails, it expires.
    pub(crate) fn discard(&self, temp: &[u8]) {
        _ = self.one(temp, Order::at(slot_of(temp), cmd("UNLINK").arg(temp)), self.reading());
    }

    /// A copy that nobody adds to, where the server makes one: a replica makes none.
    fn copy_of(&self, key: &[u8]) -> Result<Option<Vec<u8>>, FilterError> {
        if self.is_replica()? {
            return Ok(None);
        }
        let slot = slot_of(key);
        let copy = beside(key, &unique("saving"));
        let orders = [
            Order::at(slot, cmd("COPY").arg(key).arg(&copy)),
            Order::at(slot, cmd("EXPIRE").arg(&copy).arg(ABANDONED_S)),
        ];
        match self.all(key, &orders, self.fetching()) {
            Ok(values) if values.last() == Some(&Value::Int(1)) => Ok(Some(copy)),
            Ok(_) | Err(FilterError::Refused { .. }) => Ok(None),
            // It is read from all the same.
            Err(FilterError::Link(LinkError::Replica { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the one server that is asked follows another. Of a cluster primaries are asked.
    fn is_replica(&self) -> Result<bool, FilterError> {
        if self.address().is_cluster() {
            return Ok(false);
        }
        // Who may not ask for the role is told by the copy that fails.
        let reply = self.router.ask(&[Order::anywhere(&cmd("ROLE"))], self.reading())?.remove(0);
        let Ok(Value::Array(role)) = reply else { return Ok(false) };
        Ok(role.first().is_some_and(|role| text(role) != "master"))
    }

    fn fetch(
        &self,
        key: &[u8],
        from: &[u8],
        to: &mut dyn Write,
        moved: &Moved<'_>,
    ) -> Result<(Saved, Option<ShardId>), FilterError> {
        let (mut iterator, first) = self.next_chunk(key, from, 0)?;
        let damaged = |what: String| FilterError::Damaged { key: shown(key), what };
        let head = match is_ours(&first) {
            true => Some(Head::decode(&first).map_err(damaged)?),
            false => None,
        };
        if head.is_none() {
            to.write_all(&first).map_err(|error| io_error(&error))?;
        }
        let mut bytes = 0;
        loop {
            self.check_cancelled()?;
            let (next, chunk) = self.next_chunk(key, from, iterator)?;
            if next == 0 {
                break;
            }
            to.write_all(&chunk).map_err(|error| io_error(&error))?;
            bytes += chunk.len() as u64;
            moved(chunk.len() as u64);
            iterator = next;
        }
        let Some(head) = head else { return Ok((Saved::RedisBloom, None)) };
        if bytes != head.bytes {
            return Err(damaged(format!(
                "{bytes} bytes came where {} were told of: it changed while it was saved",
                head.bytes
            )));
        }
        Ok((Saved::Mayhap { secret: head.secret }, head.shard))
    }

    fn next_chunk(
        &self,
        key: &[u8],
        from: &[u8],
        iterator: u64,
    ) -> Result<(u64, Vec<u8>), FilterError> {
        let order = Order::at(slot_of(from), self.command("SCANDUMP", from).arg(iterator));
        let value = match self.one(key, order, self.fetching()) {
            Err(FilterError::Refused { what, .. }) if what == "not found" => {
                return Err(FilterError::Missing { key: shown(key) });
            }
            value => value?,
        };
        match value {
            Value::Array(pair) => match <[Value; 2]>::try_from(pair) {
                Ok([Value::Int(next), Value::BulkString(chunk)]) if next >= 0 => {
                    Ok((next.unsigned_abs(), chunk))
                }
                Ok([Value::Int(0), _]) => Ok((0, vec![])),
                Ok([next, _]) => Err(unexpected(key, &next)),
                Err(other) => Err(unexpected(key, &Value::Array(other))),
            },
            other => Err(unexpected(key, &other)),
        }
    }
}

/// Counts what goes by.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends what is written to it, a piece at a time.
struct Sender<'a> {
    filters: &'a Filters,
    temp: &'a [u8],
    key: &'a [u8],
    moved: &'a Moved<'a>,
    piece: Vec<u8>,
    sent: u64,
    failed: Option<FilterError>,
}

impl Write for Sender<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == CHUNK_BYTES {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        self.sent += self.piece.len() as u64;
        let sent = self.filters.send_chunk(self.temp, self.key, self.sent + 1, &self.piece);
        if let Err(error) = sent {
            self.failed = Some(error);
            return Err(io::ErrorKind::Other.into());
        }
        (self.moved)(self.piece.len() as u64);
        self.piece.clear();
        Ok(())
    }
}

/// Whether a load can begin anew: a connection was lost, so that nobody knows how far it came, or
/// what had come was lost with a server.
pub(crate) fn is_cut(error: &FilterError) -> bool {
    match error {
        FilterError::Link(LinkError::Away { .. }) => true,
        FilterError::Refused { what, .. } => what == "not found" || what.contains("invalid offset"),
        _ => false,
    }
}

/// Where servers go on forgetting what they were sent, that is what is wrong.
pub(crate) fn forgotten(key: &[u8], error: FilterError) -> FilterError {
    match error {
        FilterError::Refused { .. } if is_cut(&error) => {
            let what = "pieces that were sent are gone again, as after a failover".to_owned();
            FilterError::NotKept { key: shown(key), what }
        }
        other => other,
    }
}

pub(crate) fn io_error(error: &io::Error) -> FilterError {
    FilterError::Io { what: error.to_string() }
}

/// A name that nobody else has.
fn unique(what: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    let count = COUNT.fetch_add(1, Relaxed);
    format!("{what}-{now:x}-{:x}-{count:x}", std::process::id())
}
