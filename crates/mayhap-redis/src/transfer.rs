//! Whole filters over the wire, in pieces.
//!
//! A filter is loaded under another name in the same slot and takes its own when it is whole, so
//! that nobody ever finds half of one. The other name expires an hour after the last piece, in
//! case nobody comes to clear it away.

use crate::dump::{Head, is_ours};
use crate::filters::{check_key, shown, unexpected};
use crate::router::Order;
use crate::slot::{beside, slot_of};
use crate::{FilterError, Filters, Held, LinkError, Make, Sharded};
use mayhap::Secret;
use mayhap_foreign::redisbloom::Chain;
use redis::{Value, cmd};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes in one piece.
const CHUNK_BYTES: usize = 4 << 20;
/// When a filter that nobody goes on loading is forgotten, in seconds.
const ABANDONED_S: u64 = 3600;
/// How often a load begins anew because a connection was lost.
const TRIES: u32 = 3;

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
            self.send_native(temp, secret, moved, &|to| to.write_all(file))
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
                self.send_chunk(temp, chunk.iterator, &chunk.bytes)?;
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

    /// Load under another name, then give it its own.
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
        let temp = self.upload(key, feed)?;
        if let Held::Shards(_) = there {
            Sharded::open(self, key)?.delete()?;
        }
        self.give_name(&temp, key, over)?;
        self.settle(std::iter::once(key))
    }

    /// Load under another name in the slot of `key`; which name that is.
    pub(crate) fn upload(
        &self,
        key: &[u8],
        feed: &dyn Fn(&[u8]) -> Result<(), FilterError>,
    ) -> Result<Vec<u8>, FilterError> {
        let mut tries = 0;
        loop {
            let temp = beside(key, &unique("loading"));
            tries += 1;
            match feed(&temp) {
                Ok(()) => return Ok(temp),
                Err(FilterError::Link(LinkError::Away { .. })) if tries < TRIES => {
                    // Nobody knows how far it came: begin anew when the slot answers again.
                    self.look(key)?;
                    self.discard(&temp);
                }
                Err(error) => {
                    self.discard(&temp);
                    return Err(error);
                }
            }
        }
    }

    /// A file of ours, as `write` writes it.
    pub(crate) fn send_native(
        &self,
        temp: &[u8],
        secret: Option<Secret>,
        moved: &Moved<'_>,
        write: &dyn Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FilterError> {
        let mut counted = Counted(0);
        write(&mut counted).map_err(|error| io_error(&error))?;
        let head = Head { secret, bytes: counted.0 };
        self.send_chunk(temp, 1, &head.encode())?;
        let mut sender =
            Sender { filters: self, temp, moved, piece: vec![], sent: 0, failed: None };
        let written = write(&mut sender).and_then(|()| sender.flush());
        match (sender.failed, written) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(io_error(&error)),
            (None, Ok(())) => Ok(()),
        }
    }

    fn send_chunk(&self, temp: &[u8], iterator: u64, bytes: &[u8]) -> Result<(), FilterError> {
        let slot = slot_of(temp);
        let load = Order::at(slot, self.command("LOADCHUNK", temp).arg(iterator).arg(bytes));
        let expire = Order::at(slot, cmd("EXPIRE").arg(temp).arg(ABANDONED_S));
        self.all(temp, &[load, expire], self.carrying()).map(drop)
    }

    /// Give a filter that is whole the name it is for.
    pub(crate) fn give_name(&self, temp: &[u8], key: &[u8], over: bool) -> Result<(), FilterError> {
        let slot = slot_of(key);
        let rename = if over { "RENAME" } else { "RENAMENX" };
        let orders = || {
            [
                Order::at(slot, cmd("PERSIST").arg(temp)),
                Order::at(slot, cmd(rename).arg(temp).arg(key)),
            ]
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let values = match self.all(key, &orders(), self.carrying()) {
                Err(FilterError::Link(LinkError::Away { .. })) if tries < TRIES => {
                    // Done or not done: the other name tells.
                    let there = Order::at(slot, cmd("EXISTS").arg(temp));
                    match self.one(key, there, self.reading())? {
                        Value::Int(0) => return Ok(()),
                        _ => continue,
                    }
                }
                other => other?,
            };
            return match values.last() {
                Some(Value::Int(0)) => {
                    self.discard(temp);
                    Err(FilterError::Exists { key: shown(key) })
                }
                _ => Ok(()),
            };
        }
    }

    /// Clear away what is of no use. If that fails, it expires.
    pub(crate) fn discard(&self, temp: &[u8]) {
        _ = self.one(temp, Order::at(slot_of(temp), cmd("UNLINK").arg(temp)), self.reading());
    }

    /// A copy that nobody adds to, where the server makes one.
    fn copy_of(&self, key: &[u8]) -> Result<Option<Vec<u8>>, FilterError> {
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

    fn fetch(
        &self,
        key: &[u8],
        from: &[u8],
        to: &mut dyn Write,
        moved: &Moved<'_>,
    ) -> Result<Saved, FilterError> {
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
            let (next, chunk) = self.next_chunk(key, from, iterator)?;
            if next == 0 {
                break;
            }
            to.write_all(&chunk).map_err(|error| io_error(&error))?;
            bytes += chunk.len() as u64;
            moved(chunk.len() as u64);
            iterator = next;
        }
        let Some(head) = head else { return Ok(Saved::RedisBloom) };
        if bytes != head.bytes {
            return Err(damaged(format!(
                "{bytes} bytes came where {} were told of: it changed while it was saved",
                head.bytes
            )));
        }
        Ok(Saved::Mayhap { secret: head.secret })
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
        if let Err(error) = self.filters.send_chunk(self.temp, self.sent + 1, &self.piece) {
            self.failed = Some(error);
            return Err(io::ErrorKind::Other.into());
        }
        (self.moved)(self.piece.len() as u64);
        self.piece.clear();
        Ok(())
    }
}

fn io_error(error: &io::Error) -> FilterError {
    FilterError::Io { what: error.to_string() }
}

/// A name that nobody else has.
fn unique(what: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    let count = COUNT.fetch_add(1, Relaxed);
    format!("{what}-{now:x}-{:x}-{count:x}", std::process::id())
}
