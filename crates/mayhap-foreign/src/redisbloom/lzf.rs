//! LZF, by which Redis makes long strings of a dump shorter.
//!
//! A control byte below 32 copies so many bytes and one more as they are. Any other points back:
//! its top three bits (7: and the next byte) are the length less two, its low five and the last
//! byte the distance less one. The compressor makes the choices of Marc Lehmann's LibLZF 3.6 as
//! Redis builds it, so that a dump written here is the one a server would have written.

/// Longest run of bytes as they are.
const MAX_LITERAL: usize = 32;
/// Farthest reference.
const MAX_DISTANCE: usize = 1 << 13;
/// Longest reference.
const MAX_LENGTH: usize = (1 << 8) + (1 << 3);
/// The most bytes that one compressed byte can stand for: three bytes for the longest reference.
pub const MAX_EXPANSION: u64 = MAX_LENGTH as u64 / 3 + 1;
const HASH_BITS: u32 = 16;

/// Exactly `length` bytes out of these, or `None` where they make more or fewer or point before
/// the start. The caller has compared `length` with [`MAX_EXPANSION`] times what there is.
pub fn decompress(mut input: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut output = Vec::with_capacity(length);
    while let Some((&control, rest)) = input.split_first() {
        input = rest;
        let control = control as usize;
        let mut length_here = control >> 5;
        if length_here == 0 {
            let (literal, rest) = input.split_at_checked(control + 1)?;
            input = rest;
            output.extend_from_slice(literal);
        } else {
            if length_here == 7 {
                let (&more, rest) = input.split_first()?;
                input = rest;
                length_here += more as usize;
            }
            let (&low, rest) = input.split_first()?;
            input = rest;
            let distance = (control & 31) << 8 | low as usize;
            let from = output.len().checked_sub(distance + 1)?;
            // One by one: a reference may run into what it writes.
            for from in from..from + length_here + 2 {
                output.push(output[from]);
            }
        }
        if output.len() > length {
            return None;
        }
    }
    (output.len() == length).then_some(output)
}

/// The bytes made shorter by more than four, or `None` where they cannot be: what Redis asks for.
pub fn compress(input: &[u8]) -> Option<Vec<u8>> {
    let most = input.len().checked_sub(4).filter(|most| *most > 0)?;
    let mut seen = vec![0u32; 1 << HASH_BITS]; // where three such bytes were last, 0 for nowhere
    let mut output = Vec::with_capacity(most);
    let mut literal = 0; // where the bytes begin that are to be copied as they are
    let mut at = 0;
    while at + 2 < input.len() {
        let slot = &mut seen[slot(input, at)];
        let from = *slot as usize;
        *slot = at as u32;
        // The very first byte is never referred to: nowhere and there look alike.
        let is_match =
            from > 0 && at - from <= MAX_DISTANCE && input[from..from + 3] == input[at..at + 3];
        let pending = at - literal;
        // What the original has written by now: a control byte, and what is to be copied.
        let written = output.len() + 1 + pending;
        if !is_match {
            if written >= most {
                return None;
            }
            at += 1;
            if at - literal == MAX_LITERAL {
                flush(&input[literal..at], &mut output);
                literal = at;
            }
            continue;
        }
        if written - usize::from(pending == 0) + 4 >= most {
            return None;
        }
        flush(&input[literal..at], &mut output);
        let length = matching(&input[from..], &input[at..]);
        let (distance, code) = (at - from - 1, length - 2);
        if code < 7 {
            output.push((distance >> 8 | code << 5) as u8);
        } else {
            output.extend([(distance >> 8 | 7 << 5) as u8, (code - 7) as u8]);
        }
        output.push(distance as u8);
        at += length;
        literal = at;
        if at + 2 >= input.len() {
            break;
        }
        // The two places before the end of the match may be found again.
        for known in [at - 2, at - 1] {
            seen[self::slot(input, known)] = known as u32;
        }
    }
    if output.len() + 1 + (at - literal) + 3 > most {
        return None;
    }
    for rest in input[literal..].chunks(MAX_LITERAL) {
        flush(rest, &mut output);
    }
    Some(output)
}

/// How many bytes both begin with; three are known. The original looks at sixteen more before it
/// minds its limit, so it may pass it by two.
fn matching(from: &[u8], here: &[u8]) -> usize {
    let limit = (here.len() - 2).min(MAX_LENGTH);
    let mut length = 3;
    if limit > 16 {
        while length < 19 && from[length] == here[length] {
            length += 1;
        }
        if length < 19 {
            return length;
        }
    }
    while length < limit && from[length] == here[length] {
        length += 1;
    }
    length
}

/// The place of the three bytes at `at` in the table.
fn slot(input: &[u8], at: usize) -> usize {
    let three = u32::from_be_bytes([0, input[at], input[at + 1], input[at + 2]]);
    let mixed = (three >> (24 - HASH_BITS)).wrapping_sub(three.wrapping_mul(5));
    (mixed & ((1 << HASH_BITS) - 1)) as usize
}

fn flush(literal: &[u8], output: &mut Vec<u8>) {
    if let Some(control) = literal.len().checked_sub(1) {
        output.push(control as u8);
        output.extend_from_slice(literal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn hand_made_strings() {
        assert_eq!(decompress(&[2, b'a', b'b', b'c'], 3).unwrap(), b"abc");
        // "ab", then ten bytes from two back: a run into itself.
        assert_eq!(decompress(&[1, b'a', b'b', 0xe0, 1, 1], 12).unwrap(), b"abababababab");
        for bad in [&[2, b'a'][..], &[0, b'a', 0x20, 1], &[0xe0], &[0xe0, 1], &[0x20]] {
            assert_eq!(decompress(bad, 3), None, "{bad:?}");
        }
        assert_eq!(decompress(&[0, b'a'], 2), None);
        assert_eq!(decompress(&[1, b'a', b'a'], 1), None);
    }

    #[test]
    fn zeros_become_short() {
        let zeros = vec![0; 100_000];
        let short = compress(&zeros).unwrap();
        assert!(short.len() < 1200);
        assert!(short.len() as u64 * MAX_EXPANSION >= zeros.len() as u64);
        assert_eq!(decompress(&short, zeros.len()).unwrap(), zeros);
        assert_eq!(compress(&[]), None);
        assert_eq!(compress(&[0; 5]), None);
    }

    proptest! {
        #[test]
        fn what_was_compressed_comes_back(
            bytes in vec(prop_oneof![Just(0u8), Just(1), any::<u8>()], 0..3000),
        ) {
            if let Some(short) = compress(&bytes) {
                prop_assert!(short.len() + 4 <= bytes.len());
                prop_assert_eq!(decompress(&short, bytes.len()).unwrap(), bytes);
            }
        }

        #[test]
        fn garbage_is_refused_or_fits(bytes in vec(any::<u8>(), 0..300), length in 0..5000usize) {
            if let Some(output) = decompress(&bytes, length) {
                prop_assert_eq!(output.len(), length);
            }
        }
    }
}
