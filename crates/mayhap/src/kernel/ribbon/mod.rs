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
use directory::{Shard, Start};

/// Lookups of a batch that are prepared together. While they wait for memory the ones before are
/// answered: two short loops without a branch are half as long as one with all in it.
const CHUNK: usize = 32;
/// Filters of fewer bytes stay in the second-level cache, where there is nothing to ask for ahead.
const CACHED_BYTES: usize = 256 << 10;
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

    /// The hash under this seed: what its equation is made of.
    #[inline(always)]
    pub fn turn(self, hash: Hash) -> TurnedHash {
        TurnedHash(hash.0 ^ self.0)
    }

    /// A number that tells where a hash starts in layer `layer`, which is not the first.
    #[inline(always)]
    pub fn relayer(self, hash: Hash, layer: usize) -> u64 {
        fold(hash.0 ^ self.0.wrapping_mul(layer as u64 + 2), LAYER_MIX)
    }
}

/// A hash under a shard's seed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TurnedHash(u64);

/// A layout, and the equations over as many slots as it says.
pub(crate) trait Equations: Layout {
    /// As many bits as slots.
    type Bits: Coefficients;

    /// The equation of a hash.
    fn equation(hash: TurnedHash) -> Equation<Self::Bits>;
}

impl Equations for Slots64 {
    type Bits = u64;

    #[inline(always)]
    fn equation(hash: TurnedHash) -> Equation {
        let product = u128::from(hash.0) * u128::from(MIX);
        let (low, high) = (product as u64, (product >> 64) as u64);
        Equation { coefficients: (low ^ high) | 1, fingerprint: low >> 32 }
    }
}

impl Equations for Slots128 {
    type Bits = u128;

    #[inline(always)]
    fn equation(hash: TurnedHash) -> Equation<u128> {
        let Equation { coefficients, fingerprint } = Slots64::equation(hash);
        let upper = fold(hash.0, UPPER_MIX);
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

    /// Whether bytes can be permuted and bits counted in vectors: on all machines with AVX-512 but
    /// the first ones, for which AVX2 is as good.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn has_avx512() -> bool {
        super::has_avx512()
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("avx512vpopcntdq")
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
            // SAFETY: the field says that AVX-512 and all that the callee asks was detected.
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
            // SAFETY: the field says that AVX-512 and all that the callee asks was detected.
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
        if let Some(answer) = shard.settled {
            return answer;
        }
        let start = self.first_start(body.0, shard, place);
        match start.bumped {
            false => self.solve::<S>(body, start.at, start.columns, shard.seed.turn(hash)),
            true => self.bumped::<S>(body, shard, hash),
        }
    }

    /// The answer for a key that the first layer bumped.
    #[inline(always)]
    fn bumped<S: Solve<L>>(&self, body: CheckedBytes<'_>, shard: &Shard, hash: Hash) -> bool {
        match self.later_start(body.0, shard, hash) {
            Some(Start { at, columns, .. }) => {
                self.solve::<S>(body, at, columns, shard.seed.turn(hash))
            }
            // What every layer bumps was in no list of keys.
            None => false,
        }
    }

    #[inline(always)]
    fn solve<S: Solve<L>>(
        &self,
        body: CheckedBytes<'_>,
        at: usize,
        columns: usize,
        hash: TurnedHash,
    ) -> bool {
        // SAFETY: starts are inside of the body only, and `S` is the kernel of this machine.
        unsafe { S::solves(body, at, columns, L::equation(hash)) }
    }

    /// Lookups with the kernel `S`.
    #[inline(always)]
    fn many<S: Solve<L>>(&self, body: CheckedBytes<'_>, hashes: &[Hash], answers: &mut [bool]) {
        if !self.is_layered {
            for (hash, answer) in hashes.iter().zip(answers) {
                *answer = self.one::<S>(body, *hash);
            }
        } else if body.0.len() < CACHED_BYTES {
            self.in_chunks::<S, false>(body, hashes, answers);
        } else {
            self.in_chunks::<S, true>(body, hashes, answers);
        }
    }

    /// Lookups where every shard has layers, chunk by chunk.
    #[inline(always)]
    fn in_chunks<S: Solve<L>, const AHEAD: bool>(
        &self,
        body: CheckedBytes<'_>,
        hashes: &[Hash],
        answers: &mut [bool],
    ) {
        let (mut chunk, mut next) = (Chunk::default(), Chunk::default());
        let mut coming = hashes.chunks(CHUNK);
        self.prepare::<AHEAD>(body, coming.next().unwrap_or_default(), &mut chunk);
        for (hashes, answers) in hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
            self.prepare::<AHEAD>(body, coming.next().unwrap_or_default(), &mut next);
            for (prepared, answer) in chunk.prepared.iter().take(hashes.len()).zip(&mut *answers) {
                let Prepared { at, columns, hash } = *prepared;
                *answer = self.solve::<S>(body, at, columns, hash);
            }
            for index in &chunk.bumped[..chunk.bumps.min(CHUNK)] {
                let hash = hashes[usize::from(*index)];
                let (shard, _) = self.shard(hash);
                answers[usize::from(*index)] = self.bumped::<S>(body, shard, hash);
            }
            std::mem::swap(&mut chunk, &mut next);
        }
    }

    /// Find where lookups start, and ask for their blocks.
    #[inline(always)]
    fn prepare<const AHEAD: bool>(
        &self,
        body: CheckedBytes<'_>,
        hashes: &[Hash],
        chunk: &mut Chunk,
    ) {
        let mut bumps = 0;
        for (index, (hash, prepared)) in hashes.iter().zip(&mut chunk.prepared).enumerate() {
            let (shard, place) = self.shard(*hash);
            let Start { at, columns, bumped } = self.first_start(body.0, shard, place);
            if AHEAD {
                let first = body.0.as_ptr().wrapping_add(at);
                let last = columns * L::WINDOW as usize - 1;
                prefetch_at(first);
                prefetch_at(first.wrapping_add(last));
                if last > 64 {
                    (64..last).step_by(64).for_each(|next| prefetch_at(first.wrapping_add(next)));
                }
            }
            *prepared = Prepared { at, columns, hash: shard.seed.turn(*hash) };
            // The next one overwrites it if it does not count.
            chunk.bumped[bumps % CHUNK] = index as u8;
            bumps += usize::from(bumped);
        }
        chunk.bumps = bumps;
    }
}

/// A lookup that needs only its blocks.
#[derive(Clone, Copy, Default)]
struct Prepared {
    at: usize,
    columns: usize,
    hash: TurnedHash,
}

/// Lookups that are prepared.
#[derive(Default)]
struct Chunk {
    prepared: [Prepared; CHUNK],
    /// Those that were bumped to a later layer; `bumps` of them count.
    bumped: [u8; CHUNK],
    bumps: usize,
}
