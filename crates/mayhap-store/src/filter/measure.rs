//! Random keys, to find out how often a filter errs and how fast it answers.

use super::{Body, Filter, Lookup, Needs, Prepared};
use crate::clock::now_ms;
use crate::key_rules::KeyRequest;
use crate::keys::{KeyBuffer, TextEncoding};
use mayhap::Hash;
use mayhap::scheme::{Native, Scheme};
use std::hash::{BuildHasher, RandomState};

/// Keys asked about at once.
const BATCH: u64 = 4096;

/// What random keys found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Keys asked about.
    pub probes: u64,
    /// Those that may be in, though none of them is: false positives.
    pub hits: u64,
}

impl Measured {
    /// The share of false positives.
    pub fn fpr(&self) -> f64 {
        self.hits as f64 / self.probes.max(1) as f64
    }
}

/// Keys of 16 random bytes: none of them was ever added to anything.
#[derive(Clone, Debug)]
pub struct RandomKeys(u64);

impl Default for RandomKeys {
    fn default() -> RandomKeys {
        RandomKeys(RandomState::new().hash_one("mayhap"))
    }
}

impl RandomKeys {
    /// SplitMix64: a counter, mixed.
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn key(&mut self) -> [u8; 16] {
        let (low, high) = (self.word(), self.word());
        (u128::from(low) | u128::from(high) << 64).to_le_bytes()
    }

    /// The hash of a random key.
    pub fn hash(&mut self, scheme: &Native) -> Hash {
        scheme.hash_bytes(&self.key())
    }
}

impl Filter {
    /// Ask about so many random keys. `None` where that failed.
    pub fn measure(&self, probes: u64) -> Option<Measured> {
        let mut random = RandomKeys::default();
        let (mut hashes, mut integers, mut keys) = (Vec::new(), Vec::new(), KeyBuffer::default());
        let (mut asked, mut hits, mut answers) = (0, 0, Vec::new());
        let width = self.key_width();
        while asked < probes {
            let batch = (probes - asked).min(BATCH);
            let prepared = match self.needs() {
                Needs::Hashes(scheme) => {
                    hashes.clear();
                    hashes.extend((0..batch).map(|_| random.hash(&scheme)));
                    Prepared::Hashes(&hashes)
                }
                Needs::Integers => {
                    integers.clear();
                    integers.extend((0..batch).map(|_| Some(random.word())));
                    Prepared::Integers(&integers)
                }
                Needs::Keys => {
                    keys.clear();
                    (0..batch).for_each(|_| keys.push(&random.key()[..width]));
                    Prepared::Keys(&keys)
                }
            };
            self.lookup(prepared, now_ms(), &mut answers).ok()?;
            asked += batch;
            hits += answers.iter().filter(|yes| **yes).count() as u64;
        }
        Some(Measured { probes, hits })
    }

    /// Bytes of a random key: as long as an integer where another program's keys are integers.
    fn key_width(&self) -> usize {
        let rules = self.key_rules(&KeyRequest::default()).unwrap_or_default();
        match rules.encoding {
            _ if !matches!(self.body, Body::Foreign(_)) => 16,
            TextEncoding::I32 { wide: false } | TextEncoding::I32Be => 4,
            TextEncoding::I64 | TextEncoding::I32 { wide: true } => 8,
            _ => 16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{BuildSpec, Slice, Target};
    use mayhap_foreign::{Format, Options};

    #[test]
    fn the_measured_rate_is_the_rate() {
        let keys: Vec<u64> = (0..20_000).collect();
        for target in [Target::Auto, Target::Foreign(Format::Guava, Options::new())] {
            let spec = BuildSpec { target, ..BuildSpec::default() };
            let built = Filter::build(&spec, &Slice(&keys)).unwrap();
            let measured = built.filter.measure(200_001).unwrap();
            assert_eq!(measured.probes, 200_001);
            assert!((0.008..0.012).contains(&measured.fpr()), "{}", measured.fpr());
        }
    }
}
