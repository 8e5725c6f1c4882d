//! Other sizes of the same filter: growing, shrinking, and taking in another one.

use super::line::COPIES;
use super::table::Table;
use super::{Quotient, stream};
use crate::filter::{MergeError, same, same_scheme};
use crate::kernel::AlignedBuf;
use crate::sizing::QuotientShape;
use crate::spec::SpecError;

/// A filter grows at a load of 31/32: from there on an insert moves ever more lines.
const FULL: (u64, u64) = (31, 32);

impl Quotient {
    /// Double the capacity, roughly. The false-positive rate stays as it is.
    ///
    /// `false`, and nothing done, where it cannot grow further: it has grown past all reason, and
    /// its false-positive rate is above one half. While it is laid out anew, both sizes are in
    /// memory; where there is not enough, the filter stays as it was.
    pub fn grow(&mut self) -> Result<bool, SpecError> {
        match self.table.shape.grown() {
            Some(shape) => self.lay_out(shape).map(|()| true),
            None => Ok(false),
        }
    }

    /// Halve the capacity, roughly. The false-positive rate stays as it is.
    ///
    /// `false`, and nothing done, where the keys that are in would not fit.
    pub fn shrink(&mut self) -> Result<bool, SpecError> {
        match self.table.shape.shrunk() {
            Some(shape) if shape.capacity() >= self.counts().in_lines => {
                self.lay_out(shape).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// Add everything the other filter holds, as often as it holds it.
    ///
    /// Both must have the same range, as filters made to the same spec and expected growth have,
    /// whatever they have grown to since, and hash alike. It grows where it must.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Quotient<C>) -> Result<(), MergeError> {
        same("ranges of fingerprints", self.table.shape.range, other.table.shape.range)?;
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        sound(other)?;
        let mut shape = self.table.shape;
        let total = self.counts().in_lines.saturating_add(other.counts().in_lines);
        while self.grows && shape.capacity() < total {
            let Some(grown) = shape.grown() else { break };
            shape = grown;
        }
        let both = stream::merged(self.fingerprints(), other.fingerprints());
        match stream::collect(shape, both) {
            Ok(table) => self.replace(table),
            // No memory for a new array: one after another into the old one, which needs none.
            Err(_) => other.fingerprints().for_each(|(f, copies)| self.insert_copies(f, copies)),
        }
        Ok(())
    }

    /// Keep what both filters hold, as often as the one that holds it less often.
    ///
    /// Every key that is in both stays. They must be alike as for [`union`](Quotient::union).
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &Quotient<C>) -> Result<(), MergeError> {
        same("ranges of fingerprints", self.table.shape.range, other.table.shape.range)?;
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        sound(other)?;
        let both = stream::common(self.fingerprints(), other.fingerprints());
        match stream::collect(self.table.shape, both) {
            Ok(table) => self.replace(table),
            Err(_) => {
                // No memory for a new array: clear this one and put the common ones back.
                let both: Vec<(u64, u64)> =
                    stream::common(self.fingerprints(), other.fingerprints()).collect();
                self.clear();
                both.into_iter().for_each(|(f, copies)| self.insert_copies(f, copies));
            }
        }
        Ok(())
    }

    /// Insert a fingerprint so many times, however many they are.
    pub(super) fn insert_copies(&mut self, fingerprint: u64, copies: u64) {
        // With one more than fit into the lines there is an entry in the side table, which counts.
        let few = copies.min(u64::from(COPIES) + 1);
        (0..few).for_each(|_| _ = self.insert_one(fingerprint));
        if copies > few {
            self.table.count_aside(fingerprint, copies - few);
        }
    }

    /// Grow where it is full. Where there is no memory to grow it stays as it is, and is not tried
    /// again: further keys fit all the same, if more slowly.
    #[inline]
    pub(super) fn make_room(&mut self) {
        if self.unmoved.is_some() {
            self.move_line();
        }
        if self.counts().in_lines >= self.full_at {
            self.grow_if_possible();
        }
    }

    #[cold]
    fn grow_if_possible(&mut self) {
        if !self.grow().unwrap_or(false) {
            self.full_at = u64::MAX;
        }
    }

    fn lay_out(&mut self, shape: QuotientShape) -> Result<(), SpecError> {
        let table = stream::collect(shape, self.fingerprints())?;
        self.replace(table);
        Ok(())
    }

    fn replace(&mut self, table: Table<AlignedBuf>) {
        self.full_at = full_at(table.shape, self.grows);
        self.table = table;
        self.unmoved = None;
    }
}

/// Fails where the other filter's bytes are not those of one: it was opened in place, and nobody has
/// read them yet.
fn sound<C: AsRef<[u8]>>(other: &Quotient<C>) -> Result<(), MergeError> {
    let damaged = |error| MergeError::new("lines", "sound", format_args!("damaged ({error})"));
    other.check_lines().map_err(damaged)
}

/// So many keys in the lines are enough to grow.
pub(super) fn full_at(shape: QuotientShape, grows: bool) -> u64 {
    let full = u128::from(shape.slots()) * u128::from(FULL.0) / u128::from(FULL.1);
    if grows { full as u64 } else { u64::MAX }
}
