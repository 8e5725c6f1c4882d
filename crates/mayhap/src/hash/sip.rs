//! SipHash-1-3 with 128-bit output: a keyed hash that cannot be predicted without the secret.
//!
//! Written for several keys in parallel lanes, because one short key is a chain of dependent
//! additions: four chains at once cost hardly more than one. This is the reference; `kernel::sip`
//! is the SIMD version.

use crate::key::decode_hex;
use core::cmp::Ordering;
use core::fmt;

/// The 128-bit secret of a keyed filter.
///
/// Whoever knows it can construct keys that collide; without it nobody can. It is never printed and
/// never written to a file: a file holds only [`check`](Secret::check), which detects a wrong
/// secret.
///
/// ```
/// use mayhap::Secret;
/// let secret = Secret::from_bytes(*b"sixteen bytes...");
/// assert_eq!(format!("{secret:?}"), "Secret(..)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl Secret {
    /// The secret with these bytes; they should come from the system's random source.
    pub const fn from_bytes(bytes: [u8; 16]) -> Secret {
        Secret(bytes)
    }

    /// The bytes, for a caller that must store them somewhere safe.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// From 32 hexadecimal digits, as key files and commands write it; `None` of anything else.
    ///
    /// ```
    /// use mayhap::Secret;
    /// let secret = Secret::from_hex(b"000102030405060708090a0b0c0d0e0F").unwrap();
    /// assert_eq!(secret.to_bytes()[14..], [14, 15]);
    /// assert_eq!(secret.to_hex(), "000102030405060708090a0b0c0d0e0f");
    /// assert!(Secret::from_hex(b"0001").is_none());
    /// ```
    pub fn from_hex(digits: &[u8]) -> Option<Secret> {
        let mut bytes = [0; 16];
        decode_hex(digits, &mut bytes).then_some(Secret(bytes))
    }

    /// 32 hexadecimal digits, for a caller that must store them somewhere safe.
    #[cfg(feature = "std")]
    pub fn to_hex(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }

    /// A check value that depends on the secret but does not reveal it: it is stored in files.
    pub fn check(&self) -> u64 {
        let [(first, _)] = sip13_128([b"mayhap secret check"], self);
        first
    }

    /// The four words of the initial state.
    #[inline(always)]
    pub(crate) fn state(&self) -> [u64; 4] {
        let half = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&self.0[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let (k0, k1) = (half(0), half(8));
        [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d ^ WIDE,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ]
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Distinguishes the 128-bit function from the 64-bit one, in the second word.
const WIDE: u64 = 0xee;
/// XORed into the third word at the end of the message.
pub(crate) const END: u64 = 0xee;
/// XORed into the second word before the second half is taken.
pub(crate) const HALF: u64 = 0xdd;

/// The number of words of a key: its whole ones, and one with the rest and its length.
#[inline(always)]
pub(crate) fn words_of(key: &[u8]) -> usize {
    key.len() / 8 + 1
}

/// Word number `at` of a key; 0 past the last.
#[inline(always)]
pub(crate) fn word(key: &[u8], at: usize) -> u64 {
    match at.cmp(&(key.len() / 8)) {
        Ordering::Less => whole_word(key, at),
        Ordering::Equal => last_word(key),
        Ordering::Greater => 0,
    }
}

/// Word number `at` of a key, before the last; 0 elsewhere.
#[inline(always)]
pub(crate) fn whole_word(key: &[u8], at: usize) -> u64 {
    key.get(at * 8..at * 8 + 8)
        .and_then(<[u8]>::first_chunk)
        .map_or(0, |whole| u64::from_le_bytes(*whole))
}

/// The bytes after the last whole word, and the length in the highest byte.
#[inline(always)]
pub(crate) fn last_word(key: &[u8]) -> u64 {
    let bytes = key.len();
    let left = bytes % 8;
    // No loop over bytes: overlapping loads, whose common bits agree.
    let rest = if let Some(last) = key.last_chunk() {
        (u64::from_le_bytes(*last) >> 8) >> (56 - 8 * left)
    } else if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        u64::from(first) | u64::from(last) << (8 * (left - 4))
    } else if let [first, .., last] = key {
        u64::from(*first)
            | u64::from(key[bytes / 2]) << (8 * (left / 2))
            | u64::from(*last) << (8 * (left - 1))
    } else {
        key.first().copied().map_or(0, u64::from)
    };
    rest | (bytes as u64) << 56
}

/// One round over `N` states in parallel.
#[inline(always)]
fn round<const N: usize>(v: &mut [[u64; N]; 4]) {
    let [a, b, c, d] = v;
    for i in 0..N {
        a[i] = a[i].wrapping_add(b[i]);
        c[i] = c[i].wrapping_add(d[i]);
        b[i] = b[i].rotate_left(13) ^ a[i];
        d[i] = d[i].rotate_left(16) ^ c[i];
        a[i] = a[i].rotate_left(32).wrapping_add(d[i]);
        c[i] = c[i].wrapping_add(b[i]);
        b[i] = b[i].rotate_left(17) ^ c[i];
        d[i] = d[i].rotate_left(21) ^ a[i];
        c[i] = c[i].rotate_left(32);
    }
}

/// Absorb one word of each message.
#[inline(always)]
fn take<const N: usize>(v: &mut [[u64; N]; 4], words: [u64; N]) {
    (0..N).for_each(|i| v[3][i] ^= words[i]);
    round(v);
    (0..N).for_each(|i| v[0][i] ^= words[i]);
}

/// SipHash-1-3-128 of `N` keys: (first half, second half) of each.
#[inline(always)]
pub(crate) fn sip13_128<const N: usize>(keys: [&[u8]; N], secret: &Secret) -> [(u64, u64); N] {
    let mut v = secret.state().map(|word| [word; N]);
    let counts = keys.map(words_of);
    let (least, most) =
        counts.iter().fold((usize::MAX, 0), |(l, m), count| (l.min(*count), m.max(*count)));
    for at in 0..least - 1 {
        take(&mut v, keys.map(|key| whole_word(key, at)));
    }
    if least == most {
        take(&mut v, keys.map(last_word));
    } else {
        for at in least - 1..most {
            let before = v;
            take(&mut v, keys.map(|key| word(key, at)));
            // Shorter keys have ended: their states stay as they were.
            for (v, before) in v.iter_mut().zip(before) {
                for i in 0..N {
                    v[i] = if at < counts[i] { v[i] } else { before[i] };
                }
            }
        }
    }
    let folded = |v: &[[u64; N]; 4], i: usize| v[0][i] ^ v[1][i] ^ v[2][i] ^ v[3][i];
    v[2].iter_mut().for_each(|word| *word ^= END);
    (0..3).for_each(|_| round(&mut v));
    let first: [u64; N] = core::array::from_fn(|i| folded(&v, i));
    v[1].iter_mut().for_each(|word| *word ^= HALF);
    (0..3).for_each(|_| round(&mut v));
    core::array::from_fn(|i| (first[i], folded(&v, i)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret 00 01 … 0f and inputs of 0 and 15 bytes, from an independent implementation
    /// that reproduces the published SipHash-2-4-128 vectors.
    #[test]
    fn known_answers() {
        let secret = Secret::from_bytes(core::array::from_fn(|i| i as u8));
        let input: [u8; 15] = core::array::from_fn(|i| i as u8);
        let [empty, fifteen] = sip13_128([b"", &input], &secret);
        assert_eq!(empty, (0xbea5_8827_b2bc_7ee7, 0x0130_30dd_6adb_62fd));
        assert_eq!(fifteen, (0x6c52_bdb2_0555_7ec1, 0x0901_7e1e_eccd_2129));
    }

    #[test]
    fn the_check_tells_secrets_apart_and_hides_them() {
        let (a, b) = (Secret::from_bytes([1; 16]), Secret::from_bytes([2; 16]));
        assert_eq!(a.check(), a.check());
        assert_ne!(a.check(), b.check());
        assert_ne!(a.check(), u64::from_le_bytes([1; 8]));
    }
}
