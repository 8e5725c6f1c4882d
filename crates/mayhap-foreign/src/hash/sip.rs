//! SipHash-1-3, as Rust hashes a slice of bytes with it: the length as a word of eight bytes, then the
//! bytes.

use super::lanes::KeyLanes;
use super::le64;
use super::murmur3::short;

/// A state of four words.
type State = [u64; 4];

/// SipHash-1-3 of a slice of bytes under two keys. The two wait for nothing of each other, and are
/// hashed side by side.
#[inline]
pub fn sip13_of_slice_twice(bytes: &[u8], keys: &[[u8; 16]; 2]) -> [u64; 2] {
    let both = keys.map(|key| start(le64(&key, 0), le64(&key, 8)));
    let both = absorb(both, bytes.len() as u64);
    let (blocks, tail) = bytes.as_chunks::<8>();
    let both = blocks.iter().fold(both, |both, block| absorb(both, le64(block, 0)));
    absorb(both, last(bytes.len() as u64, short(tail))).map(end)
}

/// The last word: the length again, that of the length included, above what is left over.
#[inline(always)]
const fn last(bytes: u64, rest: u64) -> u64 {
    bytes.wrapping_add(8) << 56 | rest
}

/// The same of keys that are laid in rows, under one key. All of a step is done in one loop over the
/// keys: cut into loops of an operation each, it comes out without vectors.
#[inline(always)]
pub(crate) fn sip13_of_slice_of_rows<const N: usize>(
    keys: &KeyLanes<u64, N>,
    key: &[u8; 16],
) -> [u64; N] {
    let bytes = keys.bytes();
    let mut v = start(le64(key, 0), le64(key, 8)).map(|word| [word; N]);
    let state = |v: &[[u64; N]; 4], i: usize| [v[0][i], v[1][i], v[2][i], v[3][i]];
    for row in std::iter::once(&bytes).chain(keys.shared()) {
        for i in 0..N {
            let next = absorb_one(state(&v, i), row[i]);
            (0..4).for_each(|word| v[word][i] = next[word]);
        }
    }
    for (before, row) in keys.ragged() {
        for i in 0..N {
            let next = absorb_one(state(&v, i), row[i]);
            let goes_on = before + 8 <= bytes[i];
            (0..4).for_each(|word| v[word][i] = if goes_on { next[word] } else { v[word][i] });
        }
    }
    let (rest, mut hashes) = (keys.rest(), [0; N]);
    for i in 0..N {
        hashes[i] = end(absorb_one(state(&v, i), last(bytes[i], rest[i])));
    }
    hashes
}

#[inline(always)]
const fn start(k0: u64, k1: u64) -> State {
    // "somepseudorandomlygeneratedbytes".
    [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ]
}

#[inline(always)]
fn absorb(both: [State; 2], word: u64) -> [State; 2] {
    both.map(|state| absorb_one(state, word))
}

#[inline(always)]
const fn absorb_one([v0, v1, v2, v3]: State, word: u64) -> State {
    let [v0, v1, v2, v3] = round([v0, v1, v2, v3 ^ word]);
    [v0 ^ word, v1, v2, v3]
}

#[inline(always)]
const fn end([v0, v1, v2, v3]: State) -> u64 {
    let [v0, v1, v2, v3] = round(round(round([v0, v1, v2 ^ 0xff, v3])));
    v0 ^ v1 ^ v2 ^ v3
}

#[inline(always)]
const fn round([mut v0, mut v1, mut v2, mut v3]: State) -> State {
    v0 = v0.wrapping_add(v1);
    v2 = v2.wrapping_add(v3);
    v1 = v1.rotate_left(13) ^ v0;
    v3 = v3.rotate_left(16) ^ v2;
    v0 = v0.rotate_left(32);
    v2 = v2.wrapping_add(v1);
    v0 = v0.wrapping_add(v3);
    v1 = v1.rotate_left(17) ^ v2;
    v3 = v3.rotate_left(21) ^ v0;
    v2 = v2.rotate_left(32);
    [v0, v1, v2, v3]
}
