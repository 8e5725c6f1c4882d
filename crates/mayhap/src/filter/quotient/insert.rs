//! Putting a fingerprint in: a short way where its run is in the home line or the next, and a long one
//! for runs that are further away, for many copies and for the side table.

use super::line::{COPIES, Header, Place, Target, compare, find, low};
use super::near::Near;
use super::table::{Element, Table, flip_end};
use crate::kernel::AlignedBuf;
use crate::kernel::quotient::{Isa, Task};
use crate::sizing::{LineLayout, MAX_OFFSET};

/// Whether a line has no free slot: its last one ends a run, or has one that goes on in the next line.
#[inline(always)]
fn is_full(header: Header, next: Header, layout: LineLayout) -> bool {
    header.ends(layout) >> (layout.slots - 1) != 0 || next.offset() != 0
}

impl Table<AlignedBuf> {
    /// Put one copy in. `true`: it is the first.
    #[inline(always)]
    pub fn insert<const BITS: u32, I: Isa>(&mut self, isa: I, fingerprint: u64) -> bool {
        let layout = self.layout::<BITS>();
        let new = match self.insert_near(layout, isa, Target::new(layout, fingerprint)) {
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

    /// Insert where the run is in the home line or the next. `None`, and nothing done, otherwise.
    #[inline(always)]
    fn insert_near<I: Isa>(&mut self, layout: LineLayout, isa: I, target: Target) -> Option<bool> {
        let near = Near::find(self.lines(), layout, isa, target)?;
        let equal = near.equal(layout, target.remainder);
        let less = near.less(layout, target.remainder);
        let at = near.from + less;
        if near.more | (equal.count_ones() >= COPIES) | (at >= 2 * layout.slots) {
            return None;
        }
        // The first line from here on with a free slot. Offsets on the way grow by one.
        let lines = self.lines_mut();
        let (mut last, mut header, mut next) = (target.line, near.home, near.next);
        while is_full(header, next, layout) {
            if next.offset() == MAX_OFFSET {
                return None;
            }
            last += 1;
            header = next;
            next = Header::of(lines.get(last + 1)?);
        }
        // The last of its run ends it, and the one before does so no more.
        let is_last = u64::from(less == near.length);
        let ended = is_last & near.here;
        let (line, slot) = if at >= layout.slots { (1, at - layout.slots) } else { (0, at) };
        let lines = lines.get_mut(target.line..=last).filter(|lines| line < lines.len())?;
        let mut header = near.home.with_home(layout, target.home);
        if line == 1 {
            // A line is read whole right after, and must not have to wait for a smaller write to it:
            // so the next line's header is written with the rest, as the home line's is otherwise.
            let ends_there = ended & u64::from(slot == 0);
            header.without_end(layout, layout.slots - 1, ends_there).write(&mut lines[0]);
            header = near.next.with_offset(near.next.offset() + 1);
        }
        let (first, rest) = lines.get_mut(line..)?.split_first_mut()?;
        let mut out = Element::of(first, layout, layout.slots - 1);
        let ends = header.ends(layout) & !(ended << slot >> 1);
        // Adding the upper part to itself moves it one up.
        let ends = (ends + (ends & (!0 << slot))) & low(layout.slots) | is_last << slot;
        isa.open_slot(first, layout, header.with_ends(layout, ends).0, slot, target.remainder);
        for line in rest {
            let carry = out;
            out = Element::of(line, layout, layout.slots - 1);
            let header = Header::of(line);
            let ends = (header.ends(layout) << 1) & low(layout.slots) | carry.is_last;
            let header = header.with_ends(layout, ends);
            let header = header.with_offset(header.offset() + 1);
            isa.open_slot(line, layout, header.0, 0, carry.remainder);
        }
        Some(equal == 0)
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
}

/// Insert where the run is far away or long, or there are many copies or entries in the side table.
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
        for (number, line) in (at.line..).zip(&mut lines[at.line..=last]) {
            let out = Element::of(line, layout, layout.slots - 1);
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
