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

/// What a batch does with each of its hashes. Not a closure: those are compiled for any machine unless
/// they happen to be inlined.
pub(super) trait Step {
    /// The bytes of the lines.
    type Bytes: AsRef<[u8]>;

    fn table(&self) -> &Table<Self::Bytes>;

    /// `#[inline(always)]`.
    fn step<I: Isa>(&mut self, layout: LineLayout, isa: I, fingerprint: u64);
}

/// A step for each hash, in order, whose lines have been asked for a while before.
pub(super) struct Batch<'a, S>(pub S, pub &'a [Hash]);

impl<S: Step> Task for Batch<'_, S> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Batch(mut step, hashes) = self;
        let layout = step.table().layout;
        with_layout!(layout, |layout| ring(&mut step, layout, isa, hashes));
    }
}

#[inline(always)]
fn ring<S: Step, I: Isa>(step: &mut S, layout: LineLayout, isa: I, hashes: &[Hash]) {
    let is_far = step.table().bytes.as_ref().len() > CACHED;
    let (first, ahead) = hashes.split_at(if is_far { AHEAD.min(hashes.len()) } else { 0 });
    first.iter().for_each(|hash| prefetch(step.table(), layout, *hash));
    let mut ahead = ahead.iter();
    for hash in hashes {
        if is_far && let Some(hash) = ahead.next() {
            prefetch(step.table(), layout, *hash);
        }
        let fingerprint = fingerprint(step.table(), *hash);
        step.step(layout, isa, fingerprint);
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

/// Give one answer per hash.
pub(super) struct Answer<'a, B>(pub &'a Table<B>, pub std::slice::IterMut<'a, bool>);

impl<B: AsRef<[u8]>> Step for Answer<'_, B> {
    type Bytes = B;

    #[inline(always)]
    fn table(&self) -> &Table<B> {
        self.0
    }

    #[inline(always)]
    fn step<I: Isa>(&mut self, layout: LineLayout, isa: I, fingerprint: u64) {
        let answer = self.0.contains(layout, isa, fingerprint);
        if let Some(slot) = self.1.next() {
            *slot = answer;
        }
    }
}

/// Give one count per hash.
pub(super) struct Tally<'a, B>(pub &'a Table<B>, pub &'a mut Vec<u64>);

impl<B: AsRef<[u8]>> Step for Tally<'_, B> {
    type Bytes = B;

    #[inline(always)]
    fn table(&self) -> &Table<B> {
        self.0
    }

    #[inline(always)]
    fn step<I: Isa>(&mut self, layout: LineLayout, isa: I, fingerprint: u64) {
        self.1.push(self.0.count(layout, isa, fingerprint));
    }
}

/// Insert each; the function hears whether it was new.
pub(super) struct InsertEach<'a, R>(pub &'a mut Table<Pages>, pub R);

impl<R: FnMut(bool)> Step for InsertEach<'_, R> {
    type Bytes = Pages;

    #[inline(always)]
    fn table(&self) -> &Table<Pages> {
        self.0
    }

    #[inline(always)]
    fn step<I: Isa>(&mut self, layout: LineLayout, isa: I, fingerprint: u64) {
        (self.1)(self.0.insert(layout, isa, fingerprint));
    }
}

/// Remove each; the function hears whether it was in.
pub(super) struct RemoveEach<'a, R>(pub &'a mut Table<Pages>, pub R);

impl<R: FnMut(bool)> Step for RemoveEach<'_, R> {
    type Bytes = Pages;

    #[inline(always)]
    fn table(&self) -> &Table<Pages> {
        self.0
    }

    #[inline(always)]
    fn step<I: Isa>(&mut self, layout: LineLayout, isa: I, fingerprint: u64) {
        (self.1)(self.0.remove(layout, isa, fingerprint));
    }
}
