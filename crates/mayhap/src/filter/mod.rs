//! The kinds.
//!
//! Leaves own bits; composites own leaves and a policy. Every kind has the same methods by the
//! same names.

mod any;
#[cfg(feature = "bitmap")]
mod bitmap;
pub(crate) mod blocked;
mod cascade;
mod classic;
mod concurrent;
mod counting;
pub(crate) mod each;
mod every_kind;
mod fuse;
mod growing;
mod kinds;
mod layered;
mod merge;
mod partition;
mod quotient;
mod ribbon;
mod scalable;
pub(crate) mod sharded;
mod shared_scalable;
mod snapshot;
pub mod stats;
mod trait_impls;
mod window;
mod windowed;

pub use any::AnyFilter;
#[cfg(feature = "bitmap")]
pub use bitmap::{Bitmap, NotAnInteger};
pub use blocked::Blocked;
pub use cascade::{
    Cascade, CascadeError, CascadeOptions, DecidedBy, ExactLayer, FirstLayer, OnConflict, Stash,
};
pub use classic::Classic;
pub use concurrent::{Shared, SharedBlocked, SharedClassic};
pub use counting::Counting;
pub use fuse::Fuse;
pub(crate) use kinds::for_each_kind;
pub use kinds::{BuildMode, Kind, KindSpec, Traits};
pub use merge::MergeError;
pub(crate) use merge::{same, same_made_for, same_scheme, same_target};
pub use partition::{Partition, PartitionHashes, Partitioner};
pub use quotient::{Fingerprints, Quotient, QuotientError};
pub use ribbon::{ExactRibbon, Ribbon, RibbonBuilder, RibbonShard};
pub use scalable::Scalable;
pub use sharded::kind::{layout_of_shards, shards_of};
pub use sharded::{Sharded, shard_of};
pub use shared_scalable::SharedScalable;
pub use window::{Moment, Window};
pub use windowed::{ClockJump, MAX_GENERATION_LAYERS, Windowed};

/// Batches of keys begin with the filter: its hashes are right for it.
macro_rules! hash_batch {
    ($($Kind:ty),*) => {$(
        impl<B: AsRef<[u8]>> $Kind {
            /// Hash many keys at once, to ask or insert them later, in this and every equally
            /// hashed filter.
            ///
            /// Filters of another seed or secret answer nothing right about these hashes; in debug
            /// builds a batch that was made for another is a panic.
            pub fn hash_batch<K: $crate::Key>(&self, keys: &[K]) -> Vec<$crate::Hash> {
                let mut hashes = Vec::new();
                self.scheme().hash_batch(keys, &mut hashes);
                hashes
            }
        }
    )*};
}

pub(crate) use hash_batch;

#[cfg(test)]
mod tests;
