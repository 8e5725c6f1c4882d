//! The ways into a kernel, the same for every instruction set.
//!
//! A kernel file says how to look into lines: `has_line`, `has_half`, `has_halves` (the first half of
//! one line and the second of another), `has_lines` (both whole), `set_half` and `set_line`, which tell
//! whether any bit was clear. `SPARING` says whether lines that have all bits are left alone, which
//! spares memory a write where keys repeat.

macro_rules! entry_points {
    ($(#[$feature:meta])*) => {
        use super::super::Line as LineOf;
        use super::{Fill, ONE_LINE, Places, TWO_HALVES, places, ring};
        use crate::Key;
        use crate::hash::Hash;
        use crate::scheme::ShortHash;
        use crate::sizing::Columns;

        /// The line that begins at this byte.
        ///
        /// # Safety
        /// It is one of the places of a key in these lines.
        #[inline(always)]
        unsafe fn line(lines: &[LineOf], at: usize) -> &LineOf {
            // SAFETY: the upper half of a product with the number of bytes is below it, and rounded
            // down to a line it begins one of the lines.
            unsafe { lines.get_unchecked(at / 64) }
        }

        /// As `line`.
        #[inline(always)]
        unsafe fn line_mut(lines: &mut [LineOf], at: usize) -> &mut LineOf {
            // SAFETY: as for `line`.
            unsafe { lines.get_unchecked_mut(at / 64) }
        }

        /// Whether the key's bits are all set.
        ///
        /// # Safety
        /// The places are in these lines, and the machine has this kernel's instructions: so for all
        /// below.
        $(#[$feature])*
        #[inline]
        unsafe fn has<const LAYOUT: u8>(lines: &[LineOf], at: Places) -> bool {
            // SAFETY: as for the function.
            unsafe {
                match LAYOUT {
                    ONE_LINE => has_line(line(lines, at.first), at.fraction),
                    TWO_HALVES => {
                        has_halves(line(lines, at.first), line(lines, at.second), at.fraction)
                    }
                    _ => has_lines(line(lines, at.first), line(lines, at.second), at.fraction),
                }
            }
        }

        /// The same of the first (or second) of two lines.
        $(#[$feature])*
        #[inline]
        unsafe fn has_one<const LAYOUT: u8>(lines: &[LineOf], at: Places, second: bool) -> bool {
            // SAFETY: as for the function.
            unsafe {
                let line = line(lines, if second { at.second } else { at.first });
                match LAYOUT {
                    TWO_HALVES => has_half(line, second, at.fraction),
                    _ => has_line(line, at.fraction),
                }
            }
        }

        /// Set the key's bits; whether any was clear.
        $(#[$feature])*
        #[inline]
        unsafe fn set<const LAYOUT: u8, const SPARING: bool>(
            lines: &mut [LineOf],
            at: Places,
        ) -> bool {
            // SAFETY: as for the function.
            unsafe {
                let new = set_one::<LAYOUT, SPARING>(line_mut(lines, at.first), at.fraction, false);
                match LAYOUT {
                    ONE_LINE => new,
                    _ => {
                        let second = line_mut(lines, at.second);
                        set_one::<LAYOUT, SPARING>(second, at.fraction, true) | new
                    }
                }
            }
        }

        /// The same in its first (or second) line.
        $(#[$feature])*
        #[inline]
        fn set_one<const LAYOUT: u8, const SPARING: bool>(
            line: &mut LineOf,
            fraction: u64,
            second: bool,
        ) -> bool {
            match LAYOUT {
                TWO_HALVES => set_half::<SPARING>(line, second, fraction),
                _ => set_line::<SPARING>(line, fraction),
            }
        }

        #[inline(always)]
        fn bytes(lines: &[LineOf]) -> u64 {
            (lines.len() as u64).wrapping_mul(64)
        }

        /// May this key be in?
        ///
        /// # Safety
        /// There are as many lines as the layout needs: so for all below.
        $(#[$feature])*
        #[inline]
        pub(in super::super) unsafe fn contains<const LAYOUT: u8>(
            lines: &[LineOf],
            hash: Hash,
        ) -> bool {
            // SAFETY: as for the function.
            unsafe { has::<LAYOUT>(lines, places::<LAYOUT>(hash, bytes(lines))) }
        }

        /// Set the key's bits; whether any was clear.
        $(#[$feature])*
        #[inline]
        pub(in super::super) unsafe fn insert<const LAYOUT: u8>(
            lines: &mut [LineOf],
            hash: Hash,
        ) -> bool {
            // SAFETY: as for the function.
            unsafe { set::<LAYOUT, false>(lines, places::<LAYOUT>(hash, bytes(lines))) }
        }

        /// May the key of this hash be in, whatever the layout?
        $(#[$feature])*
        #[allow(dead_code, reason = "for kernels that are dispatched when a filter is made")]
        pub(in super::super) unsafe fn contains_hash(
            lines: &[LineOf],
            columns: Columns,
            hash: Hash,
        ) -> bool {
            // SAFETY: as for the function.
            unsafe {
                match columns {
                    Columns::OneLine => contains::<ONE_LINE>(lines, hash),
                    Columns::TwoHalves => contains::<TWO_HALVES>(lines, hash),
                    Columns::TwoLines => contains::<{ super::TWO_LINES }>(lines, hash),
                }
            }
        }

        /// Set the bits of this hash, whatever the layout; whether any was clear.
        $(#[$feature])*
        #[allow(dead_code, reason = "as above")]
        pub(in super::super) unsafe fn insert_hash(
            lines: &mut [LineOf],
            columns: Columns,
            hash: Hash,
        ) -> bool {
            // SAFETY: as for the function.
            unsafe {
                match columns {
                    Columns::OneLine => insert::<ONE_LINE>(lines, hash),
                    Columns::TwoHalves => insert::<TWO_HALVES>(lines, hash),
                    Columns::TwoLines => insert::<{ super::TWO_LINES }>(lines, hash),
                }
            }
        }

        /// May this key be in? The hash and the lookup in one function: a call less, and nothing to be
        /// saved across it.
        $(#[$feature])*
        #[allow(dead_code, reason = "as above")]
        pub(in super::super) unsafe fn contains_key<K: Key>(
            lines: &[LineOf],
            columns: Columns,
            hash: &ShortHash,
            key: K,
        ) -> bool {
            let hash = hash.hash(key.key_bytes().as_ref());
            // SAFETY: as for the function.
            unsafe { contains_hash(lines, columns, hash) }
        }

        /// Set the key's bits; whether any was clear. The hash and the insert in one function.
        $(#[$feature])*
        #[allow(dead_code, reason = "as above")]
        pub(in super::super) unsafe fn insert_key<K: Key>(
            lines: &mut [LineOf],
            columns: Columns,
            hash: &ShortHash,
            key: K,
        ) -> bool {
            let hash = hash.hash(key.key_bytes().as_ref());
            // SAFETY: as for the function.
            unsafe { insert_hash(lines, columns, hash) }
        }

        /// One answer a hash.
        $(#[$feature])*
        pub(in super::super) unsafe fn contains_batch<const LAYOUT: u8>(
            lines: &[LineOf],
            hashes: &[Hash],
            answers: &mut [bool],
        ) {
            // SAFETY: the ring gives places of keys in an array of just these bytes.
            unsafe {
                if LAYOUT == ONE_LINE {
                    ring::contains_one_line(lines, hashes, answers, |at| has::<LAYOUT>(lines, at));
                } else {
                    ring::contains_two::<LAYOUT>(
                        lines,
                        hashes,
                        answers,
                        |at| has::<LAYOUT>(lines, at),
                        |at, second| has_one::<LAYOUT>(lines, at, second),
                    );
                }
            }
        }

        /// Insert all; `report` hears of each whether it was new.
        $(#[$feature])*
        pub(in super::super) unsafe fn insert_batch<const LAYOUT: u8>(
            lines: &mut [LineOf],
            hashes: &[Hash],
            report: impl FnMut(usize, bool),
        ) {
            // SAFETY: the ring gives places of keys in an array of just these bytes.
            ring::insert::<LAYOUT>(lines, hashes, report, |lines, at| unsafe {
                set::<LAYOUT, true>(lines, at)
            });
        }

        /// Set the bits of hashes that were sorted into this run of lines.
        $(#[$feature])*
        pub(in super::super) fn fill_partition<const LAYOUT: u8>(fill: Fill<'_>) {
            ring::fill_partition::<LAYOUT>(fill, |line, fraction, second| {
                set_one::<LAYOUT, false>(line, fraction, second)
            });
        }
    };
}

pub(super) use entry_points;
