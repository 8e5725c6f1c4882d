//! A home line and the one behind it, seen as one row of slots, in which nearly every run lies: where
//! to insert or remove, without a branch that depends on the key.
//!
//! Whether the home line is full, and in which line a run is, cannot be predicted; asked one by one
//! these cost an insert more than all of its arithmetic. Lookups do not go this way: they need the
//! second line one time in six, and were a third slower when they always read it.

use super::line::{Header, Pattern, Target, occupied_at, window, window_slots};
use crate::kernel::Line;
use crate::kernel::quotient::Isa;
use crate::sizing::LineLayout;

/// Where a run is, or would be, in a home line and the next.
#[derive(Clone, Copy)]
pub(super) struct Near {
    pub home: Header,
    pub next: Header,
    /// 1 if the home has a run.
    pub here: u64,
    /// The first slot of the run, counted from the home line's first.
    pub from: usize,
    /// Elements of the run.
    pub length: usize,
    /// Its slots, from the first on.
    pub window: u64,
    /// Ones for the slots of the run in the window.
    pub within: u64,
    /// Whether that may not be all there is: the run is further away, is long, lies in both lines, or
    /// there is an entry in the side table. Nothing but the headers counts then.
    pub more: bool,
}

impl Near {
    /// `None` only for bytes that are not a filter's.
    #[inline(always)]
    pub fn find<I: Isa>(
        lines: &[Line],
        layout: LineLayout,
        isa: I,
        target: Target,
    ) -> Option<Near> {
        let pair: &[Line; 2] = lines.get(target.line..)?.first_chunk()?;
        let (home, next) = (Header::of(&pair[0]), Header::of(&pair[1]));
        let slots = layout.slots;
        let occupied = (home.0 >> occupied_at(layout)) as u64;
        let here = occupied >> target.home & 1;
        let rank = (occupied & !(!0 << target.home)).count_ones();
        let offset = home.offset();
        // Shifts are modulo 64: with a greater offset the answer is "more".
        let first = 1u64.wrapping_shl(offset as u32);
        let (ends, ends_next) = (home.ends(layout) & first.wrapping_neg(), next.ends(layout));
        // Where the home line's own runs begin, then those of the next; 126 slots at most.
        let low = (ends | ends_next << slots) << 1 | first;
        let high = (ends | ends_next << slots) >> 63 | ends_next >> (64 - slots) << 1;
        let in_low = low.count_ones();
        let nth = |n: u32| {
            let is_high = u32::from(n >= in_low).wrapping_neg();
            let word = low ^ ((low ^ high) & (is_high as i32 as i64 as u64));
            isa.select(word, n.wrapping_sub(in_low & is_high) & 63) + (64 & is_high)
        };
        let (from, to) = (nth(rank) as usize, nth(rank + 1) as usize);
        // A home without a run has one of no elements, where the next begins.
        let length = to.wrapping_sub(from) & (here as usize).wrapping_neg();
        let is_next = usize::from(from >= slots);
        let slot = from - slots * is_next;
        let beyond = (here != 0) & ((to > 2 * slots) | ((from < slots) & (to > slots)));
        let more = beyond
            | (length > window_slots(layout))
            | (offset > slots)
            | (from >= 2 * slots)
            | home.flag();
        let window = window(&pair[is_next & 1], layout, slot);
        let within = isa.low_bits(length.wrapping_mul(layout.remainder_bits));
        Some(Near { home, next, here, from, length, window, within, more })
    }

    /// The highest bits of the slots that match.
    #[inline(always)]
    pub fn equal(&self, layout: LineLayout, remainder: u64) -> u64 {
        Pattern::new(layout, remainder).equal(self.window) & self.within
    }

    /// How many elements of the run are less.
    #[inline(always)]
    pub fn less(&self, layout: LineLayout, remainder: u64) -> usize {
        (Pattern::new(layout, remainder).less(self.window) & self.within).count_ones() as usize
    }
}
