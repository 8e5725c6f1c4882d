//! Lookups over 128 slots of one column: two words and a parity, on every machine.

use super::{CheckedBytes, Directory, Equation, Solve};
use crate::hash::Hash;
use crate::sizing::Slots128;

struct OneColumn;

impl Solve<Slots128> for OneColumn {
    #[inline(always)]
    unsafe fn solves(
        CheckedBytes(bytes): CheckedBytes<'_>,
        at: usize,
        _: usize,
        equation: Equation<u128>,
    ) -> bool {
        // SAFETY: the window's 16 bytes lie in the body, by the caller's promise; bytes need no
        // alignment.
        let window = unsafe { bytes.as_ptr().add(at).cast::<[u8; 16]>().read() };
        let selected = u128::from_le_bytes(window) & equation.coefficients;
        let halves = selected as u64 ^ (selected >> 64) as u64;
        u64::from(halves.count_ones() & 1) == equation.fingerprint & 1
    }
}

impl Directory<Slots128> {
    /// What the column says of this key.
    #[inline]
    pub fn contains(&self, bytes: &[u8], hash: Hash) -> bool {
        let Some(body) = self.body(bytes) else { return true };
        self.one::<OneColumn>(body, hash)
    }

    /// One answer per hash.
    pub fn contains_batch(&self, bytes: &[u8], hashes: &[Hash], answers: &mut [bool]) {
        let Some(body) = self.body(bytes) else { return answers.fill(true) };
        self.many::<OneColumn>(body, hashes, answers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_column_is_summed_slot_by_slot(
            bytes in prop::collection::vec(any::<u8>(), 16 + 32),
            coefficients in any::<u128>(),
            fingerprint in any::<u64>(),
        ) {
            let bit = |slot: usize| bytes[slot / 8] >> (slot % 8) & 1;
            let selected = (0..128).filter(|slot| coefficients >> slot & 1 == 1);
            let sum = selected.fold(0, |sum, slot| sum ^ bit(slot));
            let equation = Equation { coefficients, fingerprint };
            // SAFETY: a window and 32 bytes behind it.
            let solves = unsafe { OneColumn::solves(CheckedBytes(&bytes), 0, 1, equation) };
            prop_assert_eq!(solves, u64::from(sum) == fingerprint & 1);
        }
    }
}
