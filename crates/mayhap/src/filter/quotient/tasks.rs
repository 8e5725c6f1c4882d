//! One key or many, compiled for the instruction set and, where it is a common one, for the layout.

use super::table::Table;
use crate::hash::{Hash, reduce};
use crate::kernel::quotient::{Isa, Task};
use crate::kernel::{CACHED, Pages, prefetch_near};
use crate::sizing::LineLayout;

/// How many keys the prefetches run ahead: work on a line takes long enough that more would only
/// push each other out of the first-level cache.
const AHEAD: usize = 16;

/// The body with the layout as a constant for rates from 1.67% to 0.1%: a third faster there.
macro_rules! with_layout {
    ($layout:expr, |$constant:ident| $body:expr) => {
        with_layout!(@ [6 7 8 9 10] $layout, |$constant| $body)
    };
    (@ [$($bits:literal)*] $layout:expr, |$constant:ident| $body:expr) => {
        match $layout.remainder_bits {
            $($bits => {
                const LAYOUT: LineLayout = LineLayout::new($bits);
                let $constant = LAYOUT;
                $body
            })*
            _ => {
                let $constant = $layout;
                $body
            }
        }
    };
}

/// The fingerprint of a hash, below the range. Hashes in order have fingerprints in order.
#[inline(always)]
pub(super) fn fingerprint<B>(table: &Table<B>, hash: Hash) -> u64 {
    reduce(hash.0, table.shape.range)
}

/// May this key be in?
pub(super) struct Contains<'a, B>(pub &'a Table<B>, pub Hash);

impl<B: AsRef<[u8]>> Task for Contains<'_, B> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        let Contains(table, hash) = self;
        let fingerprint = fingerprint(table, hash);
        with_layout!(table.layout, |layout| table.contains(layout, isa, fingerprint))
    }
}

/// How often may this key be in?
pub(super) struct Count<'a, B>(pub &'a Table<B>, pub Hash);

impl<B: AsRef<[u8]>> Task for Count<'_, B> {
    type Out = u64;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> u64 {
        let Count(table, hash) = self;
        table.count(table.layout, isa, fingerprint(table, hash))
    }
}

/// Put a fingerprint in. `true`: it is the first of its copies.
pub(super) struct Insert<'a>(pub &'a mut Table<Pages>, pub u64);

impl Task for Insert<'_> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        let Insert(table, fingerprint) = self;
        with_layout!(table.layout, |layout| table.insert(layout, isa, fingerprint))
    }
}

/// Take a fingerprint out. `false`: it was not in.
pub(super) struct Remove<'a>(pub &'a mut Table<Pages>, pub u64);

impl Task for Remove<'_> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        let Remove(table, fingerprint) = self;
        with_layout!(table.layout, |layout| table.remove(layout, isa, fingerprint))
    }
}

/// Ask for the lines of a key: nearly always its run is in the first or the second.
#[inline(always)]
fn prefetch<B: AsRef<[u8]>>(table: &Table<B>, layout: LineLayout, hash: Hash) {
    let home = fingerprint(table, hash) >> layout.remainder_bits;
    let (line, _) = layout.line_of(home);
    prefetch_near(table.lines(), line);
    prefetch_near(table.lines(), line + 1);
}

/// Do something with each hash, whose lines have been asked for a while before.
#[inline(always)]
fn ring<T, B: AsRef<[u8]>>(
    table: &mut T,
    as_table: impl Fn(&T) -> &Table<B>,
    layout: LineLayout,
    hashes: &[Hash],
    mut work: impl FnMut(&mut T, usize, Hash),
) {
    let is_far = as_table(table).bytes.as_ref().len() > CACHED;
    let ahead = hashes.get(AHEAD..).unwrap_or_default();
    let ahead = if is_far { ahead } else { &[] };
    if is_far {
        hashes.iter().take(AHEAD).for_each(|hash| prefetch(as_table(table), layout, *hash));
    }
    for (i, (hash, ahead)) in hashes.iter().zip(ahead).enumerate() {
        prefetch(as_table(table), layout, *ahead);
        work(table, i, *hash);
    }
    for (i, hash) in hashes.iter().enumerate().skip(ahead.len()) {
        work(table, i, *hash);
    }
}

/// One answer per hash.
pub(super) struct ContainsBatch<'a, B>(pub &'a Table<B>, pub &'a [Hash], pub &'a mut [bool]);

impl<B: AsRef<[u8]>> Task for ContainsBatch<'_, B> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let ContainsBatch(mut table, hashes, answers) = self;
        with_layout!(table.layout, |layout| {
            ring(&mut table, |table| table, layout, hashes, |table, i, hash| {
                let answer = table.contains(layout, isa, fingerprint(table, hash));
                if let Some(slot) = answers.get_mut(i) {
                    *slot = answer;
                }
            });
        });
    }
}

/// One count per hash.
pub(super) struct CountBatch<'a, B>(pub &'a Table<B>, pub &'a [Hash], pub &'a mut Vec<u64>);

impl<B: AsRef<[u8]>> Task for CountBatch<'_, B> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let CountBatch(mut table, hashes, counts) = self;
        with_layout!(table.layout, |layout| {
            ring(&mut table, |table| table, layout, hashes, |table, _, hash| {
                counts.push(table.count(layout, isa, fingerprint(table, hash)));
            });
        });
    }
}

/// Insert all; `report` hears of each whether it was new.
pub(super) struct InsertBatch<'a, R>(pub &'a mut Table<Pages>, pub &'a [Hash], pub R);

impl<R: FnMut(bool)> Task for InsertBatch<'_, R> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let InsertBatch(table, hashes, mut report) = self;
        with_layout!(table.layout, |layout| {
            ring(table, |table| table, layout, hashes, |table, _, hash| {
                report(table.insert(layout, isa, fingerprint(table, hash)));
            });
        });
    }
}

/// Remove all; `report` hears of each whether it was in.
pub(super) struct RemoveBatch<'a, R>(pub &'a mut Table<Pages>, pub &'a [Hash], pub R);

impl<R: FnMut(bool)> Task for RemoveBatch<'_, R> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let RemoveBatch(table, hashes, mut report) = self;
        with_layout!(table.layout, |layout| {
            ring(table, |table| table, layout, hashes, |table, _, hash| {
                report(table.remove(layout, isa, fingerprint(table, hash)));
            });
        });
    }
}
