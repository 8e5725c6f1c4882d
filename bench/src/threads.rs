//! Two threads against one: filling one filter together.
//!
//! Chunks of hashes are inserted by one thread and by two in turn, into the same growing filter;
//! the median of adjacent ratios counts.

use crate::comparison::median;
use crate::fill::partitioned;
use mayhap::{Blocked, Hash, Spec};
use std::ops::Range;
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

/// Everything that is measured with two threads, for a filter of 100M keys at 1%. A quick run
/// leaves it out: smaller filters are in cache, and say nothing about these targets.
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
    ]
}

fn shared(keys: u64) -> Option<f64> {
    eprintln!("two threads, {keys} keys");
    let spec = Spec::new(keys, 0.01).ok()?;
    let filter = Blocked::new(spec).ok()?.into_shared();
    // 25 pairs of chunks: long enough to amortise starting a thread.
    let chunk = keys / 50;
    let hashes = |from: u64| -> Vec<Hash> {
        (from..from + chunk).map(|i| Hash::from_u64(crate::splitmix::splitmix(i))).collect()
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
    let hashes: Vec<Hash> =
        (0..keys).map(|i| Hash::from_u64(crate::splitmix::splitmix(i))).collect();
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
