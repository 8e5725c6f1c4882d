//! The loops over many keys, written once for every instruction set: a ring of prefetches runs
//! ahead of the work, so that memory answers many questions at the same time.
//!
//! "Prefetch 32, then probe 32" was the road not taken: memory idles while the probes run, and
//! that costs half of the speed.

use super::{CACHED, Line, prefetch, scalar};
use crate::hash::Hash;
use crate::sizing::BlockedShape;

/// How many keys the prefetches run ahead. A core waits for some 48 lines at a time, and a few more
/// ride out the uneven ones. Measured flat from 64 to 128, a fifth slower with 32.
const AHEAD: usize = 64;
/// Keys whose further lines are fetched together; their lines must fit the first-level cache.
const CHUNK: usize = 128;

/// Ask for a hash's line.
#[inline(always)]
fn fetch(lines: &[Line], hash: Hash) {
    if let Some(line) = lines.get(scalar::line_of(hash, lines.len() as u64)) {
        prefetch(line, 0);
    }
}

/// One key over all of its lines, stopping at the first that says no.
#[inline(always)]
pub(super) fn one_contains(
    lines: &[Line],
    shape: BlockedShape,
    mut hash: Hash,
    contains: impl Fn(&Line, &Hash) -> bool,
) -> bool {
    let count = lines.len() as u64;
    for _ in 1..shape.lines_per_key {
        if !contains(&lines[scalar::line_of(hash, count)], &hash) {
            return false;
        }
        hash = scalar::next(hash);
    }
    contains(&lines[scalar::line_of(hash, count)], &hash)
}

/// One key into all of its lines.
#[inline(always)]
pub(super) fn one_insert(
    lines: &mut [Line],
    shape: BlockedShape,
    mut hash: Hash,
    insert: impl Fn(&mut Line, Hash) -> bool,
) -> bool {
    let count = lines.len() as u64;
    let mut new = insert(&mut lines[scalar::line_of(hash, count)], hash);
    for _ in 1..shape.lines_per_key {
        hash = scalar::next(hash);
        new |= insert(&mut lines[scalar::line_of(hash, count)], hash);
    }
    new
}

/// One answer a hash; `contains` looks into one line.
#[inline(always)]
pub(super) fn contains(
    lines: &[Line],
    shape: BlockedShape,
    hashes: &[Hash],
    answers: &mut [bool],
    contains: impl Fn(&Line, &Hash) -> bool,
) {
    let count = lines.len() as u64;
    let first = |hash: &Hash| contains(&lines[scalar::line_of(*hash, count)], hash);
    if lines.as_flattened().len() <= CACHED && shape.lines_per_key == 1 {
        hashes.iter().zip(answers).for_each(|(hash, answer)| *answer = first(hash));
        return;
    }
    hashes.iter().take(AHEAD).for_each(|hash| fetch(lines, *hash));
    let ahead = hashes.get(AHEAD..).unwrap_or_default();
    if shape.lines_per_key == 1 {
        let (fetched, last) = hashes.split_at(ahead.len());
        let (answers, last_answers) = answers.split_at_mut(ahead.len());
        for ((hash, ahead), answer) in fetched.iter().zip(ahead).zip(answers) {
            fetch(lines, *ahead);
            *answer = first(hash);
        }
        for (hash, answer) in last.iter().zip(last_answers) {
            *answer = first(hash);
        }
        return;
    }
    // Most strangers fail in their first line, so further lines are fetched only for survivors.
    let mut ahead = ahead.iter();
    let mut survivors = [(0usize, Hash::default()); CHUNK];
    for (hashes, answers) in hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
        let mut alive = 0;
        for (i, hash) in hashes.iter().enumerate() {
            if let Some(hash) = ahead.next() {
                fetch(lines, *hash);
            }
            answers[i] = first(hash);
            if answers[i] {
                let next = scalar::next(*hash);
                fetch(lines, next);
                survivors[alive] = (i, next);
                alive += 1;
            }
        }
        for line in 1..shape.lines_per_key {
            let is_last = line + 1 == shape.lines_per_key;
            let mut still = 0;
            for at in 0..alive {
                let (i, hash) = survivors[at];
                answers[i] = first(&hash);
                if answers[i] && !is_last {
                    let next = scalar::next(hash);
                    fetch(lines, next);
                    survivors[still] = (i, next);
                    still += 1;
                }
            }
            alive = still;
        }
    }
}

/// Insert all; `insert` sets one line and says whether a bit was clear, `report` hears of each
/// key whether it was new.
#[inline(always)]
pub(super) fn insert(
    lines: &mut [Line],
    shape: BlockedShape,
    hashes: &[Hash],
    mut report: impl FnMut(usize, bool),
    insert: impl Fn(&mut Line, Hash) -> bool,
) {
    let count = lines.len() as u64;
    let fetch_all = {
        let lines_per_key = shape.lines_per_key;
        move |lines: &[Line], mut hash: Hash| {
            fetch(lines, hash);
            for _ in 1..lines_per_key {
                hash = scalar::next(hash);
                fetch(lines, hash);
            }
        }
    };
    hashes.iter().take(AHEAD).for_each(|hash| fetch_all(lines, *hash));
    for (i, hash) in hashes.iter().enumerate() {
        if let Some(hash) = hashes.get(i + AHEAD) {
            fetch_all(lines, *hash);
        }
        let mut hash = *hash;
        let mut new = insert(&mut lines[scalar::line_of(hash, count)], hash);
        for _ in 1..shape.lines_per_key {
            hash = scalar::next(hash);
            new |= insert(&mut lines[scalar::line_of(hash, count)], hash);
        }
        report(i, new);
    }
}

/// Insert one-line hashes into a run of lines that starts at line `first` of the array.
#[inline(always)]
pub(super) fn fill_partition(
    lines: &mut [Line],
    first: u64,
    shape: BlockedShape,
    hashes: &[Hash],
    insert: impl Fn(&mut Line, Hash) -> bool,
) {
    let line_of = |hash: Hash| scalar::line_of(hash, shape.lines).wrapping_sub(first as usize);
    for (i, hash) in hashes.iter().enumerate() {
        if let Some(hash) = hashes.get(i + AHEAD) {
            prefetch(lines, line_of(*hash));
        }
        if let Some(line) = lines.get_mut(line_of(*hash)) {
            insert(line, *hash);
        }
    }
}
