//! How a `Ribbon` is built: hashes are divided by shard, and each shard is banded and solved.

use super::Ribbon;
use super::assembly::Assembly;
use super::band::Banding;
use super::shard::{BuiltShard, MAX_SHARD_KEYS, ShardRules};
use super::sort::sort_distinct;
use crate::Key;
use crate::filter::fuse::build::{BIN_BITS, HashBuffer, PassDigest, partition, shards_within};
use crate::hash::{Hash, reduce};
use crate::scheme::{Native, Scheme};
use crate::sizing::{RibbonShape, Slots64};
use crate::spec::{Spec, SpecError};
use std::ops::Range;

impl Ribbon {
    /// A filter of these keys at a false-positive rate of `fpr`; equal keys count once. Their hashes
    /// are held in memory, 8 bytes each: where that is too much see [`build`](Ribbon::build).
    ///
    /// ```
    /// # use mayhap::Ribbon;
    /// let filter = Ribbon::from_keys(0.001, ["ada", "bob", "ada"])?;
    /// assert_eq!(filter.keys(), 2);
    /// assert!(filter.contains("bob"));
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn from_keys<K: Key>(
        fpr: f64,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Ribbon, SpecError> {
        let scheme = Native::default();
        let mut hashes: Vec<Hash> = keys.into_iter().map(|key| scheme.hash(key)).collect();
        Ribbon::from_hashes(Spec::new(hashes.len() as u64, fpr)?, &mut hashes)
    }

    /// As [`from_keys`](Ribbon::from_keys), with the rate, the seed or the secret of a [`Spec`]; its
    /// capacity is not looked at, since the keys are here.
    pub fn with_spec<K: Key>(
        spec: Spec,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Ribbon, SpecError> {
        let scheme = spec.scheme();
        let mut hashes: Vec<Hash> = keys.into_iter().map(|key| scheme.hash(key)).collect();
        Ribbon::from_hashes(spec, &mut hashes)
    }

    /// A filter of these hashed keys; equal ones count once. The hashes are left in another order.
    ///
    /// It never fails for want of a place: a shard that finds none (numbers contrived to collide
    /// can do that, hashes of keys do not) answers "maybe" to everything, and
    /// [`fpr_now`](Ribbon::fpr_now) tells.
    pub fn from_hashes(spec: Spec, hashes: &mut [Hash]) -> Result<Ribbon, SpecError> {
        Ribbon::from_hashes_in(spec, shape(spec, hashes.len() as u64)?, hashes)
    }

    /// The same with these columns, whatever the spec says.
    pub(in crate::filter) fn from_hashes_in(
        spec: Spec,
        shape: RibbonShape,
        hashes: &mut [Hash],
    ) -> Result<Ribbon, SpecError> {
        let keys = hashes.len() as u64;
        let builder = RibbonBuilder::with_shape(spec, RibbonShape { keys, ..shape })?;
        let shards = builder.shards(0..builder.shard_count(), hashes)?;
        builder.finish(shards)
    }

    /// A filter of more keys than there is memory for their hashes.
    ///
    /// `pass` goes through all keys and gives the hash of each (as [`Spec::scheme`] makes it) to
    /// the function it is called with. It is called once where `max_hashes` hold all of them;
    /// otherwise once to count, and then again and again, and each time the hashes of some shards
    /// are kept, at most `max_hashes` in all (or one shard's, about half a million of them).
    ///
    /// Every pass must give the same hashes, in any order: where one gives others than the first
    /// the answer is [`SpecError::Passes`], never a filter in which some are missing. The filter
    /// is to the last byte what [`from_hashes`](Ribbon::from_hashes) makes of them.
    ///
    /// ```
    /// # use mayhap::scheme::Scheme;
    /// # use mayhap::{Ribbon, Spec};
    /// let spec = Spec::new(10_000, 0.01)?;
    /// let scheme = spec.scheme();
    /// let filter = Ribbon::build(spec, 1_000, |keep| {
    ///     (0..10_000u64).for_each(|key| keep(scheme.hash(key)));
    /// })?;
    /// assert_eq!(filter.keys(), 10_000);
    /// assert!((0..10_000u64).all(|key| filter.contains(key)));
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn build(
        spec: Spec,
        max_hashes: usize,
        pass: impl FnMut(&mut (dyn FnMut(Hash) + Send)),
    ) -> Result<Ribbon, SpecError> {
        Ribbon::build_in(spec, |keys| shape(spec, keys), max_hashes, pass)
    }

    /// The same with the columns that `shape` says for a number of hashes, whatever the spec says.
    pub(in crate::filter) fn build_in(
        spec: Spec,
        shape: impl Fn(u64) -> Result<RibbonShape, SpecError>,
        max_hashes: usize,
        mut pass: impl FnMut(&mut (dyn FnMut(Hash) + Send)),
    ) -> Result<Ribbon, SpecError> {
        let mut kept = HashBuffer::new(max_hashes);
        let mut bins = vec![0u64; 1 << BIN_BITS];
        let mut first = PassDigest::default();
        pass(&mut |hash| {
            first.count(hash);
            bins[(hash.0 >> (64 - BIN_BITS)) as usize] += 1;
            kept.push(hash);
        });
        let mut builder = RibbonBuilder::with_shape(spec, shape(first.hashes)?)?;
        let shards = builder.shard_count();
        if kept.is_whole()? {
            let built = builder.shards(0..shards, kept.hashes_mut())?;
            return builder.finish(built);
        }
        let mut next = 0;
        while next < shards {
            let (until, most) = shards_within(&bins, shards, next, max_hashes as u64);
            kept.clear(most);
            let mut digest = PassDigest::default();
            pass(&mut |hash| {
                digest.count(hash);
                if (next..until).contains(&reduce(hash.0, shards)) {
                    kept.push(hash);
                }
            });
            if digest != first || !kept.is_whole()? {
                return Err(SpecError::Passes { first: first.hashes, later: digest.hashes });
            }
            for shard in builder.shards(next..until, kept.hashes_mut())? {
                builder.append(shard)?;
            }
            next = until;
        }
        builder.finish([])
    }
}

/// A ribbon filter in the making, for callers with threads: shards are independent of each other, so
/// that any thread may build any of them, and the bytes are the same.
///
/// ```
/// use mayhap::ribbon::RibbonBuilder;
/// use mayhap::scheme::Scheme;
/// use mayhap::{Hash, Ribbon, Spec};
/// let spec = Spec::new(3_000_000, 0.01)?;
/// let mut hashes: Vec<Hash> = (0..3_000_000u64).map(|key| spec.scheme().hash(key)).collect();
/// let builder = RibbonBuilder::new(spec, hashes.len() as u64)?;
/// let half = builder.shard_count() / 2;
/// let (mut low, mut high): (Vec<_>, Vec<_>) =
///     hashes.iter().partition(|hash| builder.shard_of(**hash) < half);
/// let (low, high) = std::thread::scope(|scope| {
///     let low = scope.spawn(|| builder.shards(0..half, &mut low));
///     let high = builder.shards(half..builder.shard_count(), &mut high);
///     (low.join().unwrap(), high)
/// });
/// let filter = builder.finish(low?.into_iter().chain(high?))?;
/// assert_eq!(filter.as_bytes(), Ribbon::from_hashes(spec, &mut hashes)?.as_bytes());
/// # Ok::<(), mayhap::SpecError>(())
/// ```
pub struct RibbonBuilder {
    spec: Spec,
    shape: RibbonShape,
    rules: ShardRules,
    assembly: Assembly,
}

/// A shard that is built.
pub struct RibbonShard(BuiltShard);

/// The columns that meet the target.
fn shape(spec: Spec, hashes: u64) -> Result<RibbonShape, SpecError> {
    RibbonShape::for_fpr(hashes, spec.fpr()).ok_or(SpecError::Width { got: spec.fpr() })
}

impl RibbonBuilder {
    /// For this many hashes in all, equal ones counted as often as they come.
    pub fn new(spec: Spec, hashes: u64) -> Result<RibbonBuilder, SpecError> {
        RibbonBuilder::with_shape(spec, shape(spec, hashes)?)
    }

    fn with_shape(spec: Spec, shape: RibbonShape) -> Result<RibbonBuilder, SpecError> {
        let RibbonShape { columns, wide, .. } = shape;
        let rules = ShardRules { columns, wide, shards: shape.shards(), first_seed: 0 };
        let assembly = Assembly::new(rules.shards, wide, shape.bits() / 8)?;
        Ok(RibbonBuilder { spec, shape, rules, assembly })
    }

    /// Shards of the filter.
    pub fn shard_count(&self) -> u64 {
        self.rules.shards
    }

    /// The shard that a hash belongs to.
    pub fn shard_of(&self, hash: Hash) -> u64 {
        reduce(hash.0, self.shard_count())
    }

    /// Build these shards from all of their hashes, which are left in another order. Two at a time
    /// share a processor best, so an even number of shards is best.
    pub fn shards(
        &self,
        which: Range<u64>,
        hashes: &mut [Hash],
    ) -> Result<Vec<RibbonShard>, SpecError> {
        let shards = self.shard_count();
        let counts = partition(hashes, shards, which);
        let (mut x, mut y) = (Banding::<Slots64>::default(), Banding::default());
        let mut built = Vec::with_capacity(counts.len());
        let mut rest = &*hashes;
        for pair in counts.chunks(2) {
            for (banding, count) in [&mut x, &mut y].into_iter().zip(pair) {
                let (shard, others) = rest.split_at(*count);
                if *count > MAX_SHARD_KEYS {
                    return Err(SpecError::Memory { bytes: *count as u64 * 16 });
                }
                sort_distinct(shard, |hash| hash.0.wrapping_mul(shards), &mut banding.keys);
                rest = others;
            }
            match pair.len() {
                1 => built.push(self.rules.build(&mut x, &no_flip)),
                _ => built.extend(self.rules.build_two(&mut x, &mut y, [&no_flip, &no_flip])),
            }
        }
        Ok(built.into_iter().map(RibbonShard).collect())
    }

    /// Take the next shard; all of them must come, in their order.
    fn append(&mut self, shard: RibbonShard) -> Result<(), SpecError> {
        self.assembly.append(shard.0)
    }

    /// The filter, of these shards (after those that were appended) in the order of their numbers.
    ///
    /// # Panics
    ///
    /// Where there are fewer or more shards than [`shard_count`](RibbonBuilder::shard_count).
    pub fn finish(
        mut self,
        shards: impl IntoIterator<Item = RibbonShard>,
    ) -> Result<Ribbon, SpecError> {
        for shard in shards {
            self.append(shard)?;
        }
        let RibbonShape { columns, wide, .. } = self.shape;
        let (shards, keys) = (self.rules.shards, self.assembly.keys());
        let body = self.assembly.finish()?;
        // Its own bytes are what they should be; what may be missing is memory for the directory.
        let refused = SpecError::Memory { bytes: shards * 64 };
        Ribbon::from_bytes(self.spec, keys, shards, columns, wide, body).ok_or(refused)
    }
}

/// An ordinary filter: every key's fingerprint is its own.
fn no_flip(_: Hash) -> u64 {
    0
}
