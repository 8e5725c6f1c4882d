//! The kinds, and the traits they share.
//!
//! Leaves own bits; composites own leaves and a policy. Every kind has the same methods by the
//! same names; the traits are for code that is generic over kinds.

mod any;
#[cfg(feature = "bitmap")]
mod bitmap;
pub(crate) mod blocked;
mod bulk;
mod cascade;
mod classic;
mod counting;
pub(crate) mod each;
mod fuse;
mod kinds;
mod layered;
mod merge;
mod quotient;
mod ribbon;
mod scalable;
pub(crate) mod sharded;
mod shared;
mod window;
mod windowed;

pub use any::{AnyFilter, Refused};
#[cfg(feature = "bitmap")]
pub use bitmap::{Bitmap, NotAnInteger};
pub use blocked::Blocked;
pub use bulk::{Part, PartHashes, Scatter};
pub use cascade::{Cascade, CascadeError, Decider, FirstLayer, Making, Prefer, Stash};
pub use classic::Classic;
pub use counting::Counting;
pub use fuse::Fuse;
pub use kinds::Kind;
pub(crate) use kinds::for_each_kind;
pub use merge::MergeError;
pub(crate) use merge::{same, same_scheme};
pub use quotient::{Fingerprints, Quotient, QuotientError};
pub use ribbon::{Ribbon, RibbonBuilder, RibbonShard};
pub use scalable::Scalable;
pub use sharded::kind::{outline_of_shards, shards_of};
pub use sharded::{Sharded, shard_of};
pub use shared::{Shared, SharedBlocked, SharedClassic};
pub use window::{Moment, Window};
pub use windowed::{ClockJump, MAX_GENERATION_LAYERS, Windowed};

use crate::hash::Hash;
use crate::scheme::Scheme;
use crate::{AnyKey, Key};

/// Answers "may this key be in?".
pub trait Contains {
    /// A hashed key, as this filter's scheme makes it.
    type Hash: Copy;

    /// Hash a key once, to ask or insert it (in this and every equally hashed filter) later.
    fn hash(&self, key: impl Key) -> Self::Hash;

    /// Whether the hashed key may be in; `false` is certain.
    fn contains_hash(&self, hash: Self::Hash) -> bool;

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a hash.
    fn contains_batch(&self, hashes: &[Self::Hash], answers: &mut Vec<bool>);

    /// Whether the key may be in; `false` is certain.
    fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }
}

/// Takes keys one after another.
pub trait Insert: Contains {
    /// Insert a hashed key. `true`: it was certainly new.
    fn insert_hash(&mut self, hash: Self::Hash) -> bool;

    /// Insert them all; returns how many were certainly new.
    fn insert_batch(&mut self, hashes: &[Self::Hash]) -> u64;

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    fn insert_batch_new(&mut self, hashes: &[Self::Hash], new: &mut Vec<bool>);

    /// Insert a key. `true`: it was certainly new.
    fn insert(&mut self, key: impl Key) -> bool {
        self.insert_hash(self.hash(key))
    }
}

/// Gives keys up again.
pub trait Remove: Insert {
    /// Remove a hashed key that was inserted. `false`: it was certainly not in, nothing changed.
    fn remove_hash(&mut self, hash: Self::Hash) -> bool;

    /// Remove a key that was inserted. `false`: it was certainly not in, nothing changed.
    fn remove(&mut self, key: impl Key) -> bool {
        self.remove_hash(self.hash(key))
    }
}

/// The traits by the inherent methods of the same names.
macro_rules! by_name {
    (Contains, [$($generics:tt)*], $Kind:ty, $Hash:ty) => {
        impl<$($generics)*> Contains for $Kind {
            type Hash = $Hash;

            fn hash(&self, key: impl Key) -> $Hash {
                self.hash(key)
            }

            fn contains_hash(&self, hash: $Hash) -> bool {
                self.contains_hash(hash)
            }

            fn contains_batch(&self, hashes: &[$Hash], answers: &mut Vec<bool>) {
                self.contains_batch(hashes, answers);
            }
        }
    };
    (Insert, [$($generics:tt)*], $Kind:ty, $Hash:ty) => {
        impl<$($generics)*> Insert for $Kind {
            fn insert_hash(&mut self, hash: $Hash) -> bool {
                self.insert_hash(hash)
            }

            fn insert_batch(&mut self, hashes: &[$Hash]) -> u64 {
                self.insert_batch(hashes)
            }

            fn insert_batch_new(&mut self, hashes: &[$Hash], new: &mut Vec<bool>) {
                self.insert_batch_new(hashes, new);
            }
        }
    };
}

/// Batches of keys begin with the filter: its hashes are right for it.
macro_rules! hash_batch {
    ($($Kind:ty),*) => {$(
        impl<B: AsRef<[u8]>> $Kind {
            /// Hash many keys at once, to ask or insert them later, in this and every equally
            /// hashed filter.
            ///
            /// Filters of another seed or secret answer nothing right about these hashes; in debug
            /// builds a batch that was made for another is a panic.
            pub fn hash_batch<K: Key>(&self, keys: &[K]) -> Vec<Hash> {
                let mut hashes = Vec::new();
                self.scheme().hash_batch(keys, &mut hashes);
                hashes
            }
        }
    )*};
}

hash_batch!(
    Blocked<B>,
    Classic<crate::Native, B>,
    Cascade<B>,
    Counting<B>,
    Fuse<B>,
    Ribbon<B>,
    Scalable<B>,
    Sharded<B>,
    Windowed<B>
);

by_name!(Contains, [B: AsRef<[u8]>], Blocked<B>, Hash);
by_name!(Contains, [S: Scheme<Keys = AnyKey>, B: AsRef<[u8]>], Classic<S, B>, S::Hash);
by_name!(Contains, [B: AsRef<[u8]>], Cascade<B>, Hash);
by_name!(Contains, [B: AsRef<[u8]>], Counting<B>, Hash);
by_name!(Contains, [B: AsRef<[u8]>], Fuse<B>, Hash);
by_name!(Contains, [B: AsRef<[u8]>], Quotient<B>, Hash);
by_name!(Contains, [B: AsRef<[u8]>], Ribbon<B>, Hash);
by_name!(Contains, [B: AsRef<[u8]>], Scalable<B>, Hash);
by_name!(Contains, [B: AsRef<[u8]>], Sharded<B>, Hash);
by_name!(Insert, [], Blocked, Hash);
by_name!(Insert, [S: Scheme<Keys = AnyKey>], Classic<S>, S::Hash);
by_name!(Insert, [], Counting, Hash);
by_name!(Insert, [], Quotient, Hash);
by_name!(Insert, [], Scalable, Hash);
by_name!(Insert, [], Sharded, Hash);

#[cfg(test)]
mod tests;
