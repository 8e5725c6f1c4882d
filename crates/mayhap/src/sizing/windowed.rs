//! Generations under one rate: what a window costs.

use super::{BlockedShape, any_of};

/// What a forgetting filter is made of: equal generations, one of which is being forgotten.
///
/// A window of `G` generations needs `G` + 1: the newest fills while the oldest is let go. A
/// stranger is a false positive as soon as it is one of any generation, so each gets its part
/// of the rate. More generations forget more exactly: at 1% they cost, in bits for each key of
/// the window, 22.3 with one, 16.4 with four, 16.8 with sixteen; and each is one more place to
/// look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowedShape {
    /// Generations in all, the one that fills and the one that goes included.
    pub count: u32,
    /// Keys in each.
    pub capacity: u64,
    /// How each is laid out.
    pub each: BlockedShape,
}

impl WindowedShape {
    /// A window over `keys` keys in `generations` steps, at rate `fpr` over all of them.
    pub fn for_rate(keys: u64, fpr: f64, generations: u32) -> WindowedShape {
        let (count, capacity) = split(keys, generations);
        let each = BlockedShape::for_rate(capacity, fpr / f64::from(count));
        WindowedShape { count, capacity, each }
    }

    /// The best use of `bits` bits for a window over `keys` keys in `generations` steps.
    pub fn for_bits(keys: u64, bits: u64, generations: u32) -> WindowedShape {
        let (count, capacity) = split(keys, generations);
        let each = BlockedShape::for_bits(capacity, bits / u64::from(count));
        WindowedShape { count, capacity, each }
    }

    /// Bits in all generations.
    pub fn bits(&self) -> u64 {
        self.each.bits().saturating_mul(u64::from(self.count))
    }

    /// The expected rate when every generation holds `keys`.
    pub fn fpr_at(&self, keys: u64) -> f64 {
        let each = self.each.fpr_at(keys);
        any_of((0..self.count).map(|_| each))
    }
}

fn split(keys: u64, generations: u32) -> (u32, u64) {
    let generations = generations.clamp(1, u32::MAX - 1);
    (generations + 1, keys.div_ceil(u64::from(generations)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_cost_what_the_docs_say() {
        let bits = |generations| {
            let shape = WindowedShape::for_rate(1_000_000, 0.01, generations);
            shape.bits() as f64 / 1e6
        };
        for (generations, want) in [(1, 22.3), (4, 16.4), (16, 16.8)] {
            let got = bits(generations);
            assert!((got - want).abs() < 0.05, "{generations}: {got}");
        }
    }

    #[test]
    fn rates_add_up_to_the_target() {
        for generations in [1, 2, 7, 1024] {
            for fpr in [0.5, 0.01, 1e-6, 1e-12] {
                let shape = WindowedShape::for_rate(10_000, fpr, generations);
                let sum = shape.each.fpr_at(shape.capacity) * f64::from(shape.count);
                assert!(sum <= fpr, "{generations}: {sum}");
                assert!(shape.fpr_at(shape.capacity) <= fpr);
            }
        }
    }

    #[test]
    fn any_number_is_answered() {
        for keys in [0, 1, 1 << 48] {
            for generations in [0, 1, 1024] {
                assert!(WindowedShape::for_rate(keys, 0.01, generations).bits() > 0);
                assert!(WindowedShape::for_bits(keys, 0, generations).bits() > 0);
            }
        }
    }
}
