//! What became known after a filter was built.

use crate::hash::Hash;
use crate::kernel::Relocate;

/// Keys added and removed since a [`Cascade`](crate::Cascade) was built, by their whole hashes:
/// exact, at 64 bits each. The last word on a key is the one that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stash {
    /// Sorted, none twice; none of these is in `removed`.
    added: Vec<Hash>,
    /// Likewise.
    removed: Vec<Hash>,
}

impl Stash {
    /// Offer its memory to whoever tidies the heap.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        memory.relocate(&mut self.added);
        memory.relocate(&mut self.removed);
    }

    /// A stash of these; `None` where they are not in order, or one is there twice.
    pub(crate) fn from_parts(added: Vec<Hash>, removed: Vec<Hash>) -> Option<Stash> {
        let rises = |hashes: &[Hash]| hashes.is_sorted_by(|a, b| a < b);
        let apart = |hash: &Hash| added.binary_search(hash).is_err();
        let fits = rises(&added) && rises(&removed) && removed.iter().all(apart);
        fits.then_some(Stash { added, removed })
    }

    /// What was said of this key, if anything: added or removed.
    pub fn answer(&self, hash: Hash) -> Option<bool> {
        if self.added.binary_search(&hash).is_ok() {
            Some(true)
        } else {
            self.removed.binary_search(&hash).is_ok().then_some(false)
        }
    }

    /// Added since, in order.
    pub fn added(&self) -> &[Hash] {
        &self.added
    }

    /// Removed since, in order.
    pub fn removed(&self) -> &[Hash] {
        &self.removed
    }

    /// Whether nothing was added or removed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// Its bytes: 8 a key.
    pub fn bytes(&self) -> u64 {
        8 * (self.added.len() + self.removed.len()) as u64
    }

    pub(super) fn add(&mut self, hashes: &[Hash]) -> u64 {
        record(&mut self.added, &mut self.removed, hashes)
    }

    pub(super) fn remove(&mut self, hashes: &[Hash]) -> u64 {
        record(&mut self.removed, &mut self.added, hashes)
    }
}

/// Record hashes in one list and take them out of the other; how many are new in the first.
fn record(here: &mut Vec<Hash>, there: &mut Vec<Hash>, hashes: &[Hash]) -> u64 {
    let before = here.len();
    match hashes {
        // One after another they find their places; many at once are sorted in.
        [one] => {
            if let Err(place) = here.binary_search(one) {
                here.insert(place, *one);
            }
        }
        many => {
            here.extend_from_slice(many);
            here.sort_unstable();
            here.dedup();
        }
    }
    let new = here.len() - before;
    if new > 0 {
        there.retain(|hash| here.binary_search(hash).is_err());
    }
    new as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts() {
        let mut stash = Stash::default();
        assert_eq!(stash.add(&[Hash(7), Hash(3), Hash(7)]), 2);
        assert_eq!((stash.remove(&[Hash(3)]), stash.remove(&[Hash(3)])), (1, 0));
        assert_eq!([3, 7, 9].map(|h| stash.answer(Hash(h))), [Some(false), Some(true), None]);
        assert_eq!((stash.added(), stash.removed()), (&[Hash(7)][..], &[Hash(3)][..]));
        assert_eq!((stash.add(&[Hash(3)]), stash.removed().len(), stash.bytes()), (1, 0, 16));
    }

    #[test]
    fn only_what_is_in_order_is_taken() {
        let hashes = |numbers: &[u64]| numbers.iter().map(|n| Hash(*n)).collect::<Vec<_>>();
        let fits = |a: &[u64], r: &[u64]| Stash::from_parts(hashes(a), hashes(r)).is_some();
        assert!(fits(&[], &[]) && fits(&[1, 5], &[2]));
        assert!(!fits(&[5, 1], &[]) && !fits(&[], &[2, 2]) && !fits(&[1, 5], &[5]));
    }
}
