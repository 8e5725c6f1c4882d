//! One call about one owner: checked, hashed, and answered from the list as it was.

use crate::SeenError;
use crate::backend::OwnerOperation;
use crate::list::{Operation, WORD_BITS};
use crate::policy::Policy;
use crate::view::View;
use mayhap::Hash;
use mayhap::scheme::{Native, Scheme};
use std::collections::HashSet;

/// The hash of an id in this owner's list.
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
    Native::xxh3(Native::xxh3(0).hash_bytes(owner).to_u64())
}

/// The candidates that are neither seen nor on offer, in order.
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
            let (salted, query) = (salted(owner), list.query(candidates.len()));
            let (mut ids, mut hashes) = ([&[][..]; WORD_BITS], Vec::with_capacity(WORD_BITS));
            for chunk in candidates.chunks(WORD_BITS) {
                let ids = &mut ids[..chunk.len()];
                ids.iter_mut().zip(chunk).for_each(|(place, id)| *place = id.as_ref());
                salted.hash_batch(ids, &mut hashes);
                keep(chunk, query.hidden(&hashes), &mut unseen);
            }
        }
        #[cfg(feature = "redis")]
        View::Go(list) => {
            let ids: Vec<&[u8]> = candidates.iter().map(AsRef::as_ref).collect();
            let hashes =
                if list.offers().is_empty() { vec![] } else { hash_ids(owner, candidates) };
            let hidden = list.known(&Operation::MarkUnseen, &ids, &hashes);
            for (chunk, hidden) in candidates.chunks(WORD_BITS).zip(hidden.chunks(WORD_BITS)) {
                let bits =
                    hidden.iter().rev().fold(0, |bits, hidden| bits << 1 | u64::from(*hidden));
                keep(chunk, bits, &mut unseen);
            }
        }
    }
    unseen
}

/// Keep the ids of a chunk whose bit is not set.
fn keep<'a, I>(chunk: &'a [I], hidden: u64, kept: &mut Vec<&'a I>) {
    // Branchless: each id is written, and overwritten by the next if it was hidden.
    let (mut unseen, mut count, mut shown) = ([&chunk[0]; WORD_BITS], 0, !hidden);
    for id in chunk {
        unseen[count % WORD_BITS] = id;
        count += (shown & 1) as usize;
        shown >>= 1;
    }
    kept.extend_from_slice(&unseen[..count]);
}

/// A call that changes something, checked.
pub(crate) struct CheckedCall<'a> {
    pub owner: &'a [u8],
    pub ids: Vec<&'a [u8]>,
    hashes: Vec<Hash>,
}

impl<'a> CheckedCall<'a> {
    /// The owner is checked where the policy is known.
    pub fn new<I: AsRef<[u8]>>(
        owner: &'a [u8],
        ids: &'a [I],
    ) -> Result<CheckedCall<'a>, SeenError> {
        check_ids(ids)?;
        Ok(CheckedCall {
            owner,
            ids: ids.iter().map(AsRef::as_ref).collect(),
            hashes: hash_ids(owner, ids),
        })
    }

    pub fn change(&self, operation: Operation) -> OwnerOperation<'_> {
        OwnerOperation { owner: self.owner, operation, ids: &self.ids, hashes: &self.hashes }
    }

    /// The indices of the ids that an operation on unseen ids applied to, each id once.
    pub fn unseen_once(&self, known: &[bool]) -> Vec<usize> {
        let mut met = HashSet::new();
        let places = (0..self.ids.len()).zip(known).filter(|(_, known)| !**known);
        places.map(|(at, _)| at).filter(|at| met.insert(self.ids[*at])).collect()
    }

    /// The number of distinct ids that were not known yet.
    pub fn new_ids(&self, known: &[bool]) -> u64 {
        let new = self.ids.iter().zip(known).filter(|(_, known)| !**known);
        new.map(|(id, _)| *id).collect::<HashSet<&[u8]>>().len() as u64
    }
}

/// Check the arguments of a call.
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

/// Exported records as lists, without empty ones.
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
