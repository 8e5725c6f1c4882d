//! The loops over many keys: a ring of prefetches runs ahead of the work, as for probes anywhere in a
//! line (`kernel/ring.rs` has what was measured).

use super::super::{CACHED, Line, prefetch};
use super::{Fill, ONE_LINE, Place, Places, places};
use crate::hash::Hash;

/// How many keys the prefetches run ahead.
const AHEAD: usize = 64;
/// Keys whose second lines are fetched together; their lines must fit the first-level cache.
const CHUNK: usize = 128;

#[inline(always)]
fn bytes(lines: &[Line]) -> u64 {
    (lines.len() as u64).wrapping_mul(64)
}

/// Ask for the line at this byte.
#[inline(always)]
fn fetch(lines: &[Line], at: usize) {
    prefetch(lines, at / 64);
}

/// One answer a hash, where a key has one line.
#[inline(always)]
pub(super) fn contains_one_line(
    lines: &[Line],
    hashes: &[Hash],
    answers: &mut [bool],
    has: impl Fn(Places) -> bool,
) {
    let bytes = bytes(lines);
    let place = |hash: &Hash| places::<ONE_LINE>(*hash, bytes);
    if bytes as usize <= CACHED {
        hashes.iter().zip(answers).for_each(|(hash, answer)| *answer = has(place(hash)));
        return;
    }
    hashes.iter().take(AHEAD).for_each(|hash| fetch(lines, place(hash).first));
    let ahead = hashes.get(AHEAD..).unwrap_or_default();
    let (fetched, last) = hashes.split_at(ahead.len());
    let (answers, last_answers) = answers.split_at_mut(ahead.len());
    for ((hash, ahead), answer) in fetched.iter().zip(ahead).zip(answers) {
        fetch(lines, place(ahead).first);
        *answer = has(place(hash));
    }
    for (hash, answer) in last.iter().zip(last_answers) {
        *answer = has(place(hash));
    }
}

/// One answer a hash, where a key has two lines; `has_one` looks into one of them. Most absent keys
/// fail in their first line, so second ones are fetched for survivors only.
#[inline(always)]
pub(super) fn contains_two<const LAYOUT: u8>(
    lines: &[Line],
    hashes: &[Hash],
    answers: &mut [bool],
    has: impl Fn(Places) -> bool,
    has_one: impl Fn(Places, bool) -> bool,
) {
    let bytes = bytes(lines);
    let place = |hash: &Hash| places::<LAYOUT>(*hash, bytes);
    if bytes as usize <= CACHED {
        hashes.iter().zip(answers).for_each(|(hash, answer)| *answer = has(place(hash)));
        return;
    }
    hashes.iter().take(AHEAD).for_each(|hash| fetch(lines, place(hash).first));
    let mut ahead = hashes.iter().skip(AHEAD);
    let mut survivors = [(0usize, Places { first: 0, second: 0, fraction: 0 }); CHUNK];
    for (hashes, answers) in hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
        let mut alive = 0;
        for (i, hash) in hashes.iter().enumerate() {
            if let Some(hash) = ahead.next() {
                fetch(lines, place(hash).first);
            }
            let at = place(hash);
            answers[i] = has_one(at, false);
            if answers[i] {
                fetch(lines, at.second);
                survivors[alive] = (i, at);
                alive += 1;
            }
        }
        for (i, at) in &survivors[..alive] {
            answers[*i] = has_one(*at, true);
        }
    }
}

/// Insert all; `set` inserts one and says whether a bit was clear, `report` hears of each key whether
/// it was new.
#[inline(always)]
pub(super) fn insert<const LAYOUT: u8>(
    lines: &mut [Line],
    hashes: &[Hash],
    mut report: impl FnMut(usize, bool),
    set: impl Fn(&mut [Line], Places) -> bool,
) {
    let bytes = bytes(lines);
    let place = |hash: &Hash| places::<LAYOUT>(*hash, bytes);
    if bytes as usize <= CACHED {
        hashes.iter().enumerate().for_each(|(i, hash)| report(i, set(lines, place(hash))));
        return;
    }
    let fetch_all = |lines: &[Line], hash: &Hash| {
        let at = place(hash);
        fetch(lines, at.first);
        if LAYOUT != ONE_LINE {
            fetch(lines, at.second);
        }
    };
    hashes.iter().take(AHEAD).for_each(|hash| fetch_all(lines, hash));
    for (i, hash) in hashes.iter().enumerate() {
        if let Some(hash) = hashes.get(i + AHEAD) {
            fetch_all(lines, hash);
        }
        report(i, set(lines, place(hash)));
    }
}

/// Insert hashes that were sorted by one of their lines into a run of lines.
#[inline(always)]
pub(super) fn fill_partition<const LAYOUT: u8>(
    fill: Fill<'_>,
    set_one: impl Fn(&mut Line, u64, bool) -> bool,
) {
    let Fill { lines, first, bytes, place, hashes } = fill;
    let second = place == Place::Second;
    let start = first as usize;
    let line_of = |at: Places| (if second { at.second } else { at.first } / 64).wrapping_sub(start);
    for (i, hash) in hashes.iter().enumerate() {
        if let Some(hash) = hashes.get(i + AHEAD) {
            prefetch(lines, line_of(places::<LAYOUT>(*hash, bytes)));
        }
        let at = places::<LAYOUT>(*hash, bytes);
        if let Some(line) = lines.get_mut(line_of(at)) {
            set_one(line, at.fraction, second);
        }
    }
}
