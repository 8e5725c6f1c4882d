//! One filter over many keys, and so over a whole cluster.

use crate::filters::{refusal, shown, unexpected, yes};
use crate::router::Order;
use crate::slot::{shard_key, slot_of};
use crate::transfer::Moved;
use crate::{Descriptor, FilterError, Filters, Held, Make, Reply, Saved};
use mayhap::format::Notes;
use mayhap::{Scheme, shard_of};
use redis::{Value, cmd};
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The most items in one command: a server does one after another, and others wait.
const MAX_ITEMS: usize = 4096;
/// Shards loaded at the same time.
const LOADERS: usize = 4;

/// One logical filter over the keys of a server or cluster.
///
/// Under its name is a small [`Descriptor`]; the items are in as many filters as were chosen when
/// it was made, `name:{1.2}` and the like: what is in the braces is such that they are spread
/// evenly over all slots. An item belongs to one of them, which its hash decides. Calls go to all nodes at once, and go on after
/// a failover or while slots move: what has no answer is asked again, for as long as
/// [`Filters::connect_with`] says. A plain filter under one key opens as well and is used alike.
///
/// A key that is missing answers "no" to everything, as servers have it. Here it does not: a shard
/// that was evicted, and a filter that was replaced since it was opened, are errors.
///
/// Calls block; async programs put them where they put blocking calls (`spawn_blocking`): one
/// call carries thousands of items, so that a thread for each is no burden.
///
/// ```no_run
/// use mayhap::{Secret, Spec, format::Notes};
/// use mayhap_redis::{Address, Descriptor, Filters, Sharded};
/// use std::sync::Arc;
/// # let secret = Secret::from_bytes([7; 16]);
/// let (address, _) = Address::parse("redis+cluster://10.0.0.7:7000")?;
/// let filters = Arc::new(Filters::connect(address, "BF")?);
/// let spec = Spec::new(2_000_000_000, 0.01)?.with_secret(secret);
/// let about = Descriptor::new(spec, 64, Notes::new())?;
/// let urls = Sharded::create(&filters, b"urls", about, false)?;
/// assert_eq!(urls.add(&[b"https://example.org/"])?, [true]);
/// assert_eq!(urls.check(&[b"https://example.org/", b"https://example.com/"])?, [true, false]);
/// # Ok::<(), mayhap_redis::FilterError>(())
/// ```
pub struct Sharded {
    filters: Arc<Filters>,
    name: Vec<u8>,
    /// What tells of the shards, and its bytes; `None` where the name is the filter.
    about: Option<(Descriptor, Vec<u8>)>,
    shards: Vec<Shard>,
}

struct Shard {
    key: Vec<u8>,
    slot: u16,
}

impl Shard {
    fn new(key: Vec<u8>) -> Shard {
        Shard { slot: slot_of(&key), key }
    }
}

impl Sharded {
    /// Open the filter of this name.
    pub fn open(filters: &Arc<Filters>, name: &[u8]) -> Result<Sharded, FilterError> {
        match filters.look(name)? {
            Held::Shards(about) => Ok(Sharded::over(filters, name, *about)),
            Held::Filter => Ok(Sharded {
                filters: Arc::clone(filters),
                name: name.to_vec(),
                about: None,
                shards: vec![Shard::new(name.to_vec())],
            }),
            Held::Nothing => Err(FilterError::Missing { key: shown(name) }),
            Held::Other(got) => Err(FilterError::WrongType { key: shown(name), got }),
        }
    }

    fn over(filters: &Arc<Filters>, name: &[u8], about: Descriptor) -> Sharded {
        let count = about.shards();
        let key = |shard| Shard::new(shard_key(name, shard, count));
        let bytes = about.encode();
        Sharded {
            filters: Arc::clone(filters),
            name: name.to_vec(),
            shards: (0..count).map(key).collect(),
            about: Some((about, bytes)),
        }
    }

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

    /// What tells of its shards; `None` where it is a filter under one key.
    pub fn about(&self) -> Option<&Descriptor> {
        self.about.as_ref().map(|(about, _)| about)
    }

    /// The keys that its items are in.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.shards.iter().map(|shard| shard.key.as_slice())
    }

    /// Fails unless it has so many shards.
    pub fn expect_shards(&self, need: u32) -> Result<(), FilterError> {
        let have = self.shards.len() as u32;
        if have == need {
            return Ok(());
        }
        Err(FilterError::Shards { key: shown(&self.name), have, need })
    }

    /// Add items. For each: whether it was certainly new.
    pub fn add<I: AsRef<[u8]>>(&self, items: &[I]) -> Result<Vec<bool>, FilterError> {
        self.ask(items, "INSERT", &["NOCREATE", "ITEMS"], true)
    }

    /// Whether each of the items may be in; `false` is certain.
    pub fn check<I: AsRef<[u8]>>(&self, items: &[I]) -> Result<Vec<bool>, FilterError> {
        self.ask(items, "MEXISTS", &[], false)
    }

    fn ask<I: AsRef<[u8]>>(
        &self,
        items: &[I],
        command: &str,
        words: &[&str],
        writes: bool,
    ) -> Result<Vec<bool>, FilterError> {
        let mut orders = self.still_there();
        let first = orders.len();
        let mut places: Vec<(usize, Vec<usize>)> = vec![];
        for (home, list) in self.homes(items) {
            let shard = &self.shards[home];
            for list in list.chunks(MAX_ITEMS) {
                let mut order = self.filters.command(command, &shard.key);
                words.iter().for_each(|word| _ = order.arg(word));
                list.iter().for_each(|at| _ = order.arg(items[*at].as_ref()));
                orders.push(Order::at(shard.slot, &order));
                if !writes {
                    orders.push(Order::at(shard.slot, cmd("EXISTS").arg(&shard.key)));
                }
                places.push((home, list.to_vec()));
            }
        }
        let how = if writes { self.filters.writing() } else { self.filters.reading() };
        let mut replies = self.filters.router.ask(&orders, how)?;
        let mut rest = replies.split_off(first).into_iter();
        self.check_still_there(replies)?;
        let mut answers = vec![false; items.len()];
        for (home, list) in places {
            let key = &self.shards[home].key;
            let values = self.values_of(home, rest.next(), list.len())?;
            if !writes && matches!(rest.next(), Some(Ok(Value::Int(0)))) {
                return Err(self.gone(home));
            }
            for (at, value) in list.iter().zip(&values) {
                answers[*at] = yes(key, value)?;
            }
        }
        Ok(answers)
    }

    /// As many values as were asked for.
    fn values_of(
        &self,
        home: usize,
        reply: Option<Reply>,
        count: usize,
    ) -> Result<Vec<Value>, FilterError> {
        let key = &self.shards[home].key;
        match reply {
            Some(Ok(Value::Array(values))) => {
                // A full filter stops early, with the reason in the last place.
                if let Some(error @ Value::ServerError(_)) = values.last() {
                    yes(key, error)?;
                }
                if values.len() != count {
                    return Err(unexpected(key, &Value::Int(values.len() as i64)));
                }
                Ok(values)
            }
            Some(Ok(other)) => Err(unexpected(key, &other)),
            Some(Err(what)) if what.ends_with("not found") => Err(self.gone(home)),
            Some(Err(what)) => Err(refusal(key, what)),
            None => Err(unexpected(key, &Value::Nil)),
        }
    }

    /// Items by the shard they belong to.
    fn homes<I: AsRef<[u8]>>(&self, items: &[I]) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let mut homes = vec![vec![]; self.shards.len()];
        match self.about() {
            Some(about) => {
                let (scheme, count) = (about.spec().scheme(), about.shards());
                for (at, item) in items.iter().enumerate() {
                    homes[shard_of(scheme.hash_bytes(item.as_ref()), count) as usize].push(at);
                }
            }
            None => homes[0].extend(0..items.len()),
        }
        homes.into_iter().enumerate().filter(|(_, list)| !list.is_empty())
    }

    /// A question whether the name still tells of the same shards.
    fn still_there(&self) -> Vec<Order> {
        let slot = slot_of(&self.name);
        self.about.iter().map(|_| Order::at(slot, cmd("GET").arg(&self.name))).collect()
    }

    fn check_still_there(&self, replies: Vec<Reply>) -> Result<(), FilterError> {
        for (reply, (_, bytes)) in replies.into_iter().zip(&self.about) {
            match reply {
                Ok(Value::BulkString(there)) if there == *bytes => {}
                Ok(_) => return Err(FilterError::Replaced { key: shown(&self.name) }),
                Err(what) => return Err(refusal(&self.name, what)),
            }
        }
        Ok(())
    }

    fn gone(&self, home: usize) -> FilterError {
        let key = shown(&self.shards[home].key);
        if self.about.is_some() { FilterError::Lost { key } } else { FilterError::Missing { key } }
    }

    /// The items counted in, over all shards.
    pub fn count(&self) -> Result<u64, FilterError> {
        let mut sum = 0u64;
        for (home, value) in self.each("CARD", &[])?.into_iter().enumerate() {
            match value {
                Value::Int(items) => sum = sum.saturating_add(items.unsigned_abs()),
                other => return Err(unexpected(&self.shards[home].key, &other)),
            }
        }
        Ok(sum)
    }

    /// The same question to every shard.
    pub(crate) fn each(&self, command: &str, words: &[&str]) -> Result<Vec<Value>, FilterError> {
        let mut orders = self.still_there();
        let first = orders.len();
        for shard in &self.shards {
            let mut order = self.filters.command(command, &shard.key);
            words.iter().for_each(|word| _ = order.arg(word));
            orders.push(Order::at(shard.slot, &order));
            orders.push(Order::at(shard.slot, cmd("EXISTS").arg(&shard.key)));
        }
        let mut replies = self.filters.router.ask(&orders, self.filters.fetching())?;
        let rest = replies.split_off(first);
        self.check_still_there(replies)?;
        let mut values = Vec::with_capacity(self.shards.len());
        let mut rest = rest.into_iter();
        for (home, shard) in self.shards.iter().enumerate() {
            let (value, there) = (rest.next(), rest.next());
            if there == Some(Ok(Value::Int(0))) {
                return Err(self.gone(home));
            }
            match value {
                Some(Ok(value)) => values.push(value),
                Some(Err(what)) => return Err(refusal(&shard.key, what)),
                None => return Err(unexpected(&shard.key, &Value::Nil)),
            }
        }
        Ok(values)
    }

    /// Write one of its shards as a file: see [`Filters::save`].
    pub fn save_shard(
        &self,
        shard: u32,
        to: &mut dyn Write,
        moved: &Moved<'_>,
    ) -> Result<Saved, FilterError> {
        let Some(shard) = self.shards.get(shard as usize) else {
            return Err(FilterError::Missing {
                key: format!("{}: shard {shard}", shown(&self.name)),
            });
        };
        self.filters.save(&shard.key, to, moved)
    }

    /// Delete it: what tells of the shards first, then they. How many keys there were.
    pub fn delete(&self) -> Result<u64, FilterError> {
        let mut gone = 0;
        let mut unlink = |keys: &mut dyn Iterator<Item = (&[u8], u16)>| {
            let orders: Vec<Order> =
                keys.map(|(key, slot)| Order::at(slot, cmd("UNLINK").arg(key))).collect();
            for reply in self.filters.router.ask(&orders, self.filters.writing())? {
                match reply {
                    Ok(Value::Int(count)) => gone += count.unsigned_abs(),
                    Ok(_) => {}
                    Err(what) => return Err(refusal(&self.name, what)),
                }
            }
            Ok(())
        };
        let name = (self.name.as_slice(), slot_of(&self.name));
        unlink(&mut self.about.iter().map(|_| name))?;
        unlink(&mut self.shards.iter().map(|shard| (shard.key.as_slice(), shard.slot)))?;
        Ok(gone)
    }

    pub(crate) fn filters(&self) -> &Filters {
        &self.filters
    }

    pub(crate) fn slots(&self) -> Vec<u16> {
        self.shards.iter().map(|shard| shard.slot).collect()
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
