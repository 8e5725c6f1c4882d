//! Every instruction set does what the portable code does, and that does what a loop would.

use super::*;
use crate::sizing::{MAX_REMAINDER_BITS, MIN_REMAINDER_BITS};
use proptest::prelude::*;

/// The places of ones, by asking every bit.
fn places(word: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |at| word >> at & 1 == 1)
}

struct Select(u64, u32);

impl Task for Select {
    type Out = (u32, (u32, u32), u64);

    fn run<I: Isa>(self, isa: I) -> Self::Out {
        let Select(word, n) = self;
        (isa.select(word, n), isa.select_pair(word, n), isa.low_bits(n as usize + 1))
    }
}

struct Move {
    line: Line,
    layout: LineLayout,
    header: u128,
    slot: usize,
    remainder: u64,
    open: bool,
}

impl Task for Move {
    type Out = Line;

    fn run<I: Isa>(mut self, isa: I) -> Line {
        let Move { line, layout, header, slot, remainder, open } = &mut self;
        let step = if *open { I::open_slot } else { I::close_slot };
        step(isa, line, *layout, *header, *slot, *remainder);
        self.line
    }
}

/// The slots of a line, bit by bit.
fn slots(line: &Line, layout: LineLayout) -> Vec<u64> {
    let bit = |at: usize| u64::from(line[at / 8] >> (at % 8) & 1);
    let bits = layout.remainder_bits;
    (0..layout.slots).map(|slot| (0..bits).map(|i| bit(slot * bits + i) << i).sum()).collect()
}

proptest! {
    #[test]
    fn every_isa_finds_the_same_ones(a in any::<u64>(), b in any::<u64>(), few in any::<bool>()) {
        let word = if few { a & b } else { a | b };
        let place = |n: usize| places(word).nth(n).unwrap_or(64);
        for kernel in Kernel::all() {
            for n in 0..64 {
                let (one, pair, ones) = kernel.run(Select(word, n));
                let want = (place(n as usize), place(n as usize + 1));
                prop_assert_eq!((one, pair), (want.0, want), "{:?}: one {} of {:x}", kernel, n, word);
                prop_assert_eq!(ones, !0 >> (63 - n));
            }
        }
    }

    #[test]
    fn every_isa_moves_slots_alike(
        bytes in any::<[[u64; 4]; 2]>(),
        header in any::<u128>(),
        bits in MIN_REMAINDER_BITS..=MAX_REMAINDER_BITS,
        slot in 0usize..63,
        remainder in any::<u64>(),
        open in any::<bool>(),
    ) {
        let layout = LineLayout::new(bits);
        let slot = slot % layout.slots;
        let remainder = remainder & ((1 << bits) - 1);
        let ends = 503 - layout.homes - layout.slots;
        let header = header >> (ends - 384) << (ends - 384);
        let mut line = [0; 64];
        for (to, word) in line.as_chunks_mut().0.iter_mut().zip(bytes.as_flattened()) {
            *to = word.to_le_bytes();
        }
        let mut want = slots(&line, layout);
        if open {
            want.insert(slot, remainder);
            want.truncate(layout.slots);
        } else {
            want.remove(slot);
            want.push(remainder);
        }
        for kernel in Kernel::all() {
            let moved = kernel.run(Move { line, layout, header, slot, remainder, open });
            prop_assert_eq!(&slots(&moved, layout), &want, "{:?}", kernel);
            let words = words(&moved);
            let top = u128::from(words[6]) | u128::from(words[7]) << 64;
            prop_assert_eq!(top >> (ends - 384) << (ends - 384), header, "{:?}", kernel);
            // Nothing between the slots and the ends.
            let whole: Vec<u8> = moved.to_vec();
            for bit in layout.slots * layout.remainder_bits..ends {
                prop_assert_eq!(whole[bit / 8] >> (bit % 8) & 1, 0, "{:?}: bit {}", kernel, bit);
            }
        }
    }
}

#[test]
fn words_of_all_ones_and_none_are_told() {
    for kernel in Kernel::all() {
        for n in 0..64 {
            assert_eq!(kernel.run(Select(0, n)).1, (64, 64));
            assert_eq!(kernel.run(Select(!0, n)).1, (n, n + 1));
        }
    }
}
