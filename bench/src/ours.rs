//! Mayhap's kinds as candidates.

use crate::candidate::{Candidate, Mode};
use crate::keys::Keys;
use mayhap::scheme::Native;
use mayhap::{Blocked, Classic, Hash, Quotient, Spec};

/// Keys hashed and passed at a time: their hashes and answers fit the L1 cache.
pub const BATCH: usize = 2048;

/// A kind, and the buffers of a caller who works in batches.
struct Ours<F> {
    filter: F,
    hashes: Vec<Hash>,
    answers: Vec<bool>,
}

impl<F> Ours<F> {
    fn new(filter: F) -> Ours<F> {
        Ours { filter, hashes: Vec::with_capacity(BATCH), answers: Vec::with_capacity(BATCH) }
    }
}

/// The kinds that are filled key by key.
pub fn all<K: Keys>(keys: u64, fpr: f64) -> Vec<Box<dyn Candidate<K>>> {
    let spec = Spec::new(keys, fpr).expect("sizes and rates here are sane");
    vec![
        Box::new(Ours::new(Blocked::new(spec).expect("memory for a filter"))),
        Box::new(Ours::new(Classic::new(spec).expect("memory for a filter"))),
        Box::new(Ours::new(Quotient::new(spec).expect("memory for a filter"))),
    ]
}

/// Call `each` with the hashes of the keys, a batch at a time.
pub fn in_batches<K: Keys>(
    chunk: &K,
    scheme: Native,
    hashes: &mut Vec<Hash>,
    mut each: impl FnMut(&[Hash]),
) {
    let keys = chunk.hashes().len();
    for start in (0..keys).step_by(BATCH) {
        chunk.hash(scheme, start..(start + BATCH).min(keys), hashes);
        each(hashes);
    }
}

pub fn yes(answers: &[bool]) -> u64 {
    answers.iter().map(|yes| u64::from(*yes)).sum()
}

/// The inherent methods are what a caller would write; a trait could not call them.
macro_rules! subject {
    ($kind:ty, $name:literal, $scheme:expr, |$filter:ident| $bits:expr) => {
        impl<K: Keys> Candidate<K> for Ours<$kind> {
            fn name(&self) -> &'static str {
                $name
            }

            fn insert(&mut self, way: Mode, chunk: &K) {
                let Ours { filter, hashes, .. } = self;
                match way {
                    Mode::Single => chunk.keys().for_each(|key| _ = filter.insert(key)),
                    Mode::Hashed => _ = filter.insert_batch(chunk.hashes()),
                    Mode::Batch => {
                        let scheme = $scheme(filter);
                        in_batches(chunk, scheme, hashes, |batch| _ = filter.insert_batch(batch));
                    }
                }
            }

            fn contains(&mut self, way: Mode, chunk: &K) -> u64 {
                let Ours { filter, hashes, answers } = self;
                match way {
                    Mode::Single => chunk.keys().map(|key| u64::from(filter.contains(key))).sum(),
                    Mode::Hashed => {
                        filter.contains_batch(chunk.hashes(), answers);
                        yes(answers)
                    }
                    Mode::Batch => {
                        let mut hits = 0;
                        in_batches(chunk, $scheme(filter), hashes, |batch| {
                            filter.contains_batch(batch, answers);
                            hits += yes(answers);
                        });
                        hits
                    }
                }
            }

            fn bits(&self) -> u64 {
                let $filter = &self.filter;
                $bits
            }

            fn ways(&self) -> &'static [Mode] {
                &[Mode::Batch, Mode::Hashed, Mode::Single]
            }

            fn insert_ways(&self) -> &'static [Mode] {
                &[Mode::Batch, Mode::Single]
            }
        }
    };
}

subject!(Blocked, "mayhap Blocked", |filter: &Blocked| filter.scheme(), |filter| filter
    .shape()
    .bits());
subject!(Classic, "mayhap Classic", |filter: &Classic| *filter.scheme(), |filter| filter
    .shape()
    .bits);
subject!(Quotient, "mayhap Quotient", |filter: &Quotient| filter.scheme(), |filter| filter
    .shape()
    .bits());
