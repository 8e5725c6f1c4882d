//! Creates an empty sharded filter.

use super::{Shard, Sharded};
use crate::claim::{Claim, Claimed};
use crate::filters::{check_key, refusal, shown};
use crate::identity::{FilterId, Mark, witnesses};
use crate::router::{Request, RequestOptions};
use crate::slot::{shard_key, slot_of};
use crate::{Descriptor, FilterError, Filters, KeyContent, ServerModule};
use mayhap::scheme::{Native, Scheme};
use redis::{Value, cmd};
use std::sync::Arc;

/// Create a shard and mark it, atomically and idempotently.
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
    /// Create an empty filter: first its shards, then the descriptor. Shards do not grow: a full
    /// one takes no more items, so that the false-positive rate holds.
    ///
    /// With the Mayhap module they are hashed with the secret of the descriptor, which must have
    /// one; other modules use their own hash. Where the module has no shard identities (RedisBloom,
    /// valkey-bloom, earlier releases), six items in each shard are the witnesses.
    ///
    /// Its name is claimed meanwhile: another creation gets [`FilterError::Loading`].
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
        let digest = Native::xxh3(0).hash(about.encode().as_slice()).to_u64();
        let claim = Claim::take(filters, name, about.shards(), digest)?;
        // Not earlier: the previous owner of the claim may just have finished.
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

    /// The identity of a filter that is about to be created.
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

    fn reserve(&self, there: &KeyContent, over: bool) -> Result<(), FilterError> {
        let Some((about, _)) = &self.about else { return Ok(()) };
        if over {
            self.clear_away(there)?;
            self.delete()?;
        } else {
            self.check_free()?;
        }
        let requests: Vec<Request> =
            (0..self.shards.len()).map(|home| self.reserve_request(about, home)).collect();
        let options = self.filters.upload_options();
        let options = RequestOptions { again: self.filters.keeps_identities(), ..options };
        let replies = self.filters.router.send(&requests, options)?;
        for (shard, reply) in self.shards.iter().zip(replies) {
            reply.map_err(|what| match what.contains("item exists") {
                true => FilterError::Exists { key: shown(&shard.key) },
                false => refusal(&shard.key, what),
            })?;
        }
        self.filters.wait_for_replicas(self.keys())?;
        self.describe()
    }

    fn reserve_request(&self, about: &Descriptor, home: usize) -> Request {
        let (filters, shard) = (&self.filters, &self.shards[home]);
        let mut words = vec![
            about.spec().fpr().to_string(),
            (about.shard_capacity() + self.witnesses()).to_string(),
            "NONSCALING".to_owned(),
        ];
        if let (ServerModule::Mayhap, Some(secret)) =
            (filters.server_module(), about.spec().scheme().secret())
        {
            words.extend(["KIND", "blocked", "SECRET"].map(str::to_owned));
            words.push(secret.to_hex());
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
                eval.arg(&witnesses(&self.shard_id(id, home)));
            }
            Mark::None => {}
        }
        Request::at(shard.slot, &eval)
    }

    /// Delete what the name holds, with its shards if it has some.
    pub(super) fn clear_away(&self, there: &KeyContent) -> Result<(), FilterError> {
        match there {
            KeyContent::Shards(old) => {
                Sharded::over(&self.filters, &self.name, (**old).clone()).delete().map(drop)
            }
            KeyContent::Nothing => Ok(()),
            _ => {
                let unlink = Request::at(slot_of(&self.name), cmd("UNLINK").arg(&self.name));
                self.filters.one(&self.name, unlink, self.filters.writing()).map(drop)
            }
        }
    }

    /// Delete what a dead process left when it created a filter of this name.
    pub(super) fn clear_claim(&self, there: &KeyContent, before: Option<Claimed>) {
        let Some(before) = before.filter(|before| Some(before.id) != self.mark().id()) else {
            return;
        };
        if matches!(there, KeyContent::Shards(about) if about.mark().id() == Some(before.id)) {
            return; // complete except for the claim
        }
        let key = |shard| Shard::new(shard_key(&self.name, shard, before.count));
        let shards: Vec<Shard> = (0..before.count).map(key).collect();
        self.unlink_shards(&shards, before.id);
    }

    /// Undo: delete everything with our identity.
    pub(super) fn unlink_own(&self) {
        if let Some(id) = self.mark().id() {
            self.unlink_shards(&self.shards, id);
        }
    }

    /// Delete shards of this id, renamed or not. What cannot be deleted now is an orphan, which
    /// [`Filters::orphans`] finds.
    fn unlink_shards(&self, shards: &[Shard], id: FilterId) {
        let filters = &self.filters;
        let mut requests = Vec::with_capacity(2 * shards.len());
        for (home, shard) in (0..).zip(shards) {
            let temp = super::load::temp_key(&shard.key, id);
            requests.push(Request::at(shard.slot, cmd("UNLINK").arg(temp)));
            if filters.keeps_identities() {
                let id = id.shard(home, shards.len() as u32);
                requests.push(filters.unlink_shard(&shard.key, id));
            }
        }
        _ = filters.router.send(&requests, filters.reading());
    }

    /// Fails if the key of a shard exists, perhaps from an interrupted creation.
    pub(super) fn check_free(&self) -> Result<(), FilterError> {
        let exists = |shard: &Shard| Request::at(shard.slot, cmd("EXISTS").arg(&shard.key));
        let requests: Vec<Request> = self.shards.iter().map(exists).collect();
        let replies = self.filters.router.send(&requests, self.filters.reading())?;
        match self.shards.iter().zip(replies).find(|(_, reply)| *reply != Ok(Value::Int(0))) {
            Some((shard, Err(what))) => Err(refusal(&shard.key, what)),
            Some((shard, Ok(_))) => Err(FilterError::Exists { key: shown(&shard.key) }),
            None => Ok(()),
        }
    }

    /// Write the descriptor.
    pub(super) fn describe(&self) -> Result<(), FilterError> {
        let Some((_, bytes)) = &self.about else { return Ok(()) };
        let mut set = cmd("SET");
        set.arg(&self.name).arg(bytes).arg("NX");
        let slot = slot_of(&self.name);
        let value =
            self.filters.one(&self.name, Request::at(slot, &set), self.filters.writing())?;
        if value == Value::Nil {
            // Another process was first, or we were and the reply was lost.
            let get = Request::at(slot, cmd("GET").arg(&self.name));
            let there = self.filters.one(&self.name, get, self.filters.reading())?;
            if there != Value::BulkString(bytes.clone()) {
                return Err(FilterError::Exists { key: shown(&self.name) });
            }
        }
        Ok(())
    }
}

/// What the name holds; unless `over`, it must be nothing.
pub(super) fn look_at(
    filters: &Filters,
    name: &[u8],
    over: bool,
) -> Result<KeyContent, FilterError> {
    match filters.key_content(name)? {
        there if there == KeyContent::Nothing || over => Ok(there),
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
