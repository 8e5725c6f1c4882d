//! `Contains`, `Insert`, `Remove` and `Extend` by the methods of a type: kinds ask for them in their
//! `kind.rs`; here are those for filters of any kind, shared ones and packets.

#[cfg(feature = "bitmap")]
use super::Bitmap;
use super::{AnyFilter, Shared, SharedScalable};
use crate::kernel::shared::Layout;
use crate::packet::Packet;
use crate::{Contains, Key, Unsupported};
use std::sync::Arc;

/// Keys are hashed this many at a time: what is kept of them stays in cache.
pub(crate) const CHUNK: usize = 1024;

/// A filter that hashes with a scheme of ours answers batches by their hashes.
macro_rules! contains {
    ($([$($generics:tt)*] $Kind:ty, $filter:ident: $scheme:expr, $hashes:ident, $answers:ident => $batch:expr, $key:ident => $one:expr;)*) => {$(
        impl<$($generics)*> $crate::Contains for $Kind {
            #[inline]
            fn contains_bytes(&self, $key: &[u8]) -> bool {
                let $filter = self;
                $one
            }

            fn contains_bytes_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
                let $filter = self;
                answers.clear();
                let (mut hashes, mut chunk) = (Vec::new(), Vec::new());
                for keys in keys.chunks($crate::filter::trait_impls::CHUNK) {
                    $scheme.hash_batch(keys, &mut hashes);
                    {
                        let ($hashes, $answers) = (&hashes, &mut chunk);
                        $batch;
                    }
                    answers.append(&mut chunk);
                }
            }

            #[inline]
            fn contains(&self, $key: impl $crate::Key) -> bool {
                let $filter = self;
                $one
            }
        }
    )*};
}
pub(super) use contains;

contains! {
    [L: Layout] Shared<L>, filter: filter.spec().scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
    [] SharedScalable, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
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
        impl<$($generics)*> $crate::$Trait for $Kind {
            #[inline]
            fn $bytes(&mut self, $key: &[u8]) -> Result<bool, $crate::Unsupported> {
                let $filter = self;
                $change
            }

            #[inline]
            fn $typed(&mut self, $key: impl $crate::Key) -> Result<bool, $crate::Unsupported> {
                let $filter = self;
                $change
            }
        }
    )*};
}
pub(super) use change;

change! {
    [] Insert try_insert_bytes try_insert AnyFilter, filter, key => filter.insert(key);
    [L: Layout] Insert try_insert_bytes try_insert Shared<L>, filter, key => Ok(Shared::insert(filter, key));
    [L: Layout] Insert try_insert_bytes try_insert &Shared<L>, filter, key => Ok(Shared::insert(filter, key));
    [L: Layout] Insert try_insert_bytes try_insert Arc<Shared<L>>, filter, key => Ok(Shared::insert(filter, key));
    [] Insert try_insert_bytes try_insert SharedScalable, filter, key => Ok(SharedScalable::insert(filter, key));
    [] Insert try_insert_bytes try_insert &SharedScalable, filter, key => Ok(SharedScalable::insert(filter, key));
    [] Insert try_insert_bytes try_insert Arc<SharedScalable>, filter, key => Ok(SharedScalable::insert(filter, key));
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
        impl<$($generics)* K: $crate::Key> Extend<K> for $Kind {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                let $filter = self;
                let scheme: $crate::scheme::Native = $scheme;
                let mut keys = keys.into_iter();
                let (mut chunk, mut hashes): (Vec<K>, Vec<$crate::Hash>) = Default::default();
                loop {
                    chunk.clear();
                    chunk.extend(keys.by_ref().take($crate::filter::trait_impls::CHUNK));
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
pub(super) use extend;

extend! {
    [L: Layout,] &Shared<L>, filter: filter.spec().scheme();
    [] &SharedScalable, filter: filter.scheme();
}
