//! Everything that touches memory for speed: dispatch here, one instruction set a file, and the
//! only `unsafe` of the crate. `scalar` is the truth the others are tested against.

mod fuse;
mod pages;
mod prefetch;
mod scalar;

pub(crate) use fuse::{Shard, Table, Turned};
pub use pages::{Atomics, Pages};
pub(crate) use prefetch::prefetch;

use crate::hash::Hash;
use crate::sizing::BlockedShape;

/// 512 bits, the first in the lowest bit of the first byte.
pub(crate) type Line = [u8; 64];

/// May this key be in? All of its lines must agree.
#[inline]
pub(crate) fn contains(lines: &[Line], shape: BlockedShape, mut hash: Hash) -> bool {
    let count = lines.len() as u64;
    for _ in 0..shape.lines_per_key {
        let line = &lines[scalar::line_of(hash, count)];
        if !scalar::line_contains(line, hash, shape.probes_per_line) {
            return false;
        }
        hash = scalar::next(hash);
    }
    true
}

/// Set the key's bits; whether any was clear.
#[inline]
pub(crate) fn insert(lines: &mut [Line], shape: BlockedShape, mut hash: Hash) -> bool {
    let count = lines.len() as u64;
    let mut changed = false;
    for _ in 0..shape.lines_per_key {
        let line = &mut lines[scalar::line_of(hash, count)];
        changed |= scalar::line_insert(line, hash, shape.probes_per_line);
        hash = scalar::next(hash);
    }
    changed
}

/// One answer a hash.
pub(crate) fn contains_batch(
    lines: &[Line],
    shape: BlockedShape,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    for (hash, answer) in hashes.iter().zip(answers) {
        *answer = contains(lines, shape, *hash);
    }
}

/// Insert all; `report` hears of each whether it was new.
pub(crate) fn insert_batch(
    lines: &mut [Line],
    shape: BlockedShape,
    hashes: &[Hash],
    mut report: impl FnMut(usize, bool),
) {
    for (i, hash) in hashes.iter().enumerate() {
        report(i, insert(lines, shape, *hash));
    }
}
