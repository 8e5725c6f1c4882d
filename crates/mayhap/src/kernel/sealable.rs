//! An array of lines that many threads write until it is sealed; from then on it is plain bytes.
//!
//! A writer holds the stripe of its line (see [`Stripes`]) and changes the words that lack a bit with
//! plain loads and stores: one atomic read-modify-write per line, where `kernel::shared` pays one per word.
//! Readers take no lock before or after. Once sealed, the array is read with the fast kernels.

use super::shared::{Layout, copy_pieces, line_masks};
use super::stripes::{LockWord, Stripes};
use super::{AlignedBuf, Atomics};
use crate::hash::Hash;
use crate::sizing::BlockedShape;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Turns spent spinning before the core is given away.
const SPINS: u32 = 64;

impl LockWord for AtomicU64 {
    #[inline(always)]
    fn peek(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn acquire(&self, old: u64, new: u64) -> bool {
        self.compare_exchange_weak(old, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn release(&self, value: u64) {
        self.store(value, Ordering::Release);
    }

    #[cold]
    fn wait(turn: u32) {
        if turn < SPINS {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

/// What became of a key.
pub(crate) enum Written {
    /// All of its bits were set already.
    Known,
    /// Some were not. How many new keys its stripe has counted with this one.
    New(u64),
    /// The array is sealed: not all of its bits are set, and they will not be.
    Sealed,
}

/// The array.
#[derive(Debug)]
pub(crate) struct SealableBuf {
    words: Atomics,
    stripes: Stripes<AtomicU64>,
}

impl SealableBuf {
    /// This array, with `keys` counted in it already.
    pub fn new(bits: AlignedBuf, keys: u64, stripes: usize) -> SealableBuf {
        SealableBuf { words: bits.into_atomics(), stripes: Stripes::new(stripes, keys) }
    }

    /// Set the key's bits, unless they are.
    #[inline]
    pub fn insert(&self, shape: BlockedShape, hash: Hash) -> Written {
        let words = self.words.words();
        let (mut lines, mut known, mut counted) = (shape.lines_per_key, true, Some(0));
        line_masks(shape, hash, |line, masks| {
            lines -= 1;
            let at = line * masks.len();
            let line_words = &words[at..at + masks.len()];
            // No branch per word here and below: half of them would be mispredicted.
            let lacks = |missing, (word, mask): (&AtomicU64, u64)| {
                missing | (!word.load(Ordering::Relaxed) & mask)
            };
            // A key that is in is not written: it takes no stripe.
            if line_words.iter().zip(masks).fold(0, lacks) == 0 {
                return;
            }
            let set = || {
                let mut missing = 0;
                for (word, mask) in line_words.iter().zip(masks) {
                    let before = word.load(Ordering::Relaxed);
                    // Nobody else writes this word while the stripe is held.
                    word.store(before | mask, Ordering::Relaxed);
                    missing |= !before & mask;
                }
                // Counted once, wherever its new bits are.
                missing != 0 && std::mem::take(&mut known)
            };
            counted = match (counted, self.stripes.write(line, set)) {
                (Some(before), Some((counts, now))) => Some(if counts { now } else { before }),
                _ => None,
            };
        });
        match counted {
            None => Written::Sealed,
            Some(_) if known => Written::Known,
            Some(count) => Written::New(count),
        }
    }

    /// Whether all of the key's bits are set.
    #[inline]
    pub fn contains(&self, shape: BlockedShape, hash: Hash) -> bool {
        shape.contains(self.words.words(), hash)
    }

    /// Ask for the words of a hash.
    #[inline]
    pub fn prefetch(&self, shape: BlockedShape, hash: Hash) {
        shape.fetch(self.words.words(), hash);
    }

    /// New keys counted.
    pub fn keys(&self) -> u64 {
        self.stripes.total()
    }

    /// How many stripes there are.
    pub fn stripes(&self) -> usize {
        self.stripes.len()
    }

    /// The first `bytes` bytes as they are now, piece by piece.
    pub fn pieces(
        &self,
        bytes: usize,
        piece: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        copy_pieces(self.words.words(), bytes, piece)
    }

    /// Let nobody write any more, and give the bytes to be read.
    pub fn seal(self: &Arc<Self>) -> Sealed {
        self.stripes.seal();
        let words = self.words.words();
        Sealed {
            first: NonNull::from(words).cast(),
            bytes: self.words.bytes(),
            _array: Arc::clone(self),
        }
    }

    /// The plain memory again.
    pub fn into_aligned(self) -> AlignedBuf {
        self.words.into_aligned()
    }
}

/// The bytes of an array that is sealed.
#[derive(Debug)]
pub(crate) struct Sealed {
    first: NonNull<u8>,
    bytes: usize,
    /// Owns them.
    _array: Arc<SealableBuf>,
}

// SAFETY: the bytes belong to `_array`, which may be sent and shared itself, and nobody writes them.
unsafe impl Send for Sealed {}
// SAFETY: likewise.
unsafe impl Sync for Sealed {}

impl AsRef<[u8]> for Sealed {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: so many bytes lie in the array, which lives as long as this. They are written by
        // `SealableBuf::insert` alone and only while a stripe is held; all stripes were sealed before
        // this value was made, and sealing waited for every holder, so there is no write any more and
        // every write happens-before this read.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.bytes) }
    }
}
