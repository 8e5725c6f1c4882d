//! What one owner has seen: slices, offers and the rules by which they come and go.
//!
//! All of it is pure: time is an argument, bytes are another room's affair (`record.rs`), and no
//! backend decides anything that is decided here.

use crate::policy::{Policy, Seconds};
use crate::slice::{Shape, Sieve, Slice};
use mayhap::Hash;
use std::collections::{BTreeMap, HashSet};

/// Offered ids an owner may have at a time; beyond it those that lapse first go first.
const MAX_OFFERED: usize = 65_536;

/// Slices a list may have at all. A policy asks for far fewer, but a period of a time window may
/// take several, and imported slices are kept beside those that were there.
pub(crate) const MOST_SLICES: usize = 4096;

/// What one owner has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The latest moment anything happened. Time never runs backwards for a list: clocks of many
    /// machines differ, so an earlier moment counts as this one.
    pub(crate) touched: Seconds,
    /// When the last new id came.
    pub(crate) last_new: Seconds,
    /// Newest first.
    pub(crate) slices: Vec<Slice>,
    /// Earliest end first.
    pub(crate) offers: Vec<Offer>,
}

/// Ids that count as seen until a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub until: Seconds,
    /// Whole hashes, sorted: an offer adds nothing to the rate of errors.
    pub hashes: Vec<u64>,
}

/// Something done to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Ids were shown: they are seen, whatever they were before.
    Mark,
    /// Those not seen yet become seen, the others stay as they are.
    MarkUnseen,
    /// Those not seen yet count as seen for so long.
    Offer {
        /// For how long.
        lasting: Seconds,
    },
}

/// Why an id is hidden, or that it is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Explanation {
    /// It was not seen: for certain, as far back as the list remembers.
    NotSeen,
    /// It is on offer and not yet confirmed.
    Offered {
        /// When the offer lapses.
        until: Seconds,
    },
    /// It was seen, or is one of the few that are taken for seen.
    Seen {
        /// Which slice, 0 being the newest.
        slice: usize,
        /// The earliest it can have been marked; unknown where the layout keeps no times.
        since: Option<Seconds>,
        /// The latest it can have been marked, where the layout keeps times.
        before: Option<Seconds>,
        /// The chance that an id never marked is found in this slice.
        chance: f64,
    },
}

impl List {
    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.offers.is_empty()
    }

    /// Ids in all slices. One that was marked again in a later slice counts in both.
    pub fn ids(&self) -> u64 {
        self.slices.iter().map(Slice::ids).sum()
    }

    /// How many slices there are.
    pub fn slices(&self) -> usize {
        self.slices.len()
    }

    /// Ids on offer.
    pub fn offered(&self) -> u64 {
        self.offers.iter().map(|offer| offer.hashes.len() as u64).sum()
    }

    /// How long the last offer has left.
    #[cfg(feature = "redis")]
    pub(crate) fn offered_for(&self, now: Seconds) -> Seconds {
        self.offers.last().map_or(0, |offer| offer.until.saturating_sub(now))
    }

    /// When the first id of the oldest slice came, or nothing.
    pub fn oldest(&self) -> Option<Seconds> {
        self.slices.last().map(|slice| slice.started)
    }

    /// The chance that a stranger is taken for seen: at most the policy's rate.
    pub fn chance(&self) -> f64 {
        self.slices.iter().map(Slice::chance).sum()
    }

    /// When nothing will be left of it, unless something new comes; `None` is never.
    pub fn expires(&self, policy: &Policy) -> Option<Seconds> {
        let offers = self.offers.last().map_or(0, |offer| offer.until);
        if self.slices.is_empty() {
            return Some(offers);
        }
        let idle = policy.idle().map(|idle| self.last_new.saturating_add(idle));
        let window = policy.every().map(|every| {
            let newest = self.slices[0].started / every;
            newest.saturating_add(policy.slices().into()).saturating_mul(every)
        });
        let slices = [idle, window].into_iter().flatten().min();
        slices.map(|slices| slices.max(offers))
    }

    /// Forget what is over at this moment.
    pub fn forget_old(&mut self, policy: &Policy, now: Seconds) {
        let now = now.max(self.touched);
        self.offers.retain(|offer| offer.until > now);
        if policy.idle().is_some_and(|idle| self.last_new.saturating_add(idle) <= now) {
            self.slices.clear();
        }
        if let Some(every) = policy.every() {
            let oldest = (now / every).saturating_sub(u64::from(policy.slices()) - 1);
            self.slices.retain(|slice| slice.started / every >= oldest);
        }
    }

    /// Whether it is seen or on offer. Old things must have been forgotten.
    pub fn contains(&self, hash: Hash) -> bool {
        self.is_marked(hash) || self.is_offered(hash)
    }

    /// Whether it is seen for good.
    #[inline(never)] // what asks for many does so rarely: its own loop is to stay small
    pub fn is_marked(&self, hash: Hash) -> bool {
        self.slices.iter().any(|slice| slice.contains(hash))
    }

    fn is_offered(&self, hash: Hash) -> bool {
        self.offers.iter().any(|offer| offer.hashes.binary_search(&hash.0).is_ok())
    }

    /// The list, ready to be asked for so many ids.
    pub(crate) fn asked(&self, ids: usize) -> Asked<'_> {
        // Few questions are answered by searching before a sieve is made.
        let sieve = (ids as u64 * 8 >= self.ids()).then(|| {
            let mut sieve = Sieve::new(self.ids());
            self.slices.iter().for_each(|slice| slice.trace(&mut sieve));
            sieve
        });
        Asked { list: self, sieve }
    }

    /// For each hash whether a deed would find it known: marked, or on offer for deeds on the
    /// unseen.
    #[cfg(any(feature = "embedded", feature = "redis"))]
    pub(crate) fn known(&self, deed: &Deed, hashes: &[Hash]) -> Vec<bool> {
        let asked = self.asked(hashes.len());
        let mut known = Vec::with_capacity(hashes.len());
        for few in hashes.chunks(FEW) {
            let bits = if *deed == Deed::Mark { asked.marked(few) } else { asked.hidden(few) };
            known.extend((0..few.len()).map(|at| bits >> at & 1 == 1));
        }
        known
    }

    /// Do something, at this moment, to these ids.
    pub fn apply(&mut self, deed: &Deed, hashes: &[Hash], policy: &Policy, now: Seconds) {
        self.forget_old(policy, now);
        let now = now.max(self.touched);
        self.touched = now;
        match deed {
            Deed::Mark => hashes.iter().for_each(|hash| self.mark(*hash, policy, now)),
            Deed::MarkUnseen => {
                // Decided before the first is marked, which may drop a slice.
                let mut met = HashSet::new();
                let unseen = |hash: &&Hash| !self.contains(**hash) && met.insert(**hash);
                let unseen: Vec<_> = hashes.iter().filter(unseen).collect();
                unseen.into_iter().for_each(|hash| self.mark(*hash, policy, now));
            }
            Deed::Offer { lasting } => self.offer(hashes, now.saturating_add(*lasting)),
        }
    }

    fn mark(&mut self, hash: Hash, policy: &Policy, now: Seconds) {
        for offer in &mut self.offers {
            if let Ok(at) = offer.hashes.binary_search(&hash.0) {
                offer.hashes.remove(at);
            }
        }
        self.offers.retain(|offer| !offer.hashes.is_empty());
        let ended = |slice: &Slice| {
            policy.every().is_some_and(|every| slice.started / every != now / every)
        };
        let current = self.slices.first().filter(|slice| !ended(slice));
        if current.is_some_and(|slice| slice.contains(hash)) {
            return;
        }
        if !self.is_marked(hash) {
            self.last_new = now;
        }
        if current.is_none_or(Slice::is_full) {
            let shape = next_shape(policy, current);
            self.slices.insert(0, Slice::new(now, shape));
            self.drop_oldest(policy);
        }
        self.slices[0].insert(hash, policy.exact());
    }

    fn offer(&mut self, hashes: &[Hash], until: Seconds) {
        let unseen = hashes.iter().filter(|hash| !self.contains(**hash));
        let mut fresh: Vec<u64> = unseen.map(|hash| hash.0).collect();
        fresh.sort_unstable();
        fresh.dedup();
        if fresh.is_empty() {
            return;
        }
        let at = self.offers.partition_point(|offer| offer.until < until);
        match self.offers.get_mut(at).filter(|offer| offer.until == until) {
            Some(offer) => {
                offer.hashes.extend(fresh);
                offer.hashes.sort_unstable();
            }
            None => self.offers.insert(at, Offer { until, hashes: fresh }),
        }
        self.drop_offers();
    }

    fn drop_offers(&mut self) {
        while self.offered() > MAX_OFFERED as u64 && self.offers.len() > 1 {
            self.offers.remove(0);
        }
    }

    /// A slice has begun: by count, the oldest makes room for it.
    ///
    /// A list that has more slices than the policy's, because they were imported or the policy
    /// was wider, loses two for each that begins: never less is kept than the policy asks for, and
    /// nothing goes before something new has come.
    fn drop_oldest(&mut self, policy: &Policy) {
        if policy.every().is_none() {
            let excess = self.slices.len().saturating_sub(policy.slices() as usize);
            self.slices.truncate(self.slices.len() - excess.min(2));
        }
        self.slices.truncate(MOST_SLICES);
    }

    /// Why this id is hidden, if it is. Old things must have been forgotten.
    pub fn explain(&self, hash: Hash) -> Explanation {
        if let Some(slice) = self.slices.iter().position(|slice| slice.contains(hash)) {
            let newer = slice.checked_sub(1).map(|newer| self.slices[newer].started);
            return Explanation::Seen {
                slice,
                since: Some(self.slices[slice].started),
                before: Some(newer.unwrap_or(self.touched)),
                chance: self.slices[slice].chance(),
            };
        }
        let offer = self.offers.iter().rev().find(|o| o.hashes.binary_search(&hash.0).is_ok());
        offer.map_or(Explanation::NotSeen, |offer| Explanation::Offered { until: offer.until })
    }

    /// Remember also what another list of the same owner remembers: the union of both.
    ///
    /// Nothing that either remembers is lost, merging again changes nothing, and which list is
    /// merged into which makes no difference to what is remembered. A slice of one that is an older or a later state
    /// of a slice of the other becomes one with it; all others are kept, if need be more than the
    /// policy's (`drop_oldest`). The union errs at most as often as both lists together.
    pub fn merge(&mut self, other: List, policy: &Policy, now: Seconds) {
        // A moment in the future, from a machine whose clock is ahead, must not age the other list.
        self.touched = self.touched.min(now).max(other.touched.min(now));
        self.last_new = self.last_new.max(other.last_new).min(self.touched);
        self.unite_slices(other.slices);
        self.unite_offers(other.offers);
        self.forget_old(policy, now);
    }

    /// Slices of one moment and shape, one of either list, are states of one slice if one has all
    /// ids of the other, or if they share half the ids of the smaller: each has gone its own way
    /// since they were the same. (Slices that one large call began in the same second share next to
    /// nothing.)
    fn unite_slices(&mut self, mut others: Vec<Slice>) {
        // A slice that is in both lists, or that has become one with another, is settled.
        let mut settled: Vec<bool> = self.slices.iter().map(|mine| others.contains(mine)).collect();
        others.retain(|slice| !self.slices.contains(slice));
        let mut others: Vec<(usize, Slice)> = others.into_iter().enumerate().collect();
        others.sort_by_key(|(_, slice)| std::cmp::Reverse(slice.ids()));
        let mut new = vec![];
        for (place, slice) in others {
            let free = |is_same: fn(&Slice, &Slice) -> bool| {
                let open = (0..self.slices.len()).filter(|at| !settled[*at]);
                open.clone().find(|at| is_same(&slice, &self.slices[*at]))
            };
            if free(Slice::is_part_of).is_some() {
                continue;
            }
            let earlier = free(|slice, mine| mine.is_part_of(slice));
            match earlier.or_else(|| free(Slice::is_akin_to)) {
                Some(at) => {
                    self.slices[at].unite(slice);
                    settled[at] = true;
                }
                None => new.push((place, slice)),
            }
        }
        new.sort_by_key(|(place, _)| *place);
        self.slices.extend(new.into_iter().map(|(_, slice)| slice));
        self.slices.sort_by_key(|slice| std::cmp::Reverse(slice.started));
        self.slices.truncate(MOST_SLICES);
    }

    /// Each id is on offer as long as either list says, unless it is seen.
    fn unite_offers(&mut self, others: Vec<Offer>) {
        let mut until: BTreeMap<u64, Seconds> = BTreeMap::new();
        for offer in self.offers.drain(..).chain(others) {
            for hash in offer.hashes {
                let latest = until.entry(hash).or_default();
                *latest = offer.until.max(*latest);
            }
        }
        let mut ends: BTreeMap<Seconds, Vec<u64>> = BTreeMap::new();
        for (hash, until) in until.into_iter().filter(|(hash, _)| !self.is_marked(Hash(*hash))) {
            ends.entry(until).or_default().push(hash);
        }
        self.offers = ends.into_iter().map(|(until, hashes)| Offer { until, hashes }).collect();
        self.drop_offers();
    }
}

/// Ids that are asked for at a time: their answers are the bits of one number, and nothing of
/// what is worked out for them leaves the first cache.
pub(crate) const FEW: usize = 64;

/// A list that is asked for many ids, a [`FEW`] at a time.
pub(crate) struct Asked<'a> {
    list: &'a List,
    sieve: Option<Sieve>,
}

impl Asked<'_> {
    /// Which of these are marked: a bit each, the first the lowest.
    pub fn marked(&self, few: &[Hash]) -> u64 {
        let mut open = match &self.sieve {
            // Without a branch to guess wrong at each of them.
            Some(sieve) => sieve.passed(few),
            None => bits(few, |_| true),
        };
        let mut marked = 0;
        while open != 0 {
            let at = open.trailing_zeros();
            marked |= u64::from(self.is_marked(few[at as usize])) << at;
            open &= open - 1;
        }
        marked
    }

    /// Whether one is that has passed the sieve.
    #[inline]
    fn is_marked(&self, hash: Hash) -> bool {
        match (&self.sieve, self.list.slices.as_slice()) {
            (Some(sieve), [slice]) => slice.contains_passed(hash, sieve),
            _ => self.list.is_marked(hash),
        }
    }

    /// Which of these are marked or on offer.
    pub fn hidden(&self, few: &[Hash]) -> u64 {
        self.marked(few) | self.offered(few)
    }

    /// Which of these are on offer.
    pub fn offered(&self, few: &[Hash]) -> u64 {
        if self.list.offers.is_empty() { 0 } else { bits(few, |hash| self.list.is_offered(hash)) }
    }
}

#[inline]
fn bits(few: &[Hash], is_set: impl Fn(Hash) -> bool) -> u64 {
    few.iter().rev().fold(0, |bits, hash| bits << 1 | u64::from(is_set(*hash)))
}

/// What the slice after `current` is made for; none, if a new period begins.
///
/// By count all slices are alike. In a window of time, a period that gets more ids than expected
/// takes slices of twice the room and half the allowance each: however many come, all together
/// stay below the period's share of the rate.
fn next_shape(policy: &Policy, current: Option<&Slice>) -> Shape {
    let first = Shape { capacity: policy.ids().into(), range: policy.range() };
    match (policy.every(), current) {
        (None, _) => first,
        (Some(_), None) => Shape { range: first.range * 2, ..first },
        (Some(_), Some(Slice { shape: Shape { capacity, range }, .. })) => Shape {
            capacity: capacity.saturating_mul(2),
            range: range.saturating_mul(4).min(1 << 62),
        },
    }
}
