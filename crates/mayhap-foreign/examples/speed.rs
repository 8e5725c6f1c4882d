//! How fast other programs' filters answer here, beside our own `Classic` of the same size.
//!
//! The same size is the same keys in the same number of bits (within 1%), with as many probes as each
//! would have: so beside a filter that has two probes more, or hashes twice, stands one of ours that does
//! not. Every round asks every filter for the same batches, half members and half absent keys, hashing
//! included, one filter after another; of each batch the best round counts, so that a machine which is
//! busy with other things disturbs little.
//!
//! The last column is the floor: the same lookups in a filter of 1,000 keys, where memory costs nothing
//! and what is left is hashing and arithmetic, which the format prescribes.
//!
//! ```text
//! cargo run --release -p mayhap-foreign --example speed -- 10000000 [FORMAT…]
//! ```

use mayhap::scheme::Scheme;
use mayhap::sizing::ClassicShape;
use mayhap::{Classic, Spec};
use mayhap_foreign::{Foreign, Format, Options, create};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const BATCH: usize = 4096;
const BATCHES: usize = 64;
const ROUNDS: usize = 25;
const RATE: f64 = 0.01;
/// So few that a filter of them stays in the cache.
const FEW: u64 = 1_000;

/// Keys as they come in lists: some text, and a number.
fn key(i: u64) -> Vec<u8> {
    format!("https://example.org/{i:012}").into_bytes()
}

/// A filter, and the best time of each batch, in nanoseconds.
struct Timed<F> {
    filter: F,
    best: Vec<u128>,
}

impl<F> Timed<F> {
    fn new(filter: F) -> Timed<F> {
        Timed { filter, best: vec![u128::MAX; BATCHES] }
    }

    fn round(&mut self, batches: &[Vec<&[u8]>], mut ask: impl FnMut(&F, &[&[u8]])) {
        for (batch, best) in batches.iter().zip(&mut self.best) {
            let start = Instant::now();
            ask(&self.filter, batch);
            *best = start.elapsed().as_nanos().min(*best);
        }
    }

    fn nanoseconds_a_key(&self) -> f64 {
        self.best.iter().sum::<u128>() as f64 / (BATCH * BATCHES) as f64
    }
}

/// Ours of about so many bits.
fn ours(keys: u64, bits: u64) -> Result<Classic, Box<dyn Error>> {
    let shape = ClassicShape::for_bits(keys, bits);
    Ok(Classic::with_shape(Spec::new(keys, RATE)?, shape)?)
}

fn slices(batches: &[Vec<Vec<u8>>]) -> Vec<Vec<&[u8]>> {
    batches.iter().map(|batch| batch.iter().map(Vec::as_slice).collect()).collect()
}

type Any = Box<dyn Foreign>;
type Theirs = Timed<Any>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let keys = arguments.next().map_or(Ok(1_000_000), |keys| keys.parse::<u64>())?;
    let mut formats = arguments.map(|name| name.parse()).collect::<Result<Vec<Format>, _>>()?;
    if formats.is_empty() {
        // Lists of small elements are another thing, files of Parquet are not made here.
        let left_out =
            |f: &Format| matches!(f, Format::Mayhap | Format::Parquet | Format::NumBase64);
        formats = Format::ALL.into_iter().filter(|format| !left_out(format)).collect();
    }
    let make = |format, keys| create(format, keys, RATE, &Options::new()).map(Timed::new);
    let mut theirs: Vec<(Theirs, Theirs, usize)> = Vec::new();
    let mut sizes: Vec<Timed<Classic>> = Vec::new();
    for format in &formats {
        let (large, small) = (make(*format, keys)?, make(*format, FEW)?);
        let bits = large.filter.summary().bits;
        let is_near = |ours: &Timed<Classic>| ours.filter.shape().bits.abs_diff(bits) < bits / 100;
        let size = sizes.iter().position(is_near).unwrap_or(sizes.len());
        if size == sizes.len() {
            sizes.push(Timed::new(ours(keys, bits)?));
        }
        theirs.push((large, small, size));
    }
    let mut few = Timed::new(ours(FEW, ClassicShape::for_fpr(FEW, RATE).bits)?);

    let mut new = Vec::new();
    for first in (0..keys).step_by(BATCH) {
        let batch: Vec<Vec<u8>> = (first..keys.min(first + BATCH as u64)).map(key).collect();
        let slices: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
        for ours in &mut sizes {
            slices.iter().for_each(|key| _ = ours.filter.insert(*key));
        }
        for (large, small, _) in &mut theirs {
            large.filter.insert_batch(&slices, &mut new)?;
            if first == 0 {
                let slices = &slices[..slices.len().min(FEW as usize)];
                small.filter.insert_batch(slices, &mut new)?;
            }
        }
        if first == 0 {
            slices.iter().take(FEW as usize).for_each(|key| _ = few.filter.insert(*key));
        }
    }
    // Members and absent keys alternate, far from one another.
    let asked = |keys: u64| -> Vec<Vec<Vec<u8>>> {
        let at = |i: usize| {
            (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) % keys + keys * (i as u64 & 1)
        };
        (0..BATCHES).map(|b| (0..BATCH).map(|i| key(at(b * BATCH + i))).collect()).collect()
    };
    let (of_many, of_few) = (asked(keys), asked(FEW));
    let (of_many, of_few) = (slices(&of_many), slices(&of_few));

    let (mut hashes, mut answers) = (Vec::new(), Vec::new());
    let mut ask_ours = |filter: &Classic, batch: &[&[u8]]| {
        hashes.clear();
        hashes.extend(batch.iter().map(|key| filter.scheme().hash_bytes(key)));
        filter.contains_batch(&hashes, &mut answers);
        black_box(&answers);
    };
    let mut answers = Vec::new();
    let mut ask_theirs = |filter: &Any, batch: &[&[u8]]| {
        filter.contains_batch(batch, &mut answers);
        black_box(&answers);
    };
    for _ in 0..ROUNDS {
        sizes.iter_mut().for_each(|ours| ours.round(&of_many, &mut ask_ours));
        few.round(&of_few, &mut ask_ours);
        for (large, small, _) in &mut theirs {
            large.round(&of_many, &mut ask_theirs);
            small.round(&of_few, &mut ask_theirs);
        }
    }
    println!("{keys} keys at {RATE}: ns a key, hashed and asked in batches of {BATCH}");
    println!("{:<20} {:>6} {:>6} {:>6} {:>6}", "", "theirs", "ours", "ratio", "floor");
    for ((large, small, size), format) in theirs.iter().zip(&formats) {
        let ours = sizes[*size].nanoseconds_a_key();
        let (took, floor) = (large.nanoseconds_a_key(), small.nanoseconds_a_key());
        println!("{format:<20} {took:6.1} {ours:6.1} {:5.2}× {floor:6.1}", took / ours);
    }
    println!("{:<20} {:>21} {:6.1}", "our classic", "", few.nanoseconds_a_key());
    Ok(())
}
