//! Peeling: an order of a shard's keys in which each has a slot that no later key looks at.
//!
//! Written in the reverse of that order, each key can set its slot so that its three slots make
//! its fingerprint, and nothing written afterwards spoils it. With an eighth more slots than keys
//! there is such an order under nearly every seed; where there is none, another seed is tried.

use crate::hash::Hash;
use crate::kernel::{AlignedBuf, Shard, ShardHash};
use crate::sizing::Segments;
use crate::spec::SpecError;
use std::ops::BitXor;

/// Seeds that a shard tries in the room the sizing gives it, and in each eighth more.
const SEEDS: u32 = 16;
/// Tries before a shard is given up, in three times the room. Hashes of different keys are placed
/// long before; what is not are numbers contrived to collide.
const TRIES: u32 = 16 * SEEDS;

/// Slots looked through at a time for lonely ones: near enough to each other to stay in the cache,
/// enough of them that one need not wait for another.
const STRETCH: usize = 2048;

/// Room to peel one shard after another, on huge pages where there are.
pub(super) struct Peeler {
    /// For each slot, the exclusive or of the turned hashes that look at it. All zero between
    /// shards.
    cells: AlignedBuf,
    /// How many they are. All zero between shards.
    counts: AlignedBuf,
    /// Turned hashes, first in the order of their segments, then in that of their peeling.
    order: AlignedBuf,
    /// Which of its three slots each peeled key owns.
    owned: AlignedBuf,
    /// A stack of slots that were left with one key: hardly ever deep, so it grows when it must.
    /// A queue would be 7% faster, as no key in it waits for the one before, and would make other
    /// bytes of the same keys: those are pinned.
    lonely: Vec<u32>,
}

/// A shard peeled.
pub(super) struct Peeled {
    /// Its distinct keys.
    pub keys: usize,
    /// The segments and the seed under which there is an order; `None` where there are no keys,
    /// or no order was found.
    pub order: Option<(Segments, Shard)>,
}

impl Peeler {
    pub fn new() -> Result<Peeler, SpecError> {
        let none = || AlignedBuf::zeroed(0);
        let [cells, counts, order, owned] = [none()?, none()?, none()?, none()?];
        Ok(Peeler { cells, counts, order, owned, lonely: Vec::new() })
    }

    /// Find an order for a shard's hashes, and remember it. Equal ones count once.
    pub fn peel(&mut self, hashes: &mut [Hash]) -> Result<Peeled, SpecError> {
        let mut keys = hashes.len();
        let mut sorted = false;
        let mut number = 0;
        while number < TRIES {
            let order = self.attempt(&hashes[..keys], number)?;
            if order.is_some() {
                return Ok(Peeled { keys, order });
            }
            number += 1;
            // Equal hashes cannot be peeled apart. They are looked for only now: many inputs have
            // none, and sorting costs as much as peeling.
            if !sorted && (self.has_pairs() || number > 1) {
                sorted = true;
                keys = distinct_to_front(hashes);
                if keys < hashes.len() {
                    number = 0;
                }
            }
            self.cells.as_mut().fill(0);
            self.counts.as_mut().fill(0);
        }
        Ok(Peeled { keys, order: None })
    }

    /// Whether, in what could not be peeled, two equal hashes are all that looks at some slot.
    fn has_pairs(&mut self) -> bool {
        let counts = self.counts.as_ref();
        self.cells.words_mut().iter().zip(counts).any(|(cell, count)| *cell == 0 && *count > 0)
    }

    /// One try: `None` where there is no order, and then what could not be peeled is left.
    fn attempt(
        &mut self,
        hashes: &[Hash],
        number: u32,
    ) -> Result<Option<(Segments, Shard)>, SpecError> {
        let eighths = u64::from(number / SEEDS);
        let Some(segments) = Segments::slack(hashes.len() as u64, eighths) else {
            return Ok(None);
        };
        let shard = Shard::new(segments, number.wrapping_mul(0x9e37_79b9));
        self.reserve(segments.slots(), hashes.len() as u64)?;
        self.sort(hashes, segments, shard);
        if self.gather(segments, shard, hashes.len()) && self.order(segments, shard, hashes.len()) {
            return Ok(Some((segments, shard)));
        }
        Ok(None)
    }

    fn reserve(&mut self, slots: u64, keys: u64) -> Result<(), SpecError> {
        grow(&mut self.cells, slots * 8)?;
        grow(&mut self.counts, slots)?;
        grow(&mut self.order, keys * 8)?;
        grow(&mut self.owned, keys)
    }

    /// Turn the hashes, and bring them into the rough order of their first slots: then gathering
    /// and peeling walk through the cells rather than jump.
    fn sort(&mut self, hashes: &[Hash], Segments { starts, log }: Segments, shard: Shard) {
        let bits = (starts >> log).next_power_of_two().trailing_zeros().clamp(1, 12);
        let bucket = |shard_hash: ShardHash| (shard_hash.mix().0 >> (64 - bits)) as usize;
        let mut next = [0u32; 1 << 12];
        for hash in hashes {
            next[bucket(shard.turn(*hash))] += 1;
        }
        let mut begin = 0;
        for next in &mut next[..1 << bits] {
            begin += std::mem::replace(next, begin);
        }
        let order = self.order.words_mut();
        for hash in hashes {
            let shard_hash = shard.turn(*hash);
            let place = &mut next[bucket(shard_hash)];
            order[*place as usize] = shard_hash.0;
            *place += 1;
        }
    }

    /// Every key looks at its slots. `false`: there will be no order, as two keys are equal or
    /// too many look at one slot.
    fn gather(&mut self, segments: Segments, shard: Shard, keys: usize) -> bool {
        let count = segments.slots() as usize;
        let cells = &mut self.cells.words_mut()[..count];
        let counts = &mut self.counts.as_mut()[..count];
        let mut fine = true;
        for shard_hash in &self.order.words_mut()[..keys] {
            for slot in shard.slots(ShardHash(*shard_hash)).0 {
                let slot = slot as usize;
                cells[slot] ^= shard_hash;
                counts[slot] = counts[slot].wrapping_add(1);
                fine &= counts[slot] != 0;
            }
        }
        fine
    }

    /// Peel: as long as a slot has one key only, that key owns it and looks at no other.
    /// `false`: keys are left that share all of their slots.
    fn order(&mut self, segments: Segments, shard: Shard, keys: usize) -> bool {
        let count = segments.slots() as usize;
        let cells = &mut self.cells.words_mut()[..count];
        let counts = &mut self.counts.as_mut()[..count];
        let lonely = &mut self.lonely;
        let order = &mut self.order.words_mut()[..keys];
        let owned = &mut self.owned.as_mut()[..keys];
        let mut done = 0;
        for begin in (0..count).step_by(STRETCH) {
            let mut waiting = 0;
            lonely.resize(lonely.len().max(2 * STRETCH), 0);
            for (slot, count) in (begin..).zip(&counts[begin..count.min(begin + STRETCH)]) {
                lonely[waiting] = slot as u32;
                waiting += usize::from(*count == 1);
            }
            while waiting > 0 {
                // One goes, and three are written before it is known how many count.
                if waiting + 2 > lonely.len() {
                    lonely.resize(2 * lonely.len(), 0);
                }
                waiting -= 1;
                let slot = lonely[waiting] as usize;
                if counts[slot] != 1 {
                    continue;
                }
                let shard_hash = ShardHash(cells[slot]);
                let slots = shard.slots(shard_hash).0.map(|slot| slot as usize);
                order[done] = shard_hash.0;
                owned[done] = u8::from(slot == slots[1]) + 2 * u8::from(slot == slots[2]);
                done += 1;
                for other in slots {
                    cells[other] ^= shard_hash.0;
                    counts[other] -= 1;
                    lonely[waiting] = other as u32;
                    waiting += usize::from(counts[other] == 1);
                }
            }
        }
        done == keys
    }

    /// Write the fingerprints of the shard that was peeled last, and be ready for the next.
    pub fn write(&mut self, peeled: &Peeled, width: u32, room: &mut [u8]) {
        let Some((segments, shard)) = peeled.order else { return };
        let slots = segments.slots() as usize;
        let keys = self.order.words_mut()[..peeled.keys].iter().zip(self.owned.as_ref()).rev();
        let keys = keys.map(|(shard_hash, owned)| {
            let (slots, fingerprint) = shard.slots(ShardHash(*shard_hash));
            (slots.map(|slot| slot as usize), usize::from(*owned), fingerprint)
        });
        // Peeled to the end, cells and counts are all zero: either can take the fingerprints. The
        // counts are an eighth as large.
        if width <= 8 {
            write(keys, &mut self.counts.as_mut()[..slots], width, room);
        } else {
            write(keys, &mut self.cells.words_mut()[..slots], width, room);
        }
    }
}

/// Set what each key owns so that its three slots make its fingerprint, and pack them.
fn write<T: Copy + Default + Into<u64> + BitXor<Output = T> + Truncated>(
    keys: impl Iterator<Item = ([usize; 3], usize, u64)>,
    slots: &mut [T],
    width: u32,
    room: &mut [u8],
) {
    let mask = (1 << width) - 1;
    for (places, owned, fingerprint) in keys {
        let [a, b, c] = places.map(|place| slots[place]);
        // The owned slot is still zero: the sum of all three is that of the other two.
        slots[places[owned]] = a ^ b ^ c ^ T::truncated(fingerprint & mask);
    }
    pack(slots.iter().map(|slot| (*slot).into()), width, room);
    slots.fill(T::default());
}

/// A number that takes the low bits of another.
trait Truncated {
    fn truncated(value: u64) -> Self;
}

impl Truncated for u8 {
    fn truncated(value: u64) -> u8 {
        value as u8
    }
}

impl Truncated for u64 {
    fn truncated(value: u64) -> u64 {
        value
    }
}

/// Lay values of `width` bits end to end, the first in the lowest bits of the first byte.
fn pack(values: impl Iterator<Item = u64>, width: u32, room: &mut [u8]) {
    let (words, _) = room.as_chunks_mut::<4>();
    let mut words = words.iter_mut();
    let (mut bits, mut held) = (0, 0);
    for value in values {
        bits |= value << held;
        held += width;
        if held >= 32 {
            if let Some(word) = words.next() {
                *word = (bits as u32).to_le_bytes();
            }
            bits >>= 32;
            held -= 32;
        }
    }
    if let Some(word) = words.next() {
        *word = (bits as u32).to_le_bytes();
    }
}

/// Sort, and bring one of each to the front; how many they are.
fn distinct_to_front(hashes: &mut [Hash]) -> usize {
    hashes.sort_unstable();
    let mut distinct = 0;
    for i in 0..hashes.len() {
        if distinct == 0 || hashes[distinct - 1] != hashes[i] {
            hashes[distinct] = hashes[i];
            distinct += 1;
        }
    }
    distinct
}

/// Make room, with some to spare for a shard that is a little larger. What was there is zero, or
/// written before it is read.
fn grow(room: &mut AlignedBuf, bytes: u64) -> Result<(), SpecError> {
    if (room.as_ref().len() as u64) < bytes {
        *room = AlignedBuf::zeroed(bytes + bytes / 64)?;
    }
    Ok(())
}
