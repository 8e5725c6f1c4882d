//! A filter over many keys comes into being, empty.

use super::{Shard, Sharded};
use crate::claim::{Claim, Claimed};
use crate::filters::{check_key, refusal, shown};
use crate::identity::{FilterId, Mark};
use crate::router::{How, Order};
use crate::slot::{shard_key, slot_of};
use crate::{Descriptor, FilterError, Filters, Held, Make};
use mayhap::{Native, Scheme};
use redis::{Value, cmd};
use std::sync::Arc;

/// Make a shard and mark it, in one step that can be asked for twice.
const RESERVE: &str = "\
local count = tonumber(ARGV[2])
local mark = 3 + count
if ARGV[mark + 1] ~= '' then
  local there = redis.pcall(ARGV[mark + 1], KEYS[1], ARGV[mark + 2], '')
  if not there['err'] then return 1 end
end
redis.call(ARGV[1], KEYS[1], unpack(ARGV, 3, 2 + count))
redis.call(ARGV[mark], KEYS[1], unpack(ARGV, mark + 2))
return 1";

impl Sharded {
    /// Make an empty filter: its shards first, then what tells of them. They do not grow: one that
    /// has all it was made for takes no more, so that the rate stays what it is.
    ///
    /// On servers with our module they are hashed under the secret of the descriptor, which must
    /// have one; others hash as they do. Where the module keeps no identities of shards (RedisBloom,
    /// valkey-bloom, earlier releases of ours), six items in each stand for it.
    ///
    /// While it is made its name is claimed: whoever else makes it gets [`FilterError::Loading`].
    pub fn create(
        filters: &Arc<Filters>,
        name: &[u8],
        about: Descriptor,
        over: bool,
    ) -> Result<Sharded, FilterError> {
        check_name(name)?;
        if about.spec().scheme().secret().is_none() {
            return Err(FilterError::Pairing {
                what: "a filter made on a server is hashed under a secret".to_owned(),
                hint: "give its spec one: Spec::with_secret",
            });
        }
        look_at(filters, name, over)?;
        let digest = Native::seeded(0).hash(about.encode().as_slice()).0;
        let claim = Claim::take(filters, name, about.shards(), digest)?;
        // Not before: whoever had the claim may just have ended.
        let there = look_at(filters, name, over).inspect_err(|_| claim.release())?;
        let filter = Sharded::claimed(filters, name, about, claim.id())?;
        filter.clear_claim(&there, claim.before);
        let made = claim.keep_while(|| (), || filter.reserve(&there, over));
        if made.is_err() {
            filter.unlink_own();
        }
        claim.release();
        made.map(|()| filter)
    }

    /// Of a filter that is about to be made.
    pub(super) fn claimed(
        filters: &Arc<Filters>,
        name: &[u8],
        about: Descriptor,
        id: FilterId,
    ) -> Result<Sharded, FilterError> {
        let mark = if filters.keeps_identities() { Mark::Stamp(id) } else { Mark::Witness(id) };
        let full = |error| FilterError::Pairing {
            what: format!("{}: {error}", shown(name)),
            hint: "note less about the filter",
        };
        Ok(Sharded::over(filters, name, about.marked(mark).map_err(full)?))
    }

    fn reserve(&self, there: &Held, over: bool) -> Result<(), FilterError> {
        let Some((about, _)) = &self.about else { return Ok(()) };
        if over {
            self.clear_away(there)?;
            self.delete()?;
        } else {
            self.check_free()?;
        }
        let orders: Vec<Order> =
            (0..self.shards.len()).map(|home| self.reserve_order(about, home)).collect();
        let how = self.filters.carrying();
        let how = How { again: self.filters.keeps_identities(), ..how };
        let replies = self.filters.router.ask(&orders, how)?;
        for (shard, reply) in self.shards.iter().zip(replies) {
            reply.map_err(|what| match what.contains("item exists") {
                true => FilterError::Exists { key: shown(&shard.key) },
                false => refusal(&shard.key, what),
            })?;
        }
        self.filters.settle(self.keys())?;
        self.describe()
    }

    fn reserve_order(&self, about: &Descriptor, home: usize) -> Order {
        let (filters, shard) = (&self.filters, &self.shards[home]);
        let mut words = vec![
            about.spec().fpr().to_string(),
            (about.shard_capacity() + self.witnesses()).to_string(),
            "NONSCALING".to_owned(),
        ];
        if let (Make::Mayhap, Some(secret)) = (filters.make(), about.spec().scheme().secret()) {
            let hex = secret.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            words.extend(["KIND", "blocked", "SECRET"].map(str::to_owned));
            words.push(hex);
        }
        let mut eval = cmd("EVAL");
        eval.arg(RESERVE).arg(1).arg(&shard.key);
        eval.arg(filters.command_name("RESERVE")).arg(words.len()).arg(words);
        match about.mark() {
            Mark::Stamp(id) => {
                eval.arg(filters.command_name("SHARDID")).arg(filters.command_name("SHARDMEXISTS"));
                eval.arg(self.shard_id(id, home).to_string());
            }
            Mark::Witness(id) => {
                eval.arg(filters.command_name("MADD")).arg("");
                eval.arg(&self.shard_id(id, home).witnesses());
            }
            Mark::None => {}
        }
        Order::at(shard.slot, &eval)
    }

    /// What is under the name goes, with its shards if it has some.
    pub(super) fn clear_away(&self, there: &Held) -> Result<(), FilterError> {
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

    /// What a process has left that died when it made a filter of this name.
    pub(super) fn clear_claim(&self, there: &Held, before: Option<Claimed>) {
        let Some(before) = before.filter(|before| Some(before.id) != self.mark().id()) else {
            return;
        };
        if matches!(there, Held::Shards(about) if about.mark().id() == Some(before.id)) {
            return; // it was done all but for the claim
        }
        let key = |shard| Shard::new(shard_key(&self.name, shard, before.count));
        let shards: Vec<Shard> = (0..before.count).map(key).collect();
        self.unlink_shards(&shards, before.id);
    }

    /// Delete what carries our identity, as if it had not been made.
    pub(super) fn unlink_own(&self) {
        if let Some(id) = self.mark().id() {
            self.unlink_shards(&self.shards, id);
        }
    }

    /// Shards of this id, those that have their names and those that have not. What cannot be
    /// deleted now is an orphan, which [`Filters::orphans`] finds.
    fn unlink_shards(&self, shards: &[Shard], id: FilterId) {
        let filters = &self.filters;
        let mut orders = Vec::with_capacity(2 * shards.len());
        for (home, shard) in (0..).zip(shards) {
            let temp = super::load::temp_key(&shard.key, id);
            orders.push(Order::at(shard.slot, cmd("UNLINK").arg(temp)));
            if filters.keeps_identities() {
                let id = id.shard(home, shards.len() as u32);
                orders.push(filters.unlink_shard(&shard.key, id));
            }
        }
        _ = filters.router.ask(&orders, filters.reading());
    }

    /// Fails where a shard's key is taken: by what an interrupted creation has left, perhaps.
    pub(super) fn check_free(&self) -> Result<(), FilterError> {
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
    pub(super) fn describe(&self) -> Result<(), FilterError> {
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

/// What is under a name; unless `over`, that must be nothing.
pub(super) fn look_at(filters: &Filters, name: &[u8], over: bool) -> Result<Held, FilterError> {
    match filters.look(name)? {
        there if there == Held::Nothing || over => Ok(there),
        _ => Err(FilterError::Exists { key: shown(name) }),
    }
}

/// Braces in the name would decide the slot of every shard.
pub(super) fn check_name(name: &[u8]) -> Result<(), FilterError> {
    check_key(name)?;
    if name.contains(&b'{') {
        return Err(FilterError::Name { got: shown(name) });
    }
    Ok(())
}
