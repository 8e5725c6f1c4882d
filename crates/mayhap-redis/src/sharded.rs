//! One filter sharded over many keys, and so over a whole cluster: open, look up, save, delete.

mod create;
mod load;

use crate::filters::{refusal, shown, unexpected, yes};
use crate::identity::{FilterId, Mark, ShardId, WITNESSES, witnesses};
use crate::router::Request;
use crate::slot::{shard_key, slot_of};
use crate::transfer::OnProgress;
use crate::{Descriptor, FilterError, Filters, KeyContent, Reply, SavedFormat};
use mayhap::sharded::shard_of;
use redis::{Cmd, Value, cmd};
use std::io::Write;
use std::sync::Arc;

/// Items per command at most: a server executes commands one after another, and others wait.
const MAX_ITEMS: usize = 4096;

/// Where the module has no identities: add to a shard that contains its witnesses, atomically.
const ADD_IF_WITNESSED: &str = "\
local count = tonumber(ARGV[3])
for _, found in ipairs(redis.call(ARGV[1], KEYS[1], unpack(ARGV, 4, 3 + count))) do
  if found ~= 1 then return redis.error_reply('BADSHARD witness missing') end
end
return redis.call(ARGV[2], KEYS[1], 'NOCREATE', 'ITEMS', unpack(ARGV, 4 + count))";

/// Reported where witnesses are missing; modules without identities answer alike for a missing key.
const UNMARKED: &str = "nothing, or a filter without its marks";

#[derive(Clone, Copy, PartialEq, Eq)]
enum ShardCommand {
    Add,
    Check,
}

/// One logical filter over the keys of a server or cluster.
///
/// Its name holds a small [`Descriptor`]; the items are in as many filters as were chosen when it
/// was created, `name:{1.2}` and so on: the tag in the braces spreads them evenly over all slots.
/// The hash of an item decides its shard. Calls go to all nodes at once, and continue during a
/// failover or a slot migration: unanswered requests are sent again, for as long as
/// [`Filters::connect_with`] says. A plain filter under one key opens as well and is used alike.
///
/// A server answers "no" for a key that is missing, or was deleted and created again. Here it does
/// not: every shard carries the identity of the whole filter, which is compared in the command that
/// answers. A shard that was evicted, cleared or replaced, and a filter that was replaced since it
/// was opened, are errors. (Filters created by earlier releases have no identity, see
/// [`Descriptor::has_identity`]: of those only missing shards are noticed.)
///
/// Calls block; async programs use `spawn_blocking`: one call carries thousands of items, so a
/// thread for each call costs little.
///
/// ```no_run
/// use mayhap::{Secret, Spec, format::Metadata};
/// use mayhap_redis::{Address, Descriptor, Filters, Sharded};
/// use std::sync::Arc;
/// # let secret = Secret::from_bytes([7; 16]);
/// let (address, _) = Address::parse("redis+cluster://10.0.0.7:7000")?;
/// let filters = Arc::new(Filters::connect(address, "BF")?);
/// let spec = Spec::new(2_000_000_000, 0.01)?.with_secret(secret);
/// let about = Descriptor::new(spec, 64, Metadata::new())?;
/// let urls = Sharded::create(&filters, b"urls", about, false)?;
/// assert_eq!(urls.add(&[b"https://example.org/"])?, [true]);
/// assert_eq!(urls.check(&[b"https://example.org/", b"https://example.com/"])?, [true, false]);
/// # Ok::<(), mayhap_redis::FilterError>(())
/// ```
pub struct Sharded {
    filters: Arc<Filters>,
    name: Vec<u8>,
    /// The descriptor and its bytes; `None` where the name is the filter itself.
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
        match filters.key_content(name)? {
            KeyContent::Shards(about) => Ok(Sharded::over(filters, name, *about)),
            KeyContent::Filter => {
                filters.check_no_shards_beside(name)?;
                Ok(Sharded {
                    filters: Arc::clone(filters),
                    name: name.to_vec(),
                    about: None,
                    shards: vec![Shard::new(name.to_vec())],
                })
            }
            KeyContent::Nothing => Err(FilterError::Missing { key: shown(name) }),
            KeyContent::Other(got) => Err(FilterError::WrongType { key: shown(name), got }),
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

    /// The descriptor; `None` for a filter under one key.
    pub fn about(&self) -> Option<&Descriptor> {
        self.about.as_ref().map(|(about, _)| about)
    }

    /// The keys of its shards.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.shards.iter().map(|shard| shard.key.as_slice())
    }

    /// Fails unless it has this number of shards.
    pub fn expect_shards(&self, need: u32) -> Result<(), FilterError> {
        let have = self.shards.len() as u32;
        if have == need {
            return Ok(());
        }
        Err(FilterError::Shards { key: shown(&self.name), have, need })
    }

    /// Add items. For each: whether it was certainly new.
    pub fn add<I: AsRef<[u8]>>(&self, items: &[I]) -> Result<Vec<bool>, FilterError> {
        self.send(items, ShardCommand::Add)
    }

    /// Whether each item may be in the filter; `false` is certain.
    pub fn check<I: AsRef<[u8]>>(&self, items: &[I]) -> Result<Vec<bool>, FilterError> {
        self.send(items, ShardCommand::Check)
    }

    fn send<I: AsRef<[u8]>>(
        &self,
        items: &[I],
        question: ShardCommand,
    ) -> Result<Vec<bool>, FilterError> {
        let mut requests = self.descriptor_check();
        let first = requests.len();
        let mut places: Vec<(usize, Vec<usize>, usize)> = vec![];
        for (home, list) in self.by_shard(items) {
            for list in list.chunks(MAX_ITEMS) {
                let items: Vec<&[u8]> = list.iter().map(|at| items[*at].as_ref()).collect();
                let (more, probes) = self.requests_for(home, question, &items);
                requests.extend(more);
                places.push((home, list.to_vec(), probes));
            }
        }
        let options = match question {
            ShardCommand::Add => self.filters.writing(),
            ShardCommand::Check => self.filters.reading(),
        };
        let mut replies = self.filters.router.send(&requests, options)?;
        let mut rest = replies.split_off(first).into_iter();
        self.check_still_there(replies)?;
        let unmarked = self.mark() == Mark::None && question == ShardCommand::Check;
        let mut answers = vec![false; items.len()];
        for (home, list, witnesses) in places {
            let key = &self.shards[home].key;
            let values = self.values_of(home, rest.next(), witnesses + list.len())?;
            if unmarked && matches!(rest.next(), Some(Ok(Value::Int(0)))) {
                return Err(self.shard_missing(home));
            }
            for value in &values[..witnesses] {
                if !yes(key, value)? {
                    return Err(self.not_the_shard(home, UNMARKED));
                }
            }
            for (at, value) in list.iter().zip(&values[witnesses..]) {
                answers[*at] = yes(key, value)?;
            }
        }
        Ok(answers)
    }

    /// The request for items of a shard that also checks the shard's identity, and the number of
    /// witness answers before those of the items.
    fn requests_for(
        &self,
        home: usize,
        question: ShardCommand,
        items: &[&[u8]],
    ) -> (Vec<Request>, usize) {
        let (filters, shard) = (&self.filters, &self.shards[home]);
        let request = |command: &mut Cmd| {
            items.iter().for_each(|item| _ = command.arg(*item));
            Request::at(shard.slot, command)
        };
        match (self.mark(), question) {
            (Mark::Stamp(id), question) => {
                let name = match question {
                    ShardCommand::Add => "SHARDMADD",
                    ShardCommand::Check => "SHARDMEXISTS",
                };
                let mut command = filters.command(name, &shard.key);
                command.arg(self.shard_id(id, home).to_string());
                (vec![request(&mut command)], 0)
            }
            (Mark::Witness(id), ShardCommand::Check) => {
                let mut command = filters.command("MEXISTS", &shard.key);
                command.arg(&witnesses(&self.shard_id(id, home)));
                (vec![request(&mut command)], WITNESSES)
            }
            (Mark::Witness(id), ShardCommand::Add) => {
                let mut command = cmd("EVAL");
                command.arg(ADD_IF_WITNESSED).arg(1).arg(&shard.key);
                command.arg(filters.command_name("MEXISTS")).arg(filters.command_name("INSERT"));
                command.arg(WITNESSES).arg(&witnesses(&self.shard_id(id, home)));
                (vec![request(&mut command)], 0)
            }
            (Mark::None, ShardCommand::Add) => {
                let mut command = filters.command("INSERT", &shard.key);
                command.arg("NOCREATE").arg("ITEMS");
                (vec![request(&mut command)], 0)
            }
            (Mark::None, ShardCommand::Check) => {
                let asked = request(&mut filters.command("MEXISTS", &shard.key));
                (vec![asked, Request::at(shard.slot, cmd("EXISTS").arg(&shard.key))], 0)
            }
        }
    }

    /// How its shards are identified.
    pub(crate) fn mark(&self) -> Mark {
        self.about().map_or(Mark::None, Descriptor::mark)
    }

    fn shard_id(&self, id: FilterId, home: usize) -> ShardId {
        id.shard(home as u32, self.shards.len() as u32)
    }

    /// As many values as were requested.
    fn values_of(
        &self,
        home: usize,
        reply: Option<Reply>,
        count: usize,
    ) -> Result<Vec<Value>, FilterError> {
        let key = &self.shards[home].key;
        match reply {
            Some(Ok(Value::Array(values))) => {
                // A full filter stops early, with the error in the last place.
                if let Some(error @ Value::ServerError(_)) = values.last() {
                    yes(key, error)?;
                }
                if values.len() != count {
                    return Err(unexpected(key, &Value::Int(values.len() as i64)));
                }
                Ok(values)
            }
            Some(Ok(other)) => Err(unexpected(key, &other)),
            Some(Err(what)) => Err(self.refused(home, what)),
            None => Err(unexpected(key, &Value::Nil)),
        }
    }

    /// An error reply about a shard, by its meaning.
    fn refused(&self, home: usize, what: String) -> FilterError {
        if what.ends_with("not found") {
            return self.shard_missing(home);
        }
        if what.starts_with("WRONGTYPE") && self.about.is_some() {
            return self.not_the_shard(home, "something that is not a filter");
        }
        match what.strip_prefix("BADSHARD the key holds ") {
            Some(found) => self.not_the_shard(home, found),
            None if what.contains("BADSHARD") => self.not_the_shard(home, UNMARKED),
            None => refusal(&self.shards[home].key, what),
        }
    }

    /// A request that only this shard answers with yes.
    fn probe(&self, home: usize) -> Request {
        match self.mark() {
            Mark::None => {
                let shard = &self.shards[home];
                Request::at(shard.slot, cmd("EXISTS").arg(&shard.key))
            }
            Mark::Stamp(_) | Mark::Witness(_) => {
                self.requests_for(home, ShardCommand::Check, &[b""]).0.remove(0)
            }
        }
    }

    /// The meaning of its reply.
    fn heed_probe(&self, home: usize, reply: Option<Reply>) -> Result<(), FilterError> {
        match self.mark() {
            Mark::None => match reply {
                Some(Ok(Value::Int(0))) => Err(self.shard_missing(home)),
                Some(Err(what)) => Err(self.refused(home, what)),
                _ => Ok(()),
            },
            Mark::Stamp(_) => self.values_of(home, reply, 1).map(drop),
            Mark::Witness(_) => {
                let values = self.values_of(home, reply, WITNESSES + 1)?;
                for value in &values[..WITNESSES] {
                    if !yes(&self.shards[home].key, value)? {
                        return Err(self.not_the_shard(home, UNMARKED));
                    }
                }
                Ok(())
            }
        }
    }

    /// Items grouped by shard.
    fn by_shard<I: AsRef<[u8]>>(&self, items: &[I]) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let mut by_shard = vec![vec![]; self.shards.len()];
        match self.about() {
            Some(about) => {
                let bytes: Vec<&[u8]> = items.iter().map(AsRef::as_ref).collect();
                let mut hashes = Vec::with_capacity(bytes.len());
                about.spec().scheme().hash_batch(&bytes, &mut hashes);
                for (at, hash) in hashes.into_iter().enumerate() {
                    by_shard[shard_of(hash, about.shards()) as usize].push(at);
                }
            }
            None => by_shard[0].extend(0..items.len()),
        }
        by_shard.into_iter().enumerate().filter(|(_, list)| !list.is_empty())
    }

    /// A request that checks whether the descriptor is unchanged.
    fn descriptor_check(&self) -> Vec<Request> {
        let slot = slot_of(&self.name);
        self.about.iter().map(|_| Request::at(slot, cmd("GET").arg(&self.name))).collect()
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

    fn shard_missing(&self, home: usize) -> FilterError {
        let key = shown(&self.shards[home].key);
        if self.about.is_none() {
            return FilterError::Missing { key };
        }
        FilterError::Lost { key, node: self.filters.node_of(self.shards[home].slot) }
    }

    fn not_the_shard(&self, home: usize, found: &str) -> FilterError {
        let Shard { key, slot } = &self.shards[home];
        let (key, node) = (shown(key), self.filters.node_of(*slot));
        FilterError::NotTheShard { key, node, found: found.to_owned() }
    }

    /// The number of items, over all shards.
    pub fn count(&self) -> Result<u64, FilterError> {
        let mut sum = 0u64;
        for (home, value) in self.each("CARD", &[])?.into_iter().enumerate() {
            match value {
                Value::Int(items) => {
                    sum = sum.saturating_add(items.unsigned_abs().saturating_sub(self.witnesses()));
                }
                other => return Err(unexpected(&self.shards[home].key, &other)),
            }
        }
        Ok(sum)
    }

    /// Items of a shard that are not items of the filter: its witnesses.
    pub(crate) fn witnesses(&self) -> u64 {
        if matches!(self.mark(), Mark::Witness(_)) { WITNESSES as u64 } else { 0 }
    }

    /// The same request to every shard.
    pub(crate) fn each(&self, command: &str, words: &[&str]) -> Result<Vec<Value>, FilterError> {
        let mut requests = self.descriptor_check();
        let first = requests.len();
        for (home, shard) in self.shards.iter().enumerate() {
            let mut request = self.filters.command(command, &shard.key);
            words.iter().for_each(|word| _ = request.arg(word));
            requests.push(Request::at(shard.slot, &request));
            requests.push(self.probe(home));
        }
        let mut replies = self.filters.router.send(&requests, self.filters.download_options())?;
        let rest = replies.split_off(first);
        self.check_still_there(replies)?;
        let mut values = Vec::with_capacity(self.shards.len());
        let mut rest = rest.into_iter();
        for (home, shard) in self.shards.iter().enumerate() {
            let (value, there) = (rest.next(), rest.next());
            self.heed_probe(home, there)?;
            match value {
                Some(Ok(value)) => values.push(value),
                Some(Err(what)) => return Err(self.refused(home, what)),
                None => return Err(unexpected(&shard.key, &Value::Nil)),
            }
        }
        Ok(values)
    }

    /// Fails unless every shard exists and has the right identity.
    pub(crate) fn check_shards(&self) -> Result<(), FilterError> {
        let requests: Vec<Request> = (0..self.shards.len()).map(|home| self.probe(home)).collect();
        let replies = self.filters.router.send(&requests, self.filters.reading())?;
        let mut replies = replies.into_iter();
        (0..self.shards.len()).try_for_each(|home| self.heed_probe(home, replies.next()))
    }

    /// Save one of its shards to a file: see [`Filters::save`].
    pub fn save_shard(
        &self,
        shard: u32,
        to: &mut dyn Write,
        moved: &OnProgress<'_>,
    ) -> Result<SavedFormat, FilterError> {
        let home = shard as usize;
        let Some(shard) = self.shards.get(home) else {
            return Err(FilterError::Missing {
                key: format!("{}: shard {shard}", shown(&self.name)),
            });
        };
        let (saved, found) = match self.filters.save_with_identity(&shard.key, to, moved) {
            Err(FilterError::Missing { .. }) => return Err(self.shard_missing(home)),
            Err(FilterError::WrongType { .. }) if self.about.is_some() => {
                return Err(self.not_the_shard(home, "something that is not a filter"));
            }
            saved => saved?,
        };
        match (self.mark(), found) {
            (Mark::Stamp(id), Some(found)) if found == self.shard_id(id, home) => {}
            (Mark::Stamp(_), Some(found)) => {
                return Err(self.not_the_shard(home, &format!("another shard: {found}")));
            }
            (Mark::Stamp(_), None) => {
                return Err(self.not_the_shard(home, "a filter that is not a shard"));
            }
            (Mark::Witness(_), _) => {
                let reply =
                    self.filters.router.send(&[self.probe(home)], self.filters.reading())?;
                self.heed_probe(home, reply.into_iter().next())?;
            }
            (Mark::None, _) => {}
        }
        Ok(saved)
    }

    /// Delete it: first the descriptor, then the shards. Returns the number of keys deleted.
    pub fn delete(&self) -> Result<u64, FilterError> {
        let mut shard_missing = 0;
        let mut unlink = |keys: &mut dyn Iterator<Item = (&[u8], u16)>| {
            let requests: Vec<Request> =
                keys.map(|(key, slot)| Request::at(slot, cmd("UNLINK").arg(key))).collect();
            for reply in self.filters.router.send(&requests, self.filters.writing())? {
                match reply {
                    Ok(Value::Int(count)) => shard_missing += count.unsigned_abs(),
                    Ok(_) => {}
                    Err(what) => return Err(refusal(&self.name, what)),
                }
            }
            Ok(())
        };
        let name = (self.name.as_slice(), slot_of(&self.name));
        unlink(&mut self.about.iter().map(|_| name))?;
        unlink(&mut self.shards.iter().map(|shard| (shard.key.as_slice(), shard.slot)))?;
        Ok(shard_missing)
    }

    pub(crate) fn filters(&self) -> &Filters {
        &self.filters
    }

    pub(crate) fn slots(&self) -> Vec<u16> {
        self.shards.iter().map(|shard| shard.slot).collect()
    }
}
