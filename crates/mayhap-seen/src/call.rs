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
    if view.is_empty() || candidates.is_empty() {
        return candidates.iter().collect();
    }
    // Hashed all at once: a short loop without a guess in it is the fastest.
    let hashes = if view.needs_hashes() { hash_ids(owner, candidates) } else { vec![] };
    let hidden = view.ask(candidates, &hashes).hidden();
    // Each is written down, and the next over it if it was hidden: nothing to guess here either.
    let (mut unseen, mut count) = (vec![&candidates[0]; candidates.len()], 0);
    for (id, hidden) in candidates.iter().zip(hidden) {
        unseen[count] = id;
        count += usize::from(!hidden);
    }
    unseen.truncate(count);
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

    /// Which ids a deed on the unseen ones was done to: by their places, each id once.
    pub fn unseen_once(&self, before: &Before) -> Vec<usize> {
        let hidden = match before {
            Before::List(view) => view.ask(&self.ids, &self.hashes).hidden(),
            Before::Marked(marked) => marked.clone(),
        };
        let mut met = HashSet::new();
        let places = (0..self.ids.len()).zip(hidden).filter(|(_, hidden)| !hidden);
        places.map(|(at, _)| at).filter(|at| met.insert(self.ids[*at])).collect()
    }

    /// How many different ids were not marked yet.
    pub fn new_ids(&self, before: &Before) -> u64 {
        let marked = match before {
            Before::List(view) => view.ask(&self.ids, &self.hashes).marked,
            Before::Marked(marked) => marked.clone(),
        };
        let new = self.ids.iter().zip(marked).filter(|(_, marked)| !marked);
        new.map(|(id, _)| *id).collect::<HashSet<&[u8]>>().len() as u64
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
