//! One call about one owner: checked, hashed, and answered from how the list stood.

use crate::SeenError;
use crate::backend::{Before, Change};
use crate::list::Deed;
use crate::policy::Policy;
use crate::view::View;
use mayhap::{Hash, Native, Scheme};
use std::collections::HashSet;

/// The hash of an id as this owner's list knows it.
///
/// It is salted with the owner. Two ids that collide do so for one owner only; with one hash for
/// all, an article that collides with a popular one would be hidden from nearly everybody.
pub fn hash_ids<I: AsRef<[u8]>>(owner: &[u8], ids: &[I]) -> Vec<Hash> {
    let salted = Native::seeded(Native::seeded(0).hash_bytes(owner).0);
    ids.iter().map(|id| salted.hash_bytes(id.as_ref())).collect()
}

/// Those of the candidates that are neither seen nor on offer, in order.
pub(crate) fn unseen<'a, I: AsRef<[u8]>>(
    owner: &[u8],
    candidates: &'a [I],
    view: &View,
) -> Vec<&'a I> {
    if view.is_empty() {
        return candidates.iter().collect();
    }
    // Hashed all at once: a short loop without a guess in it is the fastest.
    let hashes = if view.needs_hashes() { hash_ids(owner, candidates) } else { vec![] };
    let mut unseen = Vec::with_capacity(candidates.len());
    view.ask(candidates, &hashes, |id, marked, offered| {
        if !marked && !offered {
            unseen.push(id);
        }
    });
    unseen
}

/// A call that changes something, checked.
pub(crate) struct Call<'a> {
    pub owner: &'a [u8],
    pub ids: Vec<&'a [u8]>,
    hashes: Vec<Hash>,
}

impl<'a> Call<'a> {
    pub fn new<I: AsRef<[u8]>>(
        policy: &Policy,
        owner: &'a [u8],
        ids: &'a [I],
    ) -> Result<Call<'a>, SeenError> {
        check(policy, owner, ids)?;
        Ok(Call {
            owner,
            ids: ids.iter().map(AsRef::as_ref).collect(),
            hashes: hash_ids(owner, ids),
        })
    }

    pub fn change(&self, deed: Deed) -> Change<'_> {
        Change { owner: self.owner, deed, ids: &self.ids, hashes: &self.hashes }
    }

    /// For each id, by its place, whether it was marked and whether it was on offer.
    fn ask(&self, before: &Before, mut answer: impl FnMut(usize, bool, bool)) {
        match before {
            Before::List(view) => {
                let mut at = 0;
                view.ask(&self.ids, &self.hashes, |_, marked, offered| {
                    answer(at, marked, offered);
                    at += 1;
                });
            }
            Before::Marked(marked) => {
                marked.iter().enumerate().for_each(|(at, marked)| answer(at, *marked, false));
            }
        }
    }

    /// Which ids a deed on the unseen ones was done to: by their places, each id once.
    pub fn unseen_once(&self, before: &Before) -> Vec<usize> {
        let (mut met, mut unseen) = (HashSet::new(), vec![]);
        self.ask(before, |at, marked, offered| {
            if !marked && !offered && met.insert(self.ids[at]) {
                unseen.push(at);
            }
        });
        unseen
    }

    /// How many different ids were not marked yet.
    pub fn new_ids(&self, before: &Before) -> u64 {
        let mut new = HashSet::new();
        self.ask(before, |at, marked, _| {
            if !marked {
                new.insert(self.ids[at]);
            }
        });
        new.len() as u64
    }
}

/// Whether this is a call at all.
pub(crate) fn check<I>(policy: &Policy, owner: &[u8], ids: &[I]) -> Result<(), SeenError> {
    check_owner(policy, owner)?;
    if ids.is_empty() { Err(SeenError::NoIds) } else { Ok(()) }
}

pub(crate) fn check_owner(policy: &Policy, owner: &[u8]) -> Result<(), SeenError> {
    let (got, need) = (owner.len(), policy.owner_bytes());
    if got < need { Err(SeenError::Owner { got, need }) } else { Ok(()) }
}
