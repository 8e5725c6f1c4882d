//! The lists of a transaction: each is read once, changed by all jobs of the transaction, and
//! written once. Many threads that mark one owner share the reading and writing of that list as
//! they share the sync.

use super::records;
use super::writer::{Reply, Tables, Work};
use super::{OwnedOperation, away, list};
use crate::SeenError;
use crate::list::List;
use crate::policy::{Policy, Seconds};
use crate::record;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

pub(super) struct TxnLists<'a, 't> {
    tables: &'a mut Tables<'t>,
    policy: &'a Policy,
    now: Seconds,
    /// Sorted: the cheapest order to write them.
    owners: BTreeMap<Vec<u8>, Holding>,
}

/// Owners, and the records written for them.
pub(super) type Written = Vec<(Vec<u8>, Vec<u8>)>;

struct Holding {
    list: List,
    /// Whether the table has a record of this owner.
    is_stored: bool,
    is_changed: bool,
}

impl<'a, 't> TxnLists<'a, 't> {
    pub fn new(tables: &'a mut Tables<'t>, policy: &'a Policy, now: Seconds) -> TxnLists<'a, 't> {
        TxnLists { tables, policy, now, owners: BTreeMap::new() }
    }

    /// Apply all of it or, if a list cannot be decoded, nothing.
    pub fn work(&mut self, work: &Work) -> Result<Reply, SeenError> {
        let mut reply = Reply::default();
        match work {
            Work::Change(changes) => {
                changes.iter().try_for_each(|change| self.hold(&change.owner).map(drop))?;
                for OwnedOperation { owner, operation, hashes } in changes {
                    let (policy, now) = (self.policy, self.now);
                    let list = self.changed(owner)?;
                    reply.known.push(list.known(operation, hashes));
                    list.apply(operation, hashes, policy, now);
                }
            }
            Work::Merge(others) => {
                others.iter().try_for_each(|(owner, _)| self.hold(owner).map(drop))?;
                for (owner, other) in others {
                    let (policy, now) = (self.policy, self.now);
                    self.changed(owner)?.merge(other.clone(), policy, now);
                }
            }
            Work::Forget(owner) => {
                // Not decoded: a damaged list can be deleted, too.
                let held = self.owners.remove(owner).filter(|held| held.is_changed);
                let is_stored = records::remove(self.tables, owner)?;
                let was_there = is_stored || held.is_some_and(|held| !held.list.is_empty());
                reply.count = was_there.into();
            }
            Work::Sweep | Work::Flush | Work::Policy(_) => {}
        }
        Ok(reply)
    }

    /// Write what was changed.
    pub fn write(self) -> Result<Written, SeenError> {
        let mut written = vec![];
        for (owner, Holding { list, is_stored, .. }) in
            self.owners.iter().filter(|(_, held)| held.is_changed)
        {
            let owner = owner.as_slice();
            if list.is_empty() {
                records::remove(self.tables, owner)?;
                continue;
            }
            let record = record::encode(list);
            records::write(self.tables, owner, &record)?;
            written.push((owner.to_vec(), record));
            // An older list has its entry, which the sweeper moves on when it finds it early.
            if let (false, Some(end)) = (is_stored, list.expires(self.policy)) {
                self.tables.ends.insert((end, owner), ()).map_err(away)?;
            }
        }
        Ok(written)
    }

    fn changed(&mut self, owner: &[u8]) -> Result<&mut List, SeenError> {
        let held = self.hold(owner)?;
        held.is_changed = true;
        Ok(&mut held.list)
    }

    fn hold(&mut self, owner: &[u8]) -> Result<&mut Holding, SeenError> {
        Ok(match self.owners.entry(owner.to_vec()) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(place) => {
                let stored = read(self.tables, owner, self.policy, self.now)?;
                let (is_stored, list) = (stored.is_some(), stored.unwrap_or_default());
                place.insert(Holding { list, is_stored, is_changed: false })
            }
        })
    }
}

/// The list of an owner, if there is one.
pub(super) fn read(
    tables: &Tables<'_>,
    owner: &[u8],
    policy: &Policy,
    now: Seconds,
) -> Result<Option<List>, SeenError> {
    let record = records::read(&tables.lists, Some(&tables.chunks), owner)?;
    record.map(|record| list(owner, record.bytes(), policy, now)).transpose()
}
