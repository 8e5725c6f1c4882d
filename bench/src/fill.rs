//! Many threads that hash keys and fill one filter: through atomics, or partitioned.

use crate::urls::{SEED, Urls};
use mayhap::concurrent::Partitioner;
use mayhap::scheme::{Native, Scheme};
use mayhap::{Blocked, Classic, Hash};
use std::ops::Range;
use std::sync::Mutex;
use std::thread::scope;

/// Hashes passed at a time.
const BATCH: usize = 4096;
/// Maximum keys partitioned before the partitions are filled: 8 bytes each are held. Fewer for
/// smaller filters: the first round pays for memory that the others reuse.
const ROUND: u64 = 50_000_000;
const ROUNDS: u64 = 8;
/// Keys partitioned at a time. With fixed shares the others would wait for the thread on the
/// slowest core.
const CHUNK: u64 = 1 << 16;

/// Hash the URLs with numbers `pick(i)`; `each` gets batches.
pub fn hash_urls(ids: Range<u64>, pick: &impl Fn(u64) -> u64, mut each: impl FnMut(&[Hash])) {
    let (mut urls, scheme) = (Urls::new(SEED), Native::default());
    let mut hashes = Vec::with_capacity(BATCH);
    for i in ids {
        hashes.push(scheme.hash(urls.url(pick(i))));
        if hashes.len() == BATCH {
            each(&hashes);
            hashes.clear();
        }
    }
    each(&hashes);
}

/// Slice number `i` of `of`.
fn slice(ids: &Range<u64>, i: u64, of: u64) -> Range<u64> {
    let cut = |i| ids.start + (ids.end - ids.start) * i / of;
    cut(i)..cut(i + 1)
}

/// `hash_urls` on all threads, each its own slice of the numbers.
pub fn batches(
    ids: Range<u64>,
    threads: u64,
    pick: &(impl Fn(u64) -> u64 + Sync),
    each: &(impl Fn(&[Hash]) + Sync),
) {
    scope(|scope| {
        for thread in 0..threads {
            let own = slice(&ids, thread, threads);
            scope.spawn(move || hash_urls(own, pick, each));
        }
    });
}

/// Fill with URLs from all threads at once, through atomics.
pub fn shared(filter: Classic, keys: u64, threads: u64) -> Classic {
    let shared = filter.into_shared();
    batches(0..keys, threads, &|i| i, &|hashes| _ = shared.insert_batch(hashes));
    shared.into_inner()
}

/// Fill from all threads without atomics: in rounds, each thread sorts hashes by part, then fills
/// parts. Whoever is ready takes the next chunk of work. `source` calls with the hashes of a range
/// of keys.
pub fn partitioned(
    filter: &mut Blocked,
    keys: u64,
    threads: u64,
    source: &(impl Fn(Range<u64>, &mut dyn FnMut(&[Hash])) + Sync),
) {
    let mut sorted: Vec<_> = (0..threads).map(|_| Partitioner::new(filter.shape())).collect();
    let round_keys = keys.div_ceil(ROUNDS).clamp(1, ROUND);
    for start in (0..keys).step_by(round_keys as usize) {
        let end = (start + round_keys).min(keys);
        let chunks = Mutex::new((start..end).step_by(CHUNK as usize));
        scope(|scope| {
            for scatter in &mut sorted {
                scope.spawn(|| {
                    scatter.clear();
                    while let Some(from) = next(&chunks) {
                        let chunk = from..(from + CHUNK).min(end);
                        source(chunk, &mut |hashes| scatter.push_batch(hashes));
                    }
                });
            }
        });
        let mut parts = filter.partitions_mut();
        let parts = Mutex::new(parts.iter_mut().enumerate());
        scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some((at, part)) = next(&parts) {
                        for scatter in &sorted {
                            part.insert_batch(scatter.part(at)).expect("sorted for this filter");
                        }
                    }
                });
            }
        });
    }
    filter.recount();
}

/// The next chunk of work for whichever thread is free.
fn next<T>(work: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    work.lock().ok()?.next()
}
