//! A filter in pieces that was built elsewhere, loaded into as many keys.
//!
//! Every shard is in one of three states: absent, whole under another name, or under its own. A load
//! asks for them, moves each as far as it has to go, and asks again at the end: what a failover
//! or a killed process undid is done again, and what is done is not.

use super::make::{check_name, look_at};
use super::{Question, Sharded};
use crate::claim::Claim;
use crate::filters::{refusal, shown};
use crate::identity::FilterId;
use crate::router::Order;
use crate::slot::beside;
use crate::transfer::{Moved, TRIES, forgotten, io_error, is_cut};
use crate::{Descriptor, FilterError, Filters, Held, Reply};
use mayhap::format::Notes;
use mayhap::{Native, Scheme};
use redis::{Value, cmd};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Shards loaded at the same time.
const LOADERS: usize = 4;

/// The name of a shard of this filter before it has its own.
pub(super) fn temp_key(key: &[u8], id: FilterId) -> Vec<u8> {
    beside(key, &format!("loading-{id}"))
}

/// How far a shard has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has its name.
    Named,
    /// It is whole, under another name.
    Whole,
    Absent,
}

impl Sharded {
    /// Load a filter in pieces that was built elsewhere, piece by piece: all of them under other
    /// names, then each under its own, then what tells of them. Whoever asks meanwhile finds the
    /// filter that was there before, then none for a moment, then the new one.
    ///
    /// In the end all of it is asked for once more, on the servers as they are then: what a failover
    /// has lost is loaded again. While it lasts the name is claimed, so that of two loads at
    /// once the second gets [`FilterError::Loading`]. A load that fails clears away what it has sent;
    /// what a killed one left serves the next load of the same filter, which goes on from there, and
    /// is cleared away by the next load of another.
    pub fn load<B: AsRef<[u8]> + Sync>(
        filters: &Arc<Filters>,
        name: &[u8],
        filter: &mayhap::Sharded<B>,
        notes: Notes,
        over: bool,
        moved: &Moved<'_>,
    ) -> Result<Sharded, FilterError> {
        filters.check_native()?;
        if !filters.keeps_identities() {
            return Err(FilterError::Pairing {
                what: "the module there is of an earlier release, whose shards have no identity"
                    .to_owned(),
                hint: "load the module of this release there",
            });
        }
        check_name(name)?;
        look_at(filters, name, over)?;
        let about = Descriptor::of(filter, notes);
        let claim = Claim::take(filters, name, about.shards(), digest_of(filter, &about)?)?;
        // Not before: whoever had the claim may just have ended.
        let there = look_at(filters, name, over).inspect_err(|_| claim.release())?;
        let new = Sharded::claimed(filters, name, about, claim.id())?;
        new.clear_claim(&there, claim.before);
        let loaded = claim.keep_while(
            || new.keep_temps(claim.id()),
            || new.advance(filter, &there, over, &claim, moved),
        );
        match &loaded {
            Ok(()) => new.discard_temps(claim.id()),
            // Servers that are away now keep it for the next load of this filter.
            Err(FilterError::Link(_)) => {}
            // Another one has taken over, and goes on from here.
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

    /// Do what is left to do, until nothing is.
    fn advance<B: AsRef<[u8]> + Sync>(
        &self,
        filter: &mayhap::Sharded<B>,
        there: &Held,
        over: bool,
        claim: &Claim<'_>,
        moved: &Moved<'_>,
    ) -> Result<(), FilterError> {
        let mut last = None;
        for round in 0..TRIES {
            let states = self.states(over || round > 0, claim.id())?;
            let absent: Vec<usize> =
                (0..states.len()).filter(|at| states[*at] == State::Absent).collect();
            self.upload(filter, &absent, claim, moved)?;
            claim.renew()?;
            self.filters.check_cancelled()?;
            // A load that died when all but its claim was done has left this very filter.
            let is_this = matches!(there, Held::Shards(old) if old.mark() == self.mark());
            if over && round == 0 && !is_this {
                self.clear_away(there)?;
            }
            match self.finish(&states, over, claim.id()) {
                Ok(()) => return Ok(()),
                // Not there any more, since a server failed over: once more.
                Err(error @ (FilterError::Lost { .. } | FilterError::NotTheShard { .. })) => {
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        let what = last.map_or_else(String::new, |error| error.to_string());
        Err(FilterError::NotKept { key: shown(&self.name), what })
    }

    /// How far each shard has come. Unless `over`, what is in the way of one is an error.
    fn states(&self, over: bool, id: FilterId) -> Result<Vec<State>, FilterError> {
        let mut orders = Vec::with_capacity(3 * self.shards.len());
        for (home, shard) in self.shards.iter().enumerate() {
            let temp = temp_key(&shard.key, id);
            let mut whole = self.filters.command("SHARDMEXISTS", &temp);
            whole.arg(self.shard_id(id, home).to_string()).arg("");
            orders.push(Order::at(shard.slot, cmd("EXISTS").arg(&shard.key)));
            orders.push(self.orders_for(home, Question::Check, &[b""]).0.remove(0));
            orders.push(Order::at(shard.slot, &whole));
        }
        let replies = self.filters.router.ask(&orders, self.filters.reading())?;
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

    /// These pieces under other names.
    fn upload<B: AsRef<[u8]> + Sync>(
        &self,
        filter: &mayhap::Sharded<B>,
        absent: &[usize],
        claim: &Claim<'_>,
        moved: &Moved<'_>,
    ) -> Result<(), FilterError> {
        let next = AtomicUsize::new(0);
        let failed: Mutex<Option<FilterError>> = Mutex::new(None);
        let load = || {
            while let Some(home) = absent.get(next.fetch_add(1, Relaxed)) {
                if let Err(error) = self.upload_shard(filter, *home, claim, moved) {
                    // The others stop at their next piece.
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
        moved: &Moved<'_>,
    ) -> Result<(), FilterError> {
        let (filters, key) = (&self.filters, &self.shards[home].key);
        let Some(piece) = filter.shards().get(home) else { return Ok(()) };
        let (secret, shard) = (filter.scheme().secret(), self.shard_id(claim.id(), home));
        let temp = temp_key(key, claim.id());
        // Errors are about the filter: its shards are nobody else's business.
        let feed = |temp: &[u8]| {
            filters.send_native(temp, &self.name, (secret, Some(shard)), moved, &|to| {
                piece.write_to(to, &Notes::new())
            })
        };
        let mut tries = 0;
        loop {
            claim.check()?;
            tries += 1;
            // What an earlier attempt has left, which may have been in the middle.
            let unlink = Order::at(self.shards[home].slot, cmd("UNLINK").arg(&temp));
            filters.one(&self.name, unlink, filters.reading())?;
            match filters.upload_as(&temp, &feed) {
                Err(error) if is_cut(&error) && tries < TRIES => {}
                uploaded => return uploaded.map_err(|error| forgotten(&self.name, error)),
            }
        }
    }

    /// The pieces under their own names, and told of.
    fn finish(&self, states: &[State], over: bool, id: FilterId) -> Result<(), FilterError> {
        let temps: Vec<Vec<u8>> =
            self.shards.iter().map(|shard| temp_key(&shard.key, id)).collect();
        let names = self.shards.iter().zip(&temps).zip(states);
        let names: Vec<(&[u8], &[u8])> = names
            .filter(|(_, state)| **state != State::Named)
            .map(|((shard, temp), _)| (temp.as_slice(), shard.key.as_slice()))
            .collect();
        self.filters.give_names(&names, over)?;
        self.filters.settle(self.keys())?;
        self.check_shards()?;
        self.describe()?;
        // Once more, since servers may have changed while it was told of.
        self.each("CARD", &[]).map(drop)
    }

    /// Loads may last longer than what is on its way is kept.
    fn keep_temps(&self, id: FilterId) {
        let expire = |shard: &super::Shard| {
            let temp = temp_key(&shard.key, id);
            Order::at(shard.slot, cmd("EXPIRE").arg(temp).arg(crate::transfer::ABANDONED_S))
        };
        let orders: Vec<Order> = self.shards.iter().map(expire).collect();
        _ = self.filters.router.ask(&orders, self.filters.reading());
    }

    fn discard_temps(&self, id: FilterId) {
        let unlink = |shard: &super::Shard| {
            Order::at(shard.slot, cmd("UNLINK").arg(temp_key(&shard.key, id)))
        };
        let orders: Vec<Order> = self.shards.iter().map(unlink).collect();
        _ = self.filters.router.ask(&orders, self.filters.reading());
    }
}

/// What tells one filter from another: all of its bytes, and what is noted about it.
fn digest_of<B: AsRef<[u8]>>(
    filter: &mayhap::Sharded<B>,
    about: &Descriptor,
) -> Result<u64, FilterError> {
    let mut digest = Digest(Native::seeded(0).hash(about.encode().as_slice()).0);
    for piece in filter.shards() {
        piece.write_to(&mut digest, &Notes::new()).map_err(|error| io_error(&error))?;
    }
    Ok(digest.0)
}

/// A hash of what goes by.
struct Digest(u64);

impl Write for Digest {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = Native::seeded(self.0).hash(bytes).0;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
