//! Fingerprints in segments: where a key's three slots are, and what they hold.
//!
//! A filter's bytes are a directory, one record a shard, and then the slots of one shard after
//! another, each of `width` bits, end to end, the first in the lowest bits of the first byte.

use super::{prefetch, vectorized};
use crate::hash::{Hash, reduce};
use crate::sizing::{
    MAX_SEGMENT_LOG, MAX_WIDTH, RECORD_BYTES, SHARD_ALIGN, Segments, directory_bytes,
};

/// Keys in flight while a batch waits for memory.
const RING: usize = 32;
/// Filters of fewer bytes stay in the cache, where waiting costs less than a ring does.
const RING_BYTES: usize = 4 << 20;
/// Mixes a hash under a shard's seed. Frozen: files depend on it.
const MIX: u64 = 0x8ebc_6af0_9c88_c6e3;

/// What the directory says of a shard, ready for use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// Folded into every hash: the starts, and in the high half the seed.
    rule: u64,
    /// A key's first slot is below this. None: all keys have the same answer.
    starts: u64,
    /// The length of a segment less one; without starts, the answer.
    inside: u64,
    /// The byte at which the first slot begins.
    base: u64,
}

impl Shard {
    /// A shard of these segments under this seed; where, is not yet known.
    pub fn new(Segments { starts, log }: Segments, seed: u32) -> Shard {
        let rule = u64::from(starts) | u64::from(seed) << 32;
        Shard { rule, starts: starts.into(), inside: (1 << log) - 1, base: 0 }
    }

    /// A shard without slots, and its one answer.
    pub fn blank(answer: bool) -> Shard {
        Shard { rule: 0, starts: 0, inside: answer.into(), base: 0 }
    }

    /// The record of this shard in the directory, its slots beginning at byte `offset`.
    ///
    /// Two little-endian words. The first is the offset, a multiple of 64, plus the logarithm of
    /// the segments' length (without segments: the answer). The second has the starts in its low
    /// and the seed in its high half.
    pub fn record(self, offset: u64) -> [u8; RECORD_BYTES as usize] {
        let log = u64::from((self.inside + 1).trailing_zeros());
        (u128::from(offset | log) | u128::from(self.rule) << 64).to_le_bytes()
    }

    /// The shard of a record that begins where it should, and where the next one begins. `None`
    /// where this is not a record as [`record`](Shard::record) makes them.
    fn read(record: &[u8; RECORD_BYTES as usize], offset: u64, width: u32) -> Option<(Shard, u64)> {
        let both = u128::from_le_bytes(*record);
        let (place, rule) = (both as u64, (both >> 64) as u64);
        let (starts, log) = (rule as u32, (place % SHARD_ALIGN) as u32);
        if place - u64::from(log) != offset {
            return None;
        }
        let base = offset;
        if starts == 0 {
            let shard = Shard { base, ..Shard::blank(log == 1) };
            return (rule == 0 && log <= 1).then_some((shard, offset));
        }
        let whole = (1..=MAX_SEGMENT_LOG).contains(&log) && starts.trailing_zeros() >= log;
        let segments = Segments { starts, log };
        let end = offset.checked_add(segments.bytes(width))?;
        whole.then_some((Shard { base, ..Shard::new(segments, (rule >> 32) as u32) }, end))
    }

    /// The answer for every key, where there are no slots to ask.
    #[inline(always)]
    pub fn settled(&self) -> Option<bool> {
        (self.starts == 0).then_some(self.inside != 0)
    }

    /// The hash as this shard's seed turns it. Two hashes differ as they did before.
    #[inline(always)]
    pub fn turn(&self, hash: Hash) -> ShardHash {
        ShardHash(hash.0 ^ self.rule)
    }

    /// A key's slots, in three neighbouring segments, and what they must make together in their
    /// lowest bits.
    ///
    /// The halves of one product serve both: folded they choose the slots, the upper bits of the
    /// low one are the fingerprint.
    #[inline(always)]
    pub fn slots(&self, shard_hash: ShardHash) -> ([u64; 3], u64) {
        let (mixed, low) = shard_hash.mix();
        let first = reduce(mixed, self.starts);
        let last = first | self.inside; // of its segment
        let second = last + 1 + (mixed >> MAX_SEGMENT_LOG & self.inside);
        let third = last + self.inside + 2 + (mixed & self.inside);
        ([first, second, third], low >> 32)
    }
}

/// A hash under a shard's seed.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub(crate) struct ShardHash(pub u64);

impl ShardHash {
    /// What chooses the slots (the first by its top bits), and what makes the fingerprint.
    #[inline(always)]
    pub fn mix(self) -> (u64, u64) {
        let product = u128::from(self.0) * u128::from(MIX);
        let low = product as u64;
        (low ^ (product >> 64) as u64, low)
    }
}

/// The directory, read and checked once: no lookup in as many bytes as it was read from can
/// leave them, whatever else they hold, and even if they change.
#[derive(Clone, Debug)]
pub(crate) struct ShardDirectory {
    /// At least one. Every slot of every shard, and eight bytes after its first, lie inside the
    /// first `bytes` bytes: `answer` relies on it.
    shards: Box<[Shard]>,
    bytes: usize,
    width: u32,
    load: SlotRead,
    mask: u64,
}

/// As many bytes as the table was read from, or more: only [`ShardDirectory::body`] makes one.
#[derive(Clone, Copy)]
struct CheckedBytes<'a>(&'a [u8]);

/// How to get at a slot. Not always by a load of eight bytes: one across the end of a cache line
/// is a second miss.
#[derive(Clone, Copy, Debug)]
enum SlotRead {
    /// Slots are whole bytes: 1, 2 or 4.
    Whole1,
    Whole2,
    Whole4,
    /// Slots are bits somewhere in so many bytes.
    Bits1,
    Bits2,
    Bits4,
    Bits8,
}

impl SlotRead {
    fn of_width(width: u32) -> SlotRead {
        // Slots begin at multiples of this in a byte, so this is how far from the first bit.
        let step = 1 << width.trailing_zeros().min(3);
        match (width, 8 - step + width) {
            (8, _) => SlotRead::Whole1,
            (16, _) => SlotRead::Whole2,
            (32, _) => SlotRead::Whole4,
            (_, ..=8) => SlotRead::Bits1,
            (_, ..=16) => SlotRead::Bits2,
            (_, ..=32) => SlotRead::Bits4,
            _ => SlotRead::Bits8,
        }
    }
}

/// A key on its way: its slots, and what they must make together.
#[derive(Clone, Copy, Default)]
struct Probe {
    /// The byte at which the slots of the shard begin.
    base: u64,
    slots: [u64; 3],
    fingerprint: u64,
}

impl ShardDirectory {
    /// The directory of a filter of so many shards at the front of its bytes. `None` where it is
    /// not one, or the bytes are more or fewer than it says.
    pub fn read(bytes: &[u8], shards: u64, width: u32) -> Option<ShardDirectory> {
        let records: &[[u8; RECORD_BYTES as usize]] = bytes.as_chunks().0;
        let records = records.get(..usize::try_from(shards).ok()?)?;
        if records.is_empty() || !(1..=MAX_WIDTH).contains(&width) {
            return None;
        }
        let mut shards = Vec::new();
        shards.try_reserve_exact(records.len()).ok()?;
        let mut end = directory_bytes(records.len() as u64);
        for record in records {
            let (shard, next) = Shard::read(record, end, width)?;
            shards.push(shard);
            end = next;
        }
        // Bits are counted in 64 bits; no machine has memory where that would matter.
        let fits = end == bytes.len() as u64 && end < 1 << 56;
        let (shards, bytes) = (shards.into(), bytes.len());
        let mask = (1 << width) - 1;
        fits.then(|| ShardDirectory { shards, bytes, width, load: SlotRead::of_width(width), mask })
    }

    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    pub fn width(&self) -> u32 {
        self.width
    }

    /// May this key be in?
    #[inline(always)]
    pub fn contains(&self, bytes: &[u8], hash: Hash) -> bool {
        let Some(body) = self.body(bytes) else { return true };
        match self.load {
            SlotRead::Whole1 => self.ask::<1, true>(body, hash),
            SlotRead::Whole2 => self.ask::<2, true>(body, hash),
            SlotRead::Whole4 => self.ask::<4, true>(body, hash),
            SlotRead::Bits1 => self.ask_bits::<1>(body, hash),
            SlotRead::Bits2 => self.ask_bits::<2>(body, hash),
            SlotRead::Bits4 => self.ask_bits::<4>(body, hash),
            SlotRead::Bits8 => self.ask_bits::<8>(body, hash),
        }
    }

    /// Not inlined: seven copies side by side would leave each other no registers.
    #[inline(never)]
    fn ask_bits<const BYTES: usize>(&self, body: CheckedBytes<'_>, hash: Hash) -> bool {
        self.ask::<BYTES, false>(body, hash)
    }

    /// One answer a hash.
    pub fn contains_batch(&self, bytes: &[u8], hashes: &[Hash], answers: &mut [bool]) {
        let Some(body) = self.body(bytes) else { return answers.fill(true) };
        match self.load {
            SlotRead::Whole1 => self.ask_all::<1, true>(body, hashes, answers),
            SlotRead::Whole2 => self.ask_all::<2, true>(body, hashes, answers),
            SlotRead::Whole4 => self.ask_all::<4, true>(body, hashes, answers),
            SlotRead::Bits1 => self.ask_all::<1, false>(body, hashes, answers),
            SlotRead::Bits2 => self.ask_all::<2, false>(body, hashes, answers),
            SlotRead::Bits4 => self.ask_all::<4, false>(body, hashes, answers),
            SlotRead::Bits8 => self.ask_all::<8, false>(body, hashes, answers),
        }
    }

    /// The bytes, if they are still all there. Those that have shrunk since find everything: that
    /// is never a false negative.
    #[inline(always)]
    fn body<'a>(&self, bytes: &'a [u8]) -> Option<CheckedBytes<'a>> {
        (bytes.len() >= self.bytes).then_some(CheckedBytes(bytes))
    }

    #[inline(always)]
    fn shard(&self, hash: Hash) -> &Shard {
        // Not for nothing: where there is one, its record need not wait for the hash.
        if let [only] = &*self.shards {
            return only;
        }
        let at = reduce(hash.0, self.shards.len() as u64) as usize;
        // SAFETY: there is a shard, and `reduce` stays below their number.
        unsafe { self.shards.get_unchecked(at) }
    }

    #[inline(always)]
    fn probe(shard: &Shard, hash: Hash) -> Probe {
        let (slots, fingerprint) = shard.slots(shard.turn(hash));
        Probe { base: shard.base, slots, fingerprint }
    }

    /// The byte in which a slot of a probe begins, and the bit in that byte.
    #[inline(always)]
    fn place<const BYTES: usize, const WHOLE: bool>(&self, base: u64, slot: u64) -> (usize, u64) {
        if WHOLE {
            return ((base + slot * BYTES as u64) as usize, 0);
        }
        let bits = slot * u64::from(self.width);
        ((base + (bits >> 3)) as usize, bits & 7)
    }

    #[inline(always)]
    fn answer<const BYTES: usize, const WHOLE: bool>(
        &self,
        CheckedBytes(bytes): CheckedBytes<'_>,
        probe: &Probe,
    ) -> bool {
        let mut made = probe.fingerprint;
        for slot in probe.slots {
            let (at, shift) = self.place::<BYTES, WHOLE>(probe.base, slot);
            // SAFETY: probes are made by `probe` alone, from a shard of this table. Its first
            // slot is below the starts, which are whole segments; the second and the third lie
            // in the two segments after. All of those, and eight bytes from where each slot
            // begins, lie inside `self.bytes` by `Segments::bytes` and `read`, and a body has as
            // many. Bytes need no alignment.
            let found = unsafe { bytes.as_ptr().add(at).cast::<[u8; BYTES]>().read() };
            let mut word = [0; 8];
            word[..BYTES].copy_from_slice(&found);
            made ^= u64::from_le_bytes(word) >> shift;
        }
        // For whole bytes it is a constant. What waits for memory is to be short: it decides how
        // many lookups, one after another, are under way at the same time.
        let mask = if WHOLE { u64::MAX >> (64 - 8 * BYTES) } else { self.mask };
        made & mask == 0
    }

    #[inline(always)]
    fn ask<const BYTES: usize, const WHOLE: bool>(
        &self,
        body: CheckedBytes<'_>,
        hash: Hash,
    ) -> bool {
        let shard = self.shard(hash);
        match shard.settled() {
            Some(answer) => answer,
            None => self.answer::<BYTES, WHOLE>(body, &ShardDirectory::probe(shard, hash)),
        }
    }

    /// `RING` probes are under way at any time: each asks for its slots that many keys before it
    /// looks at them.
    fn ask_all<const BYTES: usize, const WHOLE: bool>(
        &self,
        body: CheckedBytes<'_>,
        hashes: &[Hash],
        answers: &mut [bool],
    ) {
        if body.0.len() < RING_BYTES {
            vectorized(|| {
                for (hash, answer) in hashes.iter().zip(answers) {
                    *answer = self.ask::<BYTES, WHOLE>(body, *hash);
                }
            });
            return;
        }
        let start = |hash: &Hash| {
            let shard = self.shard(*hash);
            let settled = shard.settled();
            if settled.is_some() {
                return (settled, Probe::default());
            }
            let probe = ShardDirectory::probe(shard, *hash);
            for slot in probe.slots {
                prefetch(body.0, self.place::<BYTES, WHOLE>(probe.base, slot).0);
            }
            (None, probe)
        };
        let mut ring = [(Some(false), Probe::default()); RING];
        for (hash, place) in hashes.iter().zip(&mut ring) {
            *place = start(hash);
        }
        for (i, answer) in answers.iter_mut().enumerate() {
            let (settled, probe) = &mut ring[i % RING];
            *answer = match *settled {
                Some(answer) => answer,
                None => self.answer::<BYTES, WHOLE>(body, probe),
            };
            if let Some(next) = hashes.get(i + RING) {
                (*settled, *probe) = start(next);
            }
        }
    }
}
