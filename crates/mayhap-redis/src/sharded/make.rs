//! A filter over many keys comes into being: empty, or from pieces that were built elsewhere.

use super::{Shard, Sharded};
use crate::filters::{refusal, shown};
use crate::router::Order;
use crate::slot::slot_of;
use crate::transfer::Moved;
use crate::{Descriptor, FilterError, Filters, Held, Make};
use mayhap::format::Notes;
use redis::{Value, cmd};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Shards loaded at the same time.
const LOADERS: usize = 4;

impl Sharded {
    /// Make an empty filter: its shards first, then what tells of them. They do not grow: one that
    /// has all it was made for takes no more, so that the rate stays what it is.
    ///
    /// On servers with our module they are hashed under the secret of the descriptor, which must
    /// have one; others hash as they do.
    pub fn create(
        filters: &Arc<Filters>,
        name: &[u8],
        about: Descriptor,
        over: bool,
    ) -> Result<Sharded, FilterError> {
        let filter = Sharded::prepared(filters, name, about, over)?;
        let Some((about, _)) = &filter.about else { return Ok(filter) };
        let secret = about.spec().scheme().secret();
        let reserve = |shard: &Shard| {
            let mut command = filters.command("RESERVE", &shard.key);
            command.arg(about.spec().fpr().to_string()).arg(about.shard_capacity());
            command.arg("NONSCALING");
            if let (Make::Mayhap, Some(secret)) = (filters.make(), secret) {
                let hex: String =
                    secret.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
                command.arg("KIND").arg("blocked").arg("SECRET").arg(hex);
            }
            Order::at(shard.slot, &command)
        };
        if secret.is_none() {
            return Err(FilterError::Pairing {
                what: "a filter made on a server is hashed under a secret".to_owned(),
                hint: "give its spec one: Spec::with_secret",
            });
        }
        let orders: Vec<Order> = filter.shards.iter().map(reserve).collect();
        let replies = filters.router.ask(&orders, filters.carrying())?;
        for (shard, reply) in filter.shards.iter().zip(replies) {
            reply.map_err(|what| match what.contains("item exists") {
                true => FilterError::Exists { key: shown(&shard.key) },
                false => refusal(&shard.key, what),
            })?;
        }
        filters.settle(filter.keys())?;
        filter.describe()?;
        Ok(filter)
    }

    /// Load a filter in pieces that was built elsewhere, piece by piece: all of them under other
    /// names, then each under its own, then what tells of them. Whoever asks meanwhile finds the
    /// filter that was there before, then none for a moment, then the new one.
    pub fn load<B: AsRef<[u8]> + Sync>(
        filters: &Arc<Filters>,
        name: &[u8],
        filter: &mayhap::Sharded<B>,
        notes: Notes,
        over: bool,
        moved: &Moved<'_>,
    ) -> Result<Sharded, FilterError> {
        filters.check_native()?;
        let about = Descriptor::of(filter, notes);
        check_name(name)?;
        let there = filters.look(name)?;
        if there != Held::Nothing && !over {
            return Err(FilterError::Exists { key: shown(name) });
        }
        let new = Sharded::over(filters, name, about);
        if !over {
            new.check_free()?;
        }
        let temps = new.upload(filter, moved)?;
        let named = new.take_place(&there, &temps, over);
        if named.is_err() {
            temps.iter().for_each(|temp| filters.discard(temp));
        }
        named.map(|()| new)
    }

    /// All pieces under other names, which these are.
    fn upload<B: AsRef<[u8]> + Sync>(
        &self,
        filter: &mayhap::Sharded<B>,
        moved: &Moved<'_>,
    ) -> Result<Vec<Vec<u8>>, FilterError> {
        let filters = &self.filters;
        let secret = filter.scheme().secret();
        let (next, done) = (AtomicUsize::new(0), Mutex::new(vec![]));
        let failed: Mutex<Option<FilterError>> = Mutex::new(None);
        let load = || {
            loop {
                let at = next.fetch_add(1, Relaxed);
                let (Some(shard), Some(piece)) = (self.shards.get(at), filter.shards().get(at))
                else {
                    return;
                };
                let feed = |temp: &[u8]| {
                    filters
                        .send_native(temp, secret, moved, &|to| piece.write_to(to, &Notes::new()))
                };
                match filters.upload(&shard.key, &feed) {
                    Ok(temp) => unpoisoned(&done).push((at, temp)),
                    Err(error) => {
                        // The others stop at their next piece.
                        next.store(self.shards.len(), Relaxed);
                        *unpoisoned(&failed) = Some(error);
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..LOADERS.min(self.shards.len()) {
                scope.spawn(load);
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort();
        let temps: Vec<Vec<u8>> = done.into_iter().map(|(_, temp)| temp).collect();
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => {
                temps.iter().for_each(|temp| filters.discard(temp));
                Err(error)
            }
            None => Ok(temps),
        }
    }

    /// The pieces under their own names, in place of what was there.
    fn take_place(&self, there: &Held, temps: &[Vec<u8>], over: bool) -> Result<(), FilterError> {
        if over {
            self.clear_away(there)?;
        }
        for (shard, temp) in self.shards.iter().zip(temps) {
            self.filters.give_name(temp, &shard.key, over)?;
        }
        self.filters.settle(self.keys())?;
        self.describe()
    }

    /// Of a filter that is to be made: nothing in the way any more.
    fn prepared(
        filters: &Arc<Filters>,
        name: &[u8],
        about: Descriptor,
        over: bool,
    ) -> Result<Sharded, FilterError> {
        check_name(name)?;
        let there = filters.look(name)?;
        let filter = Sharded::over(filters, name, about);
        if over {
            filter.clear_away(&there)?;
            filter.delete()?;
        } else if there != Held::Nothing {
            return Err(FilterError::Exists { key: shown(name) });
        } else {
            filter.check_free()?;
        }
        Ok(filter)
    }

    /// What is under the name goes, with its shards if it has some.
    fn clear_away(&self, there: &Held) -> Result<(), FilterError> {
        match there {
            Held::Shards(old) => {
                Sharded::over(&self.filters, &self.name, (**old).clone()).delete().map(drop)
            }
            Held::Nothing => Ok(()),
            _ => {
                let unlink = Order::at(slot_of(&self.name), cmd("UNLINK").arg(&self.name));
                self.filters.one(&self.name, unlink, self.filters.writing()).map(drop)
            }
        }
    }

    /// Fails where a shard's key is taken: by what an interrupted creation has left, perhaps.
    fn check_free(&self) -> Result<(), FilterError> {
        let exists = |shard: &Shard| Order::at(shard.slot, cmd("EXISTS").arg(&shard.key));
        let orders: Vec<Order> = self.shards.iter().map(exists).collect();
        let replies = self.filters.router.ask(&orders, self.filters.reading())?;
        match self.shards.iter().zip(replies).find(|(_, reply)| *reply != Ok(Value::Int(0))) {
            Some((shard, Err(what))) => Err(refusal(&shard.key, what)),
            Some((shard, Ok(_))) => Err(FilterError::Exists { key: shown(&shard.key) }),
            None => Ok(()),
        }
    }

    /// Write what tells of the shards.
    fn describe(&self) -> Result<(), FilterError> {
        let Some((_, bytes)) = &self.about else { return Ok(()) };
        let mut set = cmd("SET");
        set.arg(&self.name).arg(bytes).arg("NX");
        let slot = slot_of(&self.name);
        let value = self.filters.one(&self.name, Order::at(slot, &set), self.filters.writing())?;
        if value == Value::Nil {
            // Somebody else was quicker, or we were and did not hear of it.
            let get = Order::at(slot, cmd("GET").arg(&self.name));
            let there = self.filters.one(&self.name, get, self.filters.reading())?;
            if there != Value::BulkString(bytes.clone()) {
                return Err(FilterError::Exists { key: shown(&self.name) });
            }
        }
        Ok(())
    }
}

/// Braces in the name would decide the slot of every shard.
fn check_name(name: &[u8]) -> Result<(), FilterError> {
    if name.contains(&b'{') {
        return Err(FilterError::Name { got: shown(name) });
    }
    Ok(())
}

fn unpoisoned<T>(lock: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
