//! Exact on two lists: a first layer that lets in all included keys and a share `p` of all
//! others, then one bit for each key that comes so far, saying which list it is from.
//!
//! With ρ excluded keys for each included one, an ideal first layer takes log₂(1/p) bits for an
//! included key and an ideal second one 1 + ρ·p. The sum is least at p = 1/(ρ·ln 2), where it is
//! log₂ρ + 1.91. Of the strangers a share p comes to the second layer, which says yes to half
//! of them: to keep a rate f, p must be 2f at most.
//!
//! That is the construction of Schanck's clubcards ("Clubcards for the WebPKI", 2025). The
//! cascades of Bloom filters before them (Larisch and others, "CRLite", 2017) take
//! 1.44·(log₂ρ + 2.91) bits, and would take log₂ρ + 2.91 if their filters were ideal. Our layers
//! take one hundredth more than ideal ones. Between powers of two the size of a first layer is a
//! straight line over its rate, as that of the second is, so a power of two, or the highest rate
//! that is allowed, is always best.

use super::{BlockedShape, ExactShape, MAX_COLUMNS, RibbonShape, collision_rate};
use crate::spec::Layouts;

/// The first layer of a [`Cascade`](crate::Cascade).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FirstShape {
    /// There is none: the second layer knows all keys of both lists.
    None,
    /// A ribbon, the smallest.
    Ribbon(RibbonShape),
    /// Cache lines, the fastest.
    Blocked(BlockedShape),
}

/// The layers for two lists.
///
/// ```
/// use mayhap::sizing::{CascadeShape, cascade_bound};
/// // A million names to block, ten million that never may be blocked, 1% of all others.
/// let shape = CascadeShape::for_lists(1_000_000, 10_000_000, 0.01).unwrap();
/// let bits_a_key = shape.bits() as f64 / 1e6;
/// assert!((6.9..7.0).contains(&bits_a_key), "{bits_a_key}");
/// // What absent keys get does not matter: as small as can be.
/// let shape = CascadeShape::for_lists(1_000_000, 10_000_000, 0.5).unwrap();
/// let bits_a_key = shape.bits() as f64 / 1e6;
/// assert!((5.2..5.35).contains(&bits_a_key), "{bits_a_key}");
/// assert!(bits_a_key < 1.02 * cascade_bound(1_000_000, 10_000_000, 0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CascadeShape {
    /// Keys of the include list.
    pub included: u64,
    /// Keys of the exclude list.
    pub excluded: u64,
    /// The first layer.
    pub first: FirstShape,
}

impl CascadeShape {
    /// The smallest layers that keep the rate for absent keys. `None` where 32 columns are not
    /// enough: below 2⁻³³.
    pub fn for_lists(included: u64, excluded: u64, fpr: f64) -> Option<CascadeShape> {
        let whole = |columns| RibbonShape { keys: included, columns, wide: 0 };
        let highest = RibbonShape::for_fpr(included, 2.0 * fpr - collision_rate(included));
        let ribbons = (1..=MAX_COLUMNS).map(whole).chain(highest).map(FirstShape::Ribbon);
        let firsts = std::iter::once(FirstShape::None).chain(ribbons);
        CascadeShape::smallest(included, excluded, fpr, firsts)
    }

    /// The same with a first layer of cache lines: up to a third larger, one cache miss instead
    /// of two or three for nearly all absent keys, and rates down to 1e-12.
    pub fn blocked_for_lists(included: u64, excluded: u64, fpr: f64) -> Option<CascadeShape> {
        CascadeShape::lines_for_lists(Layouts::default(), included, excluded, fpr)
    }

    /// The same with these layouts of lines.
    pub(crate) fn lines_for_lists(
        layouts: Layouts,
        included: u64,
        excluded: u64,
        fpr: f64,
    ) -> Option<CascadeShape> {
        // The highest rate, or near the one at which ideal layers are smallest.
        let highest = (2.0 * (fpr - collision_rate(included))).clamp(1e-18, 0.5);
        let ideal = best_fpr(included, excluded);
        let near = (-6..=6).map(|step| ideal * 2f64.powf(f64::from(step) / 4.0));
        let rates = std::iter::once(highest).chain(near.filter(|rate| *rate < highest));
        let lines = |rate| BlockedShape::sized(layouts, included.max(1), rate);
        let blocked = |rate| FirstShape::Blocked(lines(rate));
        CascadeShape::smallest(included, excluded, fpr, rates.map(blocked))
    }

    fn smallest(
        included: u64,
        excluded: u64,
        fpr: f64,
        firsts: impl Iterator<Item = FirstShape>,
    ) -> Option<CascadeShape> {
        let shapes = firsts.map(|first| CascadeShape { included, excluded, first });
        shapes.filter(|shape| shape.fpr() <= 1.01 * fpr).min_by_key(CascadeShape::bits)
    }

    /// The share of strangers, and of excluded keys, that the first layer lets pass.
    pub fn first_fpr(&self) -> f64 {
        match &self.first {
            FirstShape::None => 1.0,
            FirstShape::Ribbon(shape) => shape.fpr(),
            FirstShape::Blocked(shape) => {
                (shape.fpr_at(self.included) + collision_rate(self.included)).min(1.0)
            }
        }
    }

    /// How often a key of neither list is taken for an included one.
    pub fn fpr(&self) -> f64 {
        // The second layer is a coin, but not for a stranger with the hash of an included key.
        (self.first_fpr() + collision_rate(self.included)) / 2.0
    }

    /// How many excluded keys come to the second layer, on average.
    pub fn passing(&self) -> u64 {
        (self.excluded as f64 * self.first_fpr()).round() as u64
    }

    /// The second layer.
    pub fn exact(&self) -> ExactShape {
        ExactShape { keys: self.included.saturating_add(self.passing()) }
    }

    /// Both layers in bits.
    pub fn bits(&self) -> u64 {
        let first = match &self.first {
            FirstShape::None => 0,
            FirstShape::Ribbon(shape) => shape.bits(),
            FirstShape::Blocked(shape) => shape.bits(),
        };
        first.saturating_add(self.exact().bits())
    }
}

/// What ideal layers would take, in bits for an included key: log₂(1/p) + 1 + ρ·p, where ρ is
/// the number of excluded keys for each included one, and p the best rate of a first layer that
/// keeps the rate `fpr` for strangers, min(1, 2·`fpr`, 1/(ρ·ln 2)).
pub fn cascade_bound(included: u64, excluded: u64, fpr: f64) -> f64 {
    let ratio = excluded as f64 / included.max(1) as f64;
    let passing = best_fpr(included, excluded).min(2.0 * fpr).clamp(f64::MIN_POSITIVE, 1.0);
    -passing.log2() + 1.0 + ratio * passing
}

/// The rate of an ideal first layer at which both layers together are smallest: above 1 where
/// they are smallest without it.
fn best_fpr(included: u64, excluded: u64) -> f64 {
    included.max(1) as f64 / (excluded.max(1) as f64 * std::f64::consts::LN_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits_a_key(shape: CascadeShape) -> f64 {
        shape.bits() as f64 / shape.included as f64
    }

    /// The bar for every ratio.
    #[test]
    fn size_is_near_the_bound_and_far_below_bloom_cascades() {
        for ratio in [1u64, 2, 3, 5, 10, 20, 30, 50, 77, 100, 300, 1000] {
            let (included, excluded) = (1_000_000, ratio * 1_000_000);
            let bits = bits_a_key(CascadeShape::for_lists(included, excluded, 0.5).unwrap());
            let bound = cascade_bound(included, excluded, 0.5);
            // Two excluded for one included is the worst: a rate between 50% and 1 would suit.
            let most = if ratio == 2 { 1.04 } else { 1.02 };
            assert!(bits > bound && bits < most * bound, "ratio {ratio}: {bits} of {bound}");
            let crlite = 1.44 * ((ratio as f64).log2() + 2.91);
            assert!(bits < 0.95 * crlite, "ratio {ratio}: {bits} of {crlite}");
        }
        // The same where the rate decides.
        for fpr in [0.25, 0.01, 1.0 / 128.0, 0.001, 0.5f64.powi(20)] {
            let bits = bits_a_key(CascadeShape::for_lists(1_000_000, 1_000_000, fpr).unwrap());
            let bound = cascade_bound(1_000_000, 1_000_000, fpr);
            assert!(bits > bound && bits < 1.02 * bound, "rate {fpr}: {bits} of {bound}");
        }
    }

    #[test]
    fn the_bound_is_as_published() {
        let near = |got: f64, want: f64| assert!((got - want).abs() < 0.005, "{got} for {want}");
        near(cascade_bound(1, 1 << 10, 0.5), 10.0 + 1.914);
        near(cascade_bound(1, 1, 0.5), 2.0);
        near(cascade_bound(1_000, 0, 0.01), 50f64.log2() + 1.0);
        assert!(cascade_bound(0, 0, 0.0).is_finite());
    }

    #[test]
    fn blocked_first_layers_cost_a_little_more() {
        for (excluded, fpr) in [(10_000_000, 0.5), (10_000_000, 0.01), (100_000_000, 0.001)] {
            let ribbon = bits_a_key(CascadeShape::for_lists(1_000_000, excluded, fpr).unwrap());
            let lines = CascadeShape::blocked_for_lists(1_000_000, excluded, fpr).unwrap();
            assert!(bits_a_key(lines) < 1.55 * ribbon, "{} of {ribbon}", bits_a_key(lines));
            assert!(lines.fpr() <= 1.01 * fpr);
        }
        assert!(CascadeShape::for_lists(1_000, 1_000, 1e-12).is_none());
        let tight = CascadeShape::blocked_for_lists(1_000, 1_000, 1e-12).unwrap();
        assert!(tight.fpr() <= 1.01e-12);
    }

    #[test]
    fn extremes_are_answered() {
        for included in [0, 1, 2, 1 << 30, 1 << 48, u64::MAX] {
            for excluded in [0, 1, 1 << 40, u64::MAX] {
                for fpr in [0.999, 0.01, 1e-9, f64::NAN] {
                    let fuse = CascadeShape::for_lists(included, excluded, fpr);
                    let lines = CascadeShape::blocked_for_lists(included, excluded, fpr);
                    for shape in fuse.into_iter().chain(lines) {
                        assert!(shape.bits() > 0 && shape.passing() <= excluded);
                    }
                }
            }
        }
    }
}
