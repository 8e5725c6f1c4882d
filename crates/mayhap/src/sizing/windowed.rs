//! Generations under one rate: what a window costs.

use super::plan::Sizing;
use super::{BlockedShape, any_of_equal};
use crate::filter::{KindSpec, Window};
use crate::spec::{Layouts, Spec, SpecError};

/// What a forgetting filter is made of: equal generations, one of which is being forgotten.
///
/// A window of `G` generations needs `G` + 1: the newest fills while the oldest expires. A key is a
/// false positive of the window if it is one of any generation, so each generation gets a share
/// of the rate. More generations forget more exactly: at 1% they cost, in bits per key of
/// the window, 22.3 with one, 16.4 with four, 16.8 with sixteen; and each is one more lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WindowedShape {
    /// Generations in all, including the one that fills and the one that expires.
    pub count: u32,
    /// Keys in each.
    pub capacity: u64,
    /// How each is laid out.
    pub each: BlockedShape,
}

/// How much more than its share of the window's keys a generation of time holds before it needs
/// another layer: a twentieth. Keys that come evenly do not come exactly so.
const MARGIN: u64 = 20;
/// The part of its rate that the first layer of such a generation takes: the rest is for bursts.
const FIRST: f64 = 0.95;

impl WindowedShape {
    /// A window over the keys of a time, `keys` at the most, in `generations` steps, at rate `fpr`
    /// over all of them.
    ///
    /// Keys may all come in one step, so a generation grows by layers when it must, as
    /// [`growth`](WindowedShape::growth) says; this is what it is before, and all it ever is where
    /// keys come evenly. Costs about 6% more than a window of as many keys.
    pub fn for_time(keys: u64, fpr: f64, generations: u32) -> WindowedShape {
        WindowedShape::sized_for_time(Layouts::default(), keys, fpr, generations)
    }

    fn sized_for_time(layouts: Layouts, keys: u64, fpr: f64, generations: u32) -> WindowedShape {
        let (count, share) = split(keys, generations);
        let capacity = share.saturating_add(share.div_ceil(MARGIN));
        let each = BlockedShape::sized(layouts, capacity, FIRST * fpr / f64::from(count));
        WindowedShape { count, capacity, each }
    }

    /// What a new layer multiplies the capacity of a generation of time by: so that two of them
    /// hold all keys of the window, should they come at once.
    pub fn growth(generations: u32) -> u32 {
        (2..).find(|growth: &u32| growth.saturating_mul(*growth) >= generations).unwrap_or(2)
    }

    /// A window over `keys` keys in `generations` steps, at rate `fpr` over all of them.
    pub fn for_fpr(keys: u64, fpr: f64, generations: u32) -> WindowedShape {
        WindowedShape::sized(Layouts::default(), keys, fpr, generations)
    }

    fn sized(layouts: Layouts, keys: u64, fpr: f64, generations: u32) -> WindowedShape {
        let (count, capacity) = split(keys, generations);
        let each = BlockedShape::sized(layouts, capacity, fpr / f64::from(count));
        WindowedShape { count, capacity, each }
    }

    /// The generations of a filter with this spec and window whose bits take `fpr` of its rate.
    pub(crate) fn for_window(spec: &Spec, fpr: f64, window: Window) -> WindowedShape {
        let (layouts, keys, generations) = (spec.layouts(), spec.capacity(), window.generations());
        match window.ticks() {
            Some(_) => WindowedShape::sized_for_time(layouts, keys, fpr, generations),
            None => WindowedShape::sized(layouts, keys, fpr, generations),
        }
    }

    /// The best use of `bits` bits for a window over `keys` keys in `generations` steps.
    pub fn for_bits(keys: u64, bits: u64, generations: u32) -> WindowedShape {
        WindowedShape::laid_out(Layouts::default(), keys, bits, generations)
    }

    fn laid_out(layouts: Layouts, keys: u64, bits: u64, generations: u32) -> WindowedShape {
        let (count, capacity) = split(keys, generations);
        let each = BlockedShape::in_bits(layouts, capacity, bits / u64::from(count));
        WindowedShape { count, capacity, each }
    }

    /// Bits in all generations.
    pub fn bits(&self) -> u64 {
        self.each.bits().saturating_mul(u64::from(self.count))
    }

    /// The expected rate when every generation holds `keys`.
    pub fn fpr_at(&self, keys: u64) -> f64 {
        any_of_equal(self.each.fpr_at(keys), self.count)
    }
}

fn split(keys: u64, generations: u32) -> (u32, u64) {
    let generations = generations.clamp(1, u32::MAX - 1);
    (generations + 1, keys.div_ceil(u64::from(generations)).max(1))
}

impl Sizing for WindowedShape {
    fn for_spec(kind: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        Ok(WindowedShape::for_window(spec, spec.fpr_of_bits(), window(kind)))
    }

    fn in_bits(kind: &KindSpec, keys: u64, bits: u64) -> Option<Self> {
        Some(WindowedShape::for_bits(keys, bits, window(kind).generations()))
    }

    fn bits(&self, _: u64) -> u64 {
        self.bits()
    }

    fn probes(&self) -> u32 {
        self.count.saturating_mul(self.each.probes())
    }

    fn lines(&self) -> u32 {
        self.count.saturating_mul(self.each.lines())
    }

    fn bits_fpr(&self, keys: u64) -> f64 {
        self.fpr_at(keys.div_ceil(u64::from(self.count.max(2) - 1)))
    }
}

fn window(kind: &KindSpec) -> Window {
    match *kind {
        KindSpec::Windowed(window) => window,
        _ => Window::last_keys(KindSpec::GENERATIONS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_cost_what_the_docs_say() {
        let bits = |generations| {
            let shape = WindowedShape::for_fpr(1_000_000, 0.01, generations);
            shape.bits() as f64 / 1e6
        };
        for (generations, want) in [(1, 22.3), (4, 16.4), (16, 16.8)] {
            let got = bits(generations);
            assert!((got - want).abs() < 0.05, "{generations}: {got}");
        }
    }

    #[test]
    fn room_for_bursts_costs_less_than_a_tenth() {
        for generations in [1, 4, 10, 16, 100] {
            for fpr in [0.5, 0.1, 0.01, 1e-3, 1e-6, 1e-9] {
                let even = WindowedShape::for_fpr(1_000_000, fpr, generations).bits() as f64;
                let timed = WindowedShape::for_time(1_000_000, fpr, generations).bits() as f64;
                assert!((1.03..1.1).contains(&(timed / even)), "{generations} {fpr}: {timed}");
            }
        }
    }

    #[test]
    fn two_layers_more_hold_the_whole_window() {
        for generations in [1, 2, 3, 4, 5, 9, 10, 100, 1023, 1024] {
            let growth = u64::from(WindowedShape::growth(generations));
            assert!((2..=32).contains(&growth));
            let first = WindowedShape::for_time(1 << 30, 0.01, generations).capacity;
            assert!(first * growth * growth >= 1 << 30, "{generations}");
        }
    }

    #[test]
    fn rates_add_up_to_the_target() {
        for generations in [1, 2, 7, 1024] {
            for fpr in [0.5, 0.01, 1e-6, 1e-12] {
                let shape = WindowedShape::for_fpr(10_000, fpr, generations);
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
                assert!(WindowedShape::for_fpr(keys, 0.01, generations).bits() > 0);
                assert!(WindowedShape::for_bits(keys, 0, generations).bits() > 0);
            }
        }
    }
}
