//! Many threads that make URLs, hash them and fill one filter.

use crate::urls::{SEED, Urls};
use mayhap::{Blocked, Classic, Hash, Native, Scheme};
use std::ops::Range;

/// Hashes handed over at a time.
const BATCH: usize = 4096;

/// Hash the URLs with these numbers on all threads, each its own slice; `each` gets batches.
pub fn batches(ids: Range<u64>, threads: u64, each: &(impl Fn(&[Hash]) + Sync)) {
    picked_batches(ids, threads, &|i| i, each);
}

/// As `batches`, with URL number `pick(i)` for `i`.
pub fn picked_batches(
    ids: Range<u64>,
    threads: u64,
    pick: &(impl Fn(u64) -> u64 + Sync),
    each: &(impl Fn(&[Hash]) + Sync),
) {
    let (count, threads) = (ids.end - ids.start, threads.max(1));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let slice = (ids.start + count * thread / threads)
                ..(ids.start + count * (thread + 1) / threads);
            scope.spawn(move || {
                let (mut urls, scheme) = (Urls::new(SEED), Native::default());
                let mut hashes = Vec::with_capacity(BATCH);
                for i in slice {
                    hashes.push(scheme.hash(urls.url(pick(i))));
                    if hashes.len() == BATCH {
                        each(&hashes);
                        hashes.clear();
                    }
                }
                each(&hashes);
            });
        }
    });
}

/// Fill from all threads at once.
pub fn blocked(filter: Blocked, keys: u64, threads: u64) -> Blocked {
    let shared = filter.into_shared();
    batches(0..keys, threads, &|hashes| _ = shared.insert_batch(hashes));
    shared.into_inner()
}

/// Fill from all threads at once.
pub fn classic(filter: Classic, keys: u64, threads: u64) -> Classic {
    let shared = filter.into_shared();
    batches(0..keys, threads, &|hashes| _ = shared.insert_batch(hashes));
    shared.into_inner()
}
