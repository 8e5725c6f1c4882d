//! A layer of a filter that many threads grow: written under stripes until it is full, then sealed.

use super::super::Blocked;
use super::super::growing::{Layer, Outcome};
use super::super::snapshot::{Measured, copy_in_pieces};
use crate::hash::Hash;
use crate::kernel::{SealableBuf, Sealed, Written};
use crate::sizing::BlockedShape;
use crate::spec::{Spec, SpecError};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Most stripes of a layer: eight KiB of them, so that two of eight writers seldom want the same.
const MOST_STRIPES: u64 = 1024;
/// Keys of a layer for each stripe, where it has fewer.
const KEYS_PER_STRIPE: u64 = 256;
/// A stripe tells of its keys when it has so small a share of the layer's capacity.
const BATCHES: u64 = 128;

/// The layer.
pub(super) struct Growable {
    spec: Spec,
    shape: BlockedShape,
    array: Arc<SealableBuf>,
    /// The same array, once nobody writes it: read with the fast kernels.
    sealed: OnceLock<Blocked<Sealed>>,
    /// Whether it was found full. Read with every key, and seldom written.
    full: AtomicBool,
    /// A stripe tells of so many keys at once, a power of two.
    batch: u64,
    fullness: Fullness,
}

/// Written by all threads, and so on a cache line of its own.
#[repr(align(64))]
struct Fullness {
    /// Keys that stripes have told of.
    counted: AtomicU64,
    /// Full when so many have been told of.
    full_at: AtomicU64,
}

impl Growable {
    pub fn of(layer: Blocked) -> Growable {
        let (spec, shape, keys, bits) = layer.into_parts();
        let stripes = (spec.capacity() / KEYS_PER_STRIPE).clamp(1, MOST_STRIPES);
        let array = SealableBuf::new(bits, keys, stripes as usize);
        let stripes = array.stripes() as u64;
        let batch = (spec.capacity() / (BATCHES * stripes)).max(1);
        let batch = 1 << batch.ilog2();
        // Half of a batch per stripe has not been told of, on average.
        let untold = stripes * (batch - 1) / 2;
        let fullness = Fullness {
            counted: AtomicU64::new(keys - keys % batch),
            full_at: AtomicU64::new(spec.capacity().saturating_sub(untold)),
        };
        let layer = Growable {
            spec,
            shape,
            array: Arc::new(array),
            sealed: OnceLock::new(),
            full: AtomicBool::new(false),
            batch,
            fullness,
        };
        layer.count(0);
        layer
    }

    /// Count keys that a stripe tells of, and find out whether the layer is full.
    fn count(&self, keys: u64) {
        let counted = self.fullness.counted.fetch_add(keys, Relaxed).saturating_add(keys);
        if counted >= self.fullness.full_at.load(Relaxed) {
            self.full.store(true, Relaxed);
        }
    }

    /// Take some more keys before growing is tried again: finding out is not free.
    pub fn postpone(&self) {
        let patience = (self.spec.capacity() / 16).max(64);
        let counted = self.fullness.counted.load(Relaxed);
        self.fullness.full_at.store(counted.saturating_add(patience), Relaxed);
        self.full.store(false, Relaxed);
    }

    pub fn spec(&self) -> Spec {
        self.spec
    }

    pub fn shape(&self) -> BlockedShape {
        self.shape
    }

    pub fn keys(&self) -> u64 {
        self.array.keys()
    }

    pub fn bytes(&self) -> u64 {
        self.shape.bits() / 8
    }

    /// The layer as a filter that does not change, once it is one.
    pub fn sealed(&self) -> Option<&Blocked<Sealed>> {
        self.sealed.get()
    }

    /// Whether the hashed key may be in.
    #[inline]
    pub fn contains(&self, hash: Hash) -> bool {
        match self.sealed.get() {
            Some(sealed) => sealed.contains_hash(hash),
            None => self.array.contains(self.shape, hash),
        }
    }

    pub fn prefetch(&self, hash: Hash) {
        self.array.prefetch(self.shape, hash);
    }

    pub fn measured(&self) -> Measured {
        Measured::of_lines(self.shape, |run| {
            _ = self.array.pieces(self.bytes() as usize, run);
        })
    }

    /// A copy as it is now.
    pub fn snapshot(&self) -> Result<Blocked, SpecError> {
        let (keys, bytes) = (self.keys(), self.bytes() as usize);
        let bits = copy_in_pieces(bytes, |piece| _ = self.array.pieces(bytes, piece))?;
        Ok(Blocked::assemble(self.spec, self.shape, keys, bits))
    }

    /// The plain layer again. `None` only where it is still in use, which an owner rules out.
    pub fn into_inner(self) -> Option<Blocked> {
        let Growable { spec, shape, array, sealed, .. } = self;
        drop(sealed);
        let array = Arc::into_inner(array)?;
        let keys = array.keys();
        Some(Blocked::assemble(spec, shape, keys, array.into_aligned()))
    }
}

impl Layer for Box<Growable> {
    type Hash = Hash;

    #[inline]
    fn contains(&self, hash: Hash) -> bool {
        Growable::contains(self, hash)
    }

    #[inline]
    fn insert(&self, hash: Hash, beyond_full: bool) -> Outcome {
        if !beyond_full && self.full.load(Relaxed) {
            return if self.contains(hash) { Outcome::Known } else { Outcome::Closed };
        }
        match self.array.insert(self.shape, hash) {
            Written::Known => Outcome::Known,
            Written::Sealed => Outcome::Closed,
            Written::New(counted) => {
                if counted & (self.batch - 1) == 0 {
                    self.count(self.batch);
                }
                Outcome::New
            }
        }
    }

    fn seal(&self) {
        self.sealed.get_or_init(|| {
            let bytes = self.array.seal();
            Blocked::over_sealed(self.spec, self.shape, self.array.keys(), bytes)
        });
    }
}
