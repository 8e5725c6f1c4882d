//! What `Blocked` and `Classic` promise alike; every kind's promises are in `tests/promises.rs`.

use super::*;
use crate::Hash;
use crate::hash::Secret;
use crate::key::AnyKey;
use crate::scheme::{Native, Scheme};
use crate::sizing::{BlockedShape, ClassicShape};
use crate::spec::{Spec, SpecError};
use proptest::collection::vec;
use proptest::prelude::*;

type Outcome = Result<(), SpecError>;

macro_rules! promises {
    ($module:ident: $Kind:ident, $name:literal, $absurd:expr, $golden:expr) => {
        mod $module {
            use super::*;

            fn filled(spec: Spec, keys: std::ops::Range<u64>) -> Result<$Kind, SpecError> {
                let mut filter = $Kind::new(spec)?;
                keys.for_each(|key| _ = filter.insert(key));
                Ok(filter)
            }

            /// The first ten keys from 1000 on that a filter of 0..1000 takes for its own.
            fn false_positives(spec: Spec) -> Result<Vec<u64>, SpecError> {
                let filter = filled(spec, 0..1000)?;
                Ok((1000..).filter(|key| filter.contains(*key)).take(10).collect())
            }

            /// A changed hash, salt or reduction moves these. They are frozen: files depend on them.
            #[test]
            fn golden_false_positives() -> Outcome {
                let secret = Secret::from_bytes([7; 16]);
                let golden = |seeded: fn(u64) -> Native, keyed: fn(Secret) -> Native| {
                    let one_percent = Spec::new(1000, 0.01)?;
                    let tight = Spec::new(1000, 1e-4)?;
                    Ok([
                        false_positives(one_percent.with_scheme(seeded(0)))?,
                        false_positives(one_percent.with_scheme(seeded(42)))?,
                        false_positives(one_percent.with_scheme(keyed(secret)))?,
                        false_positives(tight.with_scheme(seeded(0)))?,
                    ])
                };
                let [first, second] = [
                    golden(Native::xxh3, Native::sip13),
                    golden(Native::columns, Native::columns_keyed),
                ];
                assert_eq!(first?, $golden[0]);
                assert_eq!(second?, $golden[1]);
                Ok(())
            }

            #[test]
            fn counts_estimates_and_rates_agree() -> Outcome {
                for fpr in [0.05, 0.01, 1e-3, 1e-6] {
                    let spec = Spec::new(50_000, fpr)?;
                    let filter = filled(spec, 0..50_000)?;
                    assert!(filter.estimate().abs_diff(50_000) < 500, "{fpr}: {}", filter.estimate());
                    assert!(filter.keys().abs_diff(50_000) <= (50_000.0 * fpr) as u64, "{}", filter.keys());
                    assert!((filter.fpr_now() / fpr - 1.0).abs() < 0.05, "{fpr}: {}", filter.fpr_now());
                    let expected = filter.shape().fpr_at(50_000);
                    assert!((filter.fpr_now() / expected - 1.0).abs() < 0.05, "{expected}");
                }
                Ok(())
            }

            #[test]
            fn overfull_breaks_nothing_but_the_rate() -> Outcome {
                let filter = filled(Spec::new(100, 0.01)?, 0..100_000)?;
                assert!((0..100_000u64).all(|key| filter.contains(key)));
                assert!(filter.fpr_now() > 0.999);
                assert!(filter.estimate() > 500);
                Ok(())
            }

            #[test]
            fn clear_forgets_everything() -> Outcome {
                let mut filter = filled(Spec::new(100, 0.01)?, 0..100)?;
                filter.clear();
                assert_eq!((filter.keys(), filter.fill(), filter.estimate()), (0, 0.0, 0));
                assert!(!(0..100u64).any(|key| filter.contains(key)));
                Ok(())
            }

            #[test]
            fn unlike_filters_say_what_differs() -> Outcome {
                let spec = Spec::new(1000, 0.01)?;
                let mut filter = $Kind::new(spec)?;
                let mut differs = |other: Spec| {
                    let other = $Kind::new(other)?;
                    Ok::<_, SpecError>(filter.union(&other).err().map(|error| error.what()))
                };
                assert_eq!(differs(Spec::new(2000, 0.01)?)?, Some("capacities or rates"));
                assert_eq!(differs(spec.with_seed(1))?, Some("seeds"));
                assert_eq!(differs(spec.with_secret(Secret::from_bytes([1; 16])))?, Some("hashes"));
                assert_eq!(differs(spec)?, None);
                let mut keyed = $Kind::new(spec.with_secret(Secret::from_bytes([1; 16])))?;
                let error = keyed.union(&$Kind::new(spec.with_secret(Secret::from_bytes([2; 16])))?);
                let said = error.map_err(|error| error.to_string());
                assert_eq!(said, Err("unlike filters: they are keyed with different secrets; make both with the same secret".into()));
                Ok(())
            }

            #[test]
            fn absurd_shapes_are_refused() -> Outcome {
                let spec = Spec::new(1000, 0.01)?;
                for shape in $absurd {
                    assert!($Kind::with_shape(spec, shape).is_err(), "{shape:?}");
                }
                let huge = Spec::new(1 << 47, 0.01)?;
                assert!(matches!($Kind::new(huge), Err(SpecError::Memory { .. })));
                Ok(())
            }

            #[test]
            fn it_says_what_it_is() -> Outcome {
                let filter = filled(Spec::new(1000, 0.01)?, 0..1000)?;
                let said = filter.to_string();
                assert!(said.starts_with(concat!($name, ": 99")), "{said}");
                assert!(said.contains("of 1000 keys") && said.contains("1.000e-2 at capacity"), "{said}");
                Ok(())
            }

            proptest! {
                #[test]
                fn batches_equal_loops(
                    first in vec(any::<u16>(), 0..300),
                    second in vec(any::<u16>(), 0..300),
                    fpr in 1e-9f64..0.5,
                ) {
                    let spec = Spec::new(200, fpr)?;
                    let mut looped = $Kind::new(spec)?;
                    let mut batched = looped.clone();
                    let mut told = looped.clone();
                    let hashes = |keys: &[u16]| keys.iter().map(|key| spec.scheme().hash(key)).collect::<Vec<_>>();
                    let (first, second) = (hashes(&first), hashes(&second));
                    let want_new: Vec<bool> = first.iter().map(|hash| looped.insert_hash(*hash)).collect();
                    let mut new = Vec::new();
                    told.insert_batch_new(&first, &mut new);
                    prop_assert_eq!(&new, &want_new);
                    let count = want_new.iter().filter(|new| **new).count() as u64;
                    prop_assert_eq!(batched.insert_batch(&first), count);
                    prop_assert_eq!((batched.keys(), told.keys(), looped.keys()), (count, count, count));
                    prop_assert_eq!(looped.as_bytes(), batched.as_bytes());
                    prop_assert_eq!(looped.as_bytes(), told.as_bytes());
                    let want: Vec<bool> = second.iter().map(|hash| looped.contains_hash(*hash)).collect();
                    let mut answers = Vec::new();
                    looped.contains_batch(&second, &mut answers);
                    prop_assert_eq!(answers, want);
                }

                #[test]
                fn union_commutes_and_holds_both(a in vec(any::<u32>(), 0..200), b in vec(any::<u32>(), 0..200)) {
                    let spec = Spec::new(150, 0.001)?;
                    let of = |keys: &[u32]| {
                        let mut filter = $Kind::new(spec)?;
                        keys.iter().for_each(|key| _ = filter.insert(key));
                        Ok::<_, SpecError>(filter)
                    };
                    let (a_filter, b_filter) = (of(&a)?, of(&b)?);
                    let (mut left, mut right) = (a_filter.clone(), b_filter.clone());
                    left.union(&b_filter)?;
                    right.union(&a_filter)?;
                    prop_assert_eq!(left.as_bytes(), right.as_bytes());
                    prop_assert!(a.iter().chain(&b).all(|key| left.contains(key)));
                    let all: Vec<u32> = a.iter().chain(&b).copied().collect();
                    let whole = of(&all)?;
                    prop_assert_eq!(left.as_bytes(), whole.as_bytes());
                    let (mut left, mut right) = (a_filter.clone(), b_filter.clone());
                    left.intersect(&b_filter)?;
                    right.intersect(&a_filter)?;
                    prop_assert_eq!(left.as_bytes(), right.as_bytes());
                    prop_assert!(a.iter().filter(|key| b.contains(key)).all(|key| left.contains(key)));
                }
            }
        }
    };
}

promises!(
    blocked: Blocked,
    "blocked",
    [(0, 1, 1), (1, 0, 1), (1, 5, 1), (1, 1, 17)].map(|(lines, lines_per_key, probes_per_line)| {
        BlockedShape::new(lines, lines_per_key, probes_per_line)
    }),
    [[[1028, 1133, 1199, 1284, 1332, 1338, 1487, 1576, 1968, 2114], [1317, 1486, 1538, 1578, 1600, 1708, 1795, 1834, 2016, 2034], [1081, 1094, 1160, 1183, 1199, 1280, 1327, 1473, 1492, 1551], [2103, 12726, 15163, 19380, 33219, 40137, 48025, 56529, 67789, 85420]], [[1211, 1614, 1736, 1900, 1949, 2054, 2201, 2549, 2728, 2781], [1146, 1173, 1229, 1734, 1779, 1850, 1861, 1946, 1989, 2021], [1050, 1162, 1201, 1213, 1214, 1415, 1665, 1871, 2127, 2343], [13955, 26326, 48386, 56910, 65767, 69439, 72792, 75470, 89310, 96919]]]
);

promises!(
    classic: Classic,
    "classic",
    [(0, 1), (8, 0), (8, 65)].map(|(bits, probes)| ClassicShape { bits, probes }),
    [[[1165, 1299, 1417, 1575, 1736, 1830, 1943, 2006, 2020, 2111], [1005, 1026, 1201, 1225, 1271, 1349, 1384, 1723, 1772, 1809], [1018, 1141, 1526, 1693, 1696, 1779, 1957, 2024, 2303, 2343], [7606, 19591, 20913, 23602, 30812, 55098, 80336, 92393, 98214, 111268]], [[1045, 1061, 1151, 1192, 1212, 1221, 1365, 1451, 1543, 1812], [1039, 1296, 1534, 1580, 1694, 1703, 1709, 1791, 1901, 2025], [1018, 1141, 1526, 1693, 1696, 1779, 1957, 2024, 2303, 2343], [5575, 15338, 24023, 28143, 57986, 59615, 61121, 65300, 66899, 67527]]]
);

/// A scheme that leaves half of the array alone, as foreign ones do.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FirstHalf;

impl Scheme for FirstHalf {
    type Hash = Hash;
    type Keys = AnyKey;

    fn id(&self) -> crate::scheme::SchemeId {
        crate::scheme::SchemeId::FIRST_FOREIGN
    }

    fn hash_bytes(&self, bytes: &[u8]) -> Hash {
        Native::default().hash_bytes(bytes)
    }

    fn positions(&self, hash: Hash, bits: u64, probes: u32) -> impl Iterator<Item = u64> {
        (0..u64::from(probes)).map(move |i| hash.0.rotate_left(i as u32 * 9) % (bits / 2))
    }

    fn addressable_bits(&self, bits: u64) -> u64 {
        bits / 2
    }
}

#[test]
fn what_a_scheme_cannot_reach_does_not_count() {
    let shape = ClassicShape { bits: 4096, probes: 2 };
    let bytes = crate::mem::AlignedBuf::zeroed(512).unwrap();
    let mut filter = Classic::from_parts(FirstHalf, shape, bytes).unwrap();
    (0..500u64).for_each(|key| _ = filter.insert(key));
    assert!(filter.estimate().abs_diff(500) < 50, "{} keys", filter.estimate());
    let mut full = Classic::from_parts(FirstHalf, shape, [0xff; 512]).unwrap();
    assert_eq!((full.fill(), full.fpr_now()), (1.0, 1.0));
    full = Classic::from_parts(FirstHalf, shape, [0; 512]).unwrap();
    assert_eq!(full.fill(), 0.0);
}

#[test]
fn other_programs_may_probe_more_often_than_we_do() {
    let of = |probes| {
        let shape = ClassicShape { bits: 64, probes };
        Classic::from_parts(Native::seeded(0), shape, [0xff; 8])
    };
    assert!(of(0).is_none() && of(2049).is_none());
    assert!(of(65).unwrap().contains("ada") && of(2048).unwrap().contains("ada"));
}

#[test]
fn a_scheme_may_know_its_rate_better() {
    #[derive(Clone, Copy)]
    struct FirstHalf;
    impl Scheme for FirstHalf {
        type Hash = u64;
        type Keys = AnyKey;

        fn id(&self) -> crate::scheme::SchemeId {
            crate::scheme::SchemeId::FIRST_FOREIGN
        }

        fn hash_bytes(&self, bytes: &[u8]) -> u64 {
            bytes.len() as u64
        }

        fn positions(&self, hash: u64, bits: u64, probes: u32) -> impl Iterator<Item = u64> {
            (0..u64::from(probes)).map(move |i| (hash + i) % (bits / 2))
        }

        fn fpr_now(&self, bytes: &[u8], bits: u64, probes: u32) -> f64 {
            crate::scheme::fill(&bytes[..bytes.len() / 2], bits / 2).powi(probes as i32)
        }
    }
    let shape = ClassicShape { bits: 16, probes: 3 };
    let filter = Classic::from_parts(FirstHalf, shape, [0xff, 0]).unwrap();
    assert_eq!((filter.fill(), filter.fpr_now()), (0.5, 1.0));
}

/// Shapes have public fields: whatever a caller puts there is refused or answered, not computed
/// into an overflow, an abort or a loop without end.
#[test]
fn garbage_shapes_are_refused() {
    use crate::sizing::{CascadeShape, FirstShape, FuseShape, Plan, RibbonShape};
    use crate::sizing::{ScalableShape, ShardedShape, WindowedShape};
    let spec = Spec::new(100, 0.01).unwrap();
    let wide = [0, 1, 1 << 32, 1 << 58, u64::MAX];
    let narrow = [0, 1, 64, 1 << 16, u32::MAX];
    let rates = [0.0, 1e-300, 0.5, 1.0, -1.0, f64::NAN, f64::INFINITY];
    for lines in wide {
        for (lines_per_key, probes_per_line) in narrow.iter().zip(narrow.iter().rev()) {
            let (lines_per_key, probes_per_line) = (*lines_per_key, *probes_per_line);
            let shape = BlockedShape::new(lines, lines_per_key, probes_per_line);
            let _ = (shape.probes(), shape.bits(), shape.fpr_at(u64::MAX));
            if !shape.is_valid() {
                assert!(Blocked::with_shape(spec, shape).is_err(), "{shape:?}");
                assert!(Sharded::with_shape(spec, 3, shape).is_err(), "{shape:?}");
            }
            for count in narrow {
                let each = shape;
                let _ = WindowedShape { count, capacity: lines, each }.fpr_at(lines);
                let _ = WindowedShape { count, capacity: lines, each }.bits();
                let _ = ShardedShape { count, capacity: lines, each }.fpr_at(lines);
            }
        }
        for probes in narrow {
            let shape = ClassicShape { bits: lines, probes };
            let _ = (shape.fpr_at(lines), shape.keys_at_fill(0.5), shape.keys_at_fill(f64::NAN));
            if !shape.is_valid() {
                assert!(Classic::with_shape(spec, shape).is_err(), "{shape:?}");
                assert!(Counting::with_shape(spec, shape).is_err(), "{shape:?}");
            }
            let shape = FuseShape { keys: lines, width: probes };
            let _ = (shape.fpr(), shape.bits(), shape.shards());
            let shape = RibbonShape { keys: lines, columns: probes, wide: probes };
            let _ = (shape.fpr(), shape.bits(), shape.shards());
            let first = FirstShape::Ribbon(shape);
            let shape = CascadeShape { included: lines, excluded: u64::MAX, first };
            let _ = (shape.fpr(), shape.bits(), shape.passing());
            for fpr in rates {
                let shape = ScalableShape::new(lines, fpr, probes);
                let _ = (shape.bits_at(u64::MAX), shape.fpr_at(lines));
            }
        }
        for fpr in rates {
            let _ = FuseShape::for_memory(lines, fpr);
            let _ = CascadeShape::for_lists(lines, u64::MAX, fpr);
            let _ = CascadeShape::blocked_for_lists(lines, u64::MAX, fpr);
            for growth in narrow {
                for kind in [
                    KindSpec::Scalable { growth },
                    KindSpec::Windowed(Window::last_keys(growth)),
                    KindSpec::Sharded { shards: growth },
                ] {
                    let plans =
                        [Plan::for_fpr(kind, lines, fpr), Plan::for_memory(kind, lines, lines)];
                    for plan in plans.into_iter().flatten() {
                        let _ = (plan.bytes(), plan.probes(), plan.lines(), plan.fpr());
                    }
                }
            }
        }
    }
    let most = BlockedShape::new(u64::MAX, 1, 6);
    assert!(matches!(Blocked::with_shape(spec, most), Err(SpecError::Memory { .. })));
}
