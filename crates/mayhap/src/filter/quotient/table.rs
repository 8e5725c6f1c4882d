//! Lines and side table together, and what a lookup does.
//!
//! It has a short way for the common case, in which the home line is all there is to look at, and a
//! long one for runs that go on in later lines, for many copies and for the side table.
//!
//! `BITS` is the number of remainder bits, for layouts that code is compiled for, or 0 for any.

use super::line::Place;
use super::line::{
    Glance, Header, Target, compare, ends_at, find, glance, glance_ahead, low, window,
};
use super::side::SideTable;
use crate::kernel::quotient::{Isa, Task};
use crate::kernel::{AlignedBuf, Line};
use crate::sizing::{LineLayout, QuotientShape};

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
    pub fn aside(&self, target: Target) -> u64 {
        let flag = self.lines().get(target.line).is_some_and(|line| Header::of(line).flag());
        if flag { self.side.count(target.fingerprint) } else { 0 }
    }
}

impl Table<AlignedBuf> {
    #[inline(always)]
    pub fn lines_mut(&mut self) -> &mut [Line] {
        self.bytes.as_mut().as_chunks_mut().0
    }

    #[inline(always)]
    pub fn header(&self, line: usize) -> Header {
        self.lines().get(line).map_or(Header(0), Header::of)
    }

    pub fn change_header(&mut self, line: usize, change: impl FnOnce(Header) -> Header) {
        if let Some(line) = self.lines_mut().get_mut(line) {
            change(Header::of(line)).write(line);
        }
    }
}

/// What a slot holds.
#[derive(Clone, Copy)]
pub(super) struct Element {
    pub remainder: u64,
    /// 1 for the last of a run.
    pub is_last: u64,
}

impl Element {
    #[inline(always)]
    pub fn of(line: &Line, layout: LineLayout, slot: usize) -> Element {
        let remainder = window(line, layout, slot) & low(layout.remainder_bits);
        Element { remainder, is_last: Header::of(line).ends(layout) >> slot & 1 }
    }
}

/// Turn the end bit of a slot.
#[inline(always)]
pub(super) fn flip_end(lines: &mut [Line], layout: LineLayout, Place { line, slot }: Place) {
    let bit = 384 + ends_at(layout) + slot;
    lines[line][bit / 8] ^= 1 << (bit % 8);
}
