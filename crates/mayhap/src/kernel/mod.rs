//! Everything that touches memory for speed: dispatch here, one instruction set a file, and the
//! only `unsafe` of the crate. `scalar` is the truth the others are tested against.

mod aligned_buf;
pub(crate) mod atomic;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
pub(crate) mod columns;
mod detect;
pub(crate) mod flat;
mod fuse_lookup;
mod impl_kernel;
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
mod neon;
mod one_key;
mod prefetch;
pub(crate) mod quotient;
pub(crate) mod ribbon;
mod ring;
mod scalar;
mod sealable;
pub(crate) mod shared;
pub(crate) mod sip;
mod stripes;

pub(crate) use aligned_buf::Atomics;
pub use aligned_buf::{AlignedBuf, Relocate};
pub(crate) use fuse_lookup::{Shard, ShardDirectory, ShardHash};
use impl_kernel::impl_kernel;
pub(crate) use one_key::OneKeyKernel;
pub(crate) use prefetch::{prefetch, prefetch_at, prefetch_near};
pub(crate) use sealable::{SealableBuf, Sealed, Written};

use crate::hash::Hash;
use crate::sizing::BlockedShape;

/// 512 bits, the first in the lowest bit of the first byte.
pub(crate) type Line = [u8; 64];

/// Arrays of so few bytes stay in the second-level cache; asking ahead only costs time.
pub(crate) const CACHED: usize = 256 << 10;

/// Whether AVX2 and BMI2 may be used.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn has_avx2() -> bool {
    detect::at_least(detect::Kernel::Avx2)
}

/// Whether AVX-512 F, DQ and VL may be used, and AVX2 and BMI2 with it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn has_avx512() -> bool {
    detect::at_least(detect::Kernel::Avx512)
}

/// Calls the best kernel this machine has.
macro_rules! dispatch {
    ($function:ident($($argument:expr),*)) => {{
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_avx512() {
            // SAFETY: AVX-512 F, DQ and VL and BMI2 were detected above; the callee asks nothing
            // else.
            return unsafe { avx512::$function($($argument),*) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_avx2() {
            // SAFETY: AVX2 and BMI2 were detected above; the callee asks nothing else.
            return unsafe { avx2::$function($($argument),*) };
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
        if detect::at_least(detect::Kernel::Neon) {
            return neon::$function($($argument),*);
        }
        scalar::$function($($argument),*)
    }};
}

/// Plain loops over arrays that the compiler turns into vectors by itself, for [`vectorize`].
pub trait Vectorize {
    /// What comes out.
    type Out;

    /// Do it. `#[inline(always)]`, here and on what it calls: what is not inlined is compiled for
    /// any machine, and no faster.
    fn run(self) -> Self::Out;
}

/// Runs `work` compiled for the best instruction set this machine has.
///
/// ```
/// use mayhap::simd::{Vectorize, vectorize};
/// /// Sixteen sums side by side.
/// struct Sums<'a>(&'a [[u32; 16]]);
/// impl Vectorize for Sums<'_> {
///     type Out = [u32; 16];
///     #[inline(always)]
///     fn run(self) -> [u32; 16] {
///         let mut sums = [0; 16];
///         for row in self.0 {
///             (0..16).for_each(|i| sums[i] += row[i]);
///         }
///         sums
///     }
/// }
/// assert_eq!(vectorize(Sums(&[[1; 16], [2; 16]])), [3; 16]);
/// ```
#[inline(always)]
pub fn vectorize<W: Vectorize>(work: W) -> W::Out {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_avx512() {
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,bmi2")]
        fn run<W: Vectorize>(work: W) -> W::Out {
            work.run()
        }
        // SAFETY: all of these were detected above; the callee asks nothing else.
        return unsafe { run(work) };
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_avx2() {
        #[target_feature(enable = "avx2")]
        fn run<W: Vectorize>(work: W) -> W::Out {
            work.run()
        }
        // SAFETY: AVX2 was detected above; the callee asks nothing else.
        return unsafe { run(work) };
    }
    work.run()
}

/// The same of a closure, so short that it is inlined without being told.
#[inline(always)]
pub(crate) fn vectorized<R>(work: impl FnOnce() -> R) -> R {
    struct Short<F>(F);
    impl<F: FnOnce() -> R, R> Vectorize for Short<F> {
        type Out = R;

        #[inline(always)]
        fn run(self) -> R {
            self.0()
        }
    }
    vectorize(Short(work))
}

/// May this key be in, with its bits anywhere in its lines?
#[inline(never)]
fn contains(lines: &[Line], shape: BlockedShape, hash: Hash) -> bool {
    dispatch!(contains(lines, shape, hash))
}

/// Set the key's bits, anywhere in its lines; whether any was clear.
#[inline(never)]
fn insert(lines: &mut [Line], shape: &BlockedShape, hash: Hash) -> bool {
    dispatch!(insert(lines, *shape, hash))
}

/// One answer a hash.
pub(crate) fn contains_batch(
    lines: &[Line],
    shape: BlockedShape,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    if let Some(columns) = shape.layout_of_columns() {
        return columns::contains_batch(lines, columns, hashes, answers);
    }
    dispatch!(contains_batch(lines, shape, hashes, answers));
}

/// Insert all; `report` hears of each whether it was new.
pub(crate) fn insert_batch(
    lines: &mut [Line],
    shape: BlockedShape,
    hashes: &[Hash],
    report: impl FnMut(usize, bool),
) {
    if let Some(columns) = shape.layout_of_columns() {
        return columns::insert_batch(lines, columns, hashes, report);
    }
    dispatch!(insert_batch(lines, shape, hashes, report));
}

/// Every line of a key, which of them it is (0 the first), and the hash that finds its bits there.
#[inline(always)]
pub(crate) fn each_line(
    shape: BlockedShape,
    mut hash: Hash,
    mut visit: impl FnMut(usize, usize, Hash),
) {
    if let Some(columns) = shape.layout_of_columns() {
        let at = columns::places_of(columns, hash, shape.lines.saturating_mul(64));
        visit(0, at.first / 64, hash);
        if shape.lines_per_key > 1 {
            visit(1, at.second / 64, hash);
        }
        return;
    }
    visit(0, scalar::line_of(hash, shape.lines), hash);
    for _ in 1..shape.lines_per_key {
        hash = scalar::next(hash);
        // Anywhere in a line is the same rule in all of them.
        visit(0, scalar::line_of(hash, shape.lines), hash);
    }
}

/// Set the bits of hashes that were sorted into this run of lines, by the line that
/// [`each_line`] calls number `nth`; others are left out.
pub(crate) fn fill_partition(
    lines: &mut [Line],
    first: u64,
    shape: BlockedShape,
    nth: usize,
    hashes: &[Hash],
) {
    if let Some(columns) = shape.layout_of_columns() {
        let place = if nth == 0 { columns::Place::First } else { columns::Place::Second };
        return columns::fill_partition(lines, first, shape.lines, (columns, place), hashes);
    }
    dispatch!(fill_partition(lines, first, shape, hashes));
}

#[cfg(test)]
mod tests;
