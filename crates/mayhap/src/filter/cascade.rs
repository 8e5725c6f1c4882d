//! Exact on two known lists.

mod build;
mod error;
mod kind;
mod layers;
mod lists;
mod stash;
#[cfg(test)]
mod tests;

pub use build::{CascadeOptions, OnConflict};
pub use error::CascadeError;
pub use layers::{ExactLayer, FirstLayer};
pub use stash::Stash;

use crate::Key;
use crate::hash::Hash;
use crate::kernel::{AlignedBuf, Relocate};
use crate::scheme::{Native, Scheme};
use crate::spec::Spec;
use std::fmt;

/// Batches are cut to this many hashes, so that what is kept of one stays in cache.
const CHUNK: usize = 2048;

/// The filter that makes no mistakes where they hurt: right for every key of an include list and
/// of an exclude list, and at the asked rate for keys in neither.
///
/// Both lists are known beforehand, as for [`Ribbon`](crate::Ribbon). The first layer is a filter of the include
/// list; the second knows, of the keys that the first lets pass, which list each is from, in one
/// bit a key. So the exclude list costs only where the first layer errs: a million included keys
/// against ten million excluded ones take 6.9 bits an included key at 1%, or 5.3 where the rate
/// for absent keys does not matter (see [`sizing`](crate::sizing::CascadeShape)): within 2% of what
/// ideal layers would take. Most absent keys are turned away by the first layer, after two or three
/// cache misses or, with [`CascadeOptions::with_blocked`], one.
///
/// A key in both lists is an error that names it, unless one list is preferred. What comes up
/// later goes to the [`Stash`], exactly, until the next build.
///
/// ```
/// # use mayhap::{Cascade, Spec};
/// let bad = ["eve@spam.example", "mallory@spam.example"];
/// let good = ["ada@example.org", "bob@example.org"];
/// let blocked = Cascade::from_keys(0.01, bad, good)?;
/// assert!(bad.iter().all(|key| blocked.contains(key)));
/// assert!(!good.iter().any(|key| blocked.contains(key))); // not at 1%: never
///
/// let both = Cascade::from_keys(0.01, bad, ["eve@spam.example"]);
/// assert!(both.unwrap_err().to_string().starts_with("1 key is in both lists"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Cascade<B = AlignedBuf> {
    spec: Spec,
    first: FirstLayer<B>,
    exact: ExactLayer<B>,
    counts: Counts,
    stash: Stash,
}

/// What the lists were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Distinct keys of the include list.
    pub included: u64,
    /// Keys of the exclude list as they came.
    pub excluded: u64,
    /// Distinct keys in both.
    pub in_both: u64,
}

/// What an answer rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecidedBy {
    /// The first layer turned the key away: it is not on the include list. All but the first
    /// layer's share of excluded keys and strangers end here.
    Rate,
    /// The second layer, which knows both lists: right for every key on one of them. A stranger
    /// that comes so far has yes or no by chance, so it is taken for an included key at the rate
    /// asked for; no filter can tell those.
    Lists,
    /// The stash: exact.
    Stash,
}

impl DecidedBy {
    /// One word for people and scripts.
    pub const fn name(self) -> &'static str {
        match self {
            DecidedBy::Rate => "rate",
            DecidedBy::Lists => "lists",
            DecidedBy::Stash => "stash",
        }
    }
}

impl fmt::Display for DecidedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl<B: AsRef<[u8]>> Cascade<B> {
    /// A filter of layers that are already there. `None` where they hash otherwise than the spec
    /// says, the second is not of one bit, or the counts cannot be.
    pub(crate) fn from_parts(
        spec: Spec,
        first: FirstLayer<B>,
        exact: ExactLayer<B>,
        counts: Counts,
        stash: Stash,
    ) -> Option<Self> {
        let scheme = spec.scheme();
        let fits = first.scheme().is_none_or(|first| first == scheme)
            && exact.scheme() == scheme
            && exact.is_one_bit()
            && counts.included <= exact.keys();
        fits.then_some(Cascade { spec, first, exact, counts, stash })
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the key is included: certain for the keys of both lists and of the stash, `true`
    /// at the rate asked for if it is in neither.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key is included.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        if !self.stash.is_empty()
            && let Some(answer) = self.stash.answer(hash)
        {
            return answer;
        }
        self.first.contains_hash(hash) && self.exact.contains_hash(hash)
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        self.first.contains_batch(hashes, answers);
        let (mut passed, mut at, mut exact) = (Vec::new(), Vec::new(), Vec::new());
        for (hashes, answers) in hashes.chunks(CHUNK).zip(answers.chunks_mut(CHUNK)) {
            passed.clear();
            at.clear();
            for (i, (hash, pass)) in hashes.iter().zip(&*answers).enumerate() {
                if *pass {
                    passed.push(*hash);
                    at.push(i);
                }
            }
            self.exact.contains_batch(&passed, &mut exact);
            for (at, answer) in at.iter().zip(&exact) {
                answers[*at] = *answer;
            }
        }
        if !self.stash.is_empty() {
            for (hash, answer) in hashes.iter().zip(answers) {
                *answer = self.stash.answer(*hash).unwrap_or(*answer);
            }
        }
    }

    /// The answer, and what it rests on.
    ///
    /// ```
    /// # use mayhap::cascade::DecidedBy;
    /// # use mayhap::{Cascade, Spec};
    /// let mut names = Cascade::from_keys(0.01, ["eve"], ["ada"])?;
    /// assert_eq!(names.decide("eve"), (true, DecidedBy::Lists));
    /// assert_eq!(names.decide("someone else"), (false, DecidedBy::Rate));
    /// names.stash_add("mallory");
    /// assert_eq!(names.decide("mallory"), (true, DecidedBy::Stash));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decide(&self, key: impl Key) -> (bool, DecidedBy) {
        self.decide_hash(self.hash(key))
    }

    /// The answer for a hashed key, and what it rests on.
    pub fn decide_hash(&self, hash: Hash) -> (bool, DecidedBy) {
        match self.stash.answer(hash) {
            Some(answer) => (answer, DecidedBy::Stash),
            None if !self.first.contains_hash(hash) => (false, DecidedBy::Rate),
            None => (self.exact.contains_hash(hash), DecidedBy::Lists),
        }
    }

    /// Record that a key is included from now on. `true`: that was not yet recorded.
    pub fn stash_add(&mut self, key: impl Key) -> bool {
        self.stash_add_batch(&[self.hash(key)]) == 1
    }

    /// Record that a key is included no more. `true`: that was not yet recorded.
    pub fn stash_remove(&mut self, key: impl Key) -> bool {
        self.stash_remove_batch(&[self.hash(key)]) == 1
    }

    /// Record that all of these are included from now on; how many were not yet recorded so.
    pub fn stash_add_batch(&mut self, hashes: &[Hash]) -> u64 {
        self.stash.add(hashes)
    }

    /// Record that all of these are included no more; how many were not yet recorded so.
    pub fn stash_remove_batch(&mut self, hashes: &[Hash]) -> u64 {
        self.stash.remove(hashes)
    }

    /// What came up since the build.
    pub fn stash(&self) -> &Stash {
        &self.stash
    }

    /// Hash a key once, to ask for it later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme().hash(key)
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// Its spec: the false-positive rate is that of keys on neither list.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// The first layer: a filter of the include list.
    pub fn first(&self) -> &FirstLayer<B> {
        &self.first
    }

    /// The second layer: one bit for each key of either list that the first lets pass.
    pub fn exact(&self) -> &ExactLayer<B> {
        &self.exact
    }

    /// Distinct keys it was built to include.
    pub fn included(&self) -> u64 {
        self.counts.included
    }

    /// Keys of the exclude list, each as often as it came.
    pub fn excluded(&self) -> u64 {
        self.counts.excluded
    }

    /// Distinct keys that were in both lists, and counted as the preferred one has it.
    pub fn in_both(&self) -> u64 {
        self.counts.in_both
    }

    /// Keys included: by the build, and by the stash.
    pub fn keys(&self) -> u64 {
        self.counts.included.saturating_add(self.stash.added().len() as u64)
    }

    /// Bytes of layers and stash.
    pub fn bytes(&self) -> u64 {
        self.first.bytes() + self.exact.as_bytes().len() as u64 + self.stash.bytes()
    }

    /// Always 1 (and 0 without keys): the second layer has no room left.
    pub fn fill(&self) -> f64 {
        self.exact.fill()
    }

    /// How many keys are in: as counted, bits do not tell.
    pub fn estimate(&self) -> u64 {
        self.keys()
    }

    /// How often a key in neither list is taken for an included one.
    pub fn fpr_now(&self) -> f64 {
        (self.first.fpr_now() * self.exact.fpr_now()).min(1.0)
    }
}

impl Cascade {
    /// Let the host's active defragmentation move its arrays; no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.first.relocate(memory);
        self.exact.relocate(memory);
        self.stash.relocate(memory);
    }
}

impl<B: AsRef<[u8]>> fmt::Display for Cascade<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { included, excluded, .. } = self.counts;
        write!(
            f,
            "cascade: {included} included and {excluded} excluded keys, {} bytes: ",
            self.bytes()
        )?;
        match &self.first {
            FirstLayer::None => {}
            FirstLayer::Fuse(fuse) => {
                write!(
                    f,
                    "fingerprints of {} bits let {:.3e} pass, ",
                    fuse.width(),
                    fuse.fpr_now()
                )?;
            }
            FirstLayer::Ribbon(ribbon) => {
                write!(f, "a ribbon lets {:.3e} pass, ", ribbon.fpr_now())?;
            }
            FirstLayer::Blocked(lines) => {
                let probes = lines.shape().probes();
                write!(f, "lines of {probes} probes let {:.3e} pass, ", lines.fpr_now())?;
            }
        }
        write!(
            f,
            "one bit for {} of both lists, {} added and {} removed since, rate {:.3e} for strangers, {:.3e} asked for",
            self.exact.keys(),
            self.stash.added().len(),
            self.stash.removed().len(),
            self.fpr_now(),
            self.spec.fpr(),
        )
    }
}
