//! Any missing one of keys, rate and memory, for every kind.

use super::collision_rate;
use crate::filter::{Kind, KindSpec, for_each_kind};
use crate::spec::{MAX_CAPACITY, MIN_FPR, Spec, SpecError};

/// How the memory of a kind follows from keys and rate: what a plan asks of every kind.
pub(crate) trait Sizing: Copy {
    /// For the keys and rate of a spec.
    fn for_spec(kind: &KindSpec, spec: &Spec) -> Result<Self, SpecError>;
    /// The best for these keys in this much memory; `None` where there is none.
    fn in_bits(kind: &KindSpec, keys: u64, bits: u64) -> Option<Self>;
    /// All memory, with this many keys in.
    fn bits(&self, keys: u64) -> u64;
    /// Positions looked at for a key that is in: bits, counters or fingerprints.
    fn probes(&self) -> u32;
    /// Cache lines touched for a key that is in, at the most.
    fn lines(&self) -> u32;
    /// The rate with this many keys in.
    fn bits_fpr(&self, keys: u64) -> f64;
    /// The rate to ask for to get this shape, where it is not the one of the plan: a kind that
    /// grows is asked for all that it grows to.
    fn spec_fpr(&self) -> Option<f64> {
        None
    }
}

/// The sizing of a kind whose size depends on more than the number of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unplanned {}

const UNPLANNED: &str =
    "cannot be planned from a number of keys: its size depends on which they are";

impl Sizing for Unplanned {
    fn for_spec(kind: &KindSpec, _: &Spec) -> Result<Self, SpecError> {
        Err(SpecError::Kind { kind: kind.kind(), what: UNPLANNED })
    }

    fn in_bits(_: &KindSpec, _: u64, _: u64) -> Option<Self> {
        None
    }

    fn bits(&self, _: u64) -> u64 {
        match *self {}
    }

    fn probes(&self) -> u32 {
        match *self {}
    }

    fn lines(&self) -> u32 {
        match *self {}
    }

    fn bits_fpr(&self, _: u64) -> f64 {
        match *self {}
    }
}

macro_rules! define_shape {
    (
        in_place { $($Kind:ident = $id:literal $name:literal [$($param:ty,)*] $Shape:ident, {$traits:expr} $about:literal;)* }
        copied { $($Copied:ident = $copied_id:literal $copied_name:literal $feature:literal, {$copied_traits:expr} $copied_about:literal;)* }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Shape {
            $($Kind(super::$Shape),)*
        }

        /// The same expression for the shape of every kind.
        macro_rules! each {
            ($any:expr, $shape:ident => $does:expr) => {
                match $any {
                    $(Shape::$Kind($shape) => $does,)*
                }
            };
        }

        impl Shape {
            fn for_spec(kind: &KindSpec, spec: &Spec) -> Result<Shape, SpecError> {
                match kind.kind() {
                    $(Kind::$Kind => Sizing::for_spec(kind, spec).map(Shape::$Kind),)*
                    $(kind @ Kind::$Copied => Err(SpecError::Kind { kind, what: UNPLANNED }),)*
                }
            }

            fn in_bits(kind: &KindSpec, keys: u64, bits: u64) -> Option<Shape> {
                match kind.kind() {
                    $(Kind::$Kind => Sizing::in_bits(kind, keys, bits).map(Shape::$Kind),)*
                    $(Kind::$Copied => None,)*
                }
            }
        }
    };
}

for_each_kind!(define_shape);

/// How large a filter is, how often it errs, and what a lookup costs: before it is made.
///
/// ```
/// use mayhap::KindSpec;
/// use mayhap::sizing::Plan;
/// // Two billion keys at 1%:
/// let plan = Plan::for_fpr(KindSpec::Blocked, 2_000_000_000, 0.01)?;
/// assert_eq!(plan.bytes() / 1_000_000, 2_479); // megabytes
/// // The same keys in 500 MB:
/// let plan = Plan::for_memory(KindSpec::Classic, 2_000_000_000, 500_000_000)?;
/// assert_eq!((plan.probes(), (plan.fpr() * 1000.0).round()), (1, 393.0)); // 39.3%
/// // And 1% in 500 MB is good for:
/// let plan = Plan::for_keys(KindSpec::Fuse, 0.01, 500_000_000)?;
/// assert_eq!(plan.keys() / 1_000_000, 504); // million keys
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    kind: KindSpec,
    keys: u64,
    shape: Shape,
}

impl Plan {
    /// The memory that `keys` at rate `fpr` need.
    pub fn for_fpr(kind: KindSpec, keys: u64, fpr: f64) -> Result<Plan, SpecError> {
        let spec = planned(keys, fpr)?;
        Ok(Plan { kind, keys, shape: Shape::for_spec(&kind, &spec)? })
    }

    /// The best rate for `keys` in `bytes` of memory.
    pub fn for_memory(kind: KindSpec, keys: u64, bytes: u64) -> Result<Plan, SpecError> {
        // A kind that cannot be planned says so.
        Plan::for_fpr(kind, keys, 0.5)?;
        let shape = Shape::in_bits(&kind, keys, bytes.saturating_mul(8));
        let plan = shape.map(|shape| Plan { kind, keys, shape });
        plan.filter(|plan| plan.bytes() <= bytes).ok_or(SpecError::TooSmall { bytes })
    }

    /// The most keys that `bytes` of memory hold at rate `fpr`.
    pub fn for_keys(kind: KindSpec, fpr: f64, bytes: u64) -> Result<Plan, SpecError> {
        let mut best = Plan::for_fpr(kind, 1, fpr)?;
        if best.bytes() > bytes {
            return Err(SpecError::TooSmall { bytes });
        }
        let (mut fits, mut too_many) = (1, MAX_CAPACITY + 1);
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            // Past what 64-bit hashes can tell apart there is no plan at any size.
            match Plan::for_fpr(kind, middle, fpr) {
                Ok(plan) if plan.bytes() <= bytes => (fits, best) = (middle, plan),
                _ => too_many = middle,
            }
        }
        Ok(best)
    }

    /// What was planned.
    pub fn kind(&self) -> KindSpec {
        self.kind
    }

    /// The keys it is planned for.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The memory of the arrays.
    pub fn bytes(&self) -> u64 {
        each!(&self.shape, shape => Sizing::bits(shape, self.keys)).div_ceil(8)
    }

    /// Bits per key, all memory counted.
    pub fn bits_per_key(&self) -> f64 {
        self.bytes() as f64 * 8.0 / self.keys as f64
    }

    /// Positions looked at for a key that is in: bits, counters or fingerprints.
    pub fn probes(&self) -> u32 {
        each!(&self.shape, shape => Sizing::probes(shape))
    }

    /// Cache lines touched for a key that is in, at the most.
    pub fn lines(&self) -> u32 {
        each!(&self.shape, shape => Sizing::lines(shape))
    }

    /// The rate with all planned keys in.
    pub fn fpr(&self) -> f64 {
        self.fpr_at(self.keys)
    }

    /// The rate with `keys` in, also past what was planned. A `Fuse` or `Ribbon` holds just what it
    /// was built from, so its rate is always the same; a `Scalable` grows and keeps its rate.
    pub fn fpr_at(&self, keys: u64) -> f64 {
        (each!(&self.shape, shape => Sizing::bits_fpr(shape, keys)) + collision_rate(keys)).min(1.0)
    }
}

/// A plan for no keys is a slip, where a filter for none is just empty.
fn planned(keys: u64, fpr: f64) -> Result<Spec, SpecError> {
    if keys == 0 {
        return Err(SpecError::Capacity { got: 0 });
    }
    Spec::new(keys, fpr)
}

/// The rate to ask for so that a filter for `keys` takes at most `bytes`: what
/// [`Plan::for_memory`] finds, as a [`Spec`] of that rate makes it.
///
/// ```
/// use mayhap::sizing::{Plan, rate_in};
/// use mayhap::{Kind, KindSpec};
/// for kind in [Kind::Blocked, Kind::Scalable, Kind::Windowed, Kind::Ribbon].map(KindSpec::of) {
///     let fpr = rate_in(kind, 1_000_000, 2_000_000)?;
///     assert!(Plan::for_fpr(kind, 1_000_000, fpr)?.bytes() <= 2_020_000, "{kind:?}");
/// }
/// # Ok::<(), mayhap::SpecError>(())
/// ```
pub fn rate_in(kind: KindSpec, keys: u64, bytes: u64) -> Result<f64, SpecError> {
    let plan = Plan::for_memory(kind, keys, bytes)?;
    let asked = each!(&plan.shape, shape => Sizing::spec_fpr(shape));
    // With more memory than keys can use: the lowest rate there is.
    let mut fpr = asked.unwrap_or(plan.fpr()).max(MIN_FPR).max(2.0 * collision_rate(keys));
    if matches!(kind, KindSpec::Windowed(_) | KindSpec::Scalable { .. }) {
        // These are laid out by rate alone, in whole lines: a little more rate, until they fit.
        while fpr < 0.99 && Plan::for_fpr(kind, keys, fpr)?.bytes() > bytes {
            fpr *= 1.01;
        }
    }
    Spec::new(keys, fpr).map(|spec| spec.fpr())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds that can be planned, as they usually are.
    fn planned() -> impl Iterator<Item = KindSpec> {
        let unplanned = [Kind::Bitmap, Kind::Cascade];
        Kind::ALL.iter().filter(move |kind| !unplanned.contains(kind)).map(|kind| (*kind).into())
    }

    #[test]
    fn any_two_give_the_third() -> Result<(), SpecError> {
        for kind in planned() {
            for (keys, fpr) in [(1_000, 0.05), (1_000_000, 0.01), (300_000_000, 1e-4)] {
                if keys == 1_000 && matches!(kind, KindSpec::Sharded { .. }) {
                    continue; // a piece for 15 keys has room for dozens: it has whole lines
                }
                let plan = Plan::for_fpr(kind, keys, fpr)?;
                assert!(plan.fpr() <= 1.011 * fpr, "{kind:?}: {} for {fpr}", plan.fpr());
                let back = Plan::for_memory(kind, keys, plan.bytes())?;
                assert!(back.bytes() <= plan.bytes(), "{kind:?}");
                assert!(back.fpr() <= 1.06 * fpr, "{kind:?}: {} for {fpr}", back.fpr());
                let back = Plan::for_keys(kind, fpr, plan.bytes())?;
                let off = back.keys() as f64 / keys as f64;
                // Fuse fingerprints are whole bits, arrays are whole lines.
                assert!((0.999..1.1).contains(&off), "{kind:?}: {} for {keys}", back.keys());
            }
        }
        Ok(())
    }

    /// Also where hashes alone take a part of the rate, 5% of it here.
    #[test]
    fn what_is_planned_is_what_is_built() -> Result<(), SpecError> {
        use crate::AnyFilter;
        for kind in [Kind::Classic, Kind::Blocked, Kind::Counting, Kind::Scalable, Kind::Windowed] {
            for (keys, fpr) in [(1_000, 0.01), (100_000, 1e-6), (1_000_000, 1e-12)] {
                let kind = KindSpec::of(kind);
                let plan = Plan::for_fpr(kind, keys, fpr)?;
                let built = AnyFilter::create(&kind, Spec::new(keys, fpr)?)?;
                assert_eq!(built.bytes(), plan.bytes(), "{kind:?} for {keys} keys at {fpr}");
                assert!(plan.fpr() <= 1.02 * fpr, "{kind:?}: {} for {fpr}", plan.fpr());
            }
        }
        Ok(())
    }

    #[test]
    fn rates_climb_past_capacity() -> Result<(), SpecError> {
        for kind in [KindSpec::Classic, KindSpec::Blocked, KindSpec::Counting] {
            let plan = Plan::for_fpr(kind, 1_000_000, 0.01)?;
            let rates = [0, 500_000, 1_000_000, 2_000_000, 4_000_000].map(|keys| plan.fpr_at(keys));
            assert!(rates.is_sorted() && rates[0] < 1e-9 && rates[4] > 0.5, "{rates:?}");
            assert!(plan.fpr_at(u64::MAX) > 0.999);
        }
        Ok(())
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for kind in planned() {
            assert!(Plan::for_fpr(kind, 0, 0.01).is_err());
            assert!(Plan::for_fpr(kind, 10, f64::NAN).is_err());
            assert!(Plan::for_memory(kind, 10, 0).is_err(), "{kind:?}");
            assert!(Plan::for_keys(kind, 0.01, 0).is_err(), "{kind:?}");
            assert!(Plan::for_keys(kind, 2.0, 1000).is_err());
            // However absurd, an answer or an error, and soon.
            _ = Plan::for_memory(kind, MAX_CAPACITY, u64::MAX);
            _ = Plan::for_memory(kind, MAX_CAPACITY, 1);
            _ = Plan::for_keys(kind, 1e-12, u64::MAX);
            _ = Plan::for_keys(kind, 0.9, u64::MAX);
        }
        for kind in [Kind::Bitmap, Kind::Cascade] {
            for plan in [Plan::for_fpr(kind.into(), 10, 0.1), Plan::for_memory(kind.into(), 10, 99)]
            {
                assert!(matches!(plan, Err(SpecError::Kind { .. })), "{plan:?}");
            }
        }
        let too_fine = Plan::for_fpr(KindSpec::Fuse, 10, 1e-11);
        assert_eq!(too_fine, Err(SpecError::Width { got: 1e-11 }));
        for kind in
            [KindSpec::Scalable { growth: 0 }, KindSpec::Windowed(crate::Window::last_keys(0))]
        {
            _ = Plan::for_fpr(kind, 1_000, 0.01);
            _ = Plan::for_memory(kind, 1_000, 1_000);
        }
    }
}
