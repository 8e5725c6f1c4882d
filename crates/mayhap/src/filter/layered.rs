//! What composites share: parts made to any rate, and batches asked of one part after another.

use super::{Blocked, Insert, MergeError};
use crate::hash::Hash;
use crate::kernel::Pages;
use crate::sizing::{BlockedShape, hash_floor};
use crate::spec::{MIN_FPR, Spec, SpecError};

/// Batches are cut to this many hashes, so that what a composite keeps of one stays in cache.
const CHUNK: usize = 2048;

/// An empty part of a composite that hashes as `whole` says.
///
/// Parts of a composite have lower rates than the whole, down to where no [`Spec`] may ask for
/// them. The shape has the true rate; the part's own spec states the nearest that it can.
pub(super) fn part(
    whole: Spec,
    capacity: u64,
    fpr: f64,
    shape: BlockedShape,
) -> Result<Blocked, SpecError> {
    let stated = fpr.max(MIN_FPR).max(2.0 * hash_floor(capacity));
    Blocked::with_shape(Spec::new(capacity, stated)?.with_scheme(whole.scheme()), shape)
}

/// A copy of another's part in memory of our own.
pub(super) fn copy_of<C: AsRef<[u8]>>(part: &Blocked<C>) -> Result<Blocked, MergeError> {
    let bytes = part.as_bytes();
    let copy = Pages::copy_of(bytes).ok();
    let copy = copy.and_then(|c| Blocked::from_parts(part.spec(), part.shape(), part.keys(), c));
    copy.ok_or_else(|| MergeError {
        what: "free bytes",
        have: "too few".to_owned(),
        got: format!("{} needed", bytes.len()),
    })
}

/// Whether so many keys can have been counted: each that was certainly new set a bit, and an
/// estimate counts no more than 8 keys a bit. What a file says may be wilder.
pub(super) fn is_plausible<B: AsRef<[u8]>>(part: &Blocked<B>) -> bool {
    part.keys() / 8 <= part.shape().bits()
}

/// Whether the part could have been made for the capacity it states: full to that, it keeps the
/// rate it states. What a layer holds decides how large the next one is, so a few bytes that claim
/// to be a layer of billions would have gigabytes reserved with the next key.
pub(super) fn keeps_its_rate<B: AsRef<[u8]>>(part: &Blocked<B>) -> bool {
    let (spec, shape) = (part.spec(), part.shape());
    // A hundredth for machines that round otherwise. The first condition is implied, and cheap.
    spec.capacity() <= shape.bits().saturating_mul(8)
        && shape.fpr_at(spec.capacity()) <= 1.01 * spec.fpr()
}

/// Whether any part may hold each of the hashes; the parts most likely to answer come first.
///
/// The first part answers the whole batch; the others are asked only for what is still open.
pub(super) fn any_contains<'a, B: AsRef<[u8]> + 'a>(
    mut parts: impl Iterator<Item = &'a Blocked<B>> + Clone,
    hashes: &[Hash],
    answers: &mut Vec<bool>,
) {
    let Some(first) = parts.next() else {
        answers.clear();
        answers.resize(hashes.len(), false);
        return;
    };
    first.contains_batch(hashes, answers);
    if parts.clone().next().is_none() {
        return;
    }
    let mut open = Open::default();
    for (hashes, answers) in chunks(hashes, answers) {
        open.start(hashes);
        open.keep_if_not(answers);
        for part in parts.clone() {
            open.ask(part, |at, may_be_in| answers[at] = may_be_in);
        }
    }
}

/// A batch and its answers in pieces that go well together.
pub(super) fn chunks<'a>(
    hashes: &'a [Hash],
    answers: &'a mut [bool],
) -> impl Iterator<Item = (&'a [Hash], &'a mut [bool])> {
    hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK))
}

/// The hashes of a batch that no part has answered for yet, in the order they came.
#[derive(Default)]
pub(super) struct Open {
    hashes: Vec<Hash>,
    /// Where each was in the batch.
    at: Vec<usize>,
    /// Those before are done with.
    first: usize,
    answers: Vec<bool>,
}

impl Open {
    /// All of them, afresh.
    pub(super) fn start(&mut self, hashes: &[Hash]) {
        self.hashes.clear();
        self.hashes.extend_from_slice(hashes);
        self.at.clear();
        self.at.extend(0..hashes.len());
        self.first = 0;
    }

    /// One more.
    pub(super) fn push(&mut self, at: usize, hash: Hash) {
        self.hashes.push(hash);
        self.at.push(at);
    }

    /// The next one, which is then open no more.
    pub(super) fn pop(&mut self) -> Option<(usize, Hash)> {
        let next = (*self.at.get(self.first)?, *self.hashes.get(self.first)?);
        self.first += 1;
        Some(next)
    }

    /// Whether none is open.
    pub(super) fn is_empty(&self) -> bool {
        self.first >= self.hashes.len()
    }

    /// Ask a part for all that are open; `heard` hears each answer and its place in the batch.
    /// Those that may be in the part are open no more.
    pub(super) fn ask<B: AsRef<[u8]>>(
        &mut self,
        part: &Blocked<B>,
        mut heard: impl FnMut(usize, bool),
    ) {
        if self.is_empty() {
            return;
        }
        let mut answers = std::mem::take(&mut self.answers);
        part.contains_batch(&self.hashes[self.first..], &mut answers);
        for (at, may_be_in) in self.at[self.first..].iter().zip(&answers) {
            heard(*at, *may_be_in);
        }
        self.keep_if_not(&answers);
        self.answers = answers;
    }

    /// Only those stay open that are not answered with yes.
    fn keep_if_not(&mut self, answers: &[bool]) {
        let mut kept = 0;
        for (i, yes) in (self.first..self.hashes.len()).zip(answers) {
            // Written either way: a branch here would be guessed wrong too often.
            (self.hashes[kept], self.at[kept]) = (self.hashes[i], self.at[i]);
            kept += usize::from(!yes);
        }
        self.hashes.truncate(kept);
        self.at.truncate(kept);
        self.first = 0;
    }

    /// Insert the next ones into a part, `count` at most; `new` hears of those that were
    /// certainly new there. None of them is open any more.
    pub(super) fn insert(
        &mut self,
        count: u64,
        part: &mut impl Insert<Hash = Hash>,
        mut new: impl FnMut(usize, Hash),
    ) {
        let open = self.hashes.len() - self.first;
        let end = self.first + usize::try_from(count).map_or(open, |count| count.min(open));
        let hashes = &self.hashes[self.first..end];
        part.insert_batch_new(hashes, &mut self.answers);
        let places = &self.at[self.first..end];
        for ((at, hash), is_new) in places.iter().zip(hashes).zip(&self.answers) {
            if *is_new {
                new(*at, *hash);
            }
        }
        self.first = end;
    }
}
