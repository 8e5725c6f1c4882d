//! `Contains`, `Insert`, `Remove` and `Extend` for every kind, by its own methods.

#[cfg(feature = "bitmap")]
use super::Bitmap;
use super::{
    AnyFilter, Blocked, Cascade, Classic, Counting, Fuse, Moment, Quotient, Ribbon, Scalable,
    Sharded, Shared, SharedScalable, Windowed,
};
use crate::hash::Hash;
use crate::kernel::shared::Layout;
use crate::key::AnyKey;
use crate::packet::Packet;
use crate::scheme::{Native, Scheme};
use crate::{Contains, Insert, Key, Remove, Unsupported};
use std::sync::Arc;

/// Keys are hashed this many at a time: what is kept of them stays in cache.
const CHUNK: usize = 1024;

/// A filter that hashes with a scheme of ours answers batches by their hashes.
macro_rules! contains {
    ($([$($generics:tt)*] $Kind:ty, $filter:ident: $scheme:expr, $hashes:ident, $answers:ident => $batch:expr, $key:ident => $one:expr;)*) => {$(
        impl<$($generics)*> Contains for $Kind {
            #[inline]
            fn contains_bytes(&self, $key: &[u8]) -> bool {
                let $filter = self;
                $one
            }

            fn contains_bytes_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
                let $filter = self;
                answers.clear();
                let (mut hashes, mut chunk) = (Vec::new(), Vec::new());
                for keys in keys.chunks(CHUNK) {
                    $scheme.hash_batch(keys, &mut hashes);
                    {
                        let ($hashes, $answers) = (&hashes, &mut chunk);
                        $batch;
                    }
                    answers.append(&mut chunk);
                }
            }

            #[inline]
            fn contains(&self, $key: impl Key) -> bool {
                let $filter = self;
                $one
            }
        }
    )*};
}

contains! {
    [B: AsRef<[u8]>] Blocked<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [B: AsRef<[u8]>] Cascade<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [B: AsRef<[u8]>] Counting<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [B: AsRef<[u8]>] Fuse<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [B: AsRef<[u8]>] Quotient<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [B: AsRef<[u8]>] Ribbon<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [B: AsRef<[u8]>] Scalable<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [B: AsRef<[u8]>] Sharded<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [L: Layout] Shared<L>, filter: filter.spec().scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [] SharedScalable, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [B: AsRef<[u8]>] Windowed<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, Moment::LAST, answers), key => filter.contains(key, Moment::LAST);
}

impl<S: Scheme<Keys = AnyKey>, B: AsRef<[u8]>> Contains for Classic<S, B> {
    #[inline]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        let hashes: Vec<_> = keys.iter().map(|key| self.hash(key)).collect();
        self.contains_batch(&hashes, answers);
    }

    #[inline]
    fn contains(&self, key: impl Key) -> bool {
        self.contains(key)
    }
}

impl<B: AsRef<[u8]>> Contains for AnyFilter<B> {
    #[inline]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        answers.clear();
        let Some(scheme) = self.scheme() else {
            return answers.extend(keys.iter().map(|key| self.contains(key)));
        };
        let (mut hashes, mut chunk) = (Vec::new(), Vec::new());
        for keys in keys.chunks(CHUNK) {
            scheme.hash_batch(keys, &mut hashes);
            match self.contains_batch(&hashes, &mut chunk) {
                Ok(()) => answers.append(&mut chunk),
                Err(_) => answers.extend(keys.iter().map(|key| self.contains(key))),
            }
        }
    }

    #[inline]
    fn contains(&self, key: impl Key) -> bool {
        self.contains(key)
    }
}

#[cfg(feature = "bitmap")]
impl Contains for Bitmap {
    #[inline]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains_key(key)
    }
}

/// `Insert` and `Remove` by a call that cannot fail, or by one that can.
macro_rules! change {
    ($([$($generics:tt)*] $Trait:ident $bytes:ident $typed:ident $Kind:ty, $filter:ident, $key:ident => $change:expr;)*) => {$(
        impl<$($generics)*> $Trait for $Kind {
            #[inline]
            fn $bytes(&mut self, $key: &[u8]) -> Result<bool, Unsupported> {
                let $filter = self;
                $change
            }

            #[inline]
            fn $typed(&mut self, $key: impl Key) -> Result<bool, Unsupported> {
                let $filter = self;
                $change
            }
        }
    )*};
}

change! {
    [] Insert try_insert_bytes try_insert Blocked, filter, key => Ok(filter.insert(key));
    [S: Scheme<Keys = AnyKey>] Insert try_insert_bytes try_insert Classic<S>, filter, key => Ok(filter.insert(key));
    [] Insert try_insert_bytes try_insert Counting, filter, key => Ok(filter.insert(key));
    [] Insert try_insert_bytes try_insert Quotient, filter, key => Ok(filter.insert(key));
    [] Insert try_insert_bytes try_insert Scalable, filter, key => Ok(filter.insert(key));
    [] Insert try_insert_bytes try_insert Sharded, filter, key => Ok(filter.insert(key));
    [] Insert try_insert_bytes try_insert AnyFilter, filter, key => filter.insert(key);
    [L: Layout] Insert try_insert_bytes try_insert Shared<L>, filter, key => Ok(Shared::insert(filter, key));
    [L: Layout] Insert try_insert_bytes try_insert &Shared<L>, filter, key => Ok(Shared::insert(filter, key));
    [L: Layout] Insert try_insert_bytes try_insert Arc<Shared<L>>, filter, key => Ok(Shared::insert(filter, key));
    [] Insert try_insert_bytes try_insert SharedScalable, filter, key => Ok(SharedScalable::insert(filter, key));
    [] Insert try_insert_bytes try_insert &SharedScalable, filter, key => Ok(SharedScalable::insert(filter, key));
    [] Insert try_insert_bytes try_insert Arc<SharedScalable>, filter, key => Ok(SharedScalable::insert(filter, key));
    [] Insert try_insert_bytes try_insert Windowed, filter, key => insert_without_clock(filter, key);
    [] Remove try_remove_bytes try_remove Counting, filter, key => Ok(filter.remove(key));
    [] Remove try_remove_bytes try_remove Quotient, filter, key => Ok(filter.remove(key));
    [] Remove try_remove_bytes try_remove AnyFilter, filter, key => filter.remove(key);
    [const BYTES: usize, const PROBES: u32] Insert try_insert_bytes try_insert Packet<BYTES, PROBES>, filter, key => filter.insert(key).map_err(|_| PACKET_IS_FULL);
}

#[cfg(feature = "bitmap")]
change! {
    [] Insert try_insert_bytes try_insert Bitmap, filter, key => filter.insert_key(key).map_err(|_| INTEGERS_ONLY);
    [] Remove try_remove_bytes try_remove Bitmap, filter, key => Ok(filter.remove_key(key));
}

const PACKET_IS_FULL: Unsupported =
    Unsupported::new("packet", "is at its limit: send it, or start another");
#[cfg(feature = "bitmap")]
const INTEGERS_ONLY: Unsupported =
    Unsupported::new("bitmap", "holds integers only: keys of eight bytes");

/// A key that came without the time would be forgotten too soon.
fn insert_without_clock(filter: &mut Windowed, key: impl Key) -> Result<bool, Unsupported> {
    match filter.window().ticks() {
        Some(_) => Err(Unsupported::new("windowed", super::any::NEEDS_TIME)),
        None => Ok(filter.insert(key, Moment::LAST)),
    }
}

impl<const BYTES: usize, const PROBES: u32> Contains for Packet<BYTES, PROBES> {
    #[inline]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    #[inline]
    fn contains(&self, key: impl Key) -> bool {
        self.contains(key)
    }
}

/// Keys in any number, hashed and inserted in batches.
macro_rules! extend {
    ($([$($generics:tt)*] $Kind:ty, $filter:ident: $scheme:expr;)*) => {$(
        impl<$($generics)* K: Key> Extend<K> for $Kind {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                let $filter = self;
                let scheme: Native = $scheme;
                let mut keys = keys.into_iter();
                let (mut chunk, mut hashes): (Vec<K>, Vec<Hash>) = Default::default();
                loop {
                    chunk.clear();
                    chunk.extend(keys.by_ref().take(CHUNK));
                    if chunk.is_empty() {
                        return;
                    }
                    scheme.hash_batch(&chunk, &mut hashes);
                    $filter.insert_batch(&hashes);
                }
            }
        }
    )*};
}

extend! {
    [] Blocked, filter: filter.scheme();
    [] Classic, filter: *filter.scheme();
    [] Counting, filter: filter.scheme();
    [] Quotient, filter: filter.scheme();
    [] Scalable, filter: filter.scheme();
    [] Sharded, filter: filter.scheme();
    [L: Layout,] &Shared<L>, filter: filter.spec().scheme();
    [] &SharedScalable, filter: filter.scheme();
}
