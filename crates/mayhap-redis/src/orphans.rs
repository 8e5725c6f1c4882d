//! What loads that died have left: shards that no descriptor tells of, and pieces under other names.

use crate::claim::{Claimed, claimed};
use crate::filters::{refusal, shown, text};
use crate::identity::{FilterId, ShardId};
use crate::router::Request;
use crate::slot::{first_shard_keys, shard_key, slot_of};
use crate::transfer::ABANDONED_S;
use crate::{FilterError, Filters, KeyContent, Reply};
use mayhap::format::dump::DumpHead;
use redis::{Value, cmd};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Keys asked about at a time.
const BATCH: usize = 512;

/// Delete a key if it still holds this shard.
const UNLINK_SHARD: &str = "\
local there = redis.pcall(ARGV[1], KEYS[1], ARGV[2], '')
if there['err'] then return 0 end
return redis.call('UNLINK', KEYS[1])";

/// A key that belongs to no filter any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    key: Vec<u8>,
    filter: Vec<u8>,
    age: Duration,
    shard: Option<ShardId>,
}

impl Orphan {
    /// Which key.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The name of the filter that it was to be a part of.
    pub fn filter(&self) -> &[u8] {
        &self.filter
    }

    /// How long ago whoever made it was last heard of.
    pub fn age(&self) -> Duration {
        self.age
    }
}

/// What a key's name says that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    /// `name:{tag}`.
    Shard { name: Vec<u8> },
    /// Something on its way, of a filter with an id or made at some time.
    OnItsWay { name: Vec<u8>, id: Option<FilterId>, made: Duration },
}

impl Named {
    fn of(key: &[u8]) -> Option<Named> {
        if let Some(name) = shard_name(key) {
            return Some(Named::Shard { name: name.to_vec() });
        }
        let words: [&[u8]; 2] = [b":loading-", b":saving-"];
        let (at, word) = words.into_iter().find_map(|word| Some((last(key, word)?, word)))?;
        let (front, back) = (&key[..at], &key[at + word.len()..]);
        let back = std::str::from_utf8(back).ok()?;
        // In the slot of a key with odd braces it has a tag of its own at the end.
        let back = back.split_once(":{").map_or(back, |(back, _)| back);
        let front = front.strip_prefix(b"{").and_then(|f| f.strip_suffix(b"}")).unwrap_or(front);
        let name = shard_name(front).unwrap_or(front).to_vec();
        if let Some(id) = FilterId::parse(back) {
            return Some(Named::OnItsWay { name, id: Some(id), made: since(id.age()) });
        }
        // The time in nanoseconds, the process and a count.
        let mut parts = back.split('-');
        let nanos = u64::from_str_radix(parts.next()?, 16).ok()?;
        let rest = [parts.next()?, parts.next()?];
        let numbers = rest.iter().all(|part| u64::from_str_radix(part, 16).is_ok());
        let whole = numbers && parts.next().is_none();
        whole.then(|| Named::OnItsWay { name, id: None, made: Duration::from_nanos(nanos) })
    }
}

/// The name in `name:{7}` or `name:{7.31}`.
fn shard_name(key: &[u8]) -> Option<&[u8]> {
    let open = last(key, b":{")?;
    let tag = key[open + 2..].strip_suffix(b"}")?;
    let mut numbers = tag.split(|byte| *byte == b'.');
    let number = |part: Option<&[u8]>| {
        part.is_some_and(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    };
    let first = number(numbers.next());
    let rest = numbers.clone().count();
    (first && rest <= 1 && (rest == 0 || number(numbers.next()))).then_some(&key[..open])
}

fn last(key: &[u8], word: &[u8]) -> Option<usize> {
    (0..key.len().saturating_sub(word.len() - 1)).rev().find(|at| key[*at..].starts_with(word))
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn since(age: Duration) -> Duration {
    now().saturating_sub(age)
}

/// What is known about the filter of a name.
struct Owner {
    held: KeyContent,
    claim: Option<(Claimed, bool)>,
}

impl Filters {
    /// What loads and creations have left that died, on all nodes: shards that no descriptor tells of,
    /// and filters on their way. Only what was not heard of for `older_than`, and nothing of a load
    /// that is under way.
    ///
    /// Without a name shards are known by the identity they carry. Where earlier releases or modules
    /// without identities made them, only their names tell, which others may use too: those are found
    /// if `name` says whose they were, and nothing is under that name.
    pub fn orphans(
        &self,
        name: Option<&[u8]>,
        older_than: Duration,
    ) -> Result<Vec<Orphan>, FilterError> {
        let mut found: Vec<(Vec<u8>, Named)> = Vec::new();
        self.router.scan(b"*:[{ls]*", &mut |keys| {
            let named = keys.into_iter().filter_map(|key| Named::of(&key).map(|is| (key, is)));
            found.extend(named.filter(|(_, is)| {
                let (Named::Shard { name: of } | Named::OnItsWay { name: of, .. }) = is;
                name.is_none_or(|name| name == of)
            }));
            true
        })?;
        // A scan may give a key twice.
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.dedup_by(|a, b| a.0 == b.0);
        let mut owners: BTreeMap<Vec<u8>, Option<Owner>> = BTreeMap::new();
        let mut orphans = Vec::new();
        for batch in found.chunks(BATCH) {
            let facts = self.facts(batch)?;
            for ((key, named), facts) in batch.iter().zip(facts) {
                let (Named::Shard { name: of } | Named::OnItsWay { name: of, .. }) = named;
                if !facts.is_filter {
                    continue;
                }
                if !owners.contains_key(of) {
                    owners.insert(of.clone(), self.owner(of)?);
                }
                let Some(Some(owner)) = owners.get(of) else { continue };
                let age = match named {
                    Named::Shard { .. } => facts.age_of_shard(key, of, owner, name.is_some()),
                    Named::OnItsWay { id, made, .. } => facts.age_on_its_way(*id, *made, owner),
                };
                if let Some(age) = age.filter(|age| *age >= older_than) {
                    let (key, filter) = (key.clone(), of.clone());
                    orphans.push(Orphan { key, filter, age, shard: facts.shard });
                }
            }
        }
        Ok(orphans)
    }

    /// Delete them, and tell how many there were. A shard that is another by now is left alone.
    pub fn delete_orphans(&self, orphans: &[Orphan]) -> Result<u64, FilterError> {
        let mut gone = 0;
        for batch in orphans.chunks(BATCH) {
            let request = |orphan: &Orphan| match orphan.shard {
                Some(shard) => self.unlink_shard(&orphan.key, shard),
                None => Request::at(slot_of(&orphan.key), cmd("UNLINK").arg(&orphan.key)),
            };
            let requests: Vec<Request> = batch.iter().map(request).collect();
            let replies = self.router.send(&requests, self.writing())?;
            for (orphan, reply) in batch.iter().zip(replies) {
                match reply {
                    Ok(Value::Int(count)) => gone += count.unsigned_abs(),
                    Ok(_) => {}
                    Err(what) => return Err(refusal(&orphan.key, what)),
                }
            }
        }
        Ok(gone)
    }

    /// Fails where a filter lies under the name of a larger one whose shards are still there: then
    /// the descriptor was deleted and the name taken by somebody else (a `BF.ADD` is enough), and the
    /// filter would answer "no" for what the shards hold.
    ///
    /// Only the identity tells a shard, so those of modules without identities are not noticed; nor is
    /// anything where the caller may not read the shards.
    pub(crate) fn check_no_shards_beside(&self, name: &[u8]) -> Result<(), FilterError> {
        if !self.keeps_identities() {
            return Ok(());
        }
        let keys = first_shard_keys(name);
        let head = |key: &Vec<u8>| Request::at(slot_of(key), self.command("SCANDUMP", key).arg(0));
        let requests: Vec<Request> = keys.iter().map(head).collect();
        let replies = self.router.send(&requests, self.reading())?;
        let is_first = |key: &[u8], reply: &Reply| {
            let shard = shard_of(reply).filter(|shard| shard.index() == 0);
            shard.is_some_and(|shard| shard_key(name, 0, shard.count()) == key)
        };
        let found = keys.iter().zip(&replies).find(|(key, reply)| is_first(key, reply));
        let Some((shard, _)) = found else { return Ok(()) };
        // Somebody may be putting shards under this name just now.
        if matches!(claimed(self, name)?, Some((_, true))) {
            return Ok(());
        }
        Err(FilterError::ShardsBeside { key: shown(name), shard: shown(shard) })
    }

    /// Delete a key if it holds this shard.
    pub(crate) fn unlink_shard(&self, key: &[u8], shard: ShardId) -> Request {
        let mut eval = cmd("EVAL");
        eval.arg(UNLINK_SHARD).arg(1).arg(key);
        eval.arg(self.command_name("SHARDMEXISTS")).arg(shard.to_string());
        Request::at(slot_of(key), &eval)
    }

    /// `None` where it cannot be told: then nothing is its orphan.
    fn owner(&self, name: &[u8]) -> Result<Option<Owner>, FilterError> {
        let held = match self.key_content(name) {
            Err(FilterError::Descriptor { .. }) => return Ok(None),
            held => held?,
        };
        Ok(Some(Owner { held, claim: claimed(self, name)? }))
    }

    fn facts(&self, keys: &[(Vec<u8>, Named)]) -> Result<Vec<LoadFacts>, FilterError> {
        let mut requests = Vec::with_capacity(4 * keys.len());
        for (key, _) in keys {
            let slot = slot_of(key);
            requests.push(Request::at(slot, cmd("TYPE").arg(key)));
            // Before it is touched.
            requests.push(Request::at(slot, cmd("OBJECT").arg("IDLETIME").arg(key)));
            requests.push(Request::at(slot, cmd("TTL").arg(key)));
            requests.push(Request::at(slot, self.command("SCANDUMP", key).arg(0)));
        }
        let replies = self.router.send(&requests, self.reading())?;
        Ok(replies.chunks(4).map(LoadFacts::of).collect())
    }
}

/// Which shard a key is, by the head of its dump.
fn shard_of(head: &Reply) -> Option<ShardId> {
    let Ok(Value::Array(pair)) = head else { return None };
    match pair.as_slice() {
        [_, Value::BulkString(head)] => DumpHead::decode(head).ok()?.shard,
        _ => None,
    }
}

/// What servers say about a key.
#[derive(Default)]
struct LoadFacts {
    is_filter: bool,
    /// Nobody has asked for it for so long.
    idle: Option<Duration>,
    /// When it expires.
    left_s: Option<u64>,
    shard: Option<ShardId>,
}

impl LoadFacts {
    fn of(replies: &[Reply]) -> LoadFacts {
        let [kind, idle, ttl, head] = replies else { return LoadFacts::default() };
        let kind = kind.as_ref().map(text).unwrap_or_default();
        let seconds = |reply: &Reply| match reply {
            Ok(Value::Int(seconds)) => u64::try_from(*seconds).ok(),
            _ => None,
        };
        LoadFacts {
            is_filter: ["mayhap-bf", "MBbloom--", "bloomfltr"].contains(&kind.as_str()),
            idle: seconds(idle).map(Duration::from_secs),
            left_s: seconds(ttl),
            shard: shard_of(head),
        }
    }

    /// How old it is, if it is a shard of nothing.
    fn age_of_shard(
        &self,
        key: &[u8],
        name: &[u8],
        owner: &Owner,
        was_named: bool,
    ) -> Option<Duration> {
        let Some(shard) = self.shard else {
            // Servers that count how often keys are used do not know when.
            let orphaned =
                was_named && owner.held == KeyContent::Nothing && !owner.is_at_work(None);
            return orphaned.then(|| self.idle.unwrap_or_default());
        };
        let id = FilterId::of(&shard);
        let described =
            matches!(&owner.held, KeyContent::Shards(about) if about.mark().id() == Some(id));
        // Somebody's copy, or what was renamed, is theirs.
        let is_its_place = key == shard_key(name, shard.index(), shard.count());
        let orphaned = is_its_place && !described && !owner.is_at_work(Some(id));
        orphaned.then(|| id.age())
    }

    /// How long ago something came of it that is on its way.
    fn age_on_its_way(
        &self,
        id: Option<FilterId>,
        made: Duration,
        owner: &Owner,
    ) -> Option<Duration> {
        let heard = self.left_s.and_then(|left_s| ABANDONED_S.checked_sub(left_s));
        let age = heard.map_or_else(|| now().saturating_sub(made), Duration::from_secs);
        let at_work = id.is_some_and(|id| owner.is_at_work(Some(id)));
        (!at_work).then_some(age)
    }
}

impl Owner {
    /// Whether somebody alive makes the filter of this id, or any.
    fn is_at_work(&self, id: Option<FilterId>) -> bool {
        matches!(&self.claim, Some((claim, true)) if id.is_none_or(|id| id == claim.id))
    }
}

impl std::fmt::Display for Orphan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&shown(&self.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::sibling_key;

    #[test]
    fn names_tell_what_keys_are() {
        let shard = |name: &str| Some(Named::Shard { name: name.as_bytes().to_vec() });
        assert_eq!(Named::of(b"list:{7}"), shard("list"));
        assert_eq!(Named::of(b"a:b:{0.178}"), shard("a:b"));
        for other in ["list", "list:{}", "list:{a}", "list:{1.}", "list:{1.2.3}", "list:{1}x"] {
            assert_eq!(Named::of(other.as_bytes()), None, "{other}");
        }
        let id = FilterId::random().unwrap();
        for key in ["list:{7}", "list"] {
            for what in [format!("loading-{id}"), format!("saving-{id}")] {
                let temp = sibling_key(key.as_bytes(), &what);
                let Some(Named::OnItsWay { name, id: found, .. }) = Named::of(&temp) else {
                    panic!("{}", shown(&temp));
                };
                assert_eq!((name.as_slice(), found), (&b"list"[..], Some(id)));
            }
        }
        let made = Duration::from_nanos(0x1234_5678_9abc_def0);
        let old = Named::of(b"{a}:loading-123456789abcdef0-1f-0");
        assert_eq!(old, Some(Named::OnItsWay { name: b"a".to_vec(), id: None, made }));
        for other in ["a:loading-", "a:loading-x", "a:loading-12", "a:saving-1-2-3-4", "a:loading"]
        {
            assert_eq!(Named::of(other.as_bytes()), None, "{other}");
        }
    }
}
