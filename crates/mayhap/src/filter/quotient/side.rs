//! The side table: what does not fit into lines, sorted by fingerprint.

use std::collections::{BTreeMap, btree_map};

/// Bytes of an entry: the fingerprint and its count, little-endian.
pub(super) const ENTRY_BYTES: usize = 16;

/// Fingerprints and how many copies of each are not in the lines.
///
/// As bytes it is read where it lies; a filter that changes has it as a tree, so that an attacker
/// who fills it pays as much for each entry as everybody else.
#[derive(Clone, Debug)]
pub(super) enum SideTable<B> {
    Tree(BTreeMap<u64, u64>),
    Bytes(B),
}

impl<B> Default for SideTable<B> {
    fn default() -> Self {
        SideTable::Tree(BTreeMap::new())
    }
}

impl<B: AsRef<[u8]>> SideTable<B> {
    /// Copies of this fingerprint.
    pub fn count(&self, fingerprint: u64) -> u64 {
        match self {
            SideTable::Tree(tree) => tree.get(&fingerprint).copied().unwrap_or(0),
            SideTable::Bytes(bytes) => {
                let entries = entries(bytes.as_ref());
                let at = entries.partition_point(|entry| read(entry).0 < fingerprint);
                let found = entries.get(at).map(read);
                found.filter(|entry| entry.0 == fingerprint).map_or(0, |entry| entry.1)
            }
        }
    }

    /// Fingerprints that have an entry.
    pub fn entries(&self) -> usize {
        match self {
            SideTable::Tree(tree) => tree.len(),
            SideTable::Bytes(bytes) => entries(bytes.as_ref()).len(),
        }
    }

    /// All entries, by fingerprint.
    pub fn iter(&self) -> Iter<'_> {
        match self {
            SideTable::Tree(tree) => Iter::Tree(tree.iter()),
            SideTable::Bytes(bytes) => Iter::Bytes(entries(bytes.as_ref()).iter()),
        }
    }

    /// The entries as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let pairs = self
            .iter()
            .map(|(fingerprint, count)| u128::from(fingerprint) | u128::from(count) << 64);
        pairs.flat_map(u128::to_le_bytes).collect()
    }

    /// The tree, to be changed.
    pub fn tree_mut(&mut self) -> &mut BTreeMap<u64, u64> {
        if let SideTable::Bytes(_) = self {
            *self = SideTable::Tree(self.iter().collect());
        }
        match self {
            SideTable::Tree(tree) => tree,
            SideTable::Bytes(_) => unreachable!("made a tree above"),
        }
    }
}

fn entries(bytes: &[u8]) -> &[[u8; ENTRY_BYTES]] {
    bytes.as_chunks().0
}

fn read(entry: &[u8; ENTRY_BYTES]) -> (u64, u64) {
    let both = u128::from_le_bytes(*entry);
    (both as u64, (both >> 64) as u64)
}

/// Entries by fingerprint.
#[derive(Clone, Debug)]
pub(super) enum Iter<'a> {
    Tree(btree_map::Iter<'a, u64, u64>),
    Bytes(std::slice::Iter<'a, [u8; ENTRY_BYTES]>),
}

impl Iterator for Iter<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        match self {
            Iter::Tree(tree) => tree.next().map(|(fingerprint, count)| (*fingerprint, *count)),
            Iter::Bytes(bytes) => bytes.next().map(read),
        }
    }
}
