//! The few steps of a quotient filter that instruction sets differ in: finding the n-th one of a
//! word, and moving the slots of a line by one. [`Portable`] is the definition.
//!
//! The rest of a lookup is plain code, generic over an [`Isa`] and compiled once for each: a
//! [`Task`] is such code, and [`Kernel::run`] runs it on the best one this machine has.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

use super::Line;
use crate::sizing::LineLayout;

/// Code that is compiled for every instruction set.
pub(crate) trait Task {
    /// What comes out.
    type Out;

    /// `#[inline(always)]`, here and on what it calls: what is not inlined is compiled for any
    /// machine.
    fn run<I: Isa>(self, isa: I) -> Self::Out;
}

/// An instruction set that this machine has.
pub(crate) trait Isa: Copy {
    /// The place of the `n`-th one of a word, the first being the 0th, and of the one after it; 64
    /// where there is none. `n` is below 64.
    fn select_pair(self, word: u64, n: u32) -> (u32, u32);

    /// The place of the `n`-th one of a word, 64 where there is none. `n` is below 64.
    fn select(self, word: u64, n: u32) -> u32;

    /// So many ones, from the lowest bit on; any number for more than 64.
    fn low_bits(self, count: usize) -> u64;

    /// Move the slots from `slot` on one up, the last one out of the line, and put `remainder` into
    /// the gap. `header` is the upper 128 bits of the line without slots, and is written too.
    fn open_slot(
        self,
        line: &mut Line,
        layout: LineLayout,
        header: u128,
        slot: usize,
        remainder: u64,
    );

    /// Move the slots behind `slot` one down, onto it, and put `remainder` into the last one.
    /// `header` is the upper 128 bits of the line without slots, and is written too.
    fn close_slot(
        self,
        line: &mut Line,
        layout: LineLayout,
        header: u128,
        slot: usize,
        remainder: u64,
    );

    /// Run a task on this instruction set, out of line.
    fn call<T: Task>(self, task: T) -> T::Out;
}

/// The instruction set of choice, found out when a filter is made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kernel {
    Portable(Portable),
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2(x86::Avx2),
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512(x86::Avx512),
}

impl Kernel {
    /// The best one this machine has.
    pub fn detect() -> Kernel {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(isa) = x86::Avx512::detect() {
            return Kernel::Avx512(isa);
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(isa) = x86::Avx2::detect() {
            return Kernel::Avx2(isa);
        }
        Kernel::Portable(Portable)
    }

    /// All that this machine has.
    #[cfg(test)]
    pub fn all() -> Vec<Kernel> {
        #[allow(unused_mut, reason = "only x86-64 has kernels that must be detected")]
        let mut all = vec![Kernel::Portable(Portable)];
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            all.extend(x86::Avx2::detect().map(Kernel::Avx2));
            all.extend(x86::Avx512::detect().map(Kernel::Avx512));
        }
        all
    }

    /// Run a task on this instruction set.
    #[inline(always)]
    pub fn run<T: Task>(self, task: T) -> T::Out {
        struct Call<T>(T);
        impl<T: Task> Task for Call<T> {
            type Out = T::Out;

            #[inline(always)]
            fn run<I: Isa>(self, isa: I) -> T::Out {
                isa.call(self.0)
            }
        }
        self.choose(Call(task))
    }

    /// Let a task choose what to call on this instruction set: the task itself is compiled for any
    /// machine, and inlined.
    #[inline(always)]
    pub fn choose<T: Task>(self, task: T) -> T::Out {
        match self {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kernel::Avx512(isa) => task.run(isa),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Kernel::Avx2(isa) => task.run(isa),
            Kernel::Portable(isa) => task.run(isa),
        }
    }
}

/// What every machine has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

const BYTES: u64 = 0x0101_0101_0101_0101;

impl Isa for Portable {
    #[inline(always)]
    fn select_pair(self, word: u64, n: u32) -> (u32, u32) {
        let first = self.select(word, n);
        // Ones above the first; none where there was no first.
        let above = word & (!1u64).checked_shl(first).unwrap_or(0);
        (first, above.trailing_zeros())
    }

    /// Sums over bytes by multiplication: first of the ones in all bytes up to each, which tells the
    /// byte, then of the bits of that byte, spread over eight.
    #[inline(always)]
    fn select(self, word: u64, n: u32) -> u32 {
        let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
        let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
        let sums = ((fours + (fours >> 4)) & (BYTES * 15)).wrapping_mul(BYTES);
        let at = 8 * bytes_up_to(sums, n);
        if at == 64 {
            return 64;
        }
        let before = (sums << 8 >> at) as u32 & 255;
        let byte = word >> at & 255;
        // Bit i of the byte as a 0 or 1 in byte i.
        let spread = ((byte * BYTES) & 0x8040_2010_0804_0201) + BYTES * 127;
        let bits = (spread >> 7 & BYTES).wrapping_mul(BYTES);
        at + bytes_up_to(bits, n - before)
    }

    #[inline(always)]
    fn low_bits(self, count: usize) -> u64 {
        if count < 64 { (1 << count) - 1 } else { !0 }
    }

    #[inline(always)]
    fn open_slot(
        self,
        line: &mut Line,
        layout: LineLayout,
        header: u128,
        slot: usize,
        remainder: u64,
    ) {
        let bits = layout.remainder_bits;
        let (from, end) = (slot * bits, layout.slots * bits);
        let old = words(line);
        for (i, word) in old.into_iter().enumerate() {
            let before = if i > 0 { old[i - 1] } else { 0 };
            let moved = word << bits | before >> (64 - bits);
            let new = word & !from_bit(from, i)
                | moved & from_bit(from + bits, i) & !from_bit(end, i)
                | shifted(remainder, from, i)
                | header_word(header, i);
            put(line, i, new);
        }
    }

    #[inline(always)]
    fn close_slot(
        self,
        line: &mut Line,
        layout: LineLayout,
        header: u128,
        slot: usize,
        remainder: u64,
    ) {
        let bits = layout.remainder_bits;
        let (from, last) = (slot * bits, (layout.slots - 1) * bits);
        let old = words(line);
        for (i, word) in old.into_iter().enumerate() {
            let after = old.get(i + 1).copied().unwrap_or(0);
            let moved = word >> bits | after << (64 - bits);
            let new = word & !from_bit(from, i)
                | moved & from_bit(from, i) & !from_bit(last, i)
                | shifted(remainder, last, i)
                | header_word(header, i);
            put(line, i, new);
        }
    }

    #[inline(always)]
    fn call<T: Task>(self, task: T) -> T::Out {
        #[inline(never)]
        fn run<T: Task>(task: T) -> T::Out {
            task.run(Portable)
        }
        run(task)
    }
}

/// How many of eight ascending bytes are at most `n`; all are below 128.
#[inline(always)]
fn bytes_up_to(ascending: u64, n: u32) -> u32 {
    let at_most = ((u64::from(n) * BYTES) | BYTES << 7).wrapping_sub(ascending) & BYTES << 7;
    ((at_most >> 7).wrapping_mul(BYTES) >> 56) as u32
}

/// The words of a line.
#[inline(always)]
fn words(line: &Line) -> [u64; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(line.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

#[inline(always)]
fn put(line: &mut Line, word: usize, value: u64) {
    line.as_chunks_mut().0[word] = value.to_le_bytes();
}

/// The bits of word `i` that lie at or behind bit `start` of the line.
#[inline(always)]
fn from_bit(start: usize, i: usize) -> u64 {
    match start.checked_sub(64 * i) {
        None => !0,
        Some(inside) if inside < 64 => !0 << inside,
        Some(_) => 0,
    }
}

/// What word `i` has of a value that begins at bit `start` of the line.
#[inline(always)]
fn shifted(value: u64, start: usize, i: usize) -> u64 {
    let (start, word) = (start as isize, 64 * i as isize);
    match start - word {
        up @ 0..64 => value << up,
        down @ -63..0 => value >> -down,
        _ => 0,
    }
}

/// What word `i` has of the header.
#[inline(always)]
fn header_word(header: u128, i: usize) -> u64 {
    match i {
        6 => header as u64,
        7 => (header >> 64) as u64,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
