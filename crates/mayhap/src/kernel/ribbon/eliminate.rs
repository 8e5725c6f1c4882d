//! Elimination: equations brought into triangular form, each in a slot of its own.

use super::Row;

/// An equation on its way to a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Item {
    pub row: Row,
    /// Where it starts; afterwards the slot that it took, [`NOWHERE`] if it needed none.
    pub slot: u32,
}

/// The slot of an equation that follows from others.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Some equations and the slots that they compete for.
pub(crate) struct Elimination<'a> {
    rows: &'a mut [Row],
    /// The last has no coefficients: it ends the list.
    items: &'a mut [Item],
    /// How many have a slot, or need none.
    placed: usize,
    failed: bool,
    /// The equation at hand.
    row: Row,
    slot: usize,
}

impl<'a> Elimination<'a> {
    /// Of `items`, all of which have coefficients (odd ones) but the last, which has none.
    ///
    /// # Panics
    ///
    /// Where that is not so, or fewer than 64 slots follow from where one of them starts.
    pub fn new(rows: &'a mut [Row], items: &'a mut [Item]) -> Elimination<'a> {
        let (end, others) = items.split_last().expect("a list has an end");
        let fits =
            |item: &Item| item.row.coefficients & 1 == 1 && item.slot as usize + 64 <= rows.len();
        assert!(end.row.coefficients == 0 && others.iter().all(fits), "equations within the rows");
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
            unsafe { steps(&mut self, None) };
            self.settle();
        }
        self.placed
    }

    /// Take turns with another until one of the two has nothing left to do. Elimination is a chain
    /// of dependent steps, and two chains fill each other's waits.
    pub fn interleave(&mut self, other: &mut Elimination<'_>) {
        while !self.is_done() && !other.is_done() {
            // SAFETY: both have an equation at hand.
            unsafe { steps(self, Some(other)) };
            self.settle();
            other.settle();
        }
    }

    /// After [`steps`]: an equation without coefficients follows from others, and holds or not.
    fn settle(&mut self) {
        if self.is_done() || self.row.coefficients != 0 {
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
        let free = taken.coefficients == 0;
        let next = *$item.add(1);
        (*$item).slot = $slot as u32;
        *$rows.add($slot) = Row {
            coefficients: if free { $row.coefficients } else { taken.coefficients },
            fingerprint: if free { $row.fingerprint } else { taken.fingerprint },
        };
        $row.coefficients ^= taken.coefficients;
        $row.fingerprint ^= taken.fingerprint;
        if $row.coefficients == 0 {
            break $out;
        }
        let zeros = $row.coefficients.trailing_zeros();
        $row.coefficients = std::hint::select_unpredictable(
            free,
            next.row.coefficients,
            $row.coefficients >> zeros,
        );
        $row.fingerprint =
            std::hint::select_unpredictable(free, next.row.fingerprint, $row.fingerprint);
        $slot = std::hint::select_unpredictable(free, next.slot as usize, $slot + zeros as usize);
        $item = $item.add(usize::from(free));
        if $row.coefficients == 0 {
            break $out;
        }
    };
}

/// Steps of one or of both in turns, until an equation at hand has no coefficients.
///
/// # Safety
///
/// Those that are given have an equation with coefficients at hand.
#[inline(always)]
unsafe fn steps(x: &mut Elimination<'_>, y: Option<&mut Elimination<'_>>) {
    // SAFETY: `new` has seen that 64 slots follow from where each equation starts. An equation has
    // its lowest bit at its slot, and reducing it moves it up by as many slots as it loses low bits,
    // so that it never goes beyond those 64. The item at hand is never the last one, which alone
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
