//! Keys go to the newest filter, if no other has them, and a full one is followed by the next.

use super::{Chain, GrowthRule, HashOf, Layer};
use crate::{ForeignError, chunked, layers};
use mayhap::key::{ByteKeys, KeyOf};

/// Most keys looked at in one piece.
const MOST: u64 = 1 << 16;

impl<R: GrowthRule> Chain<R> {
    /// Insert a key. `true`: it was certainly new. An error where the chain is full and may not
    /// grow, and where no memory is left to grow into.
    pub fn insert(&mut self, key: impl KeyOf<ByteKeys>) -> Result<bool, ForeignError> {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key, likewise.
    pub fn insert_hash(&mut self, hash: HashOf<R>) -> Result<bool, ForeignError> {
        if self.contains_hash(hash) {
            return Ok(false);
        }
        if self.newest().room() == 0 {
            self.grow()?;
        }
        let newest = self.newest_mut();
        newest.filter.insert_hash(hash);
        newest.count(1);
        Ok(true)
    }

    /// Insert them all; returns how many were certainly new. After an error those before the first
    /// that did not fit are in.
    pub fn insert_batch(&mut self, hashes: &[HashOf<R>]) -> Result<u64, ForeignError> {
        let mut new = Vec::new();
        self.insert_batch_new(hashes, &mut new)?;
        Ok(count(&new))
    }

    /// Insert them all, as if one after another; `new` is cleared and filled, `true` for each that was
    /// certainly new. After an error it ends before the first that did not fit.
    pub fn insert_batch_new(
        &mut self,
        hashes: &[HashOf<R>],
        new: &mut Vec<bool>,
    ) -> Result<(), ForeignError> {
        new.clear();
        let (mut known, mut wanted, mut is_new) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = hashes;
        while let Some(hash) = rest.first() {
            let room = self.newest().room();
            if room == 0 {
                // Only a key that is not in yet makes a full chain grow.
                if self.contains_hash(*hash) {
                    new.push(false);
                    rest = &rest[1..];
                } else {
                    self.grow()?;
                }
                continue;
            }
            let (now, later) = rest.split_at(rest.len().min(room.min(MOST) as usize));
            rest = later;
            // What an older filter holds stays out of the newest; the newest sees to its own.
            layers::any_contains(self.newest_first().skip(1), now, &mut known);
            wanted.clear();
            let absent_keys = now.iter().zip(&known).filter(|(_, known)| !**known);
            wanted.extend(absent_keys.map(|(hash, _)| *hash));
            let newest = self.newest_mut();
            newest.filter.insert_batch_new(&wanted, &mut is_new);
            newest.count(count(&is_new));
            let mut is_new = is_new.iter().copied();
            new.extend(known.iter().map(|known| !known && is_new.next().unwrap_or(false)));
        }
        Ok(())
    }

    /// The same for the bytes of keys.
    pub(crate) fn insert_keys(
        &mut self,
        keys: &[&[u8]],
        new: &mut Vec<bool>,
    ) -> Result<(), ForeignError> {
        let rule = self.rule.clone();
        let hash = |keys: &[&[u8]], hashes: &mut _| rule.hash_keys(keys, hashes);
        chunked::try_each(keys, new, hash, |hashes, new| self.insert_batch_new(hashes, new))
    }

    fn grow(&mut self) -> Result<(), ForeignError> {
        let next = Layer::empty(&self.rule, self.next_layer()?)?;
        self.layers.push(next);
        Ok(())
    }

    fn newest_mut(&mut self) -> &mut Layer<R> {
        let newest = self.layers.len() - 1;
        &mut self.layers[newest]
    }

    /// The filters, oldest first, for bits that come by themselves.
    pub(crate) fn layers_mut(&mut self) -> &mut [Layer<R>] {
        &mut self.layers
    }
}

fn count(new: &[bool]) -> u64 {
    new.iter().map(|new| u64::from(*new)).sum()
}
