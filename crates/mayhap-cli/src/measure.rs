//! Random keys, to find out how often a filter errs and how fast it answers.

use crate::clock::now;
use mayhap::{AnyFilter, Contains, Hash, Native, Scheme};
use std::hash::{BuildHasher, RandomState};

/// Keys asked at once.
pub const BATCH: usize = 4096;

/// What random keys found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Keys asked about.
    pub probes: u64,
    /// Those that may be in, though none of them is.
    pub hits: u64,
}

impl Measured {
    /// The share of hits.
    pub fn rate(&self) -> f64 {
        self.hits as f64 / self.probes.max(1) as f64
    }
}

/// Keys of 16 random bytes: none of them was ever added to anything.
pub struct RandomKeys(u64);

impl RandomKeys {
    /// Others every time.
    pub fn new() -> RandomKeys {
        RandomKeys(RandomState::new().hash_one("mayhap"))
    }

    /// SplitMix64: a counter, mixed.
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A random id, for exact sets.
    fn id(&mut self) -> Option<u64> {
        Some(self.word())
    }

    /// The hash of a random key.
    pub fn hash(&mut self, scheme: &Native) -> Hash {
        let [a, b] = [self.word(), self.word()].map(u64::to_le_bytes);
        scheme.hash_bytes(&[a, b].concat())
    }
}

/// Ask about so many random keys.
pub fn rate<B: AsRef<[u8]>>(filter: &AnyFilter<B>, probes: u64) -> Measured {
    let mut keys = RandomKeys::new();
    let (mut hashes, mut ids, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut asked, mut hits) = (0, 0);
    while asked < probes {
        let batch = (probes - asked).min(BATCH as u64);
        match (filter, filter.scheme()) {
            (AnyFilter::Bitmap(bitmap), _) => {
                ids.clear();
                ids.extend((0..batch).map(|_| keys.id()));
                Contains::contains_batch(bitmap, &ids, &mut answers);
            }
            (filter, Some(scheme)) => {
                hashes.clear();
                hashes.extend((0..batch).map(|_| keys.hash(&scheme)));
                // Only exact sets refuse hashes.
                _ = filter.contains_batch_at(&hashes, now(), &mut answers);
            }
            (_, None) => answers.clear(),
        }
        asked += batch;
        hits += answers.iter().filter(|yes| **yes).count() as u64;
    }
    Measured { probes, hits }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::{Blocked, Spec};

    #[test]
    fn the_measured_rate_is_the_rate() -> anyhow::Result<()> {
        let mut filter = Blocked::new(Spec::new(20_000, 0.01)?)?;
        (0..20_000u64).for_each(|key| _ = filter.insert(key));
        let measured = rate(&AnyFilter::from(filter), 200_001);
        assert_eq!(measured.probes, 200_001);
        assert!((0.008..0.012).contains(&measured.rate()), "{}", measured.rate());
        Ok(())
    }
}
