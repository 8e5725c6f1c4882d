//! All fingerprints in order, out of a table and into a new one: how filters grow, shrink, merge and
//! are built at once.

use super::line::{COPIES, FLAG_BIT, Header, Place, Target, ends_at, low, occupied_at, window};
use super::side;
use super::table::{Counts, Table};
use crate::kernel::{AlignedBuf, Line};
use crate::sizing::{LineLayout, MAX_OFFSET, QuotientShape};
use crate::spec::SpecError;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::Range;

/// The fingerprints in the lines, in order, copies one after another.
#[derive(Clone, Debug)]
struct Elements<'a> {
    lines: &'a [Line],
    layout: LineLayout,
    /// Lines that have homes.
    home_lines: usize,
    /// The line whose homes are read, and those still to come.
    line: usize,
    occupied: u64,
    /// The next element, and the ends of its line.
    at: Place,
    ends: u64,
}

impl<'a> Elements<'a> {
    /// Those of the homes of these lines.
    fn new(lines: &'a [Line], layout: LineLayout, homes: Range<usize>) -> Elements<'a> {
        let (line, home_lines) = (homes.start, homes.end.min(lines.len()));
        let header = |line: usize| lines.get(line).map_or(Header(0), Header::of);
        let occupied = if line < home_lines { header(line).occupied(layout) } else { 0 };
        let at = Place::new(layout, line, header(line).offset());
        let ends = header(at.line).ends(layout);
        Elements { lines, layout, home_lines, line, occupied, at, ends }
    }

    /// Go on at this place. Only bytes that are not a filter's have none there: then it is the end.
    #[inline]
    fn go_to(&mut self, at: Place) {
        self.at = at;
        match self.lines.get(at.line) {
            Some(line) => self.ends = Header::of(line).ends(self.layout),
            None => (self.line, self.occupied) = (self.home_lines, 0),
        }
    }
}

impl Iterator for Elements<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let layout = self.layout;
        while self.occupied == 0 {
            self.line += 1;
            if self.line >= self.home_lines {
                self.line = self.home_lines;
                return None;
            }
            let header = Header::of(&self.lines[self.line]);
            self.occupied = header.occupied(layout);
            if self.occupied != 0 && self.at.line <= self.line {
                self.go_to(Place::new(layout, self.line, header.offset()));
            }
        }
        let home = self.line * layout.homes + self.occupied.trailing_zeros() as usize;
        let Place { line, slot } = self.at;
        let bytes = self.lines.get(line)?;
        let remainder = window(bytes, layout, slot) & low(layout.remainder_bits);
        if self.ends >> slot & 1 == 1 {
            self.occupied &= self.occupied - 1;
        }
        self.at.slot += 1;
        if self.at.slot == layout.slots {
            self.go_to(Place { line: line + 1, slot: 0 });
        }
        Some((home as u64) << layout.remainder_bits | remainder)
    }
}

/// The fingerprints of the homes of one line, wherever they lie.
pub(super) fn elements_of_line(
    lines: &[Line],
    layout: LineLayout,
    line: usize,
) -> impl Iterator<Item = u64> {
    Elements::new(lines, layout, line..line + 1)
}

/// The distinct fingerprints of a filter in ascending order, each with the number of its copies.
///
/// Made by [`Quotient::fingerprints`](crate::Quotient::fingerprints).
#[derive(Clone, Debug)]
pub struct Fingerprints<'a> {
    elements: Peekable<Elements<'a>>,
    side: Peekable<side::Iter<'a>>,
    /// Those that come after, of another table.
    then: Option<Box<Fingerprints<'a>>>,
}

impl<'a> Fingerprints<'a> {
    pub(super) fn of<B: AsRef<[u8]>>(table: &'a Table<B>) -> Fingerprints<'a> {
        Fingerprints::from_line(table, 0)
    }

    /// Those in the lines from this one on, and all of the side table.
    pub(super) fn from_line<B: AsRef<[u8]>>(table: &'a Table<B>, line: usize) -> Fingerprints<'a> {
        let homes = line..table.shape.home_lines() as usize;
        let elements = Elements::new(table.lines(), table.layout, homes).peekable();
        Fingerprints { elements, side: table.side.iter().peekable(), then: None }
    }

    /// These, then the others.
    pub(super) fn then(self, others: Fingerprints<'a>) -> Fingerprints<'a> {
        Fingerprints { then: Some(Box::new(others)), ..self }
    }
}

impl Iterator for Fingerprints<'_> {
    type Item = (u64, u64);

    #[inline]
    fn next(&mut self) -> Option<(u64, u64)> {
        let in_lines = self.elements.peek().copied();
        let aside = self.side.peek().copied();
        let fingerprint = match (in_lines, aside) {
            (Some(element), Some((entry, _))) => element.min(entry),
            (Some(element), None) => element,
            (None, Some((entry, _))) => entry,
            (None, None) => {
                *self = *self.then.take()?;
                return self.next();
            }
        };
        let mut copies = 0;
        while self.elements.next_if_eq(&fingerprint).is_some() {
            copies += 1;
        }
        if let Some((_, count)) = self.side.next_if(|entry| entry.0 == fingerprint) {
            copies = count.saturating_add(copies);
        }
        Some((fingerprint, copies))
    }
}

/// Two streams as one: copies add up.
pub(super) fn merged<'a>(
    ours: impl Iterator<Item = (u64, u64)> + 'a,
    theirs: impl Iterator<Item = (u64, u64)> + 'a,
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let (mut ours, mut theirs) = (ours.peekable(), theirs.peekable());
    std::iter::from_fn(move || match (ours.peek(), theirs.peek()) {
        (Some((a, _)), Some((b, _))) if a == b => {
            let (fingerprint, count) = ours.next()?;
            Some((fingerprint, count.saturating_add(theirs.next()?.1)))
        }
        (Some((a, _)), Some((b, _))) if a > b => theirs.next(),
        (Some(_), _) => ours.next(),
        (None, _) => theirs.next(),
    })
}

/// What two streams have in common: of each fingerprint as many copies as both have.
pub(super) fn common<'a>(
    ours: impl Iterator<Item = (u64, u64)> + 'a,
    theirs: impl Iterator<Item = (u64, u64)> + 'a,
) -> impl Iterator<Item = (u64, u64)> + 'a {
    let mut theirs = theirs.peekable();
    ours.filter_map(move |(fingerprint, count)| {
        while theirs.next_if(|entry| entry.0 < fingerprint).is_some() {}
        let (_, other) = theirs.next_if(|entry| entry.0 == fingerprint)?;
        Some((fingerprint, count.min(other)))
    })
}

/// Lays out fingerprints that come in order.
struct Writer {
    lines: AlignedBuf,
    side: BTreeMap<u64, u64>,
    layout: LineLayout,
    /// The line of the last fingerprint, and the first free slot at or behind its start.
    line: usize,
    free: Place,
    /// The home of the last element in the lines, and where that is.
    last: Option<(u64, Place)>,
    counts: Counts,
}

/// A table of this shape that holds these fingerprints, which come in ascending order.
pub(super) fn collect(
    shape: QuotientShape,
    fingerprints: impl Iterator<Item = (u64, u64)>,
) -> Result<Table<AlignedBuf>, SpecError> {
    let mut writer = Writer {
        lines: AlignedBuf::zeroed(shape.bits() / 8)?,
        side: BTreeMap::new(),
        layout: shape.layout(),
        line: 0,
        free: Place { line: 0, slot: 0 },
        last: None,
        counts: Counts::default(),
    };
    fingerprints.for_each(|(fingerprint, copies)| writer.push(fingerprint, copies));
    Ok(writer.finish(shape))
}

impl Writer {
    #[inline]
    fn push(&mut self, fingerprint: u64, copies: u64) {
        let target = Target::new(self.layout, fingerprint);
        self.advance(target.line);
        self.counts.keys = self.counts.keys.saturating_add(copies);
        self.counts.distinct += u64::from(copies != 0);
        for left in (1..=copies).rev() {
            // As inserts do: no more than three in the lines, and no offset past its eight bits.
            if copies - left == u64::from(COPIES) || self.behind(target.line) >= MAX_OFFSET {
                self.side.insert(fingerprint, left);
                self.set_bit(target.line, FLAG_BIT);
                return;
            }
            self.put(target);
        }
    }

    /// How many elements of a line and those before it lie behind the line.
    fn behind(&self, line: usize) -> usize {
        let slots = (self.free.line - line) * self.layout.slots + self.free.slot;
        slots.saturating_sub(self.layout.slots)
    }

    /// All lines up to this one: their offsets follow from the first free slot.
    fn advance(&mut self, line: usize) {
        while self.line < line {
            self.line += 1;
            if self.free.line < self.line {
                // Nothing is behind the last element, up to the line itself: no offsets to write.
                self.line = line;
                self.free = Place { line, slot: 0 };
                return;
            }
            let offset = (self.free.line - self.line) * self.layout.slots + self.free.slot;
            if offset > 0 {
                let line = &mut lines_mut(&mut self.lines)[self.line];
                Header::of(line).with_offset(offset).write(line);
            }
        }
    }

    #[inline]
    fn put(&mut self, target: Target) {
        let (layout, at) = (self.layout, self.free);
        let home = target.fingerprint >> layout.remainder_bits;
        if self.last.is_none_or(|(last, _)| last != home) {
            self.end_run();
            self.set_bit(target.line, 384 + occupied_at(layout) + target.home as usize);
        }
        self.last = Some((home, at));
        let bit = at.slot * layout.remainder_bits;
        let bytes = self.lines.as_mut().get_mut(64 * at.line + bit / 8..);
        if let Some(word) = bytes.and_then(<[u8]>::first_chunk_mut) {
            *word = (u64::from_le_bytes(*word) | target.remainder << (bit % 8)).to_le_bytes();
        }
        self.counts.in_lines += 1;
        self.free = at.next(layout);
    }

    /// The last element was the last of its run.
    fn end_run(&mut self) {
        if let Some((_, at)) = self.last {
            self.set_bit(at.line, 384 + ends_at(self.layout) + at.slot);
        }
    }

    fn set_bit(&mut self, line: usize, bit: usize) {
        lines_mut(&mut self.lines)[line][bit / 8] |= 1 << (bit % 8);
    }

    fn finish(mut self, shape: QuotientShape) -> Table<AlignedBuf> {
        self.end_run();
        let last = self.lines.as_ref().len() / 64 - 1;
        self.advance(last);
        let mut table = Table::empty(shape, self.lines);
        *table.side.tree_mut() = self.side;
        table.counts = self.counts;
        table
    }
}

fn lines_mut(lines: &mut AlignedBuf) -> &mut [Line] {
    lines.as_mut().as_chunks_mut().0
}
