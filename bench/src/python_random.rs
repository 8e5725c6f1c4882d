//! Python's `random.Random(seed)`, so that generated files are the same bytes whichever of the two
//! programs wrote them.

use rand_mt::Mt;

/// The generator behind `random.Random`.
pub struct PythonRandom(Mt);

impl PythonRandom {
    /// `random.Random(seed)` for a non-negative seed: the key is its 32-bit digits.
    pub fn new(seed: u64) -> PythonRandom {
        let digits = [seed as u32, (seed >> 32) as u32];
        let digits = if digits[1] == 0 { &digits[..1] } else { &digits[..] };
        PythonRandom(Mt::new_with_key(digits.iter().copied()))
    }

    /// `random()`: 53 bits, from 0 to below 1.
    pub fn random(&mut self) -> f64 {
        let (high, low) = (self.0.next_u32() >> 5, self.0.next_u32() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) * (1.0 / 9_007_199_254_740_992.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by CPython: `r = random.Random(seed); r.random(), r.random()`.
    #[test]
    fn same_numbers_as_python() {
        let first_two = |seed| {
            let mut r = PythonRandom::new(seed);
            [r.random(), r.random()]
        };
        assert_eq!(first_two(PY_SMALL.0), PY_SMALL.1);
        assert_eq!(first_two(PY_LARGE.0), PY_LARGE.1);
    }

    const PY_SMALL: (u64, [f64; 2]) = (20_261_115, [0.30083737541245636, 0.47569455729687127]);
    const PY_LARGE: (u64, [f64; 2]) =
        (0x1234_5678_9abc_def0, [0.849063363578306, 0.9649343632780897]);
}
