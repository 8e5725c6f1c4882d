//! `Fuse` against xorf's: memory, building and lookups, in turn.

use crate::candidate::{Candidate, Mode};
use crate::comparison::median;
use crate::engine::HeadToHead;
use crate::keys::Keys;
use crate::ours::{in_batches, yes};
use crate::rates::{Rate, measure};
use crate::splitmix::splitmix;
use mayhap::{Fuse, Hash, Spec};
use std::hint::black_box;
use std::mem::take;
use std::time::Instant;
use xorf::{BinaryFuse8, Filter};

const KEYS: u64 = 1_000_000;
const CHUNK: u64 = 65_536;

/// The measured rate of a `Fuse` of a million keys.
pub fn rate(spec: Spec, member: fn(u64) -> Hash) -> Rate {
    let fuse = build(spec, &mut (0..KEYS).map(member).collect::<Vec<_>>());
    measure("Fuse", spec.fpr(), fuse.bits(), &fuse)
}

fn build(spec: Spec, hashes: &mut [Hash]) -> Fuse {
    Fuse::from_hashes(spec, hashes).expect("memory for a filter")
}

/// `Fuse` among the others: built when all keys are there.
pub fn subject<K: Keys>(keys: u64, fpr: f64) -> Box<dyn Candidate<K>> {
    let spec = Spec::new(keys, fpr).expect("sizes and rates here are sane");
    Box::new(OurFuse { spec, fuse: None, hashes: Vec::new(), answers: Vec::new() })
}

struct OurFuse {
    spec: Spec,
    fuse: Option<Fuse>,
    /// All keys until it is built, a batch of them afterwards.
    hashes: Vec<Hash>,
    answers: Vec<bool>,
}

impl<K: Keys> Candidate<K> for OurFuse {
    fn name(&self) -> &'static str {
        "mayhap Fuse"
    }

    fn insert(&mut self, _: Mode, chunk: &K) {
        self.hashes.extend(chunk.hashes());
    }

    fn finish(&mut self) {
        self.fuse = Some(build(self.spec, &mut take(&mut self.hashes)));
    }

    fn contains(&mut self, way: Mode, chunk: &K) -> u64 {
        let OurFuse { spec, fuse: Some(fuse), hashes, answers } = self else { return 0 };
        match way {
            Mode::Single => chunk.keys().map(|key| u64::from(fuse.contains(key))).sum(),
            Mode::Hashed => {
                fuse.contains_batch(chunk.hashes(), answers);
                yes(answers)
            }
            Mode::Batch => {
                let mut hits = 0;
                in_batches(chunk, spec.scheme(), hashes, |batch| {
                    fuse.contains_batch(batch, answers);
                    hits += yes(answers);
                });
                hits
            }
        }
    }

    fn bits(&self) -> u64 {
        self.fuse.as_ref().map_or(0, Fuse::bits)
    }

    fn ways(&self) -> &'static [Mode] {
        &[Mode::Batch, Mode::Hashed, Mode::Single]
    }

    fn insert_ways(&self) -> &'static [Mode] {
        &[]
    }
}

/// Both with 8-bit fingerprints, built and looked up in turn.
pub fn duel(keys: u64, builds: u64) -> HeadToHead {
    eprintln!("Fuse against xorf, {keys} keys");
    let spec = Spec::new(keys, 1.0 / 256.0).expect("a sane rate");
    let hashes: Vec<Hash> = (0..keys).map(|i| Hash::from_u64(splitmix(i))).collect();
    let numbers: Vec<u64> = hashes.iter().map(|hash| hash.to_u64()).collect();
    let mut pair = None;
    let mut build_ratios = Vec::new();
    for _ in 0..builds {
        drop(pair.take());
        let mut own = hashes.clone();
        let start = Instant::now();
        let ours = build(spec, &mut own);
        let ours_took = start.elapsed();
        drop(own);
        let start = Instant::now();
        let theirs = BinaryFuse8::try_from(&numbers).expect("distinct hashes");
        build_ratios.push(start.elapsed().as_secs_f64() / ours_took.as_secs_f64());
        pair = Some((ours, theirs));
    }
    let (ours, theirs) = pair.expect("at least one build");
    let (mut single, mut batch, mut answers) = (vec![], vec![], vec![]);
    for round in 0..128 {
        // Hits and misses by turns.
        let base = (round % 2) << 40;
        let at = |i| base + crate::splitmix::below(keys, round * CHUNK + i);
        let chunk: Vec<Hash> = (0..CHUNK).map(|i| Hash::from_u64(splitmix(at(i)))).collect();
        let (one, many, competitor) = (
            timed(|| chunk.iter().filter(|hash| ours.contains_hash(**hash)).count()),
            timed(|| {
                ours.contains_batch(&chunk, &mut answers);
                answers.iter().filter(|yes| **yes).count()
            }),
            timed(|| chunk.iter().filter(|hash| theirs.contains(&hash.to_u64())).count()),
        );
        single.push(competitor / one);
        batch.push(competitor / many);
    }
    HeadToHead {
        keys,
        bits_per_key: ours.bits() as f64 / keys as f64,
        build: median(build_ratios).unwrap_or(f64::NAN),
        lookup_single: median(single).unwrap_or(f64::NAN),
        lookup_batch: median(batch).unwrap_or(f64::NAN),
    }
}

fn timed(work: impl FnOnce() -> usize) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_secs_f64()
}
