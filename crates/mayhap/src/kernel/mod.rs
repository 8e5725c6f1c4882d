//! Everything that touches memory for speed: dispatch here, one instruction set a file, and the
//! only `unsafe` of the crate. `scalar` is the truth the others are tested against.

pub(crate) mod atomic;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
pub(crate) mod flat;
mod pages;
mod prefetch;
mod ring;
mod scalar;
pub(crate) mod shared;

pub use pages::{Atomics, Pages};
pub(crate) use prefetch::prefetch;

use crate::hash::Hash;
use crate::sizing::BlockedShape;

/// 512 bits, the first in the lowest bit of the first byte.
pub(crate) type Line = [u8; 64];

/// Every machine with AVX2 has BMI2 too, whose multiply spares the loops two moves a key.
/// Detection is one load of a cached answer.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2")
}

/// Calls the best kernel this machine has.
macro_rules! dispatch {
    ($function:ident($($argument:expr),*)) => {{
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_avx2() {
            // SAFETY: AVX2 and BMI2 were detected above; the callee asks nothing else.
            return unsafe { avx2::$function($($argument),*) };
        }
        scalar::$function($($argument),*)
    }};
}

/// Runs `work` compiled for the best instruction set this machine has: for plain loops that the
/// compiler turns into vectors by itself.
#[inline(always)]
pub(crate) fn vectorized<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_avx2() {
        #[target_feature(enable = "avx2")]
        fn run<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        // SAFETY: AVX2 was detected above; the callee asks nothing else.
        return unsafe { run(work) };
    }
    work()
}

/// May this key be in? All of its lines must agree.
#[inline]
pub(crate) fn contains(lines: &[Line], shape: BlockedShape, hash: Hash) -> bool {
    dispatch!(contains(lines, shape, hash))
}

/// Set the key's bits; whether any was clear.
#[inline]
pub(crate) fn insert(lines: &mut [Line], shape: BlockedShape, hash: Hash) -> bool {
    dispatch!(insert(lines, shape, hash))
}

/// One answer a hash.
pub(crate) fn contains_batch(
    lines: &[Line],
    shape: BlockedShape,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    dispatch!(contains_batch(lines, shape, hashes, answers));
}

/// Insert all; `report` hears of each whether it was new.
pub(crate) fn insert_batch(
    lines: &mut [Line],
    shape: BlockedShape,
    hashes: &[Hash],
    report: impl FnMut(usize, bool),
) {
    dispatch!(insert_batch(lines, shape, hashes, report));
}

/// One key over all of its lines, stopping at the first that says no.
#[inline(always)]
fn one_contains(
    lines: &[Line],
    shape: BlockedShape,
    mut hash: Hash,
    contains: impl Fn(&Line, Hash) -> bool,
) -> bool {
    let count = lines.len() as u64;
    for _ in 1..shape.lines_per_key {
        if !contains(&lines[scalar::line_of(hash, count)], hash) {
            return false;
        }
        hash = scalar::next(hash);
    }
    contains(&lines[scalar::line_of(hash, count)], hash)
}

/// One key into all of its lines.
#[inline(always)]
fn one_insert(
    lines: &mut [Line],
    shape: BlockedShape,
    mut hash: Hash,
    insert: impl Fn(&mut Line, Hash) -> bool,
) -> bool {
    let count = lines.len() as u64;
    let mut new = insert(&mut lines[scalar::line_of(hash, count)], hash);
    for _ in 1..shape.lines_per_key {
        hash = scalar::next(hash);
        new |= insert(&mut lines[scalar::line_of(hash, count)], hash);
    }
    new
}

#[cfg(test)]
mod tests;
