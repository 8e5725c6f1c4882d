//! Sorted numbers in few bits: gaps, Golomb-Rice coded.
//!
//! `n` distinct numbers spread evenly below `range` have gaps of about `range / n`. A gap is
//! written as its high part in unary and its low `k` bits verbatim, least significant bit first,
//! which costs about log2(range / n) + 1.6 bits per number: 13.8 for the thousand ids of a full
//! default slice, where a Bloom filter of the same false-positive rate takes 17.7. `k` follows from
//! `n` and `range`, so it is not stored.

use crate::RecordError;

/// The exclusive upper bound of the numbers: a number, or 2⁶⁴, which is no `u64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Range {
    /// Below this number.
    Below(u64),
    /// Any `u64`.
    Full,
}

impl Range {
    fn size(self) -> u128 {
        match self {
            Range::Below(bound) => u128::from(bound),
            Range::Full => 1 << 64,
        }
    }

    fn holds(self, value: u64) -> bool {
        u128::from(value) < self.size()
    }
}

/// The low bits of a gap, which are written verbatim.
fn low_bits(count: usize, range: Range) -> u32 {
    let mean = range.size() / (count.max(1) as u128);
    // The best `k` is a power of two near the mean gap times ln 2; ×√2 rounds to the nearer one.
    (mean - mean / 50).max(1).ilog2().min(63)
}

/// Append the code of `sorted`, distinct numbers within `range`.
pub(crate) fn encode(sorted: &[u64], range: Range, out: &mut Vec<u8>) {
    let low = low_bits(sorted.len(), range);
    let mut bits = Writer { out, word: 0, filled: 0 };
    let mut next = 0u64; // the least that may follow
    for value in sorted {
        let gap = value - next;
        let mut high = gap >> low;
        while high >= 32 {
            bits.write(0, 32);
            high -= 32;
        }
        bits.write(1 << high, high as u32 + 1);
        bits.write(gap & ((1 << low) - 1), low);
        next = value.wrapping_add(1); // wraps only behind the last possible number
    }
    bits.finish();
}

/// Decode `count` numbers; `bytes` must hold their code and nothing else.
pub(crate) fn decode(bytes: &[u8], count: usize, range: Range) -> Result<Vec<u64>, RecordError> {
    const BAD: RecordError = RecordError::Damaged { what: "coded ids" };
    let low = low_bits(count, range);
    // Each number takes at least its low bits and one more: a count that the bytes cannot hold is
    // rejected before memory is allocated.
    let least = (count as u64).checked_mul(u64::from(low) + 1).ok_or(BAD)?;
    if least > bytes.len() as u64 * 8 {
        return Err(BAD);
    }
    let mut bits = Reader { bytes, at: 0, ahead: 0, left: 0 };
    let mut values = vec![0; count];
    // One less than the least that may follow: each number is greater than the last.
    let mut last = u64::MAX;
    for (at, place) in values.iter_mut().enumerate() {
        let gap = match bits.gap(low) {
            Some(gap) => gap,
            None => bits.long_gap(low).ok_or(BAD)?,
        };
        let value = last.wrapping_add(1).wrapping_add(gap);
        // Overflow: nothing can follow the largest number.
        if at > 0 && value <= last {
            return Err(BAD);
        }
        *place = value;
        last = value;
    }
    // They are increasing, so checking the last is enough.
    let fits = values.last().is_none_or(|last| range.holds(*last));
    (fits && bits.is_at_end()).then_some(values).ok_or(BAD)
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    filled: u32,
}

impl Writer<'_> {
    fn write(&mut self, value: u64, bits: u32) {
        if bits == 0 {
            return;
        }
        self.word |= value << self.filled;
        let room = 64 - self.filled;
        if bits < room {
            self.filled += bits;
            return;
        }
        self.out.extend_from_slice(&self.word.to_le_bytes());
        self.word = if room == 64 { 0 } else { value >> room };
        self.filled = bits - room;
    }

    fn finish(self) {
        let bytes = self.filled.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.word.to_le_bytes()[..bytes]);
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The bits from `at` on.
    ahead: u64,
    left: u32,
}

/// Bits that a window holds at least, wherever in a byte it begins.
const WINDOW: u32 = 57;

impl Reader<'_> {
    /// The next bits, at least [`WINDOW`]; zeros past the end.
    #[inline]
    fn window(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => {
                let mut chunk = [0; 8];
                chunk[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(chunk)
            }
        };
        word >> (self.at % 8)
    }

    /// The next gap, if one window holds all of it, as it nearly always does. Past the end there
    /// are only zeros, which no gap ends with.
    ///
    /// A window is used up before the next is loaded: most gaps then wait for a shift, not a load.
    #[inline]
    fn gap(&mut self, low: u32) -> Option<u64> {
        let mut high = self.ahead.trailing_zeros();
        if high + 1 + low > self.left {
            (self.ahead, self.left) = (self.window(), WINDOW);
            high = self.ahead.trailing_zeros();
            if high + 1 + low > WINDOW {
                self.left = 0;
                return None;
            }
        }
        let bits = high + 1 + low;
        let gap = u64::from(high) << low | (self.ahead >> (high + 1)) & ((1 << low) - 1);
        self.ahead >>= bits;
        self.left -= bits;
        self.at += bits as usize;
        Some(gap)
    }

    /// The same for any gap.
    #[cold]
    fn long_gap(&mut self, low: u32) -> Option<u64> {
        let high = self.zeros()?.checked_mul(1 << low)?;
        Some(high | self.read(low))
    }

    /// The number of zeros before the next one, which is skipped too.
    #[inline]
    fn zeros(&mut self) -> Option<u64> {
        let mut zeros = 0;
        loop {
            let run = self.window().trailing_zeros().min(WINDOW);
            zeros += u64::from(run);
            self.at += run as usize;
            if run < WINDOW && self.at < self.bytes.len() * 8 {
                self.at += 1;
                return Some(zeros);
            }
            if self.at >= self.bytes.len() * 8 {
                return None;
            }
        }
    }

    /// Up to 63 bits, verbatim.
    #[inline]
    fn read(&mut self, bits: u32) -> u64 {
        let mask = |bits: u32| (1u64 << bits) - 1;
        if bits <= WINDOW {
            let value = self.window() & mask(bits);
            self.at += bits as usize;
            return value;
        }
        let low = self.read(32);
        low | self.read(bits - 32) << 32
    }

    /// Whether only the padding of the last byte is left, and is zero.
    fn is_at_end(&self) -> bool {
        self.at.div_ceil(8) == self.bytes.len() && self.window() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    fn coded(sorted: &[u64], range: Range) -> Vec<u8> {
        let mut out = vec![];
        encode(sorted, range, &mut out);
        out
    }

    #[test]
    fn the_ends_of_the_range_are_numbers_too() {
        for values in [vec![], vec![0], vec![u64::MAX], vec![0, 1, u64::MAX - 1, u64::MAX]] {
            let bytes = coded(&values, Range::Full);
            assert_eq!(decode(&bytes, values.len(), Range::Full), Ok(values));
        }
        let bytes = coded(&[0, 1, 2], Range::Below(3));
        assert_eq!(decode(&bytes, 3, Range::Below(3)), Ok(vec![0, 1, 2]));
    }

    #[test]
    fn a_full_slice_costs_less_than_fourteen_bits_an_id() {
        let mut ids: Vec<u64> =
            (0..1000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let below = 5_000_000;
        ids.iter_mut().for_each(|id| *id = ((u128::from(*id) * below) >> 64) as u64);
        ids.sort_unstable();
        ids.dedup();
        let bits = coded(&ids, Range::Below(below as u64)).len() * 8;
        assert!(bits <= 14 * ids.len(), "{bits} bits for {} ids", ids.len());
    }

    #[test]
    fn a_count_the_bytes_cannot_pay_for_is_refused() {
        assert!(decode(&[0xff; 8], usize::MAX, Range::Below(1 << 40)).is_err());
        assert!(decode(&[0; 64], 5, Range::Full).is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            values in btree_set(0..1_000_000u64, 0..300),
            wide in btree_set(any::<u64>(), 0..60),
        ) {
            let values: Vec<u64> = values.into_iter().collect();
            let range = Range::Below(1_000_000);
            prop_assert_eq!(decode(&coded(&values, range), values.len(), range), Ok(values));
            let wide: Vec<u64> = wide.into_iter().collect();
            prop_assert_eq!(decode(&coded(&wide, Range::Full), wide.len(), Range::Full), Ok(wide));
        }

        #[test]
        fn any_bytes_are_refused_or_the_one_code_of_something(
            bytes in vec(any::<u8>(), 0..40),
            count in 0..200usize,
            bound in 1..100_000u64,
        ) {
            for range in [Range::Below(bound), Range::Full] {
                if let Ok(values) = decode(&bytes, count, range) {
                    prop_assert!(values.is_sorted_by(|a, b| a < b));
                    prop_assert_eq!(&coded(&values, range), &bytes);
                }
            }
        }
    }
}
