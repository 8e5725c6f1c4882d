//! One slice of a list: a sorted set of fingerprints, whole hashes while they are few.

use crate::policy::Seconds;
use crate::rice::Range;
use mayhap::Hash;

/// What a slice is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Ids it takes before the next slice begins.
    pub capacity: u64,
    /// Fingerprints are below this.
    pub range: u64,
}

/// A sorted set of fingerprints.
///
/// Up to a few dozen are whole 64-bit hashes. When more come, all are shortened to the range of
/// the shape: a hash `h` becomes ⌊h · range / 2⁶⁴⌋, which keeps their order and loses no id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// When its first id came.
    pub started: Seconds,
    pub shape: Shape,
    /// Whether fingerprints are still whole hashes.
    pub whole: bool,
    pub sorted: Vec<u64>,
}

impl Slice {
    pub fn new(started: Seconds, shape: Shape) -> Slice {
        Slice { started, shape, whole: true, sorted: vec![] }
    }

    pub fn ids(&self) -> u64 {
        self.sorted.len() as u64
    }

    pub fn is_full(&self) -> bool {
        self.ids() >= self.shape.capacity
    }

    /// Where fingerprints come from, which is what their code depends on.
    pub fn drawn_from(&self) -> Range {
        if self.whole { Range::Full } else { Range::Below(self.shape.range) }
    }

    #[inline]
    fn fingerprint(&self, hash: Hash) -> u64 {
        if self.whole { hash.0 } else { shorten(hash.0, self.shape.range) }
    }

    pub fn contains(&self, hash: Hash) -> bool {
        self.sorted.binary_search(&self.fingerprint(hash)).is_ok()
    }

    /// Add an id; `exact` is how many may be whole.
    pub fn insert(&mut self, hash: Hash, exact: u32) {
        if self.whole && self.ids() >= u64::from(exact) {
            self.shorten();
        }
        let fingerprint = self.fingerprint(hash);
        if let Err(at) = self.sorted.binary_search(&fingerprint) {
            self.sorted.insert(at, fingerprint);
        }
    }

    fn shorten(&mut self) {
        for fingerprint in &mut self.sorted {
            *fingerprint = shorten(*fingerprint, self.shape.range);
        }
        self.sorted.dedup();
        self.whole = false;
    }

    /// The chance that a stranger is found here.
    pub fn chance(&self) -> f64 {
        let range = if self.whole { 2f64.powi(64) } else { self.shape.range as f64 };
        self.ids() as f64 / range
    }

    /// Leave a trace of every id.
    pub fn trace(&self, sieve: &mut Sieve) {
        if self.whole {
            self.sorted.iter().for_each(|hash| sieve.set(hash >> sieve.shift));
            return;
        }
        // Which hashes a fingerprint may stem from, in cells of the sieve. The tiny margin is far
        // more than what floating point can lose here.
        let cells_each = sieve.cells() as f64 / self.shape.range as f64;
        for fingerprint in &self.sorted {
            let first = *fingerprint as f64 * cells_each;
            let last = ((first + cells_each + 1e-6) as u64).min(sieve.cells() - 1);
            (((first - 1e-6).max(0.0)) as u64..=last).for_each(|cell| sieve.set(cell));
        }
    }
}

fn shorten(hash: u64, range: u64) -> u64 {
    ((u128::from(hash) * u128::from(range)) >> 64) as u64
}

/// Which first bits of hashes occur at all: one load answers for nearly every stranger, whatever
/// the number of slices.
pub(crate) struct Sieve {
    shift: u32,
    words: Vec<u64>,
}

impl Sieve {
    /// For so many ids: about one stranger in sixteen passes.
    pub fn new(ids: u64) -> Sieve {
        let cells = ids.saturating_mul(16).clamp(1 << 10, 1 << 20).next_power_of_two();
        Sieve { shift: 64 - cells.ilog2(), words: vec![0; (cells / 64) as usize] }
    }

    fn cells(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    fn set(&mut self, cell: u64) {
        self.words[(cell / 64) as usize] |= 1 << (cell % 64);
    }

    /// False only for strangers.
    #[inline]
    pub fn may_hold(&self, hash: Hash) -> bool {
        let cell = hash.0 >> self.shift;
        self.words[(cell / 64) as usize] >> (cell % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    const SHAPE: Shape = Shape { capacity: 1000, range: 5_000_000 };

    #[test]
    fn shortening_loses_no_id() {
        let mut slice = Slice::new(0, SHAPE);
        for id in 0..1000u64 {
            slice.insert(Hash(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)), 24);
            assert_eq!(slice.whole, id < 24);
            let found = |id: u64| slice.contains(Hash(id.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            assert!((0..=id).all(found), "one of {id} ids is lost");
        }
    }

    proptest! {
        #[test]
        fn the_sieve_lets_every_id_pass(
            ids in vec(any::<u64>(), 0..200),
            strangers in vec(any::<u64>(), 0..200),
            exact in 0..300u32,
            range in prop_oneof![1..100_000u64, 1..1u64 << 62],
        ) {
            let mut slice = Slice::new(0, Shape { capacity: 1000, range });
            ids.iter().for_each(|id| slice.insert(Hash(*id), exact));
            prop_assert!(ids.iter().all(|id| slice.contains(Hash(*id))));
            let mut sieve = Sieve::new(slice.ids());
            slice.trace(&mut sieve);
            for hash in ids.iter().chain(&strangers).chain(&[0, u64::MAX]).map(|id| Hash(*id)) {
                prop_assert!(sieve.may_hold(hash) || !slice.contains(hash));
            }
        }
    }
}
