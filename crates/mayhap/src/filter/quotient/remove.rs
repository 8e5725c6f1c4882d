//! Taking a fingerprint out, by the same two ways as [`insert`](super::insert).

use super::line::{Header, Place, Target, compare, find};
use super::near::Near;
use super::table::{Element, Table, flip_end};
use crate::kernel::quotient::{Isa, Task};
use crate::kernel::{AlignedBuf, Line};
use crate::sizing::LineLayout;

impl Table<AlignedBuf> {
    /// Take one copy out. `false`: there was none.
    #[inline(always)]
    pub fn remove<const BITS: u32, I: Isa>(&mut self, isa: I, fingerprint: u64) -> bool {
        let layout = self.layout::<BITS>();
        let copies = match self.remove_near(layout, isa, Target::new(layout, fingerprint)) {
            Some(copies) => copies,
            None => isa.call(RemoveAnywhere::<BITS>(self, fingerprint)),
        };
        let removed = copies > 0;
        self.counts.keys = self.counts.keys.saturating_sub(removed.into());
        self.counts.distinct -= u64::from(copies == 1);
        removed
    }

    /// Remove where the run is in the home line or the next: how many copies there were. `None`, and
    /// nothing done, otherwise.
    #[inline(always)]
    fn remove_near<I: Isa>(&mut self, layout: LineLayout, isa: I, target: Target) -> Option<u64> {
        let near = Near::find(self.lines(), layout, isa, target)?;
        if near.more {
            return None;
        }
        let equal = near.equal(layout, target.remainder);
        if equal == 0 {
            return Some(0);
        }
        let at = near.from + equal.trailing_zeros() as usize / layout.remainder_bits;
        let is_only = u64::from(near.length == 1);
        let lines = self.lines_mut().get_mut(target.line..)?;
        let (line, slot) = if at >= layout.slots { (1, at - layout.slots) } else { (0, at) };
        let mut header = near.home.without_home(layout, target.home, is_only);
        if line == 1 {
            header.write(lines.first_mut()?);
            header = near.next.with_offset(near.next.offset().wrapping_sub(1));
        }
        let (mut first, mut rest) = lines.get_mut(line..)?.split_first_mut()?;
        // The element before the last becomes the last; a run of one is no more.
        let ends = header.ends(layout);
        let ends = ends | (ends >> slot & 1 & !is_only) << slot >> 1;
        let ends = ends & !(!0 << slot) | ends >> 1 & !0 << slot;
        let mut fill = spilled(rest.first(), layout);
        let header = header.with_ends(layout, ends | fill.is_last << (layout.slots - 1));
        isa.close_slot(first, layout, header.0, slot, fill.remainder);
        while rest.first().is_some_and(|line| Header::of(line).offset() != 0) {
            (first, rest) = rest.split_first_mut()?;
            fill = spilled(rest.first(), layout);
            let header = Header::of(first);
            let ends = header.ends(layout) >> 1 | fill.is_last << (layout.slots - 1);
            let header = header.with_ends(layout, ends);
            let header = header.with_offset(header.offset().wrapping_sub(1));
            isa.close_slot(first, layout, header.0, 0, fill.remainder);
        }
        self.counts.in_lines -= 1;
        Some(equal.count_ones().into())
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

/// Remove where the run is far away or long, or there may be copies in the side table.
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
                true => Element::of(&lines[number + 1], layout, 0),
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

/// The first element of the line behind one, if it belongs to earlier lines: it moves up into the
/// last slot. Otherwise that slot becomes free, and is all zero. Without a branch.
#[inline(always)]
fn spilled(next: Option<&Line>, layout: LineLayout) -> Element {
    let Some(next) = next else { return Element { remainder: 0, is_last: 0 } };
    let Element { remainder, is_last } = Element::of(next, layout, 0);
    let all = u64::from(Header::of(next).offset() != 0).wrapping_neg();
    Element { remainder: remainder & all, is_last: is_last & all }
}
