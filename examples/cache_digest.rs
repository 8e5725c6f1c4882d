//! Which of my neighbours has this page in its cache?
//!
//! Why it is built so: proxies that share a load ask each other before they fetch a page, and most
//! of these questions are in vain. Each keeps a digest of its cache beside it, which the others
//! read: a filter of the keys in it. Entries come and go all the time, so a key must leave the
//! filter when its entry is evicted, or the digest fills up with pages that are long gone. A
//! `Quotient` filter takes 9.5 bits per entry at 1%, and never denies a page that is there. A key
//! is inserted exactly when its entry is made and removed exactly when the entry goes, which is all
//! that a filter with a `remove` asks of its user: never remove what was not inserted.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example cache_digest
//! ```

use mayhap::{Quotient, Spec, SpecError};
use std::collections::{BTreeMap, HashMap};

/// A cache that evicts what was not used for the longest time, and the digest of its keys.
struct Cache {
    capacity: usize,
    clock: u64,
    used: HashMap<u64, u64>,
    by_age: BTreeMap<u64, u64>,
    digest: Quotient,
}

impl Cache {
    fn new(capacity: usize) -> Result<Cache, SpecError> {
        let digest = Quotient::new(Spec::new(capacity as u64 + 1, 0.01)?)?;
        let (used, by_age) = Default::default();
        Ok(Cache { capacity, clock: 0, used, by_age, digest })
    }

    /// Use a page; whether it was there.
    fn get(&mut self, page: u64) -> bool {
        let Some(last) = self.used.get_mut(&page) else { return false };
        self.clock += 1;
        self.by_age.remove(last);
        self.by_age.insert(self.clock, page);
        *last = self.clock;
        true
    }

    /// Keep a page that is not there, and evict the oldest where it must.
    fn put(&mut self, page: u64) {
        self.clock += 1;
        if self.used.insert(page, self.clock).is_none() {
            self.digest.insert(page);
        }
        self.by_age.insert(self.clock, page);
        while self.used.len() > self.capacity {
            let Some((_, oldest)) = self.by_age.pop_first() else { break };
            if self.used.remove(&oldest).is_some() {
                self.digest.remove(oldest);
            }
        }
    }
}

/// What a run came to.
#[derive(Debug, Default)]
struct Report {
    own_hits: u64,
    neighbour_hits: u64,
    /// Asked because the digest said "maybe", and it was not there.
    asked_in_vain: u64,
    /// Not asked, and it was not there either.
    spared: u64,
    /// Not asked though it was there: never.
    denied: u64,
}

/// Requests for pages, most of them popular ones, to two proxies in turn.
fn run(requests: u64, capacity: usize) -> Result<([Cache; 2], Report), SpecError> {
    let mut caches = [Cache::new(capacity)?, Cache::new(capacity)?];
    let mut report = Report::default();
    let mut random = 1u64;
    for request in 0..requests {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // The square of a number below 1 is small more often than not.
        let share = (random >> 11) as f64 / (1u64 << 53) as f64;
        let page = (share * share * 20.0 * capacity as f64) as u64;
        let [first, second] = &mut caches;
        let (own, neighbour) =
            if request.is_multiple_of(2) { (first, second) } else { (second, first) };
        if own.get(page) {
            report.own_hits += 1;
            continue;
        }
        let is_there = neighbour.used.contains_key(&page);
        match (neighbour.digest.contains(page), is_there) {
            (true, true) => report.neighbour_hits += 1,
            (true, false) => report.asked_in_vain += 1,
            (false, true) => report.denied += 1,
            (false, false) => report.spared += 1,
        }
        own.put(page);
    }
    Ok((caches, report))
}

fn main() -> Result<(), SpecError> {
    let (caches, report) = run(1_000_000, 10_000)?;
    println!("{report:#?}");
    for cache in caches {
        println!("{}", cache.digest);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_follows_the_cache_however_long_it_runs() -> Result<(), SpecError> {
        let (caches, report) = run(200_000, 1_000)?;
        assert_eq!(report.denied, 0);
        assert!(
            report.neighbour_hits > 0 && report.spared > 10 * report.asked_in_vain,
            "{report:?}"
        );
        for cache in caches {
            assert_eq!(cache.digest.keys(), cache.used.len() as u64, "evicted keys are gone");
            assert!(cache.used.keys().all(|page| cache.digest.contains(*page)));
            assert!(cache.digest.fpr_now() <= 0.01);
        }
        Ok(())
    }
}
