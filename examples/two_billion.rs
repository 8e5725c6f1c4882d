//! Two billion URLs, 4 GB of memory: is this one among them?
//!
//! Why it is built so: the textbook's question, from the plan to the answer. A set of 64-bit hashes
//! would take 16 GB before any overhead, a bitmap over 64-bit hashes cannot exist, and one over
//! 32-bit hashes fits in 512 MB but has a false-positive rate of a third. So the plan comes first,
//! and says what each size gives; then the filter is filled by all cores at once through atomics,
//! no lock and no bit lost; then members and absent keys are looked up, and the peak memory of the
//! process is read from the system. It takes minutes and 2.5 GB at full size, and any smaller
//! number shows the same.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example two_billion              # the question itself
//! cargo run --release -p mayhap-examples --example two_billion -- 20000000
//! ```

use mayhap::KindSpec;
use mayhap::scheme::{Native, Scheme};
use mayhap::sizing::Plan;
use mayhap::{Blocked, Hash, Spec, SpecError};
use std::time::Instant;

const FPR: f64 = 0.01;
const BATCH: u64 = 1 << 16;

/// URL `i`, without keeping two billion of them anywhere.
fn url(i: u64, text: &mut String) {
    use std::fmt::Write;
    text.clear();
    _ = write!(
        text,
        "https://site{}.example/{:x}",
        i % 1_000_003,
        i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    );
}

fn hashes(scheme: Native, ids: std::ops::Range<u64>, out: &mut Vec<Hash>) {
    let mut text = String::new();
    out.clear();
    out.extend(ids.map(|id| {
        url(id, &mut text);
        scheme.hash(&text)
    }));
}

/// What each kind costs at 1%, and its false-positive rate at a quarter of a byte per key.
fn plan(keys: u64) -> Result<(), SpecError> {
    println!("{keys} keys: as 64-bit hashes {} MB before any overhead", keys * 8 / 1_000_000);
    for (name, kind) in
        [("Classic", KindSpec::Classic), ("Blocked", KindSpec::Blocked), ("Fuse", KindSpec::Fuse)]
    {
        let plan = Plan::for_fpr(kind, keys, FPR)?;
        let tight = Plan::for_memory(kind, keys, keys / 4)?;
        println!(
            "{name:8} {:5} MB at 1%, {} cache lines per key; in {} MB {:.1}%",
            plan.bytes() / 1_000_000,
            plan.lines(),
            tight.bytes() / 1_000_000,
            100.0 * tight.fpr(),
        );
    }
    Ok(())
}

/// Fill a filter from as many threads as there are cores, through atomics.
fn build(keys: u64, threads: u64) -> Result<Blocked, SpecError> {
    let shared = Blocked::new(Spec::new(keys, FPR)?)?.into_shared();
    let scheme = shared.spec().scheme();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let shared = &shared;
            scope.spawn(move || {
                let mut batch = Vec::new();
                for first in (thread * BATCH..keys).step_by((threads * BATCH) as usize) {
                    hashes(scheme, first..keys.min(first + BATCH), &mut batch);
                    shared.insert_batch(&batch);
                }
            });
        }
    });
    Ok(shared.into_inner())
}

/// How many of these URLs the filter takes for members.
fn yes(filter: &Blocked, ids: std::ops::Range<u64>) -> u64 {
    let (mut batch, mut answers, mut yes) = (Vec::new(), Vec::new(), 0);
    for first in ids.clone().step_by(BATCH as usize) {
        hashes(filter.scheme(), first..ids.end.min(first + BATCH), &mut batch);
        filter.contains_batch(&batch, &mut answers);
        yes += answers.iter().map(|answer| u64::from(*answer)).sum::<u64>();
    }
    yes
}

/// The peak memory of this process, if the system says.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok().map(|kb: u64| kb << 10)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keys: u64 = std::env::args().nth(1).map_or(Ok(2_000_000_000), |keys| keys.parse())?;
    plan(keys)?;
    let threads = std::thread::available_parallelism()?.get() as u64;
    let start = Instant::now();
    let filter = build(keys, threads)?;
    println!("built by {threads} threads in {:.1?}: {filter}", start.elapsed());
    let asked = keys.min(10_000_000);
    let start = Instant::now();
    let (members, absent_keys) = (yes(&filter, 0..asked), yes(&filter, 1 << 40..(1 << 40) + asked));
    println!(
        "{members} of {asked} members found, {:.3}% of absent keys, in {:.1?}",
        absent_keys as f64 * 100.0 / asked as f64,
        start.elapsed()
    );
    if let Some(bytes) = peak_bytes() {
        println!("{} MB of memory at most", bytes / 1_000_000);
    }
    if members == asked { Ok(()) } else { Err("members are missing".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousandth_of_it_shows_the_same() -> Result<(), SpecError> {
        plan(2_000_000_000)?;
        let keys = 500_000;
        let filter = build(keys, 3)?;
        assert_eq!(yes(&filter, 0..keys), keys);
        let wrong = yes(&filter, 1 << 40..(1 << 40) + 500_000);
        assert!((4_500..5_500).contains(&wrong), "{wrong} of 5000 expected");
        Ok(())
    }
}
