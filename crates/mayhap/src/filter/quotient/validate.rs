//! Whether bytes are the lines of a filter: one walk over all of them.

use super::line::{COPIES, Header, Place, Target, compare, ends_at, find, low, window};
use super::side::ENTRY_BYTES;
use super::table::{Counts, Table};
use crate::kernel::Line;
use crate::sizing::{LineLayout, MAX_OFFSET, QuotientShape};
use std::fmt;
use std::ops::Range;

/// Why bytes are not a quotient filter of the shape they claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuotientError {
    /// What does not hold.
    pub what: &'static str,
    /// The line or the entry of the side table where it does not.
    pub at: u64,
}

impl fmt::Display for QuotientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a quotient filter: {} (number {})", self.what, self.at)
    }
}

impl std::error::Error for QuotientError {}

/// Fails unless a condition holds.
fn check(holds: bool, what: &'static str, at: usize) -> Result<(), QuotientError> {
    if holds { Ok(()) } else { Err(QuotientError { what, at: at as u64 }) }
}

/// The walk's place: everything before it holds.
struct Walk<'a> {
    lines: &'a [Line],
    layout: LineLayout,
    shape: QuotientShape,
    /// The next element.
    at: Place,
    keys: u64,
    distinct: u64,
}

/// Check what can be checked without reading the lines: that there are as many as the shape says.
pub(super) fn check_lengths<B: AsRef<[u8]>>(
    shape: QuotientShape,
    lines: &B,
    side: Option<&B>,
) -> Result<(), QuotientError> {
    let bits = shape.remainder_bits as usize;
    check(shape.is_valid(), "remainder bits or the range are out of bounds", bits)?;
    let bytes = lines.as_ref().len();
    let stated = shape.bits() / 8;
    check(bytes as u64 == stated, "the length of the lines is not what the shape says", bytes)?;
    let bytes = side.map_or(0, |side| side.as_ref().len());
    check(bytes.is_multiple_of(ENTRY_BYTES), "the side table has part of an entry", bytes)
}

/// Check every line and entry, and count what is in them. Nothing about them is taken on trust, so
/// that no search can leave the lines and every key that is in can be found and removed.
pub(super) fn count<B: AsRef<[u8]>>(table: &Table<B>) -> Result<Counts, QuotientError> {
    let (shape, layout) = (table.shape, table.layout);
    let at = Place { line: 0, slot: 0 };
    let mut walk = Walk { lines: table.lines(), layout, shape, at, keys: 0, distinct: 0 };
    for line in 0..walk.lines.len() {
        walk.line(line)?;
    }
    let (in_lines, mut distinct) = (walk.keys, walk.distinct);
    let mut keys = in_lines;
    let mut flags = 0;
    let mut before = None;
    for (at, (fingerprint, count)) in table.side.iter().enumerate() {
        let entry = Some(fingerprint);
        check(entry > before, "entries of the side table are not in order", at)?;
        check(fingerprint < shape.range, "an entry of the side table is out of range", at)?;
        check(count > 0, "an entry of the side table counts nothing", at)?;
        let line = layout.line_of(fingerprint >> layout.remainder_bits).0;
        let is_flagged = table.lines().get(line).is_some_and(|line| Header::of(line).flag());
        check(is_flagged, "a line does not tell of its entry in the side table", line)?;
        let line_before = before.map(|it: u64| layout.line_of(it >> layout.remainder_bits).0);
        flags += usize::from(line_before != Some(line));
        let total = keys.checked_add(count);
        check(total.is_some(), "the side table counts more keys than there are numbers", at)?;
        keys = total.unwrap_or(keys);
        before = entry;
    }
    let flagged = table.lines().iter().filter(|line| Header::of(line).flag()).count();
    check(flagged == flags, "a line tells of an entry that the side table does not have", 0)?;
    // Entries without a copy in the lines are distinct fingerprints of their own.
    let alone = |fingerprint: u64| {
        let target = Target::new(layout, fingerprint);
        let isa = crate::kernel::quotient::Portable;
        let found = find(table.lines(), layout, isa, target);
        let run = found.and_then(|found| found.run);
        run.is_none_or(|run| compare(table.lines(), layout, run, target.remainder).1 == 0)
    };
    distinct += table.side.iter().filter(|entry| alone(entry.0)).count() as u64;
    Ok(Counts { keys, distinct, in_lines })
}

impl Walk<'_> {
    /// Check a line and the elements of its homes, wherever they are.
    fn line(&mut self, line: usize) -> Result<(), QuotientError> {
        let layout = self.layout;
        let header = Header::of(&self.lines[line]);
        let offset = match self.at.line < line {
            true => 0,
            false => (self.at.line - line) * layout.slots + self.at.slot,
        };
        check(header.offset() == offset, "an offset does not follow from the line before", line)?;
        if self.at.line < line {
            self.at = Place { line, slot: 0 };
        }
        let gap = layout.slots * layout.remainder_bits..384 + ends_at(layout);
        check(is_zero(&self.lines[line], gap), "there is something between the fields", line)?;
        let mut occupied = header.occupied(layout);
        let is_padding = line as u64 >= self.shape.home_lines();
        check(
            !is_padding || occupied == 0 && !header.flag(),
            "a line without homes has some",
            line,
        )?;
        while occupied != 0 {
            let home = line * layout.homes + occupied.trailing_zeros() as usize;
            occupied &= occupied - 1;
            self.run(line, home as u64)?;
        }
        let behind = (self.at.line - line) * layout.slots + self.at.slot;
        check(behind <= layout.slots + MAX_OFFSET, "a line reaches too far", line)?;
        if self.at.line == line {
            let used = self.at.slot;
            let free = used * layout.remainder_bits..layout.slots * layout.remainder_bits;
            let no_ends = header.ends(layout) >> used == 0;
            check(no_ends && is_zero(&self.lines[line], free), "a free slot is not zero", line)?;
        }
        Ok(())
    }

    /// Check one run.
    fn run(&mut self, line: usize, home: u64) -> Result<(), QuotientError> {
        let layout = self.layout;
        let (mut before, mut copies) = (None, 0);
        loop {
            let Place { line: at, slot } = self.at;
            // So far a run of this line can be away, and no further.
            check(at <= line + layout.padding(), "a run does not end", line)?;
            let Some(words) = self.lines.get(at) else {
                return check(false, "a run does not end", line);
            };
            let remainder = window(words, layout, slot) & low(layout.remainder_bits);
            let fingerprint = home << layout.remainder_bits | remainder;
            check(fingerprint < self.shape.range, "a fingerprint is out of range", line)?;
            check(before <= Some(remainder), "remainders of a run are not in order", line)?;
            copies = if before == Some(remainder) { copies + 1 } else { 1 };
            check(copies <= COPIES, "there are more than three copies in the lines", line)?;
            self.keys += 1;
            self.distinct += u64::from(copies == 1);
            before = Some(remainder);
            self.at = self.at.next(layout);
            if Header::of(words).ends(layout) >> slot & 1 == 1 {
                return Ok(());
            }
        }
    }
}

/// Whether these bits of a line are all zero.
fn is_zero(line: &Line, bits: Range<usize>) -> bool {
    let mut bytes = bits.start / 8..bits.end.div_ceil(8);
    bytes.all(|byte| {
        let start = bits.start.saturating_sub(8 * byte).min(8);
        let end = bits.end.saturating_sub(8 * byte).min(8);
        u32::from(line[byte]) & ((1 << end) - (1 << start)) == 0
    })
}
