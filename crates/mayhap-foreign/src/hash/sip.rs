//! SipHash-1-3, as Rust hashes a slice of bytes with it: the length as a word of eight bytes, then the
//! bytes.

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
    // The length again, that of the length included, above what is left over.
    let last = (bytes.len() as u64).wrapping_add(8) << 56 | short(tail);
    let both = absorb(both, last).map(|[v0, v1, v2, v3]| [v0, v1, v2 ^ 0xff, v3]);
    let both = (0..3).fold(both, |both, _| both.map(round));
    both.map(|[v0, v1, v2, v3]| v0 ^ v1 ^ v2 ^ v3)
}

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
    let both = both.map(|[v0, v1, v2, v3]| round([v0, v1, v2, v3 ^ word]));
    both.map(|[v0, v1, v2, v3]| [v0 ^ word, v1, v2, v3])
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
