//! Growing in steps: nobody waits for a whole filter to be laid out anew.
//!
//! Fingerprints lie in ascending order in either size, so one number parts them: those below it have
//! been moved to the larger table, the others are still in the old one. Whatever is asked goes to one
//! of the two. Each insertion moves the next line, so that the old table is empty long before it
//! would overflow.

use super::Quotient;
use super::stream::elements_of_line;
use super::table::{Counts, Table};
use super::tasks::{self, ByLayout};
use crate::kernel::AlignedBuf;
use crate::spec::SpecError;

/// The old table while a filter grows in steps. Its lines before `line` hold what has been moved: they
/// are not looked at, and not cleared, because elements of earlier lines may lie in later ones.
#[derive(Clone, Debug)]
pub(super) struct Unmoved {
    pub table: Table<AlignedBuf>,
    /// The first line whose homes have not been moved.
    pub line: usize,
    /// The first fingerprint of that line.
    pub from: u64,
}

impl<B> Quotient<B> {
    /// Whether it grows in steps, and has not moved everything yet.
    pub fn is_growing(&self) -> bool {
        self.unmoved.is_some()
    }

    /// The old table, if that is where this fingerprint belongs.
    #[inline(always)]
    pub(super) fn unmoved(&self, fingerprint: u64) -> Option<&Table<AlignedBuf>> {
        let unmoved = self.unmoved.as_ref()?;
        (fingerprint >= unmoved.from).then_some(&unmoved.table)
    }

    /// How much is in, in both tables.
    #[inline(always)]
    pub(super) fn counts(&self) -> Counts {
        let Counts { keys, distinct, in_lines } = self.table.counts;
        match &self.unmoved {
            None => self.table.counts,
            Some(unmoved) => Counts {
                keys: keys.saturating_add(unmoved.table.counts.keys),
                distinct: distinct + unmoved.table.counts.distinct,
                in_lines: in_lines + unmoved.table.counts.in_lines,
            },
        }
    }
}

impl Quotient {
    /// Double the capacity, roughly, as [`grow`](Quotient::grow) does, but in steps: this takes
    /// memory only, and every insertion from now on moves a line, some fifty keys in a few
    /// microseconds. Until all are moved, batches take one key at a time, and both sizes are in memory.
    ///
    /// `false`, and nothing done, where it cannot grow further.
    ///
    /// ```
    /// # use mayhap::{Quotient, Spec};
    /// let mut seen = Quotient::new(Spec::new(10_000, 0.01)?)?;
    /// for key in 0..100_000u64 {
    ///     if seen.room() == 0 {
    ///         assert!(seen.grow_in_steps()?);
    ///     }
    ///     seen.insert(key);
    /// }
    /// assert!((0..100_000u64).all(|key| seen.contains(key)));
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn grow_in_steps(&mut self) -> Result<bool, SpecError> {
        self.finish_growing();
        let Some(shape) = self.table.shape.grown() else {
            self.full_at = u64::MAX; // it takes more all the same
            return Ok(false);
        };
        let larger = Table::empty(shape, AlignedBuf::zeroed(shape.bits() / 8)?);
        let table = std::mem::replace(&mut self.table, larger);
        self.unmoved = Some(Box::new(Unmoved { table, line: 0, from: 0 }));
        self.full_at = super::full_at(shape, self.grows);
        Ok(true)
    }

    /// Move all that [`grow_in_steps`](Quotient::grow_in_steps) has left.
    pub fn finish_growing(&mut self) {
        while self.unmoved.is_some() {
            self.move_line();
        }
    }

    /// Move the fingerprints of one line.
    #[cold]
    pub(super) fn move_line(&mut self) {
        let Some(mut unmoved) = self.unmoved.take() else { return };
        let (layout, line) = (unmoved.table.layout, unmoved.line);
        let before = self.table.counts;
        let mut moved = 0;
        for fingerprint in elements_of_line(unmoved.table.lines(), layout, line) {
            self.kernel.choose(ByLayout(tasks::Insert(&mut self.table, fingerprint)));
            moved += 1;
        }
        let end = (line as u64 + 1).saturating_mul((layout.homes as u64) << layout.remainder_bits);
        let tree = unmoved.table.side.tree_mut();
        while let Some(entry) = tree.first_entry().filter(|entry| *entry.key() < end) {
            let (fingerprint, copies) = entry.remove_entry();
            self.insert_copies(fingerprint, copies);
        }
        let counts = &mut unmoved.table.counts;
        counts.keys = counts.keys.saturating_sub(self.table.counts.keys - before.keys);
        counts.distinct -= self.table.counts.distinct - before.distinct;
        counts.in_lines -= moved;
        (unmoved.line, unmoved.from) = (line + 1, end);
        if (unmoved.line as u64) < unmoved.table.shape.home_lines() {
            self.unmoved = Some(unmoved);
        }
    }
}
