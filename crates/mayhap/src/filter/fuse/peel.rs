//! Peeling: an order of a shard's keys in which each has a slot that no later key looks at.
//!
//! Written in the reverse of that order, each key can set its slot so that its three slots make
//! its fingerprint, and nothing written afterwards spoils it. With an eighth more slots than keys
//! there is such an order under nearly every seed; where there is none, another seed is tried.

use super::{Record, fingerprint, slots};
use crate::hash::Hash;
use crate::sizing::Segments;
use crate::spec::SpecError;

/// Seeds that a shard tries in the room the sizing gives it, and in each eighth more.
const SEEDS: u32 = 16;
/// Tries before a shard is given up, in three times the room. Hashes of different keys are placed
/// long before; what is not are numbers contrived to collide.
const TRIES: u32 = 16 * SEEDS;

/// Room to peel one shard after another.
#[derive(Default)]
pub(super) struct Peeler {
    /// For each slot, the exclusive or of the mixed hashes that look at it. All zero between
    /// shards.
    cells: Vec<u64>,
    /// How many they are. All zero between shards.
    counts: Vec<u8>,
    /// Mixed hashes, first in the order of their segments, then in that of their peeling.
    order: Vec<u64>,
    /// Which of its three slots each peeled key owns.
    owned: Vec<u8>,
    /// A stack of slots that were left with one key.
    lonely: Vec<u32>,
}

/// A shard peeled.
pub(super) struct Peeled {
    /// Its distinct keys.
    pub keys: usize,
    /// The segments and the seed under which there is an order; `None` where there are no keys,
    /// or no order was found.
    pub rule: Option<Record>,
}

impl Peeler {
    /// Find an order for a shard's hashes, and remember it. Equal ones count once.
    pub fn peel(&mut self, hashes: &mut [Hash]) -> Result<Peeled, SpecError> {
        if let Some(rule) = self.attempt(hashes, 0)? {
            return Ok(Peeled { keys: hashes.len(), rule: Some(rule) });
        }
        // Equal hashes cannot be peeled apart. They are looked for only now: many inputs have
        // none, and sorting costs as much as peeling.
        let keys = distinct_to_front(hashes);
        let first = u32::from(keys == hashes.len());
        for number in first..TRIES {
            if let Some(rule) = self.attempt(&hashes[..keys], number)? {
                return Ok(Peeled { keys, rule: Some(rule) });
            }
        }
        Ok(Peeled { keys, rule: None })
    }

    /// One try: `None` where there is no order.
    fn attempt(&mut self, hashes: &[Hash], number: u32) -> Result<Option<Record>, SpecError> {
        let eighths = u64::from(number / SEEDS);
        let Some(segments) = Segments::roomy(hashes.len() as u64, eighths) else {
            return Ok(None);
        };
        let rule = Record::new(segments, number.wrapping_mul(0x9e37_79b9));
        self.reserve(segments.slots() as usize, hashes.len())?;
        self.sort(hashes, rule);
        if self.gather(segments) && self.order(segments) {
            return Ok(Some(rule));
        }
        self.cells.fill(0);
        self.counts.fill(0);
        Ok(None)
    }

    fn reserve(&mut self, slots: usize, keys: usize) -> Result<(), SpecError> {
        if self.cells.len() < slots {
            grow(&mut self.cells, slots)?;
            grow(&mut self.counts, slots)?;
            // A slot is left with one key once; two more are written before they count.
            grow(&mut self.lonely, slots + 2)?;
        }
        self.order.clear();
        self.owned.clear();
        grow(&mut self.order, keys)?;
        grow(&mut self.owned, keys)
    }

    /// Mix the hashes, and bring them into the rough order of their first slots: then gathering
    /// and peeling walk through the cells rather than jump.
    fn sort(&mut self, hashes: &[Hash], rule: Record) {
        let Segments { starts, log } = rule.segments();
        let bits = (starts >> log).next_power_of_two().trailing_zeros().clamp(1, 12);
        let bucket = |mixed: u64| (mixed >> (64 - bits)) as usize;
        let mut next = [0u32; 1 << 12];
        for hash in hashes {
            next[bucket(rule.mix(*hash))] += 1;
        }
        let mut begin = 0;
        for next in &mut next[..1 << bits] {
            begin += std::mem::replace(next, begin);
        }
        for hash in hashes {
            let mixed = rule.mix(*hash);
            let place = &mut next[bucket(mixed)];
            self.order[*place as usize] = mixed;
            *place += 1;
        }
    }

    /// Every key looks at its slots. `false`: there will be no order, as two keys are equal or
    /// too many look at one slot.
    fn gather(&mut self, segments: Segments) -> bool {
        let count = segments.slots() as usize;
        let (cells, counts) = (&mut self.cells[..count], &mut self.counts[..count]);
        let mut fine = true;
        for mixed in &self.order {
            for slot in slots(segments, *mixed) {
                let slot = slot as usize;
                cells[slot] ^= mixed;
                counts[slot] = counts[slot].wrapping_add(1);
                fine &= counts[slot] != 0;
            }
        }
        fine
    }

    /// Peel: as long as a slot has one key only, that key owns it and looks at no other.
    /// `false`: keys are left that share all of their slots.
    fn order(&mut self, segments: Segments) -> bool {
        let count = segments.slots() as usize;
        let (cells, counts) = (&mut self.cells[..count], &mut self.counts[..count]);
        let lonely = &mut self.lonely[..count + 2];
        let mut done = 0;
        for start in 0..count {
            if counts[start] != 1 {
                continue;
            }
            lonely[0] = start as u32;
            let mut waiting = 1;
            while waiting > 0 {
                waiting -= 1;
                let slot = lonely[waiting] as usize;
                if counts[slot] != 1 {
                    continue;
                }
                let mixed = cells[slot];
                let [first, second, third] = slots(segments, mixed).map(|slot| slot as usize);
                self.order[done] = mixed;
                self.owned[done] = u8::from(slot == second) + 2 * u8::from(slot == third);
                done += 1;
                for other in [first, second, third] {
                    cells[other] ^= mixed;
                    counts[other] -= 1;
                    lonely[waiting] = other as u32;
                    waiting += usize::from(counts[other] == 1);
                }
            }
        }
        done == self.order.len()
    }

    /// Write the fingerprints of the shard that was peeled last, and be ready for the next.
    pub fn write(&mut self, rule: Record, width: u32, room: &mut [u8]) {
        let segments = rule.segments();
        let cells = &mut self.cells[..segments.slots() as usize];
        for (mixed, owned) in self.order.iter().zip(&self.owned).rev() {
            let slots = slots(segments, *mixed).map(|slot| slot as usize);
            let [a, b, c] = slots.map(|slot| cells[slot]);
            // The owned slot is still zero: the sum of all three is that of the other two.
            cells[slots[usize::from(*owned)]] = a ^ b ^ c ^ fingerprint(*mixed, width);
        }
        pack(cells, width, room);
        cells.fill(0);
    }
}

/// Lay values of `width` bits end to end, the first in the lowest bits of the first byte.
fn pack(values: &[u64], width: u32, room: &mut [u8]) {
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

/// Make a vector at least so long, or say that there is no memory for it.
fn grow<T: Clone + Default>(values: &mut Vec<T>, count: usize) -> Result<(), SpecError> {
    let more = count.saturating_sub(values.len());
    let refused = SpecError::Memory { bytes: count as u64 * size_of::<T>() as u64 };
    values.try_reserve_exact(more).map_err(|_| refused)?;
    values.resize(values.len() + more, T::default());
    Ok(())
}
