//! Growing by layers under one rate.
//!
//! A key is a false positive of the whole if it is one of any layer, so the rates
//! add up, and their sum must stay below the target however often the filter grows. The first
//! layer takes a quarter of the target, and each later one a fifth of what is then left. Nothing
//! is ever overspent, and no layer needs to know how many are to come.
//!
//! Each layer multiplies the total capacity, so most keys are in the newest layer and its rate
//! decides the bits a key. A quarter and a fifth are chosen for 1% and a growth factor of 4:
//!
//! | | bits per key |
//! |---|---|
//! | never grew | 12.6 |
//! | grown from 1000 keys to 4000, to 16 000 | 13.7, 14.1 |
//! | grown from 1000 keys to a million | 15.9 |
//! | grown from 1000 keys to a thousand million | 18.0 |
//!
//! A third first would save 0.6 bits where nothing grows and cost 0.3 where things do; to leave
//! 0.75 or 0.85 instead of 0.8 costs 0.03 or 0.15 bits at a million.

use super::plan::Sizing;
use super::{BlockedShape, collision_rate};
use crate::filter::KindSpec;
use crate::spec::{Layouts, MAX_CAPACITY, Spec, SpecError};

/// The part of the target that the first layer takes.
const FIRST: f64 = 0.25;
/// The part of what is left that each later layer takes.
const LATER: f64 = 0.2;
/// However little is left (only layers put together by hand can spend it all), a layer needs
/// some rate.
const LEAST: f64 = 1e-6;

/// One layer of a growing filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layer {
    /// The keys it takes before the next one comes.
    pub capacity: u64,
    /// Its layout.
    pub shape: BlockedShape,
}

impl Layer {
    /// The first layer of a filter with this target.
    pub fn first(capacity: u64, fpr: f64) -> Layer {
        Layer::first_of(Layouts::default(), capacity, fpr)
    }

    /// The first layer of a filter with this spec.
    pub(crate) fn first_for(spec: &Spec) -> Layer {
        Layer::first_of(spec.layouts(), spec.capacity(), spec.fpr())
    }

    fn first_of(layouts: Layouts, capacity: u64, fpr: f64) -> Layer {
        let capacity = capacity.min(MAX_CAPACITY);
        let left = fpr - collision_rate(capacity);
        Layer { capacity, shape: BlockedShape::sized(layouts, capacity, FIRST * left) }
    }

    /// The layer after those that hold `total` keys and spend `spent` of the target `fpr`: it
    /// brings the total to `growth` times as many, at a fifth of what is left to spend.
    ///
    /// `None` where the end is reached: 2⁴⁸ keys, or so many that 64-bit hashes alone would take
    /// half of the rate that is left. The last layer before the end is cut to fit.
    pub fn next(fpr: f64, growth: u32, total: u64, spent: f64) -> Option<Layer> {
        Layer::next_within(Layouts::default(), fpr, growth, total, spent, u64::MAX)
    }

    /// The same of a filter with this spec.
    pub(crate) fn next_for(spec: &Spec, growth: u32, total: u64, spent: f64) -> Option<Layer> {
        Layer::next_within(spec.layouts(), spec.fpr(), growth, total, spent, u64::MAX)
    }

    /// The same where there are never more than `most` keys.
    pub(crate) fn next_within(
        layouts: Layouts,
        fpr: f64,
        growth: u32,
        total: u64,
        spent: f64,
        most: u64,
    ) -> Option<Layer> {
        let wanted = total.saturating_mul(u64::from(growth.saturating_sub(1)));
        let left = (fpr - spent).max(LEAST * fpr);
        let capacity = wanted.min(most_keys(fpr, left).min(most).saturating_sub(total));
        if capacity == 0 {
            return None;
        }
        let left = (left - collision_rate(total.saturating_add(capacity))).max(LEAST * fpr);
        Some(Layer { capacity, shape: BlockedShape::sized(layouts, capacity, LATER * left) })
    }

    /// The expected rate when the layer is full.
    pub fn fpr(&self) -> f64 {
        self.shape.fpr_at(self.capacity)
    }
}

/// The most keys whose hashes alone collide at no more than half of the rate that is left, or a hundredth
/// of the target.
fn most_keys(fpr: f64, left: f64) -> u64 {
    let collisions = (left / 2.0).max(fpr / 100.0);
    ((collisions * 2f64.powi(64)) as u64).min(MAX_CAPACITY)
}

/// What a growing filter is made of.
///
/// ```
/// use mayhap::sizing::ScalableShape;
/// let shape = ScalableShape::new(1000, 0.01, 4);
/// let capacities = shape.layers().map(|layer| layer.capacity);
/// assert!(capacities.take(4).eq([1000, 3000, 12_000, 48_000]));
/// assert!(shape.bits_at(1_000_000) <= 16_000_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScalableShape {
    /// Keys in the first layer.
    pub capacity: u64,
    /// The rate that all layers together stay below.
    pub fpr: f64,
    /// What each new layer multiplies the total capacity by.
    pub growth: u32,
    layouts: Layouts,
}

impl ScalableShape {
    /// A first layer of this capacity, all layers together at this rate, growing by this factor.
    pub const fn new(capacity: u64, fpr: f64, growth: u32) -> ScalableShape {
        ScalableShape { capacity, fpr, growth, layouts: Layouts::Scattered }
    }

    /// The lowest target that `keys` keys can have in `bits` bits, in a filter that starts with
    /// `capacity` of them. `None` where even the highest takes more.
    pub fn for_bits(capacity: u64, growth: u32, keys: u64, bits: u64) -> Option<ScalableShape> {
        ScalableShape::laid_out(Layouts::default(), capacity, growth, keys, bits)
    }

    fn laid_out(
        layouts: Layouts,
        capacity: u64,
        growth: u32,
        keys: u64,
        bits: u64,
    ) -> Option<ScalableShape> {
        let shape =
            |exponent: f64| ScalableShape { capacity, fpr: exponent.exp2(), growth, layouts };
        let fits = |exponent: f64| shape(exponent).bits_at(keys) <= bits;
        let (mut low, mut high) = (-40.0, -0.01);
        if !fits(high) {
            return None;
        }
        // A thousandth of a bit is finer than a line in all but the smallest filters.
        while high - low > 1e-3 {
            let middle = (low + high) / 2.0;
            if fits(middle) { high = middle } else { low = middle }
        }
        Some(shape(high))
    }

    /// The layers, oldest first, to the last that can be.
    pub fn layers(&self) -> impl Iterator<Item = Layer> {
        let ScalableShape { capacity, fpr, growth, layouts } = *self;
        let first = Layer::first_of(layouts, capacity, fpr);
        let so_far = (first, capacity, first.fpr());
        let grown = std::iter::successors(Some(so_far), move |&(_, total, spent)| {
            let next = Layer::next_within(layouts, fpr, growth, total, spent, u64::MAX)?;
            Some((next, total.saturating_add(next.capacity), spent + next.fpr()))
        });
        grown.map(|(layer, ..)| layer)
    }

    /// The layers that `keys` keys need, oldest first, and how many each holds. Past the end the
    /// last holds more than its capacity.
    pub fn loads_at(&self, keys: u64) -> impl Iterator<Item = (Layer, u64)> {
        let mut layers = self.layers().peekable();
        let mut rest = Some(keys);
        std::iter::from_fn(move || {
            let (layer, keys) = (layers.next()?, rest?);
            let is_last = keys <= layer.capacity || layers.peek().is_none();
            let load = if is_last { keys } else { layer.capacity };
            rest = (!is_last).then_some(keys - load);
            Some((layer, load))
        })
    }

    /// Bits in all the layers that `keys` keys need.
    pub fn bits_at(&self, keys: u64) -> u64 {
        let bits = self.loads_at(keys).map(|(layer, _)| layer.shape.bits());
        bits.fold(0, u64::saturating_add)
    }

    /// The expected rate, over all layers, when `keys` are in.
    pub fn fpr_at(&self, keys: u64) -> f64 {
        any_of(self.loads_at(keys).map(|(layer, load)| layer.shape.fpr_at(load)))
    }
}

/// The chance that any of several independent things happens, exact for small chances too.
pub(crate) fn any_of(chances: impl Iterator<Item = f64>) -> f64 {
    let none: f64 = chances.map(|chance| (-chance).ln_1p()).sum();
    // Not below zero, nor −0: an empty sum is −0.
    (-none.exp_m1()).max(0.0) + 0.0
}

/// The same for `count` things of one chance, however many.
pub(crate) fn any_of_equal(chance: f64, count: u32) -> f64 {
    let none = f64::from(count) * (-chance).ln_1p();
    (-none.exp_m1()).max(0.0) + 0.0
}

impl Sizing for ScalableShape {
    fn for_spec(kind: &KindSpec, spec: &Spec) -> Result<Self, SpecError> {
        // Layers leave room for collisions of hashes themselves.
        let (capacity, fpr) = (spec.capacity(), spec.fpr());
        Ok(ScalableShape { capacity, fpr, growth: growth(kind), layouts: spec.layouts() })
    }

    fn in_bits(kind: &KindSpec, keys: u64, bits: u64) -> Option<Self> {
        ScalableShape::for_bits(keys, growth(kind), keys, bits)
    }

    fn bits(&self, keys: u64) -> u64 {
        self.bits_at(keys)
    }

    fn probes(&self) -> u32 {
        self.layers().next().map_or(0, |layer| layer.shape.probes())
    }

    fn lines(&self) -> u32 {
        self.layers().next().map_or(0, |layer| layer.shape.lines())
    }

    fn bits_fpr(&self, keys: u64) -> f64 {
        self.fpr_at(keys)
    }

    fn spec_fpr(&self) -> Option<f64> {
        Some(self.fpr)
    }
}

fn growth(kind: &KindSpec) -> u32 {
    match *kind {
        KindSpec::Scalable { growth } => growth,
        _ => KindSpec::GROWTH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits_a_key(capacity: u64, keys: u64) -> f64 {
        ScalableShape::new(capacity, 0.01, 4).bits_at(keys) as f64 / keys as f64
    }

    #[test]
    fn growth_a_thousandfold_costs_less_than_16_bits_a_key() {
        let grown = bits_a_key(1000, 1_000_000);
        assert!((15.8..16.0).contains(&grown), "{grown}");
        let never = bits_a_key(1_000_000, 1_000_000);
        assert!((12.5..12.7).contains(&never), "{never}");
    }

    #[test]
    fn rates_never_add_up_to_more_than_the_target() {
        for (capacity, fpr) in [(1, 0.9), (1, 0.01), (1000, 0.01), (7, 1e-6), (1, 1e-12)] {
            for growth in [2, 3, 4, 1024] {
                let shape = ScalableShape::new(capacity, fpr, growth);
                let bits: f64 = shape.layers().map(|layer| layer.fpr()).sum();
                let keys: u64 = shape.layers().map(|layer| layer.capacity).sum();
                let count = shape.layers().count();
                let sum = bits + collision_rate(keys);
                assert!(sum <= 1.01 * fpr, "{shape:?}: {sum}");
                assert!((2..=49).contains(&count), "{shape:?}: {count}");
            }
        }
    }

    #[test]
    fn the_last_layers_end_where_the_hash_does() {
        let total = |fpr| {
            let shape = ScalableShape::new(1000, fpr, 4);
            shape.layers().map(|layer| layer.capacity).sum::<u64>()
        };
        assert_eq!(total(0.01), MAX_CAPACITY);
        let share = collision_rate(total(1e-12)) / 1e-12;
        assert!((0.01..0.5).contains(&share), "{share}");
    }

    #[test]
    fn memory_given_is_memory_used() {
        let shape = ScalableShape::for_bits(1000, 4, 1_000_000, 16_000_000).unwrap();
        assert!((0.009..0.01).contains(&shape.fpr), "{shape:?}");
        assert!(shape.bits_at(1_000_000) <= 16_000_000);
        assert_eq!(ScalableShape::for_bits(1000, 4, 1_000_000, 1000), None);
    }

    #[test]
    fn any_number_is_answered() {
        for capacity in [0, 1, u64::MAX] {
            for growth in [0, 1, 2, u32::MAX] {
                let shape = ScalableShape::new(capacity, 0.01, growth);
                for keys in [0, 1, u64::MAX] {
                    assert!((0.0..=1.0).contains(&shape.fpr_at(keys)));
                    assert!(shape.bits_at(keys) > 0);
                }
            }
        }
    }

    #[test]
    fn small_chances_add_up() {
        assert_eq!(any_of([].into_iter()), 0.0);
        assert!((any_of([1e-13, 2e-13].into_iter()) / 3e-13 - 1.0).abs() < 1e-9);
        assert_eq!(any_of([0.5, 1.0].into_iter()), 1.0);
    }
}
