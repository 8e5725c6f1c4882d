//! Static filter of fingerprints: the smallest kind.

mod build;
mod peel;
#[cfg(test)]
mod tests;

use super::Contains;
use crate::Key;
use crate::hash::{Hash, fold, reduce};
use crate::kernel::{Pages, load_three, prefetch};
use crate::scheme::{Native, Scheme};
use crate::sizing::{
    FuseShape, MAX_SEGMENT_LOG, MAX_WIDTH, RECORD_BYTES, SHARD_ALIGN, Segments, directory_bytes,
    hash_floor,
};
use crate::spec::Spec;
use std::fmt;

/// The smallest filter, for keys that are all known beforehand: a binary fuse filter.
///
/// Never a false negative. The rate is 2⁻ʷ for fingerprints of `w` bits, the fewest that meet the
/// [`Spec`], and does not depend on the number of keys: the spec's capacity is not a limit. 1%
/// costs 7.9 bits a key, where [`Blocked`](crate::Blocked) takes 9.9. A lookup is three
/// neighbouring cache misses at once. Rates down to 2⁻³² can be had.
///
/// It is built once, from all keys, and takes no more: where a fingerprint goes depends on all
/// the others. For the same reason two of them have no union and no intersection. Keep the keys
/// and build anew, or choose [`Blocked`](crate::Blocked).
///
/// ```
/// # use mayhap::{Fuse, Spec};
/// let known = Fuse::from_keys(Spec::new(3, 0.01)?, ["ada", "bob", "cyd"])?;
/// assert!(known.contains("ada"));
/// assert!(!known.contains("eve")); // certainly absent
/// assert_eq!((known.keys(), known.width()), (3, 7));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fuse<B = Pages> {
    /// A directory of shards, then their fingerprints.
    body: B,
    shards: u64,
    width: u32,
    /// What `load_bytes` says of the width.
    load_bytes: u32,
    spec: Spec,
    keys: u64,
}

/// Keys in flight while a batch waits for memory.
const RING: usize = 32;
/// Mixes a hash under a shard's seed into its slots. Frozen: files depend on it.
const SLOTS: u64 = 0x8ebc_6af0_9c88_c6e3;
/// Mixes those into a fingerprint. Frozen: files depend on it.
const FINGERPRINT: u64 = 0x5899_65cc_7537_4cc3;

/// What the directory says of a shard.
///
/// In bytes two little-endian words. The first is the byte at which the slots begin, a multiple
/// of 64, plus the logarithm of the segments' length; the second has the starts in its low and
/// the seed in its high half. A shard without starts gives all keys the same answer, "maybe"
/// where the logarithm is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    place: u64,
    rule: u64,
}

const LOG_MASK: u64 = SHARD_ALIGN - 1;

impl Record {
    /// A shard of these segments under this seed; where, is not yet known.
    fn new(segments: Segments, seed: u32) -> Record {
        let rule = u64::from(segments.starts) | u64::from(seed) << 32;
        Record { place: u64::from(segments.log), rule }
    }

    /// A shard without slots, and its one answer.
    fn blank(answer: bool) -> Record {
        Record { place: u64::from(answer), rule: 0 }
    }

    /// The same shard, its slots beginning at this byte.
    fn at(self, offset: u64) -> Record {
        Record { place: offset | self.place & LOG_MASK, ..self }
    }

    fn to_bytes(self) -> [u8; RECORD_BYTES as usize] {
        (u128::from(self.place) | u128::from(self.rule) << 64).to_le_bytes()
    }

    #[inline(always)]
    fn read(body: &[u8], shard: u64) -> Record {
        let records: &[[u8; RECORD_BYTES as usize]] = body.as_chunks().0;
        // There is a record for every shard, as there is a byte for every slot: see `answer`.
        let Some(bytes) = records.get(shard as usize) else { return Record::blank(true) };
        let both = u128::from_le_bytes(*bytes);
        Record { place: both as u64, rule: (both >> 64) as u64 }
    }

    #[inline(always)]
    fn offset(self) -> u64 {
        self.place & !LOG_MASK
    }

    #[inline(always)]
    fn segments(self) -> Segments {
        Segments { starts: self.rule as u32, log: (self.place & LOG_MASK) as u32 }
    }

    /// The answer for every key, where there are no slots to ask.
    #[inline(always)]
    fn settled(self) -> Option<bool> {
        let Segments { starts, log } = self.segments();
        (starts == 0).then_some(log != 0)
    }

    /// Where the next shard begins; `None` where this is not a record the builder writes.
    fn end(self, width: u32) -> Option<u64> {
        if let Some(answer) = self.settled() {
            return (self == Record::blank(answer).at(self.offset())).then_some(self.offset());
        }
        let segments = self.segments();
        let whole = (1..=MAX_SEGMENT_LOG).contains(&segments.log)
            && segments.starts.trailing_zeros() >= segments.log;
        if whole { self.offset().checked_add(segments.bytes(width)) } else { None }
    }

    /// The hash as this shard's seed turns it (and its starts, which do no harm).
    #[inline(always)]
    fn mix(self, hash: Hash) -> u64 {
        fold(hash.0 ^ self.rule, SLOTS)
    }
}

/// The three slots of a mixed hash, in three neighbouring segments.
#[inline(always)]
fn slots(segments: Segments, mixed: u64) -> [u64; 3] {
    let segment = 1 << segments.log;
    let first = reduce(mixed, u64::from(segments.starts));
    let (second, inside) = (first + segment, segment - 1);
    let third = second + segment;
    [first, second ^ (mixed >> MAX_SEGMENT_LOG & inside), third ^ (mixed & inside)]
}

/// What the three slots must make together.
#[inline(always)]
fn fingerprint(mixed: u64, width: u32) -> u64 {
    mixed.wrapping_mul(FINGERPRINT) >> (64 - width)
}

/// The fewest bytes, as a power of two, that hold a slot wherever in its first byte it begins.
/// Not always eight: a load across the end of a cache line is a second miss.
const fn load_bytes(width: u32) -> u32 {
    let step = 1 << if width.trailing_zeros() < 3 { width.trailing_zeros() } else { 3 };
    (8 - step + width).div_ceil(8).next_power_of_two()
}

/// A filter's bytes and what is needed to read them.
#[derive(Clone, Copy)]
struct View<'a> {
    body: &'a [u8],
    shards: u64,
    width: u32,
    load_bytes: u32,
}

/// A key on its way: the bits at which its slots begin, and what they must make together.
#[derive(Clone, Copy, Default)]
struct Probe {
    bits: [u64; 3],
    fingerprint: u64,
}

impl View<'_> {
    #[inline(always)]
    fn record(self, hash: Hash) -> Record {
        Record::read(self.body, reduce(hash.0, self.shards))
    }

    #[inline(always)]
    fn probe(self, record: Record, hash: Hash) -> Probe {
        let mixed = record.mix(hash);
        let (base, width) = (record.offset() << 3, u64::from(self.width));
        Probe {
            bits: slots(record.segments(), mixed).map(|slot| base + slot * width),
            fingerprint: fingerprint(mixed, self.width),
        }
    }

    #[inline(always)]
    fn answer(self, probe: Probe) -> bool {
        let at = probe.bits.map(|bit| (bit >> 3) as usize);
        let words = match self.load_bytes {
            1 => load_three::<1>(self.body, at),
            2 => load_three::<2>(self.body, at),
            4 => load_three::<4>(self.body, at),
            _ => load_three::<8>(self.body, at),
        };
        // Every slot lies inside the body, or the filter would not have come into being. A body
        // that has shrunk since finds everything: that is never a false negative.
        let Some([a, b, c]) = words else { return true };
        let [x, y, z] = probe.bits.map(|bit| bit & 7);
        ((a >> x) ^ (b >> y) ^ (c >> z) ^ probe.fingerprint) << (64 - self.width) == 0
    }

    #[inline(always)]
    fn contains(self, hash: Hash) -> bool {
        let record = self.record(hash);
        match record.settled() {
            Some(answer) => answer,
            None => self.answer(self.probe(record, hash)),
        }
    }

    /// One answer a hash. `RING` probes are under way at any time: each asks for its slots that
    /// many keys before it looks at them.
    fn contains_batch(self, hashes: &[Hash], answers: &mut [bool]) {
        let start = |hash: &Hash| {
            let record = self.record(*hash);
            let probe = self.probe(record, *hash);
            probe.bits.iter().for_each(|bit| prefetch(self.body, (bit >> 3) as usize));
            (record.settled(), probe)
        };
        let mut ring = [(None, Probe::default()); RING];
        for (hash, place) in hashes.iter().zip(&mut ring) {
            *place = start(hash);
        }
        for (i, answer) in answers.iter_mut().enumerate() {
            let (settled, probe) = &mut ring[i % RING];
            *answer = settled.unwrap_or_else(|| self.answer(*probe));
            if let Some(next) = hashes.get(i + RING) {
                (*settled, *probe) = start(next);
            }
        }
    }
}

impl<B: AsRef<[u8]>> Fuse<B> {
    /// A filter over bytes that [`as_bytes`](Fuse::as_bytes) gave: a file's, mapped or read.
    ///
    /// `None` where they are not a filter of so many shards and this width: every record of the
    /// directory is checked, so that no lookup can leave the bytes whatever they hold. That the
    /// fingerprints are those of the keys only a checksum can tell.
    ///
    /// ```
    /// # use mayhap::{Fuse, Spec};
    /// let spec = Spec::new(1_000, 0.01)?;
    /// let built = Fuse::from_keys(spec, 0..1000u64)?;
    /// let bytes = built.as_bytes();
    /// let opened = Fuse::from_bytes(spec, built.keys(), built.shards(), built.width(), bytes).unwrap();
    /// assert!((0..1000u64).all(|key| opened.contains(key)));
    /// let short = &bytes[..bytes.len() - 1];
    /// assert!(Fuse::from_bytes(spec, built.keys(), built.shards(), built.width(), short).is_none());
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn from_bytes(spec: Spec, keys: u64, shards: u64, width: u32, body: B) -> Option<Fuse<B>> {
        let bytes = body.as_ref();
        // First of all the directory must be there: the loop below is as long as it says.
        let room = bytes.len() as u64 / RECORD_BYTES;
        if !(1..=MAX_WIDTH).contains(&width) || !(1..=room).contains(&shards) {
            return None;
        }
        let mut end = directory_bytes(shards);
        for shard in 0..shards {
            let record = Record::read(bytes, shard);
            if record.offset() != end {
                return None;
            }
            end = record.end(width)?;
        }
        (end == bytes.len() as u64).then(|| Fuse::assembled(spec, keys, shards, width, body))
    }

    /// The parts as the builder leaves them, or as they were checked.
    fn assembled(spec: Spec, keys: u64, shards: u64, width: u32, body: B) -> Fuse<B> {
        Fuse { body, shards, width, load_bytes: load_bytes(width), spec, keys }
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.view().contains(hash)
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        answers.clear();
        answers.resize(hashes.len(), false);
        self.view().contains_batch(hashes, answers);
    }

    #[inline(always)]
    fn view(&self) -> View<'_> {
        let Fuse { shards, width, .. } = *self;
        View { body: self.body.as_ref(), shards, width, load_bytes: self.load_bytes }
    }

    /// Hash a key once, to ask for it later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme().hash(key)
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// What it was made for.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// How it is sized: as the formula has it, while [`bits`](Fuse::bits) is what it takes.
    pub fn shape(&self) -> FuseShape {
        FuseShape { keys: self.keys, width: self.width }
    }

    /// Distinct keys it was built from.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Bits of a fingerprint.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Shards it is cut into.
    pub fn shards(&self) -> u64 {
        self.shards
    }

    /// Everything in bits: directory, fingerprints and the gaps between.
    pub fn bits(&self) -> u64 {
        self.as_bytes().len() as u64 * 8
    }

    /// The directory and the fingerprints, as [`from_bytes`](Fuse::from_bytes) takes them.
    pub fn as_bytes(&self) -> &[u8] {
        self.body.as_ref()
    }

    /// Always 1 (and 0 without keys): every slot is taken by what it was built from.
    pub fn fill(&self) -> f64 {
        if self.keys == 0 { 0.0 } else { 1.0 }
    }

    /// How many distinct keys are in. Fingerprints do not tell, so this is what was counted.
    pub fn estimate(&self) -> u64 {
        self.keys
    }

    /// The false-positive rate: 2⁻ʷ in shards with keys, and the hashes' own collisions.
    pub fn fpr_now(&self) -> f64 {
        let body = self.as_bytes();
        let in_slots = 0.5f64.powi(self.width as i32);
        let rate = |shard| match Record::read(body, shard).settled() {
            Some(answer) => f64::from(u8::from(answer)),
            None => in_slots,
        };
        let sum: f64 = (0..self.shards).map(rate).sum();
        (sum / self.shards as f64 + hash_floor(self.keys)).min(1.0)
    }
}

impl<B: AsRef<[u8]>> Contains for Fuse<B> {
    type Hash = Hash;

    fn hash(&self, key: impl Key) -> Hash {
        self.hash(key)
    }

    fn contains_hash(&self, hash: Hash) -> bool {
        self.contains_hash(hash)
    }

    fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        self.contains_batch(hashes, answers);
    }
}

impl<B: AsRef<[u8]>> fmt::Display for Fuse<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "fuse: {} keys, {} bytes, fingerprints of {} bits in {} shards, rate {:.3e}, {:.3e} asked for",
            self.keys,
            self.as_bytes().len(),
            self.width,
            self.shards,
            self.fpr_now(),
            self.spec.fpr(),
        )
    }
}
