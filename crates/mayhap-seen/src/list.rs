//! What one owner has seen: slices, offers and the rules by which they expire.
//!
//! All of it is pure: time is an argument, encoding is in `record.rs`, and no backend decides
//! anything that is decided here.

use crate::policy::{Policy, Seconds};
use crate::slice::{PrefixFilter, Shape, Slice};
use mayhap::Hash;
use std::collections::{BTreeMap, HashSet};

/// Maximum ids on offer per owner; beyond it those that expire first are dropped.
const MAX_OFFERED: usize = 65_536;

/// Maximum slices of a list. A policy asks for far fewer, but a period of a time window may take
/// several, and imported slices are kept beside those that were there.
pub(crate) const MAX_SLICES: usize = 4096;

/// What one owner has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List {
    /// The latest time anything happened. Time never runs backwards for a list: clocks of many
    /// machines differ, so an earlier time counts as this one.
    pub(crate) touched: Seconds,
    /// When the last new id came.
    pub(crate) last_new: Seconds,
    /// Newest first.
    pub(crate) slices: Vec<Slice>,
    /// Earliest expiry first.
    pub(crate) offers: Vec<Offer>,
}

/// Ids that count as seen until a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub until: Seconds,
    /// Whole hashes, sorted: an offer adds nothing to the false-positive rate.
    pub hashes: Vec<u64>,
}

/// An operation on a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Ids were shown: they become seen.
    Mark,
    /// Those not seen yet become seen, the others stay as they are.
    MarkUnseen,
    /// Those not seen yet count as seen for a limited time.
    Offer {
        /// For how long, in seconds.
        ttl: Seconds,
    },
}

/// Why an id is hidden, or that it is not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Explanation {
    /// It was certainly not seen, as far back as the list goes.
    NotSeen,
    /// It is on offer and not yet confirmed.
    Offered {
        /// When the offer expires.
        until: Seconds,
    },
    /// It was seen, or is a false positive.
    Seen {
        /// The slice, 0 being the newest.
        slice: usize,
        /// The earliest it can have been marked; unknown where the layout keeps no times.
        since: Option<Seconds>,
        /// The latest it can have been marked, where the layout keeps times.
        before: Option<Seconds>,
        /// The false-positive rate of this slice.
        false_positive_rate: f64,
    },
}

impl List {
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty() && self.offers.is_empty()
    }

    /// Ids in all slices. One that was marked again in a later slice counts in both.
    pub fn ids(&self) -> u64 {
        self.slices.iter().map(Slice::ids).sum()
    }

    /// The number of slices.
    pub fn slices(&self) -> usize {
        self.slices.len()
    }

    /// Ids on offer.
    pub fn offered(&self) -> u64 {
        self.offers.iter().map(|offer| offer.hashes.len() as u64).sum()
    }

    /// Seconds until the last offer expires.
    #[cfg(feature = "redis")]
    pub(crate) fn offered_for(&self, now: Seconds) -> Seconds {
        self.offers.last().map_or(0, |offer| offer.until.saturating_sub(now))
    }

    /// When the first id of the oldest slice came.
    pub fn oldest(&self) -> Option<Seconds> {
        self.slices.last().map(|slice| slice.started)
    }

    /// The false-positive rate: at most the policy's.
    pub fn false_positive_rate(&self) -> f64 {
        self.slices.iter().map(Slice::false_positive_rate).sum()
    }

    /// When the list expires, unless something new comes; `None` is never.
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

    /// Drop what has expired at this time.
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

    /// Whether it is seen or on offer. Call `forget_old` first.
    pub fn contains(&self, hash: Hash) -> bool {
        self.is_marked(hash) || self.is_offered(hash)
    }

    /// Whether it is marked.
    #[inline(never)] // kept out of line: callers with many ids use `query`, whose loop must stay small
    pub fn is_marked(&self, hash: Hash) -> bool {
        self.slices.iter().any(|slice| slice.contains(hash))
    }

    fn is_offered(&self, hash: Hash) -> bool {
        self.offers.iter().any(|offer| offer.hashes.binary_search(&hash.to_u64()).is_ok())
    }

    /// The list, prepared for lookups of this many ids.
    pub(crate) fn query(&self, ids: usize) -> ListQuery<'_> {
        // For few lookups searching is cheaper than building a prefix filter.
        let prefix_filter = (ids as u64 * 8 >= self.ids()).then(|| {
            let mut prefix_filter = PrefixFilter::new(self.ids());
            self.slices.iter().for_each(|slice| slice.trace(&mut prefix_filter));
            prefix_filter
        });
        ListQuery { list: self, prefix_filter }
    }

    /// For each hash whether a deed would find it known: marked, or on offer for deeds on the
    /// unseen.
    #[cfg(any(feature = "embedded", feature = "redis"))]
    pub(crate) fn known(&self, operation: &Operation, hashes: &[Hash]) -> Vec<bool> {
        let query = self.query(hashes.len());
        let mut known = Vec::with_capacity(hashes.len());
        for chunk in hashes.chunks(WORD_BITS) {
            let bits = if *operation == Operation::Mark {
                query.marked(chunk)
            } else {
                query.hidden(chunk)
            };
            known.extend((0..chunk.len()).map(|at| bits >> at & 1 == 1));
        }
        known
    }

    /// Apply an operation to these ids at this time.
    pub fn apply(&mut self, operation: &Operation, hashes: &[Hash], policy: &Policy, now: Seconds) {
        self.forget_old(policy, now);
        let now = now.max(self.touched);
        self.touched = now;
        match operation {
            Operation::Mark => hashes.iter().for_each(|hash| self.mark(*hash, policy, now)),
            Operation::MarkUnseen => {
                // Decided before the first is marked, which may drop a slice.
                let mut met = HashSet::new();
                let unseen = |hash: &&Hash| !self.contains(**hash) && met.insert(**hash);
                let unseen: Vec<_> = hashes.iter().filter(unseen).collect();
                unseen.into_iter().for_each(|hash| self.mark(*hash, policy, now));
            }
            Operation::Offer { ttl } => self.offer(hashes, now.saturating_add(*ttl)),
        }
    }

    fn mark(&mut self, hash: Hash, policy: &Policy, now: Seconds) {
        for offer in &mut self.offers {
            if let Ok(at) = offer.hashes.binary_search(&hash.to_u64()) {
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
        let mut fresh: Vec<u64> = unseen.map(|hash| hash.to_u64()).collect();
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

    /// A slice has begun: by count, the oldest is dropped for it.
    ///
    /// A list with more slices than the policy allows, because they were imported or the policy was
    /// wider, loses two for each that begins: never less is kept than the policy asks for, and
    /// nothing is dropped before something new has come.
    fn drop_oldest(&mut self, policy: &Policy) {
        if policy.every().is_none() {
            let excess = self.slices.len().saturating_sub(policy.slices() as usize);
            self.slices.truncate(self.slices.len() - excess.min(2));
        }
        self.slices.truncate(MAX_SLICES);
    }

    /// Why this id is hidden, if it is. Call `forget_old` first.
    pub fn explain(&self, hash: Hash) -> Explanation {
        if let Some(slice) = self.slices.iter().position(|slice| slice.contains(hash)) {
            let newer = slice.checked_sub(1).map(|newer| self.slices[newer].started);
            return Explanation::Seen {
                slice,
                since: Some(self.slices[slice].started),
                before: Some(newer.unwrap_or(self.touched)),
                false_positive_rate: self.slices[slice].false_positive_rate(),
            };
        }
        let offer =
            self.offers.iter().rev().find(|o| o.hashes.binary_search(&hash.to_u64()).is_ok());
        offer.map_or(Explanation::NotSeen, |offer| Explanation::Offered { until: offer.until })
    }

    /// Merge another list of the same owner: the union of both.
    ///
    /// Nothing in either list is lost, and merging is idempotent and commutative in what is seen. A
    /// slice of one list that is an older or newer state of a slice of the other is united with it;
    /// all others are kept, if need be more than the policy's (`drop_oldest`). The false-positive
    /// rate of the union is at most the sum of both.
    pub fn merge(&mut self, other: List, policy: &Policy, now: Seconds) {
        // A time in the future, from a machine whose clock is ahead, must not age the other list.
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
        // A slice that is in both lists, or was united with another, is done.
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
        self.slices.truncate(MAX_SLICES);
    }

    /// Each id is on offer for as long as either list says, unless it is seen.
    fn unite_offers(&mut self, others: Vec<Offer>) {
        let mut until: BTreeMap<u64, Seconds> = BTreeMap::new();
        for offer in self.offers.drain(..).chain(others) {
            for hash in offer.hashes {
                let latest = until.entry(hash).or_default();
                *latest = offer.until.max(*latest);
            }
        }
        let mut ends: BTreeMap<Seconds, Vec<u64>> = BTreeMap::new();
        for (hash, until) in
            until.into_iter().filter(|(hash, _)| !self.is_marked(Hash::from_u64(*hash)))
        {
            ends.entry(until).or_default().push(hash);
        }
        self.offers = ends.into_iter().map(|(until, hashes)| Offer { until, hashes }).collect();
        self.drop_offers();
    }
}

/// Ids per lookup: their answers are the bits of one word, and all intermediate results stay in the
/// L1 cache.
pub(crate) const WORD_BITS: usize = 64;

/// A list prepared for lookups of many ids, [`WORD_BITS`] at a time.
pub(crate) struct ListQuery<'a> {
    list: &'a List,
    prefix_filter: Option<PrefixFilter>,
}

impl ListQuery<'_> {
    /// Which of these are marked: one bit each, the first in the lowest.
    pub fn marked(&self, chunk: &[Hash]) -> u64 {
        let mut open = match &self.prefix_filter {
            // Branchless: no mispredictions per id.
            Some(prefix_filter) => prefix_filter.candidates(chunk),
            None => bits(chunk, |_| true),
        };
        let mut marked = 0;
        while open != 0 {
            let at = open.trailing_zeros();
            marked |= u64::from(self.is_marked(chunk[at as usize])) << at;
            open &= open - 1;
        }
        marked
    }

    /// Whether a candidate of the prefix filter is marked.
    #[inline]
    fn is_marked(&self, hash: Hash) -> bool {
        match (&self.prefix_filter, self.list.slices.as_slice()) {
            (Some(prefix_filter), [slice]) => slice.contains_candidate(hash, prefix_filter),
            _ => self.list.is_marked(hash),
        }
    }

    /// Which of these are marked or on offer.
    pub fn hidden(&self, chunk: &[Hash]) -> u64 {
        self.marked(chunk) | self.offered(chunk)
    }

    /// Which of these are on offer.
    pub fn offered(&self, chunk: &[Hash]) -> u64 {
        if self.list.offers.is_empty() { 0 } else { bits(chunk, |hash| self.list.is_offered(hash)) }
    }
}

#[inline]
fn bits(chunk: &[Hash], is_set: impl Fn(Hash) -> bool) -> u64 {
    chunk.iter().rev().fold(0, |bits, hash| bits << 1 | u64::from(is_set(*hash)))
}

/// The shape of the slice after `current`; `None` if a new period begins.
///
/// By count all slices are alike. In a window of time, a period that gets more ids than expected
/// takes slices of twice the capacity and half the false-positive rate each: however many come,
/// their sum stays below the period's share.
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
