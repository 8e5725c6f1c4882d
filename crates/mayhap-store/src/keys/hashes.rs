//! The hashes of a block's keys.

use super::{CollectKeys, KeyBuffer, Task};
use mayhap::Hash;
use mayhap::scheme::{Native, Scheme};
use std::ops::Deref;

/// One hash per key, in order, once the block is done.
///
/// With a secret, keys are collected until then and hashed in SIMD lanes, which is worth the copy:
/// a single keyed hash is latency-bound. Seeded hashes are computed as keys come.
#[derive(Clone, Debug, Default)]
pub struct Hashes {
    done: Vec<Hash>,
    waiting: KeyBuffer,
}

impl Hashes {
    /// A new block begins.
    pub fn begin(&mut self) {
        self.done.clear();
        CollectKeys.begin(&mut self.waiting);
    }

    /// The next key of the block.
    #[inline]
    pub fn key(&mut self, scheme: &Native, key: &[u8]) {
        if scheme.is_keyed() {
            CollectKeys.key(&mut self.waiting, key);
        } else {
            self.done.push(scheme.hash_bytes(key));
        }
    }

    /// The block is done.
    pub fn end(&mut self, scheme: &Native) {
        if scheme.is_keyed() {
            let keys: Vec<&[u8]> = self.waiting.iter().collect();
            scheme.hash_batch(&keys, &mut self.done);
        }
    }
}

impl Deref for Hashes {
    type Target = [Hash];

    fn deref(&self) -> &[Hash] {
        &self.done
    }
}

/// Keeps the hash of each key.
#[derive(Clone, Copy, Debug)]
pub struct HashKeys(pub Native);

impl Task for HashKeys {
    type Out = Hashes;

    fn begin(&self, out: &mut Hashes) {
        out.begin();
    }

    #[inline]
    fn key(&self, out: &mut Hashes, key: &[u8]) {
        out.key(&self.0, key);
    }

    fn end(&self, out: &mut Hashes) {
        out.end(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap::Secret;

    #[test]
    fn block_after_block_every_key_has_its_hash() {
        let keys: Vec<String> = (0..21).map(|i| "k".repeat(i)).collect();
        for scheme in [Native::seeded(7), Native::keyed(Secret::from_bytes([7; 16]))] {
            let task = HashKeys(scheme);
            let mut out = Hashes::default();
            for block in [&keys[..], &keys[3..5], &[]] {
                task.begin(&mut out);
                block.iter().for_each(|key| task.key(&mut out, key.as_bytes()));
                task.end(&mut out);
                let want: Vec<Hash> = block.iter().map(|key| scheme.hash(key.as_str())).collect();
                assert_eq!(*out, *want);
            }
        }
    }
}
