//! MT19937 as Python's `random.Random(seed)` runs it, so that generated files are the same bytes
//! whichever of the two programs wrote them.

const WORDS: usize = 624;
const SHIFT: usize = 397;

/// The generator behind `random.Random`.
pub struct Mersenne {
    state: [u32; WORDS],
    at: usize,
}

impl Mersenne {
    /// `random.Random(seed)` for a non-negative seed: `init_by_array` of its 32-bit digits.
    pub fn new(seed: u64) -> Mersenne {
        let digits = [seed as u32, (seed >> 32) as u32];
        let digits = if digits[1] == 0 { &digits[..1] } else { &digits[..] };
        let mut state = [0u32; WORDS];
        state[0] = 19_650_218;
        for i in 1..WORDS {
            state[i] = spread(state[i - 1], 1_812_433_253).wrapping_add(i as u32);
        }
        let mut i = 1;
        for step in 0..WORDS.max(digits.len()) {
            let j = step % digits.len();
            state[i] = (state[i] ^ spread(state[i - 1], 1_664_525))
                .wrapping_add(digits[j])
                .wrapping_add(j as u32);
            i = advance(&mut state, i);
        }
        for _ in 1..WORDS {
            state[i] = (state[i] ^ spread(state[i - 1], 1_566_083_941)).wrapping_sub(i as u32);
            i = advance(&mut state, i);
        }
        state[0] = 0x8000_0000;
        Mersenne { state, at: WORDS }
    }

    /// `random()`: 53 bits, from 0 to below 1.
    pub fn random(&mut self) -> f64 {
        let (high, low) = (self.next() >> 5, self.next() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) * (1.0 / 9_007_199_254_740_992.0)
    }

    fn next(&mut self) -> u32 {
        if self.at == WORDS {
            self.twist();
        }
        let mut y = self.state[self.at];
        self.at += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn twist(&mut self) {
        for i in 0..WORDS {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % WORDS] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + SHIFT) % WORDS] ^ (y >> 1) ^ odd;
        }
        self.at = 0;
    }
}

fn spread(word: u32, by: u32) -> u32 {
    (word ^ (word >> 30)).wrapping_mul(by)
}

/// The next place while seeding; past the end the last word becomes the first.
fn advance(state: &mut [u32; WORDS], i: usize) -> usize {
    if i + 1 < WORDS {
        return i + 1;
    }
    state[0] = state[WORDS - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by CPython: `r = random.Random(seed); r.random(), r.random()`.
    #[test]
    fn same_numbers_as_python() {
        let first_two = |seed| {
            let mut r = Mersenne::new(seed);
            [r.random(), r.random()]
        };
        assert_eq!(first_two(PY_SMALL.0), PY_SMALL.1);
        assert_eq!(first_two(PY_LARGE.0), PY_LARGE.1);
    }

    const PY_SMALL: (u64, [f64; 2]) = (20_261_115, [0.30083737541245636, 0.47569455729687127]);
    const PY_LARGE: (u64, [f64; 2]) =
        (0x1234_5678_9abc_def0, [0.849063363578306, 0.9649343632780897]);
}
