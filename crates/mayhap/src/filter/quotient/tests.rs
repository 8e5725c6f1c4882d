//! What `Quotient` promises, held against an exact multiset.

mod damage;
mod model;
mod steps;
mod whole;

use super::*;
use std::collections::BTreeMap;

/// The fingerprints that should be in, and how often.
type Model = BTreeMap<u64, u64>;

fn spec() -> Spec {
    Spec::new(1000, 0.01).unwrap()
}

/// A filter of so many lines with homes, the last of them not all used, that does not grow.
fn fixed(remainder_bits: u32, lines: u64) -> Quotient {
    let homes = QuotientShape { range: 1, remainder_bits }.layout().homes as u64;
    let range = lines * (homes << remainder_bits) - (1 << (remainder_bits - 1));
    let shape = QuotientShape { range, remainder_bits };
    let mut filter = Quotient::with_shape(spec(), shape).unwrap();
    assert_eq!(shape.home_lines(), lines);
    filter.set_auto_grow(false);
    filter
}

/// The first hash that has this fingerprint.
fn hash_of<B: AsRef<[u8]>>(filter: &Quotient<B>, fingerprint: u64) -> Hash {
    let range = u128::from(filter.shape().range);
    let hash = Hash((u128::from(fingerprint) << 64).div_ceil(range) as u64);
    assert_eq!(filter.fingerprint(hash), fingerprint);
    hash
}

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        reduce(self.next(), end)
    }
}

/// Everything a filter tells about itself is what the model tells, and its bytes are valid.
fn agrees<B: AsRef<[u8]>>(filter: &Quotient<B>, model: &Model) {
    assert!(filter.fingerprints().eq(model.iter().map(|(f, n)| (*f, *n))));
    assert_eq!(filter.keys(), model.values().sum::<u64>());
    assert_eq!(filter.distinct_fingerprints(), model.len() as u64);
    assert_eq!(filter.fpr_now(), model.len() as f64 / filter.shape().range as f64);
    let side = filter.side_bytes();
    let read = Quotient::from_bytes(filter.spec(), filter.shape(), filter.as_bytes(), &side);
    let read = read.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.table.counts, filter.table.counts);
}
