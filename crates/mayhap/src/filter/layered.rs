//! What layered filters share: layers of any rate, and batched lookups in one layer after another.

use super::{Blocked, MergeError};
use crate::hash::Hash;
use crate::kernel::AlignedBuf;
use crate::sizing::{BlockedShape, collision_rate};
use crate::spec::{MIN_FPR, Spec, SpecError};

/// Batches are split into chunks of this many hashes, so that intermediate results stay in cache.
const CHUNK: usize = 2048;

/// An empty layer that hashes as `whole` says.
///
/// Parts of a composite have lower rates than the whole, down to where no [`Spec`] may ask for
/// them. The shape has the true rate; the part's own spec states the nearest that it can.
pub(super) fn part(
    whole: Spec,
    capacity: u64,
    fpr: f64,
    shape: BlockedShape,
) -> Result<Blocked, SpecError> {
    let stated = fpr.max(MIN_FPR).max(2.0 * collision_rate(capacity));
    let spec = Spec::new(capacity, stated)?.with_scheme(whole.scheme());
    Blocked::with_shape(spec.with_optimize(whole.optimize()), shape)
}

/// A copy of another's layer in memory of its own.
pub(super) fn copy_of<C: AsRef<[u8]>>(part: &Blocked<C>) -> Result<Blocked, MergeError> {
    let bytes = part.as_bytes();
    let copy = AlignedBuf::copy_of(bytes).ok();
    let copy = copy.and_then(|c| Blocked::from_parts(part.spec(), part.shape(), part.keys(), c));
    copy.ok_or_else(|| MergeError::memory(bytes.len() as u64))
}

/// Whether this key count is possible: each certainly new key set a bit, and an estimate counts no
/// more than 8 keys per bit. A file may claim more.
pub(super) fn is_plausible<B: AsRef<[u8]>>(part: &Blocked<B>) -> bool {
    part.keys() / 8 <= part.shape().bits()
}

/// Whether the layer could have been made for its stated capacity: at that capacity it keeps its
/// stated rate. A layer's capacity decides the size of the next one, so a few bytes that claim to
/// be a layer of billions would allocate gigabytes with the next key.
pub(super) fn keeps_its_fpr<B: AsRef<[u8]>>(part: &Blocked<B>) -> bool {
    let (spec, shape) = (part.spec(), part.shape());
    // 1% tolerance for machines that round differently. The first condition is implied, and cheap.
    spec.capacity() <= shape.bits().saturating_mul(8)
        && shape.fpr_at(spec.capacity()) <= 1.01 * spec.fpr()
}

/// Whether any layer may hold each of the hashes; the layers most likely to answer come first.
///
/// The first layer answers the whole batch; the others are looked up only for unresolved hashes.
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
    any_more_contain(parts, hashes, answers);
}

/// The same for hashes that may have been found already: those that were not are looked up in these layers.
pub(super) fn any_more_contain<'a, B: AsRef<[u8]> + 'a>(
    parts: impl Iterator<Item = &'a Blocked<B>> + Clone,
    hashes: &[Hash],
    answers: &mut [bool],
) {
    if parts.clone().next().is_none() {
        return;
    }
    let mut open = Unresolved::default();
    for (hashes, answers) in chunks(hashes, answers) {
        open.start(hashes);
        open.keep_if_not(answers);
        for part in parts.clone() {
            open.ask(part, |at, may_be_in| answers[at] = may_be_in);
        }
    }
}

/// A batch and its answers in chunks.
pub(super) fn chunks<'a>(
    hashes: &'a [Hash],
    answers: &'a mut [bool],
) -> impl Iterator<Item = (&'a [Hash], &'a mut [bool])> {
    hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK))
}

/// The hashes of a batch that no layer has answered for yet, in order.
#[derive(Default)]
pub(super) struct Unresolved {
    hashes: Vec<Hash>,
    /// The index of each in the batch.
    at: Vec<usize>,
    /// Those before are resolved.
    first: usize,
    answers: Vec<bool>,
}

impl Unresolved {
    /// Start with all of them.
    pub(super) fn start(&mut self, hashes: &[Hash]) {
        self.hashes.clear();
        self.hashes.extend_from_slice(hashes);
        self.at.clear();
        self.at.extend(0..hashes.len());
        self.first = 0;
    }

    /// Add one.
    pub(super) fn push(&mut self, at: usize, hash: Hash) {
        self.hashes.push(hash);
        self.at.push(at);
    }

    /// The next one, which is then resolved.
    pub(super) fn pop(&mut self) -> Option<(usize, Hash)> {
        let next = (*self.at.get(self.first)?, *self.hashes.get(self.first)?);
        self.first += 1;
        Some(next)
    }

    /// Whether all are resolved.
    pub(super) fn is_empty(&self) -> bool {
        self.first >= self.hashes.len()
    }

    /// Look up all unresolved hashes in a layer; `heard` is called with each answer and its index.
    /// Those that may be in the layer are resolved.
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

    /// Keep only those without a positive answer.
    fn keep_if_not(&mut self, answers: &[bool]) {
        let mut kept = 0;
        for (i, yes) in (self.first..self.hashes.len()).zip(answers) {
            // Branchless: a branch here would be mispredicted too often.
            (self.hashes[kept], self.at[kept]) = (self.hashes[i], self.at[i]);
            kept += usize::from(!yes);
        }
        self.hashes.truncate(kept);
        self.at.truncate(kept);
        self.first = 0;
    }

    /// Insert the next ones into a layer, `count` at most; `new` is called for those that were
    /// certainly new there. All of them are resolved.
    pub(super) fn insert(
        &mut self,
        count: u64,
        insert: impl FnOnce(&[Hash], &mut Vec<bool>),
        mut new: impl FnMut(usize, Hash),
    ) {
        let open = self.hashes.len() - self.first;
        let end = self.first + usize::try_from(count).map_or(open, |count| count.min(open));
        let hashes = &self.hashes[self.first..end];
        insert(hashes, &mut self.answers);
        let places = &self.at[self.first..end];
        for ((at, hash), is_new) in places.iter().zip(hashes).zip(&self.answers) {
            if *is_new {
                new(*at, *hash);
            }
        }
        self.first = end;
    }
}
