//! One key or many, compiled for the instruction set and, where it is a common one, for the layout.

use super::line::Header;
use super::table::Table;
use crate::hash::{Hash, reduce};
use crate::kernel::quotient::{Isa, Task};
use crate::kernel::{AlignedBuf, CACHED, Line, prefetch_near};

/// How many keys the prefetches run ahead: work on a line takes long enough that more would only
/// push each other out of the first-level cache.
const AHEAD: usize = 16;
/// Lines behind the home line that a change of a full filter moves, on average.
const MOVED: usize = 3;

/// The body with the remainder bits as a constant for false-positive rates from 1.67% to 0.1%, so that
/// the compiler folds every mask and most shifts; 0 for others.
macro_rules! by_layout {
    ($table:expr, |$BITS:ident| $body:expr) => {
        by_layout!(@ [6 7 8 9 10] $table, |$BITS| $body)
    };
    (@ [$($bits:literal)*] $table:expr, |$BITS:ident| $body:expr) => {
        match $table.layout.remainder_bits {
            $($bits => {
                const $BITS: u32 = $bits;
                $body
            })*
            _ => {
                const $BITS: u32 = 0;
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

/// Is this fingerprint in?
pub(super) struct Contains<'a, B, const BITS: u32 = 0>(pub &'a Table<B>, pub u64);

impl<B: AsRef<[u8]>, const BITS: u32> Task for Contains<'_, B, BITS> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        prefetch_behind::<B, BITS>(self.0, self.1, 1);
        self.0.contains::<BITS, I>(isa, self.1)
    }
}

/// How often is this fingerprint in?
pub(super) struct Count<'a, B>(pub &'a Table<B>, pub u64);

impl<B: AsRef<[u8]>> Task for Count<'_, B> {
    type Out = u64;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> u64 {
        self.0.count::<0, I>(isa, self.1)
    }
}

/// Put a fingerprint in. `true`: it is the first of its copies.
pub(super) struct Insert<'a, const BITS: u32 = 0>(pub &'a mut Table<AlignedBuf>, pub u64);

impl<const BITS: u32> Task for Insert<'_, BITS> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        prefetch_behind::<AlignedBuf, BITS>(self.0, self.1, MOVED);
        self.0.insert::<BITS, I>(isa, self.1)
    }
}

/// Take a fingerprint out. `false`: it was not in.
pub(super) struct Remove<'a, const BITS: u32 = 0>(pub &'a mut Table<AlignedBuf>, pub u64);

impl<const BITS: u32> Task for Remove<'_, BITS> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        prefetch_behind::<AlignedBuf, BITS>(self.0, self.1, MOVED);
        self.0.remove::<BITS, I>(isa, self.1)
    }
}

/// The same, compiled for the layout at hand: one jump before the call instead of branches in it.
pub(super) struct ByLayout<T>(pub T);

impl<B: AsRef<[u8]>> Task for ByLayout<Contains<'_, B>> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        let Contains(table, fingerprint) = self.0;
        by_layout!(table, |BITS| isa.call(Contains::<B, BITS>(table, fingerprint)))
    }
}

impl Task for ByLayout<Insert<'_>> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        let Insert(table, fingerprint) = self.0;
        by_layout!(table, |BITS| isa.call(Insert::<BITS>(table, fingerprint)))
    }
}

impl Task for ByLayout<Remove<'_>> {
    type Out = bool;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> bool {
        let Remove(table, fingerprint) = self.0;
        by_layout!(table, |BITS| isa.call(Remove::<BITS>(table, fingerprint)))
    }
}

impl<S: Step> Task for ByLayout<Batch<'_, S>> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Batch(step, hashes) = self.0;
        by_layout!(step.table(), |BITS| isa.call(Batch::<S, BITS>(step, hashes)));
    }
}

/// What a batch does with each of its hashes. Not a closure: those are compiled for any machine unless
/// they happen to be inlined.
pub(super) trait Step {
    /// The bytes of the lines.
    type Bytes: AsRef<[u8]>;

    /// Whether lines are changed, perhaps far behind the home line.
    const CHANGES: bool;

    fn table(&self) -> &Table<Self::Bytes>;

    /// `#[inline(always)]`.
    fn step<const BITS: u32, I: Isa>(&mut self, isa: I, fingerprint: u64);
}

/// A step for each hash, in order, whose lines have been asked for a while before.
pub(super) struct Batch<'a, S, const BITS: u32 = 0>(pub S, pub &'a [Hash]);

impl<S: Step, const BITS: u32> Task for Batch<'_, S, BITS> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Batch(mut step, hashes) = self;
        let is_far = step.table().bytes.as_ref().len() > CACHED;
        if is_far {
            hashes.iter().take(AHEAD).for_each(|hash| prefetch::<S, BITS>(&step, *hash));
        }
        for (i, hash) in hashes.iter().enumerate() {
            if is_far {
                if let Some(hash) = hashes.get(i + AHEAD) {
                    prefetch::<S, BITS>(&step, *hash);
                }
                if S::CHANGES
                    && let Some(hash) = hashes.get(i + AHEAD / 2)
                {
                    prefetch_spilled::<S, BITS>(&step, *hash);
                }
            }
            let fingerprint = fingerprint(step.table(), *hash);
            step.step::<BITS, I>(isa, fingerprint);
        }
    }
}

/// The home line of a key.
#[inline(always)]
fn home_line<S: Step, const BITS: u32>(step: &S, hash: Hash) -> usize {
    let layout = step.table().layout::<BITS>();
    layout.line_of(fingerprint(step.table(), hash) >> layout.remainder_bits).0
}

/// Where a line is, or would be: only to be asked for.
#[inline(always)]
fn place(lines: &[Line], line: usize) -> *const Line {
    lines.as_ptr().wrapping_add(line)
}

/// Ask for the lines of a key: nearly always its run is in the first or the second.
#[inline(always)]
fn prefetch<S: Step, const BITS: u32>(step: &S, hash: Hash) {
    let (line, lines) = (home_line::<S, BITS>(step, hash), step.table().lines());
    prefetch_near(place(lines, line));
    prefetch_near(place(lines, line + 1));
}

/// Ask for the lines that a change moves up to the next free slot, if the home line is full. The line
/// behind it, which tells, has arrived by now. Without a branch: asking for a line twice is cheaper.
#[inline(always)]
fn prefetch_spilled<S: Step, const BITS: u32>(step: &S, hash: Hash) {
    let (line, lines) = (home_line::<S, BITS>(step, hash), step.table().lines());
    let is_full = lines.get(line + 1).map_or(0, |line| usize::from(Header::of(line).offset() > 0));
    prefetch_near(place(lines, line + 1 + is_full));
    prefetch_near(place(lines, line + 1 + 2 * is_full));
}

/// Ask for the lines behind a home line, for one key alone: they arrive while it is worked on.
#[inline(always)]
fn prefetch_behind<B: AsRef<[u8]>, const BITS: u32>(
    table: &Table<B>,
    fingerprint: u64,
    count: usize,
) {
    let layout = table.layout::<BITS>();
    let (line, _) = layout.line_of(fingerprint >> layout.remainder_bits);
    (line + 1..=line + count).for_each(|line| prefetch_near(place(table.lines(), line)));
}

/// Give one answer per hash.
pub(super) struct Answer<'a, B>(pub &'a Table<B>, pub std::slice::IterMut<'a, bool>);

impl<B: AsRef<[u8]>> Step for Answer<'_, B> {
    type Bytes = B;
    const CHANGES: bool = false;

    #[inline(always)]
    fn table(&self) -> &Table<B> {
        self.0
    }

    #[inline(always)]
    fn step<const BITS: u32, I: Isa>(&mut self, isa: I, fingerprint: u64) {
        let answer = self.0.contains::<BITS, I>(isa, fingerprint);
        if let Some(slot) = self.1.next() {
            *slot = answer;
        }
    }
}

/// Give one count per hash.
pub(super) struct Tally<'a, B>(pub &'a Table<B>, pub &'a mut Vec<u64>);

impl<B: AsRef<[u8]>> Step for Tally<'_, B> {
    type Bytes = B;
    const CHANGES: bool = false;

    #[inline(always)]
    fn table(&self) -> &Table<B> {
        self.0
    }

    #[inline(always)]
    fn step<const BITS: u32, I: Isa>(&mut self, isa: I, fingerprint: u64) {
        self.1.push(self.0.count::<BITS, I>(isa, fingerprint));
    }
}

/// Insert each; the function hears whether it was new.
pub(super) struct InsertEach<'a, R>(pub &'a mut Table<AlignedBuf>, pub R);

impl<R: FnMut(bool)> Step for InsertEach<'_, R> {
    type Bytes = AlignedBuf;
    const CHANGES: bool = true;

    #[inline(always)]
    fn table(&self) -> &Table<AlignedBuf> {
        self.0
    }

    #[inline(always)]
    fn step<const BITS: u32, I: Isa>(&mut self, isa: I, fingerprint: u64) {
        (self.1)(self.0.insert::<BITS, I>(isa, fingerprint));
    }
}

/// Remove each; the function hears whether it was in.
pub(super) struct RemoveEach<'a, R>(pub &'a mut Table<AlignedBuf>, pub R);

impl<R: FnMut(bool)> Step for RemoveEach<'_, R> {
    type Bytes = AlignedBuf;
    const CHANGES: bool = true;

    #[inline(always)]
    fn table(&self) -> &Table<AlignedBuf> {
        self.0
    }

    #[inline(always)]
    fn step<const BITS: u32, I: Isa>(&mut self, isa: I, fingerprint: u64) {
        (self.1)(self.0.remove::<BITS, I>(isa, fingerprint));
    }
}
