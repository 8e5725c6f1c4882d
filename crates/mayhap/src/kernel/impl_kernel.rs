//! The ways into a kernel, the same for every instruction set.
//!
//! A kernel file says how to look into one line: `Lanes` (which probes count, made once a batch),
//! `lanes`, `line_contains` and `line_insert`. `WIDE` tells whether there are more than eight
//! probes a line; it is a constant so that the common loop has no trace of the other. `SPARING`
//! tells whether a line that has all of them is left alone, which spares memory a write where keys
//! repeat, or written all the same, where nobody wants to know whether the key was new.

macro_rules! impl_kernel {
    ($(#[$feature:meta])*) => {
        use super::ring;
        use crate::sizing::BlockedShape;

        /// May this key be in?
        $(#[$feature])*
        pub(super) fn contains(lines: &[Line], shape: BlockedShape, hash: Hash) -> bool {
            let want = lanes(shape.probes_per_line);
            if shape.probes_per_line <= 8 {
                ring::one_contains(lines, shape, hash, |line, hash| {
                    line_contains::<false>(line, hash, want)
                })
            } else {
                ring::one_contains(lines, shape, hash, |line, hash| {
                    line_contains::<true>(line, hash, want)
                })
            }
        }

        /// Set the key's bits; whether any was clear.
        $(#[$feature])*
        pub(super) fn insert(lines: &mut [Line], shape: BlockedShape, hash: Hash) -> bool {
            let want = lanes(shape.probes_per_line);
            if shape.probes_per_line <= 8 {
                ring::one_insert(lines, shape, hash, |line, hash| {
                    line_insert::<false, true>(line, hash, want)
                })
            } else {
                ring::one_insert(lines, shape, hash, |line, hash| {
                    line_insert::<true, true>(line, hash, want)
                })
            }
        }

        /// One answer a hash.
        $(#[$feature])*
        pub(super) fn contains_batch(
            lines: &[Line],
            shape: BlockedShape,
            hashes: &[Hash],
            answers: &mut [bool],
        ) {
            let want = lanes(shape.probes_per_line);
            if shape.probes_per_line <= 8 {
                ring::contains(lines, shape, hashes, answers, |line, hash| {
                    line_contains::<false>(line, hash, want)
                });
            } else {
                ring::contains(lines, shape, hashes, answers, |line, hash| {
                    line_contains::<true>(line, hash, want)
                });
            }
        }

        /// Insert all; `report` hears of each whether it was new.
        $(#[$feature])*
        pub(super) fn insert_batch(
            lines: &mut [Line],
            shape: BlockedShape,
            hashes: &[Hash],
            report: impl FnMut(usize, bool),
        ) {
            let want = lanes(shape.probes_per_line);
            if shape.probes_per_line <= 8 {
                ring::insert(lines, shape, hashes, report, |line, hash| {
                    line_insert::<false, true>(line, hash, want)
                });
            } else {
                ring::insert(lines, shape, hashes, report, |line, hash| {
                    line_insert::<true, true>(line, hash, want)
                });
            }
        }

        /// Set the bits of hashes that were sorted into this run of lines.
        $(#[$feature])*
        pub(super) fn fill_partition(
            lines: &mut [Line],
            first: u64,
            shape: BlockedShape,
            hashes: &[Hash],
        ) {
            let want = lanes(shape.probes_per_line);
            if shape.probes_per_line <= 8 {
                ring::fill_partition(lines, first, shape, hashes, |line, hash| {
                    line_insert::<false, false>(line, hash, want)
                });
            } else {
                ring::fill_partition(lines, first, shape, hashes, |line, hash| {
                    line_insert::<true, false>(line, hash, want)
                });
            }
        }
    };
}

pub(super) use impl_kernel;
