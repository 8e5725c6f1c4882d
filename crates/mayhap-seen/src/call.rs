//! One call about one owner: checked, hashed, and answered from how the list stood.

use crate::SeenError;
use crate::backend::Change;
use crate::list::Deed;
use crate::policy::Policy;
use crate::view::View;
use mayhap::{Hash, Native, Scheme};
use std::collections::HashSet;
use std::sync::OnceLock;

/// The hash of an id as this owner's list knows it.
///
/// It is salted with the owner. Two ids that collide do so for one owner only; with one hash for
/// all, an article that collides with a popular one would be hidden from nearly everybody.
pub fn hash_ids<I: AsRef<[u8]>>(owner: &[u8], ids: &[I]) -> Vec<Hash> {
    let salted = Native::seeded(Native::seeded(0).hash(owner).0);
    ids.iter().map(|id| salted.hash(id.as_ref())).collect()
}

/// A checked call.
pub(crate) struct Call<'a> {
    pub owner: &'a [u8],
    pub ids: Vec<&'a [u8]>,
    hashes: OnceLock<Vec<Hash>>,
}

impl<'a> Call<'a> {
    pub fn new<I: AsRef<[u8]>>(
        policy: &Policy,
        owner: &'a [u8],
        ids: &'a [I],
    ) -> Result<Call<'a>, SeenError> {
        check_owner(policy, owner)?;
        if ids.is_empty() {
            return Err(SeenError::NoIds);
        }
        let ids = ids.iter().map(AsRef::as_ref).collect();
        Ok(Call { owner, ids, hashes: OnceLock::new() })
    }

    fn hashes(&self) -> &[Hash] {
        self.hashes.get_or_init(|| hash_ids(self.owner, &self.ids))
    }

    /// For each id, whether it is marked and whether it is on offer.
    fn ask(&self, view: &View, answer: impl FnMut(bool, bool)) {
        let hashes = if view.needs_hashes() { self.hashes() } else { &[] };
        view.ask(&self.ids, hashes, answer);
    }

    pub fn change(&self, deed: Deed) -> Change<'_> {
        Change { owner: self.owner, deed, ids: &self.ids, hashes: self.hashes() }
    }

    /// Which ids were neither seen nor on offer, by their places.
    pub fn unseen(&self, view: &View) -> Vec<usize> {
        let (mut unseen, mut at) = (Vec::with_capacity(self.ids.len()), 0);
        self.ask(view, |marked, offered| {
            if !marked && !offered {
                unseen.push(at);
            }
            at += 1;
        });
        unseen
    }

    /// The same, each id once: what a deed on the unseen ones was done to.
    pub fn unseen_once(&self, view: &View) -> Vec<usize> {
        let mut met = HashSet::new();
        let mut unseen = self.unseen(view);
        unseen.retain(|at| met.insert(self.ids[*at]));
        unseen
    }

    /// How many different ids were not marked yet.
    pub fn new_ids(&self, view: &View) -> u64 {
        let (mut new, mut at) = (HashSet::new(), 0);
        self.ask(view, |marked, _| {
            if !marked {
                new.insert(self.ids[at]);
            }
            at += 1;
        });
        new.len() as u64
    }
}

pub(crate) fn check_owner(policy: &Policy, owner: &[u8]) -> Result<(), SeenError> {
    let (got, need) = (owner.len(), policy.owner_bytes());
    if got < need { Err(SeenError::Owner { got, need }) } else { Ok(()) }
}
