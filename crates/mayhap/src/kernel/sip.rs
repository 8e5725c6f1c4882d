//! The keyed hash of many short keys: eight side by side where the machine has vectors, four
//! where it has not. [`sip13_128`] is the definition.

use crate::Key;
use crate::hash::{Hash, Secret, sip13_128};

/// Keys past so many words are hashed one by one: the others would wait for them.
const MAX_WORDS: usize = 32;

/// Hash them all under the secret: one hash a key is pushed, the halves of each folded by xor.
pub(crate) fn hash_batch<K: Key>(keys: &[K], secret: &Secret, hashes: &mut Vec<Hash>) {
    hashes.reserve(keys.len());
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if super::has_avx512() {
        // SAFETY: AVX-512 F and VL were detected above; the callee asks nothing else.
        let eight = |keys: [&[u8]; 8]| unsafe { avx2::eight_turning(keys, secret) };
        return in_groups(keys, secret, hashes, eight);
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if super::has_avx2() {
        // SAFETY: AVX2 was detected above; the callee asks nothing else.
        let eight = |keys: [&[u8]; 8]| unsafe { avx2::eight(keys, secret) };
        return in_groups(keys, secret, hashes, eight);
    }
    in_groups::<K, 4>(keys, secret, hashes, |keys| side_by_side(keys, secret));
}

/// Groups of `N` go to `together`, what does not fit into one by one.
#[inline(always)]
fn in_groups<K: Key, const N: usize>(
    keys: &[K],
    secret: &Secret,
    hashes: &mut Vec<Hash>,
    together: impl Fn([&[u8]; N]) -> [Hash; N],
) {
    let (groups, rest) = keys.as_chunks::<N>();
    for group in groups {
        let held = group.each_ref().map(Key::key_bytes);
        let bytes = held.each_ref().map(AsRef::as_ref);
        if bytes.iter().all(|key| key.len() / 8 < MAX_WORDS) {
            hashes.extend(together(bytes));
        } else {
            hashes.extend(bytes.map(|key| one(key, secret)));
        }
    }
    hashes.extend(rest.iter().map(|key| one(key.key_bytes().as_ref(), secret)));
}

/// One key.
#[inline(never)]
fn one(key: &[u8], secret: &Secret) -> Hash {
    let [hash] = side_by_side([key], secret);
    hash
}

#[inline(always)]
fn side_by_side<const N: usize>(keys: [&[u8]; N], secret: &Secret) -> [Hash; N] {
    sip13_128(keys, secret).map(|(first, second)| Hash(first ^ second))
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2 {
    use crate::hash::{Hash, Secret, sip};
    use core::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_blendv_epi8, _mm256_cmpgt_epi64, _mm256_or_si256,
        _mm256_set1_epi64x, _mm256_setr_epi8, _mm256_setr_epi64x, _mm256_shuffle_epi8,
        _mm256_shuffle_epi32, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256,
        _mm256_xor_si256,
    };

    /// The four words of four states.
    type Four = [__m256i; 4];

    #[target_feature(enable = "avx2")]
    #[inline]
    fn turn<const LEFT: i32, const RIGHT: i32>(x: __m256i) -> __m256i {
        const { assert!(LEFT + RIGHT == 64) };
        _mm256_or_si256(_mm256_slli_epi64::<LEFT>(x), _mm256_srli_epi64::<RIGHT>(x))
    }

    /// By two bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn turn_16(x: __m256i) -> __m256i {
        let bytes = _mm256_setr_epi8(
            6, 7, 0, 1, 2, 3, 4, 5, 14, 15, 8, 9, 10, 11, 12, 13, 6, 7, 0, 1, 2, 3, 4, 5, 14, 15,
            8, 9, 10, 11, 12, 13,
        );
        _mm256_shuffle_epi8(x, bytes)
    }

    /// By half.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn turn_32(x: __m256i) -> __m256i {
        _mm256_shuffle_epi32::<0b10_11_00_01>(x)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn round([a, b, c, d]: Four) -> Four {
        let (a, c) = (_mm256_add_epi64(a, b), _mm256_add_epi64(c, d));
        let b = _mm256_xor_si256(turn::<13, 51>(b), a);
        let d = _mm256_xor_si256(turn_16(d), c);
        let (a, c) = (_mm256_add_epi64(turn_32(a), d), _mm256_add_epi64(c, b));
        let b = _mm256_xor_si256(turn::<17, 47>(b), c);
        let d = _mm256_xor_si256(turn::<21, 43>(d), a);
        [a, b, turn_32(c), d]
    }

    /// A word of the message.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn take([a, b, c, d]: Four, word: __m256i) -> Four {
        let [a, b, c, d] = round([a, b, c, _mm256_xor_si256(d, word)]);
        [_mm256_xor_si256(a, word), b, c, d]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn folded([a, b, c, d]: Four) -> __m256i {
        _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d))
    }

    /// Both halves of what comes out, folded.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn end(states: [Four; 2]) -> [__m256i; 2] {
        let stir = |[a, b, c, d]: Four, second: u64, third: u64| {
            let [second, third] = [second, third].map(|word| _mm256_set1_epi64x(word as i64));
            [a, _mm256_xor_si256(b, second), _mm256_xor_si256(c, third), d]
        };
        let thrice = |mut states: [Four; 2]| {
            (0..3).for_each(|_| states = states.map(|state| round(state)));
            states
        };
        let states = thrice(states.map(|state| stir(state, 0, sip::END)));
        let first = states.map(|state| folded(state));
        let states = thrice(states.map(|state| stir(state, sip::HALF, 0)));
        let second = states.map(|state| folded(state));
        [_mm256_xor_si256(first[0], second[0]), _mm256_xor_si256(first[1], second[1])]
    }

    /// The same, compiled for machines that turn a word in one step.
    #[target_feature(enable = "avx512f,avx512vl")]
    pub(super) fn eight_turning(keys: [&[u8]; 8], secret: &Secret) -> [Hash; 8] {
        eight(keys, secret)
    }

    /// Two vectors of four keys, so that one has something to do while the other waits.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn eight(keys: [&[u8]; 8], secret: &Secret) -> [Hash; 8] {
        let vectors = |all: [u64; 8]| {
            let [a, b, c, d, e, f, g, h] = all.map(|word| word as i64);
            [_mm256_setr_epi64x(a, b, c, d), _mm256_setr_epi64x(e, f, g, h)]
        };
        let counts = keys.map(sip::words_of);
        let (mut least, mut most) = (counts[0], counts[0]);
        for count in &counts[1..] {
            (least, most) = (least.min(*count), most.max(*count));
        }
        let start = secret.state().map(|word| _mm256_set1_epi64x(word as i64));
        let mut states = [start; 2];
        for at in 0..least - 1 {
            let words = vectors(keys.map(|key| sip::whole_word(key, at)));
            states = [take(states[0], words[0]), take(states[1], words[1])];
        }
        if least == most {
            let words = vectors(keys.map(sip::last_word));
            states = [take(states[0], words[0]), take(states[1], words[1])];
        } else {
            // Shorter keys have ended: they stay as they are.
            let counts = vectors(counts.map(|count| count as u64));
            for at in least - 1..most {
                let words = vectors(keys.map(|key| sip::word(key, at)));
                let now = _mm256_set1_epi64x(at as i64);
                for i in 0..2 {
                    let (before, after) = (states[i], take(states[i], words[i]));
                    let goes_on = _mm256_cmpgt_epi64(counts[i], now);
                    for word in 0..4 {
                        states[i][word] = _mm256_blendv_epi8(before[word], after[word], goes_on);
                    }
                }
            }
        }
        let [low, high] = end(states);
        let mut hashes = [Hash(0); 8];
        let (first, second) = hashes.split_at_mut(4);
        // SAFETY: four hashes are 32 writable bytes each, and `storeu` needs no alignment.
        unsafe {
            _mm256_storeu_si256(first.as_mut_ptr().cast(), low);
            _mm256_storeu_si256(second.as_mut_ptr().cast(), high);
        }
        hashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use siphasher::sip128::SipHasher13;

    /// Another implementation's word for it.
    fn truth(key: &[u8], secret: &Secret) -> Hash {
        let hash = SipHasher13::new_with_key(&secret.to_bytes()).hash(key);
        Hash(hash.h1 ^ hash.h2)
    }

    /// Every way to hash these keys says the same.
    fn check(keys: &[Vec<u8>], secret: &Secret) {
        let want: Vec<Hash> = keys.iter().map(|key| truth(key, secret)).collect();
        let mut got = vec![];
        hash_batch(keys, secret, &mut got);
        assert_eq!(got, want, "dispatched");
        got.clear();
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if super::super::has_avx2() {
            // SAFETY: AVX2 was detected above.
            in_groups(keys, secret, &mut got, |keys| unsafe { avx2::eight(keys, secret) });
            assert_eq!(got, want, "AVX2");
            got.clear();
        }
        in_groups::<_, 4>(keys, secret, &mut got, |keys| side_by_side(keys, secret));
        assert_eq!(got, want, "four side by side");
        let single: Vec<Hash> = keys.iter().map(|key| one(key, secret)).collect();
        assert_eq!(single, want, "one by one");
    }

    #[test]
    fn every_length_is_hashed_as_the_definition_says() {
        let secret = Secret::from_bytes(core::array::from_fn(|i| (i * 17) as u8));
        for bytes in 0..=300usize {
            let key = |i: usize| (0..bytes).map(|at| (at * 31 + i * 7 + bytes) as u8).collect();
            check(&(0..19).map(key).collect::<Vec<_>>(), &secret);
        }
    }

    proptest! {
        #[test]
        fn mixed_lengths_are_hashed_as_the_definition_says(
            keys in vec(vec(any::<u8>(), 0..=100), 0..70),
            secret in any::<[u8; 16]>(),
        ) {
            check(&keys, &Secret::from_bytes(secret));
        }
    }
}
