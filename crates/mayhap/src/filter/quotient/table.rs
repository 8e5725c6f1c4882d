//! Lines and side table together: what a lookup, an insert and a remove do.
//!
//! Each has a short way for the common case, in which the home line is all there is to look at, and
//! a long one for runs that go on in later lines, for many copies and for the side table.
//!
//! `BITS` is the number of remainder bits, for layouts that code is compiled for, or 0 for any.

use super::line::{
    COPIES, Glance, Header, Pattern, Place, Target, compare, ends_at, find, glance, glance_ahead,
    low, window, window_slots,
};
use super::side::SideTable;
use crate::kernel::quotient::{Isa, Task};
use crate::kernel::{AlignedBuf, Line};
use crate::sizing::{LineLayout, MAX_OFFSET, QuotientShape};

/// The multiset of fingerprints, and how many there are.
#[derive(Clone, Debug)]
pub(super) struct Table<B> {
    pub bytes: B,
    pub side: SideTable<B>,
    pub shape: QuotientShape,
    pub layout: LineLayout,
    pub counts: Counts,
}

/// How much is in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// All copies.
    pub keys: u64,
    /// Distinct fingerprints.
    pub distinct: u64,
    /// Copies that are in the lines.
    pub in_lines: u64,
}

impl<B: AsRef<[u8]>> Table<B> {
    /// A table of no keys over bytes that are all zero.
    pub fn empty(shape: QuotientShape, bytes: B) -> Table<B> {
        let (side, layout) = (SideTable::default(), shape.layout());
        Table { bytes, side, shape, layout, counts: Counts::default() }
    }

    #[inline(always)]
    pub fn lines(&self) -> &[Line] {
        self.bytes.as_ref().as_chunks().0
    }

    /// The layout, known to the compiler unless `BITS` is 0.
    #[inline(always)]
    pub fn layout<const BITS: u32>(&self) -> LineLayout {
        if BITS == 0 {
            self.layout
        } else {
            const { LineLayout::new(if BITS == 0 { 1 } else { BITS }) }
        }
    }

    /// Whether a fingerprint is in.
    #[inline(always)]
    pub fn contains<const BITS: u32, I: Isa>(&self, isa: I, fingerprint: u64) -> bool {
        let layout = self.layout::<BITS>();
        let target = Target::new(layout, fingerprint);
        let Glance { matches, more } = glance(self.lines(), layout, isa, target);
        // One branch that is seldom taken; the rest is arithmetic.
        if more { isa.call(FindAnywhere::<B, BITS>(self, fingerprint)) } else { matches != 0 }
    }

    /// How many copies of a fingerprint are in.
    #[inline(always)]
    pub fn count<const BITS: u32, I: Isa>(&self, isa: I, fingerprint: u64) -> u64 {
        let layout = self.layout::<BITS>();
        let target = Target::new(layout, fingerprint);
        let Glance { matches, more } = glance(self.lines(), layout, isa, target);
        match more {
            true => isa.call(CountAnywhere::<B, BITS>(self, fingerprint)),
            false => matches.count_ones().into(),
        }
    }
}

/// Look for a fingerprint, wherever it is.
struct FindAnywhere<'a, B, const BITS: u32>(&'a Table<B>, u64);

impl<B: AsRef<[u8]>, const BITS: u32> Task for FindAnywhere<'_, B, BITS> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        CountAnywhere::<B, BITS>(self.0, self.1).run(isa) > 0
    }
}

/// Count copies of a fingerprint, wherever they are.
struct CountAnywhere<'a, B, const BITS: u32>(&'a Table<B>, u64);

impl<B: AsRef<[u8]>, const BITS: u32> Task for CountAnywhere<'_, B, BITS> {
    type Out = u64;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> u64 {
        let CountAnywhere(table, fingerprint) = self;
        let (lines, layout) = (table.lines(), table.layout::<BITS>());
        let target = Target::new(layout, fingerprint);
        if let Some(copies) = glance_ahead(lines, layout, isa, target) {
            return copies.into();
        }
        let run = find(lines, layout, isa, target).and_then(|found| found.run);
        let copies = run.map_or(0, |run| compare(lines, layout, run, target.remainder).1);
        table.aside(target).saturating_add(copies.into())
    }
}

impl<B: AsRef<[u8]>> Table<B> {
    /// Copies in the side table.
    #[inline(always)]
    fn aside(&self, target: Target) -> u64 {
        let flag = self.lines().get(target.line).is_some_and(|line| Header::of(line).flag());
        if flag { self.side.count(target.fingerprint) } else { 0 }
    }
}

/// Whether a line has no free slot: its last one ends a run, or has one that goes on in the next line.
#[inline(always)]
fn is_full(header: Header, next: Header, layout: LineLayout) -> bool {
    header.ends(layout) >> (layout.slots - 1) != 0 || next.offset() != 0
}

impl Table<AlignedBuf> {
    #[inline(always)]
    fn lines_mut(&mut self) -> &mut [Line] {
        self.bytes.as_mut().as_chunks_mut().0
    }

    #[inline(always)]
    fn header(&self, line: usize) -> Header {
        self.lines().get(line).map_or(Header(0), Header::of)
    }

    fn change_header(&mut self, line: usize, change: impl FnOnce(Header) -> Header) {
        if let Some(line) = self.lines_mut().get_mut(line) {
            change(Header::of(line)).write(line);
        }
    }

    /// Put one copy in. `true`: it is the first.
    #[inline(always)]
    pub fn insert<const BITS: u32, I: Isa>(&mut self, isa: I, fingerprint: u64) -> bool {
        let layout = self.layout::<BITS>();
        let new = match self.insert_at_home(layout, isa, Target::new(layout, fingerprint)) {
            Some(new) => {
                self.counts.in_lines += 1;
                new
            }
            None => isa.call(InsertAnywhere::<BITS>(self, fingerprint)),
        };
        // Not even merged filters have so many copies; a file may say that it has.
        self.counts.keys = self.counts.keys.saturating_add(1);
        self.counts.distinct += u64::from(new);
        new
    }

    /// Insert where the home line has a free slot: then all of its runs are in it, and no other line
    /// changes. `None`, and nothing done, otherwise.
    #[inline(always)]
    fn insert_at_home<I: Isa>(
        &mut self,
        layout: LineLayout,
        isa: I,
        target: Target,
    ) -> Option<bool> {
        let (header, next) = (self.header(target.line), self.header(target.line + 1));
        if is_full(header, next, layout) || header.flag() {
            return None;
        }
        let (ends, occupied) = (header.ends(layout), header.occupied(layout));
        let here = occupied >> target.home & 1;
        let rank = (occupied & !(!0 << target.home)).count_ones();
        let first = 1u64.wrapping_shl(header.offset() as u32);
        let starts = (ends & first.wrapping_neg()) << 1 | first;
        let (from, to) = isa.select_pair(starts, rank);
        // A home without a run has one of no elements, where the next begins.
        let length = (to.wrapping_sub(from) & (here as u32).wrapping_neg()) as usize;
        if length > window_slots(layout) {
            return None;
        }
        let window = window(self.lines().get(target.line)?, layout, from as usize);
        let pattern = Pattern::new(layout, target.remainder);
        let within = isa.low_bits(length * layout.remainder_bits);
        let equal = pattern.equal(window) & within;
        if equal.count_ones() >= COPIES {
            return None;
        }
        let less = (pattern.less(window) & within).count_ones() as usize;
        let slot = from as usize + less;
        // The last of its run ends it, and the one before does so no more.
        let is_last = u64::from(less == length);
        let ends = ends & !((is_last & here) << slot >> 1);
        // Adding the upper part to itself moves it one up.
        let ends = (ends + (ends & (!0 << slot))) | is_last << slot;
        let header = header.with_ends(layout, ends).with_home(layout, target.home);
        let line = self.lines_mut().get_mut(target.line)?;
        isa.open_slot(line, layout, header.0, slot, target.remainder);
        Some(equal == 0)
    }

    /// Take one copy out. `false`: there was none.
    #[inline(always)]
    pub fn remove<const BITS: u32, I: Isa>(&mut self, isa: I, fingerprint: u64) -> bool {
        let layout = self.layout::<BITS>();
        let copies = match self.remove_at_home(layout, isa, Target::new(layout, fingerprint)) {
            Some(copies) => copies,
            None => isa.call(RemoveAnywhere::<BITS>(self, fingerprint)),
        };
        let removed = copies > 0;
        self.counts.keys = self.counts.keys.saturating_sub(removed.into());
        self.counts.distinct -= u64::from(copies == 1);
        removed
    }

    /// Remove where no run of the home line leaves it: how many copies there were. `None`, and
    /// nothing done, otherwise.
    #[inline(always)]
    fn remove_at_home<I: Isa>(
        &mut self,
        layout: LineLayout,
        isa: I,
        target: Target,
    ) -> Option<u64> {
        let (header, next) = (self.header(target.line), self.header(target.line + 1));
        let occupied = header.occupied(layout);
        if header.flag() {
            return None;
        }
        if occupied >> target.home & 1 == 0 {
            return Some(0);
        }
        if next.offset() != 0 || header.offset() >= layout.slots {
            return None;
        }
        let ends = header.ends(layout);
        let rank = (occupied & !(!0 << target.home)).count_ones();
        let starts = (ends & (!0 << header.offset())) << 1 | 1 << header.offset();
        let (from, to) = isa.select_pair(starts, rank);
        let length = to.wrapping_sub(from) as usize;
        if length > window_slots(layout) {
            return None;
        }
        let window = window(self.lines().get(target.line)?, layout, from as usize);
        let within = isa.low_bits(length * layout.remainder_bits);
        let equal = Pattern::new(layout, target.remainder).equal(window) & within;
        if equal == 0 {
            return Some(0);
        }
        let slot = from as usize + equal.trailing_zeros() as usize / layout.remainder_bits;
        // The element before the last becomes the last; a run of one is no more.
        let is_only = u64::from(length == 1);
        let ends = ends | (ends >> slot & 1 & !is_only) << slot >> 1;
        let ends = ends & !(!0 << slot) | ends >> 1 & !0 << slot;
        let header = header.with_ends(layout, ends).without_home(layout, target.home, is_only);
        let line = self.lines_mut().get_mut(target.line)?;
        isa.close_slot(line, layout, header.0, slot, 0);
        self.counts.in_lines -= 1;
        Some(equal.count_ones().into())
    }

    /// One more copy in the side table.
    #[cold]
    fn put_aside(&mut self, target: Target) {
        let count = self.side.tree_mut().entry(target.fingerprint).or_insert(0);
        *count = count.saturating_add(1);
        self.change_header(target.line, |header| header.with_flag(true));
    }

    /// So many more copies of a fingerprint that has an entry in the side table.
    pub fn count_aside(&mut self, fingerprint: u64, copies: u64) {
        if let Some(count) = self.side.tree_mut().get_mut(&fingerprint) {
            *count = count.saturating_add(copies);
            self.counts.keys = self.counts.keys.saturating_add(copies);
        }
    }

    /// One copy less in the side table. `false`: there was none.
    #[cold]
    fn take_aside(&mut self, target: Target) -> bool {
        let tree = self.side.tree_mut();
        let Some(count) = tree.get_mut(&target.fingerprint) else { return false };
        *count -= 1;
        if *count == 0 {
            tree.remove(&target.fingerprint);
            let of_a_line = (self.layout.homes as u64) << self.layout.remainder_bits;
            let first = target.line as u64 * of_a_line;
            let end = first.saturating_add(of_a_line);
            if self.side.tree_mut().range(first..end).next().is_none() {
                self.change_header(target.line, |header| header.with_flag(false));
            }
        }
        true
    }
}

/// Insert where the home line is full, or has many copies or entries in the side table.
struct InsertAnywhere<'a, const BITS: u32>(&'a mut Table<AlignedBuf>, u64);

impl<const BITS: u32> Task for InsertAnywhere<'_, BITS> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        let InsertAnywhere(table, fingerprint) = self;
        let layout = table.layout::<BITS>();
        let target = Target::new(layout, fingerprint);
        let Some(found) = find(table.lines(), layout, isa, target) else { return false };
        let aside = table.aside(target);
        let (mut at, mut is_last, mut equal) = (found.start, 1, 0);
        let mut ended = None;
        if let Some(run) = found.run {
            let less;
            (less, equal) = compare(table.lines(), layout, run, target.remainder);
            at = Place::new(layout, at.line, at.slot + less);
            let behind = run.last.next(layout);
            if at == behind { ended = Some(run.last) } else { is_last = 0 }
        }
        let new = equal == 0 && aside == 0;
        if equal >= COPIES || aside > 0 {
            table.put_aside(target);
            return new;
        }
        // The first line from here on with a free slot. Offsets on the way grow by one.
        let mut last = target.line;
        let mut next = table.header(last + 1);
        while is_full(table.header(last), next, layout) {
            if next.offset() == MAX_OFFSET {
                table.put_aside(target);
                return new;
            }
            last += 1;
            next = table.header(last + 1);
        }
        table.counts.in_lines += 1;
        // A line is read whole right after, and must not have to wait for smaller writes to it: what
        // changes in its header is written with the rest.
        let lines = table.lines_mut();
        for line in &mut lines[(target.line + 1).min(at.line)..at.line] {
            let header = Header::of(line);
            header.with_offset(header.offset() + 1).write(line);
        }
        if let Some(place) = ended.filter(|place| place.line < at.line) {
            flip_end(lines, layout, place);
        }
        if found.run.is_none() && target.line < at.line {
            let line = &mut lines[target.line];
            Header::of(line).with_home(layout, target.home).write(line);
        }
        let mut gone = ended.map_or(0, |place| u64::from(place.line == at.line) << place.slot);
        let (mut slot, mut carry) = (at.slot, Element { remainder: target.remainder, is_last });
        for number in at.line..=last {
            let out = element(lines, layout, Place { line: number, slot: layout.slots - 1 });
            let line = &mut lines[number];
            let header = Header::of(line);
            let ends = header.ends(layout) & !gone;
            let moved = ends + (ends & (!0 << slot));
            let ends = (moved | carry.is_last << slot) & low(layout.slots);
            let header = header.with_ends(layout, ends);
            let header = match number == target.line {
                true => header.with_home(layout, target.home),
                false => header.with_offset(header.offset() + 1),
            };
            isa.open_slot(line, layout, header.0, slot, carry.remainder);
            (slot, carry, gone) = (0, out, 0);
        }
        new
    }
}

/// What a slot holds.
#[derive(Clone, Copy)]
struct Element {
    remainder: u64,
    /// 1 for the last of a run.
    is_last: u64,
}

#[inline(always)]
fn element(lines: &[Line], layout: LineLayout, Place { line, slot }: Place) -> Element {
    let line = &lines[line];
    let remainder = window(line, layout, slot) & low(layout.remainder_bits);
    Element { remainder, is_last: Header::of(line).ends(layout) >> slot & 1 }
}

/// Remove where runs of the home line leave it, or there may be copies in the side table.
struct RemoveAnywhere<'a, const BITS: u32>(&'a mut Table<AlignedBuf>, u64);

impl<const BITS: u32> Task for RemoveAnywhere<'_, BITS> {
    /// How many copies there were.
    type Out = u64;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> u64 {
        let RemoveAnywhere(table, fingerprint) = self;
        let layout = table.layout::<BITS>();
        let target = Target::new(layout, fingerprint);
        let run = find(table.lines(), layout, isa, target).and_then(|found| found.run);
        let found = run.map(|run| (run, compare(table.lines(), layout, run, target.remainder)));
        let aside = table.aside(target);
        let equal = found.map_or(0, |(_, (_, equal))| equal);
        let copies = aside.saturating_add(equal.into());
        if aside > 0 {
            table.take_aside(target);
            return copies;
        }
        let Some((run, (less, 1..))) = found else { return 0 };
        table.counts.in_lines -= 1;
        let at = Place::new(layout, run.start.line, run.start.slot + less);
        let is_only = run.start == run.last;
        let lines = table.lines_mut();
        // As for inserts: a line that is moved is written once.
        for line in &mut lines[(target.line + 1).min(at.line)..at.line] {
            let header = Header::of(line);
            header.with_offset(header.offset() - 1).write(line);
        }
        if is_only && target.line < at.line {
            let line = &mut lines[target.line];
            Header::of(line).without_home(layout, target.home, 1).write(line);
        }
        // The one before the last becomes the last of the run.
        let mut new_end = 0;
        if !is_only && at == run.last {
            match at.slot.checked_sub(1) {
                Some(slot) => new_end = 1 << slot,
                None => {
                    let before = Place { line: at.line - 1, slot: layout.slots - 1 };
                    flip_end(lines, layout, before);
                }
            }
        }
        let Place { line: mut number, mut slot } = at;
        loop {
            let more = lines.get(number + 1).is_some_and(|next| Header::of(next).offset() != 0);
            let fill = match more {
                true => element(lines, layout, Place { line: number + 1, slot: 0 }),
                false => Element { remainder: 0, is_last: 0 },
            };
            let line = &mut lines[number];
            let header = Header::of(line);
            let ends = header.ends(layout) | new_end;
            let moved = ends & !(!0 << slot) | ends >> 1 & !0 << slot;
            let header = header.with_ends(layout, moved | fill.is_last << (layout.slots - 1));
            let header = match number == target.line {
                true => header.without_home(layout, target.home, is_only.into()),
                false => header.with_offset(header.offset() - 1),
            };
            isa.close_slot(line, layout, header.0, slot, fill.remainder);
            if !more {
                break;
            }
            (number, slot, new_end) = (number + 1, 0, 0);
        }
        copies
    }
}

/// Turn the end bit of a slot.
#[inline(always)]
fn flip_end(lines: &mut [Line], layout: LineLayout, Place { line, slot }: Place) {
    let bit = 384 + ends_at(layout) + slot;
    lines[line][bit / 8] ^= 1 << (bit % 8);
}
