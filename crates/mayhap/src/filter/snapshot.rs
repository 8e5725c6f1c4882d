//! Looking at a filter, copying and saving it, while others write it.
//!
//! Bits only ever go from 0 to 1, so whatever moment each word is read at, the words read hold every
//! key whose insert happens-before the reading. A key that is being inserted may be in or not; bits of
//! it that are seen without the others are as harmless as any other bits.

use super::blocked::Measured as BitsMeasured;
use super::{Blocked, Classic, MergeError, Shared, SharedBlocked, SharedClassic, SharedScalable};
use crate::format::{Codec, FileLayout, Metadata, file_bytes_of, write_from};
use crate::kernel::AlignedBuf;
use crate::kernel::shared::{Layout, copy_pieces};
use crate::scheme::Native;
use crate::sizing::{BlockedShape, ClassicShape};
use crate::spec::{Spec, SpecError};
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A copy of the words as they are now.
fn copy_of(words: &[AtomicU64], bytes: usize) -> Result<AlignedBuf, SpecError> {
    copy_in_pieces(bytes, |piece| _ = copy_pieces(words, bytes, piece))
}

/// A copy of so many bytes that come piece by piece.
pub(super) fn copy_in_pieces(
    bytes: usize,
    pieces: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>),
) -> Result<AlignedBuf, SpecError> {
    let mut copy = AlignedBuf::zeroed(bytes as u64)?;
    let mut rest = copy.as_mut();
    // Nothing to fail: memory takes everything.
    pieces(&mut |piece| {
        let (now, later) = std::mem::take(&mut rest).split_at_mut(piece.len());
        now.copy_from_slice(piece);
        rest = later;
        Ok(())
    });
    Ok(copy)
}

/// A shape whose filter can be shared. Sealed by being unnameable outside of the crate.
pub trait SharedShape: Layout + Copy {
    /// The filter when it is not shared.
    type Plain;

    /// The filter of this shape over these bits.
    fn plain(self, spec: Spec, keys: u64, bits: AlignedBuf) -> Self::Plain;
    /// Header fields and arrays of such a filter.
    fn layout(plain: &Self::Plain) -> FileLayout<'_>;
    /// The bytes of its array.
    fn array_bytes(self) -> u64;
    /// Its name in front of people.
    fn name() -> &'static str;
    /// How full, how many keys and at which rate.
    fn measure(self, words: &[AtomicU64]) -> Measured;
}

/// What the bits tell.
pub struct Measured {
    pub(super) fill: f64,
    pub(super) keys: f64,
    pub(super) fpr: f64,
}

impl Measured {
    /// Of a blocked filter whose lines come in runs, each but the last an even number of them.
    pub(super) fn of_lines(
        shape: BlockedShape,
        runs: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>),
    ) -> Measured {
        let mut bits = BitsMeasured::nothing(shape);
        runs(&mut |bytes| {
            bits.add(bytes.as_chunks().0);
            Ok(())
        });
        Measured { fill: bits.fill(), keys: bits.keys(), fpr: bits.fpr() }
    }
}

impl SharedShape for BlockedShape {
    type Plain = Blocked;

    fn plain(self, spec: Spec, keys: u64, bits: AlignedBuf) -> Blocked {
        Blocked::assemble(spec, self, keys, bits)
    }

    fn layout(plain: &Blocked) -> FileLayout<'_> {
        Codec::<AlignedBuf>::layout(plain)
    }

    fn array_bytes(self) -> u64 {
        self.bits() / 8
    }

    fn name() -> &'static str {
        "blocked"
    }

    fn measure(self, words: &[AtomicU64]) -> Measured {
        Measured::of_lines(self, |run| {
            _ = copy_pieces(words, self.array_bytes() as usize, run);
        })
    }
}

impl SharedShape for ClassicShape {
    type Plain = Classic;

    fn plain(self, spec: Spec, keys: u64, bits: AlignedBuf) -> Classic {
        Classic::assemble(spec, self, keys, bits)
    }

    fn layout(plain: &Classic) -> FileLayout<'_> {
        Codec::<AlignedBuf>::layout(plain)
    }

    fn array_bytes(self) -> u64 {
        self.bits.div_ceil(8)
    }

    fn name() -> &'static str {
        "classic"
    }

    fn measure(self, words: &[AtomicU64]) -> Measured {
        let ones: u64 = words.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum();
        let fill = ones as f64 / self.bits as f64;
        Measured { fill, keys: self.keys_at_fill(fill), fpr: self.fpr_at_fill(fill) }
    }
}

impl<L: SharedShape> Shared<L> {
    /// A copy as it is now, while others write: every key whose insert happens-before this call is in
    /// it, those that are being inserted may be.
    ///
    /// ```
    /// # use mayhap::Blocked;
    /// let seen = Blocked::with_rate(1_000, 0.01)?.into_shared();
    /// seen.insert("ada");
    /// let copy = seen.snapshot()?;
    /// seen.insert("eve");
    /// assert!(copy.contains("ada") && !copy.contains("eve"));
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn snapshot(&self) -> Result<L::Plain, SpecError> {
        let keys = self.keys();
        let bits = copy_of(self.words(), self.bytes() as usize)?;
        Ok(self.shape().plain(self.spec(), keys, bits))
    }

    /// Write a file of the filter as it is now, while others write it: it holds what a
    /// [`snapshot`](Self::snapshot) holds, and no second copy of the bits is made.
    ///
    /// ```
    /// # use mayhap::{Blocked, format::Metadata};
    /// let seen = Blocked::with_rate(1_000, 0.01)?.into_shared();
    /// seen.insert("ada");
    /// let mut file = Vec::new();
    /// seen.write_to(&mut file, &Metadata::new())?;
    /// assert!(Blocked::open(&file, None)?.contains("ada"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to(&self, to: impl Write, metadata: &Metadata) -> io::Result<()> {
        let bytes = self.bytes();
        let plain = self.without_bits()?;
        write_from(to, &L::layout(&plain), &[bytes], metadata, |_, put| {
            copy_pieces(self.words(), bytes as usize, put)
        })
    }

    /// How long that file is, without writing it.
    pub fn file_bytes(&self, metadata: &Metadata) -> u64 {
        let plain = self.without_bits();
        plain.map_or(u64::MAX, |plain| {
            file_bytes_of(&L::layout(&plain), &[self.bytes()], metadata).unwrap_or(u64::MAX)
        })
    }

    /// A filter that says all of a file's header about this one.
    fn without_bits(&self) -> io::Result<L::Plain> {
        let none = AlignedBuf::zeroed(0).map_err(io::Error::other)?;
        Ok(self.shape().plain(self.spec(), self.keys(), none))
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec().scheme()
    }

    /// Bytes of its array.
    pub fn bytes(&self) -> u64 {
        self.shape().array_bytes()
    }

    /// Whether nothing is in.
    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|word| word.load(Relaxed) == 0)
    }

    /// The share of bits that are set.
    pub fn fill(&self) -> f64 {
        self.measured().fill
    }

    /// How many distinct keys are in, estimated from the bits alone.
    pub fn estimate(&self) -> u64 {
        self.measured().keys.round() as u64
    }

    /// The false-positive rate as the bits are now.
    pub fn fpr_now(&self) -> f64 {
        self.measured().fpr
    }

    fn measured(&self) -> Measured {
        self.shape().measure(self.words())
    }

    /// Set the bits of another filter, which is like this one.
    fn take_in(&self, bytes: &[u8]) {
        for (word, bytes) in self.words().iter().zip(bytes.chunks(8)) {
            let mut mask = [0; 8];
            mask[..bytes.len()].copy_from_slice(bytes);
            let mask = u64::from_ne_bytes(mask);
            if mask != 0 {
                word.fetch_or(mask, Relaxed);
            }
        }
        self.count_at_least(self.estimate());
    }
}

impl SharedBlocked {
    /// Take in everything the other filter holds, while others write. They must be of one shape and
    /// hash alike. [`keys`](Self::keys) is an estimate from then on.
    pub fn union<C: AsRef<[u8]>>(&self, other: &Blocked<C>) -> Result<(), MergeError> {
        Blocked::assemble(self.spec(), self.shape(), 0, no_pages()?).check_like(other)?;
        self.take_in(other.as_bytes());
        Ok(())
    }
}

impl SharedClassic {
    /// Take in everything the other filter holds, while others write. They must be of one shape and
    /// hash alike. [`keys`](Self::keys) is an estimate from then on.
    pub fn union<C: AsRef<[u8]>>(&self, other: &Classic<Native, C>) -> Result<(), MergeError> {
        Classic::assemble(self.spec(), self.shape(), 0, no_pages()?).check_like(other)?;
        self.take_in(other.as_bytes());
        Ok(())
    }
}

/// No memory at all, for a filter that is only compared.
fn no_pages() -> Result<AlignedBuf, MergeError> {
    AlignedBuf::zeroed(0).map_err(|_| MergeError::memory(0))
}

impl SharedScalable {
    /// Write a file of the filter as it is now, while others write it. Layer for layer it is copied
    /// first: growing may come in between.
    pub fn write_to(&self, to: impl Write, metadata: &Metadata) -> io::Result<()> {
        self.snapshot().map_err(io::Error::other)?.write_to(to, metadata)
    }
}

impl<L: SharedShape> fmt::Display for Shared<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (spec, measured) = (self.spec(), self.measured());
        write!(
            f,
            "shared {}: {} of {} keys, {} bytes, rate {:.3e} now, {:.3e} at capacity",
            L::name(),
            self.keys(),
            spec.capacity(),
            self.bytes(),
            measured.fpr,
            spec.fpr(),
        )
    }
}

impl<L: SharedShape> fmt::Debug for Shared<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (keys, spec, bytes) = (self.keys(), self.spec(), self.bytes());
        let (capacity, fpr) = (spec.capacity(), spec.fpr());
        let name = L::name();
        write!(
            f,
            "Shared {{ {name}, keys: {keys}, capacity: {capacity}, fpr: {fpr}, bytes: {bytes} }}"
        )
    }
}

#[cfg(test)]
mod tests;
