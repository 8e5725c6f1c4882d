//! One call about one owner: checked, hashed, and answered from how the list stood.

use crate::SeenError;
use crate::backend::Change;
use crate::list::{Deed, FEW};
use crate::policy::Policy;
use crate::view::View;
use mayhap::{Hash, Native, Scheme};
use std::collections::HashSet;

/// The hash of an id as this owner's list knows it.
///
/// It is salted with the owner. Two ids that collide do so for one owner only; with one hash for
/// all, an article that collides with a popular one would be hidden from nearly everybody.
pub fn hash_ids<I: AsRef<[u8]>>(owner: &[u8], ids: &[I]) -> Vec<Hash> {
    let (salted, ids) = (salted(owner), ids.iter().map(AsRef::as_ref).collect::<Vec<&[u8]>>());
    let mut hashes = Vec::with_capacity(ids.len());
    salted.hash_batch(&ids, &mut hashes);
    hashes
}

fn salted(owner: &[u8]) -> Native {
    Native::seeded(Native::seeded(0).hash_bytes(owner).0)
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
    let mut unseen = Vec::with_capacity(candidates.len());
    match view {
        View::List(list) => {
            let (salted, asked) = (salted(owner), list.asked(candidates.len()));
            let (mut ids, mut hashes) = ([&[][..]; FEW], Vec::with_capacity(FEW));
            for few in candidates.chunks(FEW) {
                let ids = &mut ids[..few.len()];
                ids.iter_mut().zip(few).for_each(|(place, id)| *place = id.as_ref());
                salted.hash_batch(ids, &mut hashes);
                keep(few, asked.hidden(&hashes), &mut unseen);
            }
        }
        #[cfg(feature = "redis")]
        View::Go(list) => {
            let ids: Vec<&[u8]> = candidates.iter().map(AsRef::as_ref).collect();
            let hashes =
                if list.offers().is_empty() { vec![] } else { hash_ids(owner, candidates) };
            let hidden = list.known(&Deed::MarkUnseen, &ids, &hashes);
            for (few, hidden) in candidates.chunks(FEW).zip(hidden.chunks(FEW)) {
                let bits =
                    hidden.iter().rev().fold(0, |bits, hidden| bits << 1 | u64::from(*hidden));
                keep(few, bits, &mut unseen);
            }
        }
    }
    unseen
}

/// Of a few, keep those whose bit is not set.
fn keep<'a, I>(few: &'a [I], hidden: u64, kept: &mut Vec<&'a I>) {
    // Each is written down, and the next over it if it was hidden: nothing to guess.
    let (mut unseen, mut count, mut shown) = ([&few[0]; FEW], 0, !hidden);
    for id in few {
        unseen[count % FEW] = id;
        count += (shown & 1) as usize;
        shown >>= 1;
    }
    kept.extend_from_slice(&unseen[..count]);
}

/// A call that changes something, checked.
pub(crate) struct Call<'a> {
    pub owner: &'a [u8],
    pub ids: Vec<&'a [u8]>,
    hashes: Vec<Hash>,
}

impl<'a> Call<'a> {
    /// The owner is checked by whoever knows the policy.
    pub fn new<I: AsRef<[u8]>>(owner: &'a [u8], ids: &'a [I]) -> Result<Call<'a>, SeenError> {
        check_ids(ids)?;
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
    pub fn unseen_once(&self, known: &[bool]) -> Vec<usize> {
        let mut met = HashSet::new();
        let places = (0..self.ids.len()).zip(known).filter(|(_, known)| !**known);
        places.map(|(at, _)| at).filter(|at| met.insert(self.ids[*at])).collect()
    }

    /// How many different ids were not known yet.
    pub fn new_ids(&self, known: &[bool]) -> u64 {
        let new = self.ids.iter().zip(known).filter(|(_, known)| !**known);
        new.map(|(id, _)| *id).collect::<HashSet<&[u8]>>().len() as u64
    }
}

/// Whether this is a call at all.
#[cfg(feature = "async")]
pub(crate) fn check<I>(policy: &Policy, owner: &[u8], ids: &[I]) -> Result<(), SeenError> {
    check_owner(policy, owner)?;
    check_ids(ids)
}

pub(crate) fn check_ids<I>(ids: &[I]) -> Result<(), SeenError> {
    if ids.is_empty() { Err(SeenError::NoIds) } else { Ok(()) }
}

pub(crate) fn check_owner(policy: &Policy, owner: &[u8]) -> Result<(), SeenError> {
    let (got, need) = (owner.len(), policy.owner_bytes());
    if got < need { Err(SeenError::Owner { got, need }) } else { Ok(()) }
}

/// Exported records as lists, without those that remember nothing.
#[cfg(any(feature = "embedded", feature = "redis"))]
pub(crate) fn decoded<'a>(
    policy: &Policy,
    exported: &[(&'a [u8], &[u8])],
    now: crate::policy::Seconds,
) -> Result<Vec<(&'a [u8], crate::list::List)>, SeenError> {
    let mut lists = Vec::with_capacity(exported.len());
    for (owner, bytes) in exported {
        check_owner(policy, owner)?;
        let decoded = crate::record::decode(bytes, policy, now);
        let (list, _) = decoded.map_err(|error| SeenError::record(owner, error))?;
        if !list.is_empty() {
            lists.push((*owner, list));
        }
    }
    Ok(lists)
}
