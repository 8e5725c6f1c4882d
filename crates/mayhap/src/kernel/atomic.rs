//! Setting bits that others set at the same time.
//!
//! Relaxed is enough: a bit only ever goes from 0 to 1, so there is nothing to order. Who needs
//! to see another thread's keys has synchronised with it some other way.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A shared word; `loom` has its own to check the logic with.
pub(crate) trait Word {
    /// The value now.
    fn load(&self) -> u64;
    /// Set the bits of `mask`; the value before.
    fn or(&self, mask: u64) -> u64;
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn load(&self) -> u64 {
        AtomicU64::load(self, Relaxed)
    }

    #[inline(always)]
    fn or(&self, mask: u64) -> u64 {
        self.fetch_or(mask, Relaxed)
    }
}

/// Set the bits of `mask`; whether this very call set one of them. A word that has them all is
/// not written, so that readers keep it in their caches.
#[inline(always)]
pub(crate) fn set(word: &impl Word, mask: u64) -> bool {
    word.load() & mask != mask && word.or(mask) & mask != mask
}

/// The word of bit `at`, and the bit in it as it lies in memory.
#[inline(always)]
pub(crate) fn place(at: u64) -> (usize, u64) {
    ((at >> 6) as usize, (1u64 << (at & 63)).to_le())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_call_that_sets_a_bit_says_so() {
        let word = AtomicU64::new(0b0001);
        assert!(set(&word, 0b0011));
        assert!(!set(&word, 0b0011));
        assert!(!set(&word, 0));
        assert_eq!(word.into_inner(), 0b0011);
    }
}
