//! Lookups in a ribbon filter: where a key's equation starts, and whether its slots solve it.
//!
//! A filter's bytes are a directory, one record per shard, then the layers of one shard after
//! another (thresholds, then the blocks of both strips), and padding. A block is eight slots: one
//! byte per column, the first slot in the lowest bit.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
pub(super) mod directory;
mod eliminate;
mod exact;
mod scalar;
mod solve;
#[cfg(test)]
mod tests;

pub(crate) use directory::{Directory, Record, place_in_layer};
pub(crate) use eliminate::{Coefficients, Elimination, Item, NOWHERE, Row};
pub(crate) use solve::back_substitute;

use super::prefetch_at;
use crate::hash::{Hash, fold};
use crate::sizing::{Layout, Slots64, Slots128};
use directory::Place;

/// Lookups in flight while a batch waits for memory.
const RING: usize = 32;
/// Filters of fewer bytes stay in the cache, where a ring costs more than waiting does.
const RING_BYTES: usize = 256 << 10;
/// Mixes a hash into its equation. Frozen: files depend on it.
const MIX: u64 = 0x8ebc_6af0_9c88_c6e3;
/// Seeds are spread by this, and layers apart. Frozen.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// Mixes a hash into its place in a later layer. Frozen.
const LAYER_MIX: u64 = 0xa076_1d64_78bd_642f;
/// Mixes a hash into the upper half of an equation over 128 slots. Frozen.
const UPPER_MIX: u64 = 0xe703_7ed1_a0b4_28db;

/// A key's equation: the exclusive or of the slots that `coefficients` select, counted from its
/// first block on, is `fingerprint` in every column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Equation<C = u64> {
    /// Odd: the first slot always counts.
    pub coefficients: C,
    /// As many low bits count as there are columns.
    pub fingerprint: u64,
}

/// A shard's seed, spread over 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed(u64);

impl Seed {
    pub fn new(seed: u32) -> Seed {
        Seed((u64::from(seed) + 1).wrapping_mul(SPREAD))
    }

    /// A number that tells where a hash starts in layer `layer`, which is not the first.
    #[inline(always)]
    pub fn relayer(self, hash: Hash, layer: usize) -> u64 {
        fold(hash.0 ^ self.0.wrapping_mul(layer as u64 + 2), LAYER_MIX)
    }
}

/// A layout, and the equations over as many slots as it says.
pub(crate) trait Equations: Layout {
    /// As many bits as slots.
    type Bits: Coefficients;

    /// The equation of a hash under this seed.
    fn equation(seed: Seed, hash: Hash) -> Equation<Self::Bits>;
}

impl Equations for Slots64 {
    type Bits = u64;

    #[inline(always)]
    fn equation(seed: Seed, hash: Hash) -> Equation {
        let product = u128::from(hash.0 ^ seed.0) * u128::from(MIX);
        let (low, high) = (product as u64, (product >> 64) as u64);
        Equation { coefficients: (low ^ high) | 1, fingerprint: low >> 32 }
    }
}

impl Equations for Slots128 {
    type Bits = u128;

    #[inline(always)]
    fn equation(seed: Seed, hash: Hash) -> Equation<u128> {
        let Equation { coefficients, fingerprint } = Slots64::equation(seed, hash);
        let upper = fold(hash.0 ^ seed.0, UPPER_MIX);
        let coefficients = u128::from(coefficients) | u128::from(upper) << 64;
        Equation { coefficients, fingerprint }
    }
}

/// How wide the widest blocks are, in bytes: decides how many fit into a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    UpTo8,
    UpTo16,
    UpTo32,
}

/// The instruction set that lookups use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    Scalar,
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2,
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512,
}

impl Isa {
    /// The best there is.
    pub fn detect() -> Isa {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if Isa::has_avx512() {
            return Isa::Avx512;
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if super::has_avx2() {
            return Isa::Avx2;
        }
        Isa::Scalar
    }

    /// Whether bits can be counted per byte of 64: on all machines with AVX-512 but the first ones,
    /// for which AVX2 is as good.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn has_avx512() -> bool {
        super::has_avx512()
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512bitalg")
    }
}

/// As many bytes as the directory was read from, or more: only [`Directory::body`] makes one.
#[derive(Clone, Copy)]
pub(super) struct CheckedBytes<'a>(&'a [u8]);

/// Whether the blocks at `at` solve an equation; one per width of blocks and instruction set.
/// `columns` is the number of columns of the strip.
trait Solve<L: Equations> {
    /// # Safety
    ///
    /// A window of `columns` columns and 32 more bytes lie inside the body from `at` on, and the
    /// machine has the instruction set.
    unsafe fn solves(
        body: CheckedBytes<'_>,
        at: usize,
        columns: usize,
        equation: Equation<L::Bits>,
    ) -> bool;
}

impl Directory<Slots64> {
    /// May this key be in?
    #[inline]
    pub fn contains(&self, bytes: &[u8], hash: Hash) -> bool {
        let Some(body) = self.body(bytes) else { return true };
        match self.isa {
            Isa::Scalar => self.one::<scalar::Scalar>(body, hash),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the field says that AVX2 was detected.
            Isa::Avx2 => unsafe { avx2::contains(self, body, hash) },
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the field says that AVX-512 with BW and BITALG was detected.
            Isa::Avx512 => unsafe { avx512::contains(self, body, hash) },
        }
    }

    /// One answer per hash.
    pub fn contains_batch(&self, bytes: &[u8], hashes: &[Hash], answers: &mut [bool]) {
        let Some(body) = self.body(bytes) else { return answers.fill(true) };
        match self.isa {
            Isa::Scalar => self.many::<scalar::Scalar>(body, hashes, answers),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the field says that AVX2 was detected.
            Isa::Avx2 => unsafe { avx2::contains_batch(self, body, hashes, answers) },
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: the field says that AVX-512 with BW and BITALG was detected.
            Isa::Avx512 => unsafe { avx512::contains_batch(self, body, hashes, answers) },
        }
    }
}

impl<L: Equations> Directory<L> {
    /// The bytes, if they are still all there. Those that have shrunk since find everything: that
    /// is never a false negative.
    #[inline(always)]
    fn body<'a>(&self, bytes: &'a [u8]) -> Option<CheckedBytes<'a>> {
        (bytes.len() >= self.bytes).then_some(CheckedBytes(bytes))
    }

    /// One lookup with the kernel `S`, whose instruction set the machine has.
    #[inline(always)]
    fn one<S: Solve<L>>(&self, body: CheckedBytes<'_>, hash: Hash) -> bool {
        let (shard, place) = self.shard(hash);
        match self.locate(body.0, shard, place, hash) {
            Place::Settled(answer) => answer,
            Place::At { at, columns } => {
                let equation = L::equation(shard.seed, hash);
                // SAFETY: `locate` gives places inside of the body only.
                unsafe { S::solves(body, at, columns, equation) }
            }
        }
    }

    /// Lookups with the kernel `S`: each asks for its blocks `RING` keys before it reads them.
    #[inline(always)]
    fn many<S: Solve<L>>(&self, body: CheckedBytes<'_>, hashes: &[Hash], answers: &mut [bool]) {
        if body.0.len() < RING_BYTES {
            for (hash, answer) in hashes.iter().zip(answers) {
                *answer = self.one::<S>(body, *hash);
            }
            return;
        }
        let start = |hash: Hash| {
            let (shard, place) = self.shard(hash);
            let place = self.locate(body.0, shard, place, hash);
            if let Place::At { at, columns } = place {
                let first = body.0.as_ptr().wrapping_add(at);
                let last = columns * L::WINDOW as usize - 1;
                prefetch_at(first);
                prefetch_at(first.wrapping_add(last));
                if last > 64 {
                    (64..last).step_by(64).for_each(|next| prefetch_at(first.wrapping_add(next)));
                }
            }
            (place, shard.seed)
        };
        let mut ring = [(Place::Settled(false), Seed(0)); RING];
        for (hash, place) in hashes.iter().zip(&mut ring) {
            *place = start(*hash);
        }
        for (i, (hash, answer)) in hashes.iter().zip(answers).enumerate() {
            let (place, seed) = ring[i % RING];
            *answer = match place {
                Place::Settled(answer) => answer,
                Place::At { at, columns } => {
                    let equation = L::equation(seed, *hash);
                    // SAFETY: `locate` gives places inside of the body only.
                    unsafe { S::solves(body, at, columns, equation) }
                }
            };
            if let Some(next) = hashes.get(i + RING) {
                ring[i % RING] = start(*next);
            }
        }
    }
}
