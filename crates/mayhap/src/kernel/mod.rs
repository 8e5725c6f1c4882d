//! Everything that touches memory for speed: dispatch here, one instruction set a file, and the
//! only `unsafe` of the crate. `scalar` is the truth the others are tested against.

mod aligned_buf;
pub(crate) mod atomic;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
mod detect;
pub(crate) mod flat;
mod fuse_lookup;
mod impl_kernel;
#[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
mod neon;
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

/// What a lookup of a single key needs to know before it starts, found out when a filter is made:
/// every instruction of a lookup keeps the next key's cache miss waiting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneKeyKernel {
    /// Where one line a key and one vector of probes is all there is and the machine has such
    /// vectors.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    avx2: Option<&'static avx2::Table>,
    /// The same, where the machine has AVX-512 too.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    avx512: Option<&'static avx2::Table>,
    /// Likewise, where a key has several lines.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    multi_line: Option<&'static avx2::Table>,
    shape: BlockedShape,
}

impl OneKeyKernel {
    pub(crate) fn new(shape: BlockedShape) -> OneKeyKernel {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        let (avx2, multi_line) = {
            let table = if has_avx2() { avx2::table(shape.probes_per_line) } else { None };
            if shape.lines_per_key == 1 { (table, None) } else { (None, table) }
        };
        OneKeyKernel {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            avx512: avx2.filter(|_| has_avx512()),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            avx2,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            multi_line,
            shape,
        }
    }

    pub(crate) fn shape(&self) -> BlockedShape {
        self.shape
    }

    /// May this key be in? All of its lines must agree.
    #[inline(always)]
    pub(crate) fn contains(&self, lines: &[Line], hash: Hash) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(table) = self.avx512 {
            let line = &lines[scalar::line_of(hash, lines.len() as u64)];
            // SAFETY: the field is set where AVX-512 was detected; the callee asks nothing else.
            return unsafe { avx512::one_contains(line, scalar::first_half(hash), table) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(table) = self.avx2 {
            let line = &lines[scalar::line_of(hash, lines.len() as u64)];
            // SAFETY: there is a table, so AVX2 was detected; the callee asks nothing else.
            return unsafe { avx2::one_contains(line, scalar::first_half(hash), table) };
        }
        self.contains_otherwise(lines, hash)
    }

    /// Out of line: the common filter takes the short way above.
    #[inline(never)]
    fn contains_otherwise(&self, lines: &[Line], hash: Hash) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(table) = self.multi_line {
            if has_avx512() {
                return ring::one_contains(lines, self.shape, hash, |line, hash| {
                    // SAFETY: AVX-512 was detected above; the callee asks nothing else.
                    unsafe { avx512::one_contains(line, scalar::first_half(*hash), table) }
                });
            }
            return ring::one_contains(lines, self.shape, hash, |line, hash| {
                // SAFETY: there is a table, so AVX2 was detected; the callee asks nothing else.
                unsafe { avx2::one_contains(line, scalar::first_half(*hash), table) }
            });
        }
        dispatch!(contains(lines, self.shape, hash))
    }

    /// Set the key's bits; whether any was clear.
    #[inline(always)]
    pub(crate) fn insert(&self, lines: &mut [Line], hash: Hash) -> bool {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.avx2.is_some() {
            let line = &mut lines[scalar::line_of(hash, lines.len() as u64)];
            let (half, probes) = (scalar::first_half(hash), self.shape.probes_per_line);
            // SAFETY: there is a table, so AVX2 and BMI2 were detected; the callee asks nothing
            // else.
            return unsafe { avx2::one_insert(line, half, probes) };
        }
        insert(lines, &self.shape, hash)
    }
}

/// Set the key's bits; whether any was clear.
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

/// Every line of a key, and the hash that probes it.
#[inline(always)]
pub(crate) fn each_line(shape: BlockedShape, mut hash: Hash, mut visit: impl FnMut(usize, Hash)) {
    visit(scalar::line_of(hash, shape.lines), hash);
    for _ in 1..shape.lines_per_key {
        hash = scalar::next(hash);
        visit(scalar::line_of(hash, shape.lines), hash);
    }
}

/// Set the bits of hashes that were sorted into this run of lines; others are left out.
pub(crate) fn fill_partition(lines: &mut [Line], first: u64, shape: BlockedShape, hashes: &[Hash]) {
    dispatch!(fill_partition(lines, first, shape, hashes));
}

#[cfg(test)]
mod tests;
