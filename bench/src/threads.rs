//! Two threads against one: filling one filter together.
//!
//! Chunks of hashes are inserted by one thread and by two in turn, into the same growing filter;
//! the median of adjacent ratios counts. A filter that grows meanwhile is measured against what else one
//! would write: a mutex around a `Scalable`.

use crate::comparison::median;
use crate::fill::partitioned;
use crate::splitmix::splitmix;
use mayhap::{Blocked, Hash, Scalable, Spec};
use std::ops::Range;
use std::sync::{Barrier, Mutex};
use std::time::Instant;

/// Whole builds of each sort.
const BUILDS: u32 = 7;

/// How many times as fast two threads were.
pub struct Threads {
    pub name: &'static str,
    pub bar: f64,
    /// `None`: not measured in this run.
    pub speedup: Option<f64>,
}

/// Everything that is measured with several threads. A quick run leaves out filters of 100M keys: smaller
/// ones are in cache, and say nothing about these targets.
pub fn measure(quick: bool) -> Vec<Threads> {
    let keys = (!quick).then_some(100_000_000);
    vec![
        Threads {
            name: "100M: two threads, shared insert, against one",
            bar: 1.6,
            speedup: keys.and_then(shared),
        },
        Threads {
            name: "100M: two threads, partitioned bulk build, against one-thread batch insert",
            bar: 1.8,
            speedup: keys.and_then(bulk),
        },
        Threads {
            name: "grown to 800k: `SharedScalable` against a mutex around `Scalable`, eight threads, inserts",
            bar: 3.0,
            speedup: growing(8, Growing::New),
        },
        Threads {
            name: "the same, three keys in four seen before",
            bar: 3.0,
            speedup: growing(8, Growing::Seen),
        },
        Threads {
            name: "the same, lookups of absent keys",
            bar: 3.0,
            speedup: growing(8, Growing::Absent),
        },
        Threads {
            name: "the same, one thread, inserts",
            bar: 1.0,
            speedup: growing(1, Growing::New),
        },
        Threads {
            name: "the same, one thread, three keys in four seen before",
            bar: 1.0,
            speedup: growing(1, Growing::Seen),
        },
    ]
}

/// What threads do with a filter that grows.
#[derive(Clone, Copy)]
enum Growing {
    /// Insert keys, all new.
    New,
    /// Insert keys, of which one in four is new.
    Seen,
    /// Look up absent keys.
    Absent,
}

impl Growing {
    fn key(self, i: u64) -> u64 {
        match self {
            Growing::New => splitmix(i),
            Growing::Seen => splitmix(if i.is_multiple_of(4) { i } else { i / 4 }),
            Growing::Absent => splitmix(i | 1 << 40),
        }
    }
}

/// Both filters grow from 1000 keys to 800,000, 2 MB: they stay in the cache of a core.
fn growing(threads: u64, what: Growing) -> Option<f64> {
    const KEYS: u64 = 800_000;
    let each = KEYS / threads;
    let timed = |work: &(dyn Fn(u64) -> bool + Sync)| {
        let (start, end) = (Barrier::new(threads as usize + 1), Barrier::new(threads as usize + 1));
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (start, end) = (&start, &end);
                scope.spawn(move || {
                    start.wait();
                    let yes = (thread * each..(thread + 1) * each).filter(|i| work(*i)).count();
                    std::hint::black_box(yes);
                    end.wait();
                });
            }
            start.wait();
            let clock = Instant::now();
            end.wait();
            clock.elapsed().as_secs_f64()
        })
    };
    let mut ratios = Vec::new();
    for _ in 0..11 {
        let empty = || Scalable::with_rate(1000, 0.01).ok();
        let (mutex, shared) = (Mutex::new(empty()?), empty()?.into_shared());
        let locked = || mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if matches!(what, Growing::Absent) {
            (0..KEYS).for_each(|i| _ = locked().insert(splitmix(i)));
            (0..KEYS).for_each(|i| _ = shared.insert(splitmix(i)));
        }
        let (with_mutex, without) = match what {
            Growing::Absent => (
                timed(&|i| locked().contains(what.key(i))),
                timed(&|i| shared.contains(what.key(i))),
            ),
            _ => (timed(&|i| locked().insert(what.key(i))), timed(&|i| shared.insert(what.key(i)))),
        };
        ratios.push(with_mutex / without);
    }
    median(ratios)
}

fn shared(keys: u64) -> Option<f64> {
    eprintln!("two threads, {keys} keys");
    let spec = Spec::new(keys, 0.01).ok()?;
    let filter = Blocked::new(spec).ok()?.into_shared();
    // 25 pairs of chunks: long enough to amortise starting a thread.
    let chunk = keys / 50;
    let hashes = |from: u64| -> Vec<Hash> {
        (from..from + chunk).map(|i| Hash::from_u64(splitmix(i))).collect()
    };
    let mut ratios = Vec::new();
    for round in 0..25 {
        let (first, second) = (hashes(2 * round * chunk), hashes((2 * round + 1) * chunk));
        let alone = || filter.insert_batch(&first);
        let together = || {
            let (left, right) = second.split_at(second.len() / 2);
            std::thread::scope(|scope| {
                scope.spawn(|| filter.insert_batch(left));
                filter.insert_batch(right)
            })
        };
        let timed = |work: &dyn Fn() -> u64| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        };
        // The first finds colder memory, so they alternate in that too.
        let (one, two) = if round % 2 == 0 {
            let one = timed(&alone);
            (one, timed(&together))
        } else {
            let two = timed(&together);
            (timed(&alone), two)
        };
        ratios.push(one / two);
    }
    median(ratios)
}

/// Whole builds, in turn.
fn bulk(keys: u64) -> Option<f64> {
    let mut filter = Blocked::new(Spec::new(keys, 0.01).ok()?).ok()?;
    let hashes: Vec<Hash> = (0..keys).map(|i| Hash::from_u64(splitmix(i))).collect();
    let source = |ids: Range<u64>, each: &mut dyn FnMut(&[Hash])| {
        each(&hashes[ids.start as usize..ids.end as usize]);
    };
    let mut ratios = Vec::new();
    for _ in 0..BUILDS {
        filter.clear();
        let start = Instant::now();
        filter.insert_batch(&hashes);
        let one = start.elapsed();
        filter.clear();
        let start = Instant::now();
        partitioned(&mut filter, keys, 2, &source);
        ratios.push(one.as_secs_f64() / start.elapsed().as_secs_f64());
    }
    median(ratios)
}
