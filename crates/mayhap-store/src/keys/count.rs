//! How many keys there will be, found out beforehand.

use super::{Hashing, KeysError, Reading, Task};
use mayhap::{Hash, Native};
use std::ops::ControlFlow;

impl Reading {
    /// Whether everything can be read twice: first to count, then in earnest.
    pub fn is_rereadable(&self) -> bool {
        self.inputs().iter().all(super::Input::is_rereadable)
    }

    /// How many records there are. Reads everything once, at the speed of finding delimiters.
    pub fn count(&self) -> Result<u64, KeysError> {
        struct Nothing;
        impl Task for Nothing {
            type Out = ();
            const WANTS_KEYS: bool = false;
            fn begin(&self, (): &mut ()) {}
            fn key(&self, (): &mut (), _: &[u8]) {}
        }
        let mut rules = self.rules().clone();
        // What the key would be does not matter, but what a row of a table is does.
        if !matches!(rules.part, super::Part::Csv(_)) {
            rules = super::Rules { framing: rules.framing, ..super::Rules::default() };
        }
        let counted = self.clone().with_rules(rules);
        counted.run(&Nothing, |_| Ok(ControlFlow::Continue(()))).map(|tally| tally.records)
    }

    /// How many records there are, and about how many distinct keys: within 2% but once in a
    /// million times. Reads and hashes everything once, and takes 64 KiB however many there are.
    pub fn survey(&self) -> Result<Survey, KeysError> {
        let mut distinct = Distinct::new();
        let tally = self.run(&Hashing(Native::default()), |batch| {
            batch.out.iter().for_each(|hash| distinct.insert(*hash));
            Ok::<_, KeysError>(ControlFlow::Continue(()))
        })?;
        Ok(Survey { records: tally.records, distinct: distinct.estimate().min(tally.records) })
    }
}

/// How much there is to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Records.
    pub records: u64,
    /// Distinct keys, about.
    pub distinct: u64,
}

/// Bits of a hash that pick a register: 2¹⁶ of them make a standard error of 0.4%.
const PICK: u32 = 16;
const REGISTERS: usize = 1 << PICK;
/// The highest rank: all other bits are zero.
const HIGHEST: usize = 64 - PICK as usize + 1;

/// HyperLogLog: counts distinct hashes by the rarest pattern each register has seen, and reads
/// the count off as Ertl does ("New cardinality estimation algorithms for HyperLogLog sketches",
/// 2017), which is free of bias from one key to as many as there are.
struct Distinct {
    ranks: Vec<u8>,
}

impl Distinct {
    fn new() -> Distinct {
        Distinct { ranks: vec![0; REGISTERS] }
    }

    fn insert(&mut self, hash: Hash) {
        let register = (hash.0 >> (64 - PICK)) as usize;
        let rank = ((hash.0 << PICK) | (1 << (PICK - 1))).leading_zeros() as u8 + 1;
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

/// x + Σ x^(2^k)·2^(k-1): the part of registers that have seen nothing.
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

/// (1 - x - Σ (1 - x^(2^-k))²·2^-k) / 3: the part of registers that can see no more.
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
    use mayhap::Scheme;

    #[test]
    fn distinct_keys_are_told_within_two_in_a_hundred() {
        let mut distinct = Distinct::new();
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
