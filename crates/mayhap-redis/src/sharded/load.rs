//! Loads a sharded filter that was built elsewhere.
//!
//! Every shard is in one of three states: absent, complete under a temporary name, or under its
//! own. A load reads the states, advances each shard as far as needed, and reads them again at the
//! end: what a failover or a killed process lost is done again, and nothing else.

use super::create::{check_name, look_at};
use super::{ShardCommand, Sharded};
use crate::claim::Claim;
use crate::filters::{refusal, shown};
use crate::identity::FilterId;
use crate::router::Request;
use crate::slot::sibling_key;
use crate::transfer::{OnProgress, TRIES, forgotten, io_error, is_cut};
use crate::{Descriptor, FilterError, Filters, KeyContent, Reply};
use mayhap::format::Metadata;
use mayhap::scheme::{Native, Scheme};
use redis::{Value, cmd};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Shards uploaded concurrently.
const LOADERS: usize = 4;

/// The temporary name of a shard.
pub(super) fn temp_key(key: &[u8], id: FilterId) -> Vec<u8> {
    sibling_key(key, &format!("loading-{id}"))
}

/// The state of a shard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Under its own name.
    Named,
    /// Complete, under its temporary name.
    Whole,
    Absent,
}

impl Sharded {
    /// Load a sharded filter that was built elsewhere: upload all shards under temporary names,
    /// rename each, then write the descriptor. Concurrent lookups see the old filter, then none for
    /// a moment, then the new one.
    ///
    /// At the end all shards are checked again, on the servers as they are then: what a failover
    /// lost is loaded again. The name is claimed meanwhile, so that of two concurrent loads the
    /// second gets [`FilterError::Loading`]. A load that fails deletes what it has sent; what a
    /// killed one left is resumed by the next load of the same filter, and deleted by the next load
    /// of another.
    pub fn load<B: AsRef<[u8]> + Sync>(
        filters: &Arc<Filters>,
        name: &[u8],
        filter: &mayhap::Sharded<B>,
        metadata: Metadata,
        over: bool,
        moved: &OnProgress<'_>,
    ) -> Result<Sharded, FilterError> {
        filters.check_native()?;
        if !filters.keeps_identities() {
            return Err(FilterError::Pairing {
                what: "the server's module is of an earlier release, whose shards have no identity"
                    .to_owned(),
                hint: "load the module of this release there",
            });
        }
        check_name(name)?;
        look_at(filters, name, over)?;
        let about = Descriptor::of(filter, metadata);
        let claim = Claim::take(filters, name, about.shards(), digest_of(filter, &about)?)?;
        // Not earlier: the previous owner of the claim may just have finished.
        let there = look_at(filters, name, over).inspect_err(|_| claim.release())?;
        let new = Sharded::claimed(filters, name, about, claim.id())?;
        new.clear_claim(&there, claim.before);
        let loaded = claim.keep_while(
            || new.keep_temps(claim.id()),
            || new.advance(filter, &there, over, &claim, moved),
        );
        match &loaded {
            Ok(()) => new.discard_temps(claim.id()),
            // Unreachable servers keep it for the next load of this filter.
            Err(FilterError::Link(_)) => {}
            // Another process has taken over and continues from here.
            Err(FilterError::Loading { .. }) => {}
            Err(_) => {
                new.discard_temps(claim.id());
                new.unlink_own();
            }
        }
        match loaded {
            Err(FilterError::Link(_)) => claim.abandon(),
            Err(FilterError::Loading { .. }) => {}
            _ => claim.release(),
        }
        loaded.map(|()| new)
    }

    /// Do what is left, until nothing is.
    fn advance<B: AsRef<[u8]> + Sync>(
        &self,
        filter: &mayhap::Sharded<B>,
        there: &KeyContent,
        over: bool,
        claim: &Claim<'_>,
        moved: &OnProgress<'_>,
    ) -> Result<(), FilterError> {
        let mut last = None;
        for round in 0..TRIES {
            let states = self.states(over || round > 0, claim.id())?;
            let absent: Vec<usize> =
                (0..states.len()).filter(|at| states[*at] == State::Absent).collect();
            self.upload(filter, &absent, claim, moved)?;
            claim.renew()?;
            self.filters.check_cancelled()?;
            // A load that died with only its claim left has loaded this very filter.
            let is_this = matches!(there, KeyContent::Shards(old) if old.mark() == self.mark());
            if over && round == 0 && !is_this {
                self.clear_away(there)?;
            }
            match self.finish(&states, over, claim.id()) {
                Ok(()) => return Ok(()),
                // Lost in a failover: once more.
                Err(error @ (FilterError::Lost { .. } | FilterError::NotTheShard { .. })) => {
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        let what = last.map_or_else(String::new, |error| error.to_string());
        Err(FilterError::NotKept { key: shown(&self.name), what })
    }

    /// The state of each shard. Unless `over`, a foreign key in the way is an error.
    fn states(&self, over: bool, id: FilterId) -> Result<Vec<State>, FilterError> {
        let mut requests = Vec::with_capacity(3 * self.shards.len());
        for (home, shard) in self.shards.iter().enumerate() {
            let temp = temp_key(&shard.key, id);
            let mut whole = self.filters.command("SHARDMEXISTS", &temp);
            whole.arg(self.shard_id(id, home).to_string()).arg("");
            requests.push(Request::at(shard.slot, cmd("EXISTS").arg(&shard.key)));
            requests.push(self.requests_for(home, ShardCommand::Check, &[b""]).0.remove(0));
            requests.push(Request::at(shard.slot, &whole));
        }
        let replies = self.filters.router.send(&requests, self.filters.reading())?;
        let is_ours = |reply: &Reply| matches!(reply, Ok(Value::Array(_)));
        let mut states = Vec::with_capacity(self.shards.len());
        for (shard, replies) in self.shards.iter().zip(replies.chunks(3)) {
            states.push(match replies {
                [Err(what), ..] => return Err(refusal(&shard.key, what.clone())),
                [_, named, _] if is_ours(named) => State::Named,
                [Ok(Value::Int(1)), ..] if !over => {
                    return Err(FilterError::Exists { key: shown(&shard.key) });
                }
                [_, _, whole] if is_ours(whole) => State::Whole,
                _ => State::Absent,
            });
        }
        Ok(states)
    }

    /// Upload these shards under temporary names.
    fn upload<B: AsRef<[u8]> + Sync>(
        &self,
        filter: &mayhap::Sharded<B>,
        absent: &[usize],
        claim: &Claim<'_>,
        moved: &OnProgress<'_>,
    ) -> Result<(), FilterError> {
        let next = AtomicUsize::new(0);
        let failed: Mutex<Option<FilterError>> = Mutex::new(None);
        let load = || {
            while let Some(home) = absent.get(next.fetch_add(1, Relaxed)) {
                if let Err(error) = self.upload_shard(filter, *home, claim, moved) {
                    // The others stop at their next chunk.
                    next.store(absent.len(), Relaxed);
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.get_or_insert(error);
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..LOADERS.min(absent.len()) {
                scope.spawn(load);
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn upload_shard<B: AsRef<[u8]>>(
        &self,
        filter: &mayhap::Sharded<B>,
        home: usize,
        claim: &Claim<'_>,
        moved: &OnProgress<'_>,
    ) -> Result<(), FilterError> {
        let (filters, key) = (&self.filters, &self.shards[home].key);
        let Some(piece) = filter.shards().get(home) else { return Ok(()) };
        let (secret, shard) = (filter.scheme().secret(), self.shard_id(claim.id(), home));
        let temp = temp_key(key, claim.id());
        // Errors name the filter, not its shards.
        let feed = |temp: &[u8]| {
            filters.send_native(temp, &self.name, (secret, Some(shard)), moved, &|to| {
                piece.write_to(to, &Metadata::new())
            })
        };
        let mut tries = 0;
        loop {
            claim.check()?;
            tries += 1;
            // Remains of an earlier, interrupted attempt.
            let unlink = Request::at(self.shards[home].slot, cmd("UNLINK").arg(&temp));
            filters.one(&self.name, unlink, filters.reading())?;
            match filters.upload_as(&temp, &feed) {
                Err(error) if is_cut(&error) && tries < TRIES => {}
                uploaded => return uploaded.map_err(|error| forgotten(&self.name, error)),
            }
        }
    }

    /// Rename the shards, and write the descriptor.
    fn finish(&self, states: &[State], over: bool, id: FilterId) -> Result<(), FilterError> {
        let temps: Vec<Vec<u8>> =
            self.shards.iter().map(|shard| temp_key(&shard.key, id)).collect();
        let names = self.shards.iter().zip(&temps).zip(states);
        let names: Vec<(&[u8], &[u8])> = names
            .filter(|(_, state)| **state != State::Named)
            .map(|((shard, temp), _)| (temp.as_slice(), shard.key.as_slice()))
            .collect();
        self.filters.rename_into_place(&names, over)?;
        self.filters.wait_for_replicas(self.keys())?;
        self.check_shards()?;
        self.describe()?;
        // Check again, since servers may have changed meanwhile.
        self.each("CARD", &[]).map(drop)
    }

    /// A load may last longer than temporary keys live: extend them.
    fn keep_temps(&self, id: FilterId) {
        let expire = |shard: &super::Shard| {
            let temp = temp_key(&shard.key, id);
            Request::at(shard.slot, cmd("EXPIRE").arg(temp).arg(crate::transfer::ABANDONED_S))
        };
        let requests: Vec<Request> = self.shards.iter().map(expire).collect();
        _ = self.filters.router.send(&requests, self.filters.reading());
    }

    fn discard_temps(&self, id: FilterId) {
        let unlink = |shard: &super::Shard| {
            Request::at(shard.slot, cmd("UNLINK").arg(temp_key(&shard.key, id)))
        };
        let requests: Vec<Request> = self.shards.iter().map(unlink).collect();
        _ = self.filters.router.send(&requests, self.filters.reading());
    }
}

/// The digest of a filter: all of its bytes and its metadata.
fn digest_of<B: AsRef<[u8]>>(
    filter: &mayhap::Sharded<B>,
    about: &Descriptor,
) -> Result<u64, FilterError> {
    let mut digest = Digest(Native::xxh3(0).hash(about.encode().as_slice()).to_u64());
    for piece in filter.shards() {
        piece.write_to(&mut digest, &Metadata::new()).map_err(|error| io_error(&error))?;
    }
    Ok(digest.0)
}

/// A hash of the bytes written.
struct Digest(u64);

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = Native::xxh3(self.0).hash(bytes).to_u64();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
