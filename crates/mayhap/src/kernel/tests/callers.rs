//! Callers keep their vectors: sums held in registers across every one-key call come out right,
//! whatever instruction set the caller was compiled for.
//!
//! Calls are inlined, so what they do to registers is done to the caller's. Callers with vectors
//! are those inside [`vectorize`] and, in the builds that `cargo xtask test` makes for
//! `x86-64-v3` and `native`, all of them.

#![allow(
    clippy::redundant_closure_for_method_calls,
    reason = "closures are inlined, paths need not be"
)]

use crate::packet::Packet;
use crate::simd::{Vectorize, vectorize};
use crate::{
    AnyFilter, Blocked, Cascade, Classic, Counting, Fuse, Hash, Scalable, Secret, Sharded, Spec,
    SpecError, Window, Windowed,
};

const KEYS: u64 = 400;

type Row = [u64; 8];

fn rows() -> Vec<Row> {
    (1..=KEYS).map(|row| std::array::from_fn(|i| (row << 32 | row) + i as u64)).collect()
}

/// Adds up the rows for which a call answers yes, in two ways: with a filter that does not change
/// and with one that may.
///
/// The filter is an argument of its own, so that the compiler knows what stays the same from one
/// call to the next. Otherwise it keeps no vectors across the loop, and nothing could be spoiled.
macro_rules! sums {
    ($name:ident, $Work:ident, $($mutable:tt)?) => {
        #[inline(always)]
        fn $name<F, K: Copy>(
            filter: &$($mutable)? F,
            rows: &[Row],
            keys: &[K],
            call: impl Fn(&$($mutable)? F, K) -> bool,
        ) -> Row {
            let mut sums = [0u64; 8];
            for (row, key) in rows.iter().zip(keys) {
                if call(filter, *key) {
                    for i in 0..8 {
                        sums[i] = sums[i].wrapping_add(row[i]);
                    }
                }
            }
            sums
        }

        struct $Work<'a, F, K, C>(&'a $($mutable)? F, &'a [Row], &'a [K], C);

        impl<F, K: Copy, C: Fn(&$($mutable)? F, K) -> bool> Vectorize for $Work<'_, F, K, C> {
            type Out = Row;

            #[inline(always)]
            fn run(self) -> Row {
                $name(self.0, self.1, self.2, self.3)
            }
        }

        impl<F, K: Copy, C: Fn(&$($mutable)? F, K) -> bool> $Work<'_, F, K, C> {
            #[inline(never)]
            fn run_plainly(self) -> Row {
                self.run()
            }
        }
    };
}
sums!(sums_with, With,);
sums!(sums_changing, Changing, mut);

/// What all rows add up to, without a call between them.
fn all_rows() -> Row {
    std::array::from_fn(|i| rows().iter().fold(0u64, |sum, row| sum.wrapping_add(row[i])))
}

/// The call answers yes for all keys, and the sums are right, plainly and inside `vectorize`.
fn keeps_vectors<F, K: Copy>(
    name: &str,
    filter: &F,
    keys: &[K],
    call: impl Fn(&F, K) -> bool + Copy,
) {
    let rows = rows();
    assert_eq!(With(filter, &rows, keys, call).run_plainly(), all_rows(), "{name}");
    let inside = vectorize(With(filter, &rows, keys, call));
    assert_eq!(inside, all_rows(), "{name}, inside vectorize");
}

/// The same with calls that change the filter.
fn keeps_vectors_changing<F, K: Copy>(
    name: &str,
    filter: &mut F,
    keys: &[K],
    call: impl Fn(&mut F, K) -> bool + Copy,
) {
    let rows = rows();
    assert_eq!(Changing(filter, &rows, keys, call).run_plainly(), all_rows(), "{name}");
    let inside = vectorize(Changing(filter, &rows, keys, call));
    assert_eq!(inside, all_rows(), "{name}, inside vectorize");
}

fn keys() -> Vec<u64> {
    (0..KEYS).collect()
}

/// Lookups in a filter that has all keys.
macro_rules! found {
    ($name:expr, $filter:expr) => {{
        let filter = &$filter;
        let hashes: Vec<Hash> = (0..KEYS).map(|key| filter.hash(key)).collect();
        keeps_vectors(concat!($name, "::contains"), filter, &keys(), |f, key| f.contains(key));
        keeps_vectors(concat!($name, "::contains_hash"), filter, &hashes, |f, hash| {
            f.contains_hash(hash)
        });
    }};
}

/// Inserts of keys that are in already.
macro_rules! inserted_again {
    ($name:expr, $filter:expr) => {{
        let filter = &mut $filter;
        let hashes: Vec<Hash> = (0..KEYS).map(|key| filter.hash(key)).collect();
        hashes.iter().for_each(|hash| _ = filter.insert_hash(*hash));
        keeps_vectors_changing(concat!($name, "::insert"), filter, &keys(), |f, key| {
            !f.insert(key)
        });
        keeps_vectors_changing(concat!($name, "::insert_hash"), filter, &hashes, |f, hash| {
            !f.insert_hash(hash)
        });
    }};
}

/// One line and several, one vector of probes and two; seeded and keyed.
fn specs() -> impl Iterator<Item = Spec> {
    let secret = Secret::from_bytes([7; 16]);
    let seeded = [0.3, 0.01, 1e-3, 1e-6, 1e-12].map(|fpr| Spec::new(2 * KEYS, fpr).unwrap());
    seeded.into_iter().flat_map(move |spec| [spec, spec.with_secret(secret)])
}

#[test]
fn calls_for_one_key_leave_the_callers_vectors_alone() -> Result<(), SpecError> {
    for spec in specs() {
        let mut blocked = Blocked::new(spec)?;
        inserted_again!("Blocked", blocked);
        found!("Blocked", blocked);
        let hashes: Vec<Hash> = (0..KEYS).map(|key| blocked.hash(key)).collect();
        keeps_vectors("Blocked::prefetch", &blocked, &hashes, |filter, hash| {
            filter.prefetch(hash);
            true
        });
        let mut scalable = Scalable::new(Spec::new(50, spec.fpr())?.with_scheme(spec.scheme()))?;
        inserted_again!("Scalable", scalable);
        found!("Scalable", scalable);
        let mut sharded = Sharded::new(spec, 3)?;
        inserted_again!("Sharded", sharded);
        found!("Sharded", sharded);
        let mut classic = Classic::new(spec)?;
        inserted_again!("Classic", classic);
        found!("Classic", classic);
        let mut counting = Counting::new(spec)?;
        inserted_again!("Counting", counting);
        found!("Counting", counting);
        keeps_vectors_changing("Counting::remove", &mut counting, &keys(), |f, key| f.remove(key));
        let mut any = AnyFilter::Blocked(blocked.clone());
        keeps_vectors("AnyFilter::contains", &any, &keys(), |f, key| f.contains(key));
        keeps_vectors("AnyFilter::contains_hash", &any, &hashes, |f, hash| {
            f.contains_hash(hash) == Ok(true)
        });
        keeps_vectors_changing("AnyFilter::insert", &mut any, &keys(), |f, key| {
            f.insert(key) == Ok(false)
        });
        let (blocked, classic) = (blocked.into_shared(), classic.into_shared());
        found!("SharedBlocked", blocked);
        found!("SharedClassic", classic);
        keeps_vectors("SharedBlocked::insert", &blocked, &keys(), |f, key| !f.insert(key));
        keeps_vectors("SharedClassic::insert", &classic, &keys(), |f, key| !f.insert(key));
    }
    Ok(())
}

#[test]
fn calls_for_one_key_of_a_window_leave_the_callers_vectors_alone() -> Result<(), SpecError> {
    for spec in specs() {
        for window in [Window::span(1_000, 4), Window::last_keys(4)] {
            let mut filter = Windowed::new(spec, window)?;
            let hashes: Vec<Hash> = (0..KEYS).map(|key| filter.hash(key)).collect();
            hashes.iter().for_each(|hash| _ = filter.insert_hash(*hash, 5));
            keeps_vectors_changing("Windowed::insert", &mut filter, &keys(), |f, key| {
                !f.insert(key, 5)
            });
            keeps_vectors("Windowed::contains", &filter, &keys(), |f, key| f.contains(key, 5));
            keeps_vectors("Windowed::contains_hash", &filter, &hashes, |f, hash| {
                f.contains_hash(hash, 5)
            });
        }
    }
    Ok(())
}

#[test]
fn lookups_where_nothing_changes_leave_the_callers_vectors_alone() {
    let others: Vec<u64> = (KEYS..2 * KEYS).collect();
    for fpr in [0.3, 0.01, 1e-6] {
        let spec = Spec::new(KEYS, fpr).unwrap();
        found!("Fuse", Fuse::with_spec(spec, keys()).unwrap());
        found!("Cascade", Cascade::from_keys(spec.fpr(), keys(), &others).unwrap());
    }
    let mut packet = Packet::<512, 4>::new();
    keys().iter().for_each(|key| _ = packet.insert(*key));
    found!("Packet", packet);
    #[cfg(feature = "bitmap")]
    {
        let mut bitmap = crate::Bitmap::new();
        bitmap.insert_batch(&keys());
        keeps_vectors("Bitmap::contains", &bitmap, &keys(), |f, key| f.contains(key));
    }
}

/// The rule of `vector_asm` broken on purpose: the sums must come out wrong, or the tests above
/// could not fail.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[test]
fn an_undeclared_register_is_noticed() {
    #[inline(always)]
    fn undeclared() {
        // SAFETY: none, which is the point: it zeroes halves of registers without declaring them.
        // Its caller holds nothing but integers there, so that wrong sums are all that follows.
        unsafe { core::arch::asm!("vzeroupper", options(nomem, nostack, preserves_flags)) };
    }
    if !super::has_avx2() {
        return; // `vectorize` has no vectors to spoil
    }
    let call = |filter: &bool, _| {
        undeclared();
        *filter
    };
    let sums = vectorize(With(&true, &rows(), &keys(), call));
    assert_ne!(sums, all_rows(), "the control is blind: are tests compiled with opt-level 3?");
}
