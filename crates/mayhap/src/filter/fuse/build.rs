//! How a `Fuse` comes into being: hashes are parted by shard, and each shard is peeled.

use super::Fuse;
use super::peel::Peeler;
use crate::Key;
use crate::hash::{Hash, reduce};
use crate::kernel::{AlignedBuf, Shard};
use crate::scheme::{Native, Scheme};
use crate::sizing::{FuseShape, RECORD_BYTES, directory_bytes};
use crate::spec::{Spec, SpecError};
use std::mem::{swap, take};
use std::ops::Range;

impl Fuse {
    /// A filter of these keys at a false-positive rate of `fpr`; equal keys count once. Their hashes
    /// are held in memory, 8 bytes each: where that is too much see [`build`](Fuse::build).
    ///
    /// ```
    /// # use mayhap::Fuse;
    /// let filter = Fuse::from_keys(0.001, ["ada", "bob", "ada"])?;
    /// assert_eq!(filter.keys(), 2);
    /// assert!(filter.contains("bob"));
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn from_keys<K: Key>(
        fpr: f64,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Fuse, SpecError> {
        let scheme = Native::default();
        let mut hashes: Vec<Hash> = keys.into_iter().map(|key| scheme.hash(key)).collect();
        Fuse::from_hashes(Spec::new(hashes.len() as u64, fpr)?, &mut hashes)
    }

    /// As [`from_keys`](Fuse::from_keys), with the rate, the seed or the secret of a [`Spec`]; its
    /// capacity is not looked at, since the keys are here.
    pub fn with_spec<K: Key>(
        spec: Spec,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Fuse, SpecError> {
        let scheme = spec.scheme();
        let mut hashes: Vec<Hash> = keys.into_iter().map(|key| scheme.hash(key)).collect();
        Fuse::from_hashes(spec, &mut hashes)
    }

    /// A filter of these hashed keys; equal ones count once. The hashes are left in some other
    /// order, and some of them overwritten.
    ///
    /// It never fails for want of a place: a shard that finds none (numbers contrived to collide
    /// can do that, hashes of keys do not) answers "maybe" to everything, and
    /// [`fpr_now`](Fuse::fpr_now) tells.
    pub fn from_hashes(spec: Spec, hashes: &mut [Hash]) -> Result<Fuse, SpecError> {
        let mut building = FuseBuilder::new(spec, width(spec)?, hashes.len() as u64)?;
        let shards = building.shards;
        building.shards(0..shards, hashes)?;
        building.finish()
    }

    /// A filter of more keys than there is memory for their hashes.
    ///
    /// `pass` goes through all keys and gives the hash of each (as [`Spec::scheme`] makes it) to
    /// the function it is called with. It is called once where `max_hashes` hold all of them;
    /// otherwise once to count, and then again and again, and each time the hashes of some shards
    /// are kept, at most `max_hashes` in all (or one shard's, 1 to 2 million of them). Beside
    /// these there is only the filter itself and some 40 MB.
    ///
    /// Every pass must give the same hashes, in any order: where one gives others than the first
    /// the answer is [`SpecError::Passes`], never a filter in which some are missing. The filter
    /// is to the last byte what [`from_hashes`](Fuse::from_hashes) makes of them.
    ///
    /// ```
    /// # use mayhap::scheme::Scheme;
    /// # use mayhap::{Fuse, Spec};
    /// let spec = Spec::new(10_000, 0.01)?;
    /// let scheme = spec.scheme();
    /// let filter = Fuse::build(spec, 1_000, |keep| {
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
    ) -> Result<Fuse, SpecError> {
        let mut kept = HashBuffer::new(max_hashes);
        let mut bins = vec![0u64; 1 << BIN_BITS];
        let mut first = PassDigest::default();
        pass(&mut |hash| {
            first.count(hash);
            bins[(hash.0 >> (64 - BIN_BITS)) as usize] += 1;
            kept.push(hash);
        });
        let mut building = FuseBuilder::new(spec, width(spec)?, first.hashes)?;
        let shards = building.shards;
        if kept.is_whole()? {
            building.shards(0..shards, &mut kept.hashes)?;
            return building.finish();
        }
        let mut next = 0;
        while next < shards {
            let (until, most) = shards_within(&bins, shards, next, max_hashes as u64);
            kept.clear(most);
            let mut tally = PassDigest::default();
            pass(&mut |hash| {
                tally.count(hash);
                if (next..until).contains(&reduce(hash.0, shards)) {
                    kept.push(hash);
                }
            });
            if tally != first || !kept.is_whole()? {
                return Err(SpecError::Passes { first: first.hashes, later: tally.hashes });
            }
            building.shards(next..until, &mut kept.hashes)?;
            next = until;
        }
        building.finish()
    }
}

/// The narrowest fingerprints that meet the target.
fn width(spec: Spec) -> Result<u32, SpecError> {
    let shape = FuseShape::for_fpr(spec.capacity(), spec.fpr());
    shape.map(|shape| shape.width).ok_or(SpecError::Width { got: spec.fpr() })
}

/// The first pass counts hashes by their top bits, finely enough to tell how many a shard gets.
pub(in crate::filter) const BIN_BITS: u32 = 16;

/// The shards from `next` on whose hashes surely fit into `max_hashes`, at least one: where they
/// end, and how many hashes they have at most.
pub(in crate::filter) fn shards_within(
    bins: &[u64],
    shards: u64,
    next: u64,
    max_hashes: u64,
) -> (u64, u64) {
    let bin = |hash: u64| (hash >> (64 - BIN_BITS)) as usize;
    let begin = bin(first_hash(next, shards));
    let most = |until: u64| {
        let last = if until == shards { u64::MAX } else { first_hash(until, shards) };
        bins[begin..=bin(last)].iter().sum::<u64>()
    };
    let mut until = next + 1;
    while until < shards && most(until + 1) <= max_hashes {
        until += 1;
    }
    (until, most(until))
}

/// The lowest hash that belongs to a shard.
pub(in crate::filter) fn first_hash(shard: u64, shards: u64) -> u64 {
    (u128::from(shard) << 64).div_ceil(u128::from(shards)) as u64
}

/// What a pass went through: two passes over the same hashes agree, in whatever order they came.
#[derive(Clone, Copy, Default, PartialEq)]
pub(in crate::filter) struct PassDigest {
    pub hashes: u64,
    sum: u64,
}

impl PassDigest {
    pub fn count(&mut self, hash: Hash) {
        self.hashes += 1;
        self.sum = self.sum.wrapping_add(hash.0);
    }
}

/// Hashes kept of a pass, up to a limit.
pub(in crate::filter) struct HashBuffer {
    hashes: Vec<Hash>,
    most: usize,
    /// There were more than `most`.
    over: bool,
    /// An allocation failed.
    refused: bool,
}

impl HashBuffer {
    pub fn new(most: usize) -> HashBuffer {
        HashBuffer { hashes: Vec::new(), most, over: false, refused: false }
    }

    pub fn clear(&mut self, most: u64) {
        self.hashes.clear();
        *self = HashBuffer {
            hashes: take(&mut self.hashes),
            ..HashBuffer::new(usize::try_from(most).unwrap_or(usize::MAX))
        };
    }

    pub fn push(&mut self, hash: Hash) {
        if self.hashes.len() == self.most {
            self.over = true;
        } else if self.hashes.len() < self.hashes.capacity() || self.hashes.try_reserve(1).is_ok() {
            self.hashes.push(hash);
        } else {
            self.refused = true;
        }
    }

    pub fn hashes_mut(&mut self) -> &mut [Hash] {
        &mut self.hashes
    }

    /// Whether everything pushed is here.
    pub fn is_whole(&self) -> Result<bool, SpecError> {
        if self.refused {
            return Err(SpecError::Memory { bytes: self.most as u64 * 8 });
        }
        Ok(!self.over)
    }
}

/// A filter half built: its directory, and the shards so far.
pub(super) struct FuseBuilder {
    spec: Spec,
    width: u32,
    pub shards: u64,
    keys: u64,
    /// The records of the directory so far.
    directory: Vec<[u8; RECORD_BYTES as usize]>,
    body: AlignedBuf,
    /// Bytes of the body that are written.
    end: u64,
    peeler: Peeler,
}

impl FuseBuilder {
    /// A filter of so many hashes, equal ones among them or not.
    pub fn new(spec: Spec, width: u32, hashes: u64) -> Result<FuseBuilder, SpecError> {
        let shape = FuseShape { keys: hashes, width };
        let shards = shape.shards();
        Ok(FuseBuilder {
            spec,
            width,
            shards,
            keys: 0,
            directory: Vec::new(),
            body: AlignedBuf::zeroed(shape.bits() / 8 + shape.bits() / 1024)?,
            end: directory_bytes(shards),
            peeler: Peeler::new()?,
        })
    }

    /// Build these shards, whose hashes these are.
    fn shards(&mut self, which: Range<u64>, hashes: &mut [Hash]) -> Result<(), SpecError> {
        let mut rest = hashes;
        let counts = partition(rest, self.shards, which);
        for count in counts {
            let (shard, others) = take(&mut rest).split_at_mut(count);
            self.shard(shard)?;
            rest = others;
        }
        Ok(())
    }

    /// Build the next shard. Where no place is found for the hashes it answers "maybe" to everything.
    fn shard(&mut self, hashes: &mut [Hash]) -> Result<(), SpecError> {
        let begin = self.end;
        let peeled = self.peeler.peel(hashes)?;
        self.keys += peeled.keys as u64;
        let Some((segments, shard)) = peeled.order else {
            self.directory.push(Shard::blank(peeled.keys > 0).record(begin));
            return Ok(());
        };
        self.end += segments.bytes(self.width);
        self.reserve(self.end)?;
        let room = &mut self.body.as_mut()[begin as usize..self.end as usize];
        self.peeler.write(&peeled, self.width, room);
        self.directory.push(shard.record(begin));
        Ok(())
    }

    /// Room for so many bytes. The first guess is nearly always enough.
    fn reserve(&mut self, bytes: u64) -> Result<(), SpecError> {
        let have = self.body.as_ref();
        if bytes > have.len() as u64 {
            let mut larger = AlignedBuf::zeroed(bytes + bytes / 8)?;
            larger.as_mut()[..have.len()].copy_from_slice(have);
            self.body = larger;
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<Fuse, SpecError> {
        self.reserve(self.end)?;
        let (records, _) = self.body.as_mut().as_chunks_mut::<{ RECORD_BYTES as usize }>();
        for (record, place) in self.directory.iter().zip(records) {
            *place = *record;
        }
        let FuseBuilder { spec, width, shards, keys, mut body, end, .. } = self;
        if end < body.as_ref().len() as u64 / 8 * 7 {
            body = AlignedBuf::copy_of(&body.as_ref()[..end as usize])?;
        }
        body.truncate(end);
        // Its own bytes are what they should be; what may be missing is memory for the table.
        let refused = SpecError::Memory { bytes: shards * size_of::<Shard>() as u64 };
        Fuse::from_bytes(spec, keys, shards, width, body).ok_or(refused)
    }
}

/// Bring hashes into the order of their shards, and tell how many each has. All must belong to
/// `which`; in place, each hash moved about once.
pub(in crate::filter) fn partition(
    hashes: &mut [Hash],
    shards: u64,
    which: Range<u64>,
) -> Vec<usize> {
    let parts = (which.end - which.start) as usize;
    if parts == 1 {
        return vec![hashes.len()];
    }
    let shard = |hash: Hash| (reduce(hash.0, shards) - which.start) as usize;
    let mut counts = vec![0; parts];
    for hash in &*hashes {
        counts[shard(*hash)] += 1;
    }
    let ends: Vec<usize> = counts
        .iter()
        .scan(0, |end, count| {
            *end += count;
            Some(*end)
        })
        .collect();
    let mut next: Vec<usize> = ends.iter().zip(&counts).map(|(end, count)| end - count).collect();
    for part in 0..parts {
        while next[part] < ends[part] {
            // Follow the hash that is in the way until one comes that belongs here.
            let mut hash = hashes[next[part]];
            let mut home = shard(hash);
            while home != part {
                swap(&mut hash, &mut hashes[next[home]]);
                next[home] += 1;
                home = shard(hash);
            }
            hashes[next[part]] = hash;
            next[part] += 1;
        }
    }
    counts
}
