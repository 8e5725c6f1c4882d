//! Every kernel against the definition.

use super::{CheckedBytes, Equation, Solve, scalar::Scalar};
use proptest::prelude::*;

fn scalar(bytes: &[u8], columns: usize, equation: Equation) -> bool {
    // SAFETY: the caller gives a window and padding; the definition checks its bounds itself.
    unsafe { Scalar::solves(CheckedBytes(bytes), 0, columns, equation) }
}

/// The definition once more, slot by slot.
fn by_slots(bytes: &[u8], columns: usize, equation: Equation) -> bool {
    (0..columns).all(|column| {
        let bit = |slot: usize| bytes[slot / 8 * columns + column] >> (slot % 8) & 1;
        let selected = (0..64).filter(|slot| equation.coefficients >> slot & 1 == 1);
        let sum = selected.fold(0, |sum, slot| sum ^ bit(slot));
        u64::from(sum) == equation.fingerprint >> column & 1
    })
}

/// The fingerprint that these blocks make, or one that differs in one column.
fn solution(bytes: &[u8], columns: usize, coefficients: u64, wrong: Option<u32>) -> Equation {
    let mut fingerprint = 0;
    for column in 0..columns {
        let one = Equation { coefficients, fingerprint: 1 << column | fingerprint };
        let zero = Equation { coefficients, fingerprint };
        let narrow = |equation: Equation| {
            let bit = |slot: usize| u64::from(bytes[slot / 8 * columns + column] >> (slot % 8) & 1);
            let sum = (0..64).fold(0, |sum, slot| sum ^ (bit(slot) & coefficients >> slot & 1));
            sum == equation.fingerprint >> column & 1
        };
        fingerprint = if narrow(one) { one.fingerprint } else { zero.fingerprint };
    }
    let flip = wrong.map_or(0, |column| 1 << (column as usize % columns));
    Equation { coefficients, fingerprint: fingerprint ^ flip }
}

proptest! {
    #[test]
    fn every_kernel_agrees_with_the_slots(
        bytes in prop::collection::vec(any::<u8>(), 32 * 8 + 32),
        columns in 1usize..=32,
        coefficients in any::<u64>(),
        wrong in prop::option::of(0u32..32),
        beyond in any::<u64>(),
    ) {
        let right = wrong.is_none();
        let mut equation = solution(&bytes, columns, coefficients | 1, wrong);
        // Bits above the columns do not count.
        equation.fingerprint |= beyond << columns;
        prop_assert_eq!(by_slots(&bytes, columns, equation), right);
        prop_assert_eq!(scalar(&bytes, columns, equation), right);
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            if crate::kernel::has_avx2() {
                prop_assert_eq!(super::avx2::solves(&bytes, columns, equation), right);
            }
            if super::Isa::has_avx512() {
                prop_assert_eq!(super::avx512::solves(&bytes, columns, equation), right);
            }
        }
    }
}
