//! Elimination: equations brought into triangular form, each in a slot of its own.

use std::fmt::Debug;
use std::ops::{BitXor, BitXorAssign, Shl, Shr};

/// The coefficients of an equation, the first slot's in the lowest bit.
pub(crate) trait Coefficients:
    Copy
    + Debug
    + Default
    + Eq
    + BitXor<Output = Self>
    + BitXorAssign
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    /// How many slots they select from.
    const SLOTS: usize;

    /// How many slots come before the first that counts.
    fn zeros(self) -> u32;

    /// Whether the first slot counts.
    fn is_odd(self) -> bool;

    /// The sum of the slots that count.
    fn parity(self, slots: Self) -> u64;

    /// With this first slot, 0 or 1; there was none before.
    fn with_first(self, slot: u64) -> Self;

    /// The first eight slots.
    fn first_block(self) -> u8;
}

macro_rules! coefficients {
    ($type:ty) => {
        impl Coefficients for $type {
            const SLOTS: usize = <$type>::BITS as usize;

            #[inline(always)]
            fn zeros(self) -> u32 {
                self.trailing_zeros()
            }

            #[inline(always)]
            fn is_odd(self) -> bool {
                self & 1 == 1
            }

            #[inline(always)]
            fn parity(self, slots: $type) -> u64 {
                u64::from((self & slots).count_ones() & 1)
            }

            #[inline(always)]
            fn with_first(self, slot: u64) -> $type {
                self | <$type>::from(slot)
            }

            #[inline(always)]
            fn first_block(self) -> u8 {
                self as u8
            }
        }
    };
}

coefficients!(u64);
coefficients!(u128);

/// One equation in triangular form: it begins at its own slot. Without coefficients the slot is
/// free, and its bits are zero: the frozen rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row<C> {
    pub coefficients: C,
    pub fingerprint: u32,
}

/// An equation on its way to a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Item<C> {
    pub row: Row<C>,
    /// Where it starts; afterwards the slot that it took, [`NOWHERE`] if it needed none.
    pub slot: u32,
}

/// The slot of an equation that follows from others.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Some equations and the slots that they compete for.
pub(crate) struct Elimination<'a, C> {
    rows: &'a mut [Row<C>],
    /// The last has no coefficients: it ends the list.
    items: &'a mut [Item<C>],
    /// How many have a slot, or need none.
    placed: usize,
    failed: bool,
    /// The equation at hand.
    row: Row<C>,
    slot: usize,
}

impl<'a, C: Coefficients> Elimination<'a, C> {
    /// Of `items`, all of which have coefficients (odd ones) but the last, which has none.
    ///
    /// # Panics
    ///
    /// Where that is not so, or fewer slots than an equation covers follow from where one starts.
    pub fn new(rows: &'a mut [Row<C>], items: &'a mut [Item<C>]) -> Elimination<'a, C> {
        let (end, others) = items.split_last().expect("a list has an end");
        let fits = |item: &Item<C>| {
            item.row.coefficients.is_odd() && item.slot as usize + C::SLOTS <= rows.len()
        };
        assert!(end.row == Row::default() && others.iter().all(fits), "equations within the rows");
        let Item { row, slot } = items[0];
        Elimination { rows, items, placed: 0, failed: false, row, slot: slot as usize }
    }

    /// Whether nothing is left to do: all have a slot, or one does not fit.
    fn is_done(&self) -> bool {
        self.failed || self.placed + 1 == self.items.len()
    }

    /// Go on to the end; how many could be placed before one could not.
    pub fn finish(mut self) -> usize {
        while !self.is_done() {
            // SAFETY: this one has an equation at hand.
            unsafe { advance(&mut self, None) };
            self.settle();
        }
        self.placed
    }

    /// Take turns with another until one of the two has nothing left to do. Elimination is a chain
    /// of dependent steps, and two chains fill each other's waits.
    pub fn interleave(&mut self, other: &mut Elimination<'_, C>) {
        while !self.is_done() && !other.is_done() {
            // SAFETY: both have an equation at hand.
            unsafe { advance(self, Some(other)) };
            self.settle();
            other.settle();
        }
    }

    /// After [`steps`]: an equation without coefficients follows from others, and holds or not.
    fn settle(&mut self) {
        if self.is_done() || self.row.coefficients != C::default() {
            return;
        }
        self.items[self.placed].slot = NOWHERE;
        if self.row.fingerprint != 0 {
            self.failed = true;
            return;
        }
        self.placed += 1;
        let Item { row, slot } = self.items[self.placed];
        (self.row, self.slot) = (row, slot as usize);
    }
}

/// One step of `$x`: its equation takes its slot, or is reduced by the one that has it. Nobody can
/// predict which, so both are computed and no branch is taken. Leaves the loop `$out` where the
/// equation at hand has no coefficients: it is the end of the list, or follows from others.
macro_rules! step {
    ($out:lifetime, $rows:ident, $item:ident, $row:ident, $slot:ident) => {
        let taken = *$rows.add($slot);
        let free = taken.coefficients == C::default();
        let next = *$item.add(1);
        (*$item).slot = $slot as u32;
        *$rows.add($slot) = Row {
            coefficients: if free { $row.coefficients } else { taken.coefficients },
            fingerprint: if free { $row.fingerprint } else { taken.fingerprint },
        };
        $row.coefficients ^= taken.coefficients;
        $row.fingerprint ^= taken.fingerprint;
        if $row.coefficients == C::default() {
            break $out;
        }
        let zeros = $row.coefficients.zeros();
        $row.coefficients = std::hint::select_unpredictable(
            free,
            next.row.coefficients,
            $row.coefficients >> zeros,
        );
        $row.fingerprint =
            std::hint::select_unpredictable(free, next.row.fingerprint, $row.fingerprint);
        $slot = std::hint::select_unpredictable(free, next.slot as usize, $slot + zeros as usize);
        $item = $item.add(usize::from(free));
        if $row.coefficients == C::default() {
            break $out;
        }
    };
}

/// [`steps`], with shifts that wait for no flags where the machine has them.
///
/// # Safety
///
/// As for `steps`.
unsafe fn advance<C: Coefficients>(x: &mut Elimination<'_, C>, y: Option<&mut Elimination<'_, C>>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2") {
        #[target_feature(enable = "bmi1,bmi2")]
        unsafe fn shifting<C: Coefficients>(
            x: &mut Elimination<'_, C>,
            y: Option<&mut Elimination<'_, C>>,
        ) {
            // SAFETY: the caller's promise.
            unsafe { steps(x, y) }
        }
        // SAFETY: both were detected above; the rest is the caller's promise.
        return unsafe { shifting(x, y) };
    }
    // SAFETY: the caller's promise.
    unsafe { steps(x, y) }
}

/// Steps of one or of both in turns, until an equation at hand has no coefficients.
///
/// # Safety
///
/// Those that are given have an equation with coefficients at hand.
#[inline(always)]
unsafe fn steps<C: Coefficients>(x: &mut Elimination<'_, C>, y: Option<&mut Elimination<'_, C>>) {
    // SAFETY: `new` has seen that all slots of an equation follow from where it starts. It has
    // its lowest bit at its slot, and reducing it moves it up by as many slots as it loses low bits,
    // so that it never goes beyond those. The item at hand is never the last one, which alone
    // has no coefficients, so there is one after it.
    unsafe {
        let (rows, first) = (x.rows.as_mut_ptr(), x.items.as_mut_ptr());
        let mut item = first.add(x.placed);
        let (mut row, mut slot) = (x.row, x.slot);
        match y {
            None => 'out: {
                loop {
                    step!('out, rows, item, row, slot);
                }
            }
            Some(y) => {
                let (rows2, first2) = (y.rows.as_mut_ptr(), y.items.as_mut_ptr());
                let mut item2 = first2.add(y.placed);
                let (mut row2, mut slot2) = (y.row, y.slot);
                'out: {
                    loop {
                        step!('out, rows, item, row, slot);
                        step!('out, rows2, item2, row2, slot2);
                    }
                }
                (y.row, y.slot, y.placed) = (row2, slot2, item2.offset_from_unsigned(first2));
            }
        }
        (x.row, x.slot, x.placed) = (row, slot, item.offset_from_unsigned(first));
    }
}
