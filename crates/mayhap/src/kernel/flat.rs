//! Many keys at once in a flat array, where each probe is a cache miss of its own.
//!
//! Fetching every probe of every key would be too much: a stranger fails at the first clear bit,
//! after two probes on average. So a key goes through rounds of one, two and all further probes,
//! and only those still alive have the next round's bits fetched.

use super::prefetch;
use crate::scheme::Scheme;

/// Keys in flight. Their lines must stay in the first-level cache until they are looked at.
const CHUNK: usize = 64;
/// How many keys the first prefetch, or an insert's, runs ahead.
const AHEAD: usize = 16;
/// Probes tested in the first and second round.
const ROUNDS: [usize; 2] = [1, 2];

/// Whether bit `at` is set.
#[inline(always)]
pub(crate) fn bit(bytes: &[u8], at: u64) -> bool {
    bytes[(at >> 3) as usize] & (1 << (at & 7)) != 0
}

/// Set bit `at`; whether it was clear.
#[inline(always)]
pub(crate) fn set(bytes: &mut [u8], at: u64) -> bool {
    let (byte, bit) = (&mut bytes[(at >> 3) as usize], 1 << (at & 7));
    let clear = *byte & bit == 0;
    *byte |= bit;
    clear
}

#[inline(always)]
fn fetch(bytes: &[u8], at: u64) {
    prefetch(bytes, (at >> 3) as usize);
}

/// One answer a hash.
pub(crate) fn contains_batch<S: Scheme>(
    bytes: &[u8],
    scheme: &S,
    (bits, probes): (u64, u32),
    hashes: &[S::Hash],
    answers: &mut [bool],
) {
    let fetch_first = |hash: &S::Hash| {
        scheme.positions(*hash, bits, 1).for_each(|at| fetch(bytes, at));
    };
    hashes.iter().take(AHEAD).for_each(fetch_first);
    let mut ahead = hashes.iter().skip(AHEAD);
    let probes_in = probes as usize;
    let mut positions = vec![0; CHUNK * probes_in];
    let mut alive = [0; CHUNK];
    for (hashes, answers) in hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
        let mut count = 0;
        for (i, hash) in hashes.iter().enumerate() {
            ahead.next().into_iter().for_each(fetch_first);
            answers[i] = scheme.positions(*hash, bits, 1).all(|at| bit(bytes, at));
            if answers[i] {
                let mine = &mut positions[i * probes_in..][..probes_in];
                let found = scheme.positions(*hash, bits, probes);
                mine.iter_mut().zip(found).for_each(|(slot, at)| *slot = at);
                mine.iter().skip(ROUNDS[0]).take(ROUNDS[1]).for_each(|at| fetch(bytes, *at));
                alive[count] = i;
                count += 1;
            }
        }
        let mut still = 0;
        for at in 0..count {
            let i = alive[at];
            let mine = &positions[i * probes_in..][..probes_in];
            let (now, later) = split(mine.get(ROUNDS[0]..).unwrap_or_default(), ROUNDS[1]);
            answers[i] = now.iter().all(|at| bit(bytes, *at));
            if answers[i] {
                later.iter().for_each(|at| fetch(bytes, *at));
                alive[still] = i;
                still += 1;
            }
        }
        for i in &alive[..still] {
            let mine = &positions[i * probes_in..][..probes_in];
            let last = mine.get(ROUNDS[0] + ROUNDS[1]..).unwrap_or_default();
            answers[*i] = last.iter().all(|at| bit(bytes, *at));
        }
    }
}

/// The first `n`, or all there are, and the rest.
fn split(slice: &[u64], n: usize) -> (&[u64], &[u64]) {
    slice.split_at(n.min(slice.len()))
}

/// Insert all; `report` hears of each whether it was new. Every probe must be written, so every
/// one is fetched, a ring of keys ahead.
pub(crate) fn insert_batch<S: Scheme>(
    bytes: &mut [u8],
    scheme: &S,
    (bits, probes): (u64, u32),
    hashes: &[S::Hash],
    mut report: impl FnMut(usize, bool),
) {
    let probes_in = probes as usize;
    let mut ring = vec![0; AHEAD * probes_in];
    for i in 0..hashes.len() + AHEAD {
        let slots = &mut ring[i % AHEAD * probes_in..][..probes_in];
        if let Some(done) = i.checked_sub(AHEAD) {
            // No short cut: every bit must be set, whatever was found before.
            let new = slots.iter().fold(false, |new, at| set(bytes, *at) | new);
            report(done, new);
        }
        if let Some(hash) = hashes.get(i) {
            let found = scheme.positions(*hash, bits, probes);
            for (slot, at) in slots.iter_mut().zip(found) {
                *slot = at;
                fetch(bytes, at);
            }
        }
    }
}
