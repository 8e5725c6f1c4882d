//! `BF.SHARDID`, `BF.SHARDMADD` and `BF.SHARDMEXISTS`: filters that are shards of a larger one.
//!
//! The identity is compared in the same command that answers, so nothing can come between.

use super::add::add_and_replicate;
use crate::filter::{Added, mismatch};
use crate::stats::STATS;
use crate::{Args, CommandError, Filter, Keyspace, Replicate, Reply};
use mayhap::format::dump::ShardId;
use mayhap::sizing::MAX_SHARDS;

const BAD_IDENTITY: CommandError =
    CommandError::text("ERR bad identity: it must be <32 hexadecimal digits>/<index>/<count>");

/// `BF.SHARDID key identity`
pub fn shard_id<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (key, id) = (args.key(1), identity(args)?);
    if !id.is_possible() {
        return Err(CommandError::said(format_args!(
            "bad identity: {id} has more than {MAX_SHARDS} shards"
        )));
    }
    let filter = keys.write(key)?.ok_or(CommandError::NOT_FOUND)?;
    filter.main()?; // one that is loading gets its identity from its dump
    match filter.shard() {
        Some(found) if found == id => return Ok(Reply::Ok),
        Some(found) => return Err(mismatch(Some(found))),
        None if filter.as_compat().is_some() => {
            return Err(CommandError::text(
                "ERR a filter in RedisBloom's format cannot hold an identity",
            ));
        }
        None => filter.set_shard(Some(id)),
    }
    keys.changed(key, "bf.shardid", Replicate::Verbatim);
    Ok(Reply::Ok)
}

/// `BF.SHARDMADD key identity item…`
pub fn madd<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (key, id, clock) = (args.key(1), identity(args)?, keys.clock());
    let filter = keys.write(key)?.ok_or(CommandError::NOT_FOUND)?;
    check(filter, id)?;
    let now = filter.now_ms(clock);
    let Added { new, stopped } = add_and_replicate(keys, key, args.from(3), now, true)?;
    Ok(match stopped {
        None => Reply::Bools(new),
        Some(error) => Reply::BoolsUntil(new, error),
    })
}

/// `BF.SHARDMEXISTS key identity item…`
///
/// Unlike `BF.MEXISTS` it fails if the key does not exist.
pub fn mexists<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (id, clock) = (identity(args)?, keys.clock());
    let filter = keys.read(args.key(1))?.ok_or(CommandError::NOT_FOUND)?;
    check(filter, id)?;
    let answers = filter.contains_many(args.from(3), filter.now_ms(clock))?;
    let hits = answers.iter().map(|hit| u64::from(*hit)).sum();
    STATS.record_lookups(hits, answers.len() as u64 - hits);
    Ok(Reply::Bools(answers))
}

fn identity(args: &Args<'_>) -> Result<ShardId, CommandError> {
    ShardId::parse(args.word(2)).ok_or(BAD_IDENTITY)
}

fn check(filter: &Filter, id: ShardId) -> Result<(), CommandError> {
    filter.main()?;
    match filter.shard() {
        Some(found) if found == id => Ok(()),
        found => Err(mismatch(found)),
    }
}

#[cfg(test)]
mod tests {
    use crate::keyspace::memory::Memory;
    use crate::{CommandError, Reply};

    const ID: &str = "00112233445566778899aabbccddeeff/1/3";
    const OTHER: &str = "00112233445566778899aabbccddeeff/2/3";

    fn keys() -> Memory {
        let mut keys = Memory::default();
        keys.say("BF.RESERVE s 0.01 100 NONSCALING").unwrap();
        assert_eq!(keys.say(&format!("BF.SHARDID s {ID}")), Ok(Reply::Ok));
        keys
    }

    fn code(reply: Result<Reply<'static>, CommandError>) -> String {
        let line = reply.unwrap_err().to_string();
        line.split(' ').next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_shard_answers_to_its_own_identity_only() {
        let mut keys = keys();
        let yes = |all: &[bool]| Ok(Reply::Bools(all.to_vec()));
        assert_eq!(keys.say(&format!("BF.SHARDMADD s {ID} a b a")), yes(&[true, true, false]));
        assert_eq!(keys.say(&format!("BF.SHARDMEXISTS s {ID} a c")), yes(&[true, false]));
        for command in ["SHARDMADD", "SHARDMEXISTS"] {
            let with = |id: &str, key: &str| format!("BF.{command} {key} {id} a");
            assert_eq!(code(keys.say(&with(OTHER, "s"))), "BADSHARD");
            assert_eq!(keys.say(&with(ID, "none")), Err(CommandError::NOT_FOUND));
            assert!(keys.say(&with("nonsense", "s")).unwrap_err().to_string().contains("identity"));
        }
        assert!(!keys.filters.contains_key(&b"none"[..]), "made by an add");
        assert_eq!(code(keys.say(&format!("BF.SHARDID s {OTHER}"))), "BADSHARD");
        let many = ID.replace("/1/3", "/1/4097");
        let error = keys.say(&format!("BF.SHARDID s {many}")).unwrap_err().to_string();
        assert!(error.ends_with("/1/4097 has more than 4096 shards"), "{error}");
        assert_eq!(keys.say(&format!("BF.SHARDID s {ID}")), Ok(Reply::Ok));
        // Other commands are not affected.
        assert_eq!(keys.say("BF.EXISTS s a"), Ok(Reply::Bool(true)));
    }

    #[test]
    fn what_was_cleared_or_made_again_is_no_shard() {
        let mut keys = keys();
        keys.say("BF.CLEAR s").unwrap();
        assert_eq!(code(keys.say(&format!("BF.SHARDMEXISTS s {ID} a"))), "BADSHARD");
        assert_eq!(code(keys.say(&format!("BF.SHARDMADD s {ID} a"))), "BADSHARD");
        keys.filters.remove(&b"s"[..]);
        keys.say("BF.ADD s x").unwrap();
        assert_eq!(code(keys.say(&format!("BF.SHARDMEXISTS s {ID} a"))), "BADSHARD");
        keys.say("BF.RESERVE c 0.01 100 COMPAT").unwrap();
        assert_eq!(code(keys.say(&format!("BF.SHARDID c {ID}"))), "ERR");
    }

    #[test]
    fn a_merge_keeps_the_identity_of_its_destination_and_gives_none() {
        let mut keys = keys();
        keys.say("BF.MERGE copy s").unwrap();
        assert_eq!(code(keys.say(&format!("BF.SHARDMEXISTS copy {ID} a"))), "BADSHARD");
        keys.say("BF.ADD copy x").unwrap();
        keys.say("BF.MERGE s copy").unwrap();
        let there = Ok(Reply::Bools(vec![true]));
        assert_eq!(keys.say(&format!("BF.SHARDMEXISTS s {ID} x")), there);
    }

    #[test]
    fn replicas_are_told_the_identity() {
        let mut keys = keys();
        keys.replicated.clear();
        keys.say(&format!("BF.SHARDMADD s {ID} a")).unwrap();
        keys.say(&format!("BF.SHARDMADD s {ID} a")).unwrap(); // changes nothing
        assert_eq!(keys.replicated.len(), 1);
        assert_eq!(keys.replicated[0][0], b"BF.SHARDMADD");
    }
}
