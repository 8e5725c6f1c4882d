//! One filter in shards that can be stored separately.

pub(crate) mod kind;
use super::layered::is_plausible;
use super::{Blocked, MergeError, same};
use crate::Key;
use crate::hash::{Hash, fold, reduce};
use crate::kernel::{AlignedBuf, Relocate};
use crate::scheme::{Native, Scheme};
use crate::sizing::{BlockedShape, MAX_SHARDS, shard_capacity};
use crate::spec::{Spec, SpecError};
use std::fmt;

/// Lines are chosen by the hash's high bits, so shards must be chosen by something else: otherwise
/// each shard would use only part of its lines. Not the constant for a key's second line either,
/// for the same reason.
const SHARD_SALT: u64 = 0x5899_65cc_7537_4cc3;

/// The shard of a hashed key, of `shards`: by the range of the folded hash.
///
/// ```
/// use mayhap::sharded::shard_of;
/// use mayhap::Hash;
/// assert!((0..1000).all(|hash| shard_of(Hash::from_u64(hash << 50), 7) < 7));
/// ```
#[inline]
pub fn shard_of(hash: Hash, shards: u32) -> u32 {
    reduce(fold(hash.0, SHARD_SALT), shards.into()) as u32
}

/// One filter in shards that can be stored separately: on the nodes of a cluster, each under its own key.
///
/// Never a false negative. A key belongs to one shard, chosen by its hash, so a lookup
/// costs as much as in a [`Blocked`]: each shard is one, made for its share of the capacity
/// plus a margin for uneven shards (see [`sizing`](crate::sizing::ShardedShape)). The rate is
/// that of a shard. For a filter in one place, `Blocked` is the simpler choice.
///
/// ```
/// # use mayhap::{Sharded, Spec};
/// let mut seen = Sharded::new(Spec::new(10_000, 0.01)?, 8)?;
/// assert!(seen.insert("ada"));
/// assert!(seen.contains("ada"));
/// let home = seen.shard_of(seen.hash("ada"));
/// assert!(seen.shards()[home].contains("ada")); // a filter by itself
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone)]
pub struct Sharded<B = AlignedBuf> {
    spec: Spec,
    /// At least one, all alike.
    shards: Vec<Blocked<B>>,
}

impl Sharded {
    /// An empty filter for this spec of this many shards, 1 to 4096.
    pub fn new(spec: Spec, shards: u32) -> Result<Sharded, SpecError> {
        let part = Sharded::part(spec, shards)?;
        Sharded::with_shape(spec, shards, BlockedShape::for_spec(&part))
    }

    /// An empty filter whose shards have exactly this shape.
    pub fn with_shape(spec: Spec, shards: u32, shape: BlockedShape) -> Result<Sharded, SpecError> {
        let part = Sharded::part(spec, shards)?;
        let shards = (0..shards).map(|_| Blocked::with_shape(part, shape));
        Ok(Sharded { spec, shards: shards.collect::<Result<_, _>>()? })
    }

    /// The capacity of each shard of a filter with this spec.
    pub fn part(spec: Spec, shards: u32) -> Result<Spec, SpecError> {
        if !(1..=MAX_SHARDS).contains(&shards) {
            return Err(SpecError::Shards { got: shards });
        }
        let capacity = shard_capacity(spec.capacity(), shards);
        let part = Spec::new(capacity, spec.fpr())?.with_scheme(spec.scheme());
        Ok(part.with_optimize(spec.optimize()))
    }

    /// Lets a defragmenting allocator relocate the buffers; no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        memory.relocate(&mut self.shards);
        self.shards.iter_mut().for_each(|shard| shard.relocate(memory));
    }

    /// Insert a key. `true`: it was certainly new.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key. `true`: it was certainly new.
    #[inline]
    pub fn insert_hash(&mut self, hash: Hash) -> bool {
        let home = self.shard_of(hash);
        self.shards[home].insert_hash(hash)
    }

    /// Insert them all; returns how many were certainly new.
    pub fn insert_batch(&mut self, hashes: &[Hash]) -> u64 {
        let groups = ByShard::of(hashes, self.shards.len());
        let shards = self.shards.iter_mut().enumerate();
        shards.map(|(home, shard)| shard.insert_batch(groups.hashes(home))).sum()
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    pub fn insert_batch_new(&mut self, hashes: &[Hash], new: &mut Vec<bool>) {
        new.clear();
        new.resize(hashes.len(), false);
        let groups = ByShard::of(hashes, self.shards.len());
        let mut answers = Vec::new();
        for (home, shard) in self.shards.iter_mut().enumerate() {
            shard.insert_batch_new(groups.hashes(home), &mut answers);
            groups.spread(home, &answers, new);
        }
    }

    /// Remove all keys.
    pub fn clear(&mut self) {
        self.shards.iter_mut().for_each(Blocked::clear);
    }

    /// Add everything the other filter holds. They must have equally many shards of one shape and
    /// hash alike.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Sharded<C>) -> Result<(), MergeError> {
        self.combine(other, Blocked::union)
    }

    /// Keep only bits that both filters have: see [`Blocked::intersect`].
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &Sharded<C>) -> Result<(), MergeError> {
        self.combine(other, Blocked::intersect)
    }

    fn combine<C: AsRef<[u8]>>(
        &mut self,
        other: &Sharded<C>,
        with: impl Fn(&mut Blocked, &Blocked<C>) -> Result<(), MergeError>,
    ) -> Result<(), MergeError> {
        same("shards", self.shards.len(), other.shards.len())?;
        // Shards of a filter are all alike, so the first one is rejected or none is.
        self.shards.iter_mut().zip(&other.shards).try_for_each(|(ours, theirs)| with(ours, theirs))
    }
}

impl<B: AsRef<[u8]>> Sharded<B> {
    /// A filter over existing shards. `None` if there are none, or more than 4096, or one is unlike
    /// the others, is hashed otherwise than the spec says, or counts more keys than its bits can
    /// hold.
    pub fn from_parts(spec: Spec, shards: Vec<Blocked<B>>) -> Option<Self> {
        let first = shards.first()?;
        let (part, shape) = (first.spec(), first.shape());
        let alike = |shard: &Blocked<B>| shard.spec() == part && shard.shape() == shape;
        let fits = shards.len() <= MAX_SHARDS as usize
            && part.scheme() == spec.scheme()
            && shards.iter().all(|shard| alike(shard) && is_plausible(shard));
        fits.then_some(Sharded { spec, shards })
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.shards[self.shard_of(hash)].contains_hash(hash)
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        answers.clear();
        answers.resize(hashes.len(), false);
        let groups = ByShard::of(hashes, self.shards.len());
        let mut of_one = Vec::new();
        for (home, shard) in self.shards.iter().enumerate() {
            shard.contains_batch(groups.hashes(home), &mut of_one);
            groups.spread(home, &of_one, answers);
        }
    }

    /// Hash a key once, for lookups and inserts later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme_ref().hash(key)
    }

    /// The index in [`shards`](Sharded::shards) of the shard that a hashed key belongs to.
    #[inline]
    pub fn shard_of(&self, hash: Hash) -> usize {
        shard_of(hash, self.shards.len() as u32) as usize
    }

    /// The shards, each a filter by itself.
    pub fn shards(&self) -> &[Blocked<B>] {
        &self.shards
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// Its spec, for all shards together.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// Inserts that found their key certainly new (after a merge: an estimate).
    pub fn keys(&self) -> u64 {
        self.shards.iter().map(Blocked::keys).fold(0, u64::saturating_add)
    }

    /// Bytes in the arrays of all shards.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.as_bytes().len() as u64).sum()
    }

    /// The share of bits that are set.
    pub fn fill(&self) -> f64 {
        self.mean(Blocked::fill)
    }

    /// How many distinct keys are in, estimated from the bits alone.
    pub fn estimate(&self) -> u64 {
        self.shards.iter().map(Blocked::estimate).fold(0, u64::saturating_add)
    }

    /// The current false-positive rate, from the bits: an absent key is looked up in one shard,
    /// each equally likely.
    pub fn fpr_now(&self) -> f64 {
        self.mean(Blocked::fpr_now)
    }

    fn mean(&self, of: impl Fn(&Blocked<B>) -> f64) -> f64 {
        self.shards.iter().map(of).sum::<f64>() / self.shards.len() as f64
    }
}

impl<B: AsRef<[u8]>> fmt::Display for Sharded<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sharded: {} of {} keys, {} bytes in {} shards, rate {:.3e} now, {:.3e} at capacity",
            self.keys(),
            self.spec.capacity(),
            self.bytes(),
            self.shards.len(),
            self.fpr_now(),
            self.spec.fpr(),
        )
    }
}

/// The hashes of a batch grouped by shard, in order.
struct ByShard {
    hashes: Vec<Hash>,
    /// The index of each in the batch.
    at: Vec<usize>,
    /// Where each shard's hashes end.
    ends: Vec<usize>,
}

impl ByShard {
    fn of(hashes: &[Hash], shards: usize) -> ByShard {
        let home = |hash: Hash| shard_of(hash, shards as u32) as usize;
        let mut ends = vec![0; shards];
        hashes.iter().for_each(|hash| ends[home(*hash)] += 1);
        let mut start = 0;
        // First where each begins; counting sort makes it where each ends.
        for end in &mut ends {
            start += std::mem::replace(end, start);
        }
        let (mut sorted, mut at) = (vec![Hash(0); hashes.len()], vec![0; hashes.len()]);
        for (i, hash) in hashes.iter().enumerate() {
            let place = &mut ends[home(*hash)];
            (sorted[*place], at[*place]) = (*hash, i);
            *place += 1;
        }
        ByShard { hashes: sorted, at, ends }
    }

    fn range(&self, home: usize) -> std::ops::Range<usize> {
        home.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[home]
    }

    fn hashes(&self, home: usize) -> &[Hash] {
        &self.hashes[self.range(home)]
    }

    /// Scatter a shard's answers to the indices of its hashes.
    fn spread(&self, home: usize, answers: &[bool], to: &mut [bool]) {
        for (at, answer) in self.at[self.range(home)].iter().zip(answers) {
            to[*at] = *answer;
        }
    }
}

#[cfg(test)]
mod tests;
