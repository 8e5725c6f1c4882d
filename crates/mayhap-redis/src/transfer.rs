//! Uploads and downloads of whole filters, in chunks.
//!
//! A filter is uploaded under a temporary name in the same slot and renamed when it is complete, so
//! that nobody ever sees half of one. The temporary name expires an hour after the last chunk, in
//! case nobody cleans up.

use crate::filters::{check_key, refusal, shown, text, unexpected};
use crate::identity::ShardId;
use crate::router::{Request, RequestOptions};
use crate::slot::{sibling_key, slot_of};
use crate::{FilterError, Filters, KeyContent, LinkError, Reply, ServerModule, Sharded, Wait};
use mayhap::Secret;
use mayhap::format::dump::{DumpError, DumpHead, DumpPart};
use mayhap_foreign::redisbloom::Chain;
use redis::{Value, cmd};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes per chunk.
const CHUNK_BYTES: usize = 4 << 20;
/// Time to live of an unfinished upload, in seconds.
pub(crate) const ABANDONED_S: u64 = 3600;
/// How often a load is restarted after a lost connection.
pub(crate) const TRIES: u32 = 3;
/// How long the marker of a completed rename is kept, in seconds.
const NAMED_S: u64 = 600;
/// How long to wait for replicas when none were required.
const REPLICA_WITHIN: Duration = Duration::from_secs(5);

/// `RENAME` made idempotent by a marker that it was done: a failover loses the newest writes first,
/// so where the marker exists, the rename was done.
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

/// Called with the number of bytes transferred since the last call.
pub type OnProgress<'a> = dyn Fn(u64) + Sync + 'a;

/// The format of a saved filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SavedFormat {
    /// A Mayhap file. A keyed one is useless without its secret.
    Mayhap {
        /// The secret it is hashed with.
        secret: Option<Secret>,
    },
    /// RedisBloom's chunks, concatenated.
    RedisBloom,
}

impl Filters {
    /// Load a Mayhap file into a key; `over`: replace what it holds.
    pub fn load_file(
        self: &Arc<Self>,
        key: &[u8],
        file: &[u8],
        secret: Option<Secret>,
        over: bool,
        moved: &OnProgress<'_>,
    ) -> Result<(), FilterError> {
        self.check_native()?;
        self.replace(key, over, &|temp| {
            self.send_native(temp, key, (secret, None), moved, &|to| to.write_all(file))
        })
    }

    /// Load a RedisBloom filter into a key: the Mayhap module keeps it as RedisBloom would.
    pub fn load_chain<B: AsRef<[u8]> + Sync>(
        self: &Arc<Self>,
        key: &[u8],
        chain: &Chain<B>,
        over: bool,
        moved: &OnProgress<'_>,
    ) -> Result<(), FilterError> {
        if self.server_module() == ServerModule::ValkeyBloom {
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

    /// Save the filter of a key to a file: a Mayhap file, or RedisBloom's chunks, concatenated.
    ///
    /// If the server supports it, a copy is saved, so that concurrent additions do no harm.
    pub fn save(
        &self,
        key: &[u8],
        to: &mut dyn Write,
        moved: &OnProgress<'_>,
    ) -> Result<SavedFormat, FilterError> {
        if self.server_module() == ServerModule::ValkeyBloom {
            return Err(FilterError::NoSave { module: self.server_module().name() });
        }
        self.save_with_identity(key, to, moved).map(|(saved, _)| saved)
    }

    /// The same, and the identity of the shard, if it is one.
    pub(crate) fn save_with_identity(
        &self,
        key: &[u8],
        to: &mut dyn Write,
        moved: &OnProgress<'_>,
    ) -> Result<(SavedFormat, Option<ShardId>), FilterError> {
        check_key(key)?;
        let copy = self.copy_of(key)?;
        let saved = self.fetch(key, copy.as_deref().unwrap_or(key), to, moved);
        if let Some(copy) = copy {
            self.discard(&copy);
        }
        saved
    }

    /// Fails if the server cannot hold Mayhap filters.
    pub(crate) fn check_native(&self) -> Result<(), FilterError> {
        if self.server_module() == ServerModule::Mayhap {
            return Ok(());
        }
        Err(FilterError::NotNative { module: self.server_module().name() })
    }

    /// Upload under a temporary name, then rename. When this returns, the filter is there.
    fn replace(
        self: &Arc<Self>,
        key: &[u8],
        over: bool,
        feed: &dyn Fn(&[u8]) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        let there = self.key_content(key)?;
        if there != KeyContent::Nothing && !over {
            return Err(FilterError::Exists { key: shown(key) });
        }
        for attempt in 0..TRIES {
            let temp = self.upload(key, feed)?;
            let named = self.check_cancelled().and_then(|()| {
                if let (KeyContent::Shards(_), 0) = (&there, attempt) {
                    Sharded::open(self, key)?.delete()?;
                }
                let names = [(temp.as_slice(), key)];
                let named = self.rename_into_place(&names, over)?;
                // A failover since then may have lost it.
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

    /// Upload under a temporary name in the slot of `key`; returns that name.
    fn upload(
        &self,
        key: &[u8],
        feed: &dyn Fn(&[u8]) -> Result<(), FilterError>,
    ) -> Result<Vec<u8>, FilterError> {
        let mut tries = 0;
        loop {
            let temp = sibling_key(key, &unique("loading"));
            tries += 1;
            match self.upload_as(&temp, feed) {
                Ok(()) => return Ok(temp),
                // It is not known how far it got: start again when the slot answers.
                Err(error) if is_cut(&error) && tries < TRIES => drop(self.key_content(key)?),
                Err(error) => return Err(forgotten(key, error)),
            }
        }
    }

    /// Upload under this temporary name. On failure nothing is left under it.
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

    /// A Mayhap file, as `write` writes it.
    pub(crate) fn send_native(
        &self,
        temp: &[u8],
        key: &[u8],
        (secret, shard): (Option<Secret>, Option<ShardId>),
        moved: &OnProgress<'_>,
        write: &dyn Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FilterError> {
        let mut counted = Counted(0);
        write(&mut counted).map_err(|error| io_error(&error))?;
        let head = DumpHead::of_file(counted.0, secret).with_shard(shard);
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

    /// One chunk for `key`, which is the name that errors show.
    fn send_chunk(
        &self,
        temp: &[u8],
        key: &[u8],
        iterator: u64,
        bytes: &[u8],
    ) -> Result<(), FilterError> {
        self.check_cancelled()?;
        let slot = slot_of(temp);
        let load = Request::at(slot, self.command("LOADCHUNK", temp).arg(iterator).arg(bytes));
        let expire = Request::at(slot, cmd("EXPIRE").arg(temp).arg(ABANDONED_S));
        self.all(key, &[load, expire], self.upload_options()).map(drop)
    }

    /// Rename complete uploads to their own names, and wait for replicas. Returns whether each was
    /// there: a failover may have lost it.
    pub(crate) fn rename_into_place(
        &self,
        names: &[(&[u8], &[u8])],
        over: bool,
    ) -> Result<Vec<bool>, FilterError> {
        let request = |(temp, key): &(&[u8], &[u8])| {
            let mut eval = cmd("EVAL");
            eval.arg(GIVE_NAME).arg(2).arg(*temp).arg(*key);
            eval.arg(if over { "over" } else { "new" }).arg(NAMED_S);
            Request::at(slot_of(key), &eval)
        };
        let requests: Vec<Request> = names.iter().map(request).collect();
        let must = self.writing();
        let may = RequestOptions { wait: must.wait.or_else(|| self.replica_of(names)), ..must };
        let replies = match self.router.send(&requests, may) {
            // No replica was required, so a lagging one is not an error.
            Err(LinkError::Unacknowledged { .. }) if must.wait.is_none() => {
                self.router.send(&requests, must)?
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

    /// Whether the server, as it is now, has renamed this filter.
    fn is_named(&self, temp: &[u8]) -> Result<bool, FilterError> {
        let get = Request::at(slot_of(temp), cmd("GET").arg(temp));
        match self.one(temp, get, self.reading()) {
            Ok(value) => Ok(value != Value::Nil),
            Err(FilterError::WrongType { .. }) => Ok(false), // the filter itself
            Err(error) => Err(error),
        }
    }

    /// One replica to wait for, if every node concerned has one.
    fn replica_of(&self, names: &[(&[u8], &[u8])]) -> Option<Wait> {
        let roles = names.iter().map(|(_, key)| Request::at(slot_of(key), &cmd("ROLE")));
        let roles: Vec<Request> = roles.collect();
        let replies = self.router.send(&roles, self.reading()).ok()?;
        let has_one = |reply: &Reply| match reply {
            Ok(Value::Array(role)) => {
                matches!(role.get(2), Some(Value::Array(replicas)) if !replicas.is_empty())
            }
            _ => false,
        };
        replies.iter().all(has_one).then_some(Wait { replicas: 1, within: REPLICA_WITHIN })
    }

    /// Delete a temporary key. If that fails, it expires.
    pub(crate) fn discard(&self, temp: &[u8]) {
        _ = self.one(temp, Request::at(slot_of(temp), cmd("UNLINK").arg(temp)), self.reading());
    }

    /// A copy for saving, where the server can make one; a replica cannot.
    fn copy_of(&self, key: &[u8]) -> Result<Option<Vec<u8>>, FilterError> {
        if self.is_replica()? {
            return Ok(None);
        }
        let slot = slot_of(key);
        let copy = sibling_key(key, &unique("saving"));
        let requests = [
            Request::at(slot, cmd("COPY").arg(key).arg(&copy)),
            Request::at(slot, cmd("EXPIRE").arg(&copy).arg(ABANDONED_S)),
        ];
        match self.all(key, &requests, self.download_options()) {
            Ok(values) if values.last() == Some(&Value::Int(1)) => Ok(Some(copy)),
            Ok(_) | Err(FilterError::Refused { .. }) => Ok(None),
            // Save the key itself then.
            Err(FilterError::Link(LinkError::Replica { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the single server is a replica. In a cluster primaries are used.
    fn is_replica(&self) -> Result<bool, FilterError> {
        if self.address().is_cluster() {
            return Ok(false);
        }
        // Without permission for `ROLE`, the failing copy reports it.
        let reply = self.router.send(&[Request::anywhere(&cmd("ROLE"))], self.reading())?.remove(0);
        let Ok(Value::Array(role)) = reply else { return Ok(false) };
        Ok(role.first().is_some_and(|role| text(role) != "master"))
    }

    fn fetch(
        &self,
        key: &[u8],
        from: &[u8],
        to: &mut dyn Write,
        moved: &OnProgress<'_>,
    ) -> Result<(SavedFormat, Option<ShardId>), FilterError> {
        let (mut iterator, first) = self.next_chunk(key, from, 0)?;
        let damaged = |what: String| FilterError::Damaged { key: shown(key), what };
        let head = match DumpHead::is_head(&first) {
            true => Some(one_file(&first).map_err(|error| damaged(error.to_string()))?),
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
        let Some((head, shard)) = head else { return Ok((SavedFormat::RedisBloom, None)) };
        if bytes != head.bytes {
            return Err(damaged(format!(
                "{bytes} bytes came where {} were announced: it changed while it was saved",
                head.bytes
            )));
        }
        Ok((SavedFormat::Mayhap { secret: head.secret }, shard))
    }

    fn next_chunk(
        &self,
        key: &[u8],
        from: &[u8],
        iterator: u64,
    ) -> Result<(u64, Vec<u8>), FilterError> {
        let request = Request::at(slot_of(from), self.command("SCANDUMP", from).arg(iterator));
        let value = match self.one(key, request, self.download_options()) {
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

/// Counts the bytes written.
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

/// Sends what is written to it, in chunks.
struct Sender<'a> {
    filters: &'a Filters,
    temp: &'a [u8],
    key: &'a [u8],
    moved: &'a OnProgress<'a>,
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

/// Whether an upload can start again: the connection was lost, so that it is not known how far it
/// got, or the server lost what it had received.
pub(crate) fn is_cut(error: &FilterError) -> bool {
    match error {
        FilterError::Link(LinkError::Unreachable { .. }) => true,
        FilterError::Refused { what, .. } => what == "not found" || what.contains("invalid offset"),
        _ => false,
    }
}

/// If servers keep losing what they were sent, report that.
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

/// A unique name.
fn unique(what: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    let count = COUNT.fetch_add(1, Relaxed);
    format!("{what}-{now:x}-{:x}-{count:x}", std::process::id())
}

/// The head of a dump that is one Mayhap file.
fn one_file(head: &[u8]) -> Result<(DumpPart, Option<ShardId>), DumpError> {
    let head = DumpHead::decode(head)?;
    Ok((head.single_file()?, head.shard))
}
