//! How fast other programs' filters answer here, beside our own `Classic` of the same rate.
//!
//! Each round asks every filter for the same batches, half members and half strangers, hashing
//! included, one filter after another, so that a busy machine is busy for all; the best round counts.
//!
//! ```text
//! cargo run --release -p mayhap-foreign --example speed -- 10000000
//! ```

use mayhap::{Classic, Scheme, Spec};
use mayhap_foreign::{Foreign, Format, Options, create};
use std::hint::black_box;
use std::time::Instant;

const BATCH: usize = 4096;
const BATCHES: usize = 64;
const ROUNDS: usize = 7;
const RATE: f64 = 0.01;

/// Keys as they come in lists: some text, and a number.
fn key(i: u64) -> Vec<u8> {
    format!("https://example.org/{i:012}").into_bytes()
}

fn nanoseconds_a_key(batches: &[Vec<Vec<u8>>], mut ask: impl FnMut(&[&[u8]])) -> f64 {
    let slices: Vec<Vec<&[u8]>> =
        batches.iter().map(|batch| batch.iter().map(Vec::as_slice).collect()).collect();
    let start = Instant::now();
    slices.iter().for_each(|batch| ask(batch));
    start.elapsed().as_nanos() as f64 / (BATCH * batches.len()) as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keys = std::env::args().nth(1).map_or(Ok(1_000_000), |keys| keys.parse::<u64>())?;
    let mut ours = Classic::new(Spec::new(keys, RATE)?)?;
    let mut theirs: Vec<(Format, Box<dyn Foreign>)> = Vec::new();
    for format in Format::ALL {
        // Lists of small elements are another thing, files of Parquet are not made here.
        if !matches!(format, Format::Mayhap | Format::Parquet | Format::NumBase64) {
            theirs.push((format, create(format, keys, RATE, &Options::new())?));
        }
    }
    let mut new = Vec::new();
    for first in (0..keys).step_by(BATCH) {
        let batch: Vec<Vec<u8>> = (first..keys.min(first + BATCH as u64)).map(key).collect();
        let slices: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
        slices.iter().for_each(|key| _ = ours.insert(*key));
        for (_, filter) in &mut theirs {
            filter.insert_batch(&slices, &mut new)?;
        }
    }
    // Members and strangers in turns, far from one another.
    let at =
        |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % keys + keys * (i as u64 & 1);
    let batches: Vec<Vec<Vec<u8>>> =
        (0..BATCHES).map(|b| (0..BATCH).map(|i| key(at(b * BATCH + i))).collect()).collect();

    let mut best = vec![f64::INFINITY; theirs.len() + 1];
    let (mut hashes, mut answers) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let took = nanoseconds_a_key(&batches, |batch| {
            hashes.clear();
            hashes.extend(batch.iter().map(|key| ours.scheme().hash_bytes(key)));
            ours.contains_batch(&hashes, &mut answers);
            black_box(&answers);
        });
        best[0] = best[0].min(took);
        for ((_, filter), best) in theirs.iter().zip(&mut best[1..]) {
            let took = nanoseconds_a_key(&batches, |batch| {
                filter.contains_batch(batch, &mut answers);
                black_box(&answers);
            });
            *best = best.min(took);
        }
    }
    println!("{keys} keys at {RATE}: ns a key, hashed and asked in batches of {BATCH}");
    println!("{:<20} {:6.1}", "our classic", best[0]);
    for ((format, _), took) in theirs.iter().zip(&best[1..]) {
        println!("{format:<20} {took:6.1}  {:.2}×", took / best[0]);
    }
    Ok(())
}
