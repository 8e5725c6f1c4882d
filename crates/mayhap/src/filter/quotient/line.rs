//! Where a fingerprint is: the header of a line, runs, and the slots that hold them.
//!
//! All of this reads bytes that may come from a mapped file. Whatever they hold, nothing here reads
//! outside of the array, panics, or searches further than the few lines a run can be away.

use crate::kernel::Line;
use crate::kernel::quotient::Isa;
use crate::sizing::LineLayout;

/// Copies of one fingerprint in the lines; more are counted in the side table.
pub(super) const COPIES: u32 = 3;
/// Where the fields of the header end, counted from bit 384 of the line.
const OFFSET_AT: usize = 120;
const FLAG_AT: usize = 119;
/// The bit of a line that tells of entries in the side table.
pub(super) const FLAG_BIT: usize = 384 + FLAG_AT;

/// So many ones.
#[inline(always)]
pub(super) const fn low(count: usize) -> u64 {
    if count >= 64 { !0 } else { (1 << count) - 1 }
}

/// Where a fingerprint belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub fingerprint: u64,
    /// Its home's line.
    pub line: usize,
    /// Which of the line's homes.
    pub home: u32,
    pub remainder: u64,
}

impl Target {
    #[inline(always)]
    pub fn new(layout: LineLayout, fingerprint: u64) -> Target {
        let bits = layout.remainder_bits;
        let (line, home) = layout.line_of(fingerprint >> bits);
        Target { fingerprint, line, home, remainder: fingerprint & low(bits) }
    }
}

/// The last 128 bits of a line: from the top the offset, the flag, a bit for each home that has a
/// run, a bit for each slot that ends one; below them slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header(pub u128);

impl Header {
    #[inline(always)]
    pub fn of(line: &Line) -> Header {
        Header(line.last_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes)))
    }

    /// How many slots, from this line's first on, hold elements of earlier lines.
    #[inline(always)]
    pub fn offset(self) -> usize {
        (self.0 >> OFFSET_AT) as usize
    }

    /// Whether fingerprints of this line are in the side table.
    #[inline(always)]
    pub fn flag(self) -> bool {
        self.0 >> FLAG_AT & 1 != 0
    }

    /// The homes that have a run.
    #[inline(always)]
    pub fn occupied(self, layout: LineLayout) -> u64 {
        (self.0 >> occupied_at(layout)) as u64 & low(layout.homes)
    }

    /// The slots that are the last of their run.
    #[inline(always)]
    pub fn ends(self, layout: LineLayout) -> u64 {
        (self.0 >> ends_at(layout)) as u64 & low(layout.slots)
    }

    /// The same with other ends, and without the slots below them.
    #[inline(always)]
    pub fn with_ends(self, layout: LineLayout, ends: u64) -> Header {
        let upper = self.0 & !0 << occupied_at(layout);
        Header(upper | u128::from(ends) << ends_at(layout))
    }

    #[inline(always)]
    pub fn with_home(self, layout: LineLayout, home: u32) -> Header {
        Header(self.0 | 1 << (occupied_at(layout) + home as usize))
    }

    /// The same, this home's bit cleared where `clear` is 1.
    #[inline(always)]
    pub fn without_home(self, layout: LineLayout, home: u32, clear: u64) -> Header {
        Header(self.0 & !(u128::from(clear) << (occupied_at(layout) + home as usize)))
    }

    /// The same, this slot's end bit cleared where `clear` is 1.
    #[inline(always)]
    pub fn without_end(self, layout: LineLayout, slot: usize, clear: u64) -> Header {
        Header(self.0 & !(u128::from(clear) << (ends_at(layout) + slot)))
    }

    pub fn with_flag(self, flag: bool) -> Header {
        Header(self.0 & !(1 << FLAG_AT) | u128::from(flag) << FLAG_AT)
    }

    #[inline(always)]
    pub fn with_offset(self, offset: usize) -> Header {
        Header(self.0 & !(!0 << OFFSET_AT) | (offset as u128) << OFFSET_AT)
    }

    #[inline(always)]
    pub fn write(self, line: &mut Line) {
        if let Some(bytes) = line.last_chunk_mut() {
            *bytes = self.0.to_le_bytes();
        }
    }
}

/// Where the ends begin in the header.
#[inline(always)]
pub(super) const fn ends_at(layout: LineLayout) -> usize {
    FLAG_AT - layout.homes - layout.slots
}

/// Where the homes begin in the header.
#[inline(always)]
pub(super) const fn occupied_at(layout: LineLayout) -> usize {
    FLAG_AT - layout.homes
}

/// The slots of a line from this one on: at least 57 bits, of which those past the last slot mean
/// nothing. 0 for a slot that does not exist.
#[inline(always)]
pub(super) fn window(line: &Line, layout: LineLayout, slot: usize) -> u64 {
    let bit = slot * layout.remainder_bits;
    let bytes = line.get(bit / 8..).and_then(<[u8]>::first_chunk);
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes) >> (bit % 8))
}

/// A remainder beside which others are held, many at a time: fields of a word.
#[derive(Clone, Copy)]
pub(super) struct Pattern {
    fields: u64,
    /// The highest bit of every field, and all the others.
    high: u64,
    rest: u64,
}

impl Pattern {
    #[inline(always)]
    pub fn new(layout: LineLayout, remainder: u64) -> Pattern {
        let high = layout.ones << (layout.remainder_bits - 1);
        Pattern { fields: remainder.wrapping_mul(layout.ones), high, rest: high - layout.ones }
    }

    /// The highest bit of every field that equals the remainder.
    #[inline(always)]
    pub fn equal(self, window: u64) -> u64 {
        let x = window ^ self.fields;
        !(((x & self.rest) + self.rest) | x) & self.high
    }

    /// The highest bit of every field that is less than the remainder.
    #[inline(always)]
    pub fn less(self, window: u64) -> u64 {
        let x = window ^ self.fields;
        let difference = (window | self.high).wrapping_sub(self.fields & !self.high);
        ((!window & self.fields) | (!x & !difference)) & self.high
    }
}

/// The fields of one window that are whole for certain.
#[inline(always)]
pub(super) const fn window_slots(layout: LineLayout) -> usize {
    57 / layout.remainder_bits
}

/// A slot of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub line: usize,
    pub slot: usize,
}

impl Place {
    /// So many slots after the start of a line.
    #[inline(always)]
    pub fn new(layout: LineLayout, mut line: usize, mut slot: usize) -> Place {
        while slot >= layout.slots {
            slot -= layout.slots;
            line += 1;
        }
        Place { line, slot }
    }

    #[inline(always)]
    pub fn next(self, layout: LineLayout) -> Place {
        Place::new(layout, self.line, self.slot + 1)
    }
}

/// The elements of one home, first to last, in as many lines as it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub start: Place,
    pub last: Place,
}

/// What a search found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Where the home's run begins, or would.
    pub start: Place,
    /// Its run, if it has one.
    pub run: Option<Run>,
}

/// Find the run of a home, wherever it is. `None` only where bytes are not those of a filter.
#[inline(always)]
pub(super) fn find<I: Isa>(
    lines: &[Line],
    layout: LineLayout,
    isa: I,
    target: Target,
) -> Option<Found> {
    let header = Header::of(lines.get(target.line)?);
    let occupied = header.occupied(layout);
    let rank = (occupied & !(!0 << target.home)).count_ones();
    // A run of this line cannot end further away than the offset of the next one reaches.
    let limit = target.line + layout.padding();
    let mut start = Place::new(layout, target.line, header.offset());
    // Behind the ends of as many runs as there are before it.
    if let Some(mut n) = rank.checked_sub(1) {
        let mut ends = Header::of(lines.get(start.line)?).ends(layout) & !0 << start.slot;
        while n >= ends.count_ones() {
            n -= ends.count_ones();
            start.line += 1;
            if start.line > limit {
                return None;
            }
            ends = Header::of(lines.get(start.line)?).ends(layout);
        }
        start = Place { line: start.line, slot: isa.select(ends, n) as usize }.next(layout);
    }
    if occupied >> target.home & 1 == 0 {
        return Some(Found { start, run: None });
    }
    // It ends at the next end.
    let mut last = start;
    let mut ends = Header::of(lines.get(last.line)?).ends(layout) & !0 << last.slot;
    while ends == 0 {
        last.line += 1;
        if last.line > limit {
            return None;
        }
        ends = Header::of(lines.get(last.line)?).ends(layout);
    }
    last.slot = ends.trailing_zeros() as usize;
    Some(Found { start, run: Some(Run { start, last }) })
}

/// How many elements of a run are less than the remainder, and how many equal it.
#[inline(always)]
pub(super) fn compare(
    lines: &[Line],
    layout: LineLayout,
    run: Run,
    remainder: u64,
) -> (usize, u32) {
    let pattern = Pattern::new(layout, remainder);
    let (mut less, mut equal) = (0, 0);
    for line in run.start.line..=run.last.line {
        let Some(bytes) = lines.get(line) else { break };
        let mut slot = if line == run.start.line { run.start.slot } else { 0 };
        let end = if line == run.last.line { run.last.slot + 1 } else { layout.slots };
        while slot < end {
            let count = window_slots(layout).min(end - slot);
            let window = window(bytes, layout, slot);
            let within = low(count * layout.remainder_bits);
            less += (pattern.less(window) & within).count_ones() as usize;
            equal += (pattern.equal(window) & within).count_ones();
            slot += count;
        }
    }
    (less, equal)
}

/// What a look at the home line alone tells.
pub(super) struct Glance {
    /// The highest bits of slots that match.
    pub matches: u64,
    /// Whether there may be more: in the next line, in a long run or in the side table.
    pub more: bool,
}

/// Look for a fingerprint in its home line, without a branch.
#[inline(always)]
pub(super) fn glance<I: Isa>(lines: &[Line], layout: LineLayout, isa: I, target: Target) -> Glance {
    let Some(line) = lines.get(target.line) else { return Glance { matches: 0, more: false } };
    let header = Header::of(line);
    let occupied = (header.0 >> occupied_at(layout)) as u64;
    let here = occupied >> target.home & 1;
    let rank = (occupied & !(!0 << target.home)).count_ones();
    let offset = header.offset();
    // Shifts are modulo 64: with a greater offset the answer is "more".
    let first = 1u64.wrapping_shl(offset as u32);
    let ends = header.ends(layout) & first.wrapping_neg();
    // Where the line's own runs begin; one more than there are.
    let starts = ends << 1 | first;
    let (from, to) = isa.select_pair(starts, rank);
    // Where there is no such start both are 64, and the length is 0.
    let length = to.wrapping_sub(from) as usize;
    let window = window(line, layout, from as usize);
    let within = isa.low_bits(length.wrapping_mul(layout.remainder_bits));
    let matches = Pattern::new(layout, target.remainder).equal(window) & within;
    let beyond = here & u64::from((to == 64) | (length > window_slots(layout)));
    let more = beyond | offset as u64 >> 6 | u64::from(header.flag());
    Glance { matches: matches & here.wrapping_neg(), more: more != 0 }
}

/// Look for a fingerprint whose run ends in the line behind its home line, as nearly all do that do
/// not end at home: how many slots match. `None` where it is not as simple as that.
#[inline(always)]
pub(super) fn glance_ahead<I: Isa>(
    lines: &[Line],
    layout: LineLayout,
    isa: I,
    target: Target,
) -> Option<u32> {
    let [home_line, next_line] = lines.get(target.line..target.line + 2)? else { return None };
    let (home, next) = (Header::of(home_line), Header::of(next_line));
    let occupied = home.occupied(layout);
    if home.flag() || home.offset() > layout.slots || occupied >> target.home & 1 == 0 {
        return None;
    }
    let rank = (occupied & !(!0 << target.home)).count_ones();
    let first = 1u64 << home.offset();
    let ends = home.ends(layout) & first.wrapping_neg();
    // Where the line's own runs begin; the last of these begins, or would, the one that leaves it.
    let starts = ends << 1 | first;
    let n = rank.checked_sub(ends.count_ones())?;
    let (from, to) = isa.select_pair(next.ends(layout) << 1 | 1, n);
    let behind = to.wrapping_sub(from) as usize;
    // The run that leaves the home line has a part there too.
    let start = 63 - starts.leading_zeros() as usize;
    let before = if n == 0 { layout.slots - start } else { 0 };
    if to == 64 || behind > window_slots(layout) || before > window_slots(layout) {
        return None;
    }
    let pattern = Pattern::new(layout, target.remainder);
    let matches = |line, slot, count: usize| {
        let window = window(line, layout, slot);
        (pattern.equal(window) & isa.low_bits(count * layout.remainder_bits)).count_ones()
    };
    Some(matches(home_line, start, before) + matches(next_line, from as usize, behind))
}
