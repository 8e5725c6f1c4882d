//! How a `Ribbon` is built: hashes are divided by shard, and each shard is banded and solved.

use super::Ribbon;
use super::band::{Banding, Rules, band, band_two};
use super::sort::sort_distinct;
use crate::Key;
use crate::filter::fuse::build::{HashBuffer, PassDigest, partition, shards_within};
use crate::hash::{Hash, reduce};
use crate::kernel::AlignedBuf;
use crate::kernel::ribbon::{Record, Seed, back_substitute};
use crate::scheme::{Native, Scheme};
use crate::sizing::{
    BLOCK_SLOTS, LayerShape, MAX_LAYERS, RIBBON_PADDING, RIBBON_RECORD, RibbonShape,
};
use crate::spec::{Spec, SpecError};
use std::ops::Range;

/// Seeds that a shard tries. Hashes of different keys find their layers with the first; what does
/// not are numbers contrived to collide.
const SEEDS: u32 = 32;
/// The most keys of one shard: slots are counted in 32 bits.
const MAX_SHARD_KEYS: usize = 1 << 28;

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
        let builder = RibbonBuilder::new(spec, hashes.len() as u64)?;
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
        mut pass: impl FnMut(&mut (dyn FnMut(Hash) + Send)),
    ) -> Result<Ribbon, SpecError> {
        let mut kept = HashBuffer::new(max_hashes);
        let mut bins = vec![0u64; 1 << crate::filter::fuse::build::BIN_BITS];
        let mut first = PassDigest::default();
        pass(&mut |hash| {
            first.count(hash);
            bins[(hash.0 >> (64 - crate::filter::fuse::build::BIN_BITS)) as usize] += 1;
            kept.push(hash);
        });
        let mut builder = RibbonBuilder::new(spec, first.hashes)?;
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
    /// Seeds begin here: filters over the same keys must not err alike.
    first_seed: u32,
    records: Vec<[u8; RIBBON_RECORD as usize]>,
    keys: u64,
    body: AlignedBuf,
    /// Bytes of the body that are written.
    end: u64,
}

/// A shard that is built.
pub struct RibbonShard {
    record: Record,
    /// Its layers: thresholds and blocks.
    bytes: Vec<u8>,
    keys: u64,
}

impl RibbonBuilder {
    /// For this many hashes in all, equal ones counted as often as they come.
    pub fn new(spec: Spec, hashes: u64) -> Result<RibbonBuilder, SpecError> {
        let refused = SpecError::Width { got: spec.fpr() };
        let shape = RibbonShape::for_fpr(hashes, spec.fpr()).ok_or(refused)?;
        RibbonBuilder::with_shape(spec, shape, 0)
    }

    fn with_shape(
        spec: Spec,
        shape: RibbonShape,
        first_seed: u32,
    ) -> Result<RibbonBuilder, SpecError> {
        let expected = shape.bits() / 8;
        Ok(RibbonBuilder {
            spec,
            shape,
            first_seed,
            records: Vec::new(),
            keys: 0,
            body: AlignedBuf::zeroed(expected + expected / 256)?,
            end: shape.shards() * RIBBON_RECORD,
        })
    }

    /// Shards of the filter.
    pub fn shard_count(&self) -> u64 {
        self.shape.shards()
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
        let counts = partition(hashes, self.shard_count(), which);
        let (mut x, mut y) = (Banding::default(), Banding::default());
        let mut shards = Vec::with_capacity(counts.len());
        let mut rest = &*hashes;
        for pair in counts.chunks(2) {
            for (banding, count) in [&mut x, &mut y].into_iter().zip(pair) {
                let (shard, others) = rest.split_at(*count);
                if *count > MAX_SHARD_KEYS {
                    return Err(SpecError::Memory { bytes: *count as u64 * 16 });
                }
                let count = self.shard_count();
                sort_distinct(shard, |hash| hash.0.wrapping_mul(count), &mut banding.keys);
                rest = others;
            }
            match pair.len() {
                1 => shards.push(self.shard(&mut x, None)),
                _ => shards.extend(self.shard_pair(&mut x, &mut y)),
            }
        }
        Ok(shards)
    }

    fn rules<F>(&self, keys: usize, number: usize, seed: u32, flip: F) -> Rules<'_, F> {
        Rules {
            shape: &self.shape,
            layer: LayerShape::for_keys(keys as u64, self.shape.wide),
            number,
            shards: self.shard_count(),
            seed: Seed::new(seed),
            flip,
        }
    }

    /// Two shards, their first layers banded in turns.
    fn shard_pair(&self, x: &mut Banding, y: &mut Banding) -> [RibbonShard; 2] {
        if x.keys.is_empty() || y.keys.is_empty() {
            return [self.shard(x, None), self.shard(y, None)];
        }
        let of_x = self.rules(x.keys.len(), 0, self.first_seed, no_flip);
        let of_y = self.rules(y.keys.len(), 0, self.first_seed, no_flip);
        band_two(x, y, [&of_x, &of_y]);
        [self.shard(x, Some(of_x.layer)), self.shard(y, Some(of_y.layer))]
    }

    /// A shard of `banding.keys`; its first layer may be banded already, with the first seed.
    fn shard(&self, banding: &mut Banding, mut banded: Option<LayerShape>) -> RibbonShard {
        let keys = banding.keys.len() as u64;
        if keys == 0 {
            return RibbonShard { record: Record::settled(false), bytes: Vec::new(), keys };
        }
        // Later seeds need the keys again.
        let mut all: Vec<Hash> = Vec::new();
        for seed in self.first_seed..self.first_seed + SEEDS {
            if !all.is_empty() {
                banding.keys.clone_from(&all);
            }
            let mut record = Record { seed, answer: false, layers: Vec::new() };
            let mut bytes = Vec::new();
            for number in 0..MAX_LAYERS {
                let layer = banded.take().unwrap_or_else(|| {
                    let rules = self.rules(banding.keys.len(), number, seed, no_flip);
                    band(banding, &rules);
                    rules.layer
                });
                self.write_layer(banding, &layer, &mut bytes);
                record.layers.push(layer);
                if banding.bumped.is_empty() {
                    return RibbonShard { record, bytes, keys };
                }
                let next = self.rules(0, number + 1, seed, no_flip);
                let bumped = std::mem::take(&mut banding.bumped);
                let sorted = std::mem::replace(&mut banding.keys, bumped);
                banding.keys.sort_by_cached_key(|hash| (next.place(*hash), *hash));
                if number == 0 && all.is_empty() {
                    all = sorted;
                } else {
                    banding.bumped = sorted;
                }
            }
        }
        RibbonShard { record: Record::settled(true), bytes: Vec::new(), keys }
    }

    /// Thresholds and blocks of a layer that is banded.
    fn write_layer(&self, banding: &Banding, layer: &LayerShape, bytes: &mut Vec<u8>) {
        for levels in banding.levels.chunks(4) {
            let pack = |byte: u8, (index, level): (usize, &u8)| byte | level << (2 * index);
            bytes.push(levels.iter().enumerate().fold(0, pack));
        }
        let mut rows = &banding.rows[..];
        for (strip, blocks) in layer.strips().into_iter().enumerate() {
            let (here, others) = rows.split_at((blocks * BLOCK_SLOTS) as usize);
            let columns = self.shape.columns as usize + strip;
            let at = bytes.len();
            bytes.resize(at + blocks as usize * columns, 0);
            back_substitute(here, columns, &mut bytes[at..]);
            rows = others;
        }
    }

    /// Take the next shard; all of them must come, in their order.
    fn append(&mut self, shard: RibbonShard) -> Result<(), SpecError> {
        let RibbonShard { record, bytes, keys } = shard;
        self.records.push(record.bytes(self.end, self.shape.wide));
        self.keys += keys;
        let end = self.end + bytes.len() as u64;
        let have = self.body.as_ref();
        if end + RIBBON_PADDING > have.len() as u64 {
            let mut larger = AlignedBuf::zeroed(end + end / 8 + RIBBON_PADDING)?;
            larger.as_mut()[..have.len()].copy_from_slice(have);
            self.body = larger;
        }
        self.body.as_mut()[self.end as usize..end as usize].copy_from_slice(&bytes);
        self.end = end;
        Ok(())
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
        let count = self.shard_count();
        assert_eq!(self.records.len() as u64, count, "a ribbon filter of {count} shards");
        let end = self.end + RIBBON_PADDING;
        let mut body = self.body;
        if (body.as_ref().len() as u64) < end || end < body.as_ref().len() as u64 / 8 * 7 {
            let mut fitting = AlignedBuf::zeroed(end)?;
            fitting.as_mut()[..self.end as usize]
                .copy_from_slice(&body.as_ref()[..self.end as usize]);
            body = fitting;
        }
        body.truncate(end);
        let (records, _) = body.as_mut().as_chunks_mut();
        for (place, record) in records.iter_mut().zip(&self.records) {
            *place = *record;
        }
        // Its own bytes are what they should be; what may be missing is memory for the directory.
        let refused = SpecError::Memory { bytes: count * 64 };
        let RibbonShape { columns, wide, .. } = self.shape;
        Ribbon::from_bytes(self.spec, self.keys, count, columns, wide, body).ok_or(refused)
    }
}

/// An ordinary filter: every key's fingerprint is its own.
fn no_flip(_: Hash) -> u64 {
    0
}
