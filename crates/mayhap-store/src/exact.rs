//! An exact set: 128-bit hashes of all keys.

mod state;

pub use state::ExactError;

use crate::keys::Task;

/// Collects the 128-bit hash of each key, XXH3-128.
///
/// Among a billion keys, two collide with a chance of 10⁻²¹: exact for all purposes except against
/// an attacker, who can construct collisions.
#[derive(Clone, Copy, Debug)]
pub struct HashKeys128;

impl Task for HashKeys128 {
    type Out = Vec<u128>;

    fn begin(&self, out: &mut Vec<u128>) {
        out.clear();
    }

    #[inline]
    fn key(&self, out: &mut Vec<u128>, key: &[u8]) {
        out.push(xxhash_rust::xxh3::xxh3_128(key));
    }
}

/// A set of 128-bit hashes: 20 to 32 bytes per key, and no wrong answers.
///
/// Open addressing in one array, with batched lookups: the slots of many hashes are prefetched
/// before any is compared, so that the memory latency is paid once per batch and not once per hash.
///
/// ```
/// use mayhap_store::exact::ExactSet;
/// let mut seen = ExactSet::new();
/// let mut new = Vec::new();
/// seen.insert_batch_new(&[1, 2, 1], &mut new);
/// assert_eq!(new, [true, true, false]);
/// assert_eq!(seen.keys(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExactSet {
    /// 0 is a free slot.
    slots: Vec<u128>,
    keys: usize,
    /// Whether the hash 0 is in, which looks like a free slot.
    has_zero: bool,
}

/// Hashes whose slots are prefetched at once.
const GROUP: usize = 32;
/// Minimum number of slots.
const MIN_SLOTS: usize = 1 << 10;

impl ExactSet {
    /// An empty set.
    pub fn new() -> ExactSet {
        ExactSet::default()
    }

    /// An empty set with this capacity. Growing is expensive: half of the time of a large set.
    pub fn with_capacity(keys: usize) -> ExactSet {
        let slots = vec![0; keys.saturating_add(keys / 4).max(MIN_SLOTS)];
        ExactSet { slots, keys: 0, has_zero: false }
    }

    /// As [`with_capacity`](ExactSet::with_capacity); `None` if there is not enough memory.
    pub fn try_with_capacity(keys: usize) -> Option<ExactSet> {
        let count = keys.checked_add(keys / 4)?.max(MIN_SLOTS);
        let mut slots = Vec::new();
        slots.try_reserve_exact(count).ok()?;
        slots.resize(count, 0);
        Some(ExactSet { slots, keys: 0, has_zero: false })
    }

    /// All hashes, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = u128> {
        let zero = self.has_zero.then_some(0);
        zero.into_iter().chain(self.slots.iter().copied().filter(|hash| *hash != 0))
    }

    /// The number of hashes.
    pub fn keys(&self) -> usize {
        self.keys + usize::from(self.has_zero)
    }

    /// Bytes of its array.
    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u128>()
    }

    /// Whether the hash is in the set.
    pub fn contains(&self, hash: u128) -> bool {
        if hash == 0 {
            return self.has_zero;
        }
        !self.slots.is_empty() && self.slots[self.slot_of(hash)] == hash
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was not in the set.
    pub fn insert_batch_new(&mut self, hashes: &[u128], new: &mut Vec<bool>) {
        new.clear();
        for group in hashes.chunks(GROUP) {
            self.reserve(group.len());
            let mut touched = 0;
            for hash in group {
                touched ^= self.slots[self.first_slot(*hash)] as u64;
            }
            std::hint::black_box(touched);
            new.extend(group.iter().map(|hash| self.insert(*hash)));
        }
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[u128], answers: &mut Vec<bool>) {
        answers.clear();
        if self.slots.is_empty() {
            answers.extend(hashes.iter().map(|hash| self.contains(*hash)));
            return;
        }
        for group in hashes.chunks(GROUP) {
            let mut touched = 0;
            for hash in group {
                touched ^= self.slots[self.first_slot(*hash)] as u64;
            }
            std::hint::black_box(touched);
            answers.extend(group.iter().map(|hash| self.contains(*hash)));
        }
    }

    /// How many more fit before the array must grow.
    pub fn room(&self) -> usize {
        // Fewer than `slots_for` would take: it rounds the quarter down.
        (self.slots.len() / 5 * 4).saturating_sub(self.keys)
    }

    /// Insert without growing.
    fn insert(&mut self, hash: u128) -> bool {
        if hash == 0 {
            return !std::mem::replace(&mut self.has_zero, true);
        }
        let at = self.slot_of(hash);
        let new = self.slots[at] == 0;
        self.slots[at] = hash;
        self.keys += usize::from(new);
        new
    }

    /// The maximum of bytes held while this many more are inserted: growing takes a second array.
    pub fn bytes_with(&self, more: usize) -> usize {
        match self.slots_for(more) {
            Some(slots) => (self.slots.len() + slots) * size_of::<u128>(),
            None => self.bytes(),
        }
    }

    /// How many slots this many more need, if not those there are.
    fn slots_for(&self, more: usize) -> Option<usize> {
        let (need, have) = (self.keys + more, self.slots.len());
        (need + need / 4 > have).then(|| (have + have / 2).max(need * 2).max(MIN_SLOTS))
    }

    /// Load factor at most four fifths, so that probe sequences are short.
    fn reserve(&mut self, more: usize) {
        let Some(slots) = self.slots_for(more) else { return };
        let old = std::mem::replace(&mut self.slots, vec![0; slots]);
        self.keys = 0;
        for hash in old {
            if hash != 0 {
                self.insert(hash);
            }
        }
    }

    /// The slot that holds it, or where it would go.
    #[inline]
    fn slot_of(&self, hash: u128) -> usize {
        let mut at = self.first_slot(hash);
        while self.slots[at] != hash && self.slots[at] != 0 {
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        at
    }

    /// The first slot to probe: the high half of a product maps hashes to any number of slots.
    #[inline]
    fn first_slot(&self, hash: u128) -> usize {
        (((hash >> 64) * self.slots.len() as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn it_answers_as_a_hash_set(
            // Few high halves, so that hashes collide.
            batches in proptest::collection::vec(
                proptest::collection::vec((0u64..3, 0u64..200), 0..300), 0..8)
        ) {
            let (mut ours, mut theirs, mut new) = (ExactSet::new(), HashSet::new(), Vec::new());
            for batch in batches {
                let hashes: Vec<u128> = batch
                    .iter()
                    .map(|(high, low)| (u128::from(high << 62) << 64) | u128::from(*low))
                    .collect();
                ours.insert_batch_new(&hashes, &mut new);
                let want: Vec<bool> = hashes.iter().map(|hash| theirs.insert(*hash)).collect();
                prop_assert_eq!(&new, &want);
                prop_assert_eq!(ours.keys(), theirs.len());
                prop_assert!(theirs.iter().all(|hash| ours.contains(*hash)));
                ours.contains_batch(&hashes, &mut new);
                prop_assert!(new.iter().all(|known| *known));
                prop_assert_eq!(ours.iter().collect::<HashSet<_>>(), theirs.clone());
            }
        }
    }

    #[test]
    fn it_grows_and_forgets_nothing() {
        let hash = |i: u64| xxhash_rust::xxh3::xxh3_128(&i.to_le_bytes());
        let (mut set, mut new) = (ExactSet::new(), Vec::new());
        for from in (0..100_000).step_by(1_000) {
            let hashes: Vec<u128> = (from..from + 1_000).map(hash).collect();
            set.insert_batch_new(&hashes, &mut new);
            assert!(new.iter().all(|new| *new));
        }
        assert_eq!(set.keys(), 100_000);
        assert!((0..100_000).all(|i| set.contains(hash(i))));
        assert!((100_000..200_000).all(|i| !set.contains(hash(i))));
        assert!(set.bytes() < 100_000 * 40, "{} bytes", set.bytes());
    }
}
