//! The number of keys, counted or estimated beforehand.

use super::{HashKeys, KeyReader, KeysError, Task};
use mayhap::Hash;
use mayhap::scheme::Native;
use std::ops::ControlFlow;

impl KeyReader {
    /// Whether all inputs can be read twice: first to count, then for the work.
    pub fn is_rereadable(&self) -> bool {
        self.inputs().iter().all(super::Input::is_rereadable)
    }

    /// The number of records. Reads everything once, as fast as delimiters can be found.
    pub fn count(&self) -> Result<u64, KeysError> {
        struct Nothing;
        impl Task for Nothing {
            type Out = ();
            const WANTS_KEYS: bool = false;
            fn begin(&self, (): &mut ()) {}
            fn key(&self, (): &mut (), _: &[u8]) {}
        }
        let mut rules = self.rules().clone();
        // The key does not matter here, but the boundaries of rows do.
        if !matches!(rules.part, super::KeyField::Csv(_)) {
            rules = super::ExtractRules { format: rules.format, ..super::ExtractRules::default() };
        }
        let counted = self.clone().with_rules(rules);
        self.progress().set_counting(true);
        let tally = counted.run(&Nothing, |_| Ok(ControlFlow::Continue(())));
        self.progress().set_counting(false);
        tally.map(|tally| tally.records)
    }

    /// The number of records, and an estimate of the distinct keys (HyperLogLog): within 2% except
    /// once in a million times. Reads and hashes everything once, and takes 64 KiB of memory.
    pub fn estimate_input(&self) -> Result<InputEstimate, KeysError> {
        let mut distinct = HyperLogLog::new();
        let tally = self.run(&HashKeys(Native::default()), |batch| {
            batch.out.iter().for_each(|hash| distinct.insert(*hash));
            Ok::<_, KeysError>(ControlFlow::Continue(()))
        })?;
        Ok(InputEstimate {
            records: tally.records,
            distinct: distinct.estimate().min(tally.records),
        })
    }
}

/// The size of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputEstimate {
    /// Records.
    pub records: u64,
    /// Distinct keys, estimated.
    pub distinct: u64,
}

/// Bits of a hash that pick a register: 2¹⁶ of them make a standard error of 0.4%.
const PICK: u32 = 16;
const REGISTERS: usize = 1 << PICK;
/// The highest rank: all other bits are zero.
const HIGHEST: usize = 64 - PICK as usize + 1;

/// HyperLogLog: counts distinct hashes by the rarest pattern each register has seen, with Ertl's
/// estimator ("New cardinality estimation algorithms for HyperLogLog sketches", 2017), which is
/// unbiased over the whole range.
struct HyperLogLog {
    ranks: Vec<u8>,
}

impl HyperLogLog {
    fn new() -> HyperLogLog {
        HyperLogLog { ranks: vec![0; REGISTERS] }
    }

    fn insert(&mut self, hash: Hash) {
        let register = (hash.to_u64() >> (64 - PICK)) as usize;
        let rank = ((hash.to_u64() << PICK) | (1 << (PICK - 1))).leading_zeros() as u8 + 1;
        self.ranks[register] = self.ranks[register].max(rank);
    }

    fn estimate(&self) -> u64 {
        let mut counts = [0u32; HIGHEST + 1];
        self.ranks.iter().for_each(|rank| counts[usize::from(*rank)] += 1);
        let registers = REGISTERS as f64;
        let share = |rank: usize| f64::from(counts[rank]) / registers;
        let mut sum = registers * tau(1.0 - share(HIGHEST));
        for rank in (1..HIGHEST).rev() {
            sum = 0.5 * (sum + f64::from(counts[rank]));
        }
        sum += registers * sigma(share(0));
        (registers * registers / (2.0 * std::f64::consts::LN_2 * sum)).round() as u64
    }
}

/// x + Σ x^(2^k)·2^(k-1): the share of registers that have seen nothing.
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

/// (1 - x - Σ (1 - x^(2^-k))²·2^-k) / 3: the share of saturated registers.
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::scheme::Scheme;

    #[test]
    fn distinct_keys_are_told_within_two_in_a_hundred() {
        let mut distinct = HyperLogLog::new();
        assert_eq!(distinct.estimate(), 0);
        let mut next = 0u64;
        for keys in [1, 10, 1_000, 30_000, 150_000, 300_000, 3_000_000] {
            while next < keys {
                let hash = Native::default().hash(next);
                distinct.insert(hash);
                distinct.insert(hash);
                next += 1;
            }
            let got = distinct.estimate();
            assert!(got.abs_diff(keys) as f64 <= keys as f64 * 0.02, "{got} for {keys}");
        }
    }
}
